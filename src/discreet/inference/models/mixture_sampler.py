r"""A Gibbs sampler for a mixture of label columns, given the counts of all combinations of labels or noisy ones.

The chains run side by side, chains first. With cells c, counts m_c and components k, one sweep draws

- how many records of each cell belong to each component: multinomial, in proportion to weights_k prod_d p_{k,d};
- weights and label probabilities: Dirichlet, given those numbers;
- if the counts are noisy, the counts themselves. Given the parameters they are multinomial, and the released numbers
  are they plus noise of a known distribution. Pairs of cells exchange records: a symmetric proposal, accepted by the
  rule of Metropolis, so that their sum, which is public, stays what it is.

A missing label is a level of its own in the table. It says nothing about the component: the likelihood of its cell is
that of the labels that are there, times the probability of the pattern of missing ones, whose Dirichlet prior expects
few records to miss any.

Cost does not grow with the number of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, logsumexp

from discreet.inference.missing_prior import MISSING_WEIGHT, PRESENT_WEIGHT

# Rounds of exchanges in each sweep: counts and parameters lean on each other, and the noise is to be forgotten.
_ROUNDS = 6
_TINY = 1e-300


@dataclass(frozen=True)
class MixtureCells:
    """The cells of the table: levels of every column, the last of which stands for missing if ``missing``."""

    components: int
    sizes: tuple[int, ...]
    missing: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """How many levels each column has."""
        return tuple(size + self.missing for size in self.sizes)

    @cached_property
    def levels(self) -> np.ndarray:
        """The level of every column in every cell: columns first."""
        return np.array(np.unravel_index(np.arange(int(np.prod(self.shape))), self.shape))

    @cached_property
    def pattern(self) -> np.ndarray:
        """Which columns are missing in every cell, as one number."""
        absent = self.levels == np.array(self.sizes)[:, None]
        return (absent * (1 << np.arange(len(self.sizes)))[:, None]).sum(axis=0)

    def log_given(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Return the log-probability of every cell's labels for every component: chains, components, cells."""
        total = 0.0
        for table, level in zip(tables, self.levels, strict=True):
            log = np.log(table)
            if self.missing:
                log = np.concatenate([log, np.zeros((*log.shape[:-1], 1))], axis=-1)
            total = total + log[..., level]
        return np.asarray(total)


@dataclass(frozen=True)
class MixtureDraw:
    """Parameters of all chains, chains first; tables are components by labels."""

    weights: np.ndarray
    tables: tuple[np.ndarray, ...]


def sample_mixture(
    cells: MixtureCells,
    values: np.ndarray,
    log_noise: Callable[[np.ndarray], np.ndarray] | None,
    noise_sd: float,
    n_records: int,
    *,
    chains: int,
    weight_prior: float,
    label_prior: Sequence[float],
    rng: np.random.Generator,
) -> Iterator[MixtureDraw]:
    """Yield one draw of every chain after each sweep, without end.

    Parameters
    ----------
    values
        Released numbers, one for each cell.
    log_noise
        The logarithm of the noise's mass at an array of integers, or None to take the numbers for the counts.
    noise_sd
        Its standard deviation, for the size of the steps.
    n_records
        The public number of records.
    weight_prior, label_prior
        Dirichlet parameters: of the weights, and one for the labels of each column.
    """
    start = _scaled(np.maximum(values, 0), n_records) if log_noise else np.maximum(values, 0)
    counts = np.tile(start.astype(np.int64), (chains, 1))
    n_patterns = 1 << len(cells.sizes)
    expected = np.ones(n_patterns)
    if cells.missing:
        expected[0], expected[1:] = PRESENT_WEIGHT, MISSING_WEIGHT / (n_patterns - 1)
    draw = _first(cells, chains, weight_prior, label_prior, rng)
    while True:
        log_given = cells.log_given(draw.tables) + np.log(draw.weights)[..., None]
        if log_noise is not None:
            seen = np.stack([np.bincount(cells.pattern, row, n_patterns) for row in counts])
            log_pattern = np.log(_dirichlet(expected + seen, rng))[:, cells.pattern]
            log_mass = logsumexp(log_given, axis=1) + log_pattern
            for _ in range(_ROUNDS):
                counts = _exchange(counts, values, log_mass, log_noise, noise_sd, rng)
        split = _split(counts, np.moveaxis(log_given, 1, 2), rng)
        draw = _parameters(cells, split, weight_prior, label_prior, rng)
        yield draw


def by_weight(draw: MixtureDraw) -> MixtureDraw:
    """Return the draw with its components in the order of their weight, largest first: they have no other names."""
    order = np.argsort(-draw.weights, axis=-1)
    tables = tuple(np.take_along_axis(table, order[..., None], axis=-2) for table in draw.tables)
    return MixtureDraw(np.take_along_axis(draw.weights, order, axis=-1), tables)


def _first(
    cells: MixtureCells,
    chains: int,
    weight_prior: float,
    label_prior: Sequence[float],
    rng: np.random.Generator,
) -> MixtureDraw:
    weights = _dirichlet(np.full((chains, cells.components), weight_prior), rng)
    tables = tuple(
        _dirichlet(np.full((chains, cells.components, size), alpha), rng)
        for size, alpha in zip(cells.sizes, label_prior, strict=True)
    )
    return MixtureDraw(weights, tables)


def _parameters(
    cells: MixtureCells,
    split: np.ndarray,
    weight_prior: float,
    label_prior: Sequence[float],
    rng: np.random.Generator,
) -> MixtureDraw:
    """Draw weights and tables given how many records of each cell belong to each component."""
    chains, _, k = split.shape
    table = split.reshape(chains, *cells.shape, k)
    tables = []
    for d, (size, alpha) in enumerate(zip(cells.sizes, label_prior, strict=True)):
        others = tuple(axis for axis in range(1, 1 + len(cells.sizes)) if axis != d + 1)
        counted = np.moveaxis(table.sum(axis=others), 1, 2)[..., :size]
        tables.append(_dirichlet(alpha + counted, rng))
    return MixtureDraw(_dirichlet(weight_prior + split.sum(axis=1), rng), tuple(tables))


def _split(counts: np.ndarray, log_weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Share every cell's records among the components, by a binomial distribution for each component in turn."""
    mass = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    left, rest = counts.copy(), mass.sum(axis=-1)
    out = np.zeros(log_weights.shape, dtype=np.int64)
    for k in range(mass.shape[-1] - 1):
        share = np.clip(mass[..., k] / np.maximum(rest, _TINY), 0.0, 1.0)
        out[..., k] = rng.binomial(left, share)
        left = left - out[..., k]
        rest = rest - mass[..., k]
    out[..., -1] = left
    return out


def _exchange(
    counts: np.ndarray,
    values: np.ndarray,
    log_mass: np.ndarray,
    log_noise: Callable[[np.ndarray], np.ndarray],
    noise_sd: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Let every cell exchange records with another one, chosen at random."""
    chains, n_cells = counts.shape
    order = rng.permutation(n_cells)
    half = n_cells // 2
    a, b = order[:half], order[half : 2 * half]
    # steps of all sizes, from one record to twice the noise
    reach = np.exp(rng.uniform(0.0, np.log(2 + 2 * noise_sd), size=(chains, half)))
    step = np.round(rng.normal(size=(chains, half)) * reach).astype(np.int64)

    def log_target(m: np.ndarray, where: np.ndarray) -> np.ndarray:
        inside = np.maximum(m, 0)
        log = inside * log_mass[:, where] - gammaln(inside + 1.0) + log_noise(values[where] - m)
        return np.where(m >= 0, log, -np.inf)

    old_a, old_b = counts[:, a], counts[:, b]
    gain = log_target(old_a + step, a) + log_target(old_b - step, b)
    gain = gain - log_target(old_a, a) - log_target(old_b, b)
    step *= np.log(rng.random(gain.shape) + _TINY) < gain
    moved = counts.copy()
    moved[:, a] += step
    moved[:, b] -= step
    return moved


def _dirichlet(alpha: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    draws = np.maximum(rng.gamma(alpha), _TINY)
    return draws / draws.sum(axis=-1, keepdims=True)


def _scaled(counts: np.ndarray, n_records: int) -> np.ndarray:
    """Return whole numbers in proportion to ``counts`` that add up to ``n_records``."""
    share = counts / counts.sum() if counts.sum() else np.full(len(counts), 1 / len(counts))
    whole = np.floor(share * n_records).astype(np.int64)
    whole[np.argmax(share)] += n_records - whole.sum()
    return whole

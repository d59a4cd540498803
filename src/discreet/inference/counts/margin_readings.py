r"""The posterior of a latent table of counts, given noisy sums of its cells.

Margins of a table are sums of its cells, and so is a single cell, and the number of all records. With shares that have
a Dirichlet(alpha) prior, and A the sum of alpha, a table c of n records has

    P(c | y)  ~  p(n) n! / Gamma(A + n) * prod_i Gamma(alpha_i + c_i) / c_i! * prod_j noise_j(y_j - sum of its cells),

where Gaussian noise with a known covariance takes the place of the last product. Whatever is drawn is one table, so its
margins agree with each other by construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import gammaln

from discreet.inference.engine import too_wide
from discreet.inference.record_prior import RecordPrior, closest
from discreet.privacy import Noise
from discreet.privacy.published import Correlated

# Log of what a reading's table leaves out on either side; beyond it goes on in a straight line.
_DEPTH = 60.0
# Numbers in all tables of readings.
_MOST_NUMBERS = 3e7
# sweeps before the first draw that is kept, as a share of those that are
_BURN_IN, _LEAST_BURN_IN = 0.5, 300
# rounds of fitting the first table to the readings
_ROUNDS = 60


@dataclass(frozen=True)
class MarginReadings:
    """Noisy sums of the cells of a table.

    Parameters
    ----------
    levels
        How many labels each column has; cells are in C order.
    alpha
        The Dirichlet parameter of each cell.
    counted
        Readings × cells: whether the cell counts in what is read.
    values, noise
        The readings, and their noise: independent, or all :class:`~discreet.privacy.published.Correlated`.
    known, records
        The number of records, None if it is private; and then the prior on it.
    """

    levels: tuple[int, ...]
    alpha: np.ndarray
    counted: np.ndarray
    values: np.ndarray
    noise: tuple[Noise, ...]
    known: int | None
    records: RecordPrior

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.alpha.size

    @cached_property
    def gaussian(self) -> tuple[np.ndarray, np.ndarray]:
        """Q and b of Gaussian noise with a covariance, of which the log density is b'c - c'Qc / 2; empty if none."""
        joint = [(k, one) for k, one in enumerate(self.noise) if isinstance(one, Correlated)]
        if not joint:
            return np.empty((0, 0)), np.empty(0)
        covariance = np.array(joint[0][1].covariance)
        design, y = np.empty((len(covariance), self.size)), np.empty(len(covariance))
        for k, one in joint:
            design[one.at] = self.counted[k]
            y[one.at] = float(self.values[k]) + one.away
        weighted = np.linalg.solve(covariance, design)
        return design.T @ weighted, weighted.T @ y

    def log_weight(self, tables: np.ndarray) -> np.ndarray:
        """Return the log posterior weight of tables, cells on the last axis, up to a constant."""
        tables = np.asarray(tables)
        n = tables.sum(axis=-1)
        total = float(self.alpha.sum())
        out = gammaln(n + 1.0) - gammaln(n + total)
        out = out + (gammaln(self.alpha + tables) - gammaln(tables + 1.0)).sum(axis=-1)
        if self.known is None:
            out = out + self.records.log_mass(n)
        sums = tables @ self.counted.T.astype(np.int64)
        for j, one in enumerate(self.noise):
            if not isinstance(one, Correlated):
                out = out + one.log_mass(self.values[j] - sums[..., j])
        precision, pull = self.gaussian
        if pull.size:
            out = out + tables @ pull - 0.5 * np.einsum("...i,ij,...j->...", tables, precision, tables)
        return out

    def every_table(self) -> np.ndarray:
        """Return every table of the known number of records."""
        n, k = self.known or 0, self.size
        if k == 1:
            return np.array([[n]])
        bars = np.array(list(combinations(range(n + k - 1), k - 1)))
        edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + k - 1)])
        return np.diff(edges, axis=1) - 1

    def walked(self, size: int, chains: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws of the table from Markov chains, draws first and chain after chain."""
        # numba takes half a second to import
        from discreet.inference.counts.margin_moves import ANY, MarginMoves, MarginState, MarginTarget, walk

        free = self.known is None
        records = self.records if free else RecordPrior()
        weights = records.weights
        alone = [j for j, one in enumerate(self.noise) if not isinstance(one, Correlated)]
        counted = self.counted[alone]
        cell, read = np.nonzero(counted.T)
        first, low, lengths, mass = self._tabulated(alone)
        precision, pull = self.gaussian
        target = MarginTarget(
            np.searchsorted(cell, np.arange(self.size + 1)),
            read,
            self.alpha.astype(float),
            np.asarray(self.values, dtype=np.int64)[alone],
            first,
            lengths,
            low,
            mass,
            precision,
            pull,
            records.low,
            ANY if records.high is None else records.high,
            np.empty(0)
            if weights is None
            else np.maximum(records.log_mass(records.low + np.arange(len(weights))), -1e4),
        )
        strides = np.array([int(np.prod(self.levels[i + 1 :])) for i in range(len(self.levels))])
        spreads = [one.sd for one in self.noise]
        width = float(max(1.0, np.mean(spreads) if spreads else 1.0))
        # lines begin where records are, most of them, and everywhere now and then
        fitted = self._fitted()
        chance = np.cumsum(0.8 * fitted / fitted.sum() + 0.2 / self.size)
        moves = MarginMoves(strides, np.array(self.levels), chance, width, free)
        each = size // chains
        out = np.empty((chains, each, self.size), dtype=np.int64)
        burn_in = max(_LEAST_BURN_IN, int(_BURN_IN * each))
        for kept in out:
            cells = rng.multinomial(self._likely_total(fitted), fitted / fitted.sum()).astype(np.int64)
            sums = counted.astype(np.int64) @ cells
            slope = pull - precision @ cells if pull.size else np.empty(0)
            state = MarginState(cells, sums, slope)
            walk(state, target, moves, burn_in, kept, rng)
        return out.reshape(chains * each, -1)

    def _tabulated(self, alone: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return where the log mass of each reading begins, its first k, its length, and all of them end to end."""
        places: dict[Noise, tuple[int, int, int]] = {}
        parts: list[np.ndarray] = []
        held = 0
        for j in alone:
            one = self.noise[j]
            if one in places:
                continue
            reach = int(np.ceil(one.reach(_DEPTH))) + 1
            if held + 2 * reach > _MOST_NUMBERS:
                raise too_wide()
            k = np.arange(-reach, reach + 1)
            parts.append(np.maximum(one.log_mass(k), -1e5))
            places[one] = (held, -reach, k.size)
            held += k.size
        rows = np.array([places[self.noise[j]] for j in alone], dtype=np.int64).reshape(-1, 3)
        return rows[:, 0], rows[:, 1], rows[:, 2], np.concatenate(parts) if parts else np.zeros(2)

    def _fitted(self) -> np.ndarray:
        """Return what the readings make likely of each cell: fitted to them in turns."""
        known = np.max(self.values, initial=1) if self.known is None else self.known
        guess = self.alpha / self.alpha.sum() * max(float(known), 1.0)
        for _ in range(_ROUNDS):
            for row, value in zip(self.counted, self.values, strict=True):
                guess[row] *= np.sqrt(max(float(value), 0.5) / max(guess[row].sum(), 1e-9))
        return guess

    def _likely_total(self, fitted: np.ndarray) -> int:
        if self.known is not None:
            return self.known
        return closest(self.records, max(round(float(fitted.sum())), 0))

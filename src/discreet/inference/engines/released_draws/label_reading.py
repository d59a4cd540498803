r"""The posterior of labels' probabilities given released draws of another posterior of them.

With counts c of n records, the released draws p_1, ..., p_J of a posterior Dirichlet(a(c)), a_k(c) = a_k + w c_k, and
the analyst's prior Dirichlet(alpha),

    P(c | draws)  ~  prod_k  g_alpha_k(c_k) prod_j p_jk^(w c_k) / Gamma(a_k(c))^J        given sum_k c_k = n,

so counts are drawn by splitting n (:mod:`discreet.inference.counts`), and then theta from Dirichlet(alpha + c).

A posterior cut off where a probability is below ``least`` has another normalizing constant as well. With independent
Y_k ~ Gamma(a_k(c), rate A), A = sum_k a_k(c), which does not depend on c, it is, up to a constant,

    prod_k P(Y_k >= least)  times the density at 1 of sum_k Y_k given that all are above least.

The product joins the weights above. The density, a convolution on a fine grid, corrects the draws by resampling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln

from discreet.artifact import Release
from discreet.inference.counts.latent_cells import Panel
from discreet.inference.counts.weights import (
    Table,
    convolved,
    dirichlet_columns,
    locate,
    rough_log_rising,
    sample_index,
    tilt_for,
)
from discreet.inference.engine import Answer, Question, hold, too_wide
from discreet.inference.engines.released_draws.sum_weights import n_records

# Counts of one label that are tabled, at most.
_WIDEST = 4e6
# Steps of the grid of probabilities: at most this long, in probability and in standard deviations of the sum.
_STEP, _STEP_SD = 1 / 1024, 0.05
_MOST_STEPS = 1 << 14
# Grids of this many candidates are multiplied at a time.
_BLOCK = 256
# Where no truncation is worth a correction: what the tails miss, in all.
_NOTHING = 1e-9


@dataclass(frozen=True)
class DrawnCell:
    """A latent count with its prior weight and what the released draws say of it."""

    alpha: float
    start: float
    weight: float
    log_p: float
    samples: int
    least: float
    rate: float
    n: int

    @property
    def y(self) -> float:
        """About where the count is."""
        return self.n * float(np.exp(self.log_p / self.samples))

    @property
    def finest(self) -> float:
        """Spacing of nodes that is fine enough to see the weight bend."""
        return max(1.0, np.sqrt(self.y / self.weight) / 8)

    def rough(self, c: np.ndarray) -> np.ndarray:
        """Return the log weight of counts."""
        shape = self.start + self.weight * c
        said = self.weight * c * self.log_p - self.samples * gammaln(shape)
        if self.least > 0:
            said = said - self.samples * np.log(np.maximum(gammaincc(shape, self.rate * self.least), 1e-300))
        return rough_log_rising(self.alpha, c) + said

    def table(self, tilt: float) -> Table:
        """Return the tilted weights of the counts that matter."""
        low, high = locate(lambda c: self.rough(c) + tilt * c, 0, self.n, [self.y], finest=self.finest)
        if high - low > _WIDEST:
            raise too_wide()
        hold(int(high - low) + 1)
        c = np.arange(low, high + 1)
        height = self.rough(c) + tilt * c
        weights = np.exp(height - height.max())
        return Table(low, weights / weights.sum())


def draw(question: Question) -> Answer:
    """Draw the probabilities from their posterior, counts first."""
    release, alpha = question.release, question.prior.natural()
    n, cells = n_records(release), drawn_cells(release, alpha)
    tilt = tilt_for(cells, float(n), n)
    order, ordered, partial = convolved([cell.table(tilt) for cell in cells])
    panel = Panel(n, np.zeros(1), np.zeros(1), order, ordered, partial)
    counts = panel.split(np.full(question.size, n), question.rng)
    distinct, where = np.unique(counts, axis=0, return_inverse=True)
    log_correction = -cells[0].samples * log_density_at_one(cells, distinct)[where.ravel()]
    if np.ptp(log_correction) > 0:
        weights = np.exp(log_correction - log_correction.max())
        counts = counts[sample_index(weights, question.size, question.rng)]
    p = dirichlet_columns((alpha + counts).T, question.rng).T
    return Answer({"p": p}, table={"usable": counts.sum(axis=1), "count": counts})


def drawn_cells(release: Release, alpha: np.ndarray) -> list[DrawnCell]:
    """Return what the released draws say of each label's count."""
    record, n = release.sampling_record, n_records(release)
    assert release.samples is not None
    drawn, own = release.samples.arrays()["p"], record.conjugate.natural()
    if "temperature" in record.parameters:
        assert record.support is not None
        weight, least = 1 / float(record.parameters["temperature"]), [float(low) for low, _ in record.support]
    else:
        weight, least = float(record.parameters["r"]), [0.0]
        own = own / float(record.parameters["m"])
    log_p = np.log(np.maximum(drawn, 1e-300)).sum(axis=0)
    rate = float(own.sum() + weight * n)
    each = np.broadcast_to(least, own.shape)
    return [
        DrawnCell(
            float(alpha[k]), float(own[k]), weight, float(log_p[k]), len(drawn), float(each[k]), rate, n
        )
        for k in range(own.size)
    ]


def log_density_at_one(cells: list[DrawnCell], counts: np.ndarray) -> np.ndarray:
    """Return the log density at 1 of the sum of truncated gammas, up to a constant, for each vector of counts."""
    first, out = cells[0], np.zeros(len(counts))
    shapes = np.array([cell.start for cell in cells]) + first.weight * counts
    least = np.array([cell.least for cell in cells])
    if gammainc(shapes, first.rate * least).sum(axis=1).max() < _NOTHING:
        return out
    free = 1 - least.sum()
    step = max(min(_STEP, _STEP_SD / np.sqrt(first.rate)), free / _MOST_STEPS)
    n_steps = int(np.ceil(free / step)) + 1
    size = 8 * (1 << (n_steps - 1).bit_length())
    # midpoints of K steps, each counted from its own least, sum to 1 at this place
    place = free / step - len(cells) / 2
    below = min(max(int(np.floor(place)), 0), n_steps - 2)
    waves, where = [], []
    for k in range(len(cells)):
        edges = first.rate * (least[k] + step * np.arange(n_steps + 1))
        known, index = np.unique(shapes[:, k], return_inverse=True)
        mass = np.diff(gammainc(known[:, None], edges), axis=1) / gammaincc(known, edges[0])[:, None]
        waves.append(np.fft.rfft(mass, size, axis=1))
        where.append(index)
    turn = np.exp(2j * np.pi * np.outer([below, below + 1], np.arange(size // 2 + 1)) / size)
    turn[:, 1:-1] *= 2
    for at in range(0, len(counts), _BLOCK):
        rows = slice(at, at + _BLOCK)
        product = np.prod([wave[index[rows]] for wave, index in zip(waves, where, strict=True)], axis=0)
        low, high = np.log(np.maximum(np.real(product @ turn.T) / size, 1e-300)).T
        out[rows] = low + (place - below) * (high - low)
    return out

r"""What cluster sums say about a table: how much its mean varies between samples of people.

With M = sum m the rows (or the weight) of the table, tau = sum h / M its mean in t, and e_i = h_i - tau m_i what
person i adds to it, the mean of another sample of people differs by sum e_i / M, whose variance is V / M^2 with
V = sum e_i^2 (linearization; Särndal, Swensson and Wretman 1992, section 5.5). Written with W = sum m_i^2 and
C = sum e_i m_i, the cluster sums are linear in these three,

    sum h^2         = V + 2 tau C + tau^2 W
    sum (m - h)^2   = V - 2 (1 - tau) C + (1 - tau)^2 W
    2 sum h (m - h) = 2 tau (1 - tau) W + 2 (1 - 2 tau) C - 2 V,

and three bounds hold: a M <= W <= k M, with a the least weight; |C| <= sqrt(V W); and V <= k S by Cauchy and Schwarz,
where S = sum v (t - tau)^2 is what V would be if rows were people: D = V / S is the design effect. With one row a
person V >= a S too. A working prior is uniform on W between these bounds and on C / sqrt(V W), and has D / k ~
Beta(4, 1/2), on the side of caution: rows of a person are alike more often than not, and where noise drowns the cluster
sums a prior that is not would take them for independent too often (fares of routes, whose four rows are nearly the
same, were covered least in `studies/people.py`, 91 and 93% under Beta(3/2, 1/2), and that is what it was chosen on).

Draws are of (V, W, C) given a draw of the rows, mean and spread of the table: a random walk in the three cluster sums,
where the noise is independent and the prior known, one walk for each draw and all side by side.

References
----------
Särndal, Swensson and Wretman (1992), Model assisted survey sampling: sections 5.5 (ratios) and 4.2 (clusters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.inference.bounded_mean.table import TableDraws
from discreet.privacy.noise import Noise

# steps of each walk, and their lengths in standard deviations of the noise, taken in turn
_STEPS, _LENGTHS = 240, (1.0, 0.3, 0.1, 0.03)
_TINY = 1e-12


@dataclass(frozen=True)
class NoisyClusters:
    """Released cluster sums, low-low, low-high and high-high, in units of 1, with their steps and noise.

    ``least`` is the smallest weight a of a row, 1 without weights; ``most`` the largest m of a person; ``alone`` says
    that a person has one row.
    """

    values: np.ndarray
    grid: np.ndarray
    noise: Sequence[Noise]
    least: float
    most: float
    alone: bool

    def log_likelihood(self, sums: np.ndarray) -> np.ndarray:
        """Return the log likelihood of cluster sums, coordinates first."""
        steps = (self.values[:, None] - sums) / self.grid[:, None]
        return np.sum([law.log_mass(x) for law, x in zip(self.noise, steps, strict=True)], axis=0)


def draw_design_effect(noisy: NoisyClusters, table: TableDraws, rng: np.random.Generator) -> np.ndarray:
    """Return for each draw of the table a draw of its design effect: V over what it were if rows were people."""
    tau = np.clip(table.mean, _TINY, 1 - _TINY)
    rows = np.maximum(table.usable, _TINY)
    square = np.maximum(rows * tau * (1 - tau) * table.spread, _TINY)
    space = _Space(noisy, tau, rows, square)
    state = space.feasible(np.repeat(noisy.values[:, None], tau.size, axis=1))
    height = space.log_posterior(state)
    sd = np.array([law.sd for law in noisy.noise]) * noisy.grid
    for step in range(_STEPS):
        length = _LENGTHS[step % len(_LENGTHS)]
        proposed = state + length * sd[:, None] * rng.standard_normal(state.shape)
        there = space.log_posterior(proposed)
        with np.errstate(invalid="ignore"):
            gain = there - height
        # of a table with next to no rows, rounding makes all cluster sums impossible: from there any step will do
        gain = np.where(np.isneginf(height), np.where(np.isneginf(there), -np.inf, 0.0), gain)
        accept = np.log(rng.random(tau.size)) < gain
        state = np.where(accept, proposed, state)
        height = np.where(accept, there, height)
    return np.clip(space.moments(state)[0] / square, noisy.least if noisy.alone else _TINY, noisy.most)


@dataclass(frozen=True)
class _Space:
    """Cluster sums of tables with these rows, mean and sum of squares; all arrays have one entry for each draw."""

    noisy: NoisyClusters
    tau: np.ndarray
    rows: np.ndarray
    square: np.ndarray

    def moments(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return V, W and C of cluster sums."""
        low, mixed, high = sums
        tau = self.tau
        total = low + mixed + high
        # sum m h = high + mixed / 2
        shared = high + 0.5 * mixed - tau * total
        return high - 2 * tau * shared - tau**2 * total, total, shared

    def sums(self, v: np.ndarray, w: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return the cluster sums of V, W and C."""
        tau = self.tau
        high = v + 2 * tau * c + tau**2 * w
        low = v - 2 * (1 - tau) * c + (1 - tau) ** 2 * w
        return np.stack([low, w - low - high, high])

    def feasible(self, sums: np.ndarray) -> np.ndarray:
        """Move cluster sums to some that a table can have."""
        v, w, c = self.moments(sums)
        noisy = self.noisy
        inside = 1e-6
        low = noisy.least if noisy.alone else 0.0
        reach = (noisy.most - low) * self.square
        v = np.clip(v, low * self.square + inside * reach, noisy.most * self.square - inside * reach)
        reach = (noisy.most - noisy.least) * self.rows
        w = np.clip(w, noisy.least * self.rows + inside * reach, noisy.most * self.rows - inside * reach)
        limit = 0.9 * np.sqrt(v * w)
        return self.sums(v, w, np.clip(c, -limit, limit))

    def log_posterior(self, sums: np.ndarray) -> np.ndarray:
        v, w, c = self.moments(sums)
        noisy = self.noisy
        low = noisy.least if noisy.alone else 0.0
        possible = (v > low * self.square) & (v < noisy.most * self.square)
        possible &= (w >= noisy.least * self.rows) & (w <= noisy.most * self.rows) & (c * c <= v * w)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = v / (noisy.most * self.square)
            # uniform in C / sqrt(V W)
            height = (
                noisy.log_likelihood(sums)
                - 0.5 * np.log(v * w)
                + 3.0 * np.log(share)
                - 0.5 * np.log1p(-share)
            )
        return np.where(possible, height, -np.inf)

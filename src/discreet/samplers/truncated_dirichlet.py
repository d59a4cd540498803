"""A Dirichlet distribution on the part of the simplex where no probability is below its lower bound: exact draws.

Why it is exact
---------------
Gamma variables g_1, ..., g_K with shapes alpha_k and a common rate b, each above its own bound l_k, have the joint
density prod g_k^(alpha_k - 1) e^(-b g_k). Where they sum to 1 the factor e^(-b) is the same everywhere, so given that
sum they follow the truncated Dirichlet distribution, *whatever b is*. To condition on the sum, draw all but one of
them, let the last be p_j = 1 - sum of the others, and accept with probability f_j(p_j) / sup f_j, where f_j is the
density of the last one. The accepted points have density proportional to prod f_k: the target. The rate is chosen so
that the means sum to 1, and the last cell is the one whose density peaks lowest; both only decide how often a proposal
is accepted. The gamma draws are exact as well (:mod:`discreet.samplers.truncated_gamma`), so there is no total
variation to account for beyond the rounding of double precision.

Drawing each component in turn from a truncated beta distribution, the printed recipe of Foulds et al. (2016, supplement
E.2), is wrong: the marginal distribution of the first component carries the mass that the constraint leaves to the
others, and the recipe drops it. Accepting its draws in proportion to that mass mends it, but the mass vanishes quickly
as cells are added or bounds tightened, and so does the mass that plain rejection from the Dirichlet distribution relies
on.

Why it is never slow
--------------------
Let f be the density of the sum, with standard deviation s; its mean is 1. A proposal is accepted with probability
A = f(1) / sup f_j. Call a cell *heavy* if alpha_k >= 1.

* The distribution of a heavy cell is log-concave and its hazard rate is at most b, so it is more dispersed than an
  exponential distribution of rate b and its variance is at least 1/b^2; in the other cells the hazard rate is at least
  b, and the variance at most 1/b^2. Hence if some cell is heavy, the heavy cell h of largest variance has s_h >= s /
  sqrt(K). A log-concave density is at most 1/s_h, and the last cell's peak is no higher: A >= s_h f(1) >= s f(1) /
  sqrt(K).
* If all cells are heavy, f is log-concave, so that f(1) >= sup f / e (Fradelizi 1997), and sup f >= 1 / (s sqrt(12)) as
  for any density. **A >= 1 / (e sqrt(12 K))**, about 1 / (9.4 sqrt(K)).
* If at least one is, f is still unimodal: with y = g - l the density of another cell is (l + y)^(alpha - 1) e^(-b y),
  hyperbolically completely monotone, so the sum of those is a generalized gamma convolution (Bondesson 1992),
  unimodal (Yamazato 1978), and remains so when a log-concave distribution is added (Ibragimov 1956). The fourth
  cumulant of that sum is at most 6/b^2 times its variance, since its Thorin measure has no mass below b; that of the
  heavy cells' sum at most 6 times its squared variance, since a log-concave distribution has kurtosis at most 9 (Eitan
  2021), and that variance is at least 1/b^2. Together: f has kurtosis at most 9. Standardize it to mean 0 and variance
  1, with kurtosis q; integrating x (x+v)^2 (2v-x), which is positive on (0, 2v) only, on the side away from the mode,
  gives 3 v^2 - q <= 5.6 v^5 f(0). At v^2 = 5 this is f(0) >= 0.01916, and **A >= 1 / (52.2 sqrt(K))**.

Neither depends on the data, on their number or on the lower bounds.
:func:`~discreet.privacy.costs.rejection.acceptance_bound` says which one applies to every data set there could be.

What the last bits reveal
-------------------------
Which cell takes what the others leave, and at which rate the others are drawn, depends on alpha and so on the data; and
1 - x has other last bits than x. As they are, the lowest bit of a draw is 0 in 85% of draws or in 50%, by which of two
parameters is larger, however little: far more than any guarantee allows. So draws are rounded to multiples of 2^-40,
in what is left of which every way of drawing is alike up to the 2^-13 of draws that rounding errors of double precision
carry over to the next multiple.

What timing reveals
-------------------
How many proposals are needed, and how long a gamma draw takes, depends on alpha and so on the data. Neither is
reported. Proposals are made 512 at a time, so that a release of a few draws nearly always takes one round whatever the
data; but the time of a round is not constant, and nothing here makes it so. With ``tries`` the number of proposals is
the same for every table, at the price of a failure probability (:mod:`discreet.privacy.costs.rejection`); a gamma draw
still takes its own time. As for every release, do not let an attacker time it.

References
----------
Foulds, Geumlek, Welling and Chaudhuri (2016), supplement E.2. Bondesson (1992), Generalized gamma convolutions and
related classes of distributions and densities. Yamazato (1978), Unimodality of infinitely divisible distribution
functions of class L. Ibragimov (1956), On the composition of unimodal distributions. Fradelizi (1997), Sections of
convex bodies through their centroid. Eitan (2021), The centered convex body whose marginals have the heaviest tails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import UsageError
from discreet.samplers.truncated_gamma import draw_above, log_peak, mean_above

#: Proposals of a first round.
_ROUND = 512
# Numbers drawn at a time, so that they stay in a processor's cache.
_MOST_NUMBERS = 2**17
# Beyond these, rounding to double precision would be visible in the draws.
_LEAST_ROOM = 2.0**-20
_MOST_TOTAL = 1e15

# Draws are multiples of one over this; see the module's docstring.
_GRID = 2.0**40


def sample_truncated_dirichlet(
    alpha: ArrayLike, lower: ArrayLike, size: int, rng: np.random.Generator, *, tries: int | None = None
) -> np.ndarray:
    """Draw from Dirichlet(alpha) given that every p_k is at least ``lower``, or its own entry of it.

    Parameters
    ----------
    alpha
        Parameters, one for each of K >= 2 cells, positive.
    lower
        One lower bound for all cells or one for each, not negative, with a sum below 1.
    size
        How many independent draws.
    rng
        Source of random numbers; releases pass one that the operating system feeds.
    tries
        How many proposals are made for each draw, whatever becomes of them. A draw none of whose proposals is accepted
        is the middle of what the bounds allow. By default proposals are made until one is accepted.

    Returns
    -------
    Array of shape ``(size, K)``. Every entry is at least its bound, and rows sum to 1 up to rounding: entries are
    multiples of 2^-40, or their bound.

    Privacy
    -------
    ``alpha`` is private where it holds counts. No error shows it, and the number of proposals is not reported. See the
    module's docstring for why the distribution is exact and for what timing reveals.
    """
    parameters = np.array(alpha, dtype=float)
    if parameters.ndim != 1 or parameters.size < 2:
        raise UsageError("alpha must be a list of at least two parameters.")
    if not (np.isfinite(parameters).all() and (parameters > 0).all()):
        raise UsageError("every entry of alpha must be positive and finite.")
    if parameters.sum() > _MOST_TOTAL:
        raise UsageError("the entries of alpha may add up to 1e15 at most.")
    bounds = check_lower(lower, parameters.size)
    if not bounds.any():
        return _rounded(rng.dirichlet(parameters, size), bounds)
    proposal = Proposal.tuned(parameters, bounds)
    points = (
        _until_accepted(proposal, size, rng) if tries is None else _first_accepted(proposal, size, tries, rng)
    )
    return _rounded(points, bounds)


def _rounded(points: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Round draws to a public grid, so that their last bits do not say how they were drawn."""
    return np.maximum(np.round(points * _GRID) / _GRID, lower)


def check_lower(lower: ArrayLike, n_cells: int) -> np.ndarray:
    """Return one lower bound for each cell, or say what is wrong with them."""
    bounds = np.array(lower, dtype=float)
    if bounds.shape not in ((), (n_cells,)):
        raise UsageError(f"lower must be one number or {n_cells}, one for each cell.")
    bounds = np.broadcast_to(bounds, (n_cells,)).copy()
    if not (np.isfinite(bounds).all() and (bounds >= 0).all()):
        raise UsageError("lower bounds must be finite and not negative.")
    if not bounds.sum() <= 1 - _LEAST_ROOM:
        raise UsageError(
            f"the lower bounds of {n_cells} cells add up to {bounds.sum():.7g}, which leaves no room below 1.",
            hint=f"one bound for all cells must be below 1/{n_cells}",
        )
    return bounds


@dataclass(frozen=True)
class Proposal:
    """Independent gamma distributions above their bounds, of one rate; the last cell takes what the others leave."""

    alpha: np.ndarray
    lower: np.ndarray
    rate: float
    last: int

    @classmethod
    def tuned(cls, alpha: np.ndarray, lower: np.ndarray) -> Proposal:
        """Choose the rate at which the means sum to 1, and the cell whose density peaks lowest."""
        from scipy.optimize import brentq

        room = 1 - lower.sum()

        def excess(log_rate: float) -> float:
            rate = math.exp(log_rate)
            return float(mean_above(alpha, rate * lower).sum()) / rate - room

        # a cell's mean is at least alpha/b, and above its bound by at most max(alpha, 1)/b
        ends = math.log(alpha.sum()) - 1e-6, math.log(np.maximum(alpha, 1).sum() / room) + 1e-6
        rate = math.exp(float(brentq(excess, *ends, xtol=1e-13)))  # pyright: ignore[reportArgumentType]
        return cls(alpha, lower, rate, int(np.argmin(log_peak(alpha, rate * lower))))

    def propose(self, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the other cells' gamma draws at rate 1, what is left to the last cell, and its log-acceptance."""
        alpha, lower = np.delete(self.alpha, self.last), np.delete(self.lower, self.last)
        others = draw_above(alpha, self.rate * lower, rows, rng)
        rest = 1 - others.sum(axis=1) / self.rate
        return others, rest, self._log_accept(rest)

    def points(self, others: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Put proposals together as points of the simplex."""
        # a quotient can round to just below its bound
        others = np.maximum(others / self.rate, np.delete(self.lower, self.last))
        return np.insert(others, self.last, rest, axis=1)

    def _log_accept(self, rest: np.ndarray) -> np.ndarray:
        """Return log f(p) - log sup f for the last cell."""
        power, low = self.alpha[self.last] - 1, self.lower[self.last]
        mode = max(power / self.rate, low)
        # where the mode is inside, the slope there is zero and what is left is of second order: nothing cancels
        slope = power / low - self.rate if mode == low > 0 else 0.0
        inside = (rest >= low) & (rest > 0)
        off = np.where(inside, rest, 1.0) - mode
        if mode == 0:  # an exponential distribution from 0 on
            return np.where(inside, -self.rate * off, -np.inf)
        z = off / mode
        return np.where(inside, power * (np.log1p(z) - z) + slope * off, -np.inf)


def _until_accepted(proposal: Proposal, size: int, rng: np.random.Generator) -> np.ndarray:
    """Propose until ``size`` points are accepted, and return the first of them."""
    n_cells = proposal.alpha.size
    kept: list[np.ndarray] = []
    tried = found = 0
    while found < size:
        # how many to try next may depend on what came before: the accepted points stay independent draws
        wanted = max(_ROUND, size // 8) if not found else int(1.1 * (size - found) * tried / found) + 16
        rows = min(wanted, max(_MOST_NUMBERS // n_cells, 1))
        others, rest, log_accept = proposal.propose(rows, rng)
        accepted = rng.standard_exponential(rows) >= -log_accept
        kept.append(proposal.points(others[accepted], rest[accepted]))
        tried, found = tried + rows, found + len(kept[-1])
    return np.concatenate(kept)[:size] if kept else np.empty((0, n_cells))


def _first_accepted(proposal: Proposal, size: int, tries: int, rng: np.random.Generator) -> np.ndarray:
    """Return the first accepted one of ``tries`` points for each draw, or the middle of what the bounds allow."""
    lower = proposal.lower
    drawn = np.tile(lower + (1 - lower.sum()) / lower.size, (size, 1))
    found = np.zeros(size, dtype=bool)
    step = max(_MOST_NUMBERS // (lower.size * size), 1)
    for start in range(0, tries, step):
        # one row of proposals for each draw, and as many of them whether it has been found or not
        rows = min(step, tries - start)
        others, rest, log_accept = proposal.propose(rows * size, rng)
        accepted = (rng.standard_exponential(rows * size) >= -log_accept).reshape(size, rows)
        first = accepted.argmax(axis=1) + rows * np.arange(size)
        new = accepted.any(axis=1) & ~found
        drawn = np.where(new[:, None], proposal.points(others[first], rest[first]), drawn)
        found |= new
    return drawn

"""Many steps of Gaussian noise on random samples of the records.

Each step sums a vector over a fresh secret sample of the records and adds Gaussian noise whose standard deviation is
``multiplier`` times the sensitivity of the sum: how far one record, if it is in the sample, can move it. All steps may
be published. Two pairs of sampling and neighbors are covered and no other, as in :mod:`discreet.privacy.subsampling`:

- ``poisson`` with ``add_remove``: every record joins with probability ``rate``, independently. The sensitivity is the
  largest length of a record's vector. The curve is exact at integer orders.
- ``fixed_size`` with ``replace``: ``rate`` times the number of records, without replacement. The sensitivity is the
  largest *distance* of two records' vectors, twice the length. The curve is a bound.

References
----------
Mironov, Talwar and Zhang (2019), Rényi differential privacy of the sampled Gaussian mechanism. Wang, Balle and
Kasiviswanathan (2019), Subsampled Rényi differential privacy and analytical moments accountant: theorem 27.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arguments import fill, positive, whole
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.privacy.costs.sampled_moments import fixed_size_divergence, poisson_divergence
from discreet.privacy.curves import RenyiCurve
from discreet.privacy.renyi import RenyiDP
from discreet.privacy.rounding import float_result_up
from discreet.privacy.subsampling import FITTING, Sampling
from discreet.rational import Number, exact

_COMMON = (*range(2, 17), 20, 24, 28, 32)
#: The orders of the curve. Between them it follows by convexity. For samples of a fixed size those between would take
#: differences of high order, for little; from 257 on the bound is a plain sum.
ORDERS: dict[Sampling, tuple[int, ...]] = {
    "poisson": (*_COMMON, 40, 48, 64, 80, 96, 128, 192, 256, 512, 1024, 4096),
    "fixed_size": (*_COMMON, 260, 512, 1024, 4096),
}
# What a stated curve is raised by, and half of which a reader asks for: another machine computes other last digits.
_MARGIN = 1e-6
# Beyond, a bound promises nothing, and the order is left out.
_LARGEST_EPSILON = 1e5
# The multipliers and the numbers of steps that are searched; no budget asks for others.
_LEAST_MULTIPLIER, _LARGEST_MULTIPLIER, _MOST_STEPS = 1e-2, 1e9, 10**9
# With a lower rate a sample of any table there is holds nobody, and one over the rate leaves float64.
_LEAST_RATE = Fraction(1, 10**12)


@dataclass(frozen=True)
class SampledGaussian:
    """Steps of Gaussian noise on samples; see the module."""

    multiplier: float
    rate: Fraction
    steps: int
    sampling: Sampling

    def __init__(self, multiplier: float, rate: Number, steps: int, sampling: Sampling) -> None:
        if sampling not in FITTING:
            raise UsageError(f"sampling must be 'poisson' or 'fixed_size', got sampling={sampling!r:.40}.")
        fill(
            self,
            multiplier=positive(multiplier, "multiplier"),
            rate=read_rate(rate),
            steps=whole(steps, "steps"),
            sampling=sampling,
        )

    @property
    def neighbors(self) -> Neighbors:
        """The neighbor relation that the sampling is for."""
        return FITTING[self.sampling]

    def guarantee(self) -> RenyiDP:
        """Return what all steps together promise."""
        return self._stated(_MARGIN)

    def supports(self, promised: RenyiDP) -> bool:
        """Tell whether a curve that was stated elsewhere is not below these steps' own."""
        own = self._stated(_MARGIN / 2)
        costs = [own.at(order) for order in promised.orders]
        enough = all(c is not None and c <= e for c, e in zip(costs, promised.epsilons, strict=True))
        return enough and promised.neighbors == self.neighbors

    def _stated(self, margin: float) -> RenyiDP:
        curve = zip(ORDERS[self.sampling], self.epsilons(), strict=True)
        known = [(a, e) for a, e in curve if e <= _LARGEST_EPSILON]
        if not known:
            raise UsageError(
                "with so little noise nothing is promised.", hint="use more noise, or fewer steps"
            )
        return RenyiDP(
            [a for a, _ in known],
            [float_result_up(e * (1 + margin)) for _, e in known],
            neighbors=self.neighbors,
        )

    def epsilons(self) -> np.ndarray:
        """Return the bounds on the Rényi divergences at the orders of :data:`ORDERS`."""
        return self.steps * _one_step(self.multiplier, self.rate, self.sampling)

    def epsilon(self, delta: float) -> float:
        """Return the epsilon that goes with ``delta``; infinite if nothing is promised."""
        if self.epsilons()[0] > _LARGEST_EPSILON:
            return float("inf")
        return RenyiCurve.of([], Fraction(0), [self.guarantee()]).epsilon(delta)

    def most_steps(self, epsilon: float, delta: float) -> int:
        """Return the largest number of such steps that stays within a budget; 0 if not even one does."""
        steps = range(1, _MOST_STEPS)
        return bisect_right(steps, epsilon, key=lambda n: replace(self, steps=n).epsilon(delta))


def langevin_steps(
    step_size: Number,
    temperature: Number,
    clip: Number,
    *,
    rate: Number,
    steps: int,
    neighbors: Neighbors,
) -> SampledGaussian:
    """Return Langevin dynamics as sampled Gaussian steps.

    A step adds N(0, step_size temperature I) to (step_size / 2) (1 / rate) times the sum over the sample, of vectors of
    length at most ``clip``; a record moves the sum by that much if it comes or goes, by twice that if it is replaced.
    """
    sampling: Sampling = "fixed_size" if neighbors == "replace" else "poisson"
    sensitivity = float(exact(clip, "clip")) * (2 if neighbors == "replace" else 1)
    ratio = positive(float(exact(temperature, "temperature") / exact(step_size, "step_size")), "temperature")
    return SampledGaussian(
        2 * float(read_rate(rate)) * float(np.sqrt(ratio)) / sensitivity, rate, steps, sampling
    )


@lru_cache(maxsize=64)
def least_multiplier(
    epsilon: float, delta: float, *, rate: Number, steps: int, sampling: Sampling
) -> SampledGaussian:
    """Return steps with the least noise, to four digits and rounded up, that stay within a budget."""
    from scipy.optimize import brentq

    def excess(log_multiplier: float) -> float:
        """Return the log of the cost over the budget; it falls as the noise grows."""
        cost = SampledGaussian(float(np.exp(log_multiplier)), rate, steps, sampling).epsilon(delta)
        return float(np.log(np.clip(cost, 1e-12, 1e12) / epsilon))

    low, high = np.log([_LEAST_MULTIPLIER, 1.0])
    while excess(high) > 0:
        low, high = high, high + np.log(16)
        if high > np.log(_LARGEST_MULTIPLIER):
            raise UsageError(
                "no amount of noise makes so many steps fit this budget.", hint="take fewer steps"
            )
    if excess(low) > 0:
        found = float(brentq(excess, low, high, xtol=1e-5))  # pyright: ignore[reportArgumentType]
        # on the safe side of the root
        high = next(at for at in found + 2e-5 * np.arange(1, 1000) if excess(at) <= 0)
    else:
        high = low
    return SampledGaussian(float(np.exp(high)), rate, steps, sampling)


def read_rate(rate: Number) -> Fraction:
    """Read a sampling rate, or say what is wrong with it."""
    share = exact(rate, "rate")
    if not _LEAST_RATE <= share <= 1:
        raise UsageError(
            f"rate must be at least {float(_LEAST_RATE):g} and at most 1, got rate={rate!s:.40}."
        )
    return share


@lru_cache(maxsize=512)
def _one_step(multiplier: float, rate: Fraction, sampling: Sampling) -> np.ndarray:
    divergence = poisson_divergence if sampling == "poisson" else fixed_size_divergence
    found = np.array([divergence(rate, multiplier, order) for order in ORDERS[sampling]])
    found.setflags(write=False)
    return found

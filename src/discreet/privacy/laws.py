"""Distributions of noise that others add, in the units of the number they publish.

A law knows its density, or its mass if it is of integers, and its distribution function: rounding and clipping after
the noise turn densities into differences of that. Discreet's own noise is in :mod:`discreet.privacy.noise`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import log_ndtr

from discreet.privacy.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    GaussianShape,
    LaplaceShape,
    Noise,
    Spread,
)

#: What the noise of a published number is called. Geometric noise is discrete Laplace noise by its other name.
LawName = Literal["laplace", "gaussian", "discrete_laplace", "discrete_gaussian", "geometric"]
# A log density where there is none: sums of logs stay numbers, and e^-10000 weighs nothing.
_NEVER = -1e4
# Beyond this many steps a table of the discrete Gaussian's distribution function gives way to the normal one: the
# midpoint rule is then right to 1e-8 even eight deviations out.
_WIDEST_TABLE = 20_000
# Deviations that the table goes: the mass beyond is e^-200.
_FAR = 20


class Law(Spread):
    """A symmetric distribution of noise."""

    #: Whether it is of integers.
    whole: bool = False
    #: How far from 0 it goes.
    bound: float = float("inf")

    @abstractmethod
    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log density at ``x``; of integers the log mass, by the same formula between them."""

    @abstractmethod
    def log_cdf(self, x: np.ndarray) -> np.ndarray:
        """Return log P[X <= x]."""

    def log_between(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return log P[low < X <= high], without cancellation in either tail."""
        flip = low + high > 0
        first, last = np.where(flip, -high, low), np.where(flip, -low, high)
        below, above = self.log_cdf(first), self.log_cdf(last)
        with np.errstate(divide="ignore"):
            return above + np.log(np.maximum(-np.expm1(np.minimum(below - above, 0.0)), 1e-300))


@dataclass(frozen=True)
class LaplaceLaw(LaplaceShape, Law):
    """Density exp(-|x| / b) / 2b."""

    scale: float

    def log_density(self, x: np.ndarray) -> np.ndarray:
        return -np.abs(x) / self.scale - np.log(2 * self.scale)

    def log_cdf(self, x: np.ndarray) -> np.ndarray:
        away = np.abs(x) / self.scale
        return np.where(np.asarray(x) < 0, -away - np.log(2.0), np.log1p(-0.5 * np.exp(-away)))

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(0.0, self.scale, size)

    @property
    def sd(self) -> float:
        return float(np.sqrt(2.0) * self.scale)


@dataclass(frozen=True)
class GaussianLaw(GaussianShape, Law):
    """The normal density with standard deviation sigma."""

    sigma: float

    def log_density(self, x: np.ndarray) -> np.ndarray:
        return -0.5 * (np.asarray(x) / self.sigma) ** 2 - np.log(self.sigma) - 0.5 * np.log(2 * np.pi)

    def log_cdf(self, x: np.ndarray) -> np.ndarray:
        return log_ndtr(np.asarray(x, dtype=float) / self.sigma)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(0.0, self.sigma, size)

    @property
    def sd(self) -> float:
        return self.sigma


class _Whole(Noise, Law):
    """A distribution on the integers, with the mass function that discreet's own noise has."""

    whole = True

    def log_density(self, x: np.ndarray) -> np.ndarray:
        return self.log_mass(np.asarray(x, dtype=float))


class DiscreteLaplaceLaw(DiscreteLaplace, _Whole):  # pyright: ignore[reportIncompatibleVariableOverride]
    """P[k] = tanh(1 / 2b) exp(-|k| / b): what is also called two-sided geometric noise."""

    def log_cdf(self, x: np.ndarray) -> np.ndarray:
        # P[K <= k] is q^-k / (1 + q) up to 0, with q = exp(-1 / b), and 1 - q^(k+1) / (1 + q) from there on
        k = np.floor(np.asarray(x, dtype=float) + 1e-9)
        log_rest = np.log1p(np.exp(-1 / self.scale))
        below = np.minimum(k, 0.0) / self.scale - log_rest
        above = np.log1p(-np.exp(-(np.maximum(k, 0.0) + 1) / self.scale - log_rest))
        return np.where(k <= 0, below, above)


class DiscreteGaussianLaw(DiscreteGaussian, _Whole):  # pyright: ignore[reportIncompatibleVariableOverride]
    """P[k] proportional to exp(-k^2 / 2 sigma^2)."""

    @cached_property
    def _table(self) -> np.ndarray:
        """Log P[K <= k] for k from -far to far."""
        far = int(_FAR * self.sigma) + 2
        return np.minimum(np.logaddexp.accumulate(self.log_mass(np.arange(-far, far + 1))), 0.0)

    def log_cdf(self, x: np.ndarray) -> np.ndarray:
        k = np.floor(np.asarray(x, dtype=float) + 1e-9)
        if self.sigma > _WIDEST_TABLE:
            return log_ndtr((k + 0.5) / self.sigma)
        far = self._table.size // 2
        inside = self._table[np.clip(k, -far, far).astype(np.int64) + far]
        # farther out the first term is nearly all of the sum
        return np.where(k < -far, self.log_mass(np.minimum(k, -far)), inside)


@dataclass(frozen=True)
class TruncatedLaw(Law):
    """A law given that the noise is at most ``bound`` away from 0."""

    base: Law
    bound: float
    kind = "other"

    @property
    def whole(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.whole

    @cached_property
    def _edges(self) -> tuple[float, float]:
        """Return where the distribution function begins and ends: of integers the step below the first."""
        if not self.base.whole:
            return -self.bound, self.bound
        last = np.floor(self.bound + 1e-9)
        return -last - 1, last

    @cached_property
    def _log_inside(self) -> float:
        first, last = self._edges
        return float(
            np.log(np.exp(self.base.log_cdf(np.array(last))) - np.exp(self.base.log_cdf(np.array(first))))
        )

    def log_density(self, x: np.ndarray) -> np.ndarray:
        outside = np.abs(x) > self.bound * (1 + 1e-12)
        return self.base.log_density(x) - self._log_inside + _NEVER * outside

    def log_cdf(self, x: np.ndarray) -> np.ndarray:
        first, last = self._edges
        inside = np.clip(x, first, last)
        found = self.base.log_between(np.full(np.shape(inside), first), inside) - self._log_inside
        return np.where(
            np.asarray(x) <= first, self.base.log_cdf(np.asarray(x)) + _NEVER, np.minimum(found, 0.0)
        )

    def reach(self, log_tail: float) -> float:
        return min(self.base.reach(log_tail), self.bound)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        kept = np.empty(0)
        while kept.size < size:
            drawn = self.base.sample(2 * size + 16, rng)
            kept = np.concatenate([kept, drawn[np.abs(drawn) <= self.bound]])
        return kept[:size]

    @property
    def width(self) -> float:
        return self.base.width

    @cached_property
    def sd(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]
        first, last = self._edges
        x = (
            np.arange(first + 1, last + 1)
            if self.base.whole and last < 1e6
            else np.linspace(first, last, 20_001)
        )
        weight = np.exp(self.base.log_density(x))
        return float(np.sqrt((weight * x**2).sum() / weight.sum()))


def law_of(name: LawName, scale: float, bound: float | None = None) -> Law:
    """Return the law with this name and scale, sigma for the Gaussian ones; truncated if there is a bound."""
    law = _LAWS[name](scale)
    return law if bound is None else TruncatedLaw(law, bound)


_LAWS: dict[LawName, Callable[[float], Law]] = {
    "laplace": LaplaceLaw,
    "gaussian": GaussianLaw,
    "discrete_laplace": DiscreteLaplaceLaw,
    "discrete_gaussian": DiscreteGaussianLaw,
    "geometric": DiscreteLaplaceLaw,
}

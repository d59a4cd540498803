"""Priors on several parameters at once, for families without a conjugate one: products, and any density on a box."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import betaln, expit, gammaln, logit

from discreet.arguments import fill, listed
from discreet.errors import UsageError
from discreet.priors.base import Prior
from discreet.priors.beta import Beta
from discreet.priors.gamma import Gamma
from discreet.priors.normal import Normal

_LOG_2PI = math.log(2 * math.pi)
# A draw that underflows is taken for this.
_LEAST = 1e-300
#: Parameters that a prior may be on: posteriors are drawn from grids over all of them.
MOST_PARAMETERS = 3
# Points along each side of the grid on which a density is normalized, by the number of parameters.
_POINTS = {1: 4096, 2: 256, 3: 64}
# The density may exceed its largest value on the grid by this factor, and no more.
_ABOVE = 1.5
# A density that fills less of its box is drawn from too slowly, and one on fewer points is not seen by the grid.
_LEAST_SHARE, _LEAST_POINTS = 1e-4, 50
_BATCH = 1 << 16


class ParameterPrior(Prior):
    """A prior on a family's parameters, in the order of its draws, with coordinates in which they are unconstrained."""

    #: How many parameters.
    dim: int

    @abstractmethod
    def values(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the parameters at coordinates, which are on the last axis."""

    @abstractmethod
    def coordinates(self, values: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return the coordinates of parameters."""

    @abstractmethod
    def log_density_at(self, x: np.ndarray) -> np.ndarray:
        """Return the log density of coordinates, their volume included."""

    def natural(self) -> np.ndarray:
        raise UsageError(f"{self.name} priors are not conjugate: they have no natural hyperparameters.")

    @classmethod
    def from_natural(cls, eta: np.ndarray) -> Self:
        raise UsageError(f"{cls.name} priors are not conjugate: they have no natural hyperparameters.")

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        raise UsageError("this prior is not conjugate: it has no log-partition.")


@dataclass(frozen=True, init=False)
class Product(ParameterPrior):
    """Independent priors of single parameters, in the order of the family's draws.

    ``Product(Gamma(2, 1), Gamma(2, 1))``, on the command line ``"gamma:2,1*gamma:2,1"``. Parts are ``Beta``, ``Gamma``
    and ``Normal``; the coordinates are logit, logarithm and standard deviations from the mean.
    """

    name = "product"
    parts: tuple[Prior, ...]

    def __init__(self, *parts: Prior) -> None:
        if not parts or len(parts) > MOST_PARAMETERS:
            raise UsageError(f"a product has from 1 to {MOST_PARAMETERS} parts, got {len(parts)}.")
        for part in parts:
            if type(part) not in CHARTS:
                raise UsageError(
                    f"a product is of Beta, Gamma and Normal priors, got {type(part).__name__:.40}.",
                    hint="for example dc.priors.Product(dc.priors.Gamma(2, 1), dc.priors.Gamma(2, 1))",
                )
        fill(self, parts=tuple(parts))

    @property
    def dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.parts)

    def values(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(CHARTS[type(part)].value(part, x[..., i]) for i, part in enumerate(self.parts))

    def coordinates(self, values: tuple[np.ndarray, ...]) -> np.ndarray:
        each = [
            CHARTS[type(part)].coordinate(part, np.asarray(value, dtype=float))
            for part, value in zip(self.parts, values, strict=True)
        ]
        return np.stack(each, axis=-1)

    def log_density_at(self, x: np.ndarray) -> np.ndarray:
        return sum(
            (CHARTS[type(part)].log_density(part, x[..., i]) for i, part in enumerate(self.parts)),
            np.zeros(x.shape[:-1]),
        )

    def log_density(self, value: tuple[np.ndarray, ...]) -> np.ndarray:
        return sum(
            (np.asarray(part.log_density(one)) for part, one in zip(self.parts, value, strict=True)),
            np.zeros(np.shape(value[0])),
        )

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return tuple(np.asarray(part.sample(size, rng), dtype=float) for part in self.parts)

    def numbers(self) -> list[float]:
        return [number for part in self.parts for number in part.numbers()]

    def __str__(self) -> str:
        return "*".join(map(str, self.parts))


@dataclass(frozen=True, init=False, eq=False)
class ByDensity(ParameterPrior):
    """Any density on a box of parameters, given as a function: a prior where no ready one says what is known.

    Parameters
    ----------
    log_density_of
        Returns the logarithm of the density, up to a constant, at arrays of parameters, one for each in the order of
        the family's draws: ``lambda shape, rate: -np.log(shape) - rate``.
    bounds
        ``(low, high)`` of each parameter, outside which the prior is zero.

    The density is normalized on a grid of the box, and drawn from by rejection. It is the analyst's alone: no file
    records a function.
    """

    name = "density"
    log_density_of: Callable[..., Any]
    bounds: tuple[tuple[float, float], ...]

    def __init__(self, log_density_of: Callable[..., Any], bounds: Sequence[tuple[float, float]]) -> None:
        if not callable(log_density_of):
            raise UsageError("a prior by density takes a function of the parameters and their bounds.")
        pairs = listed(bounds, "bounds", "a pair (low, high) for each parameter", most=MOST_PARAMETERS)
        read = []
        for pair in pairs:
            ends = listed(pair, "bounds", "a pair (low, high) for each parameter", most=2)
            try:
                low, high = (float(end) for end in ends)
            except (TypeError, ValueError):
                low = high = math.nan
            if not (low < high and math.isfinite(low) and math.isfinite(high)):
                raise UsageError(
                    "each pair of bounds must be two finite numbers, the lower first.",
                    hint="for example bounds=[(0.1, 20), (0.1, 20)]",
                )
            read.append((low, high))
        if not read:
            raise UsageError("a prior by density needs bounds, a pair for each parameter.")
        fill(self, log_density_of=log_density_of, bounds=tuple(read))
        _ = self._height  # a function that is no density is refused here

    @property
    def dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.bounds)

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.array(self.bounds).T
        return low, high

    def values(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        low, high = self._ends
        return tuple(np.moveaxis(low + (high - low) * expit(x), -1, 0))

    def coordinates(self, values: tuple[np.ndarray, ...]) -> np.ndarray:
        low, high = self._ends
        share = (np.stack(values, axis=-1) - low) / (high - low)
        return logit(np.clip(share, _LEAST, 1 - 2.0**-53))

    def log_density_at(self, x: np.ndarray) -> np.ndarray:
        low, high = self._ends
        volume = (np.log(high - low) - np.logaddexp(0, x) - np.logaddexp(0, -x)).sum(axis=-1)
        return self.log_density(self.values(x)) + volume

    def log_density(self, value: tuple[np.ndarray, ...]) -> np.ndarray:
        return self._asked(value) - self._height[1]

    def _asked(self, value: Sequence[np.ndarray]) -> np.ndarray:
        """Return what the function says, minus infinity outside the box."""
        given = [np.asarray(one, dtype=float) for one in value]
        with np.errstate(all="ignore"):
            try:
                found = np.asarray(self.log_density_of(*given), dtype=float)
                found = np.broadcast_to(found, given[0].shape)
            except Exception:  # whatever a caller's function raises
                raise UsageError(
                    f"the density must be a function of {self.dim} arrays that returns one number for each entry."
                ) from None
            inside = [
                (one >= low) & (one <= high) for one, (low, high) in zip(given, self.bounds, strict=True)
            ]
        if np.isnan(found).any() or (found == np.inf).any():
            raise UsageError("the density must be finite within its bounds; its logarithm may be -inf.")
        return np.where(np.logical_and.reduce(inside), found, -np.inf)

    @cached_property
    def _height(self) -> tuple[float, float]:
        """The largest log density on a grid of the box, and the logarithm of its integral."""
        low, high = self._ends
        steps = (np.arange(_POINTS[self.dim]) + 0.5) / _POINTS[self.dim]
        axes = [a + (b - a) * steps for a, b in zip(low, high, strict=True)]
        found = self._asked(np.meshgrid(*axes, indexing="ij"))
        top = float(found.max())
        if not math.isfinite(top):
            raise UsageError("the density is zero on all of its box.")
        share = float(np.exp(found - top).mean())
        if share < max(_LEAST_SHARE, _LEAST_POINTS / found.size):
            raise UsageError(
                "the density is concentrated on too small a part of its box.",
                hint="give narrower bounds",
            )
        return top, top + math.log(share) + float(np.log(high - low).sum())

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        low, high = self._ends
        kept: list[np.ndarray] = []
        n = 0
        while n < size:
            u = low + (high - low) * rng.random((_BATCH, self.dim))
            log_ratio = self._asked(tuple(u.T)) - self._height[0] - math.log(_ABOVE)
            kept.append(u[np.log(rng.random(_BATCH)) < log_ratio])
            n += len(kept[-1])
        return tuple(np.concatenate(kept)[:size].T)

    def numbers(self) -> list[float]:
        return [end for pair in self.bounds for end in pair]

    def __str__(self) -> str:
        return f"a density on {' x '.join(f'[{low:g}, {high:g}]' for low, high in self.bounds)}"


def _beta_density(part: Any, x: np.ndarray) -> np.ndarray:
    return -part.a * np.logaddexp(0, -x) - part.b * np.logaddexp(0, x) - betaln(part.a, part.b)


def _gamma_density(part: Any, x: np.ndarray) -> np.ndarray:
    scaled = x + math.log(part.rate)
    return part.shape * scaled - np.exp(np.minimum(scaled, 700)) - gammaln(part.shape)


class Chart(NamedTuple):
    """An unconstrained coordinate of the number that a prior is on: to the number, back, and its log density."""

    value: Callable[[Any, np.ndarray], np.ndarray]
    coordinate: Callable[[Any, np.ndarray], np.ndarray]
    log_density: Callable[[Any, np.ndarray], np.ndarray]


#: The logit, the logarithm, or standard deviations from the mean, for each kind of prior on one number.
CHARTS: dict[type[Prior], Chart] = {
    Beta: Chart(
        lambda part, x: expit(x),
        lambda part, v: logit(np.clip(v, _LEAST, 1 - 2.0**-53)),
        _beta_density,
    ),
    Gamma: Chart(
        lambda part, x: np.exp(np.clip(x, -700, 700)),
        lambda part, v: np.log(np.maximum(v, _LEAST)),
        _gamma_density,
    ),
    Normal: Chart(
        lambda part, x: part.mean + part.sd * x,
        lambda part, v: (v - part.mean) / part.sd,
        lambda part, x: -0.5 * x**2 - _LOG_2PI / 2,
    ),
}

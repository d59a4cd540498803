r"""Noise with density exp(-M(x)), M the larger of a weighted L1 norm and of linear forms: Laplace noise, thinned.

What is released is an integer vector with this density (:mod:`discreet.samplers.thinned`); on grids of 2^-24 nobody
can tell it from the continuous one, which stands for it here. Draws are r u with r a gamma variable of shape D + 1
and u uniform in the body M <= 1 of dimension D (Hardt and Talwar 2010, remark 4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from discreet.privacy.noise import Noise

# sweeps over the coordinates that the standard deviations are taken from, which tells them to a hundredth
_SWEEPS, _WARM_UP = 20_000, 200
# thinning keeps at least exp(-12) of the proposals for the norms that there are, so tails are not further out
_THINNED = 12.0


@dataclass(frozen=True)
class ThinnedLaplace:
    """The joint distribution, in mapped units: scales of the L1 norm, and linear forms that M is at least."""

    scales: tuple[float, ...]
    forms: tuple[tuple[float, ...], ...]

    @cached_property
    def sds(self) -> np.ndarray:
        """The standard deviation of each coordinate."""
        unit = self.scales[0]
        forms = np.array(self.forms) * unit
        # alike for all budgets
        return unit * _sds(tuple(s / unit for s in self.scales), forms.round(12).tobytes(), forms.shape)

    def sample(self, size: int, rng: np.random.Generator, thin: int = 20) -> np.ndarray:
        """Draw noise, size × coordinates, by a chain over the body of which every ``thin``-th sweep is taken."""
        return _walked(np.array(self.scales), np.array(self.forms), size, thin, rng)


@dataclass(frozen=True)
class ThinnedMarginal(Noise):
    """One coordinate of it, in grid steps."""

    joint: ThinnedLaplace
    at: int
    step: float
    kind = "other"

    def reach(self, log_tail: float) -> float:
        return self.joint.scales[self.at] / self.step * (log_tail + _THINNED)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return np.rint(self.joint.sample(size, rng)[:, self.at] / self.step)

    def log_mass(self, k: np.ndarray) -> np.ndarray:
        """Return the log mass of a normal variable with the same variance: engines read the joint distribution."""
        return -0.5 * (np.asarray(k, dtype=float) / self.sd) ** 2 - np.log(self.sd * np.sqrt(2 * np.pi))

    @property
    def width(self) -> float:
        return self.sd

    @property
    def sd(self) -> float:
        return float(self.joint.sds[self.at]) / self.step


@lru_cache(maxsize=64)
def _sds(scales: tuple[float, ...], forms: bytes, shape: tuple[int, ...]) -> np.ndarray:
    matrix = np.frombuffer(forms).reshape(shape)
    drawn = _walked(np.array(scales), matrix, _SWEEPS, 1, np.random.default_rng(0))
    return drawn.std(axis=0)


def _walked(
    scales: np.ndarray, forms: np.ndarray, size: int, thin: int, rng: np.random.Generator
) -> np.ndarray:
    """Return draws of the noise: of a chain over the body that moves one coordinate at a time."""
    from discreet.privacy.body_walk import body_walk

    inside = body_walk(1 / scales, forms, _WARM_UP, size, thin, rng)
    return inside * rng.gamma(len(scales) + 1, size=(size, 1))

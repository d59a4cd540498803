"""Losses of a linear predictor, and what a gradient step on them can do.

A record is a feature vector of length at most 1 and a target y; with weights w its margin is m = w . features, and its
loss is f(m, y) + ridge |w|^2 / 2. Its gradient, slope(m, y) features + ridge w, has three constants on the ball of all
weights of length at most ``radius``:

    gradient_bound       the gradients of two records at one point are at most twice that apart
    smoothness           the gradient of a record changes at most that many times as much as w
    strong_convexity     and at least that many times

Both losses have a slope of size at most s(u), s increasing, where u is how far the margin works against the record:
the gradients at w, but for the ridge, are the vectors v s(R v_1) with v in the unit ball, R = |w| and v_1 the part of
v along one direction. The largest distance of two of them is that of a pair of mirror images, v = (t, +-sqrt(1 -
t^2)) at the t for which p(t) = sqrt(1 - t^2) s(R t) is largest, and is 2 p(t). It is not larger, because the ball of
radius p(t) around (t s(R t), 0) holds all of them. It grows with R: two vectors at given margins u_1, u_2 open up as
R grows while u_1 + u_2 > 0, and otherwise s(u_1) + s(u_2) is at most 2 s(0) = 2 p(0). Two lengths, 2 s(R), would be a
bound too, and ask for up to four times the variance of the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from discreet.errors import UsageError

# What the search for the largest distance, and the rounding of features to length 1, can be wrong by.
_ROOM = 1 + 1e-9


@dataclass(frozen=True)
class LossConstants:
    """The constants of a loss on the set of possible weights, for every record.

    ``gradient_bound`` is C: each record's loss is C-Lipschitz or, what is enough, the gradients of two records at one
    point are never further than 2 C apart. ``strong_convexity`` may be 0.
    """

    gradient_bound: float
    smoothness: float
    strong_convexity: float

    def __post_init__(self) -> None:
        for name, least in (("gradient_bound", 0.0), ("smoothness", 0.0), ("strong_convexity", None)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise UsageError(f"{name} must be a finite number, got {name}={value!r:.40}.")
            if value < 0 or value == least:
                limit = "positive" if least is not None else "at least 0"
                raise UsageError(f"{name} must be {limit}, got {name}={value}.")
        if self.strong_convexity > self.smoothness:
            raise UsageError(
                "strong_convexity must not exceed smoothness, "
                f"got strong_convexity={self.strong_convexity} and smoothness={self.smoothness}."
            )

    @property
    def largest_step(self) -> float:
        """The largest step for which a gradient step is sure to contract: 2 / (smoothness + strong_convexity)."""
        return 2 / (self.smoothness + self.strong_convexity)


class LinearLoss:
    """A loss of the margin; see the module."""

    #: Largest second derivative of the loss in the margin.
    curvature: ClassVar[float]

    @staticmethod
    def slope(margins: np.ndarray, targets: np.ndarray | float) -> np.ndarray:
        """Return the derivative of the loss in the margin."""
        raise NotImplementedError

    @staticmethod
    def size(against: np.ndarray) -> np.ndarray:
        """Return s(u): the largest size of the slope if the margin works against the record by u."""
        raise NotImplementedError

    @classmethod
    def constants(cls, radius: float, ridge: float) -> LossConstants:
        """Return the constants on the ball of this radius, for features of length at most 1."""
        return LossConstants(half_distance(cls.size, radius), cls.curvature + ridge, float(ridge))


class LogisticLoss(LinearLoss):
    """log(1 + e^(-y m)), with targets y of -1 and +1."""

    curvature = 0.25

    @staticmethod
    def slope(margins: np.ndarray, targets: np.ndarray | float) -> np.ndarray:
        return -targets * expit(-targets * margins)

    @staticmethod
    def size(against: np.ndarray) -> np.ndarray:
        return expit(against)


class SquaredLoss(LinearLoss):
    """(m - y)^2 / 2, with targets y of [-1, 1]."""

    curvature = 1.0

    @staticmethod
    def slope(margins: np.ndarray, targets: np.ndarray | float) -> np.ndarray:
        return margins - targets

    @staticmethod
    def size(against: np.ndarray) -> np.ndarray:
        return 1.0 + against


def half_distance(size: Callable[[np.ndarray], np.ndarray], radius: float) -> float:
    """Return half the largest distance of two records' gradients, rounded up; see the module."""
    from scipy.optimize import minimize_scalar

    def mirrored(t: float) -> float:
        return sqrt(max(1 - t**2, 0.0)) * float(size(np.array(radius * t)))

    found: Any = minimize_scalar(
        lambda t: -mirrored(t), bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10}
    )
    return max(mirrored(0.0), mirrored(float(found["x"]))) * _ROOM

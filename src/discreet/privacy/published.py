"""How likely a number that somebody else published is, for each total that may be behind it.

Engines lay latent totals on an integer grid and ask noise for its mass at k = reading - total, in grid steps. A
published number need not be on that grid, may count something else (the yes of a table whose yes minus no is laid
out), and may have been rounded or clipped after the noise. All of that is a function of k, and exact on integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import UsageError
from discreet.privacy.laws import Law
from discreet.privacy.noise import Kind, Noise


class PublishedNoise(Noise):
    """The noise of numbers that are there already."""

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        raise NotImplementedError("numbers that were published are not drawn again")


@dataclass(frozen=True)
class Published(PublishedNoise):
    """The likelihood of one published number.

    At k = 0 the total is ``away`` below the number, and each step of k takes ``unit`` off the total, all in the units
    of the number. ``rounded`` is the step that it was rounded to after the noise, 0 if it was not. ``clipped`` says
    that the number is the limit it was clipped to: below 0 if every lower number would have become it, above 0 if
    every higher one.
    """

    law: Law
    away: float
    unit: float
    rounded: float = 0.0
    clipped: int = 0

    def log_mass(self, k: np.ndarray) -> np.ndarray:
        x = self.away + self.unit * np.asarray(k, dtype=float)
        half = 0.0 if self.law.whole else self.rounded / 2
        if self.clipped < 0:
            return self.law.log_cdf(x + half)
        if self.clipped > 0:
            # by symmetry P[X >= x] = P[X <= -x]
            return self.law.log_cdf(-x + half)
        return self.law.log_between(x - half, x + half) if half else self.law.log_density(x)

    @property
    def ends(self) -> tuple[float, float]:  # pyright: ignore[reportIncompatibleVariableOverride]
        far = self.law.bound + self.rounded / 2
        low, high = sorted(((-far - self.away) / self.unit, (far - self.away) / self.unit))
        return (low, high) if not self.clipped else (-np.inf, np.inf)

    def reach(self, log_tail: float) -> float:
        return (self.law.reach(log_tail) + abs(self.away) + self.rounded) / abs(self.unit) + 1

    @property
    def width(self) -> float:
        return self.law.width / abs(self.unit)

    @property
    def sd(self) -> float:
        return float(np.hypot(self.law.sd, self.rounded / 12**0.5)) / abs(self.unit)

    @property
    def kind(self) -> Kind:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "other" if self.clipped or (self.rounded and not self.law.whole) else self.law.kind


@dataclass(frozen=True)
class Unread(PublishedNoise):
    """The likelihood of a total of which nothing was published: every one is alike, within ``far`` of a guess.

    It has no width: there is no noise that could drown anything.
    """

    far: float
    kind = "other"

    def log_mass(self, k: np.ndarray) -> np.ndarray:
        return np.zeros(np.shape(k))

    def reach(self, log_tail: float) -> float:
        return self.far

    @property
    def width(self) -> float:
        return 0.0

    @property
    def sd(self) -> float:
        return 0.0


@dataclass(frozen=True)
class JointNoise(PublishedNoise):
    """The noise of several readings of one integer, as a distribution around the first of them.

    ``shifts`` are how far the other readings lie above the first.
    """

    parts: tuple[Noise, ...]
    shifts: tuple[int, ...]
    kind = "other"

    def log_mass(self, k: np.ndarray) -> np.ndarray:
        return np.sum(
            [part.log_mass(k + shift) for part, shift in zip(self.parts, self.shifts, strict=True)], axis=0
        )

    def reach(self, log_tail: float) -> float:
        far = max(abs(shift) for shift in self.shifts)
        return far + max(part.reach(log_tail) for part in self.parts) + far

    @property
    def width(self) -> float:
        return min(part.width for part in self.parts)

    @property
    def sd(self) -> float:
        return min(part.sd for part in self.parts)


@dataclass(frozen=True)
class Correlated(PublishedNoise):
    """One of several readings of counts whose Gaussian noise hangs together; it has no likelihood of its own.

    It is row ``at`` of ``covariance``, and the published number is ``away`` above the reading.
    """

    at: int
    covariance: tuple[tuple[float, ...], ...]
    away: float
    kind = "other"

    def log_mass(self, k: np.ndarray) -> np.ndarray:
        raise UsageError(
            "the noise of these numbers hangs together, so none of them can be read alone.",
            hint="dc.infer reads them together",
        )

    def reach(self, log_tail: float) -> float:
        return self.sd * float(np.sqrt(2 * log_tail))

    @property
    def width(self) -> float:
        return self.sd

    @property
    def sd(self) -> float:
        return self.covariance[self.at][self.at] ** 0.5

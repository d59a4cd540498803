r"""One coherent distribution for everything: p(theta) p(u) p(w) N(y; u rows (1, m), u rows V rows' + diag(w)).

Given theta and u usable records the sums of the features are normal
(:mod:`discreet.inference.engines.gibbs.feature_moments`); given the variances w the noise is normal too, so the sums
are integrated out and no matrix need be inverted that noise has not made regular. Readings are divided by the scale
of their noise: then w_j is exponential with mean 2 for Laplace noise (Bernstein and Sheldon 2018, section 3.2) and 1
for Gaussian noise.

Noise can be inflated by a factor kappa. A large one gives the prior back, 1 gives the posterior, and in between lies a
path on which a population of walkers can travel from the one to the other.

Arrays of readings have walkers last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from discreet.artifact import Release
from discreet.inference.engine import Question
from discreet.inference.engines.gibbs.feature_moments import Moments, feature_moments
from discreet.inference.engines.gibbs.marginal import log_marginal
from discreet.inference.engines.gibbs.unconstrain import TRANSFORMS, UnconstrainingTransform
from discreet.inference.missing_prior import MissingPrior
from discreet.inference.record_prior import CountPrior

_LOG_2PI = math.log(2 * math.pi)
# a Laplace tail this many scales out holds less than e^-60 of the mass
_FAR = 60.0
_LEAST_VARIANCE = 1e-12
# A noise scale or so of a latent count, as a share of its range.
_SCATTER = 0.01
# Numbers of missing values up to here have an interval each; farther out an interval is this small a part of them.
_TABLED = 1000


@dataclass
class Place:
    """What the target is made of at some coordinates: log prior, residual of the readings, covariance of the sums."""

    log_prior: np.ndarray
    residual: np.ndarray
    covariance: np.ndarray

    def take(self, which: np.ndarray | slice) -> Place:
        """Return the entries ``which``."""
        return Place(self.log_prior[which], self.residual[:, which], self.covariance[:, :, which])


@dataclass
class Readings:
    """The released numbers in units of their noise, as linear forms in the usable count and the sums of features."""

    y: np.ndarray
    of_count: np.ndarray
    of_features: np.ndarray
    laplace: bool

    @property
    def noise_variance(self) -> float:
        """The variance of the noise, which is the mean of w."""
        return 2.0 if self.laplace else 1.0

    @classmethod
    def of(cls, release: Release) -> Readings:
        """Read them from a release."""
        scale = np.array([distribution.width for distribution in release.noise])
        # values in grid steps over scales in grid steps: integers beyond 2^53 lose nothing that noise has not covered
        y = np.array([float(v) for v in release.totals.values]) / scale
        rows = release.layout.matrix / (scale * release.totals.steps)[:, None]
        return cls(y, rows[:, 0], rows[:, 1:], release.noise[0].kind == "laplace")

    def moments(
        self, mean: np.ndarray, covariance: np.ndarray, u: np.ndarray | float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of what u records add to the readings, given those of one record's features."""
        of = self.of_features
        spread = (of @ covariance @ of.T).transpose(1, 2, 0)
        return (self.of_count[:, None] + of @ mean.T) * u, spread * u

    def draw_variances(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw w from its prior."""
        shape = (len(self.y), size)
        return np.maximum(rng.exponential(2.0, shape), _LEAST_VARIANCE) if self.laplace else np.ones(shape)


@dataclass(frozen=True)
class Count:
    """The usable count as a latent number: u uniform on [low, high] in its own coordinate, logit, times a prior."""

    low: float
    high: float
    prior: CountPrior

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return u at coordinate x."""
        return self.low + (self.high - self.low) * expit(x)

    def coordinate(self, u: np.ndarray) -> np.ndarray:
        """Return the coordinate of u."""
        return logit(np.clip((u - self.low) / (self.high - self.low), _SCATTER, 1 - _SCATTER))

    def log_volume(self, x: np.ndarray) -> np.ndarray:
        """Return the log density of x, which is logistic: if u is uniform on [low, high]."""
        return -np.logaddexp(0, x) - np.logaddexp(0, -x)

    def log_prior(self, u: np.ndarray) -> np.ndarray:
        """Return the log prior of u, each whole number standing for the unit interval around it."""
        return self.prior.log_mass(np.clip(np.rint(u), self.prior.low, self.prior.high))


@dataclass(frozen=True)
class MissingCount(Count):
    """The usable count where n is public: its coordinate is the logit of the prior's own distribution function.

    So its prior is logistic, however much of it is on a single number, such as none missing. Each whole number stands
    for the unit interval around it; far from n, where there are many, for the interval to the next of ``edges``.
    """

    edges: np.ndarray
    cumulative: np.ndarray

    @classmethod
    def of(cls, prior: MissingPrior, low: float, high: float) -> MissingCount:
        """Tabulate the prior between two half-integers."""
        k = np.arange(min(high - low, _TABLED))
        if high - low > _TABLED:
            more = np.ceil(_TABLED * np.exp(np.arange(0, np.log((high - low) / _TABLED), 1 / _TABLED)))
            k = np.unique(np.concatenate([k, more[more < high - low]]))
        edges = np.append(high - k, low)[::-1]
        mass = prior.between(edges)
        kept = np.flatnonzero(mass > 0)
        # what the prior rules out has no coordinate
        mass, edges = mass[kept[0] : kept[-1] + 1], edges[kept[0] : kept[-1] + 2]
        cumulative = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
        return cls(float(edges[0]), float(edges[-1]), prior, edges, cumulative)

    def value(self, x: np.ndarray) -> np.ndarray:
        return np.maximum(np.interp(expit(x), self.cumulative, self.edges), 0.0)

    def coordinate(self, u: np.ndarray) -> np.ndarray:
        share = np.interp(u, self.edges, self.cumulative)
        return logit(np.clip(share, 1e-6, 1 - 1e-6))

    def log_prior(self, u: np.ndarray) -> np.ndarray:
        """Return zero: the coordinate holds the prior."""
        return np.zeros(u.shape)


class Target:
    """The distribution of (theta, u, w) given the readings, on unconstrained coordinates.

    Coordinates are those of the unconstraining transform, then that of the usable count where it is latent.
    """

    def __init__(self, question: Question) -> None:
        release = question.release
        self.family = release.family
        self.transform: UnconstrainingTransform = TRANSFORMS[type(question.prior)](question.prior)
        self.moments: Moments = feature_moments(release)
        self.readings = Readings.of(release)
        self.n_readings = len(self.readings.y)
        # readings that no feature enters have noise alone; up to two others have a closed or cheap marginal
        fed = np.abs(self.readings.of_features).max(axis=1) > 0
        self._parts = (np.flatnonzero(fed), *np.flatnonzero(~fed)[:, None])
        #: Whether the noise variances can be integrated out, so that there is no need to draw them.
        self.collapses = not self.readings.laplace or len(self._parts[0]) <= 2
        self.count = _count(question.usable, self.readings)
        self.n_records = float(question.usable.low)
        self.dim = self.transform.dim + (self.count is not None)
        #: What the readings say at face value, sums and a number of records, where redaction may hide it.
        self.face_value = _face_value(release)

    def usable(self, x: np.ndarray) -> np.ndarray:
        """Return the usable count at these coordinates."""
        return np.full(len(x), self.n_records) if self.count is None else self.count.value(x[:, -1])

    def theta(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the parameters at these coordinates."""
        return self.family.named(self.transform.values(x[:, : self.transform.dim]))

    def coordinates(self, values: Any, usable: float, rng: np.random.Generator) -> np.ndarray:
        """Return coordinates of values of the prior; a latent usable count is scattered about ``usable``."""
        x = self.transform.coordinates(values)
        if self.count is None:
            return x
        reach = self.count.high - self.count.low
        u = usable + _SCATTER * reach * rng.standard_normal(len(x))
        return np.column_stack([x, self.count.coordinate(u)])

    def log_reference(self, x: np.ndarray) -> np.ndarray:
        """Return the density that :meth:`reference` draws from: the prior, with u uniform if it is private."""
        out = self.transform.log_density(x[:, : self.transform.dim])
        return out if self.count is None else out + self.count.log_volume(x[:, -1])

    def reference(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw coordinates from the prior, with u uniform on its range if it is private."""
        x = self.transform.sample(size, rng)
        if self.count is None:
            return x
        return np.column_stack([x, rng.logistic(size=size)])

    def place(self, x: np.ndarray) -> Place:
        """Evaluate everything that depends on the coordinates alone."""
        u = self.usable(x)
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            mean, covariance = self.moments(self.theta(x))
            log_prior = self.log_reference(x)
            if self.count is not None:
                log_prior = log_prior + self.count.log_prior(u)
            expected, spread = self.readings.moments(mean, covariance, u)
            lost = ~(
                np.isfinite(log_prior)
                & np.isfinite(expected).all(axis=0)
                & np.isfinite(spread).all(axis=(0, 1))
            )
        if lost.any():
            # coordinates so extreme that arithmetic gives up have no mass worth keeping
            log_prior[lost], expected[:, lost], spread[:, :, lost] = -np.inf, 0.0, 0.0
        return Place(log_prior, self.readings.y[:, None] - expected, np.ascontiguousarray(spread))

    def log_likelihood(self, place: Place, w: np.ndarray, kappa: float = 1.0) -> np.ndarray:
        """Return log N(residual; 0, covariance + kappa^2 diag(w))."""
        matrix, r = _eliminated(place.covariance, kappa**2 * w, place.residual)
        out = np.full(r.shape[1], -0.5 * self.n_readings * _LOG_2PI)
        for j in range(self.n_readings):
            out -= 0.5 * (np.log(matrix[j, j]) + r[j] * r[j] / matrix[j, j])
        return out

    def log_collapsed(
        self, place: Place, w: np.ndarray, kappa: float = 1.0, *, rough: bool = False
    ) -> np.ndarray:
        """Return the log likelihood, with the noise variances integrated out where :attr:`collapses`."""
        if not (self.collapses and self.readings.laplace):
            return self.log_likelihood(place, w, kappa)
        # blurred readings without features carry a variance of their own
        each = [
            log_marginal(
                place.residual[part] / kappa, place.covariance[np.ix_(part, part)] / kappa**2, rough=rough
            )
            for part in self._parts
        ]
        return np.sum(each, axis=0) - self.n_readings * math.log(kappa)

    def log_posterior(self, place: Place, *, rough: bool = False) -> np.ndarray:
        """Return the log density of the coordinates; noise variances that stay are put at their mean."""
        w = np.full(place.residual.shape, self.readings.noise_variance)
        return place.log_prior + self.log_collapsed(place, w, rough=rough)

    def draw_variances(
        self, place: Place, w: np.ndarray, kappa: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw w given (theta, u), of Laplace noise: the noise first, then its variances given the noise."""
        noise = draw_noise(place, kappa**2 * w, rng)
        return laplace_variances(np.abs(noise) / kappa, rng)


def draw_noise(place: Place, variance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Draw the noise e given the residual r = g + e, where g ~ N(0, C) is the spread of the sums and e ~ N(0, D).

    A draw (g', e') of the pair, moved by D (C + D)^-1 (r - g' - e') in e, has the conditional distribution; C may be
    singular.
    """
    shape = place.residual.shape
    free = np.sqrt(variance) * rng.standard_normal(shape)
    spread = _times_root(place.covariance, rng.standard_normal(shape))
    return free + variance * _solve(place.covariance, variance, place.residual - spread - free)


def laplace_variances(distance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Draw w given |e|: w ~ Exp(mean 2) a priori and e ~ N(0, w), so 1/w is inverse Gaussian(1/|e|, 1).

    Michael, Schucany and Haas (1976), solved for w: the larger root |e| + c + sqrt(c^2 + 2 c |e|), c = chi^2 / 2, needs
    no division and keeps its digits as |e| goes to zero; the smaller is e^2 over it.
    """
    c = 0.5 * rng.standard_normal(distance.shape) ** 2
    larger = distance + c + np.sqrt(c * c + 2 * c * distance)
    take = rng.random(distance.shape) * (larger + distance) <= larger
    with np.errstate(invalid="ignore", divide="ignore"):
        w = np.where(take, larger, distance * (distance / larger))
    return np.maximum(w, _LEAST_VARIANCE)


def _times_root(matrix: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return L z with L L' the positive semidefinite matrix, walkers last."""
    rest, out = matrix.copy(), np.zeros_like(z)
    for j in range(len(z)):
        pivot = rest[j, j]
        safe = np.where(pivot > 0, pivot, 1.0)
        column = np.where(pivot > 0, rest[j:, j] / np.sqrt(safe), 0.0)
        out[j:] += column * z[j]
        rest[j + 1 :, j + 1 :] -= column[1:, None] * column[None, 1:]
    return out


def _eliminated(matrix: np.ndarray, diagonal: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the upper triangle of matrix + diag(diagonal), and the right side, after elimination; walkers last."""
    a, x = matrix.copy(), right.copy()
    for j in range(len(x)):
        a[j, j] += diagonal[j]
    for j in range(len(x) - 1):
        ratio = a[j + 1 :, j] / a[j, j]
        x[j + 1 :] -= ratio * x[j]
        a[j + 1 :, j + 1 :] -= ratio[:, None] * a[j, j + 1 :]
    return a, x


def _solve(matrix: np.ndarray, diagonal: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return (matrix + diag(diagonal))^-1 right, walkers last."""
    a, x = _eliminated(matrix, diagonal, right)
    for j in range(len(x) - 1, -1, -1):
        x[j] = (x[j] - (a[j, j + 1 :] * x[j + 1 :]).sum(axis=0)) / a[j, j]
    return x


def _face_value(release: Release) -> tuple[np.ndarray, float] | None:
    if release.domain.bounds is None or release.domain.outside == "clip":
        return None
    s, n = release.noisy_sums()
    return (release.family.project(s, n), n) if n > 0 else None


def _count(records: CountPrior, readings: Readings) -> Count | None:
    """Return the latent usable count with the range that can hold its posterior, or None where it is public."""
    if records.low == records.high:
        return None
    low = max(records.low - 0.5, 0.0)
    high = math.inf if records.high is None else records.high + 0.5
    # the readings that add up to the count, and how far their noise can carry it
    rows = np.column_stack([readings.of_count, readings.of_features])
    combination = np.linalg.lstsq(rows.T, np.eye(rows.shape[1])[0], rcond=None)[0]
    read = float(combination @ readings.y)
    # sums that no count near that one could have (absurd readings) let it stray as far as they are off
    size = np.abs(readings.y) / np.abs(rows).max(axis=1)
    reach = _FAR * float(np.abs(combination).sum()) + 2 * float(np.maximum(size - abs(read), 0).sum()) + 1
    anchor = min(max(read, low), high)
    if isinstance(records, MissingPrior):
        least, most = math.floor(anchor - reach), math.ceil(anchor + reach)
        narrow_low, narrow_high = records.likely
        if narrow_low <= narrow_high:
            least, most = min(least, narrow_low), max(most, narrow_high)
        return MissingCount.of(records, max(least, records.low) - 0.5, min(most, records.high) + 0.5)
    if records.weights is None:
        low, high = max(low, anchor - reach), min(high, anchor + reach)
    return Count(low, high, records)

r"""The sampler of Bernstein and Sheldon (2018, algorithms 1 to 3), corrected, kept to be compared with.

One round, for all chains at once: the released sums given theta, the noise variances and the readings (normal); the
full sufficient statistic given the released sums; theta given the full statistic (conjugate); the variances given the
noise (inverse Gaussian). Against the print: the per-record moments of algorithm 1, line 4, and m = n q mu of algorithm
3, line 4; the sums of line 10 of algorithm 2 are drawn given the readings; and those inside, below and above the bounds
are drawn from their joint distribution, not as if they were independent. That distribution comes from the per-record
covariance of (released statistic, full statistic), so redacted and clipped records need no cases of their own.

What remains as the authors have it: theta given s is exact while s given theta is normal, so the two do not belong to
one joint distribution, and s outside its range is drawn again, which shifts the posterior near boundaries; and
successive rounds are highly correlated when noise dominates. The engine's default mends both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.errors import EngineError
from discreet.families import Bernoulli, Categorical, Exponential, Normal
from discreet.families.base import Family, Theta
from discreet.inference.engine import Answer, Engine, Question
from discreet.inference.engines.gibbs.feature_moments import column_bounds, feature_moments, mapped_features
from discreet.inference.engines.gibbs.nodes import nodes
from discreet.inference.engines.gibbs.target import Place, Readings, draw_noise, laplace_variances

_TRIES = 50


def refusal(release: Release) -> str | None:
    """Return why the plain sampler cannot read the release, or None if it can."""
    family = release.family
    if family.closed_form(_CONJUGATE) is None and not (family.has_full_sums and family.n_columns == 1):
        return f"the plain sampler does not read {family.name} releases"
    if release.records is None or release.domain.missing != "none":
        return "the plain sampler needs a public number of usable records"
    return None


def draw(question: Question, *, warmup: int = 1000) -> Answer:
    """Draw from the plain sampler, one state per round, after ``warmup`` rounds that are discarded."""
    release, rng, prior = question.release, question.rng, question.prior
    problem = refusal(release)
    if problem is not None:
        raise EngineError(f"{problem}.")
    assert release.records is not None
    conjugate = release.family.closed_form(_CONJUGATE) or _one_by_one(release.conjugate_family)
    family, n, chains = release.family, float(release.records), question.chains
    readings = Readings.of(release)
    kind = _Distribution if family.vocabulary is not None else _TruncatedDistribution
    distribution = kind(release, conjugate)
    theta = family.draw(prior, chains, rng)
    w = readings.draw_variances(chains, rng)
    per_chain = question.size // chains
    kept: list[dict[str, np.ndarray]] = []
    for step in range(warmup + per_chain):
        sums, full = distribution.draw(theta, readings, n, w, rng)
        theta = conjugate.update(prior, full, n, rng)
        if readings.laplace:
            noise = readings.y[:, None] - readings.of_count[:, None] * n - readings.of_features @ sums.T
            w = laplace_variances(np.abs(noise), rng)
        if step >= warmup:
            kept.append(theta)
    draws = {
        name: np.stack([one[name] for one in kept], axis=1).reshape(question.size, *np.shape(value)[1:])
        for name, value in kept[0].items()
    }
    return Answer(draws, "central limit for the sums, incompatible conditionals", (), independent=False)


@dataclass(frozen=True)
class _Conjugate:
    """How parameters are drawn given the full sums, and which sums some data set could have."""

    update: Callable[[Any, np.ndarray, float, np.random.Generator], dict[str, np.ndarray]]
    possible: Callable[[np.ndarray, float], np.ndarray]


class _Distribution:
    """Released sums given the readings, and full sums given the released ones."""

    def __init__(self, release: Release, conjugate: _Conjugate) -> None:
        self._family: Family = release.conjugate_family
        self._possible = conjugate.possible
        self._moments = feature_moments(release)

    def draw(
        self, theta: Theta, readings: Readings, n: float, w: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (released sums, full sums), chains first; pairs outside their range are drawn again."""
        mean, covariance = self._moments(theta)
        expected, spread = readings.moments(mean, covariance, n)
        place = Place(np.zeros(len(mean)), readings.y[:, None] - expected, spread)
        to_sums = np.linalg.inv(readings.of_features)
        sums, full = np.empty(mean.shape), np.empty(mean.shape)
        todo = np.arange(len(mean))
        for _ in range(_TRIES):
            noise = draw_noise(place.take(todo), w[:, todo], rng)
            signal = readings.y[:, None] - noise - readings.of_count[:, None] * n
            sums[todo] = (to_sums @ signal).T
            own = {name: value[todo] for name, value in theta.items()}
            full[todo] = self.complete(own, sums[todo], n, rng)
            todo = todo[~self._possible(full[todo], n)]
            if not todo.size:
                break
        for chain in todo:
            full[chain] = self._family.project(full[chain], n)
        return sums, full

    def complete(self, theta: Theta, sums: np.ndarray, n: float, rng: np.random.Generator) -> np.ndarray:
        """Return full sums given released ones: counts of labels, or the count of yes from a sum of -1 and 1."""
        return (sums + n) / 2 if self._family.n_probabilities is None else sums


class _TruncatedDistribution(_Distribution):
    """The same where records outside the bounds are redacted or clipped."""

    def __init__(self, release: Release, conjugate: _Conjugate) -> None:
        super().__init__(release, conjugate)
        self._release = release
        self._low, self._high = column_bounds(release)

    def joint(self, theta: Theta) -> tuple[np.ndarray, np.ndarray, int]:
        """Return mean and covariance of one record's (released features, full statistic), and how many are released."""
        family, clip = self._family, self._release.domain.outside == "clip"
        parts = []
        # a whole number at a bound is inside it, and not beyond it as well
        beyond = 1.0 if family.support.discrete else 0.0
        inside = (self._low, self._high)
        for low, high in ((-math.inf, self._low - beyond), inside, (self._high + beyond, math.inf)):
            x, probability = nodes(family, theta, low, high)
            features = mapped_features(self._release, np.clip(x, *inside))
            if not clip and (low, high) != inside:
                features = np.zeros_like(features)
            parts.append((np.concatenate([features, family.sufficient(x)], axis=-1), probability))
        points, probability = (np.concatenate(each, axis=1) for each in zip(*parts, strict=True))
        mean = (probability[:, None, :] @ points)[:, 0]
        off = points - mean[:, None, :]
        covariance = (off * probability[:, :, None]).transpose(0, 2, 1) @ off
        return mean, covariance, len(family.geometry.feature_names)

    def complete(self, theta: Theta, sums: np.ndarray, n: float, rng: np.random.Generator) -> np.ndarray:
        mean, covariance, m = self.joint(theta)
        released, cross = covariance[:, :m, :m], covariance[:, m:, :m]
        gain = np.linalg.solve(released, cross.transpose(0, 2, 1)).transpose(0, 2, 1)
        center = n * mean[:, m:] + np.einsum("tij,tj->ti", gain, sums - n * mean[:, :m])
        left = n * (covariance[:, m:, m:] - gain @ cross.transpose(0, 2, 1))
        # eigenvalues of a difference can come out just below zero
        values, vectors = np.linalg.eigh((left + left.transpose(0, 2, 1)) / 2)
        z = rng.standard_normal(center.shape) * np.sqrt(np.maximum(values, 0.0))
        return center + np.einsum("tij,tj->ti", vectors, z)


def _one_by_one(family: Family) -> _Conjugate:
    """Return the update of any family, chain by chain; possible sums are those that need not be projected."""

    def update(prior: Any, s: np.ndarray, n: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
        drawn = [family.draw(family.update(prior, one, n), 1, rng) for one in s]
        return {name: np.concatenate([each[name] for each in drawn]) for name in drawn[0]}

    def possible(s: np.ndarray, n: float) -> np.ndarray:
        return np.array([np.allclose(family.project(one, n), one, rtol=1e-12) for one in s])

    return _Conjugate(update, possible)


def _dirichlet(prior: Any, s: np.ndarray, n: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    parts = rng.standard_gamma(prior.natural() + s)
    return {"p": parts / parts.sum(axis=1, keepdims=True)}


def _normal_inverse_gamma(
    prior: Any, s: np.ndarray, n: float, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    first = s[:, 0] - n * prior.mean
    second = s[:, 1] - 2 * prior.mean * s[:, 0] + n * prior.mean**2
    kappa = prior.kappa + n
    beta = prior.beta + (second - first**2 / kappa) / 2
    variance = beta / rng.gamma(prior.alpha + n / 2, size=len(s))
    return {"mean": rng.normal(prior.mean + first / kappa, np.sqrt(variance / kappa)), "variance": variance}


_CONJUGATE: dict[type[Family], _Conjugate] = {
    Bernoulli: _Conjugate(
        lambda prior, s, n, rng: {"p": rng.beta(prior.a + s[:, 0], prior.b + n - s[:, 0])},
        lambda s, n: ((s >= 0) & (s <= n))[:, 0],
    ),
    Categorical: _Conjugate(_dirichlet, lambda s, n: np.asarray((s >= 0).all(axis=1))),
    Exponential: _Conjugate(
        lambda prior, s, n, rng: {"rate": rng.gamma(prior.shape + n, 1 / (prior.rate + s[:, 0]))},
        lambda s, n: s[:, 0] > 0,
    ),
    Normal: _Conjugate(_normal_inverse_gamma, lambda s, n: s[:, 1] > s[:, 0] ** 2 / n),
}


PLAIN = Engine("plain", refusal, draw, automatic=False)

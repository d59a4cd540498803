"""The exact engine of a family with one bounded statistic: the posterior of its one parameter, and draws from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, betaln, expit, gammaincinv, gammaln, log_expit

from discreet import priors
from discreet.artifact import Release
from discreet.errors import EngineError
from discreet.families.likelihood import Likelihood, Theta
from discreet.inference.engine import NEVER, Answer, Engine, Question
from discreet.inference.engines.scalar.laplace_sums import LaplaceCells, LaplaceCounted
from discreet.inference.engines.scalar.line import LineDensity, line_density
from discreet.inference.engines.scalar.normal_sums import NormalSum
from discreet.inference.engines.scalar.readings import reading_of
from discreet.inference.engines.scalar.record_distribution import (
    MOST_COUNTS,
    RecordDistribution,
    counts_to_sum,
)
from discreet.inference.engines.scalar.sum_likelihood import log_likelihood
from discreet.models.shapes import Interval

_TAIL = 1e-13
# The smallest number, and the one next to 1, that a variable takes; and how far its logarithm goes.
_LEAST, _MOST = 1e-300, 1 - 2.0**-53
_FARTHEST = 690.0
# As far as a prior of tiny shape may reach; its weight beyond is below 1e-13 if the shape is above 1e-5.
_LONGEST = 3e6
# Sums of fewer records than this may still show the shape of one record's distribution.
_FEW = 64
_NONE = np.zeros(1)


@dataclass(frozen=True)
class Axis:
    """The prior's variable on the whole line: its logarithm, its logit, or itself.

    ``low`` and ``high`` hold all but 1e-13 of the prior at each end; ``lowest`` and ``highest`` are as far as a
    likelihood may draw the posterior.
    """

    prior: Any
    low: float
    high: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, prior: Any) -> Axis:
        """Return the axis of a conjugate prior on one number."""
        if isinstance(prior, priors.Gamma):
            low, high = _log_gamma_ends(prior)
            return cls(prior, low, high, min(low, -700.0), 700.0)
        if isinstance(prior, priors.Beta):
            low, high = _log_beta_end(prior.a, prior.b), -_log_beta_end(prior.b, prior.a)
            return cls(prior, low, high, min(low, -690.0), max(high, 690.0))
        assert isinstance(prior, priors.Normal)
        far = 7.4 * prior.sd
        return cls(prior, prior.mean - far, prior.mean + far, prior.mean - 1e3 * far, prior.mean + 1e3 * far)

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return the prior's variable at points of the line.

        A prior of tiny shape has weight where the variable is beyond floating point; it stays at the last number there,
        and so does the likelihood, as it should: all records are alike.
        """
        if isinstance(self.prior, priors.Gamma):
            return np.exp(np.maximum(t, -_FARTHEST))
        if isinstance(self.prior, priors.Beta):
            return np.clip(expit(t), _LEAST, _MOST)
        return np.asarray(t)

    def log_prior(self, t: np.ndarray) -> np.ndarray:
        """Return the log prior density on the line."""
        prior = self.prior
        if isinstance(prior, priors.Gamma):
            return prior.shape * t - prior.rate * np.exp(t) - prior.log_partition(prior.natural())
        if isinstance(prior, priors.Beta):
            return prior.a * log_expit(t) + prior.b * log_expit(-t) - prior.log_partition(prior.natural())
        return prior.log_density(t)

    def posterior(
        self, family: Likelihood, log_likelihood: Callable[[Theta, np.ndarray], np.ndarray]
    ) -> LineDensity:
        """Return the posterior density on the line, of a likelihood that may err by a ``slack`` times the usual."""

        def log_posterior(t: np.ndarray, slack: np.ndarray) -> np.ndarray:
            return self.log_prior(t) + log_likelihood(family.named(self.value(t)), slack)

        return line_density(log_posterior, self.low, self.high, self.lowest, self.highest)


def refusal(release: Release) -> str | None:
    """Return why a release cannot be read here, or None if it holds sums of one bounded statistic of one parameter."""
    family = release.family
    if not (
        isinstance(family.geometry, Interval)
        and release.domain.bounds is not None
        and len(family.draw_names) == 1
        and family.prior_type in (priors.Gamma, priors.Beta, priors.Normal)
    ):
        return f"the exact engine does not read {family.name} releases"
    if counts_to_sum(release) > MOST_COUNTS:
        return f"the exact engine sums over at most {MOST_COUNTS:,} counts within the bounds"
    return None


def predicted_seconds(question: Question) -> float:
    """Return roughly how long the draws take."""
    try:
        reading = reading_of(question.release, question.usable)
    except EngineError:
        return NEVER
    low, high = reading.records(_NONE, _NONE)
    tabled = isinstance(reading, NormalSum | LaplaceCounted) or question.records.weights is not None
    seconds = 0.05 + 1e-8 * question.size + 1e-4 * counts_to_sum(question.release)
    if isinstance(reading, LaplaceCells):
        seconds += 0.1
    return seconds + (2e-5 * (high - low) if tabled else 0.0)


def density(question: Question) -> tuple[Axis, LineDensity]:
    """Return the posterior density on the line, and how points of the line are read."""
    release, axis = question.release, Axis.of(question.prior)
    reading = reading_of(release, question.usable)
    distribution = RecordDistribution.of(release, few=reading.records(_NONE, _NONE)[0] < _FEW)

    def likely(theta: Theta, slack: np.ndarray) -> np.ndarray:
        return log_likelihood(distribution.at(theta), reading, distribution.lattice, slack)

    return axis, axis.posterior(release.family, likely)


def draw(question: Question) -> Answer:
    """Draw the parameter from its exact posterior, independently."""
    axis, posterior = density(question)
    points = posterior.sample(question.size, question.rng)
    return Answer(question.release.family.named(axis.value(points)))


def _log_gamma_ends(prior: priors.Gamma) -> tuple[float, float]:
    """Return the logarithms of the quantiles that leave 1e-13 at each end."""
    shape, log_rate = prior.shape, np.log(prior.rate)
    high = float(np.log(gammaincinv(shape, 1 - _TAIL)))
    least = float(gammaincinv(shape, _TAIL))
    # for small shapes the quantile underflows: P(x) = x^shape / Gamma(shape + 1) there
    low = np.log(least) if least > _LEAST else (np.log(_TAIL) + gammaln(shape + 1)) / shape
    return max(low - log_rate, -_LONGEST), min(high - log_rate, _FARTHEST)


def _log_beta_end(a: float, b: float) -> float:
    """Return the logarithm of the quantile of Beta(a, b) that leaves 1e-13 below."""
    least = float(betaincinv(a, b, _TAIL))
    # likewise: P(x) = x^a / (a B(a, b)) there
    low = np.log(least) if least > _LEAST else (np.log(_TAIL) + np.log(a) + betaln(a, b)) / a
    return max(float(low), -_LONGEST)


EXACT = Engine("exact", refusal, draw, predicted_seconds)

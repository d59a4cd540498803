"""Linear regressions from noisy sums of products: latent moments of the table, then the population's."""

from __future__ import annotations

import numpy as np

from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.regression import (
    MomentDraws,
    PopulationDraws,
    Readings,
    draw_moments,
    draw_population,
    usable_counts,
)
from discreet.inference.regression.noise_share import noise_headline
from discreet.models.linear_regression import LinearRegression
from discreet.models.regression import bounds_of

_HOW = "a central limit for the table's moments; residuals may be uneven and heavy-tailed to a usual degree"


def draw(question: Question) -> Answer:
    """Draw intercept, coefficients, residual sd and R^2 in the units of the data."""
    return draw_as(question, _model(question))


def draw_as(question: Question, model: LinearRegression) -> Answer:
    """Draw them of a regression whose products are among those of the release."""
    readings = Readings.of(question.release, model.design)
    counts = usable_counts(question, question.size)
    table = draw_moments(readings, counts, question.size, question.chains, question.rng)
    found = draw_population(table, question.rng)
    said = noise_headline(question, readings, counts)
    return Answer(
        _in_units(model, found), _HOW, independent=False, headline=said, log_prior=found.log_own_prior
    )


def draw_naive(question: Question) -> Answer:
    """Take the noisy moments for the table's, moved to the nearest that a table could have; normal residuals."""
    readings = Readings.of(question.release)
    n = float(np.median(usable_counts(question, question.size)))
    mean, covariance = readings.possible(n)
    table = MomentDraws(
        np.broadcast_to(mean, (question.size, len(mean))),
        np.broadcast_to(np.linalg.cholesky(covariance), (question.size, *covariance.shape)),
        np.full(question.size, n),
    )
    found = draw_population(table, question.rng, naive=True)
    return Answer(_in_units(_model(question), found), "noise ignored", (warning(question.release),))


def _model(question: Question) -> LinearRegression:
    return question.release.model.require(LinearRegression, "this engine reads linear regressions")


def _in_units(model: LinearRegression, found: PopulationDraws) -> dict[str, np.ndarray]:
    intercept, coefficients = model.in_units(found.intercept, found.slopes)
    low, high = map(float, bounds_of(model.target))
    return {
        "intercept": intercept,
        "coefficients": coefficients,
        "residual_sd": (high - low) / 2 * found.residual_sd,
        "r_squared": found.r_squared,
    }


GIBBS = Engine("gibbs", reads_all, draw)
NAIVE = Engine("naive", reads_all, draw_naive, automatic=False)

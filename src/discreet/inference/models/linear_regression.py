"""Linear regressions from noisy sums of products: latent moments of the table, then the population's."""

from __future__ import annotations

import numpy as np

from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.regression import Readings, draw_moments, draw_population, usable_counts
from discreet.models.linear_regression import LinearRegression

_HOW = "a central limit for the table's moments; residuals may be uneven and heavy-tailed to a usual degree"


def draw(question: Question) -> Answer:
    """Draw intercept, coefficients, residual sd and R^2 in the units of the data."""
    model = question.release.model.require(LinearRegression, "this engine reads linear regressions")
    readings = Readings.of(question.release)
    counts = usable_counts(question, question.size)
    table = draw_moments(readings, counts, question.size, question.chains, question.rng)
    found = draw_population(table, question.rng)
    intercept, coefficients = model.in_units(found.intercept, found.slopes)
    half = float(model.target.high - model.target.low) / 2  # pyright: ignore[reportAttributeAccessIssue]
    draws = {
        "intercept": intercept,
        "coefficients": coefficients,
        "residual_sd": half * found.residual_sd,
        "r_squared": found.r_squared,
    }
    return Answer(draws, _HOW, independent=False)


GIBBS = Engine("gibbs", reads_all, draw)

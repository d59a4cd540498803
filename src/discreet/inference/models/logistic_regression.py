"""Logistic regressions from noisy sums of products, by the discriminant map."""

from __future__ import annotations

import numpy as np

from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.regression import MomentDraws, Readings, draw_moments, usable_counts
from discreet.inference.regression.logistic_maps import discriminant, population_discriminant
from discreet.inference.regression.noise_share import noise_headline
from discreet.models.step_regression import StepRegression

_HOW = "the discriminant map, and what it may be off by where features are not normal within the classes"
#: From this share of the variance on what a map may be off by is worth a word
MUCH = 0.5
_STEP = (
    "the classes are far apart for how much is known: most of the width of these intervals is that features may not be "
    "normal within the classes; a second release, of model.refined(posterior), does not take it for granted"
)


def draw(question: Question) -> Answer:
    """Draw intercept and coefficients in the units of the data."""
    table, said = read_moments(question)
    found, off = population_discriminant(table.mean, table.covariance, table.records, question.rng)
    warnings = (_STEP,) if off > MUCH and not said else ()
    return Answer(
        in_units(question, found),
        _HOW,
        warnings,
        independent=False,
        table={"usable": table.records},
        headline=said,
    )


def read_moments(question: Question) -> tuple[MomentDraws, str]:
    """Draw the table's moments, and say whether noise dominates: what both maps from sums of products begin with."""
    readings = Readings.of(question.release)
    counts = usable_counts(question, question.size)
    table = draw_moments(readings, counts, question.size, question.chains, question.rng)
    return table, noise_headline(question, readings, counts, table.records)


def draw_naive(question: Question) -> Answer:
    """Take the noisy moments for the table's, moved to the nearest that a table could have."""
    readings = Readings.of(question.release)
    n = float(np.median(usable_counts(question, question.size)))
    mean, covariance = readings.possible(n)
    found, residual, _ = discriminant(mean[None], covariance[None])
    errors = _errors(mean[:-1], covariance[:-1, :-1], n * residual[0])
    draws = found + question.rng.standard_normal((question.size, len(mean))) @ errors.T
    return Answer(
        in_units(question, draws),
        "noise ignored",
        (warning(question.release),),
        table={"usable": np.full(question.size, n)},
    )


def _errors(mean: np.ndarray, covariance: np.ndarray, weight: float) -> np.ndarray:
    """Return a root of the covariance of coefficients whose records weigh so much together."""
    whole = np.block([[np.ones((1, 1)), mean[None]], [mean[:, None], covariance + np.outer(mean, mean)]])
    return np.linalg.cholesky(np.linalg.inv(weight * whole))


def in_units(question: Question, found: np.ndarray) -> dict[str, np.ndarray]:
    """Return draws by name in the units of the data, of those on mapped bounds, the intercept first."""
    model = question.release.model.require(StepRegression, "this engine reads regressions with a link")
    intercept, coefficients = model.in_units(found[:, 0], found[:, 1:])
    return {"intercept": intercept, "coefficients": coefficients}


GIBBS = Engine("gibbs", reads_all, draw)
NAIVE = Engine("naive", reads_all, draw_naive, automatic=False)

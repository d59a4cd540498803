"""Logistic regressions from noisy sums of products, by those of a made-up table with its moments."""

from __future__ import annotations

import numpy as np

from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.regression import MomentDraws, Readings, draw_moments, usable_counts
from discreet.inference.regression.logistic_maps import discriminant, population_coefficients
from discreet.inference.regression.noise_share import noise_headline
from discreet.models.step_regression import StepRegression

_HOW = "coefficients of a made-up table with these moments, and what they may be off by"
#: From this share of the variance on, what a map or a step may be off by is worth a word: a quarter of it is twice the
#: sd of all the rest by the time that it makes an interval miss.
MUCH = 0.25
_MOST_NAMES = 3
_MADE_UP = (
    "much of the width of {whose} is that features may have other shapes than their bounds and moments tell: a second "
    "release, of model.refined(posterior) or by discreet refine, takes next to nothing for granted about them"
)


def draw(question: Question) -> Answer:
    """Draw intercept and coefficients in the units of the data."""
    table, said = read_moments(question)
    found, off = population_coefficients(
        table.mean, table.covariance, table.records, feature_lows(question), question.rng
    )
    return Answer(
        in_units(question, found),
        _HOW,
        () if said else doubts(question, off),
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


def feature_lows(question: Question) -> np.ndarray:
    """Return the least values of the terms of a release of products, without the target."""
    model = question.release.model.require(StepRegression, "this engine reads regressions with a link")
    return model.released_design.lows[:-1]


def doubts(question: Question, off: np.ndarray, words: str = _MADE_UP) -> tuple[str, ...]:
    """Return a warning that names the slopes of whose variance the share ``off`` is too much; none if there is none."""
    model = question.release.model.require(StepRegression, "this engine reads regressions with a link")
    names = [name for name, share in zip(model.weight_names[1:], off, strict=True) if share > MUCH]
    if not names:
        return ()
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    named = f"the interval{'s' * (len(names) > 1)} of {', '.join(names[:_MOST_NAMES])}{more}"
    return (words.format(whose="these intervals" if len(names) == len(off) else named),)


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

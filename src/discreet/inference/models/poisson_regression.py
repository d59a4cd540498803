"""Poisson regressions from noisy sums of products, by those of a made-up table with its moments."""

from __future__ import annotations

import numpy as np

from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.models.logistic_regression import doubts, feature_lows, in_units, read_moments
from discreet.inference.regression import Readings, usable_counts
from discreet.inference.regression.newton import moment_root, wiggled
from discreet.inference.regression.poisson_maps import population_coefficients, stein
from discreet.models.poisson_regression import PoissonRegression

_HOW = "coefficients of a made-up table with these moments, and what they may be off by"


def draw(question: Question) -> Answer:
    """Draw intercept and coefficients in the units of the data, the target's mean and its dispersion."""
    table, said = read_moments(question)
    found, more, off = population_coefficients(
        table.mean, table.covariance, table.records, feature_lows(question), _most(question), question.rng
    )
    return Answer(
        in_units(question, found) | more,
        _HOW,
        () if said else doubts(question, off),
        independent=False,
        table={"usable": table.records},
        headline=said,
    )


def draw_naive(question: Question) -> Answer:
    """Take the noisy moments for the table's, moved to the nearest that a table could have."""
    readings = Readings.of(question.release)
    n = float(np.median(usable_counts(question, question.size)))
    mean, covariance = (np.repeat(one[None], question.size, axis=0) for one in readings.possible(n))
    found, average, dispersion, _ = stein(mean, covariance, _most(question))
    root = moment_root(mean[:, :-1], covariance[:, :-1, :-1])
    draws = found + wiggled(root, question.rng) * np.sqrt(dispersion / (average * n))[:, None]
    more = {"mean": average, "dispersion": dispersion}
    return Answer(
        in_units(question, draws) | more,
        "noise ignored",
        (warning(question.release),),
        table={"usable": np.full(question.size, n)},
    )


def _most(question: Question) -> float:
    return question.release.model.require(PoissonRegression, "this engine reads Poisson regressions").most


GIBBS = Engine("gibbs", reads_all, draw)
NAIVE = Engine("naive", reads_all, draw_naive, automatic=False)

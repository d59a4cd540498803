"""Linear regressions from noisy sums of products: latent moments of the table, then the population's.

``augment`` holds every record instead, and is what the other is compared with.
"""

from __future__ import annotations

import numpy as np

from discreet.artifact import Release
from discreet.errors import EngineError
from discreet.inference.engine import Answer, Engine, Question, reads_all, spend
from discreet.inference.engines.naive import warning
from discreet.inference.regression import (
    MomentDraws,
    PopulationDraws,
    Readings,
    draw_moments,
    draw_population,
    possible_start,
    slopes_of,
    unpacked,
    usable_counts,
    weighed_counts,
)
from discreet.inference.regression.noise_share import noise_headline, residual_headline
from discreet.models.linear_regression import LinearRegression
from discreet.models.regression import bounds_of

_HOW = "a central limit for the table's moments; residuals may be uneven and heavy-tailed to a usual degree"
_LATENT = "residuals may be heavy-tailed to a usual degree"
# of chains over latent records: sweeps before the first draw and for each, seconds for a record and a parameter
_MOST_RECORDS, _WARM_UP, _THIN, _SECONDS = 2000, 1000, 10, 2.5e-7


def draw(question: Question) -> Answer:
    """Draw intercept, coefficients, residual sd and R^2 in the units of the data."""
    return draw_as(question, _model(question))


def draw_as(question: Question, model: LinearRegression) -> Answer:
    """Draw them of a regression whose products are among those of the release."""
    readings = Readings.of(question.release, model.released_design)
    # noise that is drawn jointly is read of all sums together
    every = Readings.of(question.release) if question.release.mechanism.joint(question.release) else readings
    counts = usable_counts(question, question.size)
    table = draw_moments(every, counts, question.size, question.chains, question.rng)
    table = table.part([every.names.index(name) for name in readings.names])
    found = draw_population(table, question.rng)
    said = noise_headline(question, readings.of_features, counts, table.records)
    said = said or residual_headline(readings, counts)
    return Answer(
        _in_units(model, found),
        _HOW,
        independent=False,
        table={"usable": table.records},
        headline=said,
        log_prior=found.log_own_prior,
    )


def refuses_records(release: Release) -> str | None:
    """Return why latent records cannot stand for those of a release, or None."""
    model = _model_of(release)
    if model.label_columns or model.terms:
        return "it holds records of numbers, and takes no labels, products or squares"
    if int(release.records or release.totals.values[-1]) > _MOST_RECORDS:
        return f"it holds every record, and more than {_MOST_RECORDS:,} are too many"
    return None


def draw_records(question: Question) -> Answer:
    """Draw the same by a chain over latent records: scale mixtures of normals, any number of them."""
    from discreet.inference.regression.latent_records import latent_walk

    readings = Readings.of(question.release)
    counts, weights = weighed_counts(question)
    if len(counts) != counts[-1] - counts[0] + 1:
        raise EngineError("so little is known of the number of records that not all of them can be weighed.")
    u, p = int(counts[weights.argmax()]), readings.size
    start = possible_start(readings, float(u))
    each = question.size // question.chains
    spend(question.chains * (_WARM_UP + each * _THIN) * counts[-1] * len(start) * _SECONDS)
    with np.errstate(divide="ignore"):
        chances = np.log(weights)
    walked = [
        latent_walk(
            start, u, chances, int(counts[0]), _WARM_UP, each, _THIN, question.rng, *readings.given(u)
        )
        for _ in range(question.chains)
    ]
    mean, root = unpacked(np.concatenate([states for states, _, _ in walked]), p)
    found = PopulationDraws.of(mean, root, slopes_of(root), 1.0)
    usable = np.concatenate([numbers for _, numbers, _ in walked])
    return Answer(_in_units(_model(question), found), _LATENT, independent=False, table={"usable": usable})


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
    return Answer(
        _in_units(_model(question), found),
        "noise ignored",
        (warning(question.release),),
        table={"usable": table.records},
    )


def _model(question: Question) -> LinearRegression:
    return _model_of(question.release)


def _model_of(release: Release) -> LinearRegression:
    return release.model.require(LinearRegression, "this engine reads linear regressions")


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
AUGMENT = Engine("augment", refuses_records, draw_records, automatic=False)
NAIVE = Engine("naive", reads_all, draw_naive, automatic=False)

"""Engines of contingency tables: the whole table is latent, and every noisy margin reads sums of its cells.

``exact`` enumerates every table of a known number of records, where there are few. ``gibbs`` runs Markov chains over
the table, exact in the limit of long chains, under any noise; it also reads labels whose noise hangs together.
"""

from __future__ import annotations

import numpy as np

from discreet.artifact import Release
from discreet.errors import OutOfReachError
from discreet.families.categorical import Categorical
from discreet.inference.counts.margin_readings import MarginReadings
from discreet.inference.counts.weights import dirichlet_columns, sample_index
from discreet.inference.engine import Answer, Engine, Question
from discreet.inference.missing_prior import LABEL_WORDS, MISSING_WEIGHT
from discreet.models.contingency import MOST_CELLS, ContingencyTable, cells_named, cells_of
from discreet.privacy.published import Correlated, Unread

# Tables that are enumerated, and seconds that one cell of one draw takes.
_MOST_TABLES, _SECONDS_PER_CELL = 300_000, 4e-6


def _model(release: Release) -> ContingencyTable:
    return release.model.require(ContingencyTable, "this engine reads contingency tables")


def _n_cells(release: Release) -> int:
    """Return how many cells the latent table has."""
    counted = release.domain.missing == "count"
    return int(np.prod([column.n_labels + counted for column in _model(release).label_columns]))


def readings_of(question: Question) -> MarginReadings:
    """Return what a release of a contingency table reads of the latent one."""
    release = question.release
    model = _model(release)
    alpha = np.asarray(question.prior, dtype=float)
    counted = release.domain.missing == "count"
    if counted:
        alpha = np.pad(alpha, [(0, 1)] * alpha.ndim, constant_values=MISSING_WEIGHT)
    own = not release.mechanism.foreign
    return MarginReadings(
        alpha.shape,
        alpha.ravel(),
        cells_of(model, release.domain.missing) if own else cells_named(model, release.totals.names),
        np.array(release.totals.values, dtype=np.int64),
        release.noise,
        release.records,
        question.records,
    )


def _n_tables(release: Release) -> float:
    """Return how many tables are possible; infinitely many where the number of records is not known."""
    if release.records is None:
        return np.inf
    # n over k, without numbers of a thousand digits
    out = 1.0
    for i in range(1, _n_cells(release)):
        out = out * (release.records + i) / i
        if out > 1e12:
            break
    return out


def _too_many(release: Release) -> str | None:
    many = _n_tables(release)
    if many <= _MOST_TABLES:
        return None
    ways = "any number of" if many == np.inf else f"more than {_MOST_TABLES:,}"
    return f"{ways} tables are possible"


def _too_large(release: Release) -> str | None:
    cells = _n_cells(release)
    return f"its table has {cells} cells, and chains take {MOST_CELLS}" if cells > MOST_CELLS else None


def enumerate_tables(question: Question) -> Answer:
    """Draw from all tables by their exact posterior weights, independently."""
    question.refuse_missing()
    readings = readings_of(question)
    tables = readings.every_table()
    log_weight = readings.log_weight(tables)
    peak = log_weight.max()
    if not np.isfinite(peak):
        raise OutOfReachError("the noisy margins contradict each other: no table has them.")
    weight = np.exp(log_weight - peak)
    drawn = tables[sample_index(weight / weight.sum(), question.size, question.rng)]
    return _answer(question, readings, drawn, independent=True)


def walk_tables(question: Question) -> Answer:
    """Draw tables by Markov chains."""
    question.refuse_missing()
    readings = readings_of(question)
    drawn = readings.walked(question.size, question.chains, question.rng)
    return _answer(question, readings, drawn, independent=False)


def _answer(question: Question, readings: MarginReadings, drawn: np.ndarray, *, independent: bool) -> Answer:
    """Draw shares given tables; what is missing in some column is left out, and the others make up the whole."""
    p = dirichlet_columns((readings.alpha + drawn).T, question.rng).T.reshape(-1, *readings.levels)
    counts = drawn.reshape(-1, *readings.levels)
    missing = None
    if question.release.domain.missing == "count":
        complete = (slice(None), *(slice(level - 1) for level in readings.levels))
        p, counts, missing = p[complete], counts[complete], LABEL_WORDS
        p = p / p.sum(axis=tuple(range(1, p.ndim)), keepdims=True)
    usable = counts.sum(axis=tuple(range(1, counts.ndim)))
    labels = _model(question.release).axis_labels()
    table = {"usable": usable, "count": counts}
    return Answer({"p": p}, independent=independent, table=table, labels=labels, missing=missing)


def _seconds(question: Question) -> float:
    cells = _n_cells(question.release)
    return 1 + _SECONDS_PER_CELL * cells * (1.5 * question.size + 300 * question.chains)


EXACT = Engine("exact", _too_many, enumerate_tables, any_noise=True)
GIBBS = Engine("gibbs", _too_large, walk_tables, _seconds, any_noise=True, foretold=True)


# -- labels whose noise hangs together ----------------------------------------------------------------


def _independent(release: Release) -> str | None:
    if not release.mechanism.foreign or not any(isinstance(one, Correlated) for one in release.noise):
        return "the noise of its counts is independent"
    labels = len(release.model.labels or ())
    return f"it has {labels} labels, and chains take {MOST_CELLS}" if labels > MOST_CELLS else None


def walk_labels(question: Question) -> Answer:
    """Draw counts of labels by Markov chains, and then their shares."""
    release, rng = question.release, question.rng
    model = release.model.require(Categorical, "this engine reads labels")
    k = len(model.labels)
    alpha = np.asarray(question.prior.alpha, dtype=float)
    read = [at for at, one in enumerate(release.noise) if not isinstance(one, Unread)]
    counted = np.vstack([np.eye(k, dtype=bool), np.ones((1, k), dtype=bool)])[read]
    readings = MarginReadings(
        (k,),
        alpha,
        counted,
        np.array(release.totals.values, dtype=np.int64)[read],
        tuple(release.noise[at] for at in read),
        release.records,
        question.records,
    )
    counts = readings.walked(question.size, question.chains, rng)
    p = dirichlet_columns((alpha + counts).T, rng).T
    return Answer({"p": p}, independent=False, table={"usable": counts.sum(axis=1), "count": counts})


CORRELATED = Engine("gibbs", _independent, walk_labels, any_noise=True)

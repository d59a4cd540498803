"""Logistic regressions on labels, from one noisy table of all columns.

The counts behind the noise are enumerated and drawn exactly (:mod:`~discreet.inference.counts.latent_cells`), then the
probabilities of the cells, and each draw of them is a population: its coefficients are those of greatest likelihood in
it. That the log-odds are linear is not taken for granted; where they are not, these are the coefficients of the nearest
model that has it.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import expit

from discreet.inference.counts.latent_cells import cell_counts
from discreet.inference.counts.weights import dirichlet_columns
from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.missing_prior import MISSING_WEIGHT
from discreet.inference.record_prior import RecordPrior
from discreet.models.logistic_regression import LogisticRegression

_ROUNDS, _LARGEST_STEP, _NEAR = 60, 2.0, 1e-7
# draws whose coefficients are found together
_BATCH = 1000
_WORDS = f"cells with a missing label have Dirichlet weight {MISSING_WEIGHT:g} together"


def draw(question: Question) -> Answer:
    """Draw intercept and coefficients, independently."""
    release, rng = question.release, question.rng
    model = release.model.require(LogisticRegression, "this engine reads logistic regressions")
    alpha, complete = _weights(model, missing=release.domain.missing == "count")
    n = release.records
    records = question.records if n is None else RecordPrior(n, n)
    readings = np.array(release.totals.values, dtype=np.int64)
    counts = cell_counts(alpha, readings, release.noise, records, None).sample(question.size, rng)
    said = _WORDS if len(alpha) > complete.sum() else ""
    found = counts[:, complete]
    return Answer(
        _coefficients(model, alpha[complete] + found, rng),
        table={"usable": found.sum(axis=1)},
        missing=said,
    )


def draw_naive(question: Question) -> Answer:
    """Take the noisy counts for the true ones."""
    release = question.release
    model = release.model.require(LogisticRegression, "this engine reads logistic regressions")
    alpha, complete = _weights(model, missing=release.domain.missing == "count")
    counts = np.maximum(np.array(release.totals.values, dtype=float), 0)
    given = np.broadcast_to((alpha + counts)[complete], (question.size, int(complete.sum())))
    return Answer(
        _coefficients(model, given, question.rng),
        "noise ignored",
        (warning(release),),
        table={"usable": np.full(question.size, counts[complete].sum())},
    )


def _weights(model: LogisticRegression, *, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the Dirichlet parameter of every cell, and which cells have no missing label."""
    sizes = [column.n_labels for column in model.label_columns]
    codes = np.array(list(product(*(range(size + missing) for size in sizes))))
    complete = np.asarray((codes < np.array(sizes)).all(axis=1))
    alpha = np.full(len(codes), MISSING_WEIGHT / max(int((~complete).sum()), 1))
    alpha[complete] = (1 + model.dimension) / complete.sum()
    return alpha, complete


def _coefficients(
    model: LogisticRegression, alpha: np.ndarray, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Draw cell probabilities, and find the coefficients of greatest likelihood under each."""
    target, *features = model.label_columns
    codes = np.array(list(product(*(range(column.n_labels) for column in features))))
    coded = {column.name: codes[:, at] for at, column in enumerate(features)}
    terms = [model.design.evaluate(term, coded, {}) for term in model.design.terms[:-1]]
    x = np.stack([np.ones(len(codes)), *terms], axis=1)
    p = dirichlet_columns(alpha.T, rng).T.reshape(len(alpha), target.n_labels, len(codes))
    found = np.concatenate([greatest(x, p[at : at + _BATCH]) for at in range(0, len(p), _BATCH)])
    return {"intercept": found[:, 0], "coefficients": found[:, 1:]}


def greatest(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the coefficients of greatest likelihood, draws × terms: x is cells × terms, p draws × 2 × cells."""
    weight, second = p.sum(axis=1), p[:, 1]
    found = np.zeros((len(p), x.shape[1]))
    ridge = 1e-9 * np.eye(x.shape[1])
    for _ in range(_ROUNDS):
        chance = expit(found @ x.T)
        slope = (second - weight * chance) @ x
        curve = np.einsum("nc,ci,cj->nij", weight * chance * (1 - chance), x, x, optimize=True) + ridge
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        found += step * np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, 1e-12))
        if largest.max() < _NEAR:
            break
    return found


EXACT = Engine("exact", reads_all, draw)
NAIVE = Engine("naive", reads_all, draw_naive, automatic=False)

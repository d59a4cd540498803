"""Bayesian networks: conditional probabilities behind noisy tables whose margins hang together.

``gibbs`` runs Markov chains over the latent joint table (:mod:`~discreet.inference.models.network.joint_table`),
exact in the limit of long chains; ``naive`` takes the noisy tables for true ones.

A missing or undeclared label is a level of its own in the tables, and in the latent table too. A row of conditional
probabilities is then drawn over the labels that were seen, given that one was: missing values say nothing about them.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from discreet.artifact import Release
from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.missing_prior import LABEL_WORDS, MISSING_WEIGHT
from discreet.inference.models.network.chains import MOST_JOINT, table_draws
from discreet.inference.models.network.joint_table import NetworkDistribution, Structure, conditional_draws
from discreet.models.network import BayesianNetwork
from discreet.privacy import Noise


def _refusal(release: Release) -> str | None:
    joint = structure_of(release).n_joint
    if joint > MOST_JOINT:
        return f"its columns can be combined in {joint} ways, and chains are run over at most {MOST_JOINT}"
    return None


def structure_of(release: Release) -> Structure:
    """Return the graph with its levels: labels, and one more if missing values are counted."""
    model = release.model.require(BayesianNetwork, "this engine reads Bayesian networks")
    names = model.column_names
    more = release.domain.missing == "count"
    return Structure(
        tuple(column.n_labels + more for column in model.label_columns),
        tuple(tuple(names.index(parent.name) for parent in model.parents(name)) for name in names),
    )


def draw(question: Question, *, aware: bool = True) -> Answer:
    """Draw conditional probabilities of every column."""
    question.refuse_missing()
    release, rng = question.release, question.rng
    structure = structure_of(release)
    readings = np.array(release.totals.values, dtype=np.int64)
    alpha = _weights(release, structure, question.prior)
    if not aware:
        tables = np.broadcast_to(np.maximum(readings, 0), (question.size, len(readings)))
        draws = _named(release, structure, alpha, tables, rng)
        return Answer(draws, "noise ignored", (warning(release),))
    slope, curve = zip(*(_exponents(distribution) for distribution in release.noise), strict=True)
    distribution = NetworkDistribution(structure, alpha, readings, np.array(slope), np.array(curve))
    n_records = question.records if release.records is None else release.records
    tables = table_draws(distribution, n_records, question.size, question.chains, rng)
    missing = LABEL_WORDS if release.domain.missing == "count" else ""
    return Answer(_named(release, structure, alpha, tables, rng), independent=False, missing=missing)


def _weights(release: Release, structure: Structure, prior: dict[str, np.ndarray]) -> np.ndarray:
    """Return the Dirichlet parameter of every cell of the tables; that of a missing label expects few."""
    out = []
    for name, shape in zip(release.columns, structure.shapes, strict=True):
        alpha = prior[name] if release.domain.missing != "count" else np.append(prior[name], MISSING_WEIGHT)
        out.append(np.broadcast_to(alpha, shape).ravel())
    return np.concatenate(out)


def _named(
    release: Release, structure: Structure, alpha: np.ndarray, tables: np.ndarray, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Draw the conditional probabilities given tables; leave out the level of missing values, also among parents."""
    out = {}
    for name, part, shape in zip(
        release.columns,
        conditional_draws(structure, alpha, tables, rng),
        structure.shapes,
        strict=True,
    ):
        whole = part.reshape(len(part), *shape)
        if release.domain.missing == "count":
            whole = whole[(slice(None), *(slice(size - 1) for size in shape))]
            whole = whole / whole.sum(axis=-1, keepdims=True)
        out[name] = whole
    return out


def _exponents(distribution: Noise) -> tuple[float, float]:
    """Return (slope, curve) of a noise distribution: its log-mass falls by slope |k| + curve k^2."""
    if distribution.kind == "laplace":
        return 1 / distribution.width, 0.0
    return 0.0, 0.5 / distribution.width**2


GIBBS = Engine("gibbs", _refusal, draw)
NAIVE = Engine("naive", reads_all, partial(draw, aware=False), automatic=False)

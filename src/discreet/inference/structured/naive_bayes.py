r"""Naive Bayes from noisy tables: exact, and naive.

Class totals N_c are latent, and all D rows of a class share them. With L_cd(m) the likelihood of the noisy row d of
class c given that the class has m records (:mod:`discreet.inference.structured.rows`),

    p(N | y)  ~  DirichletMultinomial(N | a, u)  p(u)  prod_c prod_d L_cd(N_c),        u = sum_c N_c,

a convolution over the classes (:mod:`discreet.inference.structured.totals`). Draws go backwards: totals, then each
row's counts given its total, then the conjugate probabilities. They are exact and independent.

Under ``replace`` n is public. If nothing is missing by declaration, u = n. If missing values are counted, the records
without a class are one more group with features of its own, any number of them as likely as any other, and everything
adds up to n. Under ``add_remove`` u has the analyst's prior on records. A missing feature says nothing about its
probabilities (it is ignorable): any number of them is as likely as any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.errors import EngineError
from discreet.families.categorical import Categorical
from discreet.inference.counting.draws import dirichlet_columns
from discreet.inference.counting.weights import DEPTH, log_rising
from discreet.inference.engine import Answer, Question
from discreet.inference.naive import warning
from discreet.inference.records import RecordPrior
from discreet.inference.structured.rows import Reading, RowLaw, row_law
from discreet.inference.structured.totals import SharedTotals, Window
from discreet.models.base import Model
from discreet.models.naive_bayes import NaiveBayes

ENGINES = ("exact", "naive")
# How often windows are widened before giving up; each time they double.
_MOST_ROUNDS = 12


def refusal(release: Release, engine: str) -> str | None:
    """Return None: both engines read every release of naive Bayes."""
    return None


def read_prior(model: Model, prior: Any) -> dict[str, np.ndarray]:
    """Return the Dirichlet parameters of every column."""
    assert isinstance(model, NaiveBayes)
    return model.concentrations(prior)


def draw(question: Question, engine: str) -> Answer:
    """Draw class probabilities and every feature's probabilities by class."""
    return _naive(question) if engine == "naive" else _exact(question)


def _exact(question: Question) -> Answer:
    release, prior, rng = question.release, question.prior, question.rng
    model = release.model
    assert isinstance(model, NaiveBayes)
    law = class_law(release, prior, question.records)
    totals = law.totals.sample(question.size, rng)[:, : model.target.n_labels]
    draws = {model.target.name: dirichlet_columns((prior[model.target.name] + totals).T, rng).T}
    for d, feature in enumerate(model.features):
        rows = [
            dirichlet_columns((prior[feature.name] + law.rows[c][d].split(totals[:, c], rng)).T, rng).T
            for c in range(model.target.n_labels)
        ]
        draws[feature.name] = np.stack(rows, axis=1)
    return Answer(draws)


@dataclass(frozen=True)
class ClassLaw:
    """The posterior of the class totals, and each row's counts given them: ``rows[class][feature]``.

    The totals are those of the classes and, last, of the records without a class (or under ``add_remove`` a remainder
    that says nothing), if there are such.
    """

    totals: SharedTotals
    rows: list[list[RowLaw]]


def readings(release: Release, prior: dict[str, np.ndarray]) -> list[list[Reading]]:
    """Return the noisy rows of a release, ``[class][feature]``; the last class is "missing" if that is counted."""
    model = release.model
    assert isinstance(model, NaiveBayes)
    counted = release.domain.missing == "count"
    out: list[list[Reading]] = [[] for _ in range(model.target.n_labels + counted)]
    start = 0
    for table, feature in zip(model.tables(), model.features, strict=True):
        n_rows, width = table.shape(release.domain.missing)
        for c in range(n_rows):
            at = slice(start + c * width, start + (c + 1) * width)
            y = np.array(release.totals.values[at], dtype=np.int64)
            out[c].append(Reading(prior[feature.name], y, release.noise[at], counted))
        start += n_rows * width
    return out


def class_law(release: Release, prior: dict[str, np.ndarray], records: RecordPrior) -> ClassLaw:
    """Return the exact posterior of the class totals and of all tables."""
    model = release.model
    assert isinstance(model, NaiveBayes)
    rows = readings(release, prior)
    n, alpha = release.records, prior[model.target.name]
    if n is None:
        # records without a class are then any number, which nothing else depends on
        rows = rows[: model.target.n_labels]
    ceiling = n if n is not None else records.high
    centers, halves = _first_windows(rows, n, ceiling)
    for _ in range(_MOST_ROUNDS):
        spans = [_span(center, half, ceiling) for center, half in zip(centers, halves, strict=True)]
        laws = [
            [row_law(row, center, *span) for row in group]
            for group, center, span in zip(rows, centers, spans, strict=True)
        ]
        windows = [
            Window(low, np.sum([law.log_weights for law in group], axis=0))
            for group, (low, _) in zip(laws, spans, strict=True)
        ]
        totals = SharedTotals.of(*_tied(windows, alpha, n, records))
        heavy = totals.heavy()
        means = [
            window.low + float(marginal @ np.arange(marginal.size))
            for window, marginal in zip(windows, totals.marginals, strict=False)
        ]
        off = [
            (low > 0 and below) or ((ceiling is None or high < ceiling) and above)
            for (low, high), (below, above) in zip(spans, heavy, strict=False)
        ]
        if not any(off):
            return ClassLaw(totals, laws)
        centers = means
        halves = [2 * half if bad else half for half, bad in zip(halves, off, strict=True)]
    raise EngineError("the noisy counts contradict each other too strongly to enumerate.")


def _tied(
    windows: list[Window], alpha: np.ndarray, n: int | None, records: RecordPrior
) -> tuple[list[Window], int]:
    """Return the weights of all groups with the classes' Dirichlet-multinomial law in them, and what they add up to."""
    classes = [
        Window(w.low, w.log_weights + log_rising(float(a), w.low, w.high))
        for w, a in zip(windows, alpha, strict=False)
    ]
    mass, others = float(alpha.sum()), windows[len(alpha) :]
    if n is not None and not others:
        return classes, n
    if n is not None:
        # of n records, n - m have a class if m have none
        (w,) = others
        rest = log_rising(mass, n - w.high, n - w.low)[::-1]
        return [*classes, Window(w.low, w.log_weights - rest)], n
    # a private total u = whole - m, with the prior p(u)
    least = max(sum(w.low for w in classes), records.low)
    whole = sum(w.high for w in classes)
    whole = max(whole if records.high is None else min(whole, records.high), least)
    u = np.arange(least, whole + 1)
    weights = records.log_mass(u) - log_rising(mass, least, whole)
    return [*classes, Window(0, weights[::-1])], whole


def _first_windows(
    rows: list[list[Reading]], n: int | None, ceiling: int | None
) -> tuple[list[float], list[float]]:
    """Return where each group's total seems to be, and how far around it to look: what its rows say, averaged."""
    precision = np.array([sum(1 / max(row.variance, 1e-12) for row in group) for group in rows])
    pulls = [sum(row.total / max(row.variance, 1e-12) for row in group) for group in rows]
    most = np.inf if ceiling is None else float(ceiling)
    centers = np.clip(np.array(pulls) / precision, 0.0, most)
    if n is not None:
        for _ in range(50):
            short = n - centers.sum()
            free = (centers < most) if short > 0 else (centers > 0)
            if abs(short) < 0.5 or not free.any():
                break
            share = np.where(free, 1 / precision, 0.0)
            centers = np.clip(centers + short * share / share.sum(), 0.0, most)
    # all rows must move together, each through its least unwilling cell
    reach = [1 / sum(1 / max(max(law.reach(DEPTH) for law in r.noise), 1e-9) for r in g) for g in rows]
    halves = 10 / np.sqrt(precision) + np.array(reach) + 8
    return centers.tolist(), halves.tolist()


def _span(center: float, half: float, ceiling: int | None) -> tuple[int, int]:
    low, high = max(int(center - half), 0), int(center + half) + 1
    return (low, high) if ceiling is None else (min(low, ceiling), min(high, ceiling))


def _naive(question: Question) -> Answer:
    """Take projected noisy counts for the data (Foulds et al. 2016, equation 16, table by table)."""
    release, prior, rng, size = question.release, question.prior, question.rng, question.size
    model = release.model
    assert isinstance(model, NaiveBayes)
    n_classes, start = model.target.n_labels, 0
    values = np.array(release.totals.values, dtype=float)
    sums, draws = np.zeros(n_classes), {}
    for table, feature in zip(model.tables(), model.features, strict=True):
        shape = table.shape(release.domain.missing)
        noisy = values[start : start + shape[0] * shape[1]]
        start += noisy.size
        n = release.records
        whole = max(noisy.sum(), 0.0) if n is None else float(n)
        counts = Categorical(noisy.size).project(noisy, whole).reshape(shape)
        sums += counts[:n_classes].sum(axis=1) / len(model.features)
        alpha = prior[feature.name] + counts[:n_classes, : feature.n_labels]
        draws[feature.name] = np.stack(
            [dirichlet_columns(np.tile(row[:, None], size), rng).T for row in alpha], axis=1
        )
    of_class = np.tile((prior[model.target.name] + sums)[:, None], size)
    first = {model.target.name: dirichlet_columns(of_class, rng).T}
    return Answer({**first, **draws}, "noise ignored", (warning(release),))

r"""Naive Bayes from noisy tables: exact, and naive.

Class totals N_c are latent, and all D rows of a class share them. With L_cd(m) the likelihood of the noisy row d of
class c given that the class has m records (:mod:`discreet.inference.models.table_rows`),

    p(N | y)  ~  DirichletMultinomial(N | a, u)  p(u)  prod_c prod_d L_cd(N_c),        u = sum_c N_c,

a convolution over the classes (same module). Draws go backwards: totals, then each
row's counts given its total, then the conjugate probabilities. They are exact and independent.

Under ``replace`` n is public. If nothing is missing by declaration, u = n. If missing values are counted, the records
without a class are one more group with features of its own, few expected beforehand, and everything adds up to n. Under
``add_remove`` u has the analyst's prior on records. A missing feature says nothing about its probabilities (it is
ignorable): their number has a prior that expects few, class by class.

Features that are numbers have sums in place of counts (:mod:`discreet.inference.models.class_moments`): what they say
of how many records a class has is one more factor L_cd, and the engines ``grid`` and ``gibbs`` read the sums, with
what all others say of N_c for a prior on the number of records. That is no longer exact, and goes by other names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.domain.columns import Labels
from discreet.errors import OutOfReachError, UsageError
from discreet.families.categorical import Categorical
from discreet.inference.counts.weights import dirichlet_columns, log_rising
from discreet.inference.engine import Answer, Engine, Question, reads_all, too_wide
from discreet.inference.engines.naive import warning
from discreet.inference.missing_prior import BETA_WORDS, FEW_WORDS, missing_prior
from discreet.inference.models.class_moments import (
    OF_GIBBS,
    OF_GRID,
    BlockDistribution,
    BlockReading,
    draw_blocks,
    draw_moments,
    naive_block,
)
from discreet.inference.models.table_rows import (
    RowDistribution,
    RowReading,
    SharedTotals,
    TotalWeights,
)
from discreet.inference.record_prior import RecordPrior, capped
from discreet.models.moment_table import MomentTable
from discreet.models.naive_bayes import NaiveBayes, moment_names
from discreet.priors import NormalInverseGamma

# How often windows are widened before giving up; each time they double.
_MOST_ROUNDS = 12
# Numbers in all tables; each takes 8 bytes, and convolving them several times as much.
_MOST_NUMBERS = 1.5e7
# Weights below this share of a window's peak are nothing.
_LIGHT = np.exp(-32.0)


def _model(release: Release) -> NaiveBayes:
    model: Any = release.model  # the registry gives these engines to naive Bayes alone
    return model


def _has_numbers(release: Release) -> str | None:
    if not release.model.has_numbers:
        return None
    return f"{_model(release).numeric_columns[0].name!r:.60} is a number, whose sums are not read exactly"


def _has_labels_only(release: Release) -> str | None:
    return None if release.model.has_numbers else "naive_bayes has exact, naive for labels alone"


def _is_redacted(release: Release) -> str | None:
    if release.domain.outside == "redact" and release.model.has_numbers:
        return "values outside the bounds were redacted, and a distribution is needed to tell how many"
    return _has_labels_only(release)


def _exact(question: Question) -> Answer:
    draws, _ = _draw(question, lambda *_: Answer({}))
    return Answer(draws, missing=_said_of_missing(question.release))


def _moments(question: Question) -> Answer:
    """Draw, with nothing assumed of numbers but their bounds."""
    _, given = question.prior
    if given:
        raise UsageError(
            f"column {next(iter(given))!r:.60} needs no prior: nothing is assumed of a number but its bounds.",
            hint="leave it out; engine='gibbs' takes the column to be normal, and this prior",
        )
    draws, _ = _draw(question, lambda blocks, others, _: draw_moments(blocks, others, question))
    return Answer(draws, OF_GRID, missing=_said_of_missing(question.release))


def _gibbs(question: Question) -> Answer:
    """Draw, with numbers taken to be normal in each class."""
    priors = _of_numbers(question)
    draws, said = _draw(
        question, lambda blocks, others, name: draw_blocks(blocks, others, priors[name], question)
    )
    missing = _said_of_missing(question.release)
    return Answer(draws, OF_GIBBS, said, independent=False, missing=missing)


def _of_numbers(question: Question) -> dict[str, NormalInverseGamma]:
    return {**_model(question.release).suggested_prior(), **question.prior[1]}


_Reader = Callable[[Sequence[BlockDistribution], Sequence[TotalWeights], str], Answer]


def _draw(question: Question, of_number: _Reader) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Draw class probabilities and, by class, the probabilities or the mean and sd of every feature; with warnings."""
    question.refuse_missing()
    release, rng = question.release, question.rng
    prior, _ = question.prior
    model = _model(release)
    distribution = class_distribution(release, prior, question.records)
    whole = np.full(question.size, distribution.totals.whole, dtype=np.int64)
    totals = distribution.totals.panel.split(whole, rng)[:, : model.target.n_labels]
    draws = {model.target.name: dirichlet_columns((prior[model.target.name] + totals).T, rng).T}
    warnings: dict[str, None] = {}
    for d, feature in enumerate(model.features):
        mine = [distribution.rows[c][d] for c in range(model.target.n_labels)]
        if isinstance(feature, Labels):
            rows = [
                dirichlet_columns((prior[feature.name] + row.split(totals[:, c], rng)).T, rng).T
                for c, row in enumerate(mine)
                if isinstance(row, RowDistribution)
            ]
            draws[feature.name] = np.stack(rows, axis=1)
            continue
        blocks = [row for row in mine if isinstance(row, BlockDistribution)]
        others = [distribution.without(c, d) for c in range(len(blocks))]
        found = of_number(blocks, others, feature.name)
        draws |= dict(zip(moment_names(feature), found.draws.values(), strict=True))
        warnings |= dict.fromkeys(found.warnings)
    return draws, tuple(warnings)


def _said_of_missing(release: Release) -> str:
    if release.domain.missing != "count":
        return ""
    features = f"features within a class: {BETA_WORDS}"
    return features if release.records is None else f"{FEW_WORDS}; {features}"


@dataclass(frozen=True)
class ClassDistribution:
    """The posterior of the class totals, and each row's counts given them: ``rows[class][feature]``.

    The totals are those of the classes and, last, of the records without a class (or under ``add_remove`` a remainder
    that says nothing), if there are such. ``tied`` makes :attr:`totals` of the groups' weights.
    """

    totals: SharedTotals
    rows: list[list[RowDistribution | BlockDistribution]]
    tied: Callable[[list[TotalWeights]], SharedTotals]

    def without(self, group: int, feature: int) -> TotalWeights:
        """Return the log weights of a class total from everything but one of its rows, where the posterior lies."""
        rows = [
            [row for d, row in enumerate(rows) if (c, d) != (group, feature)]
            for c, rows in enumerate(self.rows)
        ]
        windows = [_window(kept, given[0]) for kept, given in zip(rows, self.rows, strict=True)]
        with np.errstate(divide="ignore"):
            return TotalWeights(windows[group].low, np.log(self.tied(windows).marginals[group]))


def _window(
    rows: Sequence[RowDistribution | BlockDistribution], like: RowDistribution | BlockDistribution
) -> TotalWeights:
    """Return the weights of a group's total: those of its rows together, on the window that ``like`` has."""
    return TotalWeights(
        like.low, np.sum([np.zeros(like.log_weights.size), *(row.log_weights for row in rows)], axis=0)
    )


def readings(release: Release, prior: dict[str, np.ndarray]) -> list[list[RowReading | BlockReading]]:
    """Return the noisy rows of a release, ``[class][feature]``; the last class is "missing" if that is counted."""
    model = _model(release)
    counted = release.domain.missing == "count"
    out: list[list[RowReading | BlockReading]] = [[] for _ in range(model.target.n_labels + counted)]
    start = 0
    for table, feature in zip(model.tables(), model.features, strict=True):
        n_rows, width = table.shape(release.domain.missing)
        for c in range(n_rows):
            at = slice(start + c * width, start + (c + 1) * width)
            if isinstance(table, MomentTable):
                out[c].append(BlockReading(release, table, at))
                continue
            y = np.array(release.totals.values[at], dtype=np.int64)
            out[c].append(RowReading(prior[feature.name], y, release.noise[at], counted))
        start += n_rows * width
    return out


def class_distribution(
    release: Release, prior: dict[str, np.ndarray], records: RecordPrior
) -> ClassDistribution:
    """Return the exact posterior of the class totals and of all tables."""
    model = _model(release)
    rows = readings(release, prior)
    n, alpha = release.records, prior[model.target.name]
    if n is None:
        # records without a class are then any number, which nothing else depends on
        rows = rows[: model.target.n_labels]
    ceiling = n if n is not None else records.high

    def tied(windows: list[TotalWeights]) -> SharedTotals:
        return SharedTotals.of(*_tied(windows, alpha, n, records))

    centers, halves = _first_windows(rows, n, ceiling)
    for _ in range(_MOST_ROUNDS):
        spans = [_span(center, half, ceiling) for center, half in zip(centers, halves, strict=True)]
        tables = [sum(row.n_tables for row in group) for group in rows]
        if sum(k * (high - low + 1) for k, (low, high) in zip(tables, spans, strict=True)) > _MOST_NUMBERS:
            raise too_wide()
        distributions = [
            [row.distribution(center, *span) for row in group]
            for group, center, span in zip(rows, centers, spans, strict=True)
        ]
        windows = [_window(group, group[0]) for group in distributions]
        totals = tied(windows)
        # a window that ends, below or above, where there is still weight
        off = [
            (low > 0 and weight[0] > _LIGHT * weight.max())
            or ((ceiling is None or high < ceiling) and weight[-1] > _LIGHT * weight.max())
            for (low, high), weight in zip(spans, totals.marginals, strict=False)
        ]
        if not any(off):
            return ClassDistribution(totals, distributions, tied)
        centers = [
            window.low + float(marginal @ np.arange(marginal.size))
            for window, marginal in zip(windows, totals.marginals, strict=False)
        ]
        halves = [2 * half if bad else half for half, bad in zip(halves, off, strict=True)]
    raise OutOfReachError("the noisy counts contradict each other too strongly to enumerate.")


def _tied(
    windows: list[TotalWeights], alpha: np.ndarray, n: int | None, records: RecordPrior
) -> tuple[list[TotalWeights], int]:
    """Return the weights of all groups times the classes' Dirichlet-multinomial mass, and what they add up to."""
    classes = [
        TotalWeights(w.low, w.log_weights + log_rising(float(a), w.low, w.high))
        for w, a in zip(windows, alpha, strict=False)
    ]
    mass, others = float(alpha.sum()), windows[len(alpha) :]
    if n is not None and not others:
        return classes, n
    if n is not None:
        # of n records, n - m have a class if m have none
        (w,) = others
        rest = log_rising(mass, n - w.high, n - w.low)[::-1]
        expected = missing_prior(None, n).log_missing(np.arange(w.low, w.high + 1))
        return [*classes, TotalWeights(w.low, w.log_weights - rest + expected)], n
    # a private total u = whole - m, with the prior p(u)
    least = max(sum(w.low for w in classes), records.low)
    whole = max(capped(records, sum(w.high for w in classes)), least)
    u = np.arange(least, whole + 1)
    weights = records.log_mass(u) - log_rising(mass, least, whole)
    return [*classes, TotalWeights(0, weights[::-1])], whole


def _first_windows(
    rows: list[list[RowReading | BlockReading]], n: int | None, ceiling: int | None
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
    reach = [1 / sum(1 / max(row.reach, 1e-9) for row in group) for group in rows]
    halves = 10 / np.sqrt(precision) + np.array(reach) + 8
    return centers.tolist(), halves.tolist()


def _span(center: float, half: float, ceiling: int | None) -> tuple[int, int]:
    low, high = max(int(center - half), 0), int(center + half) + 1
    return (low, high) if ceiling is None else (min(low, ceiling), min(high, ceiling))


def _naive(question: Question) -> Answer:
    """Take projected noisy counts for the data (Foulds et al. 2016, equation 16, table by table)."""
    release, rng, size = question.release, question.rng, question.size
    prior, of_numbers = question.prior[0], _of_numbers(question)
    model = _model(release)
    n_classes, start = model.target.n_labels, 0
    values = np.array(release.totals.values, dtype=float)
    sums, draws = np.zeros(n_classes), {}
    approximation, said = "noise ignored", warning(release)
    blocks = readings(release, prior)
    for d, (table, feature) in enumerate(zip(model.tables(), model.features, strict=True)):
        shape = table.shape(release.domain.missing)
        noisy = values[start : start + shape[0] * shape[1]]
        start += noisy.size
        if not isinstance(feature, Labels):
            mine = [row for group in blocks[:n_classes] if isinstance(row := group[d], BlockReading)]
            counts, found = naive_block(mine, of_numbers[feature.name], question)
            sums += counts / len(model.features)
            draws |= dict(zip(moment_names(feature), found.draws.values(), strict=True))
            approximation, (said,) = found.approximation, found.warnings
            continue
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
    return Answer({**first, **draws}, approximation, (said,))


EXACT = Engine("exact", _has_numbers, _exact)
GRID = Engine("grid", _is_redacted, _moments)
GIBBS = Engine("gibbs", _has_labels_only, _gibbs)
NAIVE = Engine("naive", reads_all, _naive, automatic=False)

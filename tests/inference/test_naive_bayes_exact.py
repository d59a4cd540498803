"""Naive Bayes against full enumeration: every data set of a few records, without any factorization."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product
from math import comb, factorial, log
from typing import Any

import numpy as np
import pytest
from scipy.special import beta, betaln, gammaln
from scipy.stats import chi2

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.models.naive_bayes import ClassDistribution, class_distribution, readings
from discreet.inference.models.table_rows import RowDistribution, RowReading
from discreet.inference.record_prior import RecordPrior
from discreet.models import NaiveBayes
from tests.inference.count_probabilities import row_share, totals_probability

MODEL = NaiveBayes({"c": ["n", "y"]}, {"f": ["0", "1"], "g": ["a", "b", "z"]}, split={"g": 2})
PRIOR: dict[str, Any] = {"c": [0.7, 1.6], "f": [0.4, 2.0], "g": [1.0, 0.3, 2.5]}
# what is known to 1e-10: a distribution, not a sample
CLOSE = 1e-10


def log_polya(alpha: np.ndarray, counts: np.ndarray) -> float:
    """Log-probability of one sequence of labels with these counts, the probabilities integrated out."""
    a, n = alpha.sum(), counts.sum()
    return float(gammaln(a) - gammaln(a + n) + (gammaln(alpha + counts) - gammaln(alpha)).sum())


def log_missing(n: int, k: int) -> float:
    """Few of n records are expected to miss a feature, and any k of them are as likely as any other k."""
    return float(betaln(0.15 + k, 2 + n - k) - betaln(0.15, 2))


def log_classless(n: int, k: int) -> float:
    """The same for the class: none, a few, or a share with density 3 (1 - s)^2."""
    few = 0.45 if k == 0 else 0.15 / k / sum(1 / j for j in range(1, n + 1))
    share = 0.4 * 3 * beta(1 + k, 3 + n - k) * comb(n, k)
    return float(np.log(few + share) - log(comb(n, k)))


def log_prior(rows: tuple[tuple[int, int, int], ...], missing: bool) -> float:
    """Log-probability of a sequence of records; the code after the last label means missing."""
    sizes = (2, 2, 3)
    alphas = [np.array(PRIOR[name], dtype=float) for name in "cfg"]
    classes = np.array([row[0] for row in rows], dtype=int)
    out = log_classless(len(rows), int((classes == 2).sum())) if missing else 0.0
    out += log_polya(alphas[0], np.bincount(classes, minlength=3)[:2])
    for c in range(2 + missing):
        mine = [row for row in rows if row[0] == c]
        for d in (1, 2):
            counts = np.bincount(np.array([row[d] for row in mine], dtype=int), minlength=sizes[d] + 1)
            out += log_polya(alphas[d], counts[: sizes[d]])
            out += log_missing(len(mine), int(counts[-1])) if missing else 0.0
    return out


def tables(rows: tuple[tuple[int, int, int], ...], missing: bool) -> tuple[int, ...]:
    found = Counter((d, row[0], row[d]) for row in rows for d in (1, 2))
    levels = (2 + missing, 2 + missing, 3 + missing)
    return tuple(found[d, c, j] for d in (1, 2) for c in range(levels[0]) for j in range(levels[d]))


@cache
def weighed(sizes: tuple[int, ...], missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """All tables that data sets of these sizes have, and their prior probability: a sum over all data sets."""
    outcomes = list(product(range(2 + missing), range(2 + missing), range(3 + missing)))
    weights: dict[tuple[int, ...], float] = defaultdict(float)
    for n in sizes:
        for rows in combinations_with_replacement(outcomes, n):
            orders = factorial(n) / np.prod([factorial(times) for times in Counter(rows).values()])
            weights[tables(rows, missing)] += orders * np.exp(log_prior(rows, missing))
    return np.array(list(weights)), np.array(list(weights.values()))


def enumerated(release: dc.Release, sizes: tuple[int, ...], missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """The posterior of all tables together."""
    found, weights = weighed(sizes, missing)
    noise = [
        distribution.log_mass(y - t)
        for distribution, y, t in zip(release.noise, release.totals.values, found.T, strict=True)
    ]
    weights = weights * np.exp(np.sum(noise, axis=0))
    return found, weights / weights.sum()


def row_of(distribution: ClassDistribution, group: int, feature: int) -> RowDistribution:
    row = distribution.rows[group][feature]
    assert isinstance(row, RowDistribution)
    return row


def by_engine(
    release: dc.Release, found: np.ndarray, missing: bool, distribution: ClassDistribution
) -> np.ndarray:
    """The same probabilities from the engine's factors: class totals, then each row given its total."""
    groups = 2 + missing
    cut = groups * (2 + missing)
    blocks = [part.reshape(len(found), groups, -1) for part in (found[:, :cut], found[:, cut:])]
    totals = blocks[0].sum(axis=2)
    assert (blocks[1].sum(axis=2) == totals).all()
    vector = totals
    if release.records is None:
        vector = np.column_stack([totals, distribution.totals.whole - totals.sum(axis=1)])
    probability = totals_probability(distribution.totals, vector)
    for c, d in product(range(groups), (0, 1)):
        for m in np.unique(totals[:, c]):
            mine = totals[:, c] == m
            probability[mine] *= row_share(
                row_of(distribution, c, d), blocks[d][mine, c, : (2, 3)[d]], int(m)
            )
    return probability


NOISES = {"laplace": dc.mechanisms.Laplace(6), "gaussian": dc.mechanisms.Gaussian(rho=3)}


def released(rng: np.random.Generator, mechanism: Any, n: int = 4, **how: Any) -> dc.Release:
    data = {"c": ["n", "y", "y", "y"], "f": ["0", "1", "1", "0"], "g": ["a", "z", "z", "b"]}
    cut = {name: values[:n] for name, values in data.items()}
    return release_with(lambda noise: int(noise.sample(1, rng)[0]), cut, MODEL, mechanism, **how)


def check(
    release: dc.Release, sizes: tuple[int, ...], missing: bool, records: RecordPrior
) -> ClassDistribution:
    distribution = class_distribution(release, MODEL.concentrations(PRIOR), records)
    found, truth = enumerated(release, sizes, missing)
    mine = by_engine(release, found, missing, distribution)
    np.testing.assert_allclose(mine, truth, atol=CLOSE, rtol=0)
    assert mine.sum() == pytest.approx(1, abs=CLOSE)
    return distribution


@pytest.mark.parametrize("noise", NOISES)
def test_all_tables_of_four_records(noise: str, rng: np.random.Generator) -> None:
    """Unknown class totals that two tables share, a public number of records, nothing missing by declaration."""
    release = released(rng, NOISES[noise], missing="none")
    distribution = check(release, (4,), False, RecordPrior())
    found, truth = enumerated(release, (4,), False)
    marginal = np.bincount(found[:, :2].sum(axis=1), truth, minlength=5)
    np.testing.assert_allclose(distribution.totals.marginals[0], marginal, atol=CLOSE, rtol=0)


@pytest.mark.parametrize("noise", NOISES)
def test_missing_classes_and_features(noise: str, rng: np.random.Generator) -> None:
    """Records without a class are a group of their own; a missing feature says nothing."""
    check(released(rng, NOISES[noise], n=3), (3,), True, RecordPrior())


def test_a_private_number_of_records(rng: np.random.Generator) -> None:
    """Added or removed: the grand total is latent as well, with a prior from 0 to 4."""
    release = released(rng, dc.mechanisms.Laplace(4), missing="none", neighbors="add_remove")
    check(release, (0, 1, 2, 3, 4), False, RecordPrior(0, 4))


def test_a_wrong_scale_is_noticed(rng: np.random.Generator) -> None:
    """The control: the same reading, believed to have 20% more noise, has another posterior by far more than 1e-10."""
    release = released(rng, dc.mechanisms.Laplace(6), missing="none")
    record = release.noise_record
    wider = replace(record, scale=tuple(scale * 6 / 5 for scale in record.scale))
    distribution = class_distribution(
        replace(release, mechanism=wider), MODEL.concentrations(PRIOR), RecordPrior()
    )
    found, truth = enumerated(release, (4,), False)
    assert np.abs(by_engine(release, found, False, distribution) - truth).max() > 1e-3


def direct(row: RowReading, n: int) -> np.ndarray:
    """The log-likelihood of a row for totals 0, ..., n, by sums of positive terms, without tilts, panels or Fourier."""
    t = np.arange(n + 1)

    def rising(a: float) -> np.ndarray:
        return gammaln(a + t) - gammaln(t + 1) - gammaln(a)

    out = np.ones(1)
    for a, y, distribution in zip(row.alpha, row.y, row.noise, strict=False):
        shape = distribution.log_mass(y - t)
        out = np.convolve(out, np.exp(rising(a) + shape - shape.max()))[: n + 1]
    out = out / np.exp(rising(row.alpha.sum()))
    if row.missing:
        gone = np.exp(rising(0.15) + row.noise[-1].log_mass(row.y[-1] - t))
        out = np.convolve(out * np.exp(rising(2.0)), gone)[: n + 1] / np.exp(rising(2.15))
    with np.errstate(divide="ignore"):
        return np.log(out)


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.mechanisms.Laplace(0.02),
        dc.mechanisms.Laplace(0.3),
        dc.mechanisms.Laplace(5),
        dc.mechanisms.Gaussian(rho=0.01),
    ],
    ids=str,
)
@pytest.mark.parametrize("missing", ["count", "none"])
def test_class_totals_at_every_width_of_noise(missing: Any, mechanism: Any, rng: np.random.Generator) -> None:
    """From noise that drowns everything to noise of a few records: windows, panels and tilts change nothing."""
    n, k = 150, 8
    model = NaiveBayes({"c": 2}, {"f": k, "g": 2})
    codes = rng.integers([2, k, 2], size=(n, 3)).astype(str)
    data = dict(zip("cfg", codes.T, strict=True))
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]), data, model, mechanism, missing=missing
    )
    prior = model.concentrations(0.7)
    distribution = class_distribution(release, prior, RecordPrior())
    logs = [
        sum(direct(row, n) for row in group if isinstance(row, RowReading))
        for group in readings(release, prior)
    ]
    # all pairs of totals, and the records without a class that they leave
    i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    left = n - i - j
    u, possible = i + j, (left == 0) if missing == "none" else (left >= 0)
    polya = [gammaln(0.7 + m) - gammaln(m + 1) for m in (i, j)]
    log_p = logs[0][i] + logs[1][j] + sum(polya) - (gammaln(1.4 + u) - gammaln(u + 1))  # pyright: ignore[reportIndexIssue]
    if missing == "count":
        lacking = [log_classless(n, k) + log(comb(n, k)) for k in range(n + 1)]
        log_p = log_p + logs[2][np.maximum(left, 0)] + np.array(lacking)[np.maximum(left, 0)]  # pyright: ignore[reportIndexIssue]
    p = np.where(possible, np.exp(log_p - log_p[possible].max()), 0.0)
    truth = p.sum(axis=1) / p.sum()
    mine = distribution.totals.marginals[0]
    low = distribution.totals.panel.cells[distribution.totals.panel.order.index(0)].low
    np.testing.assert_allclose(mine, truth[low : low + mine.size], atol=CLOSE, rtol=0)


def test_draws_follow_the_distribution(rng: np.random.Generator) -> None:
    """Draws of totals and tables against their exact probabilities: chi-square at 1e-4; a shifted one is rejected."""
    release = released(rng, dc.mechanisms.Laplace(6), missing="none")
    prior = MODEL.concentrations(PRIOR)
    distribution = class_distribution(release, prior, RecordPrior())
    n_draws = 20_000
    whole = np.full(n_draws, distribution.totals.whole)
    totals = distribution.totals.panel.split(whole, rng)
    tables_drawn = [row_of(distribution, c, d).split(totals[:, c], rng) for d in (0, 1) for c in (0, 1)]
    drawn = np.concatenate(tables_drawn, axis=1)
    found, truth = enumerated(release, (4,), False)
    seen = Counter(map(tuple, drawn.tolist()))
    observed = np.array([seen[tuple(one)] for one in found.tolist()])
    assert observed.sum() == n_draws

    def p_value(expected: np.ndarray) -> float:
        # rare tables are pooled, so that the chi-square distribution is near
        common = expected * n_draws >= 10
        o = np.append(observed[common], observed[~common].sum())
        e = np.append(expected[common], expected[~common].sum()) * n_draws
        return float(chi2.sf(((o - e) ** 2 / e).sum(), len(o) - 1))

    assert p_value(truth) > 1e-4
    wrong = np.sqrt(truth) / np.sqrt(truth).sum()
    assert p_value(wrong) < 1e-4

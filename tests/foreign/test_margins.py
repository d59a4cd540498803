"""Several noisy margins of one table, and labels whose noise hangs together: against enumeration with SciPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

import discreet as dc
from discreet.inference.engine import Question
from discreet.inference.models.contingency_engine import readings_of
from discreet.inference.record_prior import RecordPrior
from discreet.models import ContingencyTable
from discreet.models.contingency import cells_named

COLUMNS = {"sex": ["f", "m"], "smoker": ["no", "yes"], "ward": ["a", "b"]}
MODEL = ContingencyTable(COLUMNS)
AB, BC = np.array([[2.2, 1.1], [3.0, 0.0]]), np.array([[2.0, 3.3], [1.7, 0.0]])
HOW: dict[str, dict[str, Any]] = {
    "laplace": {"noise": "laplace", "scale": {"sex|smoker": 1.5, "smoker|ward": 2}},
    "discrete, clipped": {"noise": "discrete_gaussian", "scale": 1.5, "clipped": 0, "rounded": False},
    "rounded and clipped": {"noise": "gaussian", "scale": 1.5, "clipped": 0, "rounded": True},
}


def published(how: str, n: int | None = 8) -> dc.Release:
    whole = how != "laplace"
    values = {name: np.rint(y).tolist() if whole else y.tolist() for name, y in margins().items()}
    return dc.foreign(MODEL, records=n, values=values, **HOW[how])


def margins() -> dict[str, np.ndarray]:
    return {"sex|smoker": AB, "smoker|ward": BC}


def weights(tables: np.ndarray, how: str) -> np.ndarray:
    """Return the posterior weights of 2 × 2 × 2 tables under a flat prior, from SciPy alone."""
    # a flat Dirichlet prior makes all tables of n records alike
    out = np.ones(len(tables))
    every = np.arange(-60, 61)
    pmf = np.exp(-0.5 * (every / 1.5) ** 2)
    discrete = stats.rv_discrete(values=(every, pmf / pmf.sum()))
    for name, axis in (("sex|smoker", 3), ("smoker|ward", 1)):
        counts = tables.reshape(-1, 2, 2, 2).sum(axis=axis).reshape(-1, 4)
        for y, total in zip(margins()[name].ravel(), counts.T, strict=True):
            if how == "laplace":
                out *= stats.laplace.pdf(y - total, scale=1.5 if axis == 3 else 2)
            elif how == "discrete, clipped":
                k = np.rint(y) - total
                out *= discrete.cdf(k) if np.rint(y) == 0 else discrete.pmf(k)
            else:
                k, law = np.rint(y) - total, stats.norm(scale=1.5)
                out *= law.cdf(k + 0.5) - (0 if np.rint(y) == 0 else law.cdf(k - 0.5))
    return out / out.sum()


def every_table(n: int, cells: int) -> np.ndarray:
    return np.array([c for c in product(range(n + 1), repeat=cells) if sum(c) == n])


@pytest.mark.parametrize("how", HOW)
def test_two_margins_agree_with_enumeration(how: str) -> None:
    release = published(how, n=4)
    question = Question(release, MODEL.read_prior(None, None), RecordPrior(), 10, 1, np.random.default_rng(0))
    readings = readings_of(question)
    tables = every_table(4, 8)
    assert {tuple(row) for row in readings.every_table()} == {tuple(row) for row in tables}
    log_weight = readings.log_weight(tables)
    found = np.exp(log_weight - log_weight.max())
    np.testing.assert_allclose(found / found.sum(), weights(tables, how), rtol=1e-9, atol=1e-15)


def test_chains_agree_with_enumeration(rng: np.random.Generator) -> None:
    release = published("rounded and clipped", n=6)
    exact = dc.infer(release, draws=4000, rng=rng)
    assert exact.diagnostics.engine == "exact"
    chains = dc.infer(release, engine="gibbs", draws=1600, rng=rng)
    readings = readings_of(
        Question(release, MODEL.read_prior(None, None), RecordPrior(), 10, 1, np.random.default_rng(0))
    )
    tables = readings.every_table()
    weight = weights(tables, "rounded and clipped")
    mean = (weight[:, None] * tables).sum(axis=0)
    sd = np.sqrt((weight[:, None] * (tables - mean) ** 2).sum(axis=0))
    for posterior, effective in ((exact, 4000), (chains, 400)):
        assert posterior.table is not None
        found = posterior.table.draws["count"].reshape(-1, 8).mean(axis=0)
        assert (np.abs(found - mean) < 4.5 * sd / np.sqrt(effective)).all()
    summary = chains.summary()
    assert "warning: the chains" not in str(summary)


def test_margins_agree_in_every_draw_and_total(rng: np.random.Generator) -> None:
    """The number of records is not known: every draw is one table, so its margins have one total."""
    posterior = dc.infer(published("laplace", n=None), draws=400, rng=rng)
    table, p = posterior.table, posterior.draws["p"]
    assert table is not None
    assert p.shape == (400, 2, 2, 2)
    np.testing.assert_allclose(p.sum(axis=(1, 2, 3)), 1)
    assert (table.draws["count"].sum(axis=(1, 2, 3)) == table.draws["usable"]).all()
    assert len(np.unique(table.draws["usable"])) > 3


def test_files_hold_them_and_names_are_those_of_cells() -> None:
    release = published("laplace")
    assert release.totals.names[:2] == ("sex=f|smoker=no", "sex=f|smoker=yes")
    assert dc.Release.from_json(release.to_json()) == release
    cells = dict.fromkeys(release.totals.names, 3) | {"count": 13}
    assert dc.foreign(MODEL, values=cells, noise="laplace", scale=2).records is None
    # the order of columns in a name is free, and labels may hold the signs between them
    strange = ContingencyTable({"x": ["a=b", "c|y=d"], "y": ["d", "e"]})
    assert cells_named(strange, ["y=e|x=c|y=d", "count"]).tolist() == [
        [False, False, False, True],
        [True] * 4,
    ]


@pytest.mark.parametrize(
    ("values", "more", "said"),
    [
        ({"sex": [100, 200], "ward": [10, 20]}, {}, "no margins of one table: .* adds up to 300 and"),
        ({"sex": [100, 200]}, {"records": 20}, "no margins of one table: records adds up to 20"),
        ({"sex": [10, 20], "region": [10, 20]}, {}, "no margin of this table: it has no column 'region'"),
        ({"sex": [10, 20], "region=north": 10}, {}, "no column 'region'"),
        ({"sex": [10, 20], "sexx=f": 10}, {}, "no column 'sexx'"),
        ({"sex=f": 10, "sex=x": 20}, {}, "has no label 'x'"),
        ({"sex=f|sex=m": 10}, {}, "names a column twice"),
        ({"sex=f": 10}, {}, "no margin is published whole"),
        ({"sex": [10, 20, 30]}, {}, "has 2 cells, got 3"),
        ({"sex": [10, 20], "count": 31}, {"records": 30}, "says nothing"),
        ({}, {}, "no published number"),
    ],
)
def test_bad_margins_are_refused_in_one_line(values: Any, more: Any, said: str) -> None:
    with pytest.raises(dc.errors.UsageError, match=said) as caught:
        dc.foreign(MODEL, values=values, noise="laplace", scale=2, **more)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("margin", "said"),
    [
        ([["sex", "region"]], "has no column 'region'"),
        (["sex"], "lists of column names"),
        ([], "at least one"),
        ([["sex", "ward"], ["ward", "sex"]], "must be different"),
        ([["sex", "sex"]], "names a column twice"),
    ],
)
def test_bad_declarations_are_refused_in_one_line(margin: Any, said: str) -> None:
    with pytest.raises(dc.errors.UsageError, match=said):
        ContingencyTable(COLUMNS, margin)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_a_curator_releases_margins(neighbors: Any, rng: np.random.Generator) -> None:
    rows = {name: [labels[i % 2] for i in range(90)] for name, labels in COLUMNS.items()}
    model = ContingencyTable(COLUMNS, [["sex", "smoker"], ["ward"]])
    layout = model.layout(model.read_domain(None, "clip", "none"), neighbors)
    assert layout.l1_sensitivity == (4 if neighbors == "replace" else 2)
    release = dc.release(rows, model, epsilon=20, neighbors=neighbors, missing="none")
    posterior = dc.infer(release, draws=400, rng=rng)
    # smokers are men here, and the margins say so: all 45 of them
    assert posterior.table is not None
    pairs = posterior.table.draws["count"].sum(axis=3)
    np.testing.assert_allclose(pairs.mean(axis=0), [[45, 0], [0, 45]], atol=1.5)


COVARIANCE = np.array([[9.0, 5.0, 0.0], [5.0, 4.0, 1.0], [0.0, 1.0, 5.0]])


@pytest.mark.parametrize("known", [True, False])
def test_labels_whose_noise_hangs_together(known: bool, rng: np.random.Generator) -> None:
    y = np.array([3.2, 4.0, 6.1])
    release = dc.foreign(
        dc.Categorical(["a", "b", "c"]),
        values=y.tolist(),
        noise="gaussian",
        covariance=COVARIANCE,
        records=12 if known else None,
    )
    assert dc.Release.from_json(release.to_json()) == release
    posterior = dc.infer(release, draws=4000, rng=rng, records=None if known else (0, 40))
    assert posterior.diagnostics.engine == "gibbs"
    tables = (
        every_table(12, 3) if known else np.array([c for c in product(range(26), repeat=3) if sum(c) <= 40])
    )
    n = tables.sum(axis=1)
    weight = np.exp(gammaln(n + 1.0) - gammaln(n + 3.0)) * stats.multivariate_normal.pdf(
        tables,
        y,
        COVARIANCE,  # pyright: ignore[reportArgumentType]
    )
    weight /= weight.sum()
    mean = weight @ tables
    sd = np.sqrt(weight @ (tables - mean) ** 2)
    assert posterior.table is not None
    found = posterior.table.draws["count"]
    assert (np.abs(found.mean(axis=0) - mean) < 4.5 * sd / np.sqrt(1000)).all()
    np.testing.assert_allclose(found.std(axis=0), sd, rtol=0.1)
    # taken for independent, the numbers would say something else of the difference of two labels
    alone = np.exp(-0.5 * ((tables - y) ** 2 / np.diag(COVARIANCE)).sum(axis=1))
    alone *= np.exp(gammaln(n + 1.0) - gammaln(n + 3.0))
    away = tables[:, 0] - tables[:, 1]
    right, wrong = (np.sqrt(one @ (away - one @ away) ** 2) for one in (weight, alone / alone.sum()))
    assert (found[:, 0] - found[:, 1]).std() == pytest.approx(right, rel=0.1)
    assert abs(wrong / right - 1) > 0.2


def test_noise_that_hangs_together_is_read_by_nothing_else() -> None:
    labels = dc.foreign(
        dc.Categorical(["a", "b"]), values=[3, 4], noise="gaussian", covariance=[[2, 1], [1, 2]]
    )
    with pytest.raises(dc.errors.UsageError, match="hangs together"):
        labels.likelihood()
    with pytest.raises(dc.DiscreetError, match="hangs together"):
        dc.infer(labels, engine="exact")
    with pytest.raises(dc.errors.UsageError, match="bernoulli needs independent noise"):
        dc.foreign(
            dc.Bernoulli(),
            values={"yes": 3, "no": 2},
            noise="gaussian",
            covariance=[[2, 1], [1, 2]],
            records=9,
        )

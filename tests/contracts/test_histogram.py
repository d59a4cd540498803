"""Histogram: exact counts whatever the source, a proved sensitivity, and a posterior of the whole distribution."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.cli import run
from discreet.curator.publish import release_with
from discreet.data.summaries.bin_counts import count_histogram
from tests.contracts.test_sources import EDGES, HALVES
from tests.data.builders import NUMERIC

LAPLACE, GAUSSIAN = dc.mechanisms.Laplace(1), dc.mechanisms.Gaussian(rho="0.5")
RELATIONS, POLICIES = ("replace", "add_remove"), ("count", "none")
INF, NAN = np.inf, np.nan


def silent(distribution) -> int:
    return 0


def run_line(command: str) -> int:
    return run(command.split())


def counted(x, model, bounds=None, neighbors="replace", missing="count") -> list[int]:
    domain = model.read_domain(bounds, "clip", missing)
    return list(count_histogram(x, model, domain, model.layout(domain, neighbors)).values)


# -- what is released ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "bounds"),
    [
        (dc.Histogram(bins=64), (-3, 100)),
        (dc.Histogram(bins=7), ("0.1", "1/3")),
        (dc.Histogram(edges=[-3, 0, "0.1", "1/3", 48.5, 1e22]), None),
        (dc.Histogram(bins=100, branching=3), (-1, 1)),
    ],
    ids=["64", "inexact", "edges", "three to a group"],
)
def test_every_source_gives_the_same_integers(model, bounds, tmp_path) -> None:
    x = [*EDGES, *HALVES]
    domain = model.read_domain(bounds, "clip", "count")
    edges = [float(edge) for edge in model.edges_within(domain.bounds)]
    layout = model.layout(domain, "replace")
    # one value at a time, by comparison: above the lower edge and not above the upper one, or beyond an end
    values = [float(one) for one in x if one is not None and one == one]
    bins = [0] * model.bins
    for one in values:
        bins[next((i for i, top in enumerate(edges[1:]) if one <= top), model.bins - 1)] += 1
    groups = [
        sum(bins[first : first + step])
        for step in [model.branching**k for k in range(1, model.n_levels)]
        for first in range(0, model.bins, step)
    ]
    truth = (*bins, *groups, len(values))
    for name, build in NUMERIC.items():
        summary = count_histogram(build({"x": x}, tmp_path), model, domain, layout, ["x"])
        assert summary.values == truth, name
        assert summary.n_records == len(x), name


def test_values_on_edges_belong_to_the_bin_below() -> None:
    model = dc.Histogram(edges=[0, "0.1", "0.3", 1])
    assert counted([0.0, -5.0, 0.1, 0.3, np.nextafter(0.3, 1), 1.0, 7.0, INF, -INF, NAN], model) == [
        4,
        1,
        4,
        9,
    ]
    # a decimal in the rows meets the same decimal among the edges, whatever either is in binary
    tenths = dc.Histogram(bins=10)
    assert counted([i / 10 for i in range(11)], tenths, (0, 1))[:10] == [2, *[1] * 9]


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("missing", POLICIES)
@pytest.mark.parametrize(
    ("bins", "branching"), [(2, None), (9, None), (17, None), (64, None), (20, 2), (30, 3)]
)
def test_the_sensitivity_is_that_of_the_worst_neighbors(bins, branching, neighbors, missing) -> None:
    model = dc.Histogram(bins, branching=branching)
    domain = model.read_domain((0, bins), "clip", missing)
    layout = model.layout(domain, neighbors)
    assert set(layout.grid) == {Fraction(1)}
    records = [
        np.array(counted([value], model, (0, bins), neighbors, missing))
        for value in [*(i + 0.5 for i in range(bins)), NAN]
    ]
    nothing = [np.zeros(len(layout.names), dtype=int)]
    rows, others = np.array(records), np.array(records if neighbors == "replace" else nothing)
    change = np.abs(rows[:, None] - others) / np.array([float(w) for w in layout.width])
    assert change.sum(axis=-1).max() == pytest.approx(float(layout.l1_sensitivity), rel=1e-12)
    assert (change**2).sum(axis=-1).max() == pytest.approx(float(layout.l2_sensitivity**2), rel=1e-9)
    # and what one record adds lies in the ranges by which a file's values are judged
    ranges = model.coordinate_ranges(domain, neighbors)
    assert len(ranges) == len(layout.names)
    assert all(
        low <= v <= high for one in records for v, (low, high) in zip(one.tolist(), ranges, strict=True)
    )


def test_levels_follow_from_the_number_of_bins() -> None:
    assert [dc.Histogram(bins).branching for bins in (2, 16, 17, 64, 256, 257, 100_000)] == [
        2,
        16,
        5,
        8,
        16,
        7,
        10,
    ]
    assert [dc.Histogram(bins).n_levels for bins in (2, 16, 17, 64, 256, 257, 100_000)] == [
        1,
        1,
        2,
        2,
        2,
        3,
        5,
    ]
    for levels in range(1, 18):
        width = dc.Histogram(2**levels - (levels == 17) * 40_000, branching=2).usable_width
        assert 1 <= width**2 * levels < Fraction(25, 4)


# -- what is inferred ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("neighbors", "missing", "mechanism"), list(product(RELATIONS, POLICIES, (LAPLACE, GAUSSIAN)))
)
def test_from_rows_to_a_posterior(neighbors, missing, mechanism, rng) -> None:
    x = np.where(rng.random(4000) < 0.2, 0.0, rng.gamma(3, 8, 4000))
    made = release_with(
        silent, x, dc.Histogram(bins=32), mechanism, bounds=(0, 100), neighbors=neighbors, missing=missing
    )
    posterior = dc.infer(dc.Release.from_json(made.to_json()), rng=rng, draws=400)
    assert posterior.draws["p"].shape == (400, 32)
    np.testing.assert_allclose(posterior.draws["p"].sum(axis=1), 1)
    how = posterior.diagnostics
    assert (how.engine, how.approximation, how.independent) == ("tree", "nothing assumed but the bins", True)
    # exact counts in: what is out is within a few standard errors of their shares
    edges = np.linspace(0, 100, 33)
    share = np.bincount(np.minimum(np.searchsorted(edges[1:-1], x), 31), minlength=32) / x.size
    spread = np.sqrt(share * (1 - share) / x.size) + 5 / x.size
    assert (np.abs(posterior.mean()["p"] - share) < 4 * spread).all()
    found = posterior.quantiles([0.05, 0.25, 0.5, 0.9])
    for q, truth in zip(found, np.quantile(x, [0.05, 0.25, 0.5, 0.9]), strict=True):
        assert q.low <= truth <= q.high
        assert {q.low, q.high} <= set(edges)
    band = posterior.band()
    below = np.cumsum(share)[:-1]
    assert ((band.low <= below) & (below <= band.high)).all()
    at = posterior.cdf([-1, 0, 25, 26, 100])
    assert (at.low[0], at.high[0], at.low[1], at.low[-1], at.high[-1]) == (0, 0, 0, 1, 1)
    # many records lie at the lowest edge: the first bin may be all of them or none
    assert at.high[1] > 0.2
    truth = [(x <= 25).mean(), (x <= 26).mean()]
    assert (at.low[2:4] <= truth).all()
    assert (at.high[2:4] >= truth).all()
    assert at.high[3] - at.low[3] > at.high[2] - at.low[2]
    assert posterior.table is not None
    assert posterior.table.draws["count"].shape == (400, 32)
    assert (posterior.table.draws["usable"] == posterior.table.draws["count"].sum(axis=1)).all()


def test_summary_names_and_picture(tmp_path: Path, rng) -> None:
    made = release_with(silent, rng.uniform(0, 10, 500), dc.Histogram(edges=[0, 2.5, 5, 10]), LAPLACE)
    posterior = dc.infer(made, rng=rng)
    summary = posterior.summary()
    assert [row.name for row in summary] == ["p[0 to 2.5]", "p[2.5 to 5]", "p[5 to 10]"]
    assert [q.level for q in summary.quantiles] == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert "median bin" in str(summary)
    assert json.loads(json.dumps(summary.to_dict()))["quantiles"][2]["level"] == 0.5
    posterior.plot(tmp_path / "one.png")
    posterior.plot(tmp_path / "two.png", parameters=["p"])
    assert (tmp_path / "one.png").stat().st_size > 10_000
    naive = dc.infer(made, engine="naive", rng=rng)
    naive.plot(tmp_path / "naive.svg")
    assert "over-confident" in naive.diagnostics.warnings[0]
    with pytest.raises(dc.DiscreetError, match="only the posterior of a histogram"):
        dc.infer(dc.release([1, 0], dc.Bernoulli(), epsilon=1)).quantiles([0.5])


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(
    "x", [[NAN] * 50, [7.0] * 50, [0.0] * 50, [10.0] * 50, [3.0], [NAN], [-INF, INF]], ids=str
)
def test_poor_columns_have_a_proper_posterior(x, neighbors, rng) -> None:
    made = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        x,
        dc.Histogram(),
        LAPLACE,
        bounds=(0, 10),
        neighbors=neighbors,
    )
    posterior = dc.infer(made, rng=rng, draws=400)
    p = posterior.draws["p"]
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    (median,) = posterior.quantiles(0.5)
    if len(x) == 1 or np.isnan(x).all():
        # hardly anything is known
        assert median.high - median.low > 5
    posterior.summary()


# -- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": 1}, "bins must be"),
        ({"bins": 0}, "bins must be"),
        ({"bins": 100_001}, "bins must be"),
        ({"bins": 2.5}, "bins must be"),
        ({"bins": True}, "bins must be"),
        ({"bins": 4, "edges": [0, 1, 2]}, "bins or edges, not both"),
        ({"edges": [0, 1]}, "edges must be 3 to 100,001 numbers"),
        ({"edges": []}, "edges must be 3 to 100,001 numbers"),
        ({"edges": range(100_002)}, "edges must be 3 to 100,001 numbers"),
        ({"edges": [0, 2, 1]}, "edges must increase, got 2 before 1"),
        ({"edges": [0, 1, 1]}, "edges must increase, got 1 before 1"),
        ({"edges": [0, NAN, 1]}, "an edge must be"),
        ({"edges": [0, 1, INF]}, "an edge must be"),
        ({"edges": [0, 1, "1.00000000000000000001"]}, "distinct as floating-point"),
        ({"edges": [0, 1, "1e101"]}, "at most 1e100"),
        ({"edges": "0|1|2"}, "edges must be a list"),
        ({"edges": 5}, "edges must be a list"),
        ({"bins": 8, "branching": 1}, "branching must be"),
        ({"bins": 8, "branching": 9}, "branching must be"),
    ],
)
def test_bad_bins_are_refused_in_one_line(options, words) -> None:
    with pytest.raises(dc.errors.UsageError, match=words) as caught:
        dc.Histogram(**options)
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (dc.Histogram(), {}, "needs bounds"),
        (dc.Histogram(), {"bounds": (5, 5)}, "must be less than the upper bound"),
        (dc.Histogram(1000), {"bounds": (1, "1.0000000000001")}, "too narrow for floating-point"),
        (dc.Histogram(edges=[0, 1, 2]), {"bounds": (0, 3)}, "the edges of a histogram are its bounds"),
        (dc.Histogram(), {"bounds": (0, 5), "outside": "redact"}, "as clipped to its bounds"),
        (
            dc.Histogram(),
            {"bounds": dc.mechanisms.PrivateQuantiles("0.1", "0.9", within=(0, 9), epsilon=1)},
            "declared: they cannot be bought",
        ),
    ],
)
def test_bad_declarations_are_refused_in_one_line(model, options, words) -> None:
    with pytest.raises(dc.errors.UsageError, match=words) as caught:
        dc.release([1.0, 2.0], model, epsilon=1, **options)
    assert "\n" not in caught.value.message


def test_what_the_analyst_may_not_ask() -> None:
    made = dc.release([1.0, 2.0], dc.Histogram(bins=4), bounds=(0, 4), epsilon=1)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"prior": "dirichlet:1,1,1,1"}, "histogram needs no prior"),
        ({"engine": "exact"}, "histogram has tree, naive"),
        ({"draws": 40_000_000}, "draws"),
    ]
    for options, words in refused:
        with pytest.raises(dc.DiscreetError, match=words):
            dc.infer(made, **options)
    posterior = dc.infer(made, draws=40)
    for ask in (
        lambda: posterior.quantiles([0, 0.5]),
        lambda: posterior.quantiles([]),
        lambda: posterior.quantiles("half"),
        lambda: posterior.cdf(NAN),
        lambda: posterior.cdf("all"),
        lambda: posterior.band(1.5),
        lambda: posterior.plot(prob=2),
    ):
        with pytest.raises(dc.errors.UsageError):
            ask()


@pytest.mark.parametrize(
    "parameters",
    [
        {"bins": 4},
        {"bins": 5, "branching": 4},
        {"bins": 4, "branching": 2},
        {"bins": "4", "branching": 4},
        {"bins": True, "branching": 2},
        {"bins": 10**9, "branching": 4},
        {"bins": 4, "branching": 4, "edges": ["0", "1", "2", "3", "4"]},
        {"edges": ["0", "1", "2", "3", "5"], "branching": 4},
        {"edges": [0, 1, 2, 3, 4], "branching": 4},
        {"edges": ["0", "2", "1", "3", "4"], "branching": 4},
        {"edges": {"0": 1}, "branching": 4},
        {"edges": None, "branching": 4},
    ],
    ids=str,
)
def test_files_that_do_not_hang_together_are_refused(parameters) -> None:
    body = json.loads(dc.release([1.0, 2.0], dc.Histogram(4), bounds=(0, 4), epsilon=1).to_json())
    assert body["model"]["parameters"] == {"bins": 4, "branching": 4}
    body["model"]["parameters"] = parameters
    body["sha256"] = checksum(body)
    with pytest.raises(dc.errors.ReleaseFileError):
        dc.Release.from_json(json.dumps(body))


def test_the_command_line(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("age\n" + "\n".join(map(str, range(20, 70))) + "\n")
    ask = "release data.csv --model histogram -c age --bounds=0,100 --epsilon 1 -o"
    assert run_line(f"{ask} one.json --bins 20") == 0
    assert dc.Release.load("one.json").model == dc.Histogram(20)
    assert run_line(f"{ask} two.json") == 0
    assert dc.Release.load("two.json").model == dc.Histogram(64)
    edges = "release data.csv --model histogram:edges=0|17|64|100 -c age --epsilon 1 -o three.json"
    assert run_line(edges) == 0
    assert dc.Release.load("three.json").model == dc.Histogram(edges=[0, 17, 64, 100])
    capsys.readouterr()
    assert run_line("infer one.json --seed 1 --plot out.png") == 0
    said = capsys.readouterr().out
    assert "median bin" in said
    assert "tree engine, nothing assumed but the bins" in said
    assert run_line("infer three.json --json --seed 1") == 0
    content = json.loads(capsys.readouterr().out)
    assert [q["level"] for q in content["quantiles"]] == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert len(content["parameters"]) == 3
    assert run_line(f"{ask} no.json --bins 1") == 2
    assert run_line(f"{ask} no.json --bins many") == 2
    assert run_line(f"{ask.replace('histogram', 'mean')} no.json --bins 8") == 2
    assert "mean does not take 'bins'" in capsys.readouterr().err
    assert run_line("check data.csv -m histogram -c age --bounds=0,60") == 0

"""``dc.foreign``: what it takes, what its files and statements say, and what it refuses in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.artifact.codec import checksum

YES: dict[str, Any] = {"values": {"yes": 123.4}, "noise": "laplace", "scale": 12.5}
SUM: dict[str, Any] = {"values": {"sum": 120, "count": 30}, "noise": "laplace", "scale": 2, "bounds": (0, 10)}

GOOD: list[tuple[Any, dict[str, Any]]] = [
    (
        dc.Bernoulli(),
        YES | {"records": 300, "claims": dc.PureDP(1), "source": "OpenDP 0.16", "column": "smoker"},
    ),
    (dc.Bernoulli(), {"values": {"yes": 12, "no": 20}, "noise": "geometric", "scale": 2, "clipped": (0, 30)}),
    (dc.Categorical(["a", "b"]), {"values": [3, 4.5], "noise": "gaussian", "scale": 2, "rounded": 0.5}),
    (
        dc.Categorical(["a", "b"]),
        {"values": [3, 4], "noise": "laplace", "scale": {"a": 2, "b": 3}, "truncated": 9},
    ),
    (
        dc.Histogram(2, branching=2),
        {"values": [3, 4], "noise": "discrete_gaussian", "scale": 2, "bounds": (0, 1)},
    ),
    (dc.Mean(), SUM),
    (dc.Mean(), {**SUM, "scale": None, "noise": "gaussian", "covariance": [[9, 1], [1, 2]]}),
]


@pytest.mark.parametrize(("model", "how"), GOOD)
def test_files_hold_it_and_everything_reads_it(model: Any, how: dict[str, Any]) -> None:
    release = dc.foreign(model, **how)
    assert dc.Release.from_json(release.to_json()) == release
    assert release.foreign
    posterior = dc.infer(release, draws=200, rng=0)
    assert posterior.n_draws == 200
    assert "published" in release.statement()
    assert "Discreet added no noise" in release.statement()


def test_a_page_reports_it(tmp_path: Path) -> None:
    release = dc.foreign(dc.Bernoulli(), **YES, records=300, source="OpenDP 0.16")
    page = dc.report(release, tmp_path / "page.html")
    assert "“OpenDP 0.16” published" in page.read_text()


def test_the_statement_says_whose_guarantee_it_is() -> None:
    claimed = dc.foreign(dc.Bernoulli(), **YES, records=300, claims=dc.PureDP(1, neighbors="add_remove"))
    said = claimed.statement()
    assert "The guarantee claimed for them, by whoever published them, is pure differential" in said
    # that a record enters or leaves is one step, that it is replaced two
    assert "epsilon = 2" in said
    assert "claimed pure" in repr(claimed)
    assert "Nobody stated a privacy guarantee" in dc.foreign(dc.Bernoulli(), **YES, records=300).statement()


def altered(release: dc.Release, change: Any) -> str:
    body = json.loads(release.to_json())
    change(body)
    body["sha256"] = checksum(body)
    return json.dumps(body)


def _value(body: Any) -> None:
    body["statistics"]["values"][0] = "7"


def _scale(body: Any) -> None:
    body["mechanism"]["numbers"][0]["scale"] = "-1"


def _law(body: Any) -> None:
    body["mechanism"]["numbers"][0]["noise"] = "cauchy"


def _name(body: Any) -> None:
    body["mechanism"]["numbers"][0]["of"] = "maybe"


@pytest.mark.parametrize("change", [_value, _scale, _law, _name])
def test_a_forged_file_is_refused(change: Any) -> None:
    release = dc.foreign(dc.Bernoulli(), **YES, records=300)
    with pytest.raises(dc.errors.ReleaseFileError, match="hang together"):
        dc.Release.from_json(altered(release, change))


def bad(**more: Any) -> dict[str, Any]:
    return {**YES, "records": 300, **more}


BAD: list[tuple[Any, dict[str, Any], str]] = [
    (dc.Bernoulli(), bad(noise="laplac"), "did you mean 'laplace'"),
    (dc.Bernoulli(), bad(noise="cauchy"), "noise must be one of"),
    (dc.Bernoulli(), bad(noise=3), "noise must be one of"),
    (dc.Bernoulli(), bad(scale=-1), "a noise scale must be positive"),
    (dc.Bernoulli(), bad(scale=0), "a noise scale must be positive"),
    (dc.Bernoulli(), bad(scale="wide"), "scale must be a finite number"),
    (dc.Bernoulli(), bad(scale=None), "give scale, or covariance"),
    (dc.Bernoulli(), bad(scale={"no": 3}), "which is not among the values"),
    (dc.Bernoulli(), bad(scale={"yse": 3}), "did you mean 'yes'"),
    (dc.Bernoulli(), bad(values={"yse": 3}), "did you mean 'yes'"),
    (dc.Bernoulli(), bad(values={}), "no published number"),
    (dc.Bernoulli(), bad(values=[3]), "name them"),
    (dc.Bernoulli(), bad(values={"yes": float("nan")}), "finite number"),
    (dc.Bernoulli(), bad(values={"yes": 1e20}), "at most 1e15"),
    (dc.Bernoulli(), bad(records=-1), "records must be"),
    (dc.Bernoulli(), bad(records=None), "nothing was published of 'no'"),
    (dc.Bernoulli(), bad(truncated=-1), "truncated must be positive"),
    (dc.Bernoulli(), bad(rounded=-1), "rounded must be positive"),
    (dc.Bernoulli(), bad(clipped=(3, 2)), "reversed"),
    (dc.Bernoulli(), bad(clipped=(1, 2, 3)), "pair of limits"),
    (dc.Bernoulli(), bad(claims="private"), "claims must be a guarantee"),
    (
        dc.Bernoulli(),
        {**YES, "values": {"yes": 1, "no": 2}, "claims": dc.PureDP(1)},
        "number of records is known",
    ),
    (dc.Bernoulli(), bad(scale=None, covariance=[[1]], noise="gaussian"), "needs independent noise"),
    (dc.Categorical(["a", "b"]), bad(values=[1, 2, 3]), "one for each of 2"),
    (dc.Categorical(["a", "b"]), {**YES, "values": {"a": 1}}, "nothing was published of 'b'"),
    (dc.Histogram(40), bad(values=[1] * 40, bounds=(0, 1)), "branching=40"),
    (dc.Mean(), {**SUM, "values": {"mean": 4}}, "ratio of noisy numbers"),
    (dc.Mean(), {**SUM, "values": {"sum": 4}}, "without a noisy count"),
    (dc.Mean(), {**SUM, "values": {"count": 4}}, "needs a noisy sum"),
    (dc.Mean(), {**SUM, "values": {"sum": 0, "count": 3}, "clipped": 0}, "says too little of a mean"),
    (dc.Mean(), {**SUM, "bounds": None}, "bounds"),
    (
        dc.Mean(),
        {**SUM, "scale": None, "noise": "gaussian", "covariance": [[1, 2], [2, 1]]},
        "positive definite",
    ),
    (dc.Mean(), {**SUM, "scale": None, "noise": "laplace", "covariance": [[2, 1], [1, 2]]}, "Gaussian noise"),
    (dc.Mean(), {**SUM, "scale": None, "noise": "gaussian", "covariance": [[2, 1]]}, "2 × 2"),
    (dc.Poisson(), {**SUM}, "not read from numbers that others published"),
    ("bernoulli", bad(), "model must be a model"),
]


@pytest.mark.parametrize(("model", "how", "said"), BAD)
def test_bad_input_is_refused_in_one_line(model: Any, how: dict[str, Any], said: str) -> None:
    with pytest.raises(dc.errors.UsageError, match=said) as caught:
        dc.foreign(model, **how)
    assert "\n" not in caught.value.message


def test_engines_that_know_discreets_noise_alone_say_so() -> None:
    release = dc.foreign(dc.Bernoulli(), **YES, records=300)
    with pytest.raises(dc.errors.UsageError, match="discreet's own noise alone"):
        dc.infer(release, engine="gibbs")
    with pytest.raises(dc.errors.UsageError, match="added by somebody else"):
        dc.coarsen(release, epsilon=0.1)
    with pytest.raises(dc.errors.UsageError, match="do not add up"):
        dc.compose(release.guarantee, dc.PureDP(1))

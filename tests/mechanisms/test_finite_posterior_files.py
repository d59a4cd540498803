"""Posterior samples on finite sets: refusals before a row is read, forged files, the noise-aware reading, commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.cli import run
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource

ON = dc.mechanisms.FinitePosterior
SCHEMA = json.loads((files("discreet.artifact") / "release.schema.json").read_text(encoding="utf-8"))


def released(rng: np.random.Generator, n: int = 40, **how: Any) -> dc.Release:
    mechanism = ON(["0.1", "0.3", "0.8"], ["0.5", "0.3", "0.2"], epsilon=1, **how)
    data = (np.arange(n) % 4 == 0).astype(int)
    return sample_with(RandomSource.seeded(rng), data, dc.Bernoulli(), mechanism, missing="none")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: ON([], epsilon=1), "from 2 to 4,096, got none"),
        (lambda: ON([0.5], epsilon=1), "from 2 to 4,096, got 1"),
        (lambda: ON(np.linspace(0.1, 0.9, 5000), epsilon=1), "got more"),
        (lambda: ON(0.5, epsilon=1), "a list of parameters"),
        (lambda: ON([0.1, 0.2], [0.5, 0.4], epsilon=1), r"add up to 1, got a sum of 0\.9"),
        (lambda: ON([0.1, 0.2], [1.5, -0.5], epsilon=1), "weights must be positive"),
        (lambda: ON([0.1, 0.2], [1, 0], epsilon=1), "weights must be positive"),
        (lambda: ON([0.1, 0.2], [1], epsilon=1), "one weight for each parameter"),
        (lambda: ON([0.1, 0.2], "flat", epsilon=1), "weights must be numbers"),
        (lambda: ON([0.1, 0.2]), "needs epsilon"),
        (lambda: ON([0.1, 0.2], epsilon=0), "epsilon"),
        (lambda: ON([0.1, 0.2], epsilon=1, samples=0), "samples"),
        (lambda: ON([0.1, 1.2], epsilon=1), r"strictly inside \(0, 1\), got 1.2"),
        (lambda: ON([0.0, 0.5], epsilon=1), r"strictly inside \(0, 1\), got 0 "),
        (lambda: ON([0.5, "x"], epsilon=1), "finite number"),
        (lambda: ON([0.5, float("nan")], epsilon=1), "finite number"),
        (lambda: ON([0.5, 0.5], epsilon=1), "given once"),
        (lambda: ON([{"q": 0.5}, {"q": 0.1}], epsilon=1), "by name: p"),
        (lambda: ON([0.1, 0.2], epsilon=1, largest_change="0.1"), "fewer than two parameters"),
        (lambda: ON([0.1, 0.2], epsilon="1e-12"), "epsilon is too small"),
    ],
)
def test_refused_before_a_row_is_read(given: Callable[[], Any], message: str) -> None:
    """The table is not there: whoever reads it first says so."""
    with pytest.raises(UsageError, match=message) as caught:
        dc.release("no-such-table.csv", dc.Bernoulli(), column="x", mechanism=given(), missing="none")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("family", "parameters", "how", "message"),
    [
        (dc.Categorical(3), [[0.5, 0.5], [0.3, 0.7]], {}, "takes 3 numbers in each parameter, got 2"),
        (dc.Categorical(2), [[0.5, 0.6], [0.3, 0.7]], {}, "positive and sum to 1"),
        (dc.Categorical(2), [[0.0, 1.0], [0.3, 0.7]], {}, "positive and sum to 1"),
        (dc.Poisson(), [1, 2], {}, "bounds"),
        (dc.Poisson(), [1, -2], {"bounds": (0, 9)}, "strictly inside"),
        (dc.Normal(), [1, 2], {"bounds": (0, 9)}, "by name: mean and variance"),
        (dc.Normal(), [{"mean": 1, "variance": v} for v in (0, 2)], {"bounds": (0, 9)}, "strictly inside"),
        (
            dc.Normal(),
            [{"mean": 1, "variance": v} for v in ("1e-300", 2)],
            {"bounds": (0, 9)},
            "not bounded at parameter number 1 of 2",
        ),
        (
            dc.MultivariateNormal(2),
            [{"normal_mean": [0, 0], "covariance": [[1, 2], [2, 1]]}] * 2,
            {"bounds": [(0, 1)] * 2, "columns": ["x", "y"]},
            "positive definite",
        ),
        (dc.NegativeBinomial(), [1, 2], {"bounds": (0, 9)}, "samples a family"),
        (dc.Mean(), [1, 2], {"bounds": (0, 9)}, "samples a family"),
        (dc.families.Predicate(), [0.1, 0.2], {}, "has no likelihood"),
    ],
)
def test_families_refused(family: Any, parameters: Any, how: dict[str, Any], message: str) -> None:
    how = {"column": "x", **how} if "columns" not in how else how
    with pytest.raises(UsageError, match=message) as caught:
        dc.release("no-such-table.csv", family, mechanism=ON(parameters, epsilon=1), missing="none", **how)
    assert "\n" not in caught.value.message


def parameter(name: str, value: str) -> Callable[[Any], None]:
    return lambda b: b["mechanism"]["parameters"].__setitem__(name, value)


def path(name: str, values: list[str]) -> Callable[[Any], None]:
    return lambda b: b["mechanism"]["paths"].__setitem__(name, values)


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "lower temperature": parameter("temperature", "2"),
    "temperature below one": parameter("temperature", "1/2"),
    "smaller range": parameter("range", "1"),
    "an unknown parameter": parameter("cells", "4"),
    "stronger guarantee": lambda b: b["guarantees"][0].update(epsilon="1/4"),
    "another kind of guarantee": lambda b: b.update(
        guarantees=[{"kind": "zero_concentrated", "rho": "1", "for": "samples"}]
    ),
    "a wider set": path("p", ["1/100", "3/10", "4/5"]),
    "a value at the edge": path("p", ["0", "3/10", "4/5"]),
    "a value outside": path("p", ["-1", "3/10", "4/5"]),
    "fewer values": path("p", ["3/10", "4/5"]),
    "a value twice": path("p", ["3/10", "3/10", "4/5"]),
    "no set": lambda b: b["mechanism"].pop("paths"),
    "another path": path("q", ["1/2"]),
    "weights that do not add up": path("prior weights", ["1/2", "1/2", "1/2"]),
    "a negative weight": path("prior weights", ["1", "1/2", "-1/2"]),
    "one value": lambda b: b["mechanism"].update(paths={"p": ["4/5"], "prior weights": ["1"]}),
    "another prior": lambda b: b["mechanism"].update(prior="weights on 4 declared values"),
    "no prior": lambda b: b["mechanism"].update(prior=None),
    "a support": lambda b: b["mechanism"].update(support=[["1/10", "9/10"]]),
    "a draw outside": lambda b: b["samples"]["draws"].update(p=[0.5]),
    "a vector": lambda b: b["samples"]["draws"].update(p=[[0.1]]),
    "another arithmetic": lambda b: b["samples"].update(arithmetic="floating"),
    "private count": lambda b: b.update(neighbors="add_remove", records=None),
    "a mechanism on a support": lambda b: b["mechanism"].update(name="posterior_sample"),
}


def test_the_file_and_forgeries(rng: np.random.Generator) -> None:
    release = released(rng)
    text = release.to_json()
    jsonschema.validate(json.loads(text), SCHEMA)
    assert dc.Release.from_json(text) == release
    said = release.statement()
    assert "prior weights on 3 declared values" in said
    assert "Only the 3 declared values can be drawn: 0.1, 0.3, 0.8." in said
    for forge in FORGERIES.values():
        body = json.loads(text)
        forge(body)
        body["sha256"] = checksum(body)
        with pytest.raises(ReleaseFileError) as caught:
            dc.Release.from_json(json.dumps(body))
        assert "\n" not in caught.value.message


def posterior_mean(release: dc.Release, n: int) -> float:
    """The mean of p under a flat prior, by summing over the number of yes."""
    record = release.sampling_record
    points = record.scored_points(release.model, release.domain)  # pyright: ignore[reportArgumentType]
    assert points is not None
    assert release.samples is not None
    yes, p = np.arange(n + 1), (np.arange(4000) + 0.5) / 4000
    slopes, levels = points.tables
    log_weight = points.log_base + ((2 * yes[:, None] - n) * slopes[:, 0] + n * levels) / float(
        record.parameters["temperature"]
    )
    log_q = log_weight - np.logaddexp.reduce(log_weight, axis=1)[:, None]
    chosen = [list(points.points["p"]).index(v) for v in release.samples.draws["p"]]
    log_seen = log_q[:, chosen].sum(axis=1)
    likelihood = binom.pmf(yes, n, p[:, None]) @ np.exp(log_seen - log_seen.max())
    return float(p @ likelihood / likelihood.sum())


@pytest.mark.parametrize(("n", "samples"), [(12, 1), (500, 3)])
def test_a_sample_is_read_by_what_it_says_of_the_records(
    n: int, samples: int, rng: np.random.Generator
) -> None:
    release = released(rng, n, samples=samples)
    posterior = dc.infer(release, draws=4000, rng=1)
    assert posterior.diagnostics.engine == "exact"
    wanted = posterior_mean(release, n)
    error = posterior.sd()["p"] / 4000**0.5
    # a false alarm in 1e-5 tests: 4.5 standard errors
    assert abs(posterior.mean()["p"] - wanted) < 4.5 * error
    # the control: the draws as they are, which say one of three values
    assert abs(dc.infer(release, engine="naive").mean()["p"] - wanted) > 4.5 * error


def test_other_samples_are_handed_on(rng: np.random.Generator) -> None:
    mechanism = ON([[0.2, 0.8], [0.5, 0.5]], epsilon=1)
    release = sample_with(
        RandomSource.seeded(rng), ["a", "b"] * 9, dc.Categorical(["a", "b"]), mechanism, missing="none"
    )
    assert "not noise-aware" in dc.infer(release).diagnostics.warnings[0]


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("x,y,z\n" + "0,2.5,a\n1,1.5,b\n" * 20)

    def release(*how: str) -> int:
        fixed = ("--mechanism", "finite-posterior", "--epsilon", "1", "-o", "out.json", "--force")
        return run(["release", "data.csv", *fixed, *how])

    values = ("-m", "bernoulli", "-c", "x", "--impute", "0", "--parameter", "0.1,0.3,0.8")
    assert release(*values, "--prior", "0.5,0.3,0.2", "--samples", "2") == 0
    assert [float(w) for w in dc.Release.load("out.json").sampling_record.paths["prior weights"]] == [
        0.5,
        0.3,
        0.2,
    ]
    assert run(["infer", "out.json", "--seed", "1"]) == 0
    assert "exact" in capsys.readouterr().out
    assert release(*values, "--prior", "sensitivity", "--with", "largest_change=1.5") == 0
    assert list(map(float, dc.Release.load("out.json").sampling_record.paths["p"])) == [0.3, 0.8]
    two = ("--parameter", "mean=1,variance=1", "--parameter", "mean=2, variance=0.5")
    assert release("-m", "normal", "-c", "y", "--bounds", "0,5", "--impute", "1", *two) == 0
    labels = ("--parameter", "0.5,0.5", "--parameter", "0.2,0.8")
    assert release("-m", "categorical:labels=a|b", "-c", "z", "--impute", "a", *labels) == 0
    capsys.readouterr()
    for how, message in (
        (values[:-2], "needs --parameter"),
        ((*values, "--prior", "0.5,0.5"), "one weight for each parameter"),
        ((*values, "--support=0.1,0.2"), "takes no --support"),
        (("-m", "normal", "-c", "y", "--bounds", "0,5", "--parameter", "1,2"), "cannot read --parameter"),
    ):
        assert release(*how) == 2
        assert message in capsys.readouterr().err

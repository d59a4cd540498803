"""A least probability for each label: the range by search, the worst tables by quadrature, file and command line."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betainc, betaln

import discreet as dc
from discreet.cli import run
from discreet.curator.publish import sample_with
from discreet.errors import UsageError
from discreet.mechanisms.base import RandomSource
from discreet.privacy.costs.likelihood_range import labels_range, simplex_range

LEAST = (Fraction(1, 50), Fraction(1, 5), Fraction(1, 10))
BY_LABEL = {"a": "0.02", "b": "0.2", "c": "0.1"}
OPS = dc.mechanisms.PosteriorSampling


def corners(least: Any) -> np.ndarray:
    """The corners of the truncated simplex, where log-ratios of labels are extreme."""
    low = np.array([float(v) for v in least])
    return low + np.eye(low.size) * (1 - low.sum())


def test_the_range_is_the_largest_over_all_pairs_of_labels() -> None:
    log_p = np.log(corners(LEAST))
    brute = max(np.ptp(log_p[:, i] - log_p[:, j]) for i, j in permutations(range(3), 2))
    assert brute <= float(labels_range(LEAST)) <= brute * (1 + 1e-9)
    assert labels_range((Fraction(1, 20),) * 4) == simplex_range(4, Fraction(1, 20))


def log_simplex(alpha: np.ndarray) -> float:
    """Log of the integral of a Dirichlet's kernel over the truncated simplex of three labels."""
    (a1, a2, a3), (l1, l2, l3) = alpha, map(float, LEAST)

    def inner(x: float) -> float:
        r = 1 - x
        share = betainc(a2, a3, 1 - l3 / r) - betainc(a2, a3, l2 / r)
        return x ** (a1 - 1) * r ** (a2 + a3 - 1) * float(np.exp(betaln(a2, a3))) * share

    return float(np.log(quad(inner, l1, 1 - l2 - l3, epsabs=0, epsrel=1e-9, limit=200)[0]))


def worst_loss(n: int, temperature: float) -> float:
    """The largest log-ratio of the densities of a draw between neighboring tables, over those at the simplex's ends."""
    at = np.log(corners(LEAST))
    worst = 0.0
    for i, j in permutations(range(3), 2):
        # all records of one label, or split between two: where the posterior leans on an edge
        for k in range(3):
            counts = np.zeros(3)
            counts[k] = n - 1
            one, other = 1 + (counts + np.eye(3)[i]) / temperature, 1 + (counts + np.eye(3)[j]) / temperature
            log_ratio = at @ (one - other) - log_simplex(one) + log_simplex(other)
            worst = max(worst, float(np.abs(log_ratio).max()))
    return worst


def test_no_table_costs_more_than_the_range_and_some_cost_nearly_as_much() -> None:
    needed = float(labels_range(LEAST))
    for n, temperature in ((1, 1.0), (40, 1.0), (40, 3.0)):
        assert worst_loss(n, temperature) <= needed / temperature * (1 + 1e-6)
    attained = worst_loss(60, 1.0)
    assert attained >= 0.9 * needed
    # the controls: the range of three equal labels at the middle or the largest of these bounds is exceeded
    for too_generous in (Fraction(1, 10), Fraction(1, 5)):
        assert attained > float(simplex_range(3, too_generous))


def released(rng: np.random.Generator, support: Any = BY_LABEL, samples: int = 3) -> dc.Release:
    mechanism = OPS("dirichlet:1,1,1", epsilon=2, samples=samples, support=support)
    family = dc.Categorical(list("abc"))
    return sample_with(RandomSource.seeded(rng), list("aabbc") * 8, family, mechanism, missing="none")


def test_file_statement_and_reading(rng: np.random.Generator) -> None:
    release = released(rng)
    assert release.sampling_record.support is not None
    assert [low for low, _ in release.sampling_record.support] == list(LEAST)
    drawn = release.samples.arrays()["p"]  # pyright: ignore
    assert (drawn >= np.array([0.02, 0.2, 0.1]) - 1e-12).all()
    assert dc.Release.from_json(release.to_json()) == release
    assert "[0.2, 0.88]" in release.statement()
    posterior = dc.infer(release, rng=1)
    assert posterior.diagnostics.engine == "exact"
    forged = json.loads(release.to_json())
    forged["mechanism"]["support"][0][0] = "1/100"
    forged["mechanism"]["support"][0][1] = "7/10"
    with pytest.raises(dc.errors.ReleaseFileError):
        dc.Release.from_json(json.dumps(forged))


@pytest.mark.parametrize(
    ("support", "message"),
    [
        ({"a": 0.1, "b": 0.1}, "must name every label"),
        ({"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.1}, "must name every label"),
        ({"a": 0.1, "b": 0.0, "c": 0.1}, "above 0"),
        ({"a": 0.5, "b": 0.4, "c": 0.1}, "sum to less than 1"),
        ({"a": 0.5, "b": "x", "c": 0.1}, "finite number"),
        ([0.1, 0.1, 0.1], "or one for each label, by label"),
    ],
)
def test_what_is_refused(support: Any, message: str, rng: np.random.Generator) -> None:
    with pytest.raises(UsageError, match=message):
        released(rng, support)


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("x\n" + "\n".join("aabbc" * 8) + "\n")
    how = [
        "release",
        "data.csv",
        "-m",
        "categorical:labels=a|b|c",
        "-c",
        "x",
        "--mechanism",
        "posterior-sample",
        "--prior",
        "dirichlet:1,1,1",
        "--epsilon",
        "2",
        "--impute",
        "a",
        "-o",
        "out.json",
    ]
    assert run([*how, "--support", "a=0.02", "--support", "b=0.2", "--support", "c=0.1"]) == 0
    assert dc.Release.load("out.json").sampling_record.parameters["range"] == labels_range(LEAST)
    capsys.readouterr()
    assert run([*how, "--force", "--support", "a=0.02", "--support", "0.2"]) == 2
    assert "or one for each label" in capsys.readouterr().err

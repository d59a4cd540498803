"""Mean: it releases what Normal() releases, and reads it without a family."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.cli import run
from discreet.curator.publish import release_with

LAPLACE, GAUSSIAN = dc.mechanisms.Laplace(1), dc.mechanisms.Gaussian(rho="0.5")
RELATIONS, POLICIES = ("replace", "add_remove"), ("count", "none")


def silent(distribution) -> int:
    return 0


def run_line(command: str) -> int:
    return run(command.split())


def refused(words: str, *args, **options) -> None:
    with pytest.raises(dc.errors.UsageError, match=words) as caught:
        dc.release(*args, **options)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(("neighbors", "missing"), list(product(RELATIONS, POLICIES)))
def test_the_release_is_that_of_a_normal(neighbors, missing, rng) -> None:
    x = np.append(rng.gamma(2, 20, 300), [np.nan, -np.inf, np.inf, 1e300, 100, -3])
    how = {"bounds": (-3, 100), "outside": "clip", "missing": missing, "neighbors": neighbors}
    for mechanism in (LAPLACE, GAUSSIAN):
        mean, normal = (
            release_with(silent, x, model, mechanism, **how) for model in (dc.Mean(), dc.Normal())
        )
        assert mean.statistics == normal.statistics
        assert mean.mechanism == normal.mechanism
        assert mean.layout == normal.layout


@pytest.mark.parametrize(
    ("neighbors", "missing", "mechanism"), list(product(RELATIONS, POLICIES, (LAPLACE, GAUSSIAN)))
)
def test_from_rows_to_a_posterior(neighbors, missing, mechanism, rng) -> None:
    x = rng.gamma(2, 10, 4000)
    made = release_with(
        silent, x, dc.Mean(), mechanism, bounds=(-3, 100), neighbors=neighbors, missing=missing
    )
    assert made.domain.outside == "clip"
    posterior = dc.infer(dc.Release.from_json(made.to_json()), rng=rng)
    assert list(posterior.draws) == ["mean", "sd"]
    clipped = np.clip(x, -3, 100)
    error = clipped.std() / np.sqrt(x.size)
    # without noise the posterior is centered on the table: a tenth of its spread is far more than Monte Carlo error
    assert abs(posterior.mean()["mean"] - clipped.mean()) < 0.3 * error
    assert posterior.sd()["mean"] == pytest.approx(error, rel=0.1)
    low, high = posterior.interval()["sd"]
    assert low < clipped.std() < high
    how = posterior.diagnostics
    assert (how.engine, how.approximation, how.independent) == (
        "grid",
        "nothing assumed but the bounds",
        True,
    )


def test_the_table_and_the_population_are_told_apart(rng) -> None:
    x = rng.uniform(20, 60, 2000)
    made = release_with(silent, x, dc.Mean(), LAPLACE, bounds=(0, 100))
    posterior = dc.infer(made, rng=rng)
    assert posterior.table is not None
    assert list(posterior.table.draws) == ["usable", "sum", "mean"]
    usable, total, mean = posterior.table.draws.values()
    np.testing.assert_allclose(total, usable * mean)
    assert (usable <= 2000).all()
    # noise of scale 2.5 on the mapped sum: 125 in the column's units, Laplace
    low, high = posterior.table.interval(0.99)["sum"]
    assert low < x.sum() < high
    assert high - low < 20 * 125
    own, population = posterior.table.sd()["mean"], posterior.sd()["mean"]
    assert own < 0.5 * population
    summary = posterior.summary()
    assert [row.name for row in summary.table] == ["usable", "sum", "mean"]
    assert "Of this table itself, where noise is the only uncertainty:" in str(summary)
    assert [row["name"] for row in summary.to_dict()["table"]] == ["usable", "sum", "mean"]
    assert dc.infer(made, rng=rng, engine="naive").table.sd()["sum"] == 0  # pyright: ignore[reportOptionalMemberAccess]


def test_the_naive_reading_ignores_the_noise(rng) -> None:
    x = rng.uniform(0, 1, 200)
    made = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        x,
        dc.Mean(),
        dc.mechanisms.Laplace("0.05"),
        bounds=(0, 1),
    )
    aware, naive = (dc.infer(made, engine=engine, rng=rng) for engine in ("grid", "naive"))
    assert naive.sd()["mean"] < 0.5 * aware.sd()["mean"]
    assert "over-confident" in naive.diagnostics.warnings[0]


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(
    "x", [[np.nan] * 50, [7.0] * 50, [0.0] * 50, [10.0] * 50, [3.0], [np.nan], [-np.inf, np.inf]], ids=str
)
def test_poor_columns_have_a_proper_posterior(x, neighbors, rng) -> None:
    made = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        x,
        dc.Mean(),
        LAPLACE,
        bounds=(0, 10),
        neighbors=neighbors,
    )
    posterior = dc.infer(made, rng=rng)
    mean, sd = posterior.draws["mean"], posterior.draws["sd"]
    assert ((mean >= 0) & (mean <= 10)).all()
    assert ((sd >= 0) & (sd <= 5)).all()
    if len(x) == 1 or np.isnan(x).all():
        # hardly anything is known
        low, high = posterior.interval()["mean"]
        assert high - low > 5


def test_what_it_refuses() -> None:
    x = [1.0, 2.0]
    refused("needs bounds", x, dc.Mean(), epsilon=1)
    refused("must be less than the upper bound", x, dc.Mean(), epsilon=1, bounds=(5, 5))
    refused(
        "as clipped to its bounds: outside='redact'", x, dc.Mean(), epsilon=1, bounds=(0, 5), outside="redact"
    )
    sampling = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=("0.1", "0.9"))
    refused("samples a family, and mean is none", x, dc.Mean(), mechanism=sampling, bounds=(0, 5), impute=1)
    made = dc.release(x, dc.Mean(), epsilon=1, bounds=(0, 5))
    for prior in ("beta:1,1", dc.priors.Beta(1, 1)):
        with pytest.raises(dc.errors.UsageError, match="mean needs no prior"):
            dc.infer(made, prior=prior)
    with pytest.raises(dc.DiscreetError, match="mean has grid, naive"):
        dc.infer(made, engine="gibbs")


def test_a_file_that_claims_redaction_is_refused() -> None:
    body = json.loads(dc.release([1.0, 2.0], dc.Mean(), epsilon=1, bounds=(0, 5)).to_json())
    body["domain"]["outside"] = "redact"
    body["sha256"] = checksum(body)
    with pytest.raises(dc.errors.ReleaseFileError, match="as clipped to its bounds"):
        dc.Release.from_json(json.dumps(body))


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_bounds_can_be_bought(neighbors, rng) -> None:
    bought = dc.mechanisms.PrivateQuantiles("0.05", "0.95", within=(0, 1000), epsilon="0.2")
    x = rng.normal(400, 50, 500)
    made = dc.release(x, dc.Mean(), epsilon=1, bounds=bought, neighbors=neighbors)
    posterior = dc.infer(dc.Release.from_json(made.to_json()), rng=rng)
    assert any("bought privately" in words for words in posterior.diagnostics.warnings)


def test_the_command_line(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("age\n" + "\n".join(map(str, range(20, 70))) + "\n")
    assert run_line("release data.csv --model mean -c age --bounds=0,100 --epsilon 1 -o out.json") == 0
    capsys.readouterr()
    assert run_line("infer out.json --seed 1 --plot out.png") == 0
    said = capsys.readouterr().out
    assert "mean model of age" in said
    assert "Of this table itself" in said
    assert "grid engine, nothing assumed but the bounds, 4000 independent draws" in said
    assert run_line("infer out.json --json --seed 1") == 0
    content = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in content["parameters"]] == ["mean", "sd"]
    assert [row["name"] for row in content["table"]] == ["usable", "sum", "mean"]
    assert run_line("infer out.json --prior beta:1,1") == 2
    assert "mean needs no prior" in capsys.readouterr().err
    assert (
        run_line("release data.csv -m mean -c age --bounds=0,9 --epsilon 1 --outside redact -o no.json") == 2
    )
    assert run_line("check data.csv -m mean -c age --bounds=0,60") == 0

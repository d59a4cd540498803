"""A budget per unit of distance: the exact loss per unit, over pairs of records, for noise and for samples."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.cli import run
from discreet.curator.declare import declare
from discreet.curator.draw import read
from discreet.curator.publish import sample_with
from discreet.errors import BudgetError, ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource, Totals
from discreet.models.layout import FINE
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.privacy.metric.per_unit import grid_step

EACH = Fraction(1, 50)
LOW, HIGH = 10, 90
HALF = Fraction(HIGH - LOW, 2)
Noise, Draw = dc.mechanisms.Laplace, dc.mechanisms.PosteriorSampling
# near the bounds, where squares are steepest, and a hair apart, where rounding shows
VALUES: list[float | None] = [
    *[10.0, 10.0 + 2e-6, 10.001, 11.0, 25.0, 50.0, 50.0 + 1e-12, 75.0, 89.0, 89.999, 90.0, None],
    float(50 + 0.5 * 40 * 2**-24),
    float(np.nextafter(50 + 0.5 * 40 * 2**-24, 0)),
]


def resealed(body: dict[str, Any]) -> str:
    del body["sha256"]
    return json.dumps({**body, "sha256": checksum(body)})


def totals_of(model: Any, value: float | None) -> tuple[int, ...]:
    """The integers that the private side makes of one record."""
    asked = declare([value], model, Noise(1), bounds=(LOW, HIGH))
    data = read(asked).data
    assert isinstance(data, Totals)
    return data.values


def distance(x: tuple[int, ...], y: tuple[int, ...]) -> Fraction:
    """The distance of two records from their integers; the last of them says whether there is a value."""
    if x[-1] != y[-1]:
        return 2 * HALF
    steps = max(Fraction(abs(a - b), 1 + j) for j, (a, b) in enumerate(zip(x[:-1], y[:-1], strict=True)))
    return steps * FINE * HALF


def losses(model: Any, noise: tuple[Fraction, ...]) -> list[tuple[Fraction, Fraction, Fraction]]:
    """For every pair of records: the distance, the exact loss of the noisy totals, and the difference of the values."""
    records = [(value, totals_of(model, value)) for value in VALUES]
    grid = model.layout(declare([1], model, Noise(1), bounds=(LOW, HIGH)).domain, "replace").grid
    found = []
    for at, (v, x) in enumerate(records):
        for w, y in records[:at]:
            # discrete Laplace noise of scale b loses exactly |change| / b, in the tails
            lost = sum(
                (abs(a - b) * g / s for a, b, g, s in zip(x, y, grid, noise, strict=True)), Fraction(0)
            )
            apart = 2 * HALF if v is None or w is None else abs(Fraction(v) - Fraction(w))
            found.append((distance(x, y), lost, apart))
    return found


@pytest.mark.parametrize(
    "model", [dc.Mean(), dc.Normal(variance=100), dc.Normal(), dc.Exponential()], ids=str
)
def test_noise_loses_at_most_epsilon_per_unit_at_every_distance(model: Any) -> None:
    release = dc.release(
        [20.0, None], model, bounds=(LOW, HIGH), mechanism=Noise(metric="absolute", epsilon_per_unit=EACH)
    )
    found = losses(model, release.noise_record.scale)
    assert all(lost == 0 for apart, lost, _ in found if apart == 0)
    worst = max(lost / apart for apart, lost, _ in found if apart > 0)
    assert Fraction(99, 100) * EACH < worst <= EACH
    # the distance is that of the values, but for the rounding of each
    assert all(abs(apart - between) <= grid_step(release.domain) for apart, _, between in found)


def test_a_distance_of_unrounded_values_would_promise_too_much() -> None:
    release = dc.release(
        [20.0], dc.Mean(), bounds=(LOW, HIGH), mechanism=Noise(metric="absolute", epsilon_per_unit=EACH)
    )
    found = losses(dc.Mean(), release.noise_record.scale)
    assert max(lost / between for _, lost, between in found if between > 0) > 1000 * EACH


def test_noise_for_any_two_records_is_too_little_for_close_ones() -> None:
    # what plain epsilon = 1.6 adds, and what is at most 1.6 lost between any two of the 80 units
    plain = dc.release([20.0], dc.Mean(), bounds=(LOW, HIGH), epsilon=80 * EACH)
    worst = max(lost / apart for apart, lost, _ in losses(dc.Mean(), plain.noise_record.scale) if apart > 0)
    assert worst > 2 * EACH
    body = json.loads(plain.to_json())
    metric = {"name": "absolute on the grid of [10, 90]", "diameter": "80"}
    body["guarantees"] = [
        {"kind": "metric", "epsilon": "1/50", "delta": "0", "metric": metric, "for": "statistics"}
    ]
    with pytest.raises(ReleaseFileError, match="noise is less"):
        dc.Release.from_json(resealed(body))


CASES: dict[str, tuple[Any, str, Any]] = {
    "normal-variance": (dc.Normal(variance=400), "normal:50,900", (LOW, HIGH)),
    "normal": (dc.Normal(), "normal_inverse_gamma:50,1,2,400", [(30, 70), (100, 900)]),
    "exponential": (dc.Exponential(), "gamma:2,50", ("0.01", "0.5")),
}


def sample_loss(name: str, each: Fraction, colder: Fraction = Fraction(1)) -> float:
    """The largest log-ratio of a draw's exact probabilities per unit of distance, over tables of 400 records."""
    model, prior, support = CASES[name]
    mechanism = Draw(prior, metric="absolute", epsilon_per_unit=each, support=support, cells=16)
    domain = model.read_domain((LOW, HIGH), "clip", "none")
    record = mechanism.within(model, domain, "replace").plan(model, domain, 400)
    grid = ParameterGrid(model, domain, record.conjugate, record.support or (), 16)
    temperature = record.parameters["temperature"] * colder
    size, worst = len(model.geometry.feature_names), 0.0
    z = [-1, -1 + 1e-5, -0.9, 0.0, 0.5, 0.9, 1 - 1e-5, 1]
    points = [tuple(int(np.floor(v**k / FINE + 0.5)) for k in range(1, size + 1)) for v in z]
    for rest in points:
        for n_rest in (0, 399):
            mass = [
                grid.distribution(
                    [(n_rest * a + b) * FINE for a, b in zip(rest, one, strict=True)], n_rest + 1, temperature
                ).log_mass()
                for one in points
            ]
            for i, x in enumerate(points):
                for j, y in enumerate(points[:i]):
                    apart = float(distance((*x, 1), (*y, 1)))
                    worst = max(worst, float(np.abs(mass[i] - mass[j]).max()) / apart)
    return worst


@pytest.mark.parametrize("name", CASES)
def test_a_draw_loses_at_most_epsilon_per_unit(name: str) -> None:
    worst = sample_loss(name, EACH)
    assert 0.9 * float(EACH) < worst <= float(EACH) * (1 + 1e-9)
    assert sample_loss(name, EACH, Fraction(4, 5)) > float(EACH)


def test_the_file_says_what_is_promised_and_forgeries_are_refused() -> None:
    mechanism = Draw("normal:50,900", metric="absolute", epsilon_per_unit=EACH, support=(10, 90))
    release = sample_with(
        RandomSource.seeded(np.random.default_rng(0)),
        [20.0, 30.0],
        dc.Normal(variance=400),
        mechanism,
        bounds=(LOW, HIGH),
        missing="none",
    )
    back = dc.Release.from_json(release.to_json())
    assert back.guarantee == dc.MetricDP(
        EACH, 0, dc.privacy.PseudoMetric("absolute on the grid of [10, 90]", 80)
    )
    assert "1.0203 times likelier or less likely; by d units, e to the power of 0.02 d" in back.statement()
    for alter in (
        {"epsilon": "1/51"},
        {"metric": {"name": "absolute on the grid of [10, 90]", "diameter": "90"}},
        {"metric": {"name": "absolute on the grid of [0, 80]", "diameter": "80"}},
        {"delta": "1/1000"},
    ):
        body = json.loads(release.to_json())
        body["guarantees"][0].update(alter)
        with pytest.raises(ReleaseFileError):
            dc.Release.from_json(resealed(body))


def test_a_ledger_charges_the_largest_distance(tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path}/budget.db", budget=dc.PureDP(2))
    mechanism = Noise(metric="absolute", epsilon_per_unit=EACH)
    how: dict[str, Any] = {"bounds": (LOW, HIGH), "mechanism": mechanism, "ledger": ledger, "dataset": "a"}
    release = dc.release([20.0, 30.0], dc.Mean(), **how)
    assert ledger.account("a").spent == {"epsilon": Fraction(8, 5)}
    (charge,) = [entry for entry in ledger.entries() if entry.kind == "charge"]
    assert charge.content["guarantees"][0]["kind"] == "metric"
    assert ledger.verify(against=[release]).passed
    with pytest.raises(BudgetError, match=r"asked epsilon = 1\.6; remaining epsilon = 0\.4"):
        dc.release([20.0, 30.0], dc.Mean(), **how)


BOUGHT = dc.mechanisms.PrivateQuantiles(0.1, 0.9, epsilon=1, within=(0, 100))


@pytest.mark.parametrize(
    ("model", "how", "said"),
    [
        (dc.Categorical(["a", "b"]), {"bounds": None}, "one column of numbers with bounds"),
        (dc.Bernoulli(), {"bounds": None}, "one column of numbers with bounds"),
        (dc.Normal(mean=3), {}, "sum values as they are, and normal does not"),
        (dc.Mean(), {"neighbors": "add_remove"}, "neighbors='replace'"),
        (dc.Mean(), {"fit_check": 0.2}, "fit check"),
        (
            dc.Mean(),
            {"bounds": BOUGHT},
            "declared bounds",
        ),
        (dc.Mean(), {"by": "g", "groups": ["a"]}, "values of one column"),
        (dc.Mean(), {"unit": "id", "max_rows": 2}, "sum values as they are"),
    ],
    ids=str,
)
def test_what_has_no_distance_is_refused_in_one_line(model: Any, how: Any, said: str) -> None:
    by_unit = Noise(metric="absolute", epsilon_per_unit=1)
    all_of: dict[str, Any] = {"column": "x", "bounds": (0, 1), "mechanism": by_unit, **how}
    with pytest.raises(UsageError, match=said) as refused:
        dc.release("no-such-file.csv", model, **all_of)
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    "how",
    [
        {"metric": "absolute"},
        {"epsilon_per_unit": 1},
        {"epsilon": 1, "metric": "absolute", "epsilon_per_unit": 1},
        {"metric": "absolute", "epsilon_per_unit": 0},
        {"metric": "euclidean", "epsilon_per_unit": 1},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("mechanism", [Noise, lambda **how: Draw("normal:0,1", support=(0, 1), **how)])
def test_half_a_budget_is_refused(mechanism: Any, how: Any) -> None:
    with pytest.raises(UsageError) as refused:
        mechanism(**how)
    assert "\n" not in refused.value.message


def test_command_line(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "ages.csv").write_text("age\n" + "\n".join(str(v) for v in range(20, 80)) + "\n")
    common = ["release", str(tmp_path / "ages.csv"), "-c", "age", "--bounds", "10,90", "--metric", "absolute"]
    common += ["--epsilon-per-unit", "0.02", "--json", "-o"]
    assert run([*common, str(tmp_path / "mean.json"), "-m", "mean"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["guarantee"]["kind"], printed["guarantee"]["diameter"]) == ("metric", "80")
    prior = [
        "--mechanism",
        "posterior-sample",
        "--prior",
        "normal:50,400",
        "--support=10,90",
        "--impute",
        "50",
    ]
    assert run([*common, str(tmp_path / "draw.json"), "-m", "normal:variance=400", *prior]) == 0
    assert dc.Release.load(tmp_path / "draw.json").guarantee.kind == "metric"
    capsys.readouterr()
    for wrong, said in {
        ("--epsilon", "1"): "a budget of its own",
        ("--mechanism", "gaussian"): "are for laplace and posterior-sample",
    }.items():
        assert run([*common, str(tmp_path / "new.json"), "-m", "mean", *wrong]) == 2
        assert said in json.loads(capsys.readouterr().out)["error"]

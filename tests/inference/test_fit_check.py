"""What a fit check says: p-values are uniform where the family holds, and small where it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.curator.publish import release_with

CASES: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "poisson": (dc.Poisson(), lambda rng: rng.poisson(3, 500), dc.mechanisms.Laplace(1), {"bounds": (0, 20)}),
    "geometric, private count": (
        dc.Geometric(), lambda rng: rng.geometric(0.3, 500) - 1, dc.mechanisms.Gaussian(rho="0.1"),
        {"bounds": (0, 30), "neighbors": "add_remove"},
    ),
    "normal, redacted": (
        dc.Normal(variance=100), lambda rng: rng.normal(50, 10, 500), dc.mechanisms.Laplace(1),
        {"bounds": (0, 100), "outside": "redact"},
    ),
}  # fmt: skip


def result(rng: np.random.Generator, column: Any, family: Any, mechanism: Any, **how: Any) -> Any:
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        column,
        family,
        mechanism,
        fit_check="0.2",
        **how,
    )
    return dc.infer(release, draws=400, rng=rng).diagnostics


@pytest.mark.parametrize("trials", [3, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_few_false_alarms(case: str, trials: int, rng: np.random.Generator) -> None:
    """No more p-values below 0.05 than 6% makes likely, at a false-alarm rate of 1e-3 for all assertions here."""
    family, draw, mechanism, how = CASES[case]
    p = np.array([result(rng, draw(rng), family, mechanism, **how).fit_check.p for _ in range(trials)])
    assert (p < 0.05).sum() <= binom.isf(1e-3 / 12, trials, 0.06)
    assert (p < 0.01).sum() <= binom.isf(1e-3 / 12, trials, 0.015)
    # and they are spread: not a test that never rejects
    assert p.min() < 0.9


def test_a_column_of_another_shape_is_found_out(rng: np.random.Generator) -> None:
    """Overdispersed counts with the mean of a Poisson, and a column of two values."""
    laplace = dc.mechanisms.Laplace(1)
    how = result(rng, rng.negative_binomial(1, 0.25, 1000), dc.Poisson(), laplace, bounds=(0, 20))
    assert how.fit_check.p < 0.001
    (said,) = how.warnings[-1:]
    assert said.startswith("fit check: p < 0.00025: the column does not look Poisson; release dc.Mean()")
    assert "fit check      p < 0.00025" in str(how)
    two = result(rng, rng.choice([20.0, 80.0], 1000), dc.Normal(mean=50), laplace, bounds=(0, 100))
    assert two.fit_check.p < 0.001


def test_it_is_in_every_report(rng: np.random.Generator) -> None:
    column = rng.poisson(3, 1000)
    release = dc.release(column, dc.Poisson(), bounds=(0, 20), epsilon=100, fit_check=0.2)
    summary = dc.infer(release, draws=400, rng=1).summary()
    assert "\nfit check: p = " in str(summary)
    assert "fit check: p = " in summary.to_html()
    found = summary.to_dict()["fit_check"]
    assert set(found) == {"p", "edges", "counts", "expected", "sd"}
    assert len(found["edges"]) == len(found["counts"]) + 1 == len(found["sd"]) + 1
    assert sum(found["expected"]) == pytest.approx(1000, abs=5)
    # the same release says the same again, whatever the seed of the draws, but for chance
    again = dc.infer(release, draws=400, rng=2).diagnostics.fit_check
    assert again is not None
    assert abs(again.p - found["p"]) < 0.1


def test_a_release_without_one_says_nothing_of_it(rng: np.random.Generator) -> None:
    release = dc.release(rng.poisson(3, 300), dc.Poisson(), bounds=(0, 20), epsilon=1)
    posterior = dc.infer(release, draws=400, rng=1)
    assert posterior.diagnostics.fit_check is None
    assert "fit_check" not in posterior.summary().to_dict()


def test_an_engine_that_ignores_noise_has_no_p_value(rng: np.random.Generator) -> None:
    release = dc.release(rng.poisson(3, 300), dc.Poisson(), bounds=(0, 20), epsilon=1, fit_check=0.2)
    assert dc.infer(release, engine="naive", draws=400, rng=1).diagnostics.fit_check is None


@pytest.mark.parametrize("column", [[], [np.nan] * 20, [3.0], [0.0] * 200, [1e300] * 50], ids=len)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_odd_columns_have_a_p_value(column: list[float], neighbors: Any) -> None:
    if not column and neighbors == "replace":
        pytest.skip("an empty table is refused where its size is public")
    release = dc.release(
        np.array(column, dtype=float),
        dc.Exponential(),
        bounds=(0, 20),
        epsilon=1,
        fit_check=0.2,
        neighbors=neighbors,
    )
    found = dc.infer(release, draws=100, rng=1).diagnostics.fit_check
    assert found is not None
    assert 0 < found.p <= 1
    assert np.isfinite(found.expected).all()

"""Warnings of a release about itself fire on what they are for, and hardly ever where nothing is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.cautions import few_usable

WORDS = {
    "usable": "values were usable",
    "bounds": "outside the bounds",
    "noise": "times the data's own uncertainty",
    "wide": "so wide that noise drowns the column",
}


def warned(
    rng: np.random.Generator, column: Any, family: Any, epsilon: float, **how: Any
) -> dict[str, tuple[str, ...]]:
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        column,
        family,
        dc.mechanisms.Laplace(epsilon),
        **how,
    )
    engine: Any = "gibbs" if isinstance(family, dc.Normal) else "auto"
    found = dc.infer(release, draws=400, engine=engine, rng=rng).diagnostics.warnings
    return {name: tuple(w for w in found if words in w) for name, words in WORDS.items()}


def test_few_usable_values(rng: np.random.Generator) -> None:
    """Labels that hardly match: about 12 of 900 values."""
    column = np.array(["good"] * 12 + ["GOOD"] * 888)
    (said,) = warned(rng, column, dc.Categorical(["good", "bad"]), 1)["usable"]
    assert said.endswith("of 900 values were usable: are the labels or the column right?")


def test_records_outside_the_bounds(rng: np.random.Generator) -> None:
    """Three quarters of the column at the upper bound: the normal that explains the sums has much beyond it."""
    column = np.append(rng.normal(70, 15, 250), rng.normal(130, 15, 750))
    (said,) = warned(rng, column, dc.Normal(), 1, bounds=(18, 100))["bounds"]
    assert "% of records outside the bounds (18, 100): the column may not be normal" in said


def test_noise_larger_than_the_data_leave(rng: np.random.Generator) -> None:
    (said,) = warned(rng, rng.random(200) < 0.3, dc.Bernoulli(), 0.05)["noise"]
    assert said.startswith("noise on the counts is about ")
    assert said.endswith("epsilon = 0.1 would halve it")


def test_bounds_that_drown_the_column(rng: np.random.Generator) -> None:
    found = warned(rng, rng.exponential(20, 1000), dc.Exponential(), 0.5, bounds=(0, 1_000_000))
    assert found["noise"]
    assert "the bounds (0, 1e+06)" in found["wide"][0]


@pytest.mark.parametrize("trials", [4, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("family", "how"),
    [
        (dc.Bernoulli(), {}),
        (dc.Poisson(), {"bounds": (0, 15)}),
        (dc.Normal(), {"bounds": (0, 100)}),
    ],
    ids=str,
)
def test_no_alarm_where_nothing_is_wrong(
    family: Any, how: Any, trials: int, rng: np.random.Generator
) -> None:
    """A thousand records that follow the family, sensible bounds, 5% missing, epsilon = 1: at most 1 warning in 100."""
    columns = {"bernoulli": lambda: rng.random(1000) < 0.3, "poisson": lambda: rng.poisson(4, 1000)}
    alarms = 0
    for _ in range(trials):
        column = np.ma.array(columns.get(family.name, lambda: rng.normal(55, 12, 1000))())
        column[:50] = np.ma.masked
        alarms += any(warned(rng, column, family, 1, **how).values())
    assert alarms <= trials // 100


def test_an_exact_posterior_names_what_it_takes_for_granted(rng: np.random.Generator) -> None:
    release = dc.release(rng.poisson(3, 300), dc.Poisson(), bounds=(0, 12), epsilon=1)
    posterior = dc.infer(release, engine="exact", rng=1)
    assert "\nexact, given that the column is Poisson, 4000 independent draws" in str(posterior.summary())
    assert "no approximation" not in f"{posterior.summary()}{posterior.diagnostics}"
    assert posterior.summary().to_dict()["given"] == "the column is Poisson"
    assert few_usable(release) == ()


def test_a_prior_on_missing_values_that_contradicts_the_release():
    release = dc.release([1, 0] * 100, dc.Mean(), bounds=(0, 1), epsilon=10)
    for missing in (0.9, (190, 200)):
        said = dc.infer(release, missing=missing, draws=40, rng=1).diagnostics.warnings
        assert any("the prior on missing contradicts the release" in text for text in said)
    for missing in (None, 0.0, 0.02, (0, 20)):
        said = dc.infer(release, missing=missing, draws=40, rng=1).diagnostics.warnings
        assert not any("contradicts" in text for text in said)


def seeded(rng: np.random.Generator, rows: Any, epsilon: Any, **declared: Any) -> Any:
    """Release a mean with noise of this generator, and read it."""
    noisy = lambda distribution: int(distribution.sample(1, rng)[0])  # noqa: E731
    return dc.infer(release_with(noisy, rows, dc.Mean(), dc.mechanisms.Laplace(epsilon), **declared), rng=rng)


def test_nobody_in_a_group_or_behind_a_filter_is_pointed_out(rng: np.random.Generator) -> None:
    rows = {"g": ["north", "south"] * 300, "x": [10.0, 20.0, 30.0] * 200}
    asked: dict[str, Any] = {"column": "x", "bounds": (0, 60)}
    groups = seeded(rng, rows, 5, by="g", groups=["North", "south"], **asked)
    words = "no more records were counted than noise alone"
    assert words in groups["North"].diagnostics.warnings[0]
    assert not any(words in one for one in groups["south"].diagnostics.warnings)
    nobody = seeded(rng, rows, 5, where="x > 50", **asked)
    assert "is the filter or the column wrong" in nobody.diagnostics.warnings[0]
    some = seeded(rng, rows, 5, where="x > 15", **asked)
    assert not any(words in one for one in some.diagnostics.warnings)


def test_wide_bounds_are_told_from_a_drowned_column(rng: np.random.Generator) -> None:
    x = rng.normal(26, 4.4, 442)
    for bounds, epsilon, words in (
        ((10, 80), 1, "are wide for this column"),
        ((10, 80), "0.02", "noise drowns the column: the table's mean may be anywhere in"),
        ((-1000, 1000), 1, "so wide that noise drowns the column"),
    ):
        said = [seeded(rng, x, epsilon, bounds=bounds).diagnostics.warnings for _ in range(20)]
        assert sum(any(words in one for one in each) for each in said) >= 6

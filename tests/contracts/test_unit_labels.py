"""The unit of a column: public text that goes from the curator's call to tables and pictures."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError


def test_a_unit_goes_through_the_file_into_tables_and_pictures(tmp_path, rng):
    rows = {"age": rng.normal(45, 12, 500).tolist()}
    release = dc.release(rows, dc.Mean(), column="age", bounds=(18, 100), epsilon=1, unit_label="years")
    release.save(tmp_path / "age.json")
    posterior = dc.infer(tmp_path / "age.json", rng=rng)
    assert posterior.units.label == "years"
    assert "unit: years" in str(posterior.summary())
    assert posterior.summary().to_dict()["unit_label"] == "years"
    figure = posterior.plot()
    assert figure.texts[0].get_text() == "Mean of age"
    assert [axes.get_xlabel() for axes in figure.axes] == ["years", "years"]


def test_without_a_unit_nothing_is_said(rng):
    release = dc.release([20, 30], dc.Mean(), bounds=(18, 100), epsilon=1)
    assert '"unit_label"' not in release.to_json()
    assert "unit:" not in str(dc.infer(release, rng=rng).summary())


def test_units_are_checked_names():
    for bad in ("", "a\nb", 3, "x" * 300):
        with pytest.raises(UsageError, match="unit_label"):
            dc.release([20, 30], dc.Mean(), bounds=(18, 100), epsilon=1, unit_label=bad)  # pyright: ignore[reportArgumentType, reportCallIssue]
    models = {"age": dc.Mean(), "size": dc.Mean()}
    rows, bounds = {"age": [1, 2], "size": [3, 4]}, {"age": (0, 9), "size": (0, 9)}
    with pytest.raises(UsageError, match="dictionary by name"):
        dc.release(rows, models, bounds=bounds, epsilon=1, unit_label="years")
    made = dc.release(rows, models, bounds=bounds, epsilon=1, unit_label={"age": "years"})
    assert [one.unit_label for one in made.values()] == ["years", None]


def test_titles_say_what_was_asked(rng):
    rows = {"s": rng.choice(["yes", "no"], 100).tolist(), "n": rng.poisson(2, 100).tolist()}
    made = dc.release(rows, {"s": dc.Bernoulli(), "n": dc.Poisson()}, bounds={"n": (0, 10)}, epsilon=2)
    assert [one.question for one in made.values()] == ["Share of s", "Poisson model of n"]
    both = dc.infer({"a": made["n"], "b": made["n"]}, rng=rng)
    assert both.together().question == "Poisson model of n"
    assert dc.infer(made["s"], rng=rng).table.question == "Share of s, in this very table"  # pyright: ignore[reportOptionalMemberAccess]


def test_counts_are_bars(rng):
    release = dc.release(rng.choice(["yes", "no"], 300).tolist(), dc.Bernoulli(), epsilon=1)
    figure = dc.infer(release, rng=rng).table.plot()  # pyright: ignore[reportOptionalMemberAccess]
    bars = [bar for axes in figure.axes for bar in axes.patches]
    values = {round(bar.get_x() + bar.get_width() / 2, 6) for bar in bars}  # pyright: ignore[reportAttributeAccessIssue]
    assert values
    assert values <= set(np.arange(301.0))

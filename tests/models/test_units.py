"""Models of several columns take units: a person with all rows is one record; those that do not say why."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data import count_tables
from discreet.data.sources.people import PeopleRows
from discreet.domain.unit import read_unit

LABELS = {"ill": ["yes", "no"], "sex": ["f", "m"]}
MODELS: dict[str, Any] = {
    "naive_bayes": dc.models.NaiveBayes({"ill": LABELS["ill"]}, {"sex": LABELS["sex"], "age": (0, 100)}),
    "network": dc.models.BayesianNetwork([("sex", "ill")], LABELS),
}
row = st.tuples(
    st.sampled_from(["yes", "no", "?", None]),
    st.sampled_from(["f", "m", None]),
    st.one_of(st.none(), st.floats(), st.floats(-5, 105)),
)
SCHEMA = {"id": pl.String, "ill": pl.String, "sex": pl.String, "age": pl.Float64}


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    kind=st.sampled_from(list(MODELS)),
    rule=st.sampled_from(["max", "min"]),
    rest=st.lists(st.tuples(st.sampled_from(["a", "b", None]), row), max_size=4),
    old=st.lists(row, min_size=1, max_size=5),
    new=st.lists(row, min_size=1, max_size=5),
    neighbors=st.sampled_from(["replace", "add_remove"]),
)
def test_all_rows_of_a_person_are_one_record(kind, rule, rest, old, new, neighbors):
    model = MODELS[kind]
    domain = model.read_domain(None, "clip", "count")
    layout = model.layout(domain, neighbors)
    unit = read_unit(
        "id",
        rule,
        allowed=model.unit_rules,
        names=model.column_names,
        bounds=model.record_bounds(domain),
        model=kind,
    )

    def counts(held: list[Any], name: str) -> Any:
        rows = [(one, *values) for one, values in [*rest, *((name, values) for values in held)]]
        frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
        return count_tables(PeopleRows(frame, unit), model, domain, layout)

    before = counts(old, "z")
    after = counts(new, "y") if neighbors == "replace" else counts([], "z")
    assert before.n_records - after.n_records == (neighbors == "add_remove")
    change = [
        abs(a - b) * g / w
        for a, b, g, w in zip(before.values, after.values, layout.grid, layout.width, strict=True)
    ]
    assert sum(change) <= layout.l1_sensitivity
    assert sum(one * one for one in change) <= layout.l2_sensitivity**2


def test_rows_as_records_would_move_further():
    """The control: five rows of one person, one record each."""
    model = MODELS["network"]
    domain = model.read_domain(None, "clip", "count")
    layout = model.layout(domain, "add_remove")
    many = count_tables({"ill": ["yes"] * 5, "sex": ["f"] * 5}, model, domain, layout)
    assert sum(many.values) > layout.l1_sensitivity


@pytest.mark.parametrize("kind", MODELS)
def test_a_release_of_people_is_read(kind: str, rng: np.random.Generator):
    n = 600
    rows = {
        "id": rng.integers(0, 150, n).tolist(),
        "ill": rng.choice(LABELS["ill"], n).tolist(),
        "sex": rng.choice(LABELS["sex"], n).tolist(),
        "age": rng.uniform(0, 100, n).tolist(),
    }
    made = dc.release(rows, MODELS[kind], unit="id", per_unit="min", epsilon=5)
    assert made.guarantee == dc.PureDP(5, unit="id")
    assert made.records == len(set(rows["id"]))
    assert dc.Release.from_json(made.to_json()) == made


@pytest.mark.parametrize(
    "model",
    [
        dc.models.MarkovChain({"sex": ["f", "m"]}, {"t": ["1", "2"]}, {"ill": ["yes", "no"]}),
        dc.models.HiddenMarkov(
            2, time={"t": ["1", "2"]}, features={"ill": ["yes", "no"]}, chain={"sex": ["f", "m"]}
        ),
    ],
)
def test_models_of_sequences_say_why_not(model: Any):
    with pytest.raises(dc.DiscreetError, match="takes no unit: a record is one entry"):
        dc.release(
            {"id": ["a"], "sex": ["f"], "t": ["1"], "ill": ["no"]},
            model,
            unit="id",
            per_unit="max",
            epsilon=1,
        )


@pytest.mark.parametrize("unit", [{"per_unit": "max"}, {"per_unit": "last", "last_by": "t"}, {"max_rows": 2}])
def test_dates_of_people(unit: dict[str, Any]):
    rows = {"id": ["a", "a", "b"], "day": ["2024-01-01", "2024-03-01", "2024-05-01"], "t": [1, 2, 1]}
    made = dc.release(
        rows, dc.Mean(), column="day", bounds=("2024-01-01", "2024-12-31"), unit="id", epsilon=1e6, **unit
    )
    found = dc.infer(made, rng=1, draws=400).table
    assert found is not None
    days = np.array(["2024-01-01", "2024-03-01", "2024-05-01"], dtype="datetime64[D]").astype(float)
    truth = days.mean() if "max_rows" in unit else days[1:].mean()
    assert np.median(found.draws["mean"]) == pytest.approx(truth, abs=0.5)
    assert dc.Release.from_json(made.to_json()) == made


@pytest.mark.parametrize("rule", ["sum", "count"])
def test_days_have_no_sum(rule: str):
    with pytest.raises(dc.DiscreetError, match="is not for column"):
        dc.release(
            {"id": ["a"], "day": ["2024-01-01"]}, dc.Mean(), column="day", bounds=("2024-01-01", "2024-12-31"),
            unit="id", per_unit=rule, epsilon=1,
        )  # fmt: skip

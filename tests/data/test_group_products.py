"""Regressions by groups: exact sums of each group, the joint sensitivity, and what is charged for it."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.summaries.group_products import sum_group_products
from discreet.data.summaries.product_sums import sum_products
from discreet.models.grouped import Grouped, read_groups
from tests.data.test_neighbors import assert_bounded

REGIONS = ["north", "south", "nobody"]
GROUPS = {"region": REGIONS, "sex": ["f", "m"]}
BOUNDS = {"bp": (60, 200), "age": (18, 100), "bmi": (9.5, 50), "ward": ["a", "b", "c"]}
COLUMNS = [*BOUNDS, "region", "sex"]


def a_model() -> dc.models.LinearRegression:
    return dc.models.LinearRegression("bp", ["age", "bmi", "ward"], bounds=BOUNDS)


@cache
def declared(neighbors: Any, norm: Any, missing: Any = "count") -> tuple[Grouped, Any, Any]:
    model = read_groups(a_model().suited(norm), ["region", "sex"], GROUPS)
    domain = model.read_domain(None, "clip", missing)
    return model, domain, model.layout(domain, neighbors)


def rows(rng: np.random.Generator, n: int = 400) -> dict[str, list[Any]]:
    return {
        "bp": rng.choice(np.array([None, 1e300, 60.0, 120.5, 200.0], dtype=object), n).tolist(),
        "age": rng.uniform(10, 110, n).tolist(),
        "bmi": rng.normal(26, 8, n).tolist(),
        "ward": rng.choice(["a", "b", "c", "?"], n).tolist(),
        "region": rng.choice(["north", "south", "elsewhere", ""], n).tolist(),
        "sex": rng.choice(np.array(["f", "m", None], dtype=object), n).tolist(),
    }


def test_the_sums_of_each_group_are_those_of_its_rows(tmp_path: Path, rng: np.random.Generator) -> None:
    import pandas as pd

    table = rows(rng)
    model, domain, layout = declared("replace", "l1")
    found = sum_group_products(table, model, domain, layout)
    pd.DataFrame(table).to_csv(tmp_path / "rows.csv", index=False)
    assert found == sum_group_products(tmp_path / "rows.csv", model, domain, layout)
    assert found.n_records == 400
    assert found.columns == tuple(COLUMNS)
    inner = a_model().suited("l1")
    block = inner.layout(domain, "add_remove")
    truth: list[int] = []
    for region, sex in product(REGIONS, ["f", "m"]):
        mine = [r == region and s == sex for r, s in zip(table["region"], table["sex"], strict=True)]
        some = {name: [v for v, kept in zip(table[name], mine, strict=True) if kept] for name in BOUNDS}
        empty = [0] * len(block.names)
        truth += sum_products(some, inner, domain, block).values if any(mine) else empty
    assert found.values == tuple(truth)
    # a group without a record has sums of 0, which get noise like the others
    assert found.values[-2 * len(block.names) :] == (0,) * (2 * len(block.names))


number = st.one_of(st.sampled_from([18.0, 60.0, 100.0, 200.0, 1e300, -1e300]), st.floats(), st.none())
record = st.fixed_dictionaries(
    {
        "bp": number,
        "age": number,
        "bmi": number,
        "ward": st.sampled_from(["a", "b", "c", "?", None]),
        "region": st.sampled_from(["north", "south", "elsewhere", None]),
        "sex": st.sampled_from(["f", "m", None]),
    }
)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(rest=st.lists(record, max_size=1), old=record, new=record, data=st.data())
def test_one_record_moves_the_groups_by_their_sensitivity(rest: Any, old: Any, new: Any, data: Any) -> None:
    neighbors = data.draw(st.sampled_from(["replace", "add_remove"]))
    model, domain, layout = declared(neighbors, data.draw(st.sampled_from(["l1", "l2"])))

    def summary(held: list[dict[str, Any]]) -> Any:
        return sum_group_products({c: [one[c] for one in held] for c in COLUMNS}, model, domain, layout)

    # a table without rows has no types
    whole = {**old, "region": "elsewhere"}
    after = [whole, *rest, new] if neighbors == "replace" else [whole, *rest]
    assert_bounded(summary([whole, *rest, old]), summary(after), layout)


def moved(one: dict[str, Any], other: dict[str, Any], norm: str) -> np.ndarray:
    """Return by how many grid steps a record that is replaced moves each coordinate."""
    model, domain, layout = declared("replace", norm)
    sums = [
        sum_group_products({c: [row[c]] for c in COLUMNS}, model, domain, layout).values
        for row in (one, other)
    ]
    return np.array(sums[0], dtype=float) - np.array(sums[1], dtype=float)


CORNER = {"bp": 200.0, "age": 100.0, "bmi": 50.0, "ward": "c", "region": "north", "sex": "f"}


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_sensitivity_is_attained_by_a_record_that_changes_groups(norm: str) -> None:
    model, domain, layout = declared("replace", norm)
    steps = np.array([float(g / w) for g, w in zip(layout.grid, layout.width, strict=True)])
    change = np.abs(moved(CORNER, {**CORNER, "region": "south"}, norm) * steps)
    # the indicator of another label is a product of its own: nothing is larger
    size, most = change.sum(), layout.l1_sensitivity
    if norm == "l2":
        size, most = np.sqrt((change**2).sum()), layout.l2_sensitivity
    assert size == pytest.approx(float(most), rel=1e-3)
    # controls: the noise of one group, or of a record that stays in its group, would not do
    block = model.model.layout(domain, "add_remove")
    stays = model.model.layout(domain, "replace")
    assert change.sum() > 1.9 * float(block.l1_sensitivity)
    assert change.sum() > 1.02 * float(stays.l1_sensitivity)
    assert np.sqrt((change**2).sum()) > 1.4 * float(block.l2_sensitivity)
    # and twice that of one group, which holds for any vector, would be more than is needed
    assert float(layout.l2_sensitivity) < 1.42 * float(block.l2_sensitivity)
    assert model.model.replaced_l2(domain) == stays.l2_sensitivity


@pytest.mark.parametrize("corner", list(product([18.0, 100.0], [9.5, 50.0], [60.0, 200.0])))
def test_a_record_that_stays_is_within_the_bound(corner: tuple[float, ...]) -> None:
    other = {**CORNER, **dict(zip(("age", "bmi", "bp"), corner, strict=True)), "ward": "b"}
    for norm in ("l1", "l2"):
        _, _, layout = declared("replace", norm)
        steps = np.array([float(g / w) for g, w in zip(layout.grid, layout.width, strict=True)])
        change = np.abs(moved(CORNER, other, norm) * steps)
        assert change.sum() <= layout.l1_sensitivity
        assert np.sqrt((change**2).sum()) <= layout.l2_sensitivity


def test_what_is_charged_is_what_the_noise_is_worth(tmp_path: Path) -> None:
    """The privacy loss of the worst pair is the budget, and a part in a thousand less at most."""
    table = {c: [CORNER[c]] * 5 for c in COLUMNS}
    asked: Any = {"by": ["region", "sex"], "groups": GROUPS}
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", dc.PureDP(1))
    ledger.open("clinic")
    made = dc.release(table, a_model(), epsilon=1, ledger=ledger, dataset="clinic", **asked)
    assert made.guarantee == dc.PureDP(1)
    assert ledger.account("clinic").spent == {"epsilon": 1}
    scales = np.array([one.width for one in made.noise])
    loss = (np.abs(moved(CORNER, {**CORNER, "region": "south"}, "l1")) / scales).sum()
    assert 0.999 < loss <= 1
    made = dc.release(table, a_model(), mechanism="gaussian", rho=0.25, **asked)
    scales = np.array([one.width for one in made.noise])
    change = moved(CORNER, {**CORNER, "region": "south"}, "l2")
    assert 0.999 * 0.25 < (change**2 / (2 * scales**2)).sum() <= 0.25
    # a record that enters or leaves moves one group, which has the noise of the whole budget then
    alone = dc.release(table, a_model(), epsilon=1, neighbors="add_remove", **asked)
    scales = np.array([one.width for one in alone.noise])
    model, domain, layout = declared("add_remove", "l1")
    added = np.array(sum_group_products({c: [CORNER[c]] for c in COLUMNS}, model, domain, layout).values)
    assert 0.999 < (np.abs(added) / scales).sum() <= 1


def test_people_in_several_groups() -> None:
    model, domain, _ = declared("replace", "l2")
    wide = read_groups(model.model, ["region", "sex"], GROUPS, 3)
    one, three = model.layout(domain, "replace"), wide.layout(domain, "replace")
    assert float(three.l2_sensitivity / one.l2_sensitivity) == pytest.approx(np.sqrt(3))
    assert three.l1_sensitivity == 3 * one.l1_sensitivity
    table = {c: [CORNER[c]] * 6 for c in COLUMNS} | {
        "region": ["north", "south", "north", "north", "south", "elsewhere"],
        "id": ["p", "p", "p", "q", "q", "r"],
    }
    rules = {"bp": "mean", "age": "max", "bmi": "max", "ward": "max"}
    made = dc.release(
        table, a_model(), epsilon=1e4, unit="id", per_unit=rules, max_groups=2,
        by=["region", "sex"], groups=GROUPS,
    )  # fmt: skip
    assert made.records == 3
    assert made.guarantee == dc.PureDP(10_000, unit="id")
    parts = made.by_group()
    usable = {name: round(part.totals.values[-1]) for name, part in parts.items()}
    assert usable["north, f"] == usable["south, f"] == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "region"}, "by needs groups"),
        ({"by": "county", "groups": ["a"]}, "there is no column 'county'"),
        ({"by": "ward", "groups": ["a"]}, "cannot be the one that is learned about"),
        ({"by": "region", "groups": ["a", "a"]}, "is repeated"),
        ({"by": "region", "groups": REGIONS, "bounds": (0, 1)}, "leave out bounds"),
        ({"by": "region", "groups": REGIONS, "where": "age > 20"}, "where is for noisy totals of a family"),
        (
            {"by": "region", "groups": REGIONS, "mechanism": dc.mechanisms.NoisySGD(rho=1), "epsilon": None},
            "reads records",
        ),
    ],
)
def test_bad_groups(options: dict[str, Any], said: str) -> None:
    table = {c: [CORNER[c]] for c in COLUMNS}
    asked: dict[str, Any] = {"epsilon": 1, **options}
    with pytest.raises(dc.DiscreetError, match=said):
        dc.release(table, a_model(), **asked)


def test_a_logistic_regression_on_labels_says_that_it_has_no_groups() -> None:
    model = dc.models.LogisticRegression({"sex": ["f", "m"]}, {"ward": ["a", "b", "c"]})
    table = {c: [CORNER[c]] for c in COLUMNS}
    with pytest.raises(dc.DiscreetError, match="is not released by groups"):
        dc.release(table, model, by="region", groups=REGIONS, epsilon=1)

"""A person in several groups: one record in each of at most g of them, and the joint sensitivity of all."""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.sources.people import MemberRows
from discreet.data.summaries.group_sums import sum_groups
from discreet.data.summaries.sums import Summary, summarize
from discreet.domain.unit import Unit, read_unit
from discreet.models.grouped import Grouped, read_groups
from tests.data.builders import declarations
from tests.data.test_groups import CASES, REGIONS, rows
from tests.data.test_neighbors import assert_bounded
from tests.data.test_people import dressed

KEY = bytes(range(32))


def declared(case: str, g: int, neighbors: str = "add_remove", rule: str | None = None) -> tuple[Any, ...]:
    family, bounds, column = CASES[case]
    model = read_groups(family, ["region", "sex"], {"region": REGIONS, "sex": ["f", "m"]}, g)
    domain, _ = declarations(family, bounds, "clip" if bounds else "redact", "count")
    allowed = model.unit_rules
    unit = read_unit(
        "id",
        rule or allowed[0][0],
        allowed=allowed,
        names=[column],
        bounds=model.record_bounds(domain),
        last_by="t" if rule == "last" else None,
        model=model.name,
    )
    return model, domain, model.layout(domain, neighbors), column, unit  # pyright: ignore[reportArgumentType]


def counted(table: Any, model: Grouped, domain: Any, layout: Any, column: str, unit: Unit, g: int) -> Summary:
    return sum_groups(MemberRows(table, unit, g, KEY), model, domain, layout, [column, "region", "sex"])


@pytest.mark.parametrize("case", CASES)
def test_every_source_chooses_the_same_groups(case: str, tmp_path: Path, rng: np.random.Generator):
    table = {**rows(rng), "t": rng.integers(0, 5, 900).tolist()}
    table["id"][0] = "é"
    model, domain, layout, column, unit = declared(case, 2, rule="last")
    found = {
        name: counted(source, model, domain, layout, column, unit, 2)
        for name, source in dressed(table, tmp_path).items()
    }
    assert len(set(found.values())) == 1, found
    assert found["csv"].n_records == len(set(table["id"]))


def test_groups_are_chosen_by_hash(rng: np.random.Generator):
    """Against a choice in Python: which groups of each person count, and the largest value there."""
    table = rows(rng)
    model, domain, layout, column, unit = declared("mean", 2, rule="max")
    held: dict[str, dict[tuple[int, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    for one, region, sex, x in zip(table["id"], table["region"], table["sex"], table["x"], strict=True):
        if region in REGIONS and sex is not None:
            held[one][REGIONS.index(region), "fm".index(sex)].append(np.nan if x is None else x)
    mine: dict[tuple[int, int], list[float]] = defaultdict(list)
    for one, groups in held.items():

        def order(group: tuple[int, int], one: str = one) -> str:
            text = KEY + f"{len(one)}:{one}{group[0]}:{group[1]}:0".encode()
            return hashlib.sha256(text).hexdigest()

        for group in sorted(groups, key=order)[:2]:
            mine[group].append(max(groups[group], key=lambda x: -1e308 if np.isnan(x) else x))
    block = model.model.layout(domain, "add_remove")
    truth = [
        summarize(mine[g], model.model, domain, block).values for g in itertools.product(range(3), range(2))
    ]
    found = counted(table, model, domain, layout, column, unit, 2)
    assert found.values == tuple(itertools.chain(*truth))


row = st.tuples(
    st.sampled_from([*REGIONS, None]),
    st.sampled_from(["f", "m"]),
    st.one_of(st.none(), st.floats(), st.floats(-5, 105)),
    st.sampled_from(["yes", "no", "maybe", None]),
    st.floats(0, 3),
)
SCHEMA = {
    "id": pl.String, "region": pl.String, "sex": pl.String, "x": pl.Float64, "y": pl.String, "t": pl.Float64,
}  # fmt: skip
ENGINES = {
    "pandas": pd.DataFrame,
    "polars": lambda table: pl.DataFrame(table, schema=SCHEMA),
    "duckdb": lambda table: duckdb.from_arrow(pl.DataFrame(table, schema=SCHEMA).to_arrow()),
}


@settings(max_examples=20, derandomize=True, deadline=None)
@given(
    engine=st.sampled_from(list(ENGINES)),
    case=st.sampled_from(list(CASES)),
    at=st.integers(0, 9),
    rest=st.lists(st.tuples(st.sampled_from(["a", "b", None]), row), max_size=5),
    old=st.lists(row, min_size=1, max_size=9),
    new=st.lists(row, min_size=1, max_size=9),
    g=st.integers(1, 4),
    neighbors=st.sampled_from(["replace", "add_remove"]),
)
def test_a_person_in_many_groups_moves_the_totals_by_the_sensitivity(
    engine, case, at, rest, old, new, g, neighbors
):
    rules = CASES[case][0].unit_rules[0]
    model, domain, layout, column, unit = declared(case, g, neighbors, rules[at % len(rules)])

    def summary(held: list[Any], name: str) -> Summary:
        mixed = [*rest, *((name, one) for one in held)]
        table = {"id": [name for name, _ in mixed]}
        table |= {c: [one[i] for _, one in mixed] for i, c in enumerate(list(SCHEMA)[1:])}
        return counted(ENGINES[engine](table), model, domain, layout, column, unit, g)

    before = summary(old, "z")
    after = summary(new, "y") if neighbors == "replace" else summary([], "z")
    assert before.n_records - after.n_records == (neighbors == "add_remove")
    assert_bounded(before, after, layout)


def test_a_person_in_all_groups_needs_the_sensitivity_of_all():
    """The control: the sensitivity of one group is exceeded, that of so many groups is reached."""
    table = {
        "id": ["a"] * 6,
        "x": [100.0] * 6,
        "y": ["yes"] * 6,
        "sex": ["f", "m"] * 3,
        "region": sorted(REGIONS * 2),
    }
    nobody = {name: [] for name in table}
    model, domain, layout, column, unit = declared("mean", 6, rule="max")
    before = counted(table, model, domain, layout, column, unit, 6)
    after = counted(
        {**nobody, "id": ["b"], "x": [None], "y": [""], "sex": ["f"], "region": [""]},
        *declared("mean", 6, rule="max"),
        6,  # pyright: ignore[reportCallIssue]
    )
    moved = sum(abs(a - b) for a, b in zip(before.values, after.values, strict=True)) / 2**24
    assert moved == 6
    assert 6 <= layout.l1_sensitivity < 6.001
    one = read_groups(dc.Mean(), ["region", "sex"], {"region": REGIONS, "sex": ["f", "m"]}, 1)
    with pytest.raises(AssertionError):
        assert_bounded(before, after, one.layout(domain, "add_remove"))


def test_a_release_says_in_how_many_groups(tmp_path: Path, rng: np.random.Generator):
    table = rows(rng)
    made = dc.release(
        table, dc.Bernoulli(), column="y", unit="id", per_unit="any", by="region", groups=REGIONS, max_groups=2,
        epsilon=1,
    )  # fmt: skip
    assert made.records == len(set(table["id"]))
    assert "one record in each of at most 2 groups, chosen by a hash" in made.statement()
    made.save(tmp_path / "groups.json")
    assert dc.Release.load(tmp_path / "groups.json") == made
    assert set(dc.infer(made, rng=1, draws=400)) == set(REGIONS)  # pyright: ignore[reportArgumentType]
    alone = dc.release(
        table, dc.Bernoulli(), column="y", unit="id", per_unit={"y": "any", "region": "max"}, by="region",
        groups=REGIONS, epsilon=1,
    )  # fmt: skip
    assert made.noise_record.sensitivity == 2 * alone.noise_record.sensitivity


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "r", "groups": ["a"], "max_groups": 2}, "give unit and by too"),
        ({"unit": "id", "per_unit": "max", "max_groups": 2}, "give unit and by too"),
        (
            {"unit": "id", "per_unit": "max", "by": "r", "groups": ["a"], "max_groups": 0},
            "max_groups must be",
        ),
        ({"unit": "id", "max_rows": 3, "by": "r", "groups": ["a"], "max_groups": 2}, "whatever their groups"),
        ({"unit": "id", "per_unit": "max", "by": "id", "groups": ["a"], "max_groups": 2}, "or make groups"),
        ({"unit": "id", "max_rows": 3, "by": "id", "groups": ["a"]}, "or make groups"),
        ({"unit": "id", "max_rows": 3, "by": "r", "groups": ["a", "a "]}, "differ in more than blanks"),
    ],
)
def test_bad_declarations(options: dict[str, Any], said: str):
    table = {"id": ["a"], "x": [1.0], "r": ["a"]}
    with pytest.raises(dc.DiscreetError, match=said):
        dc.release(table, dc.Mean(), column="x", bounds=(0, 1), epsilon=1, **options)

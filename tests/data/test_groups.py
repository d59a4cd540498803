"""All groups of a table at once: the same integers everywhere, and one record moves them by the joint sensitivity."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.summaries.group_sums import sum_groups
from discreet.data.summaries.sums import Summary, summarize
from discreet.models.grouped import Grouped, read_groups
from tests.data.builders import declarations
from tests.data.test_neighbors import assert_bounded
from tests.data.test_people import dressed

REGIONS = ["north", "south", "west"]
CASES: dict[str, tuple[Any, Any, str]] = {
    "mean": (dc.Mean(), (-3, 100), "x"),
    "poisson": (dc.Poisson(), (0, 7), "x"),
    "bernoulli": (dc.Bernoulli(), None, "y"),
    "categorical": (dc.Categorical(["yes", "no", "maybe"]), None, "y"),
}


def declared(case: str, neighbors: str = "replace") -> tuple[Grouped, Any, Any, str]:
    family, bounds, column = CASES[case]
    model = read_groups(family, ["region", "sex"], {"region": REGIONS, "sex": ["f", "m"]})
    domain, _ = declarations(family, bounds, "clip" if bounds else "redact", "count")
    return model, domain, model.layout(domain, neighbors), column  # pyright: ignore[reportArgumentType]


def rows(rng: np.random.Generator, n: int = 900) -> dict[str, list[Any]]:
    return {
        "region": rng.choice([*REGIONS, "nowhere", ""], n).tolist(),
        "sex": rng.choice(np.array(["f", "m", None], dtype=object), n).tolist(),
        "x": rng.choice(np.array([None, 1e300, -1e300, 100.0, -3.0, 1.5, 4.0], dtype=object), n).tolist(),
        "y": rng.choice(["yes", "no", "maybe", "?"], n).tolist(),
        "id": [f"p{i}" for i in rng.integers(0, 100, n)],
    }


@pytest.mark.parametrize("case", CASES)
def test_every_source_gives_the_totals_of_each_group(case: str, tmp_path: Path, rng: np.random.Generator):
    table = rows(rng)
    model, domain, layout, column = declared(case)
    found = {
        name: sum_groups(source, model, domain, layout, [column, "region", "sex"])
        for name, source in dressed(table, tmp_path).items()
    }
    assert len(set(found.values())) == 1, found
    block = model.model.layout(domain, "add_remove")
    truth: list[int] = []
    for region in REGIONS:
        for sex in ("f", "m"):
            mine = [
                x
                for x, r, s in zip(table[column], table["region"], table["sex"], strict=True)
                if (r, s) == (region, sex)
            ]
            truth += summarize(mine, model.model, domain, block).values  # pyright: ignore[reportArgumentType]
    assert found["csv"].values == tuple(truth)
    assert found["csv"].n_records == len(table["x"])


record = st.fixed_dictionaries(
    {
        "region": st.sampled_from([*REGIONS, "nowhere", None]),
        "sex": st.sampled_from(["f", "m", None]),
        "x": st.one_of(st.none(), st.floats(), st.floats(-5, 105)),
        "y": st.sampled_from(["yes", "no", "maybe", "?", None]),
    }
)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    rest=st.lists(record, max_size=3),
    old=record,
    new=record,
    neighbors=st.sampled_from(["replace", "add_remove"]),
)
def test_one_record_moves_the_groups_by_their_sensitivity(case: str, rest, old, new, neighbors: str):
    model, domain, layout, column = declared(case, neighbors)

    def summary(held: list[dict[str, Any]]) -> Summary:
        table = {name: [one[name] for one in held] for name in ("region", "sex", "x", "y")}
        return sum_groups(table, model, domain, layout, [column, "region", "sex"])

    after = [*rest, new] if neighbors == "replace" else rest
    assert_bounded(summary([*rest, old]), summary(after), layout)


@pytest.mark.parametrize("case", CASES)
def test_the_sensitivity_is_attained_and_that_of_one_group_is_not_enough(case: str):
    """A record that changes groups moves two blocks; what a record that stays moves would be the control."""
    model, domain, layout, column = declared(case)
    value = {"x": [100.0], "y": ["yes"]}[column]
    one, other = (
        sum_groups(
            {column: value, "region": [r], "sex": ["f"]}, model, domain, layout, [column, "region", "sex"]
        )
        for r in ("north", "south")
    )
    moved = [
        abs(Fraction(a - b)) * grid / width
        for a, b, grid, width in zip(one.values, other.values, layout.grid, layout.width, strict=True)
    ]
    assert sum(moved) == pytest.approx(layout.l1_sensitivity, rel=1e-6)
    assert sum(step * step for step in moved) == pytest.approx(layout.l2_sensitivity**2, rel=1e-6)
    within = model.model.layout(domain, "add_remove")
    assert sum(moved) > 1.9 * within.l1_sensitivity


def test_a_release_by_groups(tmp_path: Path, rng: np.random.Generator):
    table = rows(rng, 3000)
    made = dc.release(
        table,
        dc.Bernoulli(),
        column="y",
        by="region",
        groups=[*REGIONS, "empty"],
        epsilon=2,
        dataset="survey",
    )
    assert made.guarantee == dc.PureDP(2)
    assert made.title.startswith("bernoulli model of y by region")
    assert "two noisy totals" not in made.statement()
    assert "for a Bernoulli model in each of four groups" in made.statement()
    made.save(tmp_path / "groups.json")
    posterior: Any = dc.infer(tmp_path / "groups.json", draws=400, rng=rng)
    assert list(posterior) == [*REGIONS, "empty"]
    # a group without a record has noise like any other, and little is known of it: noise of 15 is one in a million
    width = {name: np.ptp(one.interval(0.95)["p"]) for name, one in posterior.items()}
    assert width["empty"] > 2 * width["north"]
    difference = posterior.compare("north", "south").draws["p"]
    assert np.array_equal(difference, posterior["north"].draws["p"] - posterior["south"].draws["p"])
    assert sum(posterior.probability_highest().values()) == pytest.approx(1)
    with pytest.raises(dc.DiscreetError, match="there is no group 'center'"):
        posterior["center"]


def test_a_person_is_in_one_group(rng: np.random.Generator):
    """The rule for the groups' column decides which; nobody is in two."""
    table = rows(rng)
    made = dc.release(
        table,
        dc.Bernoulli(),
        column="y",
        by="region",
        groups=REGIONS,
        unit="id",
        per_unit={"y": "any", "region": "max"},
        epsilon=1e3,
        neighbors="add_remove",
    )
    counted = sum(made.totals.values) * made.totals.grid[0]
    assert counted <= len(set(table["id"]))
    assert made.guarantee == dc.PureDP(1000, neighbors="add_remove", unit="id")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "region"}, "by needs groups"),
        ({"groups": ["a"]}, "groups need by"),
        ({"by": 3, "groups": ["a"]}, "by must be the name of a column"),
        ({"by": "region", "groups": "a"}, "must be a list of labels, or 'private', got 'a'"),
        ({"by": "region", "groups": ["a", " a "]}, "must differ in more than blanks"),
        ({"by": "region", "groups": ["7", "7.0"]}, "the groups '7' and '7.0' of 'region' overlap"),
        ({"by": "region", "groups": [1, "true"]}, "the groups '1' and 'true' of 'region' overlap"),
        (
            {"by": "region", "groups": ["a"], "unit": "id", "per_unit": {"y": "any"}},
            "there is none for 'region'",
        ),
        ({"by": "region", "groups": ["a"], "unit": "id", "per_unit": "any"}, "not for column 'region'"),
        ({"by": "region", "groups": {"sex": ["f"]}}, "the labels of every column in by"),
        ({"by": "region", "groups": ["a", "a"]}, "is repeated"),
        ({"by": "y", "groups": ["yes"]}, "cannot be the one that is learned"),
        ({"by": "area", "groups": ["a"]}, "there is no column 'area'"),
        ({"by": ["region", "region"], "groups": ["a"]}, "named once"),
        ({"by": "region", "groups": 200_000}, "at most 100,000 groups"),
    ],
)
def test_bad_groups(options: dict[str, Any], said: str):
    table = {"region": ["a"], "y": ["yes"], "id": ["p"]}
    with pytest.raises(dc.DiscreetError, match=said):
        dc.release(table, dc.Bernoulli(), column="y", epsilon=1, **options)

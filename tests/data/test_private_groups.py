"""Groups whose labels nobody declared: counted alike everywhere, chosen by noise, and nothing of the others leaves."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.data.sources.filtered import FilteredRows
from discreet.data.summaries.label_members import LabelMembers, count_members
from discreet.domain.unit import Unit
from discreet.domain.where import read_where
from discreet.errors import DataError, ReleaseFileError
from discreet.mechanisms import Laplace
from discreet.mechanisms.private_groups import LabelBudget, choose_groups
from discreet.samplers.secure import SECURE
from tests.data.test_max_groups import ENGINES, SCHEMA
from tests.data.test_people import dressed

KEY = bytes(range(32))
WHO = Unit("id", (), ())
PRIVATE: dict[str, Any] = {"by": "region", "groups": "private", "epsilon": 2, "delta": "1e-6"}


def rows(rng: np.random.Generator, n: int = 600) -> dict[str, list[Any]]:
    regions = ["north", " north ", "south", "é", "7", "", None]
    return {
        "region": rng.choice(
            np.array(regions, dtype=object), n, p=[0.3, 0.1, 0.3, 0.1, 0.1, 0.05, 0.05]
        ).tolist(),
        "number": rng.integers(1, 5, n).tolist(),
        "id": [f"p{i}" for i in rng.integers(0, 80, n)],
        "x": rng.random(n).tolist(),
        "y": rng.choice(["yes", "no"], n).tolist(),
    }


def table_of(found: LabelMembers) -> tuple[dict[str | None, int], int]:
    labels = found.spelled(np.arange(len(found.counts)))
    assert len(set(labels)) == len(labels)
    return dict(zip(labels, found.counts.tolist(), strict=True)), found.n_records


@pytest.mark.parametrize(("column", "g"), [("region", None), ("number", None), ("region", 1), ("number", 2)])
def test_every_source_counts_the_same_people(
    column: str, g: int | None, tmp_path: Path, rng: np.random.Generator
):
    table = rows(rng)
    if g is not None:
        # text of different sources is hashed in different forms beyond ASCII
        table["region"] = ["e" if label == "é" else label for label in table["region"]]
    where = read_where("y = 'yes'")
    assert where is not None
    sources = {name: source for name, source in dressed(table, tmp_path).items() if name != "stream"}
    found = {
        name: table_of(
            count_members(FilteredRows(source, where), column, None if g is None else WHO, g or 1, KEY)
        )
        for name, source in sources.items()
    }
    first = found["pandas"]
    assert all(one == first for one in found.values()), found
    labels = [
        (one, str(label).strip())
        for label, one, y in zip(table[column], table["id"], table["y"], strict=True)
        if y == "yes" and label is not None and str(label).strip()
    ]
    if g is None:
        assert first == (dict(Counter(label for _, label in labels)), len(table["id"]))
        return
    people = defaultdict(set)
    for one, label in labels:
        people[one].add(label)
    assert first[1] == len(set(table["id"]))
    assert sum(first[0].values()) == sum(min(g, len(held)) for held in people.values())
    assert all(n <= sum(label in held for held in people.values()) for label, n in first[0].items())


def test_a_stream_cannot_be_read_twice(rng: np.random.Generator):
    import pyarrow as pa

    with pytest.raises(dc.DiscreetError, match="a stream of batches can be read once"):
        dc.release(pa.table(rows(rng)).to_reader(), dc.Bernoulli(), column="y", **PRIVATE)


person = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.just(1.0)), max_size=7)


@settings(max_examples=10, derandomize=True, deadline=None)
@given(
    engine=st.sampled_from(list(ENGINES)),
    rest=st.lists(
        st.tuples(st.sampled_from(["p", "q", None]), st.sampled_from(["a", "b", None])), max_size=6
    ),
    old=person,
    new=person,
    g=st.integers(1, 3),
    neighbors=st.sampled_from(["replace", "add_remove"]),
)
def test_a_person_moves_so_many_counts_by_one(engine, rest, old, new, g, neighbors):
    """All rows of a person, in either relation; and the labels that only that person has have one person."""

    def counted(held: list[Any], name: str) -> Counter[str | None]:
        mixed = [*rest, *((name, label) for label, _ in held)]
        table = {c: [None] * len(mixed) for c in SCHEMA}
        table |= {"id": [one for one, _ in mixed], "region": [label for _, label in mixed]}
        return Counter(table_of(count_members(ENGINES[engine](table), "region", WHO, g, KEY))[0])

    before = counted(old, "z")
    after = counted(new, "y") if neighbors == "replace" else counted([], "z")
    moved = {label: after[label] - before[label] for label in {*before, *after}}
    assert all(abs(step) <= 1 for step in moved.values())
    assert sum(map(abs, moved.values())) <= g * (1 + (neighbors == "replace"))
    assert all(before[label] + after[label] == 1 for label in {*before} ^ {*after})


def test_a_person_with_many_rows_counts_once():
    """The control: rows that were counted instead would move a count by more than one."""
    table = {"region": ["a"] * 9, "id": ["p"] * 9}
    assert table_of(count_members(table, "region", WHO, 2, KEY)) == ({"a": 1}, 1)
    assert table_of(count_members(table, "region")) == ({"a": 9}, 9)


# -- releases ---------------------------------------------------------------------------------------


def test_a_label_of_one_person_is_published_as_often_as_delta_says(rng: np.random.Generator):
    """By the noise of releases, with a delta that can be seen."""
    plan = LabelBudget.divided("laplace", 4, "0.2", None)[0].plan("region", 1, "add_remove")
    n = 20_000
    labels, made = choose_groups(
        SECURE, np.ones(n, dtype=np.int64), lambda which: [f"{at}" for at in which], plan, n, alone=True
    )
    assert list(labels) == sorted(labels)
    assert min(made.counts) == plan.threshold
    a = np.exp(-1 / float(plan.scale))
    p = a ** (plan.threshold - 1) / (1 + a)
    assert p <= 0.2
    assert stats.binomtest(len(labels), n, p).pvalue > 1e-5
    # the control: a threshold one lower would have been noticed
    assert stats.binomtest(len(labels), n, p / a).pvalue < 1e-5


def test_the_largest_are_kept_if_there_are_too_many():
    plan = LabelBudget.divided("laplace", 100, "1e-6", None)[0].plan("region", 1, "add_remove")
    counts = np.array([50, 1000, 70, 2000, 1000])
    labels, made = choose_groups(
        SECURE, counts, lambda which: ["a", "b", None, "d,d", "e"], plan, 2, alone=False
    )
    assert labels == ("b", "e")
    assert all(abs(n - 1000) < 50 for n in made.counts)


@pytest.mark.parametrize(
    "options",
    [
        {"model": dc.Bernoulli(), "column": "y"},
        {"model": dc.Bernoulli(), "column": "y", "neighbors": "add_remove", "where": "x < 0.9"},
        {"model": dc.Bernoulli(), "column": "y", "mechanism": "gaussian"},
        {
            "model": dc.Mean(),
            "column": "x",
            "bounds": (0, 1),
            "unit": "id",
            "per_unit": "mean",
            "max_groups": 2,
        },
        {"model": dc.Mean(), "column": "x", "bounds": (0, 1), "unit": "id", "max_rows": 2},
    ],
)
def test_a_release_holds_the_chosen_labels_and_no_other(
    options: dict[str, Any], tmp_path: Path, rng: np.random.Generator
):
    table = rows(rng, 6000)
    table["id"] = [f"p{i}" for i in range(3000)] * 2
    table["region"][7], table["region"][9] = "zzsingle", "zzother, with a comma"
    made = dc.release(
        table, options["model"], **{k: v for k, v in options.items() if k != "model"}, **PRIVATE
    )
    assert made.model.groups == ("7", "north", "south", "é")
    assert "zz" not in made.to_json() + made.statement() + repr(made)
    assert made.guarantee.budgets() == {"epsilon": 2, "delta": dc.ApproxDP(1, "1e-6").delta}
    assert made.guarantee.unit == options.get("unit")
    assert "were not declared" in made.statement()
    assert "declared labels of" not in made.statement()
    made.save(tmp_path / "made.json")
    assert dc.Release.load(tmp_path / "made.json") == made
    posterior: Any = dc.infer(made, rng=1, draws=400)
    assert list(posterior) == ["7", "north", "south", "é"]
    with pytest.raises(dc.DiscreetError, match="cannot be made to tell less"):
        dc.coarsen(made, epsilon=1, delta="1e-7")
    planned = dc.release(
        table, options["model"], **{k: v for k, v in options.items() if k != "model"}, **PRIVATE, explain=True
    )
    assert "zz" not in str(planned)
    assert "north" not in str(planned)
    assert f"published if that is {made.group_selection.threshold}" in str(planned)  # pyright: ignore[reportOptionalMemberAccess]


def test_with_a_declared_column_beside_it(rng: np.random.Generator):
    table = rows(rng, 3000)
    table["region"] = [label if label != "é" else "a, b" for label in table["region"]]
    made = dc.release(
        table, dc.Bernoulli(), column="y", by=["number", "region"],
        groups={"number": [1, 2, 3, 4], "region": "private"}, epsilon=4, delta="1e-6",
    )  # fmt: skip
    assert made.model.groups == tuple(
        f"{n}, {r}" for n, r in itertools.product("1234", ["7", "north", "south"])
    )


def test_nothing_is_published_of_small_groups(rng: np.random.Generator, tmp_path: Path):
    """One line, whatever the labels are; the budget is spent, and the ledger says for nothing."""
    table = {"region": ["secret", "hidden"], "y": ["yes", "no"]}
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", dc.ApproxDP(2, "1e-6"))
    with pytest.raises(DataError, match="no group was published") as refusal:
        dc.release(table, dc.Bernoulli(), column="y", **PRIVATE, ledger=ledger, dataset="d")
    assert not {"secret", "hidden"} & set(str(refusal.value).split())
    assert ledger.account("d").spent == {"epsilon": 2, "delta": dc.ApproxDP(1, "1e-6").delta}
    assert ledger.verify().unreleased
    with pytest.raises(dc.errors.BudgetError):
        dc.release(table, dc.Bernoulli(), column="y", **PRIVATE, ledger=ledger, dataset="d")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delta": None}, "divides a budget of epsilon and delta"),
        ({"epsilon": None, "delta": None, "rho": 1}, "divides a budget of epsilon and delta"),
        ({"mechanism": Laplace(1)}, "divides a budget of epsilon and delta"),
        ({"by": ["region", "number"]}, "the labels of every column in by"),
        (
            {"by": ["region", "number"], "groups": {"region": "private", "number": "private"}},
            "labels of one column",
        ),
        ({"unit": "id", "per_unit": "any"}, "needs max_groups"),
        (
            {"unit": "region", "per_unit": "any", "max_groups": 1},
            "cannot be what is learned too, or make groups",
        ),
        ({"by": "nowhere"}, "there is no column 'nowhere'"),
        ({"epsilon": "1e-20"}, "does not fit 64-bit integers"),
        ({"delta": 0}, "delta must be between 0 and 1"),
    ],
)
def test_bad_declarations(options: dict[str, Any], said: str, rng: np.random.Generator):
    with pytest.raises(dc.DiscreetError, match=said):
        dc.release(rows(rng, 5), dc.Bernoulli(), column="y", **{**PRIVATE, **options})


def test_labels_must_have_a_type_that_makes_groups():
    import pandas as pd

    for values in ([True, False], [pd.Timestamp("2024-01-01")] * 2):
        with pytest.raises(dc.DiscreetError, match="holds neither text nor whole numbers"):
            dc.release(
                pd.DataFrame({"region": values, "y": ["yes", "no"]}), dc.Bernoulli(), column="y", **PRIVATE
            )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda body: body["group_selection"].update(threshold=body["group_selection"]["threshold"] - 1),
            "threshold",
        ),
        (lambda body: body["group_selection"].update(scale="1"), "noise of its choice"),
        (lambda body: body["group_selection"].update(delta="1/10000000"), "another price"),
        (lambda body: body["guarantees"][1].update(delta="1/10000000"), "another price"),
        (lambda body: body["guarantees"].pop(), "paid for exactly"),
        (lambda body: body.pop("group_selection"), "paid for exactly"),
        (lambda body: body["group_selection"]["counts"].__setitem__(0, "3"), "cannot have been chosen"),
        (lambda body: body["group_selection"]["counts"].pop(), "not that of its labels"),
        (lambda body: body["group_selection"].update(column="y"), "not that of its labels"),
        (
            lambda body: body["model"]["parameters"]["by"][0]["labels"].reverse(),
            "statistics do not fit|not that of",
        ),
        (lambda body: body["group_selection"].update(method="guess"), "unknown value"),
    ],
)
def test_files_whose_choice_does_not_support_the_promise_are_refused(
    change, said: str, rng: np.random.Generator
):
    made = dc.release(rows(rng, 3000), dc.Bernoulli(), column="y", **PRIVATE)
    body = json.loads(made.to_json())
    change(body)
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError, match=said):
        dc.Release.from_json(json.dumps(body))


def test_on_the_command_line(tmp_path: Path, rng: np.random.Generator):
    import pandas as pd
    from typer.testing import CliRunner

    from discreet.cli.app import app

    pd.DataFrame(rows(rng, 3000)).to_csv(tmp_path / "rows.csv", index=False)
    common = [
        "release",
        str(tmp_path / "rows.csv"),
        "--model",
        "bernoulli",
        "--column",
        "y",
        "--epsilon",
        "2",
        "--json",
    ]
    made = CliRunner().invoke(
        app,
        [
            *common,
            "--by",
            "region",
            "--groups",
            "private",
            "--delta",
            "1e-6",
            "-o",
            str(tmp_path / "made.json"),
        ],
    )
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["guarantees"]["groups"]["delta"] == "1/1000000"
    assert dc.Release.load(tmp_path / "made.json").model.groups == ("7", "north", "south", "é")
    for wrong in (["--by", "region"], ["--by", "region=a|b", "--groups", "private", "--delta", "1e-6"]):
        refused = CliRunner().invoke(app, [*common, *wrong, "-o", str(tmp_path / "other.json")])
        assert isinstance(refused.exception, dc.errors.UsageError)

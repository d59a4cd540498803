"""At most k rows of a person count, chosen by hash: the same in every engine, and bounded jointly."""

from __future__ import annotations

import hashlib
import itertools
import math
from fractions import Fraction
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
from discreet.data.sources.chosen_rows import ChosenRows
from discreet.data.summaries.cluster_sums import sum_clusters
from discreet.data.summaries.sums import Summary
from discreet.domain.unit import Unit
from discreet.families.cluster_mean import ClusterMean, checked_weights
from discreet.models.grouped import read_groups
from tests.data.builders import declarations
from tests.data.test_neighbors import assert_bounded
from tests.data.test_people import dressed, rows

BOUNDS = (-3, 100)
KEY = bytes(range(32))
T, V = 2**24, 2**20


def totals(
    table: Any,
    model: Any,
    neighbors: Any = "add_remove",
    *,
    key: bytes = KEY,
    null: Any = "leave_out",
    unit: str = "id",
) -> Summary:
    domain, layout = declarations(model, BOUNDS, "clip", "count", neighbors)
    return sum_clusters(
        ChosenRows(table, Unit(unit, (), (), None, null), key),
        model,
        domain,
        layout,
        model.read_columns(("x",)),
    )


def by_hand(table: dict[str, list[Any]], k: int, *, key: bytes = KEY) -> tuple[int, tuple[int, ...]]:
    """Choose and add up in Python, with its own SHA-256 and its own integers."""
    people: dict[str, list[int]] = {}
    for one, x in zip(table["id"], table["x"], strict=True):
        if one is None or not str(one).strip():
            continue
        held = people.setdefault(str(one).strip(), [])
        if x is not None and not math.isnan(x):
            z = (min(max(x, -3.0), 100.0) - 48.5) * (1 / 51.5)
            held.append(math.floor((z * 0.5 + 0.5) * T + 0.5))
    found = [0] * 6
    d = 2**48 // ClusterMean(k).cluster_steps
    for one, held in people.items():
        name = one.encode()

        def order(row: tuple[int, int], name: bytes = name) -> str:
            t, copy = row
            text = key + f"{len(name)}:".encode() + name + f"{t}:{V}:0:{copy}".encode()
            return hashlib.sha256(text).hexdigest()

        copies = [(t, copy) for t in set(held) for copy in range(held.count(t))]
        chosen = [t for t, _ in sorted(copies, key=order)[:k]]
        m, h = T * len(chosen), sum(chosen)
        q = sum((t * t + T // 2) // T for t in chosen)
        low, high, all_ = (m - h) ** 2 // d, h * h // d, m * m // d
        for at, more in enumerate((m - 2 * h + q, 2 * (h - q), q, low, all_ - low - high, high)):
            found[at] += more
    return len(people), tuple(found[: 6 if k > 1 else 3])


@pytest.mark.parametrize("k", [1, 3, 100])
def test_every_source_chooses_the_same_rows(k: int, tmp_path: Path, rng: np.random.Generator):
    table = rows(rng)
    table["id"][3:6] = ["é", " é ", "日本"]
    found = {name: totals(source, ClusterMean(k)) for name, source in dressed(table, tmp_path).items()}
    assert len(set(found.values())) == 1, found
    (first,) = set(found.values())
    assert (first.n_records, first.values) == by_hand(table, k)
    assert totals(table, ClusterMean(k), key=bytes(32)).values != first.values or k == 100


def test_whole_numbers_are_keys_as_their_text(rng: np.random.Generator):
    ids, x = rng.integers(0, 40, 500), rng.normal(40, 30, 500)
    tables = [
        pd.DataFrame({"id": ids, "x": x}),
        pl.DataFrame({"id": ids.astype(np.int8), "x": x}),
        pl.DataFrame({"id": ids.astype(float), "x": x}),
        {"id": [str(one) for one in ids], "x": x.tolist()},
        duckdb.from_arrow(pl.DataFrame({"id": ids.astype(str), "x": x}).to_arrow()),
    ]
    assert len({totals(table, ClusterMean(3)) for table in tables}) == 1


def test_order_and_copies_of_rows_make_no_difference():
    """Equal rows are a multiset: which of them counts cannot be seen."""
    table = {"id": ["a"] * 7 + ["b"], "x": [5.0, 5.0, 5.0, 5.0, 90.0, 90.0, 1.0, 2.0]}
    first = totals(table, ClusterMean(3))
    for order in itertools.islice(itertools.permutations(range(8)), 0, 40_000, 3_989):
        shuffled = {name: [column[at] for at in order] for name, column in table.items()}
        assert totals(shuffled, ClusterMean(3)) == first


def test_a_value_that_is_there_often_counts_often(rng: np.random.Generator):
    """Of nine rows at one bound and one at the other, a row that counts is at the first in nine releases of ten."""
    n = 2000
    table = pl.DataFrame({"id": np.repeat(np.arange(n), 10), "x": np.tile([-3.0] * 9 + [100.0], n)})
    high = totals(table, ClusterMean(2), key=rng.bytes(32)).values[2] / T
    # hypergeometric: each person has the tenth row among two with probability 1/5
    assert abs(high - n / 5) < 4 * math.sqrt(n * 0.2 * 0.8)


def test_rows_without_a_unit_are_people_of_their_own():
    table = {"id": [None, "a", None, "a", "", "a"], "x": [1.0, 2.0, 3.0, 4.0, 5.0, None]}
    assert totals(table, ClusterMean(2)).n_records == 1
    alone = totals(table, ClusterMean(2), null="own")
    assert alone.n_records == 4
    # five rows with a value count: two of a, three alone
    assert sum(alone.values[:3]) == 5 * T
    steps = ClusterMean(2).cluster_steps
    assert sum(alone.values[3:]) == (4 + 3) * steps


@pytest.mark.parametrize("n", [10**5, pytest.param(10**6, marks=pytest.mark.slow)])
def test_a_person_of_very_many_rows_is_one_person(n: int):
    table = pl.DataFrame({"id": np.repeat([1, 2], [n, 3]), "x": np.full(n + 3, 100.0)})
    found = totals(table, ClusterMean(5))
    assert found.n_records == 2
    assert found.values[:3] == (0, 0, 8 * T)


values = st.one_of(st.none(), st.floats(), st.floats(-5, 105), st.sampled_from([-3.0, 100.0, 48.5]))
weights = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1.0, 4.0]))
row = st.tuples(values, weights, st.sampled_from(["u", "v", None]))
others = st.lists(st.tuples(st.sampled_from(["a", "b", None]), row), max_size=6)
ENGINES = {
    "pandas": pd.DataFrame,
    "polars": lambda table: pl.DataFrame(table, schema=SCHEMA),
    "duckdb": lambda table: duckdb.from_arrow(pl.DataFrame(table, schema=SCHEMA).to_arrow()),
}
SCHEMA = {"id": pl.String, "x": pl.Float64, "w": pl.Float64, "g": pl.String}


def models(k: int) -> dict[str, Any]:
    weighed = ClusterMean(k, checked_weights("w", (Fraction(0), Fraction(4))))
    return {
        "rows": ClusterMean(k),
        "weights": weighed,
        "groups": read_groups(ClusterMean(k), "g", ["u", "v"]),
        "both": read_groups(weighed, "g", ["u", "v"]),
    }


@settings(max_examples=20, derandomize=True, deadline=None)
@given(
    engine=st.sampled_from(list(ENGINES)),
    kind=st.sampled_from(["rows", "weights", "groups", "both"]),
    rest=others,
    old=st.lists(row, min_size=1, max_size=8),
    new=st.lists(row, min_size=1, max_size=8),
    k=st.integers(1, 5),
    neighbors=st.sampled_from(["replace", "add_remove"]),
)
def test_all_rows_of_a_person_move_the_totals_by_the_sensitivity(
    engine: str, kind: str, rest, old, new, k, neighbors
):
    model = models(k)[kind]
    domain, layout = declarations(model, BOUNDS, "clip", "count", neighbors)

    def summary(held: list[Any], name: str) -> Summary:
        mixed = [*rest, *((name, one) for one in held)]
        table = {
            "id": [name for name, _ in mixed],
            **{c: [one[at] for _, one in mixed] for at, c in enumerate("xwg")},
        }
        people = ChosenRows(ENGINES[engine](table), Unit("id", (), ()), KEY)
        return sum_clusters(people, model, domain, layout, model.read_columns(("x",)))

    before = summary(old, "z")
    after = summary(new, "y") if neighbors == "replace" else summary([], "z")
    assert before.n_records - after.n_records == (neighbors == "add_remove")
    assert_bounded(before, after, layout)


def persons(k: int) -> list[tuple[float, ...]]:
    """Return (m, h, q) of all persons of 0 to k rows on a grid of values."""
    grid = np.linspace(0, 1, 9)
    return [
        (n, sum(held), sum(t * t for t in held))
        for n in range(k + 1)
        for held in itertools.combinations_with_replacement(grid, n)
    ]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_sensitivity_is_attained_and_never_exceeded(k: int):
    """Exact search over all pairs of persons; k times the sensitivity of one row is not enough."""
    m, h, q = np.array(persons(k)).T
    each = np.stack(
        [m - 2 * h + q, 2 * (h - q), q, *(x / (2 * k) for x in ((m - h) ** 2, 2 * h * (m - h), h**2))], 1
    )
    domain = declarations(ClusterMean(k), BOUNDS, "clip", "count")[0]
    one_row = ClusterMean(1).layout(domain, "replace").l1_sensitivity
    for neighbors, between in (
        ("add_remove", np.abs(each)),
        ("replace", np.abs(each[:, None] - each[None]).reshape(-1, 6)),
    ):
        layout = ClusterMean(k).layout(domain, neighbors)  # pyright: ignore[reportArgumentType]
        assert between.sum(1).max() == pytest.approx(float(layout.l1_sensitivity), abs=1e-9)
        assert np.sqrt((between**2).sum(1).max()) == pytest.approx(float(layout.l2_sensitivity), abs=1e-9)
        if neighbors == "replace":
            assert float(k * one_row) < between.sum(1).max()
            assert float(k * dc.Mean().layout(domain, "replace").l1_sensitivity) < between.sum(1).max()


@pytest.mark.parametrize("k", [1, 2, 5])
def test_sums_of_z_and_rows_move_by_three_k_less_three_quarters(k: int):
    """The coordinates (sum z, sum z^2, rows): 14.25 for five rows a person, not five times 2.25."""
    grid = np.linspace(-1, 1, 9)
    found = np.array(
        [
            (sum(held), sum(z * z for z in held), n)
            for n in range(1, k + 1)
            for held in itertools.combinations_with_replacement(grid, n)
        ]
    )
    # the farthest pair of points in L1 is found by signs
    signs = np.array(list(itertools.product([1, -1], repeat=3)))
    reach = np.ptp(found @ signs.T, axis=0).max()
    assert reach == 3 * k - 0.75
    assert (reach > k * 2.25) == (k > 1)


def test_a_release_says_how_many_rows_count(tmp_path: Path, rng: np.random.Generator):
    table = rows(rng)
    made = dc.release(table, dc.Mean(), column="x", bounds=BOUNDS, unit="id", max_rows=4, epsilon=2)
    assert made.guarantee == dc.PureDP(2, unit="id")
    assert made.max_rows == 4
    assert made.records == len({one for one in table["id"] if one is not None})
    assert "at most 4 rows of each person counted, chosen by a hash" in made.statement()
    assert "how many rows there were is itself protected" in made.statement()
    made.save(tmp_path / "people.json")
    assert dc.Release.load(tmp_path / "people.json") == made
    posterior = dc.infer(made, rng=1)
    assert set(posterior.draws) == {"mean", "sd"}
    assert set(posterior.table.draws) == {"usable", "sum", "mean", "design_effect"}  # pyright: ignore[reportOptionalMemberAccess]


def test_forged_numbers_of_rows_are_refused(rng: np.random.Generator):
    import json

    from discreet.artifact.codec import checksum

    made = dc.release(rows(rng), dc.Mean(), column="x", bounds=BOUNDS, unit="id", max_rows=4, epsilon=2)
    for forge in (
        lambda body: body.update(max_rows=1),
        lambda body: body["model"]["parameters"].update(max_rows=1),
        lambda body: body["model"]["parameters"].update(max_rows=True),
        lambda body: body.update(unit=None),
        lambda body: body["mechanism"].update(sensitivity="4"),
    ):
        body = json.loads(made.to_json())
        forge(body)
        body["sha256"] = checksum(body)
        with pytest.raises(dc.errors.ReleaseFileError):
            dc.Release.from_json(json.dumps(body))


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        (dc.Mean(), {"max_rows": 3}, "need unit"),
        (
            dc.Mean(),
            {"unit": "id", "max_rows": 0},
            "max_rows must be a whole number from 1 to 10000, got max_rows=0",
        ),
        (dc.Mean(), {"unit": "id", "max_rows": 2.5}, "max_rows must be"),
        (dc.Mean(), {"unit": "id", "max_rows": True}, "max_rows must be"),
        (dc.Mean(), {"unit": "id", "max_rows": 2, "per_unit": "sum"}, "give one or the other"),
        (dc.Mean(), {"unit": "x", "max_rows": 2}, "says whose a row is"),
        (dc.Mean(), {"unit": "nobody", "max_rows": 2}, "there is no column 'nobody'"),
        (dc.Mean(), {"unit": "id", "max_rows": 2, "fit_check": 0.2}, "fit_check"),
        (dc.Normal(), {"unit": "id", "max_rows": 2}, "do not say how alike rows of one person are"),
        (dc.Histogram(bins=4), {"unit": "id", "max_rows": 2}, "takes no max_rows"),
    ],
)
def test_bad_declarations(model: Any, options: dict[str, Any], said: str):
    with pytest.raises(dc.DiscreetError, match=said):
        dc.release({"id": ["a"], "x": [1.0]}, model, column="x", bounds=(0, 1), epsilon=1, **options)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_tables_of_next_to_no_rows_are_read(neighbors: Any):
    """A few rows, one, and none that is usable: no warning, and an interval within the bounds."""
    for x in ([1.0, 2.0, None], [None], [5.0]):
        table = {"id": ["a"] * len(x), "x": x}
        made = dc.release(
            table,
            dc.Mean(),
            column="x",
            bounds=(0, 10),
            unit="id",
            max_rows=2,
            epsilon=50,
            neighbors=neighbors,
        )
        low, high = np.quantile(dc.infer(made, rng=1, draws=400).draws["mean"], [0.025, 0.975])
        assert 0 <= low <= high <= 10


@pytest.mark.parametrize("data", [[1.0, 2.0], [(1.0, 2.0)], np.ones((3, 2))])
def test_a_unit_needs_names(data: Any):
    """Columns of a list go by their order, and a column of numbers must not become the unit unasked."""
    with pytest.raises(dc.DiscreetError, match="these data have no names"):
        dc.release(data, dc.Mean(), column="x", bounds=(0, 1), unit="id", max_rows=2, epsilon=1)
    with pytest.raises(dc.DiscreetError, match="name the column"):
        dc.release({"id": ["a"], "x": [1.0]}, dc.Mean(), bounds=(0, 1), unit="id", max_rows=2, epsilon=1)

"""Releases about disjoint parts of a data set: what counts, for every pair of neighbors, and who decides."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.sources.filtered import FilteredRows
from discreet.data.summaries.sums import summarize
from discreet.domain.where import read_where
from discreet.errors import BudgetError, UsageError
from discreet.ledger.filters import Terms, Totals, added, fits, read_terms, read_totals, spent, terms_of
from discreet.ledger.partitions import part_of, read_partition
from tests.data.builders import declarations

REGIONS = ["north", "south", "west"]
TABLE = {"region": ["north", "south", "west", "west"] * 5, "sex": ["f", "m"] * 10, "y": ["yes", "no"] * 10}


def partitioned(budget: Any, key: Any = "private", **options: Any) -> Terms:
    base = terms_of(budget, **options)
    return Terms(base.budget, base.renyi_share, base.orders, (read_partition("region", REGIONS, key),))


def where(region: str) -> str:
    return f"region = '{region}'"


def release(
    ledger: dc.Ledger, epsilon: Any = "0.5", neighbors: Any = "add_remove", **options: Any
) -> dc.Release:
    return dc.release(
        TABLE,
        dc.Bernoulli(),
        column="y",
        epsilon=epsilon,
        neighbors=neighbors,
        ledger=ledger,
        dataset="d",
        **options,
    )


def test_four_releases_about_parts_cost_what_one_does(url: str):
    """The issue's own case: without a partition the third is refused."""
    budget = dc.PureDP(1, neighbors="add_remove")
    plain = dc.Ledger(url, budget=budget)
    plain.open("other")
    plain.open("d")
    account = plain.declare_partition("d", "region", REGIONS)
    assert account.terms.partitions[0].labels == tuple(REGIONS)
    made = [release(plain, where=where(region)) for region in REGIONS]
    assert plain.account("d").spent == {"epsilon": Fraction(1, 2)}
    # more conditions leave less of the part
    made.append(release(plain, "0.1", where="sex = 'f' and region = 'west'"))
    assert plain.account("d").spent == {"epsilon": Fraction(6, 10)}
    assert plain.account("d").remaining == {"epsilon": Fraction(4, 10)}
    made.append(release(plain, "0.4"))
    with pytest.raises(BudgetError, match=r"spent epsilon = 1; asked epsilon = 0.1; remaining epsilon = 0"):
        release(plain, "0.1", where=where("west"))
    # there is room in a part that had less
    made.append(release(plain, "0.1", where=where("north")))
    found = plain.verify(against=made)
    assert found.passed, found.problems
    assert [step.spent["epsilon"] for step in history(plain)] == [
        Fraction(n, 10) for n in (5, 5, 5, 6, 10, 10)
    ]
    for _ in range(2):
        plain.charge("other", dc.PureDP("0.5", neighbors="add_remove"), where=where("north"))
    with pytest.raises(BudgetError):
        plain.charge("other", dc.PureDP("0.5", neighbors="add_remove"), where=where("south"))


def history(ledger: dc.Ledger) -> Any:
    from discreet.ledger.history import history

    return history(ledger)


@pytest.mark.parametrize(("key", "counts"), [("private", 2), ("public", 1)])
def test_under_replace_two_parts_count_unless_the_key_is_public(key: Any, counts: int, tmp_path: Any):
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", dc.PureDP(1))
    ledger.open("d")
    ledger.declare_partition("d", "region", REGIONS, key=key)
    for epsilon, region in [("0.3", "north"), ("0.5", "south"), ("0.2", "west")]:
        release(ledger, epsilon, "replace", where=where(region))
    assert ledger.account("d").spent == {"epsilon": Fraction(1, 2) + (counts == 2) * Fraction(3, 10)}
    assert ledger.verify().passed


@pytest.mark.parametrize(
    "condition",
    [None, "sex = 'f'", "region = 'north' or region = 'south'", "region != 'north'", "region = 'east'",
     "(region = 'north' or sex = 'f') and sex = 'm'", "region = 3"],
)  # fmt: skip
def test_what_is_about_no_part_counts_for_the_whole_table(condition: str | None):
    assert part_of([read_partition("region", REGIONS)], read_where(condition)) is None


@pytest.mark.parametrize(
    "condition",
    [
        "region = 'north'",
        "region == ' north '",
        "sex = 'f' and (region = 'north')",
        "region = 'north' and sex = 'f'",
    ],
)
def test_a_filter_names_its_part(condition: str):
    assert part_of([read_partition("region", REGIONS)], read_where(condition)) == ("region", "north")


# -- what counts ------------------------------------------------------------------------------------


charge = st.one_of(
    st.sampled_from([dc.PureDP(e, neighbors="add_remove") for e in ("0.1", "0.4", "1")]),
    st.sampled_from([dc.ZeroConcentratedDP(r, neighbors="add_remove") for r in ("0.01", "0.1")]),
    st.sampled_from([dc.ApproxDP(e, "1e-7", neighbors="add_remove") for e in ("0.1", "0.5")]),
    st.just(dc.RenyiDP([2, 40], ["0.1", "0.3"], neighbors="add_remove")),
)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    charges=st.lists(st.tuples(st.sampled_from([None, *REGIONS]), charge), max_size=8),
    neighbors=st.sampled_from(["add_remove", "replace"]),
)
def test_what_counts_is_at_least_what_any_neighbors_see(charges, neighbors):
    """Against accounts of only those charges that have to do with one part, or with two: the proof, pair by pair."""
    charges = [(region, one.restated(neighbors)) for region, one in charges]
    budget = dc.ApproxDP(50, "1e-5", neighbors=neighbors)
    terms, totals = partitioned(budget), Totals()
    for region, one in charges:
        totals = added(terms, totals, [one], None if region is None else ("region", region))
    assert read_totals(totals.to_json()) == totals
    assert read_terms(terms.to_json()) == terms
    counted = spent(terms, totals)
    for seen in itertools.combinations(REGIONS, 1 + (neighbors == "replace")):
        alone = terms_of(budget)
        # the share of delta that the account fixed, perhaps at a charge that this pair has nothing to do with
        mine = Totals(renyi_delta=totals.renyi_delta, curves=(Fraction(0),) * len(alone.orders))
        for region, one in charges:
            if region is None or region in seen:
                mine = added(alone, mine, [one])
        assert all(counted[name] >= value for name, value in spent(alone, mine).items())
        assert fits(alone, mine) or not fits(terms, totals)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_of_one_kind_exactly_the_largest_parts_count(neighbors: Any, rng: np.random.Generator):
    terms, totals = partitioned(dc.ZeroConcentratedDP(9, neighbors=neighbors)), Totals()
    rhos = {region: Fraction(int(rng.integers(1, 9)), 10) for region in REGIONS}
    for region, rho in rhos.items():
        totals = added(terms, totals, [dc.ZeroConcentratedDP(rho, neighbors=neighbors)], ("region", region))
    totals = added(terms, totals, [dc.ZeroConcentratedDP(1, neighbors=neighbors)])
    largest = sorted(rhos.values(), reverse=True)[: 1 + (neighbors == "replace")]
    assert spent(terms, totals) == {"rho": 1 + sum(largest)}


def test_the_share_of_the_renyi_filter_is_fixed_once_for_all_parts():
    """Approximate charges about one part leave less for the filter, whose share a charge about another part fixes."""
    terms, totals = partitioned(dc.ApproxDP(9, "1e-6", neighbors="add_remove")), Totals()
    totals = added(terms, totals, [dc.ApproxDP(1, "8e-7", neighbors="add_remove")], ("region", "north"))
    totals = added(terms, totals, [dc.ZeroConcentratedDP("0.1", neighbors="add_remove")], ("region", "south"))
    assert totals.renyi_delta == Fraction(2, 10**7)
    assert fits(terms, totals)
    assert not fits(terms, added(terms, totals, [dc.ApproxDP(1, "3e-7", neighbors="add_remove")]))
    south = added(terms, totals, [dc.ApproxDP(1, "7e-7", neighbors="add_remove")], ("region", "south"))
    assert fits(terms, south)


def worst_loss(terms: Terms, sizes: list[Fraction], pick: Any, moves: tuple[Any, Any]) -> float:
    """Return the largest loss of any sequence of answers that an adversary gets, who chooses on the way.

    Each question is randomized response about whether anybody is in a part; ``moves`` are the parts in which the two
    neighboring tables have a record. The adversary asks what the filter allows, and goes on by the answers so far.
    """
    parts = [("region", region) for region in REGIONS]

    def walk(answers: tuple[int, ...], totals: Totals, log_ratio: float) -> float:
        about, size = parts[pick(answers) % 3], sizes[len(answers) % len(sizes)]
        after = added(terms, totals, [dc.PureDP(size, neighbors=terms.budget.neighbors)], about)
        if len(answers) == 7 or not fits(terms, after):
            return abs(log_ratio)
        truth = [about[1] == region for region in moves]
        worst = 0.0
        for answer in (0, 1):
            steps = [math.log(math.exp(size * (answer == t)) / (1 + math.exp(size))) for t in truth]
            worst = max(worst, walk((*answers, answer), after, log_ratio + steps[0] - steps[1]))
        return worst

    return walk((), Totals(), 0.0)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_adversaries_who_adapt_stay_within_the_budget(neighbors: Any, rng: np.random.Generator):
    """And the control: one part instead of two under ``replace`` is overspent."""
    terms = partitioned(dc.PureDP(1, neighbors=neighbors))
    careless = partitioned(dc.PureDP(1, neighbors=neighbors), "public")
    pairs = (
        [(None, region) for region in REGIONS]
        if neighbors == "add_remove"
        else list(itertools.combinations(REGIONS, 2))
    )
    found, overspent = 0.0, 0.0
    for _ in range(6):
        table = rng.integers(0, 3, 256)

        def pick(answers: tuple[int, ...], table: np.ndarray = table) -> int:
            return int(table[int("1" + "".join(map(str, answers)), 2)])

        for pair in pairs:
            found = max(found, worst_loss(terms, [Fraction(1, 4), Fraction(1, 2)], pick, pair))
            overspent = max(overspent, worst_loss(careless, [Fraction(1, 4), Fraction(1, 2)], pick, pair))
    assert 0.7 < found <= 1 + 1e-12
    assert (overspent > 1.2) == (neighbors == "replace")


# -- who decides ------------------------------------------------------------------------------------


def test_parts_share_no_row_whatever_a_cell_holds():
    """Every cell satisfies the filter of one part at most, in columns of text, numbers and flags."""
    labels = ["1", "0", "7", "-3", "north", "nan", "True story"]
    columns = [
        [
            "1",
            "1.0",
            " 1 ",
            "true",
            "TRUE",
            "0",
            "0.0",
            "false",
            "7",
            "7.0",
            "north",
            "-3.0",
            None,
            "",
            "nan",
        ],
        [1, 0, 7, -3, 12],
        [1.0, 0.0, 7.0, -3.0, float("nan"), 0.5, -0.0],
        [True, False],
    ]
    read_partition("region", labels)
    family = dc.Bernoulli()
    domain, layout = declarations(family, None, "redact", "count", neighbors="add_remove")
    filters = [f"region = '{label}'" for label in labels]

    def satisfied(cells: list[Any], text: str) -> int:
        condition = read_where(text)
        assert condition is not None
        table = {"region": cells, "y": ["yes"] * len(cells)}
        return sum(summarize(FilteredRows(table, condition), family, domain, layout, ["y"]).values)

    for cells in columns:
        assert satisfied(cells, " or ".join(filters)) == sum(satisfied(cells, one) for one in filters) > 0
    # the control: a cell with 1.0 is in both of these
    twice = sum(satisfied(["1.0"], f"region = '{label}'") for label in ("1", "1.0"))
    assert twice == 2 * satisfied(["1.0"], "region = '1' or region = '1.0'")


CELLS: dict[str, list[Any]] = {
    "text": ["north", "South", "1", "1.0", " 1 ", "true", "0", "", None, "01", "1e0", "-0", "yes"],
    "whole": [1, 0, 7, None],
    "floats": [1.0, 0.0, -0.0, 0.5, None],
    "flags": [True, False, None],
}
labels_of_parts = st.sampled_from(["north", "South", "1", "0", "yes", "01", "-0", "7"])
spellings = st.sampled_from(
    ["north", "South", "south", "1", "1.0", "true", "TRUE", "0", "0.0", "-0", "01", "yes", "7"]
)
about_region = st.builds("region {} '{}'".format, st.sampled_from(["=", "!="]), spellings)
about_sex = st.sampled_from(["sex = 'f'", "sex != 'f'", "age >= 3", "age < 2"])
conditions = st.recursive(
    st.one_of(about_region, about_region, about_sex),
    lambda inner: st.builds("({}) {} ({})".format, inner, st.sampled_from(["and", "or"]), inner),
    max_leaves=4,
)


@settings(max_examples=12, derandomize=True, deadline=None)
@given(
    labels=st.lists(labels_of_parts, min_size=2, max_size=5, unique=True),
    texts=st.lists(conditions, min_size=2, max_size=3),
    kind=st.sampled_from(list(CELLS)),
)
def test_filters_of_different_parts_share_no_row(labels, texts, kind):
    """Whatever filters are asked for and whatever the cells hold: what the proof needs, in the engine itself."""
    cells = [cell for cell in CELLS[kind] for _ in range(4)]
    n = len(cells)
    table = {
        "region": cells,
        "sex": ["f", "m"] * (n // 2),
        "age": [at % 4 for at in range(n)],
        "row": [f"r{at}" for at in range(n)],
    }
    family = dc.Categorical([f"r{at}" for at in range(n)])
    domain, layout = declarations(family, None, "redact", "count", neighbors="add_remove")
    partition = read_partition("region", labels)
    rows: dict[Any, set[int]] = {}
    for text in texts:
        condition = read_where(text)
        assert condition is not None
        part = part_of([partition], condition)
        counts = summarize(FilteredRows(table, condition), family, domain, layout, ["row"]).values
        rows.setdefault(part, set()).update(np.flatnonzero(counts).tolist())
    rows.pop(None, None)
    assert sum(map(len, rows.values())) == len(set().union(*rows.values()))


def test_charges_about_parts_at_the_same_moment(url: str):
    """Some threads charge parts, some the whole table, and one declares the partition meanwhile: none is overspent."""
    from concurrent.futures import ThreadPoolExecutor

    dc.Ledger(url, dc.PureDP(1, neighbors="add_remove")).open("d")

    def work(at: int) -> bool:
        ledger = dc.Ledger(url)
        if at == 4:
            ledger.declare_partition("d", "region", REGIONS)
            return False
        text = None if at % 4 == 3 else where(REGIONS[at % 3])
        try:
            ledger.charge("d", dc.PureDP("0.125", neighbors="add_remove"), where=text)
        except BudgetError:
            return False
        finally:
            ledger.close()
        return True

    with ThreadPoolExecutor(6) as pool:
        allowed = sum(pool.map(work, range(30)))
    ledger = dc.Ledger(url)
    account = ledger.account("d")
    assert account.spent["epsilon"] <= 1
    assert account.totals.charges == allowed >= 8
    found = ledger.verify()
    assert found.passed, found.problems


@pytest.mark.parametrize(
    "labels", [["1", "1.0"], ["1", "true"], ["a", " a "], ["TRUE", "True"], ["0", "False"], [""]]
)
def test_labels_that_share_rows_are_refused(labels: list[str]):
    with pytest.raises(UsageError):
        read_partition("region", labels)


def test_bad_partitions(tmp_path: Any):
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", dc.PureDP(1))
    with pytest.raises(UsageError, match="no data set"):
        ledger.declare_partition("d", "region", REGIONS)
    ledger.open("d")
    ledger.open("people", dc.PureDP(1).for_unit("id"))
    with pytest.raises(UsageError, match="a person may have rows in several parts"):
        ledger.declare_partition("people", "region", REGIONS)
    with pytest.raises(UsageError, match="key must be"):
        ledger.declare_partition("d", "region", REGIONS, key="secret")  # pyright: ignore[reportArgumentType]
    ledger.declare_partition("d", "region", REGIONS)
    head = ledger.head
    assert ledger.declare_partition("d", "region", REGIONS).terms.partitions
    assert ledger.head == head
    with pytest.raises(UsageError, match="partitions cannot be changed"):
        ledger.declare_partition("d", "region", REGIONS[:2])
    ledger.declare_partition("d", "sex", ["f", "m"])
    for condition in ("region = 'north'", "sex = 'f'", "sex = 'm'"):
        release(ledger, "0.25", "replace", where=condition)
    assert ledger.account("d").spent == {"epsilon": Fraction(3, 4)}
    assert ledger.verify().passed
    # people and records do not add up, with a filter neither
    with pytest.raises(UsageError, match="the budget protects the unit record, the charge the unit id"):
        ledger.charge("d", dc.PureDP("0.1").for_unit("id"), where=where("north"))


def test_analysts_have_the_partition_too(url: str):
    budget = dc.PureDP(2, neighbors="add_remove")
    ledger = dc.Ledger(url, budget)
    ledger.open("d", budget, dc.PureDP(1, neighbors="add_remove"))
    release(ledger, where=where("north"), analyst="ana")
    ledger.declare_partition("d", "region", REGIONS)
    for region in REGIONS:
        release(ledger, where=where(region), analyst="ana")
        release(ledger, "1", where=where(region), analyst="ben")
    assert ledger.account("d", "ana").spent == {"epsilon": 1}
    assert ledger.account("d", "ben").spent == {"epsilon": 1}
    assert ledger.account("d").spent == {"epsilon": 2}
    found = ledger.verify()
    assert found.passed, found.problems


def test_a_release_about_other_rows_than_it_was_charged_for_is_found(tmp_path: Any):
    """Charged by hand for a part, and released about all rows: the file tells."""
    from dataclasses import replace

    from discreet.artifact import LedgerStamp

    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", dc.PureDP(1, neighbors="add_remove"))
    ledger.open("d")
    ledger.declare_partition("d", "region", REGIONS)
    made = dc.release(TABLE, dc.Bernoulli(), column="y", epsilon=1, neighbors="add_remove")
    paid = ledger.charge("d", dc.PureDP(1, neighbors="add_remove"), where=where("north"))
    made = replace(made, ledger=LedgerStamp(paid.ledger, paid.sequence, paid.hash))
    import json

    ledger.released(paid, [(made.id, json.loads(made.to_json())["sha256"])])
    assert ledger.verify().passed
    found = ledger.verify(against=[made])
    assert any("is about others" in problem for problem in found.problems)


def test_a_part_that_the_filter_does_not_name_is_found(tmp_path: Any):
    """Somebody who can write to the database changes the part of a charge, and all hashes after it."""
    import sqlite3

    from discreet.ledger.hash_chain import Entry, read_entry

    path = tmp_path / "budget.db"
    ledger = dc.Ledger(f"sqlite:///{path}", dc.PureDP(1, neighbors="add_remove"))
    ledger.open("d")
    ledger.declare_partition("d", "region", REGIONS)
    ledger.charge("d", dc.PureDP(1, neighbors="add_remove"), where=where("north"))
    ledger.close()
    with sqlite3.connect(path) as base:
        sequence, body = base.execute(
            "SELECT sequence, body FROM discreet_entries ORDER BY sequence DESC"
        ).fetchone()
        old = read_entry(body)
        new = Entry(
            old.ledger,
            old.sequence,
            old.kind,
            old.time,
            old.previous,
            {**old.content, "part": ["region", "south"]},
        )
        base.execute(
            "UPDATE discreet_entries SET body = ?, hash = ? WHERE sequence = ?",
            (new.text, new.hash, sequence),
        )
        base.execute("UPDATE discreet_head SET hash = ?", (new.hash,))
    found = dc.Ledger.audit(f"sqlite:///{path}")
    assert any("another part than its filter names" in problem for problem in found.problems)


def test_on_the_command_line(tmp_path: Any):
    import json

    from typer.testing import CliRunner

    from discreet.cli.app import app

    url = f"sqlite:///{tmp_path / 'budget.db'}"
    dc.Ledger(url, dc.PureDP(1)).open("d")
    command = ["ledger", "partition", url, "--dataset", "d", "--by", "region=north|south"]
    made = CliRunner().invoke(app, [*command, "--json"])
    assert made.exit_code == 0, made.output
    partitions = [{"column": "region", "labels": ["north", "south"], "key": "private"}]
    assert json.loads(made.stdout)["account"]["partitions"] == partitions
    assert CliRunner().invoke(app, command).exit_code == 0
    release(dc.Ledger(url), "0.5", "replace", where=where("north"))
    shown = CliRunner().invoke(app, ["ledger", "show", url, "--json"])
    assert json.loads(shown.stdout)["accounts"][0]["parts"][0]["spent"] == {"epsilon": "1/2"}
    assert "parts by region" in " ".join(CliRunner().invoke(app, ["ledger", "show", url]).stdout.split())

"""What must not get into a ledger, and what must not be done to one unnoticed."""

from __future__ import annotations

import shutil
import sqlite3
import unicodedata
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import BudgetError, LedgerError, UsageError
from discreet.ledger.filters import (
    Totals,
    added,
    fits,
    guarantee_json,
    read_guarantee,
    remaining,
    terms_of,
)
from discreet.ledger.hash_chain import KEY_VARIABLE
from discreet.privacy.composition import compose

BIG = Fraction(10**300 + 1, 10**300 + 3)
PRIMES = [p for p in range(2, 1000) if all(p % q for q in range(2, p))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


def at(path: Path) -> str:
    return f"sqlite:///{path}"


def change(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


# -- amounts ---------------------------------------------------------------------------------------------------------


def test_no_amount_makes_a_ledger_unreadable(path: Path) -> None:
    ledger = dc.Ledger(at(path), budget=dc.PureDP(3))
    for call in (
        lambda: ledger.charge("x", dc.PureDP(BIG)),
        lambda: ledger.open("big", dc.PureDP(BIG + 2)),
        lambda: dc.Ledger(at(path.with_name("other.db")), budget=dc.PureDP(BIG)),
        lambda: dc.release([1, 0], dc.Bernoulli(), epsilon=BIG, ledger=ledger, dataset="x"),
        lambda: dc.release(
            [1], dc.Bernoulli(), epsilon=Fraction(10**5000 + 1, 10**5000), ledger=ledger, dataset="x"
        ),
    ):
        with pytest.raises(UsageError, match="at most 400 characters") as caught:
            call()
        assert "\n" not in caught.value.message
    assert [entry.kind for entry in ledger.entries()] == ["ledger"]
    # a sum of many amounts is rounded up to one that can be written
    together = compose(*[dc.PureDP(Fraction(1, 100 * p)) for p in PRIMES])
    ledger.charge("x", together)
    assert ledger.account("x").spent == together.budgets()
    assert ledger.verify().passed
    ledger.close()
    again = dc.Ledger(at(path))
    again.charge("x", dc.PureDP(Fraction(1, 997)))
    assert again.verify().passed


@pytest.mark.parametrize(
    "guarantee",
    [
        dc.PureDP("1e-300"),
        dc.PureDP("1e300"),
        dc.ApproxDP(1.2345678901234567e-290, Fraction(10**150, 10**155 + 1)),
        dc.ZeroConcentratedDP(Fraction(10**190 + 1, 10**190)),
        compose(*[dc.ApproxDP(Fraction(1, p), Fraction(1, 10**6 * p)) for p in PRIMES]),
        compose(*[dc.PureDP(Fraction(1, p)) for p in PRIMES], dc.ZeroConcentratedDP(1)),
    ],
    ids=lambda guarantee: guarantee.kind,
)
def test_what_is_written_is_read_again(guarantee: dc.PureDP | dc.ApproxDP | dc.ZeroConcentratedDP) -> None:
    assert read_guarantee(guarantee_json(guarantee)) == guarantee


def test_tiny_budgets_are_spent_to_the_last_digit(path: Path) -> None:
    ledger = dc.Ledger.create(at(path))
    for name, budget in (("pure", dc.PureDP("1e-200")), ("approx", dc.ApproxDP("1e-200", "1e-30"))):
        ledger.open(name, budget)
        for _ in range(9):
            ledger.charge(name, dc.PureDP("1e-201"))
        assert ledger.account(name).remaining["epsilon"] == Fraction(1, 10**201)
        with pytest.raises(BudgetError):
            ledger.charge(name, dc.PureDP("1.1e-201"))
        ledger.charge(name, dc.PureDP(ledger.account(name).remaining["epsilon"]))
        assert ledger.account(name).remaining["epsilon"] == 0
    assert ledger.verify().passed


def test_a_share_of_delta_that_is_no_float(path: Path) -> None:
    ledger = dc.Ledger.create(at(path))
    ledger.open("x", dc.ApproxDP(1, "1e-30"), renyi_share="1e-300")
    ledger.charge("x", dc.PureDP("0.5"))
    assert ledger.account("x").spent["epsilon"] == Fraction(1, 2)
    assert ledger.verify().passed


def test_nobody_has_spent_less_than_nothing() -> None:
    terms = terms_of(dc.ApproxDP(1, "0.9"))
    totals = added(terms, Totals(), [dc.PureDP("0.01")])
    assert remaining(terms, totals)["epsilon"] == 1
    assert fits(terms, added(terms, totals, [dc.PureDP(1)]))


# -- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mark", ["\u034f", "\u115f", "\u1160", "\u17b4", "\u180b", "\u3164", "\ufe0f", "\uffa0", "\U000e0100"]
)
def test_names_with_invisible_characters(mark: str, path: Path) -> None:
    ledger = dc.Ledger(at(path), budget=dc.PureDP(1))
    for name in (f"clinic{mark}", f"cli{mark}nic", mark):
        with pytest.raises(UsageError, match="dataset must"):
            ledger.charge(name, dc.PureDP("0.1"))
        with pytest.raises(UsageError, match="analyst must"):
            ledger.charge("clinic", dc.PureDP("0.1"), analyst=name)


def test_names_have_one_spelling(path: Path) -> None:
    ledger = dc.Ledger(at(path), budget=dc.PureDP(1))
    composed, decomposed = (unicodedata.normalize(form, "Zürich 한글") for form in ("NFC", "NFD"))
    ledger.charge(composed, dc.PureDP("0.1"), analyst=composed)
    for name in (decomposed, "\u212b"):  # the unit of length that looks like a letter
        for call in (
            lambda name=name: ledger.charge(name, dc.PureDP("0.1")),
            lambda name=name: ledger.open(name),
            lambda name=name: ledger.account(name),
            lambda name=name: ledger.charge(composed, dc.PureDP("0.1"), analyst=name),
        ):
            with pytest.raises(UsageError, match="normal form C"):
                call()
    assert [account.dataset for account in ledger.accounts()] == [composed]


# -- the default budget ----------------------------------------------------------------------------------------------


def test_a_default_budget_cannot_be_changed(path: Path) -> None:
    dc.Ledger(at(path), budget=dc.PureDP(1)).close()
    for other in (dc.PureDP(2), dc.PureDP(1, neighbors="add_remove"), dc.ApproxDP(1, "1e-6")):
        with pytest.raises(UsageError, match="another default budget") as caught:
            dc.Ledger(at(path), budget=other)
        assert caught.value.hint == "its default is epsilon = 1"
    for same in (dc.Ledger(at(path), budget=dc.PureDP(1)), dc.Ledger(at(path))):
        with pytest.raises(BudgetError):
            same.charge("x", dc.PureDP("1.5"))
    # without a default, data sets must be opened by name
    bare = path.with_name("bare.db")
    dc.Ledger.create(at(bare)).close()
    with pytest.raises(UsageError, match="another default budget"):
        dc.Ledger(at(bare), budget=dc.PureDP(1))


# -- tampering -------------------------------------------------------------------------------------------------------


def test_a_seal_cannot_be_taken_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = path.with_name("plain.db")
    dc.Ledger(at(plain), budget=dc.PureDP(1)).charge("x", dc.PureDP("0.1"))
    monkeypatch.setenv(KEY_VARIABLE, "a key that nobody knows")
    dc.Ledger(at(path), budget=dc.PureDP(1)).charge("x", dc.PureDP("0.1"))
    monkeypatch.delenv(KEY_VARIABLE)
    whole = shutil.copy(path, path.with_name("whole.db"))
    assert dc.Ledger.audit(at(whole)).passed  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="sealed with a key"):
        dc.Ledger(at(whole)).charge("x", dc.PureDP("0.1"))  # pyright: ignore[reportArgumentType]
    change(path, "UPDATE discreet_head SET seal = NULL")
    change(plain, "UPDATE discreet_head SET seal = 'abc'")
    for altered in (path, plain):
        ledger = dc.Ledger(at(altered))
        for call in (ledger.charge, ledger.check):
            with pytest.raises(LedgerError, match="seal of the ledger was removed or added"):
                call("x", dc.PureDP("0.1"))
        assert any("seal was removed or added" in problem for problem in ledger.verify().problems)


@pytest.mark.parametrize("sequence", [-1, -7])
def test_entries_before_the_first_are_seen(sequence: int, path: Path) -> None:
    ledger = dc.Ledger(at(path), budget=dc.PureDP(1))
    ledger.charge("x", dc.PureDP("0.1"))
    assert ledger.verify().passed
    columns = "hash || 'a', NULL, body"
    change(
        path,
        f"INSERT INTO discreet_entries SELECT {sequence}, {columns} FROM discreet_entries WHERE sequence = 2",
    )
    found = ledger.verify()
    assert f"entry 0 is missing: entry {sequence} comes in its place." in found.problems


# -- what is missing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["discreet_head", "discreet_entries", "discreet_accounts"])
def test_a_ledger_without_one_of_its_tables_is_damaged(table: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    dc.Ledger(url, budget=dc.PureDP(1)).charge("clinic", dc.PureDP(1))
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.commit()
    for call in (
        lambda: dc.Ledger(url),
        lambda: dc.Ledger(url, budget=dc.PureDP(1)),
        lambda: dc.Ledger.create(url),
        lambda: dc.Ledger.audit(url),
    ):
        with pytest.raises(LedgerError, match="is damaged: a part of it is missing"):
            call()


def test_a_ledger_without_its_head_is_damaged(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    dc.Ledger(url, budget=dc.PureDP(1))
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("DELETE FROM discreet_head")
        connection.commit()
    for budget in (None, dc.PureDP(1)):
        with pytest.raises(LedgerError, match="is damaged"):
            dc.Ledger(url, budget=budget)


def test_names_and_accounts_are_shown_as_one_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    kept = dc.Ledger(f"sqlite:///{path}", budget=dc.ApproxDP(5, 1e-6))
    kept.charge("clinic", dc.PureDP("1/3"))
    shown = repr(kept.account("clinic"))
    assert shown == (
        "<Account of 'clinic': spent epsilon = 0.333334, delta = 0 of epsilon = 5, delta = 1e-06, in 1 charge>"
    )
    assert kept.url == f"sqlite:///{path}"

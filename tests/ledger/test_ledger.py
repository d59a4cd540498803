"""The ledger as a curator uses it, on both databases; and everything that can be asked of it wrongly."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import BudgetError, DataError, DiscreetError, LedgerError, UsageError
from discreet.samplers.secure import SECURE

ROWS = {"smoker": ["yes", "no", None, "yes"], "age": [41.0, 55.0, 38.0, 61.0]}


def test_a_budget_is_spent_to_the_last_hundredth(url: str) -> None:
    ledger = dc.Ledger(url, budget=dc.PureDP(Fraction(3, 100)))
    charges = [ledger.charge("clinic", dc.PureDP(0.01), model="test") for _ in range(3)]
    assert [charge.sequence for charge in charges] == [2, 3, 4]
    with pytest.raises(BudgetError) as caught:
        ledger.charge("clinic", dc.PureDP(0.01))
    assert caught.value.exit_code == 3
    said = caught.value.message
    for words in ("'clinic'", "spent epsilon = 0.03", "asked epsilon = 0.01", "remaining epsilon = 0."):
        assert words in said
    account = ledger.account("clinic")
    assert (account.spent, account.remaining) == ({"epsilon": Fraction(3, 100)}, {"epsilon": 0})
    assert ledger.verify().passed
    # another program sees the same, and takes the default budget from the ledger
    again = dc.Ledger(url)
    assert again.id == ledger.id
    assert again.head == ledger.head == charges[-1].hash
    with pytest.raises(BudgetError):
        again.charge("clinic", dc.PureDP("1e-20"))
    again.charge("another", dc.PureDP(0.02))


def test_entries_say_what_happened(url: str) -> None:
    ledger = dc.Ledger(url, budget=dc.ApproxDP(1, 1e-6))
    made = dc.release(
        ROWS, dc.Bernoulli(), column="smoker", epsilon="0.1", ledger=ledger, dataset="clinic", analyst="ann"
    )
    kinds = [entry.kind for entry in ledger.entries()]
    assert kinds == ["ledger", "open", "charge", "released"]
    charge, released = list(ledger.entries())[2:]
    assert charge.content["guarantees"] == [
        {"kind": "pure", "epsilon": "1/10", "neighbors": "replace", "unit": None}
    ]
    assert (charge.content["dataset"], charge.content["analyst"]) == ("clinic", "ann")
    assert charge.content["model"] == "bernoulli of smoker"
    stamp = made.ledger
    assert stamp is not None
    assert (stamp.id, stamp.sequence, stamp.charge) == (ledger.id, 2, charge.hash)
    assert [one["id"] for one in released.content["releases"]] == [made.id]
    assert released.content["charge"] == 2
    assert ledger.verify(against=[made]).passed


def test_analysts_have_budgets_of_their_own(url: str) -> None:
    ledger = dc.Ledger(url, budget=dc.PureDP(1))
    ledger.open("clinic", dc.PureDP(1), per_analyst=dc.PureDP("0.6"))
    ledger.charge("clinic", dc.PureDP(0.5), analyst="ann")
    with pytest.raises(BudgetError, match=r"the analyst 'ann' of 'clinic'.*remaining epsilon = 0\.1"):
        ledger.charge("clinic", dc.PureDP(0.2), analyst="ann")
    assert ledger.account("clinic", "bob").remaining == {"epsilon": Fraction(6, 10)}
    with pytest.raises(BudgetError, match="the data set 'clinic'"):
        ledger.charge("clinic", dc.PureDP(0.6), analyst="bob")
    ledger.charge("clinic", dc.PureDP(0.5), analyst="bob")
    with pytest.raises(UsageError, match="name the analyst"):
        ledger.charge("clinic", dc.PureDP(0.1))
    assert [(one.dataset, one.analyst) for one in ledger.accounts()] == [
        ("clinic", None),
        ("clinic", "ann"),
        ("clinic", "bob"),
    ]
    assert ledger.verify().passed


def test_opening_twice_is_harmless_and_changing_is_refused(url: str) -> None:
    ledger = dc.Ledger(url, budget=dc.PureDP(1))
    ledger.open("clinic", dc.ApproxDP(2, 1e-6))
    ledger.charge("clinic", dc.PureDP(1))
    assert ledger.open("clinic", dc.ApproxDP(2, 1e-6)).spent["epsilon"] == 1
    for other in (dc.ApproxDP(3, 1e-6), dc.PureDP(2), dc.ApproxDP(2, 1e-6, neighbors="add_remove")):
        with pytest.raises(UsageError, match="cannot be changed"):
            ledger.open("clinic", other)
    with pytest.raises(UsageError, match="cannot be changed"):
        ledger.open("clinic", dc.ApproxDP(2, 1e-6), per_analyst=dc.PureDP(1))
    assert len(list(ledger.entries())) == 3


def test_several_parts_are_charged_together_or_not_at_all(url: str) -> None:
    ledger = dc.Ledger(url, budget=dc.PureDP(1))
    with pytest.raises(BudgetError, match=r"asked epsilon = 1\.1"):
        ledger.charge("clinic", dc.PureDP(0.5), dc.PureDP(0.6))
    assert [entry.kind for entry in ledger.entries()] == ["ledger"]
    ledger.charge("clinic", dc.PureDP(0.4), dc.PureDP(0.6))
    assert ledger.account("clinic").remaining == {"epsilon": 0}


def test_a_release_is_noted_once_and_only_where_it_belongs(url: str, tmp_path: Path) -> None:
    ledger = dc.Ledger(url, budget=dc.PureDP(1))
    charge = ledger.charge("clinic", dc.PureDP(0.5))
    ledger.released(charge, [("one", "0" * 64)])
    with pytest.raises(UsageError, match="already"):
        ledger.released(charge, [("two", "0" * 64)])
    other = dc.Ledger(f"sqlite:///{tmp_path / 'other.db'}", budget=dc.PureDP(1))
    with pytest.raises(UsageError, match="not in this ledger"):
        other.released(charge, [("one", "0" * 64)])


def test_a_database_without_a_ledger_is_not_one(url: str) -> None:
    with pytest.raises(DataError, match="there is no ledger"):
        dc.Ledger(url)
    if url.startswith("sqlite"):
        assert not Path(url.removeprefix("sqlite:///")).exists()


def test_a_sealed_ledger_wants_its_key(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_LEDGER_KEY", "a key that nobody knows")
    ledger = dc.Ledger(url, budget=dc.PureDP(1))
    ledger.charge("clinic", dc.PureDP(0.1))
    assert ledger.verify().passed
    monkeypatch.setenv("DISCREET_LEDGER_KEY", "another key, just as long")
    with pytest.raises(LedgerError, match="another key"):
        dc.Ledger(url).charge("clinic", dc.PureDP(0.1))
    assert not dc.Ledger(url).verify().passed
    monkeypatch.delenv("DISCREET_LEDGER_KEY")
    with pytest.raises(UsageError, match="sealed with a key"):
        dc.Ledger(url).charge("clinic", dc.PureDP(0.1))
    monkeypatch.setenv("DISCREET_LEDGER_KEY", "short")
    with pytest.raises(UsageError, match="at least 16"):
        dc.Ledger(url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("budget.db", "must be the URL"),
        ("", "must be the URL"),
        (7, "must be the URL"),
        ("mysql://somebody:secret@host/x", "not in mysql"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:////nowhere/at/all/budget.db", "no such folder"),
        ("postgresql://somebody:secret@127.0.0.1:1/x", "cannot be reached"),
    ],
)
def test_wrong_urls(url: str, words: str) -> None:
    with pytest.raises(DiscreetError, match=words) as caught:
        dc.Ledger(url, budget=dc.PureDP(1), patience=2)
    assert "secret" not in str(caught.value)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("budget", [3, "3", dc.RenyiDP([2], [1]), object()])
def test_budgets_of_another_kind(budget: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="budget of kind"):
        dc.Ledger(f"sqlite:///{tmp_path / 'b.db'}", budget=budget)  # pyright: ignore[reportArgumentType]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("amount", [0, -1, "nan", "inf", float("nan")])
def test_amounts_that_are_none(amount: float | str, tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'b.db'}", budget=dc.PureDP(1))
    with pytest.raises(UsageError, match="epsilon"):
        dc.release(ROWS, dc.Bernoulli(), column="smoker", epsilon=amount, ledger=ledger, dataset="x")
    assert [entry.kind for entry in ledger.entries()] == ["ledger"]


@pytest.mark.parametrize("name", ["", " ", "a ", "a\nb", "x" * 201, "a\x00b", None, 7])
def test_names_that_are_none(name: str, tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'b.db'}", budget=dc.PureDP(1))
    with pytest.raises(UsageError, match="dataset must"):
        ledger.charge(name, dc.PureDP(0.1))
    if name is not None:
        with pytest.raises(UsageError, match="analyst must"):
            ledger.charge("x", dc.PureDP(0.1), analyst=name)
    assert [entry.kind for entry in ledger.entries()] == ["ledger"]


def test_an_unknown_data_set(tmp_path: Path) -> None:
    ledger = dc.Ledger.create(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.open("clinic", dc.PureDP(1))
    with pytest.raises(UsageError, match="no data set 'clinik'"):
        ledger.charge("clinik", dc.PureDP(0.1))
    with pytest.raises(UsageError, match="no data set 'clinik'"):
        ledger.account("clinik")
    with pytest.raises(UsageError, match="no default budget"):
        ledger.open("other")
    with pytest.raises(UsageError, match="no budgets of their own"):
        ledger.account("clinic", "ann")
    with pytest.raises(UsageError, match="nothing to charge"):
        ledger.charge("clinic")


def test_a_read_only_ledger_can_be_read_and_verified_but_not_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "budget.db"
    dc.Ledger(f"sqlite:///{path}", budget=dc.PureDP(1)).charge("clinic", dc.PureDP(0.1))
    before = path.read_bytes()
    # as on a disk that cannot be written; permissions would not stop root
    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda p, **o: connect(f"file:{p}?mode=ro", **{**o, "uri": True}))
        read_only = dc.Ledger(f"sqlite:///{path}")
    assert read_only.account("clinic").spent == {"epsilon": Fraction(1, 10)}
    assert read_only.verify().passed
    with pytest.raises(DataError, match="may not be written"):
        read_only.charge("clinic", dc.PureDP(0.1))
    read_only.close()
    if os.geteuid() != 0:  # root may write what is marked read-only
        path.chmod(stat.S_IREAD)
        with pytest.raises(DataError, match="may not be written"):
            dc.Ledger(f"sqlite:///{path}").charge("clinic", dc.PureDP(0.1))
    assert path.read_bytes() == before


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    path.write_text("this is text, and long enough not to be taken for an empty file\n" * 50)
    for budget in (None, dc.PureDP(1)):
        with pytest.raises(LedgerError, match="damaged, or not a database"):
            dc.Ledger(f"sqlite:///{path}", budget=budget)
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(DataError):
        dc.Ledger(f"sqlite:///{tmp_path / 'folder.db'}", budget=dc.PureDP(1))


def test_a_locked_database_is_waited_for_and_then_reported(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = dc.Ledger(f"sqlite:///{path}", budget=dc.PureDP(1), patience=0.5)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        start = time.monotonic()
        with pytest.raises(DataError, match=r"in use by another program.*0\.5 seconds"):
            ledger.charge("clinic", dc.PureDP(0.1))
        # not at once, and not for ever; the upper limit allows for a busy machine
        assert 0.4 <= time.monotonic() - start <= 30
        other.execute("ROLLBACK")
    other.close()
    assert ledger.charge("clinic", dc.PureDP(0.1)).sequence == 2


def test_a_locked_head_in_postgres_is_waited_for_and_then_reported(postgres: str) -> None:
    import psycopg

    ledger = dc.Ledger(postgres, budget=dc.PureDP(1), patience=0.5)
    with psycopg.connect(postgres) as other:
        other.execute("SELECT * FROM discreet_head FOR UPDATE")
        with pytest.raises(DataError, match=r"in use by another program.*0\.5 seconds"):
            ledger.charge("clinic", dc.PureDP(0.1))
        other.rollback()
    ledger.charge("clinic", dc.PureDP(0.1))
    ledger.close()


@pytest.mark.parametrize("patience", [-1, float("nan"), "long"])
def test_patience_is_a_number_of_seconds(patience: float, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="patience"):
        dc.Ledger(f"sqlite:///{tmp_path / 'b.db'}", budget=dc.PureDP(1), patience=patience)


def test_a_child_process_opens_connections_of_its_own(tmp_path: Path) -> None:
    program = f"""
import os, discreet as dc
ledger = dc.Ledger("sqlite:///{tmp_path / "b.db"}", budget=dc.PureDP(1))
ledger.charge("x", dc.PureDP(0.1))
child = os.fork()
ledger.charge("x", dc.PureDP(0.1))
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(ledger.account("x").totals.charges, ledger.verify().passed)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["3", "True"]


def test_analyst_and_data_set_go_with_a_ledger(tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'b.db'}", budget=dc.PureDP(1))
    with pytest.raises(UsageError, match="which data set"):
        dc.release(ROWS, dc.Bernoulli(), column="smoker", epsilon=1, ledger=ledger)
    with pytest.raises(UsageError, match="analyst is for a ledger"):
        dc.release(ROWS, dc.Bernoulli(), column="smoker", epsilon=1, analyst="ann")
    with pytest.raises(UsageError, match=r"must be a dc\.Ledger"):
        dc.release(ROWS, dc.Bernoulli(), column="smoker", epsilon=1, ledger=7, dataset="x")  # pyright: ignore
    # a URL does as well
    made = dc.release(
        ROWS, dc.Bernoulli(), column="smoker", epsilon=1, ledger=f"sqlite:///{tmp_path / 'b.db'}", dataset="x"
    )
    assert made.ledger is not None
    assert dc.Release.from_json(made.to_json()) == made


def test_what_fails_before_the_noise_costs_nothing(tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'b.db'}", budget=dc.PureDP(1))
    bad = [
        ({"column": "nobody"}, UsageError),
        ({"column": "age"}, UsageError),
        ({"column": "smoker", "neighbors": "both"}, UsageError),
    ]
    for arguments, error in bad:
        model = dc.Normal() if arguments["column"] == "age" else dc.Bernoulli()
        with pytest.raises(error):
            dc.release(ROWS, model, epsilon=1, ledger=ledger, dataset="x", **arguments)  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(UsageError, match="empty"):
        dc.release({"x": []}, dc.Bernoulli(), column="x", epsilon=1, ledger=ledger, dataset="x")
    assert [entry.kind for entry in ledger.entries()] == ["ledger"]


def test_the_charge_is_durable_before_any_noise_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second program counts charges at the moment of every draw, the choice of bounds included."""
    from discreet.curator import publish

    url = f"sqlite:///{tmp_path / 'b.db'}"
    ledger, seen = dc.Ledger(url, budget=dc.PureDP(9)), []

    def watch(draw):  # type: ignore[no-untyped-def]
        def drawn(distribution):  # type: ignore[no-untyped-def]
            seen.append(dc.Ledger(url).account("x").totals.charges)
            return draw(distribution)

        return drawn

    watched = replace(SECURE, noise=watch(SECURE.noise), permute_and_flip=watch(SECURE.permute_and_flip))
    monkeypatch.setattr(publish, "SECURE", watched)
    quantiles = dc.mechanisms.PrivateQuantiles(0.1, 0.9, within=(0, 120), epsilon=1)
    dc.release(ROWS, dc.Normal(), column="age", bounds=quantiles, epsilon=1, ledger=ledger, dataset="x")
    # two bounds, and three totals
    assert seen == [1] * 5
    assert ledger.account("x").spent == {"epsilon": 2}


def test_a_refused_release_reads_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.curator import draw

    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'b.db'}", budget=dc.PureDP(1))
    monkeypatch.setattr(draw, "read_totals", lambda *_: pytest.fail("rows were read"))
    with pytest.raises(BudgetError):
        dc.release(ROWS, dc.Bernoulli(), column="smoker", epsilon=2, ledger=ledger, dataset="x")

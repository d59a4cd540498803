"""Tampering: what the chain shows by itself, what an anchor shows, and what is said about the rest."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import LedgerError
from discreet.ledger.hash_chain import canonical, digest

KEY = "a key that nobody knows"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with ten charges, of which the last was released into a file."""
    path = tmp_path / "budget.db"
    fill(path)
    return path


def fill(path: Path, n: int = 10) -> None:
    ledger = dc.Ledger(f"sqlite:///{path}", budget=dc.PureDP(3))
    for _ in range(n - 1):
        ledger.charge("clinic", dc.PureDP(0.1))
    made = dc.release([1, 0, 1], dc.Bernoulli(), epsilon="0.1", ledger=ledger, dataset="clinic")
    made.save(path.with_suffix(".json"))
    ledger.close()


def change(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def rewrite(path: Path, edit: Callable[[list[dict]], list[dict]]) -> None:
    """Write a chain that fits: what somebody can do who may write to the database."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT body FROM discreet_entries ORDER BY sequence").fetchall()
        bodies = edit([json.loads(body) for (body,) in rows])
        connection.execute("DELETE FROM discreet_entries")
        previous = "0" * 64
        for sequence, body in enumerate(bodies):
            body |= {"sequence": sequence, "previous": previous}
            text = canonical(body)
            previous = digest(text)
            charge = body["content"]["charge"] if body["kind"] == "released" else None
            connection.execute(
                "INSERT INTO discreet_entries VALUES (?, ?, ?, ?)", (sequence, previous, charge, text)
            )
        connection.execute("UPDATE discreet_head SET sequence = ?, hash = ?", (len(bodies) - 1, previous))
        charges = [body for body in bodies if body["kind"] == "charge"]
        totals = json.loads(connection.execute("SELECT totals FROM discreet_accounts").fetchone()[0])
        from fractions import Fraction

        parts = [Fraction(body["content"]["guarantees"][0]["epsilon"]) for body in charges]
        totals |= {
            "charges": len(parts),
            "pure": str(sum(parts)),
            "half_squares": str(sum(e**2 / 2 for e in parts)),
        }
        connection.execute("UPDATE discreet_accounts SET totals = ?", (canonical(totals),))
    connection.close()


def audit(path: Path, **anchors: object):  # type: ignore[no-untyped-def]
    return dc.Ledger.audit(f"sqlite:///{path}", **anchors)  # pyright: ignore[reportArgumentType]


def test_an_untouched_ledger_is_sound(path: Path) -> None:
    found = audit(path)
    assert found.passed
    assert found.entries == 13
    assert found.unreleased == tuple(range(2, 11))
    assert "cut off" in found.unseen[0]
    assert audit(path, against=[path.with_suffix(".json")]).passed
    assert audit(path, head=found.head).unseen == ()


TAMPERING = {
    "edit an amount": "UPDATE discreet_entries SET body = replace(body, '1/10', '1/100') WHERE sequence = 5",
    "edit a hash": "UPDATE discreet_entries SET hash = substr(hash, 2) || '0' WHERE sequence = 5",
    "edit white space": "UPDATE discreet_entries SET body = replace(body, ':', ': ') WHERE sequence = 5",
    "edit the first": "UPDATE discreet_entries SET body = replace(body, '\"3\"', '\"9\"') WHERE sequence = 0",
    "edit the budget": "UPDATE discreet_entries SET body = replace(body, '\"3\"', '\"9\"') WHERE sequence = 1",
    "make it nonsense": "UPDATE discreet_entries SET body = '{}' WHERE sequence = 5",
    "make it no JSON": "UPDATE discreet_entries SET body = 'x' WHERE sequence = 5",
    "delete one": "DELETE FROM discreet_entries WHERE sequence = 5",
    "delete the first": "DELETE FROM discreet_entries WHERE sequence = 0",
    "delete the last": "DELETE FROM discreet_entries WHERE sequence = 12",
    "insert a copy": "INSERT INTO discreet_entries "
    "SELECT 13, hash, NULL, body FROM discreet_entries WHERE sequence = 5",
    "refile a release": "UPDATE discreet_entries SET charge = 7 WHERE sequence = 12",
    "lower the totals": 'UPDATE discreet_accounts SET totals = replace(totals, \'"pure":"1"\', \'"pure":"0"\')',
    "raise the budget": "UPDATE discreet_accounts SET terms = replace(terms, '\"3\"', '\"9\"')",
    "drop the account": "DELETE FROM discreet_accounts",
    "move the head back": "UPDATE discreet_head SET sequence = 11, hash = "
    "(SELECT hash FROM discreet_entries WHERE sequence = 11)",
    "another ledger": "UPDATE discreet_head SET ledger = 'x'",
}


@pytest.mark.parametrize("statement", TAMPERING.values(), ids=TAMPERING)
def test_tampering_is_found_without_an_anchor(path: Path, statement: str) -> None:
    before = path.read_bytes()
    change(path, statement)
    assert path.read_bytes() != before
    found = audit(path)
    assert not found.passed


def test_swapping_is_found(path: Path) -> None:
    change(
        path,
        "UPDATE discreet_entries SET sequence = -1 WHERE sequence = 5",
        "UPDATE discreet_entries SET sequence = 5 WHERE sequence = 6",
        "UPDATE discreet_entries SET sequence = 6 WHERE sequence = -1",
    )
    assert not audit(path).passed


def test_shifting_everything_after_a_deletion_is_found(path: Path) -> None:
    change(
        path,
        "DELETE FROM discreet_entries WHERE sequence = 5",
        *(f"UPDATE discreet_entries SET sequence = {k - 1} WHERE sequence = {k}" for k in range(6, 13)),
    )
    assert not audit(path).passed


REWRITING: dict[str, Callable[[list[dict]], list[dict]]] = {
    "cut the tail off": lambda bodies: bodies[:6],
    "leave one out": lambda bodies: bodies[:5] + bodies[6:11],
    "make one cheaper": lambda bodies: [
        {**b, "content": {**b["content"], "guarantees": [{**b["content"]["guarantees"][0], "epsilon": "1/100"}]}}
        if b["sequence"] == 5
        else b
        for b in bodies
    ],
}  # fmt: skip


@pytest.mark.parametrize("edit", REWRITING.values(), ids=REWRITING)
def test_a_chain_that_was_rewritten_is_found_with_an_anchor(
    path: Path, edit: Callable[[list[dict]], list[dict]]
) -> None:
    head = audit(path).head
    rewrite(path, edit)
    # this is why it says what it cannot see
    plain = audit(path)
    assert plain.passed, plain.problems
    assert "rewritten" in plain.unseen[0]
    assert not audit(path, head=head).passed
    assert not audit(path, against=[path.with_suffix(".json")]).passed


@pytest.mark.parametrize("edit", REWRITING.values(), ids=REWRITING)
def test_a_chain_that_was_rewritten_is_found_with_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: Callable[[list[dict]], list[dict]]
) -> None:
    monkeypatch.setenv("DISCREET_LEDGER_KEY", KEY)
    path = tmp_path / "sealed.db"
    fill(path)
    assert audit(path).passed
    rewrite(path, edit)
    assert not audit(path).passed
    # and nobody can cover it up by charging once more
    with pytest.raises(LedgerError):
        dc.Ledger(f"sqlite:///{path}").charge("clinic", dc.PureDP(0.1))
    monkeypatch.delenv("DISCREET_LEDGER_KEY")
    assert audit(path).passed


def test_a_rewritten_ledger_cannot_just_drop_its_seal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plain.db"
    fill(path)
    monkeypatch.setenv("DISCREET_LEDGER_KEY", KEY)
    assert "not sealed" in audit(path).problems[0]
    with pytest.raises(LedgerError, match="no seal"):
        dc.Ledger(f"sqlite:///{path}").charge("clinic", dc.PureDP(0.1))


def test_an_older_copy_is_found_with_an_anchor_only(tmp_path: Path, path: Path) -> None:
    shutil.copy(path, tmp_path / "old.db")
    ledger = dc.Ledger(f"sqlite:///{path}")
    ledger.charge("clinic", dc.PureDP(0.1))
    head = ledger.head
    assert audit(tmp_path / "old.db").passed
    assert not audit(tmp_path / "old.db", head=head).passed
    assert audit(path, head=head).passed


def test_overspending_that_was_written_in_is_found(path: Path) -> None:
    """An attacker who empties the running totals can charge on; the entries still add up to too much."""
    empty = canonical(
        {"charges": 0, "pure": "0", "half_squares": "0", "approx": "0", "delta": "0", "rho": "0", "curves": [],
         "renyi_delta": None}
    )  # fmt: skip
    for _ in range(3):
        change(path, f"UPDATE discreet_accounts SET totals = '{empty}'")
        dc.Ledger(f"sqlite:///{path}").charge("clinic", dc.PureDP(1))
    problems = " ".join(audit(path).problems)
    assert "entry 15 spends more than the budget of the data set 'clinic' allows" in problems
    assert "running totals" in problems


def test_releases_that_do_not_belong_are_named(path: Path, tmp_path: Path) -> None:
    fill(tmp_path / "other.db")
    found = audit(path, against=[tmp_path / "other.json"])
    assert "another ledger" in found.problems[0]
    free = dc.release([1, 0], dc.Bernoulli(), epsilon=1)
    assert "not charged to any ledger" in audit(path, against=[free]).problems[0]
    body = json.loads(path.with_suffix(".json").read_text())
    from discreet.artifact.codec import checksum

    body["statistics"]["values"][0] = "77"
    body["sha256"] = checksum(body)
    forged = dc.Release.from_json(json.dumps(body))
    assert "does not list this release" in audit(path, against=[forged]).problems[0]


def test_a_broken_charge_stops_the_next_one(path: Path) -> None:
    change(path, "DELETE FROM discreet_entries WHERE sequence = 12")
    with pytest.raises(LedgerError, match="missing or was altered"):
        dc.Ledger(f"sqlite:///{path}").charge("clinic", dc.PureDP(0.1))


def test_many_problems_are_cut_short(path: Path) -> None:
    change(path, "UPDATE discreet_entries SET body = 'x'")
    ledger = dc.Ledger.audit(f"sqlite:///{path}")
    assert len(ledger.problems) <= 21

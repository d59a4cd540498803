"""A charge costs what it costs, however long the ledger is; verification is linear."""

from __future__ import annotations

import pytest

from benchmarks.ledger import MOST_TIMES_SLOWER, measure


def test_a_charge_does_not_grow_with_the_ledger() -> None:
    found = measure(entries=3_000, rounds=30)
    assert found["ratio"] < MOST_TIMES_SLOWER
    # totals that were added up anew would cost a hundred times more than ten entries do
    assert found["growth"] < 10


@pytest.mark.slow
def test_a_hundred_thousand_entries() -> None:
    found = measure(entries=100_000, rounds=100)
    assert found["ratio"] < MOST_TIMES_SLOWER
    assert found["growth"] < 10

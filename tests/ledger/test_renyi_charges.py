"""Charges that are Rényi curves: counted at the account's orders, where they promise something."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import BudgetError, UsageError
from discreet.ledger.filters import Totals, added, fits, read_totals, spent, terms_of
from discreet.ledger.renyi_filter import conversion

TERMS = terms_of(dc.ApproxDP(2, "1e-5"))
LOW, HIGH = TERMS.orders


def total(*parts: dc.RenyiDP | dc.PureDP | dc.ZeroConcentratedDP | dc.ApproxDP) -> Totals:
    found = Totals()
    for part in parts:
        found = added(TERMS, found, [part])
    return found


def test_a_curve_at_both_orders_adds_up_at_both() -> None:
    curve = dc.RenyiDP([LOW, HIGH], ["0.1", "0.2"])
    found = total(curve, curve, curve)
    assert found.curves == (Fraction(3, 10), Fraction(6, 10))
    share = Fraction(1, 4 * 10**5)
    expected = min(Fraction(3, 10) + conversion(LOW, share), Fraction(6, 10) + conversion(HIGH, share))
    assert spent(TERMS, found)["epsilon"] == expected


def test_an_order_between_ends_the_higher_one() -> None:
    """A charge at order (LOW + HIGH) / 2 holds at LOW, because divergences grow with the order, and not at HIGH."""
    found = total(dc.RenyiDP([(LOW + HIGH) / 2], ["0.1"]))
    assert found.curves[0] == Fraction(1, 10)
    assert found.curves[1] > 10**300
    assert spent(TERMS, found)["epsilon"] == Fraction(1, 10) + conversion(LOW, Fraction(1, 4 * 10**5))


def test_the_basic_sum_does_not_apply_any_more() -> None:
    """A tiny pure charge next to a Rényi one: its own epsilon is not what was spent."""
    pure = total(dc.PureDP("0.001"))
    both = total(dc.PureDP("0.001"), dc.RenyiDP([HIGH], ["0.001"]))
    assert spent(TERMS, pure)["epsilon"] == Fraction(1, 1000)
    assert spent(TERMS, both)["epsilon"] > conversion(HIGH, Fraction(1, 4 * 10**5))


def test_the_budget_runs_out() -> None:
    curve = dc.RenyiDP([HIGH], ["0.4"])
    assert fits(TERMS, total(curve))
    assert not fits(TERMS, total(*[curve] * 5))


def test_orders_too_small_for_the_account_are_refused() -> None:
    with pytest.raises(UsageError, match="promises none above order 2") as caught:
        total(dc.RenyiDP([2], ["0.1"]))
    assert "\n" not in caught.value.message
    # the order that the hint names is enough
    least = (caught.value.hint or "").split("order ")[1].split(" ")[0]
    assert total(dc.RenyiDP([least], ["0.1"])).curves[0] == Fraction(1, 10)


def test_other_budgets_take_none() -> None:
    for budget in (dc.PureDP(1), dc.ZeroConcentratedDP(1)):
        with pytest.raises(UsageError, match="takes no Rényi charge"):
            added(terms_of(budget), Totals(), [dc.RenyiDP([40], ["0.1"])])
    with pytest.raises(UsageError, match="renyi_share is 0"):
        added(terms_of(dc.ApproxDP(1, "1e-5"), 0), Totals(), [dc.RenyiDP([40], ["0.1"])])
    with pytest.raises(UsageError, match="budget of kind RenyiDP"):
        terms_of(dc.RenyiDP([40], ["0.1"]))


def test_totals_are_read_back_and_older_ones_too() -> None:
    found = total(dc.RenyiDP([HIGH], ["0.1"]), dc.PureDP("0.1"))
    assert read_totals(found.to_json()) == found
    assert "renyi" not in total(dc.PureDP("0.1")).to_json()


def test_a_ledger_charges_posterior_samples(tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'book.db'}", dc.ApproxDP(2, "1e-5"))

    def sample(order: Any) -> dc.Release:
        mechanism = dc.mechanisms.RenyiPosterior(dc.priors.Beta(6, 12), order=order, epsilon="0.4")
        return dc.release(
            [0, 1] * 50, dc.Bernoulli(), mechanism=mechanism, impute=0, ledger=ledger, dataset="people"
        )

    assert sample(HIGH).ledger is not None
    with pytest.raises(UsageError, match="promises none above"):
        sample(2)
    allowed = 1
    while fits(TERMS, total(*[dc.RenyiDP([HIGH], ["0.4"])] * (allowed + 1))):
        sample(HIGH)
        allowed += 1
    with pytest.raises(BudgetError):
        sample(HIGH)
    assert ledger.verify().passed
    ledger.close()

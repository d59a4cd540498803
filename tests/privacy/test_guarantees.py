"""Guarantees are exact records that refuse nonsense."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dc


def test_a_float_means_the_decimal_it_prints_as() -> None:
    assert dc.PureDP(0.1).epsilon == Fraction(1, 10)
    assert dc.PureDP(0.1) == dc.PureDP("0.1") == dc.PureDP(Fraction(1, 10))
    assert dc.PureDP(0.1) != dc.PureDP(0.1, neighbors="add_remove")


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "x", None, True])
def test_bad_epsilon(epsilon: object) -> None:
    with pytest.raises(dc.errors.UsageError, match="epsilon"):
        dc.PureDP(epsilon)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, float("nan")])
def test_bad_delta(delta: float) -> None:
    with pytest.raises(dc.errors.UsageError, match="delta"):
        dc.ApproxDP(1, delta)


def test_bad_neighbors() -> None:
    with pytest.raises(dc.errors.UsageError, match="neighbors"):
        dc.ZeroConcentratedDP(1, neighbors="swap")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("orders", "epsilons"),
    [
        ([], []),
        ([2], []),
        ([2, 3], [1]),
        ([1], [1]),
        ([3, 2], [1, 1]),
        ([2, 2], [1, 1]),
        ([2], [0]),
        ([2], [-1]),
    ],
)
def test_bad_renyi_curves(orders: list[int], epsilons: list[int]) -> None:
    with pytest.raises(dc.errors.UsageError):
        dc.RenyiDP(orders, epsilons)


def test_a_renyi_curve_between_and_beyond_its_orders() -> None:
    curve = dc.RenyiDP([2, 4, 8], [1, 3, 2])
    # the bound at order 8 holds at 4 too
    assert [curve.at(a) for a in ("1.5", 2, 4, 8)] == [1, 1, 2, 2]
    assert curve.at(3) == Fraction(1 * 1 + 3 * 2, 2) / 2
    assert curve.at(9) is None
    assert curve.budgets()["epsilon at order 4"] == 3
    assert "1 at order 2" in curve.describe()
    assert "(2 more orders)" in dc.RenyiDP([2, 3, 4, 5], [1, 1, 1, 1]).describe()


def test_frozen() -> None:
    with pytest.raises(AttributeError):
        dc.PureDP(1).epsilon = Fraction(2)  # pyright: ignore[reportAttributeAccessIssue]

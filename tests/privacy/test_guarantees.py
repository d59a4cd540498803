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
    with pytest.raises(dc.UsageError, match="epsilon"):
        dc.PureDP(epsilon)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, float("nan")])
def test_bad_delta(delta: float) -> None:
    with pytest.raises(dc.UsageError, match="delta"):
        dc.ApproxDP(1, delta)


def test_bad_neighbors() -> None:
    with pytest.raises(dc.UsageError, match="neighbors"):
        dc.ZeroConcentratedDP(1, neighbors="swap")  # pyright: ignore[reportArgumentType]


def test_frozen() -> None:
    with pytest.raises(AttributeError):
        dc.PureDP(1).epsilon = Fraction(2)  # pyright: ignore[reportAttributeAccessIssue]

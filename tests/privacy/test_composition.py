"""Guarantees add up, against exact losses of small mechanisms."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.privacy import compose
from discreet.privacy.guarantees import Guarantee


def test_pure_guarantees_add_their_epsilons() -> None:
    assert compose(dc.PureDP("0.5"), dc.PureDP("0.1")) == dc.PureDP("0.6")
    three = compose(*[dc.PureDP("0.1", neighbors="add_remove")] * 3)
    assert three == dc.PureDP("0.3", neighbors="add_remove")


def test_a_single_guarantee_is_itself() -> None:
    alone = dc.ApproxDP(1, "1e-6", neighbors="add_remove")
    assert compose(alone) is alone


def test_mixed_kinds_become_the_weaker() -> None:
    assert compose(dc.ApproxDP(1, "1e-6"), dc.PureDP("0.1")) == dc.ApproxDP("1.1", "1e-6")
    assert compose(dc.PureDP("0.1"), dc.ApproxDP(1, "1e-6"), dc.ApproxDP(1, "1e-6")) == dc.ApproxDP(
        "2.1", "2e-6"
    )
    assert compose(dc.PureDP("0.1"), dc.ZeroConcentratedDP("0.02")) == dc.ZeroConcentratedDP("0.025")
    assert compose(dc.ZeroConcentratedDP("0.02"), dc.ZeroConcentratedDP("0.03")).budgets() == {
        "rho": Fraction(1, 20)
    }


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 5.0])
def test_a_pure_guarantee_is_worth_no_less_rho(epsilon: float) -> None:
    """Randomized response is the worst pure mechanism: its Rényi divergence stays under a rho at every order a."""
    p = np.exp(epsilon) / (1 + np.exp(epsilon))
    a = np.concatenate([np.linspace(1.001, 3, 200), np.geomspace(3, 1000, 200)])
    terms = np.stack([a * np.log(p) + (1 - a) * np.log(1 - p), a * np.log(1 - p) + (1 - a) * np.log(p)])
    divergence = np.logaddexp(*terms) / (a - 1)
    total = compose(dc.PureDP(epsilon), dc.ZeroConcentratedDP("1e-9"))
    assert (divergence <= a * float(total.budgets()["rho"])).all()
    # control: a tenth of that rho is not enough
    assert (divergence > a * epsilon**2 / 20).any()


def test_what_does_not_add_up() -> None:
    pure, approx, zcdp = dc.PureDP(1), dc.ApproxDP(1, "1e-6"), dc.ZeroConcentratedDP(1)
    with pytest.raises(dc.UsageError, match="different neighbors"):
        compose(pure, dc.PureDP(1, neighbors="add_remove"))
    with pytest.raises(dc.UsageError, match="these kinds"):
        compose(approx, zcdp)
    with pytest.raises(dc.UsageError, match="no guarantee"):
        compose()

    class Other(Guarantee):
        def budgets(self) -> dict[str, Fraction]:
            return {}

        def describe(self) -> str:
            return "trust me"

    with pytest.raises(dc.UsageError, match="these kinds"):
        compose(pure, Other())

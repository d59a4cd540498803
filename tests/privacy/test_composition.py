"""Guarantees add up, against exact losses of small mechanisms."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.privacy import ComposedDP, compose
from discreet.privacy.conversion import best_approx
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
    pure = dc.PureDP(1)
    with pytest.raises(dc.errors.UsageError, match="different neighbors"):
        compose(pure, dc.PureDP(1, neighbors="add_remove"))
    with pytest.raises(dc.errors.UsageError, match="different units"):
        compose(pure, dc.PureDP(1, unit="person"))
    with pytest.raises(dc.errors.UsageError, match="no guarantee"):
        compose()

    class Other(Guarantee):
        def budgets(self) -> dict[str, Fraction]:
            return {}

        def describe(self) -> str:
            return "trust me"

    with pytest.raises(dc.errors.UsageError, match="these kinds"):
        compose(pure, Other())
    with pytest.raises(dc.errors.UsageError, match="these kinds"):
        best_approx([Other()], "1e-6")


def test_a_composition_says_what_its_sum_says_and_remembers_its_parts() -> None:
    parts = [dc.PureDP("0.1")] * 3
    whole = compose(*parts)
    assert whole == dc.PureDP("0.3")
    assert hash(whole) == hash(dc.PureDP("0.3"))
    assert repr(whole) == repr(dc.PureDP("0.3"))
    assert whole.parts == tuple(parts)
    assert dc.PureDP("0.3").parts == ()
    # composing again keeps the original parts, and pickling and copying do too
    more = compose(whole, dc.ZeroConcentratedDP("0.1"))
    assert more.parts == (*parts, dc.ZeroConcentratedDP("0.1"))
    assert pickle.loads(pickle.dumps(more)).parts == copy.deepcopy(more).parts == more.parts


def test_kinds_without_a_common_one_stay_side_by_side() -> None:
    approx, zcdp = dc.ApproxDP(1, "1e-6"), dc.ZeroConcentratedDP("0.1")
    both = compose(approx, zcdp, dc.PureDP("0.5"))
    assert isinstance(both, ComposedDP)
    assert both.budgets() == {"epsilon": Fraction(3, 2), "delta": Fraction(1, 10**6), "rho": Fraction(1, 10)}
    assert "rho = 0.1" in both.describe()
    assert "delta = 1e-06" in both.describe()
    assert both.to_approx("1e-5").epsilon < compose(approx, dc.PureDP("0.5")).budgets()["epsilon"] + Fraction(
        3
    )
    assert compose(both, zcdp).parts == (*both.parts, zcdp)
    assert "2 times zero-concentrated" in compose(both, zcdp).describe()


def test_a_renyi_curve_takes_the_others_in_at_its_orders() -> None:
    curve = dc.RenyiDP([2, 4, 8], [1, 2, 4])
    assert compose(curve, dc.ZeroConcentratedDP("0.5")) == dc.RenyiDP([2, 4, 8], [2, 4, 8])
    assert compose(curve, dc.RenyiDP([3], [1])) == dc.RenyiDP([2, 3], [2, Fraction(7, 4) + 1])
    with_pure = compose(curve, dc.PureDP("0.3"))
    (at_two, *_) = with_pure.epsilons  # pyright: ignore[reportAttributeAccessIssue]
    # randomized response: log(p^2 / (1 - p) + (1 - p)^2 / p), less than epsilon and than epsilon^2
    p = 1 / (1 + np.exp(-0.3))
    assert float(at_two) == pytest.approx(1 + np.log(p**2 / (1 - p) + (1 - p) ** 2 / p), rel=1e-9)
    assert at_two < 1 + Fraction(9, 100)
    with pytest.raises(dc.errors.UsageError, match="above its largest"):
        curve.to_renyi([9])
    with pytest.raises(dc.errors.UsageError, match="no Rényi divergence"):
        dc.ApproxDP(1, "1e-6").to_renyi([2])


def test_long_lists_of_exact_amounts() -> None:
    assert compose(*[dc.PureDP("0.01")] * 300) == dc.PureDP(3)
    thousand = compose(*[dc.ApproxDP("0.01", "1e-10")] * 1000)
    assert thousand == dc.ApproxDP(10, "1e-7")
    assert thousand.to_approx("1e-6").epsilon < 3

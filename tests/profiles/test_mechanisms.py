"""One interface for all mechanisms; what cannot be fitted or perturbed is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.profiles import (
    KRandomizedResponse,
    OneBitCluster,
    OneBitPair,
    ProfileGraph,
    ProfileMechanism,
    RandomizedResponse,
    SmoothCategorical,
    SmoothOneBit,
)
from tests.profiles.cases import CHAIN

ALL: list[ProfileMechanism] = [
    OneBitPair(),
    OneBitPair("program"),
    OneBitCluster(),
    SmoothOneBit(),
    SmoothOneBit("expected"),
    SmoothCategorical(),
    SmoothCategorical("expected"),
    RandomizedResponse(),
    KRandomizedResponse(),
]
PAIR = ProfileGraph({"a": 0.2, "b": 0.7}, [("a", "b")])


@pytest.mark.parametrize("mechanism", ALL, ids=repr)
def test_every_mechanism_has_the_same_interface(mechanism: ProfileMechanism) -> None:
    fitted = mechanism.fit(PAIR, 0.5)
    assert fitted.matrix("a").shape == (2, 2)
    np.testing.assert_allclose(
        fitted.output("b"), PAIR.probabilities[1] @ fitted.matrix("b"), rtol=0, atol=1e-15
    )
    assert fitted.privatize(1, "a") in (0, 1)
    assert set(fitted.privatize_many([0, 1, 1], ["a", "b", "b"])) <= {0, 1}
    assert "epsilon = 0.5" in fitted.statement()
    assert fitted.graph is PAIR
    assert fitted.epsilon == Fraction(1, 2)
    assert 0 < fitted.achieved <= 0.5


@pytest.mark.parametrize("mechanism", ALL, ids=repr)
def test_epsilon_zero_gives_constant_output(mechanism: ProfileMechanism) -> None:
    fitted = mechanism.fit(PAIR, 0)
    assert fitted.achieved == 0
    assert (fitted.output("a") == fitted.output("b")).all()
    assert fitted.audit().worst.ratio == 1  # pyright: ignore[reportOptionalMemberAccess]


@pytest.mark.parametrize("mechanism", ALL, ids=repr)
@pytest.mark.parametrize("epsilon", [1e-300, 1e-17, 1e-12, 1e-8, 40, 700, 1e299])
def test_extreme_budgets_are_honored(mechanism: ProfileMechanism, epsilon: float) -> None:
    fitted = mechanism.fit(PAIR, epsilon)
    assert fitted.audit().honors(epsilon)
    if epsilon >= 40:
        assert fitted.largest_corruption < 1e-15


@pytest.mark.parametrize("mechanism", ALL, ids=repr)
@pytest.mark.parametrize("epsilon", [-1, -1e-12, float("nan"), float("inf"), "x", None, True])
def test_bad_budgets_are_refused(mechanism: ProfileMechanism, epsilon: Any) -> None:
    with pytest.raises(UsageError, match="epsilon must be"):
        mechanism.fit(PAIR, epsilon)


def test_disconnected_graphs_are_fitted_part_by_part() -> None:
    distributions = {"a": 0.0, "b": 1.0, "c": 0.4, "d": 0.5, "e": 0.9}
    graph = ProfileGraph(distributions, [("a", "b"), ("c", "d")])
    for mechanism in (OneBitCluster(), SmoothOneBit(), SmoothCategorical()):
        fitted = mechanism.fit(graph, 0.5)
        alone = mechanism.fit(ProfileGraph({"c": 0.4, "d": 0.5}, [("c", "d")]), 0.5)
        assert fitted.flips[0] == pytest.approx(1 / (1 + np.exp(0.5)), abs=1e-9)
        assert (fitted.table[2:4] == alone.table).all()
        assert fitted.flips[4] == 0
    without = SmoothCategorical().fit(ProfileGraph(CHAIN), 0.1)
    assert without.largest_corruption == 0
    assert without.audit().worst is None


def test_alike_profiles_are_not_perturbed() -> None:
    for row in ([0.2, 0.3, 0.5], [0.7, 0.2, 0.1]):  # as floats, the second adds up to less than 1
        graph = ProfileGraph.complete({"a": row, "b": row})
        for epsilon in (0, 0.1):
            fitted = SmoothCategorical().fit(graph, epsilon)
            assert fitted.largest_corruption == 0
            assert (fitted.corruption == 0).all()
    graph = ProfileGraph.complete({"a": 0.3, "b": 0.3, "c": 0.3})
    assert SmoothOneBit().fit(graph, 0).largest_corruption == 0
    assert OneBitCluster().fit(graph, 0).largest_corruption == 0


# -- bad input ------------------------------------------------------------------------------------------


def test_mechanisms_refuse_graphs_that_are_not_for_them() -> None:
    wide, three = ProfileGraph.chain(CHAIN), ProfileGraph.chain({"a": 0.1, "b": 0.2, "c": 0.3})
    for mechanism in (OneBitPair(), OneBitCluster(), SmoothOneBit(), RandomizedResponse()):
        with pytest.raises(UsageError, match="is for two categories, the graph has 4"):
            mechanism.fit(wide, 1)
    for graph in (three, ProfileGraph({"a": 0.1, "b": 0.2})):
        with pytest.raises(UsageError, match="two profiles and the edge"):
            OneBitPair().fit(graph, 1)
    with pytest.raises(UsageError, match="needs a ProfileGraph"):
        SmoothOneBit().fit({"a": 0.1}, 1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="solver must be"):
        OneBitPair("newton")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("value", "profile", "message"),
    [
        ("secret-value", "a", "an observation is none of the categories"),
        (float("nan"), "a", "an observation is none of the categories"),
        (None, "a", "an observation is none of the categories"),
        ([1], "a", "an observation is none of the categories"),
        (1, "secret-person", "a profile is none of the graph's"),
        (1, None, "a profile is none of the graph's"),
    ],
)
def test_what_is_unseen_is_refused_without_being_repeated(value: Any, profile: Any, message: str) -> None:
    fitted = SmoothOneBit().fit(PAIR, 0.5)
    with pytest.raises(UsageError, match=message) as caught:
        fitted.privatize(value, profile)
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match=message) as caught:
        fitted.privatize_many([1, value], ["a", profile])
    assert "secret" not in str(caught.value)


def test_an_unseen_profile_is_refused_everywhere() -> None:
    fitted = SmoothOneBit().fit(PAIR, 0.5)
    for ask in (fitted.matrix, fitted.output, lambda name: fitted.privatize_many([0, 1], name)):
        with pytest.raises(UsageError, match="none of the graph's 2"):
            ask("zoe")
    with pytest.raises(UsageError, match="3 values but 2 profiles"):
        fitted.privatize_many([0, 1, 1], ["a", "b"])

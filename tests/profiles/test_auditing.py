"""An audit finds the worst edge and the worst report, of fitted mechanisms and of anybody's matrices."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.profiles import KRandomizedResponse, OneBitPair, ProfileGraph, SmoothCategorical, audit
from tests.profiles.cases import CHAIN, random_epsilon, random_graph


def test_an_audit_without_a_mechanism_is_the_profiles_own_distance() -> None:
    graph = ProfileGraph.chain(CHAIN)
    found = audit(np.eye(4), graph)
    worst = found.worst
    assert worst is not None
    # 0.3 against 0.1 in the third category, between b and c
    assert (worst.likelier, worst.other, worst.report, worst.ratio) == ("b", "c", 2, 3)
    assert found.epsilon == pytest.approx(math.log(3), rel=1e-11)
    assert found.epsilon >= math.log(3)
    assert [edge.epsilon for edge in found.edges] == sorted((e.epsilon for e in found.edges), reverse=True)
    assert not found.honors(1)
    assert found.honors(1.1)


def test_a_report_that_gives_the_profile_away_costs_everything() -> None:
    graph = ProfileGraph.chain({"a": 0, "b": 0.5})
    found = audit(np.eye(2), graph)
    assert found.worst.ratio is None  # pyright: ignore[reportOptionalMemberAccess]
    assert found.epsilon == math.inf
    assert not found.honors(1000)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["epsilon"] is None


def test_the_smallest_loss_is_not_rounded_away() -> None:
    for digits in (19, 21, 60, 120, 150):
        half, bit = Fraction(1, 2), Fraction(1, 10**digits)
        found = audit(np.eye(2), ProfileGraph.chain({"a": [half + bit, half - bit], "b": [half, half]}))
        # the larger ratio is 1/(1 - 2 bit)
        assert 2 * bit < Fraction(found.epsilon) < 2 * bit * (1 + Fraction(1, 10**10))


def test_what_a_mechanism_was_not_made_for_is_measured() -> None:
    """Other edges, and people who behave differently."""
    fitted = SmoothCategorical().fit(ProfileGraph.chain(CHAIN), 0.2)
    assert fitted.audit().epsilon <= 0.2 * (1 + 1e-11)
    farther = fitted.audit(ProfileGraph.complete(CHAIN))
    assert {farther.edges[0].likelier, farther.edges[0].other} == {"a", "c"}
    assert 0.2 < farther.epsilon <= 0.4 * (1 + 1e-11)
    other = {**CHAIN, "b": [0.1, 0.1, 0.1, 0.7]}
    assert fitted.audit(ProfileGraph.chain(other)).epsilon > 0.5
    with pytest.raises(UsageError, match="other profiles or categories"):
        fitted.audit(ProfileGraph.chain({"a": 0.1, "b": 0.2}))


def test_the_audit_of_written_matrices_is_that_of_the_table(rng: np.random.Generator) -> None:
    graph = random_graph(rng)
    fitted = SmoothCategorical().fit(graph, 0.7)
    by_hand = audit({name: fitted.matrix(name) for name in graph.profiles}, graph)
    assert by_hand.epsilon == pytest.approx(fitted.audit().epsilon, abs=1e-9)


def test_bad_matrices_are_refused() -> None:
    graph = ProfileGraph.chain(CHAIN)
    for matrices, message in (
        (np.eye(3), "needs 4 rows"),
        (3, "needs 4 rows"),
        ({"a": np.eye(4)}, "a matrix for every profile"),
        (np.eye(4) * 0.9, "not to 1"),
        ({"a": np.eye(4), "b": np.eye(4), "c": np.ones((4, 1))}, "the same reports"),
    ):
        with pytest.raises(UsageError, match=message):
            audit(matrices, graph)
    with pytest.raises(UsageError, match="give one"):
        audit(np.eye(4))


def test_matrices_may_have_other_reports_than_categories() -> None:
    """Only two answers for four categories."""
    merged = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    found = audit(merged, ProfileGraph.chain(CHAIN))
    assert found.worst.ratio == Fraction(2)  # pyright: ignore[reportOptionalMemberAccess]


def test_local_privacy_implies_profile_based_privacy(rng: np.random.Generator) -> None:
    """Theorem 26: a mechanism that ignores the profile and is locally private honors every graph."""
    tight = 0.0
    for _ in range(60):
        graph, epsilon = random_graph(rng), random_epsilon(rng)
        found = KRandomizedResponse().fit(graph, epsilon).audit()
        assert found.honors(epsilon)
        tight = max(tight, found.epsilon / epsilon)
    assert tight > 0.5


def test_a_mechanism_that_is_not_locally_private_need_not_honor_a_graph(rng: np.random.Generator) -> None:
    """The control of theorem 26: less flipping than randomized response is caught on sure profiles."""
    graph = ProfileGraph.chain({"a": 0, "b": 1})
    flips = 0.98 / (1 + math.e)
    assert not audit([[1 - flips, flips], [flips, 1 - flips]], graph).honors(1)
    assert OneBitPair().fit(graph, 1).audit().honors(1)


def test_post_processing_costs_nothing(rng: np.random.Generator) -> None:
    """Observation 7: whatever is done to a report, the loss does not grow."""
    for _ in range(10):
        graph = random_graph(rng)
        fitted = SmoothCategorical().fit(graph, 0.5)
        reports = int(rng.integers(2, 6))
        after = rng.dirichlet(np.ones(reports), graph.n_categories)
        processed = audit({name: fitted.matrix(name) @ after for name in graph.profiles}, graph)
        assert processed.epsilon <= fitted.audit().epsilon + 1e-9

"""Several reports: sums, maxima, and refusals with their reasons."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.profiles import FittedMechanism, ProfileGraph, SmoothCategorical, SmoothOneBit, compose
from tests.profiles.cases import CHAIN


def largest_log_ratio(distributions: np.ndarray, edges: tuple[tuple[int, int], ...]) -> float:
    """Return the worst log-ratio between distributions (rows) over edges."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [np.log(distributions[i] / distributions[j]) for i, j in [*edges, *(e[::-1] for e in edges)]]
    return float(np.nanmax(ratios))


def pairs_of_reports(first: FittedMechanism, second: FittedMechanism, reused: bool) -> np.ndarray:
    """Return, for each profile, the joint distribution of two reports of one observation, or of two."""
    distributions = []
    for i, p in enumerate(first.graph.probabilities):
        a, b = first.matrices[i], second.matrices[i]
        joint = np.einsum("x,xy,xz->yz", p, a, b) if reused else np.outer(p @ a, p @ b)
        distributions.append(joint.ravel())
    return np.array(distributions)


def test_independent_observations_of_one_person_add_up() -> None:
    graph = ProfileGraph.chain(CHAIN)
    first, second = SmoothCategorical().fit(graph, "0.2"), SmoothCategorical("expected").fit(graph, "0.3")
    together = compose(first, second)
    assert together.epsilon == Fraction(1, 2)
    assert together.edges == first.guarantee.edges
    assert "epsilon = 0.5 on 2 edges" in together.describe()
    found = largest_log_ratio(pairs_of_reports(first, second, reused=False), graph.edges)
    assert found <= 0.5 + 1e-9
    # and not much less: the sum is needed
    twice = largest_log_ratio(pairs_of_reports(first, first, reused=False), graph.edges)
    assert twice == pytest.approx(0.4, abs=1e-6)
    assert compose(first).epsilon == Fraction(1, 5)


def test_independent_people_cost_the_largest() -> None:
    """Observation 9: what the second person reports says nothing about the first."""
    graph = ProfileGraph.chain(CHAIN)
    first, second = SmoothCategorical().fit(graph, "0.2"), SmoothCategorical().fit(graph, "0.3")
    assert compose(first, second, people="independent").epsilon == Fraction(3, 10)
    q = np.array([0.5, 0.3, 0.2]) @ second.outputs
    given_first = np.array([np.outer(one, q).ravel() for one in first.outputs])
    assert largest_log_ratio(given_first, graph.edges) <= 0.2 + 1e-9


def test_people_who_depend_on_one_another_are_refused_because_it_fails() -> None:
    """The second person always has the first one's profile: together they cost more than the larger epsilon."""
    graph = ProfileGraph.chain(CHAIN)
    fitted = SmoothCategorical().fit(graph, "0.2")
    copied = np.array([np.outer(one, one).ravel() for one in fitted.outputs])
    assert largest_log_ratio(copied, graph.edges) > 0.2 + 0.1
    with pytest.raises(UsageError, match="depend on one another") as caught:
        compose(fitted, fitted, people="dependent")
    assert "combinations" in str(caught.value)


def test_reused_observations_are_refused_because_they_give_everything_away() -> None:
    """At epsilon = 0 a fair bit may be reported as it is, if the other profile's reports are fair as well."""
    graph = ProfileGraph.chain({"fair": 0.5, "sure": 1})
    fitted = SmoothOneBit().fit(graph, 0)
    assert fitted.guarantee.epsilon == 0
    fair = FittedMechanism(
        graph, Fraction(0), "smooth_one_bit", np.array([[[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]]) * 2.0**62
    )
    assert fair.audit().honors(0)
    twice = pairs_of_reports(fair, fair, reused=True)
    # 0 then 1 is impossible for the fair profile, and happens every fourth time to the sure one
    assert twice[0][1] == 0
    assert twice[1][1] == 0.25
    with pytest.raises(UsageError, match="two reports of one observation") as caught:
        compose(fair, fair, observations="reused")
    assert "observe anew" in str(caught.value)
    assert largest_log_ratio(pairs_of_reports(fair, fair, reused=False), graph.edges) == pytest.approx(0)


def test_sending_a_report_again_is_free() -> None:
    fitted = SmoothCategorical().fit(ProfileGraph.chain(CHAIN), "0.2")
    again = np.zeros((3, 16))
    for i, y in product(range(3), range(4)):
        again[i, 5 * y] = fitted.outputs[i, y]
    assert largest_log_ratio(again, fitted.graph.edges) <= 0.2 + 1e-9


def test_only_shared_edges_are_promised() -> None:
    chain, whole = ProfileGraph.chain(CHAIN), ProfileGraph.complete(CHAIN)
    both = compose(SmoothCategorical().fit(chain, 1), SmoothCategorical().fit(whole, 2))
    assert both.edges == SmoothCategorical().fit(chain, 1).guarantee.edges
    assert both.epsilon == 3
    apart = SmoothCategorical().fit(ProfileGraph(CHAIN, [("a", "c")]), 1)
    with pytest.raises(UsageError, match="share no edge"):
        compose(apart, SmoothCategorical().fit(chain, 1))


def test_what_is_no_guarantee_is_refused() -> None:
    fitted = SmoothCategorical().fit(ProfileGraph.chain(CHAIN), 1)
    with pytest.raises(UsageError, match="at least one"):
        compose()
    with pytest.raises(UsageError, match="fitted mechanisms"):
        compose(fitted, 0.5)
    with pytest.raises(UsageError, match="observations must be"):
        compose(fitted, observations="twice")  # pyright: ignore[reportArgumentType]

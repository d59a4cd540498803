"""Closed forms, programs and search agree on what is optimal."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.errors import UsageError
from discreet.profiles import (
    KRandomizedResponse,
    OneBitCluster,
    OneBitPair,
    ProfileGraph,
    SmoothCategorical,
    SmoothOneBit,
)
from discreet.profiles.one_bit import flip_probability
from tests.profiles.cases import CHAIN, random_epsilon


def test_sure_profiles_need_randomized_response() -> None:
    """Program 7.5 with p = 0 and 1, and the limit after observation 10."""
    graph = ProfileGraph({"a": 0, "b": 1}, [("a", "b")])
    for mechanism in (OneBitPair(), SmoothOneBit(), SmoothCategorical()):
        assert mechanism.fit(graph, 0.7).largest_corruption == pytest.approx(1 / (1 + np.exp(0.7)), abs=1e-9)


def feasible(outputs: np.ndarray, epsilon: float) -> np.ndarray:
    """Tell which of many pairs of output distributions (..., 2 profiles, categories) are close enough."""
    bound = np.exp(epsilon) * (1 + 1e-12)
    a, b = outputs[..., 0, :], outputs[..., 1, :]
    return ((a <= bound * b) & (b <= bound * a)).all(axis=-1)


def zoom(n_variables: int, value: Any, steps: int, rounds: int, reach: float, high: float) -> float:
    """Return the smallest value on a grid, searched again and again around the best point so far."""
    low, width = np.zeros(n_variables), np.full(n_variables, high)
    best = np.inf
    for _ in range(rounds):
        axes = [np.linspace(a, a + w, steps) for a, w in zip(low, width, strict=True)]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
        values = value(points)
        at = points[values.argmin()]
        best = min(best, values.min())
        step = width / (steps - 1)
        low = np.maximum(at - reach * step, 0)
        width = np.minimum(at + reach * step, high) - low
    return float(best)


@pytest.mark.parametrize(("p", "q", "epsilon"), [(0.1, 0.6, 0.3), (0.0, 0.4, 1.0), (0.3, 0.9, 0.7)])
def test_smooth_one_bit_is_the_best_on_a_grid(p: float, q: float, epsilon: float) -> None:
    distribution = np.array([[1 - p, p], [1 - q, q]])

    def largest(flips: np.ndarray) -> np.ndarray:
        outputs = distribution + flips[..., None] * (distribution[:, ::-1] - distribution)
        return np.where(feasible(outputs, epsilon), flips.max(axis=-1), np.inf)

    graph = ProfileGraph.chain({"a": p, "b": q})
    best = zoom(2, largest, 501, 4, 25, 0.5)
    assert SmoothOneBit().fit(graph, epsilon).largest_corruption == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("objective", ["largest", "expected"])
@pytest.mark.parametrize(("p", "q", "epsilon"), [(0.1, 0.6, 0.3), (0.25, 0.9, 0.8)])
def test_smooth_categorical_is_the_best_on_a_grid(p: float, q: float, epsilon: float, objective: Any) -> None:
    distribution = np.array([[1 - p, p], [1 - q, q]])

    def value(points: np.ndarray) -> np.ndarray:
        # points hold P(report 1 | 0) and P(report 0 | 1) of both profiles
        wrong = points.reshape(-1, 2, 2)
        flow = distribution * wrong
        outputs = distribution - flow + flow[..., ::-1]
        goal = wrong.max(axis=(1, 2)) if objective == "largest" else flow.sum(axis=(1, 2)) / 2
        return np.where(feasible(outputs, epsilon), goal, np.inf)

    fitted = SmoothCategorical(objective).fit(ProfileGraph.chain({"a": p, "b": q}), epsilon)
    best = zoom(4, value, 21, 10, 2.5, 1.0)
    found = fitted.largest_corruption if objective == "largest" else fitted.corruption.mean()
    assert found == pytest.approx(best, abs=1e-4)


def test_a_grid_notices_a_mechanism_that_flips_too_much() -> None:
    graph = ProfileGraph.chain({"a": 0.1, "b": 0.6})
    smooth = SmoothOneBit().fit(graph, 0.3).largest_corruption
    assert SmoothOneBit().fit(graph, 0.299).largest_corruption > smooth + 1e-4


def plain_optimum(graph: ProfileGraph, epsilon: float, costs: np.ndarray) -> float:
    """Solve 7.7 as it is printed, dense, with nothing but matrices and t as variables."""
    p, d, k = graph.probabilities, graph.n_categories, graph.n_profiles
    n = k * d * d + 1
    above, equal = [], []
    for i, j in [*graph.edges, *(edge[::-1] for edge in graph.edges)]:
        for y in range(d):
            row = np.zeros((k, d, d))
            row[i, :, y] += p[i]
            row[j, :, y] -= np.exp(epsilon) * p[j]
            above.append(np.append(row, 0.0))
    for i, x, y in product(range(k), range(d), range(d)):
        row = np.zeros((k, d, d))
        if x != y:
            row[i, x, y] = costs[x]
            above.append(np.append(row, -1.0))
    for i, x in product(range(k), range(d)):
        row = np.zeros((k, d, d))
        row[i, x] = 1
        equal.append(np.append(row, 0.0))
    found = linprog(
        np.eye(n)[-1],
        A_ub=np.array(above),
        b_ub=np.zeros(len(above)),
        A_eq=np.array(equal),
        b_eq=np.ones(k * d),
    )
    return float(found.fun)


def test_the_program_with_outputs_is_the_printed_one(rng: np.random.Generator) -> None:
    for _ in range(6):
        d = int(rng.integers(2, 5))
        graph = ProfileGraph.chain(dict(enumerate(rng.dirichlet(np.ones(d), 3))))
        epsilon, weights = random_epsilon(rng), rng.uniform(0.2, 2, d)
        for each in (np.ones(d), weights):
            fitted = SmoothCategorical(weights=each).fit(graph, epsilon)
            largest = float((each[:, None] * fitted.matrices * (1 - np.eye(d))).max())
            assert largest == pytest.approx(plain_optimum(graph, epsilon, each), abs=1e-8)


def test_where_outputs_alone_promise_too_much_the_whole_program_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the shortcut's bound put too low, or gone, the optimum is the same."""
    from discreet.profiles.programs import Program

    graph = ProfileGraph.chain(CHAIN)
    honest = SmoothCategorical().fit(graph, 0.2)
    for wrong in (lambda self: 0.0, lambda self: None):
        monkeypatch.setattr(Program, "_bound_on_largest", wrong)
        again = SmoothCategorical().fit(graph, 0.2)
        assert again.largest_corruption == pytest.approx(honest.largest_corruption, abs=1e-8)
        assert again.matrices.sum() == pytest.approx(honest.matrices.sum(), abs=1e-6)


def test_a_solver_that_gives_up_leaves_the_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.profiles import programs

    monkeypatch.setattr(programs, "_linprog", lambda *given, **named: None)
    graph = ProfileGraph.chain(CHAIN)
    for objective in ("largest", "expected"):
        fitted = SmoothCategorical(objective).fit(graph, 0.2)
        assert (fitted.table == KRandomizedResponse().fit(graph, 0.2).table).all()
    flips = ProfileGraph.chain({"a": 0.1, "b": 0.9})
    assert (SmoothOneBit().fit(flips, 1).table == OneBitCluster().fit(flips, 1).table).all()


def test_figures_of_the_chain_of_six() -> None:
    graph = ProfileGraph.chain({i: f"{i}/5" for i in range(6)})
    assert OneBitCluster().fit(graph, 0.2).largest_corruption == pytest.approx(0.3219, abs=5e-5)
    assert SmoothOneBit().fit(graph, 0.2).largest_corruption == pytest.approx(0.3018, abs=5e-5)


def test_among_equal_optima_the_smallest_sum_is_taken() -> None:
    """Far from the worst edge, flips are those of a graph without that edge."""
    graph = ProfileGraph({"a": 0, "b": 1, "c": 0.5, "d": 0.52}, [("a", "b"), ("b", "c"), ("c", "d")])
    fitted = SmoothOneBit().fit(graph, 0.5)
    assert fitted.flips[:2] == pytest.approx(1 / (1 + np.exp(0.5)), abs=1e-8)
    assert fitted.flips[2:] == pytest.approx(0, abs=1e-8)


def test_priors_and_weights_move_the_corruption() -> None:
    graph = ProfileGraph.chain(CHAIN)
    often_a = SmoothCategorical("expected", prior={"a": 1, "b": 0, "c": 0}).fit(graph, 0.1)
    often_c = SmoothCategorical("expected", prior=[0, 0, 1]).fit(graph, 0.1)
    assert often_a.corruption[0] < often_c.corruption[0]
    assert often_c.corruption[2] < often_a.corruption[2]
    assert often_a.corruption[0] == pytest.approx(0, abs=1e-6)
    assert often_a.audit().honors(0.1)
    dear = SmoothCategorical("expected", weights=[10, 1, 1, 1]).fit(graph, 0.1)
    cheap = SmoothCategorical("expected", weights={0: 0.1, 1: 1, 2: 1, 3: 1}).fit(graph, 0.1)

    def from_first(fitted: Any) -> float:
        return float((graph.probabilities[:, 0] * (1 - fitted.matrices[:, 0, 0])).sum())

    assert from_first(dear) < from_first(cheap)
    # ordered levels: what moves, moves to the next one
    steps = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) ** 2
    near = SmoothCategorical("expected", weights=steps).fit(graph, 0.1)
    assert near.matrices[:, 0, 3].max() < 1e-6


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e-6, 1e6, 1e12])
def test_only_ratios_of_weights_and_priors_matter(scale: float, rng: np.random.Generator) -> None:
    """A solver has tolerances for numbers around 1; what users write down may be in any unit."""
    distributions = rng.dirichlet(np.ones(4), 4)
    graph = ProfileGraph(dict(enumerate(distributions)), [(0, 1), (2, 3)])
    weights = np.array([1.0, 2.0, 3.0, 4.0])

    def value(fitted: Any, kind: str) -> float:
        costs = weights[:, None] * (1 - np.eye(4)) * fitted.matrices
        return float(costs.max() if kind == "largest" else np.einsum("ix,ixy->", distributions, costs))

    for kind in ("largest", "expected"):
        plain, scaled = (
            SmoothCategorical(kind, weights=weights * by).fit(graph, 0.1)  # pyright: ignore[reportArgumentType]
            for by in (1.0, scale)
        )
        assert value(scaled, kind) == pytest.approx(value(plain, kind), abs=1e-8)
    shares = np.array([3.0, 1.0])
    rare, alone = (
        SmoothCategorical("expected", prior=[1, 1, *(shares * by)]).fit(graph, 0.1).corruption[2:] @ shares
        for by in (min(scale, 1 / scale), 1.0)
    )
    assert rare == pytest.approx(alone, abs=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "best"}, "'largest' or 'expected'"),
        ({"objective": "information"}, "mutual information"),
        ({"prior": [1, 1, 1]}, "knows no prior"),
        ({"objective": "expected", "prior": [1, 1]}, "prior must be 3 numbers"),
        ({"objective": "expected", "prior": [0, 0, 0]}, "not all 0"),
        ({"objective": "expected", "prior": [np.nan, 1, 1]}, "prior must be"),
        ({"objective": "expected", "prior": {"a": 1}}, "name every profile"),
        ({"weights": {0: 1}}, "name every category"),
        ({"weights": [1, 1, 1]}, "weights must be 4 numbers"),
        ({"weights": [-1, 1, 1, 1]}, "weights must be"),
        ({"weights": "abcd"}, "weights must be"),
        ({"weights": np.ones((3, 3))}, "every pair of categories"),
        ({"weights": np.eye(4)}, "must have a cost"),
    ],
)
def test_objectives_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SmoothCategorical(**options).fit(ProfileGraph.chain(CHAIN), 0.5)


# -- observation 10 -------------------------------------------------------------------------------------


def test_the_corrected_closed_form_is_the_program_and_the_printed_one_is_not(
    rng: np.random.Generator,
) -> None:
    """Printed, the bound is never below the optimum, but above 1/2 in about a third of all cases."""
    above_half, differ, n = 0, 0, 200
    for _ in range(n):
        p, q = np.sort(rng.uniform(0, 1, 2))
        epsilon = rng.uniform(0.05, 2)
        growth = Fraction(float(np.exp(epsilon)))
        closed = float(flip_probability(Fraction(float(p)), Fraction(float(q)), growth))
        rows = [(1 - 2 * a) - float(growth) * (1 - 2 * b) for a, b in ((q, p), (1 - p, 1 - q))]
        right = [float(growth) * b - a for a, b in ((q, p), (1 - p, 1 - q))]
        program = linprog([1], A_ub=np.array(rows)[:, None], b_ub=right, bounds=[(0, 0.5)]).fun
        assert closed == pytest.approx(program, abs=1e-8)
        e = float(growth)
        first = (q - e * p) / (2 * (q - e * p) - (1 - e))
        printed = max(0.0, first, (p - e * q + e - 1) / (2 * (p - e * q) + e - 1))
        assert printed >= closed - 1e-9
        above_half += printed > 0.5
        differ += abs(printed - closed) > 1e-6
    assert 0.2 < above_half / n < 0.5
    assert differ >= above_half

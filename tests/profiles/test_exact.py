"""Exact arithmetic: what is rounded is rounded to the safe side, and what is nudged is barely moved."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.privacy.rounding import exp_down
from discreet.profiles import ProfileGraph, SmoothCategorical
from discreet.profiles.exact import WHOLE, Outputs, growth_of, holds, mix_in_uniform, to_table
from tests.profiles.cases import CHAIN, random_graph


@pytest.mark.parametrize("epsilon", ["0", "1e-40", "1e-12", "1/3", "0.5", "2", "64"])
def test_growth_is_just_below_the_exponential(epsilon: str) -> None:
    value = Fraction(epsilon)
    with mpmath.workdps(80):
        truth = mpmath.exp(mpmath.mpf(value.numerator) / value.denominator)
        found = exp_down(value)
        below = truth - mpmath.mpf(found.numerator) / found.denominator
        assert 0 <= below <= truth * mpmath.mpf(10) ** -38
    assert growth_of(value) >= 1


def test_large_budgets_are_held_to_a_smaller_one() -> None:
    assert growth_of(Fraction(10) ** 300) == growth_of(Fraction(64))


def test_rows_sum_to_one_whatever_the_floats(rng: np.random.Generator) -> None:
    for scale in (1.0, 1 + 1e-12, 1 - 1e-9):
        floats = rng.dirichlet(np.full(7, 0.3), (50, 7)) * scale
        floats[0, 0] = [1, 0, 0, 0, 0, 0, 0]
        floats[0, 1] = 1 / 7
        table = to_table(floats)
        assert (table.sum(axis=-1) == WHOLE).all()
        assert (table >= 0).all()
        assert np.abs(table / WHOLE - floats / floats.sum(axis=-1, keepdims=True)).max() < 1e-12


def test_outputs_are_exact(rng: np.random.Generator) -> None:
    graph = random_graph(rng)
    table = to_table(rng.dirichlet(np.ones(graph.n_categories), (graph.n_profiles, graph.n_categories)))
    outputs = Outputs.of(graph, table)
    for i, distribution in enumerate(graph.distributions):
        for y in range(graph.n_categories):
            direct = sum(
                (p * Fraction(int(row[y]), WHOLE) for p, row in zip(distribution, table[i], strict=True)),
                Fraction(0),
            )
            assert outputs.probability(i, y) == direct
        assert sum(outputs.probability(i, y) for y in range(graph.n_categories)) == 1


def test_a_nudge_repairs_what_a_solver_gets_wrong_and_moves_little(rng: np.random.Generator) -> None:
    """Errors as large as a solver's tolerance are mended by a change of the same order."""
    graph, growth = ProfileGraph.chain(CHAIN), growth_of(Fraction(1, 5))
    good = SmoothCategorical().fit(graph, "1/5").matrices
    for size in (1e-12, 1e-9, 1e-6):
        bad = to_table(np.abs(good + rng.uniform(-size, size, good.shape)))
        assert not holds(graph, bad, growth)
        mended = mix_in_uniform(graph, bad, growth)
        assert holds(graph, mended, growth)
        assert np.abs(mended - bad).max() / WHOLE < 100 * size


def test_a_nudge_leaves_alone_what_holds() -> None:
    graph, growth = ProfileGraph.chain(CHAIN), growth_of(Fraction(1, 5))
    table = SmoothCategorical().fit(graph, "1/5").table
    assert mix_in_uniform(graph, table, growth) is table


def test_hopeless_tables_become_constant() -> None:
    graph = ProfileGraph.chain({"a": 0, "b": 1})
    identity = np.repeat((np.eye(2, dtype=np.int64) * WHOLE)[None], 2, axis=0)
    assert (mix_in_uniform(graph, identity, Fraction(1)) == WHOLE // 2).all()
    assert holds(graph, mix_in_uniform(graph, identity, Fraction(3, 2)), Fraction(3, 2))


def test_one_unit_too_many_is_seen() -> None:
    """The check is exact: a table at the bound holds, one unit of 2^-62 beyond it does not."""
    graph = ProfileGraph.chain({"a": 0, "b": 1})
    third = np.array([[2, 1], [1, 2]], dtype=np.int64) * (WHOLE // 3)
    third[0, 0] += WHOLE - third[0].sum()
    third[1, 1] += WHOLE - third[1].sum()
    table = np.stack([third, third])
    bound = Fraction(int(third[0, 0]), int(third[1, 0]))
    assert holds(graph, table, bound)
    table[0, 0, 0] += 1
    table[0, 0, 1] -= 1
    assert not holds(graph, table, bound)

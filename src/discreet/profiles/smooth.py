"""Smooth mechanisms: a program for each component, made exact, and never worse than a baseline."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.profiles.base import ProfileMechanism, check_one_bit, flip_matrices
from discreet.profiles.exact import WHOLE, mix_in_uniform, to_table
from discreet.profiles.graph import ProfileGraph
from discreet.profiles.objectives import Kind, Objective, Weights, read_objective
from discreet.profiles.one_bit import OneBitCluster
from discreet.profiles.programs import Program, categorical_program, one_bit_program
from discreet.profiles.randomized_response import KRandomizedResponse

# Solvers are exact to about this. A baseline that is ahead by less is not better, it is rounded differently.
_TIE = 1e-9


@dataclass(frozen=True)
class SmoothMechanism(ProfileMechanism):
    """A mechanism that is the optimum of a linear program."""

    objective: Kind = "largest"
    prior: Weights | None = None
    weights: Weights | None = None

    def settings(self) -> dict[str, Any]:
        chosen: dict[str, Any] = {"objective": self.objective}
        for name, value in (("prior", self.prior), ("weights", self.weights)):
            if isinstance(value, Mapping):
                chosen[name] = {str(key): float(one) for key, one in value.items()}
            elif value is not None:
                chosen[name] = np.asarray(value, dtype=float).tolist()
        return chosen

    def table(self, graph: ProfileGraph, growth: Fraction) -> np.ndarray:
        objective = read_objective(graph, self.objective, self.prior, self.weights)
        table = _unperturbed(graph)
        # nothing joins components, so each is a program of its own, and the worst does not spoil the others
        for component in graph.components:
            if len(component) > 1:
                part = graph.subgraph(component)
                table[list(component)] = self._component(part, growth, objective.of_component(component))
        return table

    def _component(self, graph: ProfileGraph, growth: Fraction, objective: Objective) -> np.ndarray:
        if len(set(graph.distributions)) == 1:
            return _unperturbed(graph)
        baselines = [mechanism.table(graph, growth) for mechanism in self.baselines()]
        best = min(baselines, key=lambda table: objective.value(graph, table / WHOLE))
        program = self.program(graph, float(growth), objective)
        solved = program.least_largest() if objective.kind == "largest" else program.least_expected()
        if solved is None:
            return best
        found = mix_in_uniform(graph, to_table(self.matrices(graph, solved)), growth)
        ahead = objective.value(graph, found / WHOLE) - objective.value(graph, best / WHOLE)
        return best if ahead > _TIE else found

    @abstractmethod
    def baselines(self) -> Sequence[ProfileMechanism]:
        """Return mechanisms whose tables the program allows too."""

    @abstractmethod
    def program(self, graph: ProfileGraph, growth: float, objective: Objective) -> Program:
        """Return the program whose optimum it is."""

    @abstractmethod
    def matrices(self, graph: ProfileGraph, solved: np.ndarray) -> np.ndarray:
        """Return the matrices, to solver precision, that the variables of the program stand for."""


def _unperturbed(graph: ProfileGraph) -> np.ndarray:
    """Return the table that reports what was observed."""
    return np.repeat((np.eye(graph.n_categories, dtype=np.int64) * WHOLE)[None], graph.n_profiles, axis=0)


@dataclass(frozen=True)
class SmoothCategorical(SmoothMechanism):
    """Report categories through a matrix for each profile, as close to what was observed as the edges allow.

    Parameters
    ----------
    objective
        ``"largest"``: the smallest largest probability of any one wrong report and, among the many mechanisms that have
        it, the smallest sum. ``"expected"``: the least expected cost under ``prior`` over profiles.
    prior
        Weight of each profile, by name or in order; equal by default.
    weights
        Cost of corrupting each category, by name or in order, or a matrix: the cost of reporting y (column) where x
        (row) was observed. 1 by default.

    Privacy
    -------
    Definition 25 on every edge, for one report: the program's constraints, made exact afterwards by mixing
    all rows of a component with the uniform distribution (see :func:`~discreet.profiles.exact.mix_in_uniform`). Never
    worse than K-ary randomized response, which the program allows.

    Notes
    -----
    Mutual information is no objective: it is convex in the matrix, so that maximizing it is no convex program, and a
    solver would return some vertex and could not say how far from the best. It is measured instead, by
    :attr:`~discreet.profiles.FittedMechanism.information`.

    References
    ----------
    Geumlek (2020), algorithm 9, program 7.7 and theorem 25.
    """

    name = "smooth_categorical"

    def baselines(self) -> Sequence[ProfileMechanism]:
        return [KRandomizedResponse()]

    def program(self, graph: ProfileGraph, growth: float, objective: Objective) -> Program:
        return categorical_program(graph, growth, objective)

    def matrices(self, graph: ProfileGraph, solved: np.ndarray) -> np.ndarray:
        k, d = graph.n_profiles, graph.n_categories
        return np.clip(solved[: k * d * d].reshape(k, d, d), 0, 1)


@dataclass(frozen=True)
class SmoothOneBit(SmoothMechanism):
    """Flip each profile's bit with a probability of its own, at most 1/2.

    Parameters
    ----------
    objective
        ``"largest"``: the smallest largest flipping probability and, among the many mechanisms that have it, the
        smallest sum. ``"expected"``: the fewest flips under ``prior``.
    prior
        Weight of each profile, by name or in order; equal by default.
    weights
        Cost of corrupting each of the two categories.

    Privacy
    -------
    Definition 25 on every edge, for one report: the program's constraints, made exact afterwards by mixing
    all rows of a component with fair coins (see :func:`~discreet.profiles.exact.mix_in_uniform`).

    References
    ----------
    Geumlek (2020), algorithm 8, program 7.6 and theorem 24.
    """

    name = "smooth_one_bit"

    def check(self, graph: ProfileGraph) -> None:
        check_one_bit(graph, "SmoothOneBit")

    def baselines(self) -> Sequence[ProfileMechanism]:
        # never worse than randomized response, and exact where a solver would run out of digits
        return [OneBitCluster()]

    def program(self, graph: ProfileGraph, growth: float, objective: Objective) -> Program:
        return one_bit_program(graph, growth, objective)

    def matrices(self, graph: ProfileGraph, solved: np.ndarray) -> np.ndarray:
        return flip_matrices(np.clip(solved[: graph.n_profiles], 0, 0.5), 1)

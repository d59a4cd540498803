"""What the two smooth mechanisms share: a program for each component, made exact, and never worse than a baseline."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.profiles.base import ProfileMechanism
from discreet.profiles.exact import WHOLE, mix_in_uniform, to_table
from discreet.profiles.graph import ProfileGraph
from discreet.profiles.objectives import Kind, Objective, Weights, read_objective
from discreet.profiles.programs import Program

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
        for name in ("prior", "weights"):
            value = getattr(self, name)
            if value is not None:
                by_name = isinstance(value, Mapping)
                chosen[name] = (
                    {str(key): float(one) for key, one in value.items()}
                    if by_name
                    else np.asarray(value, dtype=float).tolist()
                )
        return chosen

    def table(self, graph: ProfileGraph, growth: Fraction) -> np.ndarray:
        objective = read_objective(graph, self.objective, self.prior, self.weights)
        d = graph.n_categories
        table = np.zeros((graph.n_profiles, d, d), dtype=np.int64)
        table[:, range(d), range(d)] = WHOLE
        # nothing joins components, so each is a program of its own, and the worst does not spoil the others
        for component in graph.components:
            if len(component) > 1:
                part = graph.subgraph(component)
                table[list(component)] = self._component(part, growth, objective.of_component(component))
        return table

    def _component(self, graph: ProfileGraph, growth: Fraction, objective: Objective) -> np.ndarray:
        if len(set(graph.distributions)) == 1:
            d = graph.n_categories
            return np.repeat((np.eye(d, dtype=np.int64) * WHOLE)[None], graph.n_profiles, axis=0)
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

"""A whole matrix for each profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.profiles.base import ProfileMechanism
from discreet.profiles.graph import ProfileGraph
from discreet.profiles.objectives import Objective
from discreet.profiles.programs import Program, categorical_program
from discreet.profiles.randomized_response import KRandomizedResponse
from discreet.profiles.smooth import SmoothMechanism


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

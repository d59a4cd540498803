"""A flipping probability for each profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.profiles.base import ProfileMechanism, check_one_bit, flip_matrices
from discreet.profiles.graph import ProfileGraph
from discreet.profiles.objectives import Objective
from discreet.profiles.one_bit_cluster import OneBitCluster
from discreet.profiles.programs import Program, one_bit_program
from discreet.profiles.smooth import SmoothMechanism


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

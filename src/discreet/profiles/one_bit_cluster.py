"""One flipping probability for everything that edges connect."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.profiles.base import ProfileMechanism, check_one_bit, flip_matrices
from discreet.profiles.graph import ProfileGraph
from discreet.profiles.one_bit_pair import flip_probability, units_up


@dataclass(frozen=True)
class OneBitCluster(ProfileMechanism):
    """Flip the bits of all connected profiles as often as the worst of their edges needs.

    Closed form, exact, and wasteful far from the worst edge: :class:`~discreet.profiles.SmoothOneBit` is never worse.

    Privacy
    -------
    Definition 25 on every edge, for one report: what one edge needs, the others may exceed, because both
    ratios of an edge fall as the flipping probability grows to 1/2. Profiles without edges are not perturbed.

    References
    ----------
    Geumlek (2020), algorithm 7 and theorem 23.
    """

    name = "one_bit_cluster"

    def check(self, graph: ProfileGraph) -> None:
        check_one_bit(graph, "OneBitCluster")

    def table(self, graph: ProfileGraph, growth: Fraction) -> np.ndarray:
        p = [row[1] for row in graph.distributions]
        worst = dict.fromkeys(range(graph.n_profiles), Fraction(0))
        for i, j in graph.edges:
            worst[i] = max(worst[i], flip_probability(p[i], p[j], growth))
        flips = np.zeros(graph.n_profiles, dtype=np.int64)
        for component in graph.components:
            flips[list(component)] = units_up(max(worst[i] for i in component))
        return flip_matrices(flips)

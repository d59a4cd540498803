"""One bit: flip it just often enough, for two profiles or for everything that edges connect."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.arguments import one_of
from discreet.errors import UsageError
from discreet.profiles.base import ProfileMechanism, check_one_bit, flip_matrices
from discreet.profiles.exact import WHOLE, mix_in_uniform, to_table
from discreet.profiles.graph import ProfileGraph

HALF = Fraction(1, 2)


def flip_probability(p: Fraction, q: Fraction, growth: Fraction) -> Fraction:
    """Return the least flipping probability that hides which of two Bernoulli distributions a bit is from.

    With p <= q, the ratios that flipping must tame are q/p for 1 and (1 - p)/(1 - q) for 0. At flipping probability
    a they are (q + (1 - 2q) a)/(p + (1 - 2p) a) and its mirror image, they fall as a grows to 1/2, and they equal
    ``growth`` = e^epsilon at n/(2n + growth - 1), with n = q - growth p or (1 - p) - growth (1 - q). Where n is not
    positive the ratio is small enough already.

    The printed closed form takes the maximum of both fractions whatever the sign of n. Beyond n = 0 they can be
    anything, also far above 1/2, so it is an upper bound at best.

    References
    ----------
    Geumlek (2020), program 7.5 and observation 10.
    """
    p, q = min(p, q), max(p, q)
    needed = [Fraction(0)]
    for n in (q - growth * p, (1 - p) - growth * (1 - q)):
        if n > 0:
            needed.append(n / (2 * n + growth - 1))
    return min(max(needed), HALF)


def units_up(value: Fraction) -> int:
    """Return a probability in units of 2^-62, rounded up."""
    return -int(-value * WHOLE // 1)


@dataclass(frozen=True)
class OneBitPair(ProfileMechanism):
    """Flip the bit of either of two profiles with the same, least possible probability.

    Parameters
    ----------
    solver
        ``"closed"``: the formula, exact. ``"program"``: the linear program, nudged; it gives the same to about 1e-9.

    Privacy
    -------
    Definition 25 for the graph's one edge, for one report. Flipping probabilities are rounded up to units
    of 2^-62, and more flipping never hurts (theorem 23's monotonicity). With p = 0 and p = 1 it is randomized response.

    References
    ----------
    Geumlek (2020), algorithm 6, program 7.5.
    """

    solver: Literal["closed", "program"] = "closed"
    name = "one_bit_pair"

    def __post_init__(self) -> None:
        one_of(self.solver, "solver", ("closed", "program"))

    def check(self, graph: ProfileGraph) -> None:
        check_one_bit(graph, "OneBitPair")
        if graph.n_profiles != 2 or len(graph.edges) != 1:
            raise UsageError(
                "OneBitPair is for two profiles and the edge between them.",
                hint="OneBitCluster takes any graph",
            )

    def settings(self) -> dict[str, Any]:
        return {"solver": self.solver}

    def table(self, graph: ProfileGraph, growth: Fraction) -> np.ndarray:
        p, q = (row[1] for row in graph.distributions)
        if self.solver == "closed":
            return flip_matrices(np.full(2, units_up(flip_probability(p, q, growth)), dtype=np.int64))
        alpha = _solve(float(p), float(q), float(growth))
        flips = np.array([[1 - alpha, alpha], [alpha, 1 - alpha]])
        return mix_in_uniform(graph, to_table(np.stack([flips, flips])), growth)


def _solve(p: float, q: float, growth: float) -> float:
    """Return program 7.5's solution, with its fractions multiplied out."""
    from scipy.optimize import linprog

    rows, right = [], []
    for a, b in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)):
        # a + (1 - 2a) alpha <= growth (b + (1 - 2b) alpha), divided by growth, which can be huge
        rows.append([(1 - 2 * a) / growth - (1 - 2 * b)])
        right.append(b - a / growth)
    found = linprog([1.0], A_ub=rows, b_ub=right, bounds=[(0, 0.5)], method="highs-ds")
    return float(found.x[0]) if found.status == 0 else 0.5


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

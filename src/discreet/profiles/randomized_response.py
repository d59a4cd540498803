"""Randomized response, the baseline: hides the observation itself, and so every profile."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.profiles.base import ProfileMechanism, check_one_bit
from discreet.profiles.exact import WHOLE, constant_row
from discreet.profiles.graph import ProfileGraph
from discreet.profiles.one_bit import units_up


@dataclass(frozen=True)
class KRandomizedResponse(ProfileMechanism):
    """Report each other category with probability 1/(e^epsilon + d - 1), whatever the profile.

    Privacy
    -------
    epsilon-local differential privacy: any two observations, not only those of profiles that an edge
    joins, give each report with probabilities within a factor e^epsilon. Mixtures over what profiles observe keep that
    factor, because the matrix ignores the profile: so it honors every graph (theorem 26). Entries off the diagonal are
    rounded up to units of 2^-62.

    References
    ----------
    Warner (1965); Kairouz, Bonawitz and Ramage (2016); Geumlek (2020), section 7.6.
    """

    name = "k_randomized_response"

    def table(self, graph: ProfileGraph, growth: Fraction) -> np.ndarray:
        d = graph.n_categories
        other = min(units_up(1 / (growth + d - 1)), WHOLE // d)
        one = np.full((d, d), other, dtype=np.int64)
        np.fill_diagonal(one, WHOLE - (d - 1) * other)
        if Fraction(int(one[0, 0]), other) > growth:
            # at epsilon = 0 or next to it not even what does not divide may depend on the observation
            one[:] = constant_row(d)
        return np.repeat(one[None], graph.n_profiles, axis=0)


@dataclass(frozen=True)
class RandomizedResponse(KRandomizedResponse):
    """Flip the bit with probability 1/(1 + e^epsilon), whatever the profile: Warner's mechanism.

    Privacy
    -------
    As for :class:`~discreet.profiles.KRandomizedResponse`, with two categories.

    References
    ----------
    Warner (1965), "Randomized response: a survey technique for eliminating evasive answer bias".
    """

    name = "randomized_response"

    def check(self, graph: ProfileGraph) -> None:
        check_one_bit(graph, "RandomizedResponse")

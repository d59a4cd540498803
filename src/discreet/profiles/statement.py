"""The promise of a fitted mechanism, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.rational import plain

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.profiles.base import FittedMechanism

#: The closed list of methods that a file may name, and what people call them.
METHODS = {
    "one_bit_pair": "One-bit pair mechanism",
    "one_bit_cluster": "One-bit cluster mechanism",
    "smooth_one_bit": "Smooth one-bit mechanism",
    "smooth_categorical": "Smooth categorical mechanism",
    "randomized_response": "Randomized response",
    "k_randomized_response": "K-ary randomized response",
}


def statement(mechanism: FittedMechanism) -> str:
    """Return the promise, and what is not promised."""
    graph, epsilon = mechanism.graph, plain(mechanism.epsilon)
    n, alone = len(graph.edges), sum(len(c) == 1 for c in graph.components)
    people = "1 profile" if graph.n_profiles == 1 else f"{graph.n_profiles} profiles"
    joined = "the pair" if n == 1 else f"each of the {n} pairs"
    # told from the numbers, not from the method's name
    hidden = mechanism.hides_observations
    lines = [
        f"{METHODS.get(mechanism.method, mechanism.method)} for {people} over {graph.n_categories} categories.",
        f"Promise: for {joined} of profiles that an edge joins, one report is at "
        f"most e^{epsilon} times as likely from one of the two as from the other (profile-based privacy with "
        f"epsilon = {epsilon}), checked in exact arithmetic.",
        f"Not promised: {'' if hidden else 'that observations stay hidden, '}"
        "that pairs without an edge cannot be told apart, anything about "
        "people who do not behave like their profile, anything if one observation is reported twice. "
        "Reports of several independent observations of one person add up.",
    ]
    if hidden:
        lines[1] += " It also hides the observation itself: local differential privacy with the same epsilon."
    if alone and not hidden:
        lines.append(
            f"{alone} profile{' has' if alone == 1 else 's have'} no edge: nothing hides "
            f"{'it' if alone == 1 else 'them'}."
        )
    return "\n".join(lines)


def over_time(mechanism: FittedMechanism, budget: Fraction, spent: Fraction, n_reports: int) -> str:
    """Return what all reports of one device promise together, and what they do not."""
    n, total = len(mechanism.graph.edges), plain(budget)
    joined = "the pair" if n == 1 else f"each of the {n} pairs"
    kind = METHODS.get(mechanism.method, mechanism.method)
    hidden = "" if mechanism.hides_observations else "that observations stay hidden, "
    return "\n".join(
        [
            f"{kind} for one person over time, epsilon = {plain(mechanism.epsilon)} for a report.",
            f"Promise: for {joined} of profiles that an edge joins, all reports of this device together are at most "
            f"e^{total} times as likely from one of the two as from the other (profile-based privacy with epsilon = "
            f"{total}). So far: {n_reports:,} report{'' if n_reports == 1 else 's'}, epsilon = {plain(spent)}.",
            "The device makes no report beyond that, and gives one observation the same report again.",
            f"Not promised: {hidden}that pairs without an edge cannot be told apart, anything about people who do not "
            "behave like their profile, anything if observations under different keys depend on one another beyond "
            "the profile, if an older copy of the device's file is put back, or about when reports are sent.",
        ]
    )

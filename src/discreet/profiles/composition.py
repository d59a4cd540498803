"""What several reports promise together, and where nothing can be promised.

=================================  ============================================  =================================
the reports                        together                                      why
=================================  ============================================  =================================
one person, a new, independent     the sum of the epsilons                       ratios of independent reports
observation for each                                                             multiply (observation 8)
different people, whose profiles   the largest epsilon                           the other report says nothing
were chosen independently                                                        about this person (observation 9)
one observation, reported twice    refused                                       the reports are linked through the
                                                                                 observation, and can give everything
                                                                                 away (observation 13)
people whose profiles depend on    refused                                       one report speaks about both people
one another                                                                      (observation 15)
=================================  ============================================  =================================

The first refusal is no lack of proof. Let one profile observe a fair bit and report it as it is, and another always
observe 1 and report a fair bit in its place: one report says nothing at all, epsilon = 0. Two reports of the *same*
observation agree always for the first and half of the time for the second, so that a disagreement gives the second
away. If a new observation cannot be had, send the first report again: that is post-processing, and free.

References
----------
Geumlek (2020), observations 7 to 9 and 11 to 15. Observation 9 is about mechanisms whose choice does *not* depend on
the other report; the word is missing in print.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.arguments import one_of
from discreet.errors import UsageError
from discreet.profiles.graph import Name, ProfileGraph
from discreet.rational import plain

Observations = Literal["independent", "reused"]
People = Literal["same", "independent", "dependent"]


@dataclass(frozen=True)
class ProfileGuarantee:
    """A promise about pairs of profiles: reports of the two are alike up to a factor e^epsilon.

    Parameters
    ----------
    edges
        The pairs, by name, each in either order.
    epsilon
        The loss, exact.
    """

    edges: frozenset[frozenset[Name]]
    epsilon: Fraction

    @classmethod
    def of(cls, graph: ProfileGraph, epsilon: Fraction) -> ProfileGuarantee:
        """Return the promise for a graph's edges."""
        names = graph.profiles
        return cls(frozenset(frozenset((names[i], names[j])) for i, j in graph.edges), epsilon)

    def describe(self) -> str:
        """Return the promise in a few words."""
        n = len(self.edges)
        return (
            f"profile-based privacy with epsilon = {plain(self.epsilon)} on {n} edge{'' if n == 1 else 's'}"
        )


def compose(
    *guarantees: ProfileGuarantee | Any,
    observations: Observations = "independent",
    people: People = "same",
) -> ProfileGuarantee:
    """Return what several reports promise together.

    Parameters
    ----------
    guarantees
        One for each report, or the fitted mechanisms behind them. The edges they share are what is promised.
    observations
        ``"independent"``: each report is of an observation of its own, drawn independently given the profile.
        ``"reused"``: the same observation, or observations that depend on one another; refused.
    people
        ``"same"``: all reports are of one person. ``"independent"``: each is of another person, and who has which
        profile was chosen independently; the promise is then about each person. ``"dependent"``: refused.
    """
    promised = _read(guarantees)
    one_of(observations, "observations", ("independent", "reused"))
    one_of(people, "people", ("same", "independent", "dependent"))
    if people == "dependent":
        raise UsageError(
            "nothing is promised for people whose profiles depend on one another: one's report speaks about both.",
            hint="make one graph whose profiles are the combinations, and protect those",
        )
    if observations == "reused":
        raise UsageError(
            "nothing is promised for two reports of one observation: they are linked through it, "
            "and together can give the profile away.",
            hint="send the first report again, which is free, or observe anew",
        )
    shared = frozenset.intersection(*(one.edges for one in promised))
    if not shared and any(one.edges for one in promised):
        raise UsageError("the guarantees share no edge, so together they promise nothing.")
    losses = [one.epsilon for one in promised]
    return ProfileGuarantee(shared, sum(losses, Fraction(0)) if people == "same" else max(losses))


def _read(guarantees: Sequence[Any]) -> list[ProfileGuarantee]:
    if not guarantees:
        raise UsageError("give at least one guarantee.")
    read = [getattr(one, "guarantee", one) for one in guarantees]
    if not all(isinstance(one, ProfileGuarantee) for one in read):
        raise UsageError("give fitted mechanisms or their guarantees.")
    return read

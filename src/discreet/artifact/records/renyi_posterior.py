"""Reads rebalanced posterior samples back: r and m must be small enough for what was promised."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.artifact.records.base import UNKNOWN, SamplingRecord
from discreet.artifact.samples import Samples
from discreet.privacy import RenyiDP
from discreet.privacy.costs.posterior_neighbors import ROOM, NeighboringPosteriors
from discreet.rational import float_down, float_up

if TYPE_CHECKING:
    from discreet.artifact.release import Release


class DirectPosteriorRecord(SamplingRecord):
    """Draws from the posterior itself, private enough as it is."""

    name = "direct_posterior"
    kind = "direct posterior"
    engines = "released_draws"
    #: The weight that may be below 1: r of the likelihood, or m of the prior.
    free: ClassVar[str] = ""
    #: Whether it answers a query, for which there is no likelihood.
    is_query: ClassVar[bool] = False

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        """Raise ValueError unless the samples' guarantee follows from the self."""
        promised = release.guarantees["samples"]
        if self.is_query == release.conjugate_family.is_likelihood:
            raise ValueError("its mechanism is not for its model")
        self.check_form(samples, "floating", ("order", "r", "m"))
        if self.support is not None:
            raise ValueError(UNKNOWN)
        weights = {name: _weight(self.parameters[name]) for name in "rm"}
        if any(weight != 1 for name, weight in weights.items() if name != self.free):
            raise ValueError(f"its weights are not those of a {self.kind}")
        if not isinstance(promised, RenyiDP) or promised.orders != (self.parameters["order"],):
            raise ValueError("its guarantee is not a Rényi divergence of the mechanism's order")
        if release.records is None:
            raise ValueError("the number of records must be public")
        near = NeighboringPosteriors(
            release.conjugate_family, self.conjugate, release.records, release.domain.bounds
        )
        each = float_down(promised.epsilons[0] / samples.count)
        # the last bit of a logarithm depends on the machine, so a reader must not ask for all the room that a writer
        # leaves
        if not near.allows(float_up(promised.orders[0]), each, **weights, room=ROOM / 2):
            raise ValueError("its samples are less private than its guarantee says")


class DiffusedPosteriorRecord(DirectPosteriorRecord):
    """Draws from a posterior with less weight on the likelihood."""

    name = "diffused_posterior"
    kind = "diffused posterior"
    free = "r"


class ConcentratedPosteriorRecord(DirectPosteriorRecord):
    """Draws from a posterior with more weight on the prior."""

    name = "concentrated_posterior"
    kind = "concentrated posterior"
    free = "m"


class DiffusedQueryRecord(DiffusedPosteriorRecord):
    """A diffused draw of the mean of a predicate."""

    name = "diffused_query"
    is_query = True
    engines = "none"


class ConcentratedQueryRecord(ConcentratedPosteriorRecord):
    """A concentrated draw of the mean of a predicate."""

    name = "concentrated_query"
    is_query = True
    engines = "none"


def _weight(value: Fraction) -> float:
    weight = float(value)
    if not 0 < weight <= 1 or Fraction(weight) != value:
        raise ValueError("a weight is not a floating-point number up to 1")
    return weight

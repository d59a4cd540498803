"""What a file of posterior samples on a finite set of parameters must satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from discreet.artifact.records.base import TOO_COLD, UNKNOWN, SamplingRecord
from discreet.artifact.records.posterior_sample import ROOM
from discreet.artifact.samples import Samples
from discreet.privacy import PureDP
from discreet.privacy.costs.parameter_set import (
    MOST_VALUES,
    ParameterSet,
    Values,
    entry_shape,
    read_weights,
)
from discreet.privacy.costs.scored_points import SLACK

if TYPE_CHECKING:
    from discreet.artifact.release import Release
    from discreet.domain.declarations import Domain
    from discreet.families import Family

# no parameter is called so: names have no spaces
_WEIGHTS = "prior weights"
# numbers of the set that a statement lists, at most
_LISTED = 12


class FinitePosteriorRecord(SamplingRecord):
    """Draws from a tempered posterior on a finite public set of parameters.

    ``paths`` hold the values of each parameter, one after the other, and their prior weights.
    """

    name = "finite_posterior"
    kind = "tempered posterior"
    engines = "released_draws"
    has_conjugate_prior = False

    @classmethod
    def of(cls, points: ParameterSet, temperature: Fraction, needed: Fraction) -> FinitePosteriorRecord:
        """Return the record of draws from this set."""
        return cls(
            _prior_text(points.weights),
            None,
            {"temperature": temperature, "range": needed},
            {**points.values, _WEIGHTS: points.weights},
        )

    @property
    def limits(self) -> tuple[str, ...]:
        weights = self.paths[_WEIGHTS]
        flat = [values for name, values in self.paths.items() if name != _WEIGHTS]
        if len(flat) > 1 or len(flat[0]) != len(weights):
            return (f"Only the {len(weights)} declared values of the parameters can be drawn.",)
        shown = ", ".join(f"{float(v):.6g}" for v in flat[0][:_LISTED])
        more = ", …" if len(weights) > _LISTED else ""
        return (f"Only the {len(weights)} declared values can be drawn: {shown}{more}.",)

    def scored_points(self, family: Family, domain: Domain) -> ParameterSet:
        values: Values = {name: self.paths[name] for name in family.draw_names}
        return ParameterSet(family, domain, values, self.paths[_WEIGHTS])

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        """Raise unless the temperature is enough for the guarantee and the draws are of the set."""
        family = release.conjugate_family
        self.check_form(samples, "exact", ["temperature", "range"], [*family.draw_names, _WEIGHTS])
        weights = self.paths[_WEIGHTS]
        n = len(weights)
        if self.support is not None or release.neighbors != "replace" or not 2 <= n <= MOST_VALUES:
            raise ValueError(UNKNOWN)
        if not family.is_likelihood or self.prior != _prior_text(weights):
            raise ValueError(UNKNOWN)
        for name in family.draw_names:
            if len(self.paths[name]) != n * prod(entry_shape(family, name)):
                raise ValueError("its parameters are not as many as their weights")
        read_weights(weights, n)
        points = self.scored_points(family, release.domain)
        points.check()
        if not points.holds(samples.arrays()):
            raise ValueError("a draw is none of its parameters")
        promised = release.guarantees["samples"]
        if not isinstance(promised, PureDP):
            raise ValueError(TOO_COLD)
        self.check_temperature(points.range() * (1 - ROOM), SLACK, samples.count, promised.epsilon)


def _prior_text(weights: Sequence[Fraction]) -> str:
    return f"weights on {len(weights)} declared values"

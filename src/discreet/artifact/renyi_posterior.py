"""Reads rebalanced posterior samples back: r and m must be small enough for what was promised."""

from __future__ import annotations

from fractions import Fraction

from discreet.artifact.release import Release
from discreet.artifact.samples import SamplingRecord
from discreet.families.predicate import Predicate
from discreet.privacy import RenyiDP
from discreet.privacy.posterior_neighbors import ROOM, NeighboringPosteriors
from discreet.rational import float_down, float_up

# The parameters that a mode may set below 1.
_FREE = {"direct": "", "diffused": "r", "concentrated": "m"}


def check(release: Release) -> None:
    """Raise ValueError unless the samples' guarantee follows from the record."""
    record, promised = release.mechanism, release.guarantees["samples"]
    assert isinstance(record, SamplingRecord)
    assert release.samples is not None
    mode, _, what = record.name.partition("_")
    if (what == "query") != isinstance(release.family, Predicate):
        raise ValueError("its mechanism is not for its model")
    if set(record.parameters) != {"order", "r", "m"} or record.support is not None:
        raise ValueError("its mechanism's parameters are not order, r and m")
    weights = {name: _weight(record.parameters[name]) for name in "rm"}
    if any(weight != 1 for name, weight in weights.items() if name != _FREE[mode]):
        raise ValueError(f"its weights are not those of a {mode} posterior")
    if not isinstance(promised, RenyiDP) or promised.orders != (record.parameters["order"],):
        raise ValueError("its guarantee is not a Rényi divergence of the mechanism's order")
    if release.records is None:
        raise ValueError("the number of records must be public")
    near = NeighboringPosteriors(release.family, record.conjugate, release.records, release.domain.bounds)
    each = float_down(promised.epsilons[0] / release.samples.count)
    # the last bit of a logarithm depends on the machine, so a reader must not ask for all the room that a writer leaves
    if not near.allows(float_up(promised.orders[0]), each, **weights, room=ROOM / 2):
        raise ValueError("its samples are less private than its guarantee says")
    if release.samples.arithmetic != "floating":
        raise ValueError("its samples cannot have been drawn in exact arithmetic")


def _weight(value: Fraction) -> float:
    weight = float(value)
    if not 0 < weight <= 1 or Fraction(weight) != value:
        raise ValueError("a weight is not a floating-point number up to 1")
    return weight

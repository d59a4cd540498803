"""Where a coarsened release comes from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.artifact.guarantee_codec import encode_guarantee, read_guarantee
from discreet.artifact.readers import exact_fields, name_of, tuple_of
from discreet.domain.declarations import Neighbors
from discreet.privacy import Guarantee, compose

if TYPE_CHECKING:
    from discreet.artifact.release import Release


@dataclass(frozen=True)
class Origin:
    """The release that a more private one was made from: its identifier, and what was promised for it."""

    release: str
    guarantees: tuple[Guarantee, ...]

    @cached_property
    def guarantee(self) -> Guarantee:
        """What holds for whoever sees the original, and everything that was made from it."""
        return compose(*self.guarantees)


def encode_origin(origin: Origin) -> dict[str, Any]:
    """Return the origin as JSON."""
    return {"release": origin.release, "guarantees": [encode_guarantee(one) for one in origin.guarantees]}


def read_origin(value: Any, neighbors: Neighbors, unit: str | None) -> Origin:
    """Read an origin, or raise ValueError."""
    exact_fields("coarsened", value, "release guarantees")
    guarantees = tuple_of(lambda one: read_guarantee(one, neighbors, unit), value["guarantees"])
    if not guarantees:
        raise ValueError("it does not say what was promised for the release it was made from")
    return Origin(name_of(value["release"]), guarantees)


def check_origin(release: Release, origin: Origin) -> None:
    """Raise ValueError unless the release is more private than its origin, and holds what can be coarsened."""
    if release.statistics is None or release.fit_check is not None:
        raise ValueError("only noisy totals can be coarsened")
    now, before = release.guarantee, origin.guarantee
    if origin.release == release.id or now.kind != before.kind:
        raise ValueError("it cannot have been made from the release that it names")
    limits = before.budgets()
    if any(value > limits[name] for name, value in now.budgets().items()):
        raise ValueError("it promises less than the release it was made from")

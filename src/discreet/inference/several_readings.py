"""Several releases of one table: readings of the same totals, each with noise of its own.

A total c is read as y_1, y_2, ... with independent noise, so what is known of it is the product of the noise's masses
at y_1 - c, y_2 - c, ... Engines that enumerate counts take the product for the noise of the first reading; the engine
of means takes the readings of all releases as coordinates of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.families import Bernoulli, Categorical, Mean
from discreet.inference.engines.registry import EngineName
from discreet.models.base import Model
from discreet.privacy import Noise
from discreet.privacy.published import JointNoise

# The engine that reads several releases of a table, for the models that have one.
_READ: dict[type[Model], EngineName] = {Bernoulli: "exact", Categorical: "exact", Mean: "grid"}


@dataclass(frozen=True, repr=False)
class SeveralReadings(Release):
    """Releases of one table as one: the first, with the noise of all readings of each total."""

    others: tuple[Release, ...] = ()

    @classmethod
    def of(cls, releases: Sequence[Release], engine: str) -> tuple[SeveralReadings, EngineName]:
        """Take releases of the same table together, or raise if they cannot be; also return the engine that does."""
        first, *others = releases
        reads = first.model.closed_form(_READ)
        if reads is None or engine not in ("auto", reads):
            raise UsageError(
                f"several readings of one {first.model.name} table are not read together"
                f"{'' if reads is None else f' by engine={engine!r:.20}'}.",
                hint="dc.Bernoulli(), dc.Categorical() and dc.Mean() are"
                if reads is None
                else f"engine={reads!r} reads them",
            )
        for one in others:
            if (one.neighbors, one.records, one.domain) != (first.neighbors, first.records, first.domain):
                raise UsageError(
                    "releases of the same table have the same neighbors, number of records and declarations.",
                    hint="leave out same_table if the tables differ",
                )
        fields = {name: getattr(first, name) for name in Release.__dataclass_fields__}
        return cls(**fields, others=tuple(others)), reads

    @property
    def readings(self) -> tuple[Release, ...]:
        """The releases, each with its own noise."""
        plain = {name: getattr(self, name) for name in Release.__dataclass_fields__}
        return (Release(**plain), *self.others)

    @cached_property
    def noise(self) -> tuple[Noise, ...]:
        each = [one.noise for one in self.readings]
        values = [one.totals.values for one in self.readings]
        return tuple(
            JointNoise(parts, tuple(y - found[0] for y in found))
            for parts, found in zip(zip(*each, strict=True), zip(*values, strict=True), strict=True)
        )

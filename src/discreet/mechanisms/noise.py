"""What the two noise mechanisms share: independent integer noise on each coordinate of the totals."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from itertools import groupby
from typing import ClassVar

from discreet.artifact import NoiseRecord, Statistics
from discreet.artifact.possible_totals import WIDEST_NOISE
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.mechanisms.base import Mechanism, RandomSource, Totals
from discreet.models.base import Model
from discreet.models.layout import Layout
from discreet.rational import float_up, quotient


class NoiseMechanism(Mechanism):
    """Adds independent integer noise to each coordinate, scaled to the joint sensitivity."""

    every_record: ClassVar[bool] = False
    relations: ClassVar[tuple[Neighbors, ...]] = ("replace", "add_remove")
    #: Its public record, which knows the distribution of the noise.
    record: ClassVar[type[NoiseRecord]]

    @abstractmethod
    def sensitivity(self, layout: Layout) -> Fraction:
        """Return the joint sensitivity this mechanism is calibrated to, in widths."""

    @abstractmethod
    def unit_scale(self, layout: Layout) -> Fraction:
        """Return the least noise scale that a coordinate of width 1 needs, exactly or rounded up."""

    def scales(self, layout: Layout) -> tuple[Fraction, ...]:
        """Return each coordinate's noise scale in mapped units, rounded up so that grid steps are an exact float."""
        unit = self.unit_scale(layout)
        kinds = {
            (width, grid): Fraction(float_up(width * unit / grid)) * grid
            for width, grid in set(zip(layout.width, layout.grid, strict=True))
        }
        if max(scale / grid for (_, grid), scale in kinds.items()) > WIDEST_NOISE:
            raise UsageError(
                "the budget is too small: its noise does not fit 64-bit integers.",
                hint="ask for a larger epsilon or rho",
            )
        return tuple(kinds[each] for each in zip(layout.width, layout.grid, strict=True))

    def check(self, model: Model, domain: Domain, layout: Layout | None = None) -> None:
        self.scales(layout or model.layout(domain, "replace"))

    def plan(
        self, model: Model, domain: Domain, n_records: int | None, layout: Layout | None = None
    ) -> NoiseRecord:
        layout = layout or model.layout(domain, "add_remove" if n_records is None else "replace")
        return self.record(self.scales(layout), self.sensitivity(layout))

    def draw(self, record: NoiseRecord, data: Totals, source: RandomSource) -> Statistics:
        layout = data.layout
        if layout is None:
            raise TypeError("noise is added to totals that know their layout")
        noise: list[int] = []
        # neighbors in the lists are mostly alike, and share a distribution
        for (scale, grid), run in groupby(zip(record.scale, layout.grid, strict=True)):
            noise += source.noises(record.distribution(quotient(scale, grid)), len(list(run)))
        noisy = tuple(value + added for value, added in zip(data.values, noise, strict=True))
        return Statistics(layout.names, noisy, layout.grid, layout.width, layout.shift, layout.half)

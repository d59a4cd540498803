"""What the two noise mechanisms share: independent integer noise on each coordinate of the totals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import ClassVar, Literal

from discreet.artifact import NoiseRecord, Statistics
from discreet.artifact.possible_totals import WIDEST_NOISE
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.mechanisms.base import Mechanism, RandomSource, Totals
from discreet.models.base import Model
from discreet.models.layout import Layout
from discreet.rational import float_up


class NoiseMechanism(Mechanism):
    """Adds independent integer noise to each coordinate, scaled to the joint sensitivity."""

    every_record: ClassVar[bool] = False
    relations: ClassVar[tuple[Neighbors, ...]] = ("replace", "add_remove")
    #: The norm in which it is calibrated to the sensitivity.
    norm: ClassVar[Literal["l1", "l2"]]
    #: Its public record, which knows the distribution of the noise.
    record: ClassVar[type[NoiseRecord]]

    def sensitivity(self, layout: Layout) -> Fraction:
        """Return the joint sensitivity this mechanism is calibrated to, in widths."""
        return layout.l1_sensitivity if self.norm == "l1" else layout.l2_sensitivity

    @abstractmethod
    def unit_scale(self, layout: Layout) -> Fraction:
        """Return the least noise scale that a coordinate of width 1 needs, exactly or rounded up."""

    def scales(self, layout: Layout) -> tuple[Fraction, ...]:
        """Return each coordinate's noise scale in mapped units, rounded up so that grid steps are an exact float."""
        unit = self.unit_scale(layout)
        scales: list[Fraction] = []
        for (width, grid), run in _runs(layout.width, layout.grid):
            steps = Fraction(float_up(width * unit / grid))
            if steps > WIDEST_NOISE:
                raise UsageError(
                    "the budget is too small: its noise does not fit 64-bit integers.",
                    hint="ask for a larger epsilon or rho",
                )
            scales += [steps * grid] * run
        return tuple(scales)

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
        for (scale, grid), run in _runs(record.scale, layout.grid):
            noise += source.noises(record.distribution(float(scale / grid)), run)
        noisy = tuple(value + added for value, added in zip(data.values, noise, strict=True))
        return Statistics(layout.names, noisy, layout.grid, layout.width, layout.shift, layout.half)


def _runs(
    one: Sequence[Fraction], other: Sequence[Fraction]
) -> Iterator[tuple[tuple[Fraction, Fraction], int]]:
    """Return pairs and how often each follows itself: of many coordinates, neighbors are mostly alike."""
    for pair, run in groupby(zip(one, other, strict=True)):
        yield pair, sum(1 for _ in run)

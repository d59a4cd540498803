"""The protocol of a noise mechanism: a budget in, a calibrated noise law out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from itertools import groupby
from typing import ClassVar, Protocol, runtime_checkable

from discreet.arguments import Constructed
from discreet.artifact.totals import WIDEST_NOISE
from discreet.errors import UsageError
from discreet.families.layout import Layout
from discreet.families.shapes import Neighbors
from discreet.privacy import DiscreteGaussian, DiscreteLaplace, Guarantee, Noise, PermuteAndFlip
from discreet.rational import float_up

#: Draws one integer from a noise law. Releases use :func:`discreet.mechanisms.sampler.secure_draw` and nothing else.
Draw = Callable[[Noise], int]


@runtime_checkable
class DrawsMany(Protocol):
    """A draw that has a quicker way to many."""

    def many(self, noise: Noise, n: int) -> list[int]:
        """Draw ``n`` independent integers."""
        ...


def draws(draw: Draw, noise: Noise, n: int) -> list[int]:
    """Draw ``n`` independent integers from one law."""
    if n > 1 and isinstance(draw, DrawsMany):
        return draw.many(noise, n)
    return [draw(noise) for _ in range(n)]


#: Makes one private choice; likewise :func:`discreet.mechanisms.sampler.secure_choose`.
Choose = Callable[[PermuteAndFlip], int]


class NoiseMechanism(metaclass=Constructed):
    """Adds independent integer noise to each coordinate, scaled to the joint sensitivity."""

    #: Name in release files.
    name: ClassVar[str]
    #: The noise law, made from its scale in grid steps.
    law: ClassVar[type[DiscreteLaplace] | type[DiscreteGaussian]]

    @abstractmethod
    def guarantee(self, neighbors: Neighbors) -> Guarantee:
        """Return what a release through this mechanism promises."""

    @abstractmethod
    def sensitivity(self, layout: Layout) -> Fraction:
        """Return the joint sensitivity this mechanism is calibrated to, in widths."""

    @abstractmethod
    def unit_scale(self, layout: Layout) -> Fraction:
        """Return the least noise scale that a coordinate of width 1 needs, exactly or rounded up."""

    def scales(self, layout: Layout) -> tuple[Fraction, ...]:
        """Return each coordinate's noise scale in mapped units, rounded up so that grid steps are an exact float."""
        unit = self.unit_scale(layout)
        scales: list[Fraction] = []
        # neighbors in the list are mostly alike, and exact numbers are slow
        for (width, grid), run in groupby(zip(layout.width, layout.grid, strict=True)):
            steps = float_up(width * unit / grid)
            if steps > WIDEST_NOISE:
                raise UsageError(
                    "the budget is too small: its noise does not fit 64-bit integers.",
                    hint="ask for a larger epsilon or rho",
                )
            scales += [Fraction(steps) * grid] * len(list(run))
        return tuple(scales)

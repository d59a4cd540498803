"""The protocol of a noise mechanism: a budget in, a calibrated noise law out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from discreet.artifact.totals import WIDEST_NOISE
from discreet.errors import UsageError
from discreet.families.layout import Layout
from discreet.families.shapes import Neighbors
from discreet.privacy import DiscreteGaussian, DiscreteLaplace, Guarantee, Noise, PermuteAndFlip
from discreet.rational import float_up

#: Draws one integer from a noise law. Releases use :func:`discreet.mechanisms.sampler.secure_draw` and nothing else.
Draw = Callable[[Noise], int]
#: Makes one private choice; likewise :func:`discreet.mechanisms.sampler.secure_choose`.
Choose = Callable[[PermuteAndFlip], int]


class NoiseMechanism(ABC):
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
        steps = [
            float_up(width * self.unit_scale(layout) / grid)
            for width, grid in zip(layout.width, layout.grid, strict=True)
        ]
        if max(steps) > WIDEST_NOISE:
            raise UsageError(
                "the budget is too small: its noise does not fit 64-bit integers.",
                hint="ask for a larger epsilon or rho",
            )
        return tuple(Fraction(step) * grid for step, grid in zip(steps, layout.grid, strict=True))

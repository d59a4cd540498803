"""Noise on the sums of products of a regression whose density falls with a norm of all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from discreet.arguments import fill, refilled
from discreet.artifact import Statistics
from discreet.artifact.possible_totals import WIDEST_NOISE
from discreet.artifact.records.k_norm import KNormRecord
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.mechanisms.base import Mechanism, RandomSource, Totals
from discreet.models import Model
from discreet.models.layout import Layout
from discreet.models.product_norm import FORMS, product_norm, takes_norm
from discreet.models.regression import Regression
from discreet.privacy import DiscreteLaplace, Guarantee, PureDP
from discreet.rational import Number, float_up

# the share of epsilon that pays for the usable count
_COUNTING = Fraction(1, 24)
_REFUSAL = "k-norm noise is for small regressions"


@dataclass(frozen=True)
class KNorm(Mechanism):
    """Add noise of density exp(-epsilon N(x)) to the sums of products of a small regression.

    N is a norm in which no record moves the sums by more than 1 (:mod:`~discreet.models.product_norm`). For pure
    differential privacy this is about the least noise there is: with two features two thirds of Laplace noise on the
    slopes. For regressions on one or two columns of numbers or of two labels, under ``replace`` also on three numbers,
    without products and squares; ``dc.release`` takes it for linear ones of them where no mechanism is named.

    Privacy
    -------
    Neighbors: either relation. Sensitivity: N(change) <= 1 for the sums of the records of two neighbors, exactly, also
    where one of them does not count; the usable count, where there is one, changes by at most 1. Theorem: log masses of
    the noise at k and k + d differ by at most N(d) / s on the sums (K-norm mechanism, Hardt and Talwar 2010) and by 1 /
    b on the count, independent discrete Laplace noise of scale b, and 1 / s + 1 / b <= epsilon. Values are rounded to a
    grid before they are multiplied, so that changes are those of records of the domain; noise is drawn on the grid of
    the sums, exactly (:mod:`discreet.samplers.thinned`).

    References
    ----------
    Hardt and Talwar (2010), "On the geometry of differential privacy", section 4. Awan and Slavkovic (2021),
    "Structure and sensitivity in differential privacy: comparing K-norm mechanisms".
    """

    name: ClassVar[str] = "k_norm"
    every_record: ClassVar[bool] = False
    relations: ClassVar[tuple[Neighbors, ...]] = ("replace", "add_remove")
    what: ClassVar[str] = "k-norm noise needs"
    example: ClassVar[str] = "for example dc.mechanisms.KNorm(epsilon=1)"
    delta = None
    epsilon: Fraction
    #: The neighbor relation of the release, which is known when its declarations are.
    neighbors: Neighbors | None = None

    def __init__(self, epsilon: Number | None = None) -> None:
        fill(self, epsilon=PureDP(self._needed(epsilon, "epsilon")).epsilon, neighbors=None)

    def guarantee(self, neighbors: Neighbors) -> Guarantee:
        return PureDP(self.epsilon, neighbors=neighbors)

    def divided(self, share: Fraction) -> tuple[KNorm, Any]:
        raise UsageError("fit_check is for families of one column, which take laplace noise.")

    def suited(self, model: Model) -> Model:
        return model.suited("l1")

    def within(self, model: Model, domain: Domain, neighbors: Neighbors) -> KNorm:
        return refilled(self, neighbors=neighbors)

    def check(self, model: Model, domain: Domain, layout: Layout | None = None) -> KNormRecord:
        regression = model.require(Regression, _REFUSAL, hint="mechanism='laplace' is for every model")
        if layout is None or self.neighbors is None:
            raise TypeError("noise is planned for a layout, and for neighbors")
        design = regression.released_products
        if design is None or not takes_norm(design, self.neighbors):
            raise UsageError(
                "k-norm noise is for one or two features, numbers or two labels each, without products and squares; "
                "under neighbors='replace' also for three numbers.",
                hint="mechanism='laplace' or 'gaussian' takes any regression",
            )
        size = len(design.products)
        counted = len(layout.names) > size
        share = self.epsilon * _COUNTING if counted else Fraction(0)
        reach = regression.l1_reach(self.neighbors)
        norm_scale = 1 / (self.epsilon - share)
        scales = [
            Fraction(float_up(width * reach * norm_scale / grid)) * grid
            for width, grid in zip(layout.width[:size], layout.grid[:size], strict=True)
        ]
        if counted:
            scales.append(Fraction(float_up(1 / share)))
        if any(scale / grid > WIDEST_NOISE for scale, grid in zip(scales, layout.grid, strict=True)):
            raise UsageError(
                "the budget is too small: its noise does not fit 64-bit integers.",
                hint="ask for a larger epsilon",
            )
        return KNormRecord(tuple(scales), reach, norm_scale, FORMS[len(design.columns), self.neighbors])

    def explained(self, layout: Layout | None) -> list[str]:
        said = "noise on all sums of products together, by a norm in which no record moves them by over 1"
        if layout is None or layout.names[-1] != "usable":
            return [said]
        left = float(self.epsilon * (1 - _COUNTING))
        return [f"{said}, for epsilon = {left:.6g}; the usable count has Laplace noise for the rest"]

    def draw(self, record: KNormRecord, data: Totals, source: RandomSource) -> Statistics:
        return self.draws(record, data, source, 1)[0]

    def draws(self, record: KNormRecord, data: Totals, source: RandomSource, times: int) -> list[Statistics]:
        from discreet.samplers.thinned import thinned_noise

        layout, density = self._density(record, data)
        size = len(density.scales)
        noise = thinned_noise(*density, times, source)
        counts: list[list[int]] = []
        for scale, grid in zip(record.scale[size:], layout.grid[size:], strict=True):
            counts.append(source.noises(DiscreteLaplace(float(scale / grid)), times))
        return [
            Statistics(
                layout.names,
                tuple(value + more for value, more in zip(data.values, (*added, *counted), strict=True)),
                layout.grid,
                layout.width,
                layout.shift,
                layout.half,
            )
            for added, *counted in zip(noise, *counts, strict=True)
        ]

    def loss(self, record: KNormRecord, first: Totals, second: Totals) -> Fraction:
        from discreet.samplers.thinned import excess_of

        _, density = self._density(record, first)
        pairs = zip(first.values, second.values, strict=True)
        change = [a - b for a, b in pairs][: len(density.scales)]
        return sum(first.moved(second, record.scale), excess_of(change, *density))

    def _density(self, record: KNormRecord, data: Totals) -> tuple[Layout, _Density]:
        """Return the layout of totals, and of what the density of the noise on their sums is made, in grid steps."""
        layout = data.layout
        design = data.model.require(Regression, _REFUSAL).released_design
        if layout is None or self.neighbors is None:
            raise TypeError("noise is added to totals that know their layout")
        norm = product_norm(design, self.neighbors, record.forms)
        step = layout.grid[0]
        return layout, _Density(
            [scale / step for scale in record.scale[: len(design.products)]],
            norm.forms,
            [reach * record.norm_scale / step for reach in norm.reaches],
        )


class _Density(NamedTuple):
    """Scales of the L1 norm, linear forms, and how large each may be: minus the log density is the largest of all."""

    scales: list[Fraction]
    forms: np.ndarray
    reaches: list[Fraction]

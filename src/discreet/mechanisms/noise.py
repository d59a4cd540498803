"""Noise: independent integers, discrete Laplace or discrete Gaussian, on each coordinate of the totals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import floor
from typing import Any, ClassVar, Literal, Self

from discreet.arguments import fill, refilled
from discreet.artifact import NoiseRecord, Statistics
from discreet.artifact.possible_totals import WIDEST_NOISE
from discreet.artifact.records.noise import GaussianRecord, LaplaceRecord
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.mechanisms.base import Mechanism, RandomSource, Totals
from discreet.models import Model
from discreet.models.layout import Layout
from discreet.privacy import (
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
)
from discreet.privacy.coarsening import certified_approx, certified_rho, gaussian_gap, zero_probability
from discreet.privacy.gaussian import rho_for_approx, sigma_for_approx
from discreet.privacy.guarantees import pure_or_approx
from discreet.privacy.metric.per_unit import PerUnit
from discreet.rational import Number, float_up, sqrt_up

# the share of a coarser budget that pays for what a sum of discrete Gaussians lacks of being one
_FOR_THE_GAP = Fraction(1, 10**6)
# kinds of coordinates whose noise is spelled out
_MOST_LINES = 12


class Priced(Mechanism):
    """A mechanism whose budget is an epsilon between any two neighbors, or one per unit of their distance."""

    budget: Fraction | PerUnit

    @property
    def epsilon(self) -> Fraction:
        """The price between any two neighbors, at most."""
        return self.budget.whole if isinstance(self.budget, PerUnit) else self.budget

    def within(self, model: Model, domain: Domain, neighbors: Neighbors) -> Self:
        if not isinstance(self.budget, PerUnit):
            return self
        return refilled(self, budget=self.budget.within(model, domain, neighbors))

    def guarantee(self, neighbors: Neighbors) -> Guarantee:
        if isinstance(self.budget, PerUnit):
            return self.budget.guarantee(neighbors)
        return pure_or_approx(self.budget, self.delta, neighbors=neighbors)


class NoiseMechanism(Mechanism):
    """Adds independent integer noise to each coordinate, scaled to the joint sensitivity."""

    every_record: ClassVar[bool] = False
    needs_bounds = False
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

    def explained(self, layout: Layout | None) -> list[str]:
        if layout is None:
            return []
        said = [f"joint {self.norm.upper()} sensitivity in widths: {float(self.sensitivity(layout)):.9g}"]
        at = 0
        for (scale, grid), run in _runs(self.scales(layout), layout.grid):
            names = layout.names[at] if run == 1 else f"{layout.names[at]} to {layout.names[at + run - 1]}"
            said.append(
                f"{names}: noise of scale {float(scale):.9g}, which is {float(scale / grid):.9g} steps"
            )
            at += run
            if len(said) > _MOST_LINES:
                said.append(f"and so on, for {len(layout.names):,} numbers in all")
                break
        return said

    def suited(self, model: Model) -> Model:
        return model.suited(self.norm)

    def check(self, model: Model, domain: Domain, layout: Layout | None = None) -> NoiseRecord:
        # noise does not depend on the number of records
        if layout is None:
            raise TypeError("noise is planned for a layout")
        return self.record(self.scales(layout), self.sensitivity(layout))

    def draw(self, record: NoiseRecord, data: Totals, source: RandomSource) -> Statistics:
        return self.draws(record, data, source, 1)[0]

    def draws(self, record: NoiseRecord, data: Totals, source: RandomSource, times: int) -> list[Statistics]:
        """Draw the noise of so many releases at once, coordinate by coordinate."""
        layout = data.layout
        if layout is None:
            raise TypeError("noise is added to totals that know their layout")
        noise: list[list[int]] = []
        for (scale, grid), run in _runs(record.scale, layout.grid):
            drawn = source.noises(record.distribution(float(scale / grid)), run * times)
            noise += [drawn[at::run] for at in range(run)]
        return [
            Statistics(
                layout.names,
                tuple(value + more for value, more in zip(data.values, added, strict=True)),
                layout.grid,
                layout.width,
                layout.shift,
                layout.half,
            )
            for added in zip(*noise, strict=True)
        ]

    def loss(self, record: NoiseRecord, first: Totals, second: Totals) -> Fraction:
        moved = first.moved(second, record.scale)
        return sum(moved, Fraction(0)) if self.norm == "l1" else sum((d * d for d in moved), Fraction(0)) / 2

    def coarser(self, before: NoiseRecord, layout: Layout) -> NoiseRecord | None:
        """Return the record of totals to which noise was added until it is this mechanism's; None if it is not more."""
        record = self.record(self.scales(layout), self.sensitivity(layout))
        pairs = [pair for pair, _ in _runs(before.scale, record.scale)]
        return record if all(scale < wider for scale, wider in pairs) else None

    @classmethod
    @abstractmethod
    def completion(cls, scale: Fraction, wider: Fraction, n: int, source: RandomSource) -> list[int]:
        """Draw ``n`` integers that turn noise of one scale into noise of a ``wider`` one, both in grid steps."""


@dataclass(frozen=True)
class Laplace(Priced, NoiseMechanism):
    """Add discrete Laplace noise of scale b_j = w_j D1 / epsilon to each coordinate.

    Give ``epsilon``; or, for a promise that fades with distance, ``metric="absolute"`` with ``epsilon_per_unit``, the
    loss between two records whose values are one unit apart.

    Privacy
    -------
    Neighbors: either relation; the layout's sensitivity is for the one declared. Under a metric: ``replace``.
    Sensitivity: D1 = sup over neighbors of ``sum_j |change_j| / w_j``, joint, grid steps included.
    Theorem: the log-ratio of the two mass functions at any output is at most ``sum_j |change_j| / b_j``
    <= epsilon, so the release is epsilon-DP (Dwork et al. 2006; on integers Ghosh, Roughgarden and Sundararajan
    2009). Scales are rounded up, which only strengthens it.

    Under a metric: a record that moves by d of the largest distance D changes ``sum_j |change_j| / w_j`` by at most
    S d / D (:mod:`discreet.privacy.metric.per_unit`), and b_j = w_j S / (epsilon_per_unit D), so the same sum is at
    most epsilon_per_unit d, and adds up over the records of two tables.
    """

    name: ClassVar[str] = "discrete_laplace"
    norm: ClassVar[Literal["l1", "l2"]] = "l1"
    record = LaplaceRecord
    delta = None
    budget: Fraction | PerUnit

    def __init__(
        self, epsilon: Number | None = None, *, metric: Any = None, epsilon_per_unit: Number | None = None
    ) -> None:
        told = metric is not None or epsilon_per_unit is not None
        budget = PerUnit.read(metric, epsilon_per_unit) if told else None
        if (epsilon is None) == (budget is None):
            raise UsageError("laplace noise takes either epsilon, or metric with epsilon_per_unit.")
        if epsilon is not None:
            budget = PureDP(epsilon).epsilon
        fill(self, budget=budget, needs_bounds=told)

    def divided(self, share: Fraction) -> tuple[Laplace, Laplace]:
        if isinstance(self.budget, PerUnit):
            raise UsageError("a fit check counts values, and has no budget per unit of distance.")
        return Laplace(self.budget * (1 - share)), Laplace(self.budget * share)

    def sensitivity(self, layout: Layout) -> Fraction:
        return self.budget.sensitivity if isinstance(self.budget, PerUnit) else layout.l1_sensitivity

    def unit_scale(self, layout: Layout) -> Fraction:
        return self.sensitivity(layout) / self.epsilon

    @classmethod
    def completion(cls, scale: Fraction, wider: Fraction, n: int, source: RandomSource) -> list[int]:
        """Draw 0 with the probability that completes the noise, otherwise noise of the wider scale.

        Privacy
        -------
        Theorem: the sum with the noise that is there is discrete Laplace of the wider scale, and with the
        probability rounded down it keeps that one's guarantee; see :mod:`discreet.privacy.coarsening`.
        """
        zero = zero_probability(scale, wider)
        drawn = source.noises(DiscreteLaplace(float(wider)), n)
        return [0 if source.coin(zero) else value for value in drawn]


@dataclass(frozen=True)
class Gaussian(NoiseMechanism):
    """Add discrete Gaussian noise of parameter sigma_j = w_j sigma to each coordinate.

    Give ``rho``, or ``epsilon`` with ``delta``.

    Privacy
    -------
    Neighbors: either relation; the layout's sensitivity is for the one declared. Sensitivity: D2 = sup over
    neighbors of the square root of sum_j (change_j / w_j)^2, joint, grid steps included. Theorem: independent
    discrete Gaussians give (sum_j change_j^2 / 2 sigma_j^2)-zCDP, so sigma = D2 / sqrt(2 rho) gives rho-zCDP
    (Canonne, Kamath and Steinke 2020, theorem 4). For (epsilon, delta), one coordinate is calibrated from the
    discrete distribution's own sum, several through zCDP; see :mod:`discreet.privacy.gaussian`.
    """

    name: ClassVar[str] = "discrete_gaussian"
    norm: ClassVar[Literal["l1", "l2"]] = "l2"
    record = GaussianRecord
    promise: ZeroConcentratedDP | ApproxDP

    def __init__(
        self, *, rho: Number | None = None, epsilon: Number | None = None, delta: Number | None = None
    ) -> None:
        if rho is not None and epsilon is None and delta is None:
            promise = ZeroConcentratedDP(rho)
        elif rho is None and epsilon is not None and delta is not None:
            promise = ApproxDP(epsilon, delta)
        else:
            raise UsageError("gaussian noise takes either rho, or epsilon with delta.")
        fill(self, promise=promise)

    def guarantee(self, neighbors: Neighbors) -> Guarantee:
        return self.promise.restated(neighbors)

    def divided(self, share: Fraction) -> tuple[Gaussian, Gaussian]:
        budgets = self.promise.budgets().items()
        first, second = (
            Gaussian(**{name: value * part for name, value in budgets}) for part in (1 - share, share)
        )
        return first, second

    def unit_scale(self, layout: Layout) -> Fraction:
        if isinstance(self.promise, ZeroConcentratedDP):
            rho = self.promise.rho
        else:
            epsilon, delta = float(self.promise.epsilon), float(self.promise.delta)
            if len(layout.names) == 1:
                step = layout.grid[0] / layout.width[0]
                most_steps = floor(layout.l2_sensitivity / step)
                return Fraction(sigma_for_approx(epsilon, delta, most_steps)) * step
            rho = Fraction(rho_for_approx(epsilon, delta))
        return sqrt_up(layout.l2_sensitivity**2 / (2 * rho))

    def coarser(self, before: NoiseRecord, layout: Layout) -> NoiseRecord | None:
        budgets = self.promise.budgets()
        less = Gaussian(**{name: value * (1 - _FOR_THE_GAP) for name, value in budgets.items()})
        record = super(Gaussian, less).coarser(before, layout)
        if record is None:
            return None
        gap = 0.0
        for (scale, wider), grid in zip(
            zip(before.scale, record.scale, strict=True), layout.grid, strict=True
        ):
            gap += gaussian_gap(float(scale / grid), float(_added(scale / grid, wider / grid)))
        first, *more = (float(value) for value in less.promise.budgets().values())
        implied = certified_approx(first, more[0], gap) if more else (certified_rho(first, gap),)
        if any(cost > float(budget) for cost, budget in zip(implied, budgets.values(), strict=True)):
            raise UsageError(
                "so little Gaussian noise on a count cannot be completed to more: the sum would be no Gaussian.",
                hint="make a second release from the rows",
            )
        return record

    @classmethod
    def completion(cls, scale: Fraction, wider: Fraction, n: int, source: RandomSource) -> list[int]:
        """Draw discrete Gaussian noise with the variance that is missing.

        Privacy
        -------
        Theorem: log-masses of the sum are within a gap of the wider noise's, over all coordinates the sum of
        their gaps; :meth:`coarser` keeps a millionth of the budget for it and refuses where that is not enough. See
        :mod:`discreet.privacy.coarsening`.
        """
        return source.noises(DiscreteGaussian(float_up(_added(scale, wider))), n)


#: Noise mechanisms by their names in release files.
NOISES: dict[str, type[NoiseMechanism]] = {kind.name: kind for kind in (Laplace, Gaussian)}


def _added(scale: Fraction, wider: Fraction) -> Fraction:
    """Return the sigma, rounded up, that together with ``scale`` makes the ``wider`` one."""
    return sqrt_up(wider**2 - scale**2)


def _runs(
    one: Sequence[Fraction], other: Sequence[Fraction]
) -> Iterator[tuple[tuple[Fraction, Fraction], int]]:
    """Return pairs and how often each follows itself: of many coordinates, neighbors are mostly alike."""
    for pair, run in groupby(zip(one, other, strict=True)):
        yield pair, sum(1 for _ in run)

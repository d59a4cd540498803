"""Noise added to statistics: discrete Laplace or discrete Gaussian."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.artifact.bounds_choice import check_choices
from discreet.artifact.fit_check import check_counts
from discreet.artifact.group_selection import check_selection
from discreet.artifact.possible_totals import check_totals
from discreet.artifact.readers import EXACT, Field
from discreet.artifact.records.base import Record
from discreet.families.fit_bins import bin_layout
from discreet.models.layout import Layout
from discreet.privacy import (
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Guarantee,
    MetricDP,
    Noise,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from discreet.privacy.metric.per_unit import metric_sensitivity, whole_epsilon

if TYPE_CHECKING:
    from discreet.artifact.release import Release


@dataclass(frozen=True)
class NoiseRecord(Record):
    """Which noise was added: the scale of each coordinate in mapped units, and the joint sensitivity."""

    held = "statistics"
    #: The distribution of the noise, made from its scale in grid steps.
    distribution: ClassVar[type[DiscreteLaplace] | type[DiscreteGaussian]]

    #: What tables of a release say of the noise of each total.
    spread: ClassVar[str] = "noise scale"

    scale: tuple[Fraction, ...]
    sensitivity: Fraction

    def spreads(self, release: Release) -> list[float]:
        """Return the :attr:`spread` of each total, in mapped units."""
        return [float(scale) for scale in self.scale]

    def noise(self, release: Release) -> tuple[Noise, ...]:
        distributions: list[Noise] = []
        # neighbors in the list are mostly alike, and share a distribution
        for (scale, grid), run in groupby(zip(self.scale, release.totals.grid, strict=True)):
            distributions += [self.distribution(float(scale / grid))] * len(list(run))
        return tuple(distributions)

    def draws(self, release: Release, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        return (one.sample(size, rng) for one in self.noise(release))

    @classmethod
    def fields(cls) -> Mapping[str, Field]:
        return {"scale": EXACT.listed, "sensitivity": EXACT}

    def check_shape(self, release: Release) -> Layout:
        """Raise unless the statistics are those of the model, and each has noise; return their layout."""
        layout, s = release.layout, release.totals
        if release.domain.missing == "impute":
            raise ValueError("missing values are imputed in releases of samples only")
        if s != s.of(layout, s.values) or len(s.values) != len(s.names) or len(self.scale) != len(s.names):
            raise ValueError("its statistics do not fit its model")
        # neighbors in the list are mostly alike
        if any(scale <= 0 for scale, _ in groupby(self.scale)):
            raise ValueError("a noise scale is not positive")
        return layout

    def check(self, release: Release) -> None:
        """Raise unless the statistics fit the model, and the noise is at least what was promised."""
        layout = self.check_shape(release)
        scales = [pair for pair, _ in groupby(zip(self.scale, release.totals.width, strict=True))]
        check_totals(release)
        unit_scale = min(scale / width for scale, width in scales)
        promised = release.guarantees["statistics"]
        if isinstance(promised, MetricDP):
            layout, promised = _under_metric(release, promised)
        if not self.is_enough(unit_scale, layout, promised):
            raise ValueError("its noise is less than its guarantee needs")
        check_choices(release)
        check_selection(release)
        self._check_fit(release)

    def is_enough(self, unit_scale: Fraction, layout: Layout, promised: Guarantee) -> bool:
        """Tell whether noise of this scale, on a coordinate of width 1 of the layout, keeps the promise."""
        if isinstance(promised, PureDP):
            distribution, needed = "discrete_laplace", layout.l1_sensitivity
            enough = unit_scale * promised.epsilon >= self.sensitivity
        elif isinstance(promised, ZeroConcentratedDP):
            distribution, needed = "discrete_gaussian", layout.l2_sensitivity
            enough = 2 * promised.rho * unit_scale**2 >= self.sensitivity**2
        elif isinstance(promised, RenyiDP):
            distribution, needed = "discrete_gaussian", layout.l2_sensitivity
            curve = zip(promised.orders, promised.epsilons, strict=True)
            enough = all(
                2 * epsilon * unit_scale**2 >= order * self.sensitivity**2 for order, epsilon in curve
            )
        elif not isinstance(promised, ApproxDP):
            raise ValueError("no noise of this version is for its kind of guarantee")
        else:
            distribution, needed = "discrete_gaussian", layout.l2_sensitivity
            enough = _approx_delta(layout, unit_scale, promised) <= float(promised.delta)
        return enough and self.name == distribution and self.sensitivity >= needed

    def _check_fit(self, release: Release) -> None:
        """Raise unless a fit check is one that can be made, and its noise is at least what was promised for it."""
        made, promised = release.fit_check, release.guarantees.get("fit_check")
        if made is None or promised is None:
            if made is not None or promised is not None:
                raise ValueError("a fit check is paid for exactly if there is one")
            return
        if release.unit is not None:
            raise ValueError("a fit check counts rows, and its guarantee is for people")
        check_counts(release, made, self.distribution(float(made.scale)))
        counted = replace(self, scale=(made.scale,), sensitivity=made.sensitivity)
        if not counted.is_enough(made.scale, bin_layout(len(made.values), release.neighbors), promised):
            raise ValueError("the noise of its fit check is less than its guarantee needs")


class LaplaceRecord(NoiseRecord):
    """Discrete Laplace noise."""

    name = "discrete_laplace"
    distribution = DiscreteLaplace


class GaussianRecord(NoiseRecord):
    """Discrete Gaussian noise."""

    name = "discrete_gaussian"
    distribution = DiscreteGaussian


def _under_metric(release: Release, promised: MetricDP) -> tuple[Layout, Guarantee]:
    """Return what noise must be enough for: the sensitivity under the distance, and epsilon at the largest one."""
    needed = metric_sensitivity(release.model, release.domain)
    return replace(release.layout, l1_sensitivity=needed), PureDP(whole_epsilon(promised, release.domain))


def _approx_delta(layout: Layout, unit_scale: Fraction, promised: ApproxDP) -> float:
    from discreet.privacy.gaussian import discrete_gaussian_delta, zcdp_delta

    epsilon = float(promised.epsilon)
    if len(layout.names) == 1:
        step = layout.grid[0] / layout.width[0]
        return discrete_gaussian_delta(
            float(unit_scale / step), math.floor(layout.l2_sensitivity / step), epsilon
        )
    return zcdp_delta(float(layout.l2_sensitivity**2 / (2 * unit_scale**2)), epsilon)

r"""A public grid over a truncated parameter set, and the tempered posterior on it.

The grid has its ends on the ends of the support and equal steps in the parameter's natural coordinate: the logit of a
probability, the logarithm of a rate or a variance, a mean as it is. On it the log-likelihood of n records is

    sum_j slope_j(theta) F_j + n level(theta)

with the sums F_j of the mapped features (z, or z and z^2) and two public tables. Everything here follows from
declarations, so the curator's side and whoever checks a release file build the same grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, logit

from discreet.arguments import whole
from discreet.domain.bounds import Bounds
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families import Family
from discreet.families.normal import Normal as NormalFamily
from discreet.families.normal import NormalKnownMean, NormalKnownVariance
from discreet.models.layout import FINE
from discreet.models.shapes import Interval
from discreet.priors import Beta, Gamma, Normal, NormalInverseGamma, Prior
from discreet.privacy.costs.likelihood_range import (
    interval_range,
    largest_change,
    quadratic_range,
    range_up,
    steepest_quadratic,
)
from discreet.privacy.costs.scored_points import SLACK, STEEPEST, ScoredPoints

#: The most points of a grid.
MOST_POINTS = 1 << 16
_DEFAULT_POINTS = {1: 4096, 2: 256}
#: The coordinate in which the grid has equal steps, for each parameter of a prior; and the open range of each.
_COORDINATES: dict[type[Prior], tuple[str, ...]] = {
    Beta: ("logit",),
    Gamma: ("log",),
    Normal: ("plain",),
    NormalInverseGamma: ("plain", "log"),
}
_OPEN = {"logit": (0.0, 1.0), "log": (0.0, np.inf), "plain": (-np.inf, np.inf)}


@dataclass(frozen=True)
class ParameterGrid(ScoredPoints):
    """The grid of one family on one support, with ``cells`` points along each parameter."""

    dense = True
    family: Family
    domain: Domain
    prior: Prior
    support: Bounds
    cells: int

    @cached_property
    def axes(self) -> tuple[np.ndarray, ...]:
        """The points along each parameter, increasing."""
        return tuple(
            _axis(kind, float(low), float(high), self.cells)
            for kind, (low, high) in zip(_COORDINATES[type(self.prior)], self.support, strict=True)
        )

    @cached_property
    def points(self) -> dict[str, np.ndarray]:
        """The value of each parameter at every point."""
        meshed = np.meshgrid(*self.axes, indexing="ij")
        return dict(zip(self.family.draw_names, (each.ravel() for each in meshed), strict=True))

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """slope_j at every point, components last, and level at every point; both up to the same for all points."""
        shift, half = self._map
        in_mapped_units = self.family.closed_form(MAPPED)
        if in_mapped_units is not None:
            return in_mapped_units(self.family, self.points, shift, half)
        eta = np.asarray(self.family.natural(self.points), dtype=float)
        return eta * half, eta[:, 0] * shift - self.family.log_partition(eta)

    @cached_property
    def log_base(self) -> np.ndarray:
        """The prior's log-weight of every point, up to a constant: density times step, half of it at each end."""
        log_weight = _log_prior(self.prior, self.family, self.points)
        ends = np.zeros(self.cells)
        ends[[0, -1]] = -np.log(2.0)
        for full in np.meshgrid(*[ends] * len(self.axes), indexing="ij"):
            log_weight = log_weight + full.ravel()
        return log_weight

    @property
    def _map(self) -> tuple[float, float]:
        shift, half = self.family.affine_map(self.domain)
        assert shift is not None
        assert half is not None
        return float(shift[0]), float(half[0])

    def range(self, *, per_distance: bool = False) -> Fraction:
        """Return the exact range of the log-likelihood difference over the grid and the bounds, rounded up.

        With ``per_distance``, that of two records per distance between them, times the largest distance.
        """
        with np.errstate(all="ignore"):
            (slopes, levels), log_base = self.tables, self.log_base
        if not all((np.abs(table) < STEEPEST).all() for table in (slopes, levels, log_base)):
            raise UsageError("the likelihood or the prior is too steep for floating point on this support.")
        if slopes.shape[1] == 1:
            return range_up(interval_range(slopes[:, 0]))
        table = slopes.reshape(self.cells, self.cells, 2)
        # a mapped mean m and precision q make (a, b) = (m q, -q / 2): a box of (m, q) is a trapezoid of (a, b)
        corners = table[[0, 0, -1, -1], [0, -1, 0, -1]]
        return range_up(steepest_quadratic(corners) if per_distance else quadratic_range(corners))

    def change(self) -> Fraction:
        """Return by how much one record changes the log-likelihood at any point, at most, rounded up.

        Without the base measure h(x), which no parameter has part in.
        """
        return range_up(largest_change(self.tables[0]) + float(2.0**-49 * np.abs(self.tables[0]).max()))

    def slack_per_distance(self) -> Fraction:
        """Return what rounding scores adds per distance between two records, times the largest distance.

        Two different records may be as close as one step of the squares, which counts as half a step of the values.
        """
        closest = FINE / 2 if len(self.axes) > 1 else FINE
        return SLACK * 2 / closest

    def holds(self, draws: dict[str, np.ndarray]) -> bool:
        """Tell whether every draw is a point of the grid, as far as another machine's rounding lets it be seen."""
        for name, axis in zip(self.family.draw_names, self.axes, strict=True):
            above = np.searchsorted(axis, draws[name]).clip(0, len(axis) - 1)
            near = np.stack([axis[above], axis[np.maximum(above - 1, 0)]])
            if not np.isclose(draws[name], near, rtol=1e-9, atol=1e-300).any(axis=0).all():
                return False
        return True


def prior_values(family: Family, x: np.ndarray) -> np.ndarray:
    """Return values of the prior's variable at values of a family's one parameter: the same, but for a variance."""
    prior_of = family.closed_form(_PRIOR_OF)
    return x if prior_of is None else prior_of(x)


def open_ranges(family: Family) -> dict[str, tuple[float, float]]:
    """Return the open range of each parameter that a kind of prior tells, by name; none if it tells nothing."""
    same = family.prior_on_parameter or family.closed_form(_PRIOR_OF) is not None
    kinds = _COORDINATES.get(family.prior_type, ()) if same else ()
    return {name: _OPEN[kind] for name, kind in zip(family.draw_names, kinds, strict=False)}


def grid_refusal(family: Family) -> str | None:
    """Say why a family has no such grid, or return None."""
    if family.prior_type is NormalInverseGamma:
        known = family.closed_form(MAPPED) is not None
    else:
        scalar = isinstance(family.geometry, Interval) and len(family.draw_names) == 1
        # the prior must be on the parameter itself, or the grid would need to know how they go together
        same = family.prior_on_parameter or family.closed_form(_PRIOR_OF) is not None
        known = scalar and same and family.prior_type in (Beta, Gamma, Normal)
        # a predicate has no likelihood that could be tempered
        known = known and family.is_likelihood
    return (
        None
        if known
        else f"samples of {family.name} are not available: there is no public grid for its parameters"
    )


def grid_cells(family: Family, cells: Any) -> int:
    """Return how many points a grid has along each parameter: the default, or what was asked for."""
    d = len(family.draw_names)
    most = round(MOST_POINTS ** (1 / d))
    if cells is None:
        return _DEFAULT_POINTS[d]
    return whole(cells, "cells", least=2, most=most)


def check_support(family: Family, support: Sequence[tuple[Fraction, Fraction]]) -> None:
    """Raise unless the support is one pair for each parameter, inside the parameter's open range."""
    names = family.draw_names
    if len(support) != len(names):
        raise UsageError(
            f"{family.name} takes {len(names)} pair(s) of support, for {' and '.join(names)}, got {len(support)}."
        )
    for name, kind, (low, high) in zip(names, _COORDINATES[family.prior_type], support, strict=True):
        lowest, highest = _OPEN[kind]
        shown = f"support=({float(low):g}, {float(high):g})"
        if not float(low) < float(high):
            raise UsageError(f"the support of {name} must have its lower end first, got {shown}.")
        if not lowest < low <= high < highest:
            raise UsageError(
                f"the support of {name} must lie strictly inside ({lowest:g}, {highest:g}), got {shown}: at the end of "
                "it one record can change the posterior without limit."
            )


def _axis(kind: str, low: float, high: float, cells: int) -> np.ndarray:
    if kind == "logit":
        inner = expit(np.linspace(logit(low), logit(high), cells))
    elif kind == "log":
        inner = np.exp(np.linspace(np.log(low), np.log(high), cells))
    else:
        inner = np.linspace(low, high, cells)
    inner[[0, -1]] = low, high
    return np.clip(inner, low, high)


def _log_prior(prior: Prior, family: Family, points: dict[str, np.ndarray]) -> np.ndarray:
    """Return the prior's log-density in the coordinate in which the grid has equal steps."""
    name = family.draw_names[0]
    x = points[name]
    if isinstance(prior, NormalInverseGamma):
        return prior.log_density((x, points["variance"])) + np.log(points["variance"])
    if isinstance(prior, Beta):
        return prior.log_density(x) + np.log(x) + np.log1p(-x)
    if isinstance(prior, Gamma):
        # the steps are those of the logarithm of a rate, or of what the rate is one over
        rate = prior_values(family, x)
        return prior.log_density(rate) + np.log(rate)
    return prior.log_density(x)


def _normal_tables(
    family: Family, points: Mapping[str, np.ndarray], shift: float, half: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables in mapped units: a mean and its square would cancel where the bounds are far from zero."""
    variance = np.asarray(points.get("variance", family.constants().get("variance")))
    mean, precision = (points["mean"] - shift) / half, half**2 / variance
    slopes = [mean * precision, -precision / 2 + 0 * mean][: len(points)]
    return np.stack(slopes, axis=-1), (np.log(precision) - mean**2 * precision) / 2


#: Tables of families that have them in mapped units, where a general formula would cancel.
MAPPED: dict[type[Family], Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    NormalFamily: _normal_tables,
    NormalKnownVariance: _normal_tables,
}
# What the prior is a distribution of, where it is not the parameter itself: the precision, of a variance.
_PRIOR_OF: dict[type[Family], Callable[[np.ndarray], np.ndarray]] = {NormalKnownMean: lambda x: 1 / x}

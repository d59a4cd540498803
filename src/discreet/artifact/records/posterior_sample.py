"""What a file of posterior samples must satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.artifact.records.base import UNKNOWN, SamplingRecord
from discreet.artifact.records.limited_tries import LimitedTries
from discreet.artifact.samples import Samples
from discreet.domain.bounds import Bounds
from discreet.priors import NormalInverseWishart
from discreet.privacy import ApproxDP, MetricDP
from discreet.privacy.costs.likelihood_range import labels_range, simplex_range
from discreet.privacy.costs.parameter_grid import (
    SLACK,
    ParameterGrid,
    check_support,
    grid_cells,
    grid_refusal,
)
from discreet.privacy.costs.principal_axes import PrincipalAxes
from discreet.privacy.costs.rejection import acceptance_bound
from discreet.privacy.metric.per_unit import metric_sensitivity, whole_epsilon

if TYPE_CHECKING:
    from discreet.artifact.release import Release
    from discreet.domain.declarations import Domain
    from discreet.families import Family

#: Ranges are rounded up by 1e-10 when they are written; this is what is left of it for another machine's logarithms.
ROOM = Fraction(5, 10**11)
# What a floating-point sampler may miss the edge of the simplex by.
_EDGE = 1e-12


class PosteriorSampleRecord(LimitedTries, SamplingRecord):
    """Draws from a posterior whose likelihood is tempered."""

    name = "posterior_sample"
    kind = "tempered posterior"
    engines = "released_draws"

    def scored_points(self, family: Family, domain: Domain) -> ParameterGrid | None:
        if "cells" not in self.parameters or self.support is None:
            return None
        return ParameterGrid(family, domain, self.conjugate, self.support, int(self.parameters["cells"]))

    def explained(self, release: Release) -> list[str]:
        said = super().explained(release)
        if release.conjugate_family.prior_type is NormalInverseWishart:
            said.append(
                "The declared limits are, first, of the mean along every principal axis of the covariance and, second, "
                "of the variance along every such axis, where columns are measured from the middle of their bounds in "
                "halves of their widths."
            )
        return said

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        """Raise unless the temperature is enough for the guarantee and the draws lie in the support."""
        family = release.conjugate_family
        k = family.n_probabilities
        of_axes = family.prior_type is NormalInverseWishart
        arithmetic, more = ("exact", ("cells",)) if k is None else ("floating", self.tries_names)
        if of_axes:
            arithmetic, more = "floating", ()
        self.check_form(samples, arithmetic, ["temperature", "range", *more])
        if self.support is None or release.neighbors != "replace":
            raise ValueError(UNKNOWN)
        promised = release.guarantees["samples"]
        acceptance = 0.0 if k is None else acceptance_bound(self.conjugate.natural(), 0.0)
        self.check_tries(promised, acceptance, samples.count)
        if k is not None:
            needed, slack = self._of_labels(k, samples)
        elif of_axes:
            needed, slack = self._of_axes(release, samples)
        else:
            grid = declared_grid(release, samples)
            needed, slack = range_and_slack(grid, per_distance=isinstance(promised, MetricDP))
            needed *= 1 - ROOM
        epsilon = (
            promised.epsilon if isinstance(promised, ApproxDP) else whole_epsilon(promised, release.domain)
        )
        self.check_temperature(needed, slack, samples.count, epsilon)

    def _of_labels(self, k: int, samples: Samples) -> tuple[Fraction, Fraction]:
        """Check draws of labels' probabilities, and return their range and slack."""
        least = least_of_labels(self.support or (), k)
        check_simplex(samples.arrays()["p"], (samples.count, k), least)
        return simplex_range(k, least[0]) if len(least) == 1 else labels_range(least), Fraction(0)

    def _of_axes(self, release: Release, samples: Samples) -> tuple[Fraction, Fraction]:
        """Check draws of a mean and covariance of several columns, and return their range and slack."""
        family = release.conjugate_family
        axes = PrincipalAxes.of(family.n_columns, self.support or ())
        shift, half = (np.array([float(v) for v in each or ()]) for each in family.affine_map(release.domain))
        if not axes.holds(samples.arrays(), shift, half):
            raise ValueError("a draw lies outside its support")
        return axes.range() * (1 - ROOM), Fraction(0)


def declared_grid(release: Release, samples: Samples) -> ParameterGrid:
    """Rebuild the grid from the declarations, and raise unless every draw is one of its points."""
    record, family, draws = release.sampling_record, release.conjugate_family, samples.arrays()
    refusal = grid_refusal(family)
    if refusal is not None:
        raise ValueError(refusal)
    if record.support is None or release.neighbors != "replace":
        raise ValueError(UNKNOWN)
    check_support(family, record.support)
    cells = grid_cells(family, whole_number(record.parameters["cells"]))
    grid = ParameterGrid(family, release.domain, record.conjugate, record.support, cells)
    if any(values.ndim != 1 for values in draws.values()) or not grid.holds(draws):
        raise ValueError("a draw lies outside its support")
    return grid


def whole_number(value: Fraction) -> int:
    """Read a number of cells, steps or the like."""
    if value.denominator != 1 or value < 1:
        raise ValueError("a number of its mechanism is no whole number")
    return int(value)


def range_and_slack(grid: ParameterGrid, *, per_distance: bool) -> tuple[Fraction, Fraction]:
    """Return the range that a temperature is for and what rounding adds: of any two records, or per distance."""
    if not per_distance:
        return grid.range(), SLACK
    # refuses records that have no distance
    metric_sensitivity(grid.family, grid.domain)
    return grid.range(per_distance=True), grid.slack_per_distance()


def labels_support(least: Sequence[Fraction], n_labels: int) -> Bounds:
    """Return what probabilities can be if they are at least these: one for all labels, or one for each."""
    taken = sum(least) if len(least) > 1 else n_labels * least[0]
    return tuple((low, 1 - taken + low) for low in least)


def least_of_labels(support: Bounds, n_labels: int) -> tuple[Fraction, ...]:
    """Return the least probability of all labels, or of each, in a support; raise unless it is one of labels."""
    least = tuple(low for low, _ in support)
    if len(least) not in (1, n_labels) or support != labels_support(least, n_labels):
        raise ValueError("its support is not that of its labels")
    return least


def check_simplex(p: np.ndarray, shape: tuple[int, ...], least: Sequence[Fraction] | Fraction | int) -> None:
    """Raise unless an array is of this shape and holds probabilities, none of them below ``least``."""
    inside = p.shape == shape and (p >= np.array(least, dtype=float) - _EDGE).all()
    if not inside or not np.allclose(p.sum(axis=-1), 1.0, rtol=0.0, atol=1e-9):
        raise ValueError("a draw lies outside its support")

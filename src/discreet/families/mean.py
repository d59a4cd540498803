"""Mean and standard deviation of a bounded column, whatever its distribution."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families.bounded_column import BoundedColumn
from discreet.families.cluster_mean import ClusterMean, read_weights
from discreet.models.layout import FINE, UNIT
from discreet.models.published_layout import FreeLayout, Place, PublishedLayout, check_published
from discreet.models.shapes import Quadratic

_NONE = Fraction(0)


@dataclass(frozen=True)
class Mean(BoundedColumn):
    """The mean and the standard deviation of a column, assuming nothing but its bounds.

    ===========  ==================================================================
    statistic    x, x^2, as ``Normal()``
    prior        none is needed
    draws        ``mean``, ``sd``: of the population, clipped to the bounds
    sensitivity  in mapped coordinates, replace: 9/4 (5/2 when missing values are
                 counted); add_remove: 1
    ===========  ==================================================================

    Values outside the bounds are moved to the nearest one, and the answer is about the column as it is then: bounds
    that cut off much of it make another mean of it. ``posterior.table`` has the totals of this very table.

    Privacy
    -------
    What is released, its joint sensitivity under both neighbor relations and the proof are those of
    :class:`~discreet.models.shapes.Quadratic` for one column; :class:`~discreet.mechanisms.Laplace` and
    :class:`~discreet.mechanisms.Gaussian` have the theorems.
    """

    question = "Mean"
    name = "mean"
    engines = "mean"
    draw_names = ("mean", "sd")
    only_outside = "clip"
    geometry = Quadratic(1)

    def published_layout(
        self, domain: Domain, records: int | None, names: Collection[str]
    ) -> PublishedLayout:
        """Return the linear forms in (usable, z, z^2) that a count, a sum and a sum of squares of the column are."""
        shifts, halves = self.affine_map(domain)
        if shifts is None or halves is None:
            raise UsageError("a mean needs bounds of the column.", hint="for example bounds=(0, 100)")
        shift, half = shifts[0], halves[0]
        if not {"mean", "variance", "sd"}.isdisjoint(names):
            raise UsageError(
                "a published mean or variance is a ratio of noisy numbers, and its noise has no known distribution.",
                hint='give what it was made from: values={"sum": ..., "count": ...}',
            )
        forms = {
            "count": (UNIT, (UNIT, _NONE, _NONE)),
            "sum": (half, (shift / half, UNIT, _NONE)),
            "sum_of_squares": (half**2, ((shift / half) ** 2, 2 * shift / half, UNIT)),
        }
        if records is not None:
            del forms["count"]
        elif "count" not in names:
            raise UsageError(
                "without a noisy count, or a known number of records, a sum says nothing of the mean.",
                hint='give records=..., or values={"sum": ..., "count": ...}',
            )
        check_published(names, forms, self.name)
        if "sum" not in names:
            raise UsageError("a mean needs a noisy sum.", hint='values={"sum": ..., "count": ...}')
        given = [name for name in forms if name in names]
        layout = FreeLayout.of(given, [forms[name][1] for name in given], FINE, (shift,), (half,))
        return PublishedLayout(
            layout, {name: Place(at, forms[name][0]) for at, name in enumerate(given)}, free=True
        )

    def capped(self, max_rows: int) -> ClusterMean:
        return ClusterMean(max_rows)

    def weighted(self, weights: Any, weight_bounds: Any) -> ClusterMean:
        return ClusterMean(1, read_weights(weights, weight_bounds))

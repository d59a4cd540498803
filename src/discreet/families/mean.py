"""Mean and standard deviation of a bounded column, whatever its distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.families.bounded_column import BoundedColumn
from discreet.families.cluster_mean import ClusterMean, read_weights
from discreet.models.shapes import Quadratic


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

    def capped(self, max_rows: int) -> ClusterMean:
        return ClusterMean(max_rows)

    def weighted(self, weights: Any, weight_bounds: Any) -> ClusterMean:
        return ClusterMean(1, read_weights(weights, weight_bounds))

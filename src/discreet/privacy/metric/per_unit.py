r"""A budget per unit of distance between records: what a mechanism must know to promise it.

The distance is between what counts of two records. A value x is clipped to the bounds, mapped to z in [-1, 1] and
rounded to k steps of 2^-24; its square, where it is summed too, is rounded to q steps of its own. With h, half the
width of the bounds, two records with a value are ::

    h max(|k - k'|, |q - q'| / 2) / 2^24

apart, which is ``|x - x'|`` up to one step: ``|z^2 - z'^2| <= 2 |z - z'|``. Rounding itself is no Lipschitz function
(values 1e-12 apart can be a step apart), so the distance of the values before it would promise too much. A record
without a value is as far from every value as the bounds are from each other. Distances add up over the records of a
table.

A change of one record moves the released coordinates by at most ``metric_sensitivity`` times its share of the largest
distance, so noise or a temperature for that sensitivity, at epsilon per unit times the largest distance, keeps the
promise at *every* distance, not only at the largest one.

References
----------
Dimitrakakis, Nelson, Zhang, Mitrokotsa and Rubinstein (2017), Differential privacy for Bayesian inference through
posterior sampling: definition 2, theorem 8. Chatzikokolakis, Andrés, Bordenabe and Palamidessi (2013), Broadening the
scope of differential privacy using metrics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from discreet.arguments import one_of
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.families import RecordSums
from discreet.models import Model
from discreet.models.layout import FINE
from discreet.privacy.guarantees import Guarantee, PureDP, positive_budget
from discreet.privacy.metric_dp import MetricDP, PseudoMetric
from discreet.rational import Number, text

Metric = Literal["absolute"]
_EXAMPLE = 'for example metric="absolute", epsilon_per_unit=0.1'


@dataclass(frozen=True)
class PerUnit:
    """Epsilon per unit of a distance and, once the bounds are declared, that distance and the sensitivity under it."""

    epsilon: Fraction
    kind: Metric = "absolute"
    metric: PseudoMetric | None = None
    #: The largest change of the released coordinates, in widths, per distance, times the largest distance.
    sensitivity: Fraction = Fraction(0)

    @classmethod
    def read(cls, metric: Any, epsilon: Number | None) -> PerUnit | None:
        """Read what a caller asked for; None if no metric was named."""
        if metric is None and epsilon is None:
            return None
        if metric is None or epsilon is None:
            missing = "a metric" if metric is None else "epsilon_per_unit"
            raise UsageError(f"a budget per unit of distance needs {missing} as well.", hint=_EXAMPLE)
        kind: Metric = one_of(metric, "metric", Metric)
        return cls(positive_budget(epsilon, "epsilon_per_unit"), kind)

    def within(self, model: Model, domain: Domain, neighbors: Neighbors) -> PerUnit:
        """Return the same budget with the distance that the declarations make, or refuse."""
        if neighbors != "replace":
            raise UsageError(
                "distances are between tables of the same length: metric is for neighbors='replace'.",
                hint="leave out neighbors, or give epsilon instead",
            )
        return replace(self, metric=grid_metric(domain), sensitivity=metric_sensitivity(model, domain))

    @property
    def whole(self) -> Fraction:
        """The epsilon between the two records that are farthest apart."""
        return self.guarantee("replace").to_neighbors().epsilon

    def guarantee(self, neighbors: Neighbors) -> MetricDP:
        """Return the promise, whose distance is that of the declared bounds."""
        if self.metric is None:
            raise UsageError("epsilon per unit of distance is a promise about bounds, and none are declared.")
        return MetricDP(self.epsilon, 0, self.metric, neighbors=neighbors)


def grid_metric(domain: Domain) -> PseudoMetric:
    """Return the distance between tables whose records are numbers within the bounds, rounded to the grid."""
    if domain.bounds is None or len(domain.bounds) != 1:
        raise _refused("one column of numbers with bounds")
    ((low, high),) = domain.bounds
    return PseudoMetric(f"absolute on the grid of [{text(low)}, {text(high)}]", high - low)


def whole_epsilon(promised: Guarantee, domain: Domain) -> Fraction:
    """Return the epsilon between any two records that a file promises; raise ValueError if its distance is another."""
    if isinstance(promised, MetricDP):
        if promised.metric != grid_metric(domain) or promised.delta or promised.neighbors != "replace":
            raise ValueError("its guarantee is about another distance than that of its bounds")
        return promised.epsilon * promised.metric.diameter
    if not isinstance(promised, PureDP):
        raise ValueError("its guarantee is of another kind")
    return promised.epsilon


def grid_step(domain: Domain) -> Fraction:
    """Return how far apart two neighboring points of the grid are, in the column's own unit."""
    return grid_metric(domain).diameter / 2 * FINE


def metric_sensitivity(model: Model, domain: Domain) -> Fraction:
    """Return the sensitivity of the released coordinates under the distance; refuse models that have none."""
    sums = model.require(RecordSums, "a distance is between values of one column")
    # one record of one value, summed as its shape says and in no other way
    plain = sums.summary == RecordSums.summary and type(sums).layout is RecordSums.layout
    known = plain and sums.sums_values and sums.has_numbers and sums.n_columns == 1
    found = sums.geometry.metric_sensitivity(domain.missing) if known else None
    if found is None:
        raise _refused(f"models that sum values as they are, and {model.name} does not")
    return found


def _refused(whom: str) -> UsageError:
    return UsageError(f"a budget per unit of distance is for {whom}.", hint="give epsilon instead")

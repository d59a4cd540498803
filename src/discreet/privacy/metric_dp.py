"""Privacy that fades with distance: a guarantee under a pseudo-metric between tables.

References
----------
Dimitrakakis, Nelson, Zhang, Mitrokotsa and Rubinstein (2017), Differential privacy for Bayesian inference through
posterior sampling: definition 2, remark 3, theorem 4. Chatzikokolakis, Andrés, Bordenabe and Palamidessi (2013),
Broadening the scope of differential privacy using metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.arguments import fill, shown
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.privacy.guarantees import (
    ApproxDP,
    Guarantee,
    PureDP,
    check_neighbors,
    meaningful,
    pure_or_approx,
)
from discreet.privacy.rounding import LEAST_EPSILON
from discreet.rational import Number, exact, plain, sqrt_up, text

if TYPE_CHECKING:
    from discreet.privacy.conversion import Conversion
    from discreet.privacy.renyi import RenyiDP


@dataclass(frozen=True)
class PseudoMetric:
    """A named distance between tables, and how far apart neighbors can be.

    ``diameter`` is the supremum of the distance over pairs of neighboring tables. It needs bounded records (two
    records anywhere on the line can be arbitrarily far apart) and is the only number that turns a metric guarantee
    into one for neighbors.
    """

    name: str
    diameter: Fraction

    def __init__(self, name: str, diameter: Number) -> None:
        if not isinstance(name, str) or not name:
            raise UsageError("a pseudo-metric needs a name.")
        reach = exact(diameter, "diameter")
        if reach <= 0:
            raise UsageError(f"diameter must be positive, got diameter={diameter}.")
        fill(self, name=name, diameter=reach)

    @classmethod
    def hamming(cls) -> PseudoMetric:
        """Return the number of records in which two tables of the same length differ; neighbors are at 1."""
        return cls("hamming", 1)

    @classmethod
    def absolute(cls, low: Number, high: Number) -> PseudoMetric:
        """Return the sum over records of abs(x - y), x and y in [low, high]; neighbors are at most high - low apart."""
        ends = exact(low, "low"), exact(high, "high")
        if not ends[0] < ends[1]:
            raise UsageError(f"low must be below high, got low={low} and high={high}.")
        return cls(f"absolute on [{text(ends[0])}, {text(ends[1])}]", ends[1] - ends[0])

    def root(self) -> PseudoMetric:
        """Return the square root of this distance, a pseudo-metric too; its diameter is rounded up."""
        return PseudoMetric(f"square root of {self.name}", sqrt_up(self.diameter))


@dataclass(frozen=True, repr=False)
class MetricDP(Guarantee):
    """For every event E and tables x, y at distance d: P[M(x) in E] <= e^(epsilon d) P[M(y) in E] + delta d.

    One of ``epsilon`` and ``delta`` may be 0. ``neighbors`` is the relation that the metric's diameter is over.
    """

    kind = "metric"
    epsilon: Fraction
    delta: Fraction
    metric: PseudoMetric

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        metric: PseudoMetric | Literal["hamming"],
        *,
        neighbors: Neighbors = "replace",
        unit: str | None = None,
    ) -> None:
        check_neighbors(neighbors)
        rates = {"epsilon": exact(epsilon, "epsilon"), "delta": exact(delta, "delta")}
        for name, rate in rates.items():
            if rate < 0:
                raise UsageError(f"{name} must not be negative, got {name}={plain(rate)}.")
        if not any(rates.values()):
            raise UsageError("epsilon and delta cannot both be 0.")
        if not isinstance(metric, PseudoMetric) and not (isinstance(metric, str) and metric == "hamming"):
            raise UsageError(f"metric must be 'hamming' or a PseudoMetric, got metric={shown(metric)}.")
        named = metric if isinstance(metric, PseudoMetric) else PseudoMetric.hamming()
        if named == PseudoMetric.hamming() and neighbors != "replace":
            raise UsageError(
                "the Hamming distance is between tables of the same length, so neighbors='replace'."
            )
        fill(self, **rates, metric=named, neighbors=neighbors, unit=unit)

    def budgets(self) -> dict[str, Fraction]:
        return {"epsilon": self.epsilon, "delta": self.delta, "diameter": self.metric.diameter}

    def describe(self) -> str:
        failing = f" and delta = {plain(self.delta)}" if self.delta else ""
        return (
            f"differential privacy with epsilon = {plain(self.epsilon)}{failing} per unit of the distance "
            f"“{self.metric.name}”"
        )

    def to_neighbors(self) -> PureDP | ApproxDP:
        """Return what this says about neighbors, which are at most the metric's diameter apart."""
        reach = self.metric.diameter
        # an epsilon of 0 is stated as the smallest one
        epsilon = max(self.epsilon * reach, LEAST_EPSILON)
        return pure_or_approx(epsilon, meaningful(self.delta * reach), **self.about)

    def to_approx(self, delta: Number) -> Conversion:
        return self._together().to_approx(delta)

    def to_renyi(self, orders: Sequence[Number]) -> RenyiDP:
        return self._together().to_renyi(orders)

    def to_replace(self) -> Guarantee:
        return self if self.neighbors == "replace" else self._together().to_replace()

    def _together(self) -> Guarantee:
        from discreet.privacy.composition import compose

        return compose(*(part.to_neighbors() for part in self.parts or (self,)))

"""Distances between records that add up over the records of a table, with how far apart two records can be.

=================  ==========================================  =========================================================
distance           of two records                              at most
=================  ==========================================  =========================================================
``hamming``        1 if they differ                            1
``absolute``       abs(x - y)                                  high - low
``quadratic``      abs(x^2 - y^2) + 2 abs(x - y)               (M + 1)^2 with M = max(abs(low), abs(high)), if that is
                                                               reached inside the bounds; 3 on [0, 1], 4 on [-1, 1]
``outer_product``  norm(xx' - yy') + 2 norm(x - y) of vectors  4.71 in the unit ball of two dimensions or more
=================  ==========================================  =========================================================

The largest distance is what turns a guarantee under the metric into one for neighbors. In print it is 3 for the last
two and "bounded data", which is right for numbers in [0, 1] only.

References
----------
Dimitrakakis, Nelson, Zhang, Mitrokotsa and Rubinstein (2017), Differential privacy for Bayesian inference through
posterior sampling: section 2.1, lemmas 5 and 19 to 23.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.checked import checked
from discreet.domain.bounds import Bounds
from discreet.errors import UsageError
from discreet.privacy.guarantees import positive_budget
from discreet.privacy.metric_dp import PseudoMetric
from discreet.privacy.rounding import float_result_up
from discreet.rational import Number, exact, sqrt_up, text

Kind = Literal["hamming", "absolute", "quadratic", "outer_product"]


@dataclass(frozen=True)
class RecordDistance:
    """A distance between records; that of two tables of the same length is the sum over their records (lemma 5).

    ``metric`` is the distance between tables, for guarantees; ``between`` computes it for arrays of records, and
    ``bounds`` are where records lie, None for labels.
    """

    kind: Kind
    metric: PseudoMetric
    between: Callable[[np.ndarray, np.ndarray], np.ndarray] = field(repr=False, compare=False)
    bounds: Bounds | None = None
    centered: bool = False

    @classmethod
    @checked
    def hamming(cls, low: Number | None = None, high: Number | None = None) -> RecordDistance:
        """Return the distance 1 between any two records; numbers, unlike labels, need the bounds they lie in."""
        bounds = None
        if low is not None or high is not None:
            bounds = (_ends(low, high),)
        return cls("hamming", PseudoMetric.hamming(), lambda x, y: (x != y).astype(float), bounds)

    @classmethod
    @checked
    def absolute(cls, low: Number, high: Number) -> RecordDistance:
        """Return abs(x - y) for x and y in [low, high]."""
        ends = _ends(low, high)
        return cls("absolute", PseudoMetric.absolute(*ends), lambda x, y: np.abs(x - y), (ends,))

    @classmethod
    @checked
    def quadratic(cls, low: Number, high: Number) -> RecordDistance:
        """Return abs(x^2 - y^2) + 2 abs(x - y) for x and y in [low, high] (lemma 22).

        With x + y = 2a and x - y = 2b it is 4 b (abs(a) + 1), and abs(a) reaches abs(middle) + half - b.
        """
        ends = _ends(low, high)
        half, middle = (ends[1] - ends[0]) / 2, abs(ends[0] + ends[1]) / 2
        apart = min((middle + half + 1) / 2, half)
        reach = 4 * apart * (middle + half - apart + 1)
        name = f"abs(x^2 - y^2) + 2 abs(x - y) on [{text(ends[0])}, {text(ends[1])}]"
        return cls("quadratic", PseudoMetric(name, reach), _quadratic, (ends,))

    @classmethod
    @checked
    def outer_product(cls, radius: Number, dim: int, *, centered: bool = False) -> RecordDistance:
        r"""Return norm(xx' - yy') + 2 norm(x - y) for vectors of norm at most ``radius`` (lemma 23).

        ``centered`` drops the second term, which is allowed if the mean is known to be zero. The norm of a matrix is
        Frobenius's.

        Two vectors of norms R and t R at an angle whose cosine is -k are sqrt(1 + t^4 - 2 t^2 k^2) R^2 +
        2 sqrt(1 + t^2 + 2 k t) R apart, which grows with t at the best k. So both have norm R, and with k = cos(2 s)
        the maximum of sqrt(2) R^2 sin(2 s) + 4 R cos(s) is at sin(s) = (sqrt(1 + 4 R^2) - 1) / (2 sqrt(2) R).
        """
        r = positive_budget(radius, "radius")
        if dim < 1:
            raise UsageError(f"dim must be at least 1, got dim={dim}.")
        if centered:
            reach = r**2 if dim == 1 else r**2 * sqrt_up(Fraction(2))
        elif dim == 1:
            reach = cls.quadratic(-r, r).metric.diameter
        else:
            reach = float_result_up(_farthest(float(r)))
        name = f"norm(xx' - yy'){'' if centered else ' + 2 norm(x - y)'} in a ball of radius {text(r)}"
        between = _outer if centered else lambda x, y: _outer(x, y) + 2 * np.linalg.norm(x - y, axis=-1)
        bounds = ((-r, r),) * dim
        return cls("outer_product", PseudoMetric(name, reach), between, bounds, centered)


def _ends(low: Number | None, high: Number | None) -> tuple[Fraction, Fraction]:
    if low is None or high is None:
        raise UsageError("bounds are two numbers, low and high.")
    ends = exact(low, "low"), exact(high, "high")
    if not ends[0] < ends[1]:
        raise UsageError(f"low must be below high, got low={low} and high={high}.")
    return ends


def _quadratic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.abs(x**2 - y**2) + 2 * np.abs(x - y)


def _outer(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    def product(v: np.ndarray) -> np.ndarray:
        return v[..., :, None] * v[..., None, :]

    return np.linalg.norm(product(x) - product(y), axis=(-2, -1))


def _farthest(r: float) -> float:
    sine = (math.hypot(1, 2 * r) - 1) / (2 * math.sqrt(2) * r)
    half_angle = math.asin(sine)
    return math.sqrt(2) * r**2 * math.sin(2 * half_angle) + 4 * r * math.cos(half_angle)

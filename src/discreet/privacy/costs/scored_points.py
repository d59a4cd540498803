r"""Points of a parameter set with a log-likelihood that is linear in sums, and the tempered posterior on them.

At every point the log-likelihood of n records is

    sum_j slope_j(theta) F_j + n level(theta)

with the sums F_j of the records' features and two public tables. Scores are exact integers, so that the draw is the
exponential mechanism in exact arithmetic whatever the tables hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, ClassVar

import numpy as np

from discreet.privacy.selection import ExponentialChoice

#: Scores are integers in steps of 2^-52, so that the exponential mechanism's scale is an exact float.
SCALE_BITS = 52
SCALE = float(1 << SCALE_BITS)
#: What rounding the scores adds to the log-ratio of a choice: two of them, of one step each.
SLACK = Fraction(2, 1 << SCALE_BITS)
#: A score this far below the best, e^-1024 as a weight, is raised to it, because it must fit a 64-bit integer.
LOWEST = -(1 << 62)
#: Larger logarithms would leave float64 when they are made fixed-point numbers.
STEEPEST = 1e200
#: Tables are fixed-point numbers with this many binary digits.
TABLE_BITS = 80


class ScoredPoints(ABC):
    """Parameter values with a prior's weights; with the sums of a table, the distribution of a draw."""

    #: Whether the points lie so densely that a posterior on them is smooth.
    dense: ClassVar[bool] = False

    @cached_property
    def points(self) -> dict[str, np.ndarray]:
        """The value of each parameter at every point."""
        raise NotImplementedError

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """slope_j at every point, components last, and level at every point; both up to the same for all points."""
        raise NotImplementedError

    @cached_property
    def log_base(self) -> np.ndarray:
        """The prior's log-weight of every point, up to a constant."""
        raise NotImplementedError

    @abstractmethod
    def range(self) -> Fraction:
        """Return the range of the log-likelihood difference between two records over all points, rounded up."""

    def at(self, places: Sequence[int]) -> dict[str, np.ndarray]:
        """Return the values of the parameters at some points."""
        return {name: values[list(places)] for name, values in self.points.items()}

    def distribution(
        self, features: Sequence[Fraction], n_records: int, temperature: Fraction
    ) -> ExponentialChoice:
        """Return the tempered posterior on the grid as a choice with integer scores.

        The log-weight of a point is its base plus its log-likelihood over the temperature. It is computed exactly, from
        tables that do not depend on any record, and rounded down to a multiple of 2^-52; so one record moves the
        scores' differences by what it moves the log-likelihood's, over T, and by at most two steps more. Raising
        scores that lie far below the best one moves none of them further than it would have moved without.
        """
        return weight_choice(self.scores(features, n_records, 1 / temperature))

    def scores(self, features: Sequence[Fraction], n_records: int, power: Fraction) -> list[int]:
        """Return the log-weight of every point for a likelihood raised to ``power``, in steps of 2^-52, rounded down.

        The integers are of any size: a choice between some of the points may need the difference of two low ones.
        """
        score = self.scorer(features, n_records, power)
        return [score(point) for point in zip(*self._fixed, strict=True)]

    def scorer(
        self, features: Sequence[Fraction], n_records: int, power: Fraction
    ) -> Callable[[tuple[int, int, tuple[int, ...]]], int]:
        """Return the function that scores a point, given as its base, level and slopes in fixed point."""
        denominator = lcm(*(feature.denominator for feature in features))
        sums = [int(feature * denominator) for feature in features]
        top, bottom = power.denominator, power.numerator
        n_scaled = n_records * denominator
        unit = top * denominator << TABLE_BITS

        def score(point: tuple[int, int, tuple[int, ...]]) -> int:
            base, level, slopes = point
            likelihood = sum(map(int.__mul__, slopes, sums)) + n_scaled * level
            return ((base * top * denominator + bottom * likelihood) << SCALE_BITS) // unit

        return score

    def fixed(self, point: int) -> tuple[int, int, tuple[int, ...]]:
        """Return base, level and slopes of one point as integers."""
        bases, levels, slopes = self._fixed
        return bases[point], levels[point], slopes[point]

    @cached_property
    def _fixed(self) -> tuple[list[int], list[int], list[tuple[int, ...]]]:
        """Return base, level and slopes of every point as integers."""
        slopes, levels = self.tables
        columns = [fixed_point(column) for column in slopes.T]
        return fixed_point(self.log_base), fixed_point(levels), list(zip(*columns, strict=True))


@dataclass(frozen=True)
class Scores:
    """The log-weights of states for one table and one power of its likelihood, each when it is asked for."""

    score: Callable[[Any], int]

    def __getitem__(self, state: Any) -> int:
        return self.score(state)


def weight_choice(log_weights: Sequence[int], scale: float = SCALE) -> ExponentialChoice:
    """Return the choice in proportion to weights, by their logarithms in steps of one over ``scale``.

    Raising those far below the best one moves none of them further than it would have moved without.
    """
    best = max(log_weights)
    return ExponentialChoice([max(w - best, LOWEST) for w in log_weights], scale)


def fixed_point(values: np.ndarray) -> list[int]:
    """Return numbers as integers, with :data:`TABLE_BITS` binary digits after the point."""
    return [int(value) for value in np.ldexp(values, TABLE_BITS)]

r"""Records that add any vector of bounded statistics: the sensitivity is the diameter of a finite public set.

A curve of statistics t(x), x in [low, high], has no joint sensitivity that could be read off a user's function. So the
column is first moved to the nearest of a public list of points (the whole numbers, or 4,097 evenly spaced ones), and
t at these points, mapped to [-1, 1] and rounded to steps of 2^-20, is a public table. What a record adds is one row of
the table, whatever its value. Hence, exactly and for any function at all,

    L1 sensitivity = max over rows a, b of |a - b|_1 = max over sign vectors s of (max_a s.a - min_a s.a),

and L2 likewise over all pairs of rows. The sum of the coordinates' ranges would be up to as many times larger as there
are statistics, if they do not move together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from discreet.domain.declarations import Missing, Neighbors
from discreet.models.layout import FINE, Basis
from discreet.models.shapes import RecordShape

#: Steps of the table's numbers: a last bit that differs between machines is rounded away.
STEP = Fraction(1, 2**20)
#: Statistics of one record, at most: sign vectors are enumerated.
MOST_STATISTICS = 8
#: Points of the column that are told apart, at most.
MOST_POINTS = 4097
# pairs of rows whose distances are computed at a time
_CHUNK = 256


@dataclass(frozen=True, eq=False)
class StatisticTable(RecordShape):
    """One row of a public table for every record.

    Parameters
    ----------
    names
        Names of the statistics.
    steps
        The table in whole steps of 2^-20: points by statistics, from -2^20 to 2^20.
    center, half
        The statistics' own units: t = center + half z.
    """

    names: tuple[str, ...]
    steps: np.ndarray
    center: np.ndarray = field(default_factory=lambda: np.zeros(1))
    half: np.ndarray = field(default_factory=lambda: np.ones(1))
    usable_width = Fraction(2)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.names

    @cached_property
    def _rows(self) -> np.ndarray:
        return self.steps * float(STEP)

    def features(self, z: Sequence[Any]) -> list[Any]:
        # arrays only: the family says that its measure needs them
        at = np.rint((np.asarray(z[0], dtype=float) + 1) * ((len(self.steps) - 1) / 2)).astype(np.intp)
        return [np.take(column, at) for column in self._rows.T]

    @property
    def n_rows(self) -> int:
        return len(self.steps)

    def largest_difference(self, slopes: np.ndarray) -> np.ndarray:
        along = self._rows @ slopes.T
        return along.max(axis=0) - along.min(axis=0)

    def basis(self, neighbors: Neighbors, missing: Missing) -> Basis:
        return self._plain(neighbors, missing, grid=FINE, usable_width=self.usable_width)

    def l1_sensitivity(self, neighbors: Neighbors, missing: Missing) -> Fraction:
        from_nothing = int(np.abs(self.steps).sum(axis=1).max()) * STEP + 1 / self.usable_width
        if neighbors == "add_remove":
            return from_nothing
        return max(self._l1_diameter, from_nothing) if missing == "count" else self._l1_diameter

    def l2_sensitivity_squared(self, neighbors: Neighbors, missing: Missing) -> Fraction:
        from_nothing = int((self.steps**2).sum(axis=1).max()) * STEP**2 + 1 / self.usable_width**2
        if neighbors == "add_remove":
            return from_nothing
        return max(self._l2_diameter, from_nothing) if missing == "count" else self._l2_diameter

    @cached_property
    def _l1_diameter(self) -> Fraction:
        # one of two opposite sign vectors is enough
        signs = np.array([(1, *rest) for rest in product((1, -1), repeat=self.steps.shape[1] - 1)]).T
        along = self.steps @ signs
        return int((along.max(axis=0) - along.min(axis=0)).max()) * STEP

    @cached_property
    def _l2_diameter(self) -> Fraction:
        # numbers up to 2^20: sums of eight squared differences are whole and below 2^53
        most = 0
        for start in range(0, len(self.steps), _CHUNK):
            apart = self.steps[start : start + _CHUNK, None, :] - self.steps[None, start:, :]
            most = max(most, int((apart * apart).sum(axis=2).max()))
        return most * STEP**2

    def unmap(
        self, usable: np.ndarray, features: np.ndarray, shift: np.ndarray, half: np.ndarray
    ) -> np.ndarray:
        # the table's own map of each statistic; the column's only finds the row
        return self.half * features + self.center * usable[..., None]

r"""The geometry of one record: what it adds to the released sums, and how much that can change.

A record is first *mapped*: each column becomes z in [-1, 1], and a flag says whether it is usable (not
missing). From these come the features, and a fixed basis turns (usable, features) into the released
coordinates. A missing record adds nothing at all; an out-of-range record that is redacted has z = 0 and
is usable. So every record is one point of a known set, and sensitivity is a property of that set:

=============  ======================  ====================================================
shape          features                set of usable records
=============  ======================  ====================================================
``Interval``   z                       a segment
``Quadratic``  z_i, z_i z_j (i <= j)   a paraboloid over the cube
``Cells``      one indicator a cell    the corners of a simplex
=============  ======================  ====================================================

The basis depends on the neighbor relation, for least noise. Under ``replace`` the usable count is a
coordinate of its own (or absent, when nothing is missing by declaration). Under ``add_remove`` the basis is
a partition of unity wherever one exists: non-negative coordinates that sum to the usable flag, so one
record moves the released vector by exactly 1 in L1. For ``Interval`` those are (1 - z)/2 and (1 + z)/2; for
``Quadratic(1)`` the three Bernstein polynomials of degree 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, groupby
from typing import Any

import numpy as np

from discreet.domain.bounds import Bounds
from discreet.domain.declarations import Missing, Neighbors
from discreet.models.layout import FINE, UNIT, Basis, Layout, UnitRows
from discreet.rational import sqrt_up


class RecordShape(ABC):
    """What one record can add to the sums."""

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, in order."""

    @abstractmethod
    def features(self, z: Sequence[Any]) -> list[Any]:
        """Compute features from mapped columns, for arrays and narwhals expressions alike."""

    def features_of_labels(self, indicators: Sequence[Any]) -> list[Any]:
        """Compute features from one 0/1 indicator per label, where a shape has labels.

        Linear in the indicators and whole, so that the sums of features follow from the counts of labels.
        """
        raise NotImplementedError

    @abstractmethod
    def basis(self, neighbors: Neighbors, missing: Missing) -> Basis:
        """Return the released coordinates for this neighbor relation and missing policy."""

    @abstractmethod
    def l1_sensitivity(self, neighbors: Neighbors, missing: Missing) -> Fraction:
        """Return the supremum of the L1 change, in widths, before rounding to the grid."""

    @abstractmethod
    def l2_sensitivity_squared(self, neighbors: Neighbors, missing: Missing) -> Fraction:
        """Return the supremum of the squared L2 change, in widths, before rounding to the grid."""

    def metric_sensitivity(self, missing: Missing) -> Fraction | None:
        """Return the L1 change under ``replace``, in widths, per distance of two records, times the largest distance.

        Of records on the grid, so no step is added; None where records have no distance.
        :mod:`discreet.privacy.metric.per_unit` defines it.
        """
        return None

    def layout(
        self,
        neighbors: Neighbors,
        missing: Missing,
        shift: tuple[Fraction, ...] | None,
        half: tuple[Fraction, ...] | None,
    ) -> Layout:
        """Return the released vector of such records, under a map with this shift and half-width."""
        basis = self.basis(neighbors, missing)
        # neighbors in the list are mostly alike
        runs = [
            (g / w, len(list(run)))
            for (g, w), run in groupby(zip(basis.grid, basis.width, strict=True))
            if g != UNIT
        ]
        l1 = self.l1_sensitivity(neighbors, missing) + sum(r * times for r, times in runs)
        # float64 can carry a coordinate 2^-28 of a step past the half step that rounding may move it. In L1 that
        # vanishes, because sums of integer steps cannot exceed the bound by so little; in L2 the step is widened.
        step = sqrt_up(sum((r * r * times for r, times in runs), Fraction(0))) * (1 + Fraction(1, 2**20))
        l2 = sqrt_up(self.l2_sensitivity_squared(neighbors, missing)) + step
        return Layout(basis.names, basis.rows, basis.grid, basis.width, shift, half, l1, l2)

    @abstractmethod
    def unmap(
        self, usable: np.ndarray, features: np.ndarray, shift: np.ndarray, half: np.ndarray
    ) -> np.ndarray:
        """Turn mapped sums into sums of the family's own sufficient statistics.

        Only meaningful when no record was redacted; the naive engine uses it, noise-aware engines never do.
        """

    @property
    def feature_ranges(self) -> tuple[tuple[int, int], ...]:
        """Where each feature of a usable record can lie."""
        return ((-1, 1),) * len(self.feature_names)

    @property
    def n_rows(self) -> int:
        """Among how many records :meth:`largest_difference` looks; 1 where there is a formula."""
        return 1

    def largest_difference(self, slopes: np.ndarray) -> np.ndarray:
        """Return the largest slopes . (f - f') over two usable records, for each row of slopes; never less than it.

        Of features before they are rounded to the grid. Here it is that of features that move freely within their
        ranges, which is exact for one.
        """
        return np.abs(slopes) @ np.array([high - low for low, high in self.feature_ranges], dtype=float)

    def coordinate_ranges(self, neighbors: Neighbors, missing: Missing) -> Bounds:
        """Return between which numbers, 0 among them, one record can add to each released coordinate."""
        ranges = []
        for usable, *row in self.basis(neighbors, missing).rows:
            ends = [(c * low, c * high) for c, (low, high) in zip(row, self.feature_ranges, strict=True)]
            low, high = (usable + sum((pick(pair) for pair in ends), Fraction(0)) for pick in (min, max))
            ranges.append((min(low, Fraction(0)), max(high, Fraction(0))))
        return tuple(ranges)

    def _plain(
        self, neighbors: Neighbors, missing: Missing, *, grid: Fraction, usable_width: Fraction
    ) -> Basis:
        """Each feature is a coordinate; the usable count joins unless declared needless."""
        names = self.feature_names
        m = len(names)
        picked = tuple(range(1, m + 1))
        widths, grids = [UNIT] * m, [grid] * m
        if neighbors == "add_remove" or missing == "count":
            names = (*names, "usable")
            picked = (*picked, 0)
            widths.append(usable_width)
            grids.append(UNIT)
        return Basis(names, UnitRows(picked, m + 1), tuple(grids), tuple(widths))


@dataclass(frozen=True)
class Interval(RecordShape):
    """One statistic z in [-1, 1]; counting missing records is free.

    ``replace``: usable records are (z, 1), a missing one is (0, 0); any two are within L1 distance 2, which
    z alone costs already. ``add_remove``: the cells (1 - z)/2 and (1 + z)/2, sensitivity 1.
    """

    grid: Fraction = FINE
    cells: tuple[str, str] = ("low", "high")

    @property
    def feature_names(self) -> tuple[str, ...]:
        return ("z",)

    def features(self, z: Sequence[Any]) -> list[Any]:
        return [z[0]]

    def features_of_labels(self, indicators: Sequence[Any]) -> list[Any]:
        no, yes = indicators
        return [yes - no]

    def basis(self, neighbors: Neighbors, missing: Missing) -> Basis:
        if neighbors == "replace":
            return self._plain(neighbors, missing, grid=self.grid, usable_width=UNIT)
        half = Fraction(1, 2)
        return Basis(self.cells, ((half, -half), (half, half)), (self.grid,) * 2, (UNIT,) * 2)

    def l1_sensitivity(self, neighbors: Neighbors, missing: Missing) -> Fraction:
        return Fraction(2) if neighbors == "replace" else Fraction(1)

    def l2_sensitivity_squared(self, neighbors: Neighbors, missing: Missing) -> Fraction:
        return Fraction(4) if neighbors == "replace" else Fraction(1)

    def metric_sensitivity(self, missing: Missing) -> Fraction | None:
        # the change of z is the distance, up to 2; a value that goes missing moves z by 1 and the count by 1
        return Fraction(2)

    def unmap(
        self, usable: np.ndarray, features: np.ndarray, shift: np.ndarray, half: np.ndarray
    ) -> np.ndarray:
        return half * features + shift * usable[..., None]


@dataclass(frozen=True)
class Quadratic(RecordShape):
    r"""All z_i and z_i z_j of d columns.

    Write two records as a + b and a - b. Then the changes are 2 b_i and 2 (a_i b_j + a_j b_i), convex in a for
    fixed b, so the worst a has |a_i| = 1 - |b_i|. With beta_i = |b_i| the L1 change is at most

        (2d + 4) S - 2 Q - 2 S^2,        S = sum beta_i, Q = sum beta_i^2,

    concave and symmetric, hence largest at equal beta: **d (d + 2)^2 / (2 (d + 1))**, which is attained. For the
    squared L2 change each single-column part, 4 beta^2 + 16 beta^2 (1 - beta)^2, is at most 4 beta (because
    4 beta (1 - beta) <= 1), with equality at 0 and 1, and the mixed parts are convex in each beta_i, so the worst is
    a corner: **max over k of 4 k (1 + d - k)**, k columns flipped. Both are exact for every d. A redacted
    record is z = 0, a point of the set. A missing record differs from z = (1, ..., 1) by d + d(d + 1)/2 coordinates
    and the usable flag, whose width 2 makes counting it nearly free.
    """

    n_columns: int = 1
    usable_width = Fraction(2)

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations_with_replacement(range(self.n_columns), 2))

    @property
    def feature_names(self) -> tuple[str, ...]:
        if self.n_columns == 1:
            return ("z", "z2")
        d = self.n_columns
        return (*(f"z{i + 1}" for i in range(d)), *(f"z{i + 1}*z{j + 1}" for i, j in self._pairs))

    @property
    def feature_ranges(self) -> tuple[tuple[int, int], ...]:
        return (*[(-1, 1)] * self.n_columns, *((0 if i == j else -1, 1) for i, j in self._pairs))

    def coordinate_ranges(self, neighbors: Neighbors, missing: Missing) -> Bounds:
        if self._bernstein(neighbors):
            # Bernstein polynomials: z and its square are one number, and these are not negative
            return ((Fraction(0), UNIT), (Fraction(0), UNIT / 2), (Fraction(0), UNIT))
        return super().coordinate_ranges(neighbors, missing)

    def largest_difference(self, slopes: np.ndarray) -> np.ndarray:
        r"""Return the largest slopes . (f - f') over two usable records, for each row of slopes; exact for one column.

        With a z + b z^2, and z' - z = u, z' + z = s, abs(u) <= 2 - abs(s), the difference is u (a + b s), whose largest
        value is that of (2 - s)(abs(a) + abs(b) s) over s in [0, 2].
        """
        if self.n_columns > 1:
            return super().largest_difference(slopes)
        a, b = np.abs(slopes).T
        return np.where(a >= 2 * b, 2 * a, (a + 2 * b) ** 2 / np.where(b > 0, 4 * b, 1.0))

    def features(self, z: Sequence[Any]) -> list[Any]:
        return [*z, *(z[i] * z[j] for i, j in self._pairs)]

    @property
    def _n_features(self) -> int:
        d = self.n_columns
        return d + d * (d + 1) // 2

    def _bernstein(self, neighbors: Neighbors) -> bool:
        return neighbors == "add_remove" and self.n_columns == 1

    def basis(self, neighbors: Neighbors, missing: Missing) -> Basis:
        if self._bernstein(neighbors):
            quarter, half, zero = Fraction(1, 4), Fraction(1, 2), Fraction(0)
            rows = (
                (quarter, -half, quarter),
                (half, zero, -half),
                (quarter, half, quarter),
            )
            return Basis(("low", "middle", "high"), rows, (FINE,) * 3, (UNIT,) * 3)
        return self._plain(neighbors, missing, grid=FINE, usable_width=self.usable_width)

    def l1_sensitivity(self, neighbors: Neighbors, missing: Missing) -> Fraction:
        if self._bernstein(neighbors):
            return Fraction(1)
        d = self.n_columns
        from_nothing = self._n_features + 1 / self.usable_width
        if neighbors == "add_remove":
            return from_nothing
        between = Fraction(d * (d + 2) ** 2, 2 * (d + 1))
        return max(between, from_nothing) if missing == "count" else between

    def l2_sensitivity_squared(self, neighbors: Neighbors, missing: Missing) -> Fraction:
        if self._bernstein(neighbors):
            return Fraction(1)
        d = self.n_columns
        from_nothing = self._n_features + 1 / self.usable_width**2
        if neighbors == "add_remove":
            return from_nothing
        between = Fraction(max(4 * k * (1 + d - k) for k in range(d + 1)))
        return max(between, from_nothing) if missing == "count" else between

    def metric_sensitivity(self, missing: Missing) -> Fraction | None:
        # z changes by the distance and its square by twice as much, near a bound; the largest distance is 2. A value
        # that goes missing moves them by 1 each, and the count by half a width: less.
        return Fraction(6) if self.n_columns == 1 else None

    def unmap(
        self, usable: np.ndarray, features: np.ndarray, shift: np.ndarray, half: np.ndarray
    ) -> np.ndarray:
        d = self.n_columns
        z = features[..., :d]
        first = half * z + shift * usable[..., None]
        second = [
            half[i] * half[j] * features[..., d + p]
            + half[i] * shift[j] * z[..., i]
            + half[j] * shift[i] * z[..., j]
            + shift[i] * shift[j] * usable
            for p, (i, j) in enumerate(self._pairs)
        ]
        return np.concatenate([first, np.stack(second, axis=-1)], axis=-1)


@dataclass(frozen=True)
class Cells(RecordShape):
    """One indicator per label.

    ``replace``: two records differ in at most two cells, L1 distance 2; a missing record differs from a usable
    one in its cell and the usable flag, also 2. ``add_remove``: one cell, sensitivity 1; the usable count is the
    sum of the cells and needs no coordinate.
    """

    labels: tuple[str, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.labels

    @property
    def feature_ranges(self) -> tuple[tuple[int, int], ...]:
        return ((0, 1),) * len(self.labels)

    def coordinate_ranges(self, neighbors: Neighbors, missing: Missing) -> Bounds:
        # every coordinate is a count; there can be a million, and a row for each has as many entries
        return ((Fraction(0), UNIT),) * len(self.basis(neighbors, missing).names)

    def largest_difference(self, slopes: np.ndarray) -> np.ndarray:
        return slopes.max(axis=-1) - slopes.min(axis=-1)

    def features(self, z: Sequence[Any]) -> list[Any]:
        raise NotImplementedError("labels are counted, not mapped")

    def features_of_labels(self, indicators: Sequence[Any]) -> list[Any]:
        return list(indicators)

    def basis(self, neighbors: Neighbors, missing: Missing) -> Basis:
        if neighbors == "replace":
            return self._plain(neighbors, missing, grid=UNIT, usable_width=UNIT)
        return self._plain("replace", "none", grid=UNIT, usable_width=UNIT)

    def l1_sensitivity(self, neighbors: Neighbors, missing: Missing) -> Fraction:
        return Fraction(2) if neighbors == "replace" else Fraction(1)

    def l2_sensitivity_squared(self, neighbors: Neighbors, missing: Missing) -> Fraction:
        return Fraction(2) if neighbors == "replace" else Fraction(1)

    def unmap(
        self, usable: np.ndarray, features: np.ndarray, shift: np.ndarray, half: np.ndarray
    ) -> np.ndarray:
        return features

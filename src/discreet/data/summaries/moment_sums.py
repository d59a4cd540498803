"""The exact sums of a bounded number within groups, in steps of the fixed-point grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.domain.declarations import Outside
from discreet.models.layout import Layout, Map
from discreet.models.moment_table import SHAPE, MomentTable

# so many integers of 25 bits add up exactly in float64, as which NumPy counts with weights
_EXACT = 1 << 27


@dataclass(frozen=True)
class MomentSums:
    """How values become the cells of their group: see :class:`~discreet.models.moment_table.MomentTable`.

    Float64 arithmetic in one fixed order, in NumPy whatever the source, and integers from then on. The domain test
    comes before any cast, so 1e300, inf and NaN never reach one.
    """

    map: Map
    layout: Layout
    clip: bool

    @classmethod
    def of(cls, table: MomentTable, outside: Outside) -> MomentSums:
        """Return the sums of a table's number under this policy."""
        layout = table.block()
        return cls(layout.maps(table.domain(outside).bounds)[0], layout, outside == "clip")

    def add(self, x: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the cells of all groups, one after the other: the layout's, in grid steps, and the missing values."""
        usable = ~np.isnan(x)
        if self.clip:
            x, inside = np.clip(x, self.map.low, self.map.high), usable
        else:
            inside = (x >= self.map.low) & (x <= self.map.high)
        z = np.zeros(len(x))
        z[inside] = np.clip((x[inside] - self.map.shift) * self.map.slope, -1.0, 1.0)
        cells = self.layout.coordinates(usable.astype(float), SHAPE.features([z]))
        out = np.empty((n_groups, len(cells) + 1), dtype=np.int64)
        for j, (t, grid) in enumerate(zip(cells, self.layout.grid, strict=True)):
            out[:, j] = _sums(np.floor(t * float(1 / grid) + 0.5), group, n_groups)
        out[:, -1] = np.bincount(group[~usable], minlength=n_groups)
        return out.ravel()


def _sums(steps: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    total = np.zeros(n_groups, dtype=np.int64)
    for start in range(0, len(steps), _EXACT):
        part = slice(start, start + _EXACT)
        total += np.bincount(group[part], steps[part], minlength=n_groups).astype(np.int64)
    return total

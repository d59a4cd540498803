"""The public map of each column onto [-1, 1], for expressions and for arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from discreet.data.sources.conceal import quiet
from discreet.domain.bounds import Bounds
from discreet.errors import UsageError
from discreet.families.record_sums import RecordSums
from discreet.models.layout import Layout


@dataclass(frozen=True)
class Map:
    """The public affine map of one column, in float64.

    ``clamp`` says whether z could leave [-1, 1] (or be NaN) without being clamped. For the identity measure it cannot,
    if it does not at the two bounds: subtraction and multiplication round monotonically.
    """

    low: float
    high: float
    shift: float
    slope: float
    clamp: bool

    def z(self, measured: Any) -> Any:
        """Map a measured column; clamp so that a wrong certificate costs accuracy, never privacy."""
        z = (measured - self.shift) * self.slope
        return nw.when(z.is_nan()).then(0.0).otherwise(z.clip(-1.0, 1.0)) if self.clamp else z


def maps(bounds: Bounds | None, layout: Layout, *, identity: bool = True) -> list[Map]:
    """Return the map of each column as declared; ``identity`` says that values are summed as they are."""
    if bounds is None or layout.shift is None or layout.half is None:
        raise UsageError("numbers need bounds, chosen without looking at the data.")
    out = []
    for (low, high), shift, half in zip(bounds, layout.shift, layout.half, strict=True):
        try:
            numbers = [float(low), float(high), float(shift), float(1 / half)]
        except (OverflowError, ZeroDivisionError):
            numbers = [math.inf]
        if not all(map(math.isfinite, numbers)):
            raise UsageError("the bounds are too wide or too narrow for floating-point numbers.")
        edges = [abs((x - numbers[2]) * numbers[3]) for x in numbers[:2]]
        out.append(Map(*numbers, clamp=not (identity and max(edges) <= 1)))
    return out


def measure_arrays(x: np.ndarray, family: RecordSums, m: Map) -> np.ndarray:
    """Evaluate a measure that only understands arrays, at values moved into the bounds.

    The measure must treat each value on its own. Whatever it returns is clamped later; if it fails, the
    message says so and nothing about the values.
    """
    safe = np.where(np.isnan(x), m.low, np.clip(x, m.low, m.high))
    with quiet():
        try:
            measured = np.asarray(family.measure(safe), dtype=np.float64)
        except Exception:
            measured = None
    if measured is None or measured.shape != x.shape:
        raise UsageError(f"the measure of {family.name} must return one number per value.")
    return measured

"""What a curator declared before any row was read: bounds or labels, policies, and who counts as a neighbor."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

#: Which two tables are neighbors: one record replaced by another, or one added or removed.
Neighbors = Literal["replace", "add_remove"]
#: What becomes of missing values: counted, declared absent, or imputed by a public value.
Missing = Literal["count", "none", "impute"]
#: Why values outside the bounds are better clipped.
REDACTED = (
    "values outside the bounds count as the middle of the range (outside='redact'), so a population most of which is "
    "out of range can explain the same sums, and intervals miss more often than with outside='clip'"
)
#: What becomes of values outside the bounds: the middle of the range, or the nearest bound.
Outside = Literal["redact", "clip"]


@dataclass(frozen=True)
class Domain:
    """What the curator declared about the column: bounds or labels, and the two policies.

    ``impute`` is what stands for a missing value if ``missing`` is ``"impute"``: one number per column, or one label.
    For models of several columns the columns declare their own labels and bounds, ``impute`` has one entry for each.
    ``dates`` says that the column holds dates, so that bounds are days since 1970-01-01 (:mod:`discreet.domain.dates`).
    """

    bounds: tuple[tuple[Fraction, Fraction], ...] | None
    labels: tuple[str, ...] | None
    outside: Outside
    missing: Missing
    impute: tuple[Fraction | str, ...] | None = None
    dates: bool = False

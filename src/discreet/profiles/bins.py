"""Numbers as categories: bins that are declared before anything is observed."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from discreet.arguments import fill, listed
from discreet.errors import UsageError
from discreet.objects import number
from discreet.rational import exact, plain

_MOST_EDGES = 1001
_WANTED = "numbers that rise, such as [0, 10, 20, 50]"


@dataclass(frozen=True, init=False)
class Bins:
    """Intervals between declared edges, as the categories of a :class:`~discreet.profiles.ProfileGraph`.

    A number belongs to the bin that it lies in, its lower edge included; one below the first edge to the first bin, and
    one from the last edge on to the last. Edges are public and chosen without a look at what is reported: edges at
    somebody's own quantiles would tell them.

    Examples
    --------
    >>> bins = Bins([0, 10, 20, 50])
    >>> bins.categories
    ('0 to 10', '10 to 20', '20 to 50')
    >>> bins.labels([3, 10, 70, -1, float("nan")])
    ['0 to 10', '10 to 20', '20 to 50', '0 to 10', None]
    """

    edges: tuple[Fraction, ...]

    def __init__(self, edges: Sequence[Any]) -> None:
        read = tuple(exact(edge, "an edge") for edge in listed(edges, "edges", _WANTED, most=_MOST_EDGES + 1))
        rising = all(a < b for a, b in pairwise(read))
        if not 3 <= len(read) <= _MOST_EDGES or not rising:
            raise UsageError(f"edges must be from 3 to {_MOST_EDGES:,} {_WANTED}.")
        fill(self, edges=read)

    @property
    def categories(self) -> tuple[str, ...]:
        """Names of the bins, in order."""
        ends = [plain(edge) for edge in self.edges]
        return tuple(f"{low} to {high}" for low, high in pairwise(ends))

    def labels(self, values: Any) -> list[str | None]:
        """Return the category of each number; None for what is no number, which a mechanism takes for unknown."""
        names, inner = self.categories, [float(edge) for edge in self.edges[1:-1]]
        read = [number(value) for value in listed(values, "values", "a list of numbers")]
        return [None if x is None or math.isnan(x) else names[bisect_right(inner, x)] for x in read]

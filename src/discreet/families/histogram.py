r"""The whole distribution of a bounded column: noisy counts of bins, and of groups of bins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import Any, Self

import numpy as np

from discreet.arguments import fill, listed, whole
from discreet.domain.bounds import Bounds
from discreet.domain.columns import are_texts
from discreet.domain.dates import are_dates, as_day, shown_day
from discreet.domain.declarations import Domain, Missing, Neighbors
from discreet.errors import UsageError
from discreet.families.bounded_column import BoundedColumn
from discreet.models.layout import Layout
from discreet.models.published_layout import PublishedLayout, published_cells
from discreet.models.shapes import UNIT, Cells
from discreet.rational import exact, plain, sqrt_up, text

#: The most bins a column is cut into.
MOST_BINS = 100_000
_DEFAULT_BINS = 64
# A group of the next level holds at most this many of the level below.
_WIDEST_GROUP = 16
_LARGEST = Fraction(10) ** 100
# edges named in a privacy statement
_MOST_IN_WORDS = 12


@dataclass(frozen=True, init=False)
class Histogram(BoundedColumn):
    r"""The distribution of a column: the probability of every bin, and what follows from it.

    ``Histogram(bins=64)`` cuts the bounds into bins of equal width; ``Histogram(edges=[0, 17, 64, 100])`` names their
    edges, which are then the bounds too. A bin holds its upper edge and not its lower one, so that the share at or
    below an edge is known; the first bin holds both of its edges. Values outside the bounds count in the first or the
    last bin.

    ===========  =====================================================================
    statistic    one count a bin, and one for each group of ``branching`` bins, of so
                 many groups, and so on: L levels
    prior        none is needed
    draws        ``p``, the bins on the last axis
    sensitivity  replace: 2L, counting missing or not; add_remove: L
    ===========  =====================================================================

    ``branching`` is chosen by the number of bins if it is left out: 8 for 64 bins, which makes two levels. Edges are a
    declaration: they must not be chosen by looking at the data.

    Privacy
    -------
    A record is in one bin, so in one group of every level, or it is missing and in none. Under ``replace`` two records
    differ in at most two counts of each level: 2L in L1, and 2L in squared L2. If missing values are counted, a record
    and a missing one differ in one count of each level and in the usable flag, whose width w satisfies w^2 >= 1/L: at
    most L + 1/w <= 2L in L1, and L + 1/w^2 <= 2L in squared L2. Under ``add_remove`` one record is one count of each
    level: L in both, and the usable count is their sum. All are integers, so nothing is rounded.
    :class:`~discreet.mechanisms.Laplace` and :class:`~discreet.mechanisms.Gaussian` have the theorems.

    References
    ----------
    Hay, Rastogi, Miklau and Suciu (2010), Boosting the accuracy of differentially private histograms through
    consistency. Qardaji, Yang and Li (2013), Understanding hierarchical methods for differentially private histograms.
    """

    question = "Distribution"
    name = "histogram"
    summary = "bins"
    engines = "histogram"
    picture = "distribution"
    draw_names = ("p",)
    only_outside = "clip"
    buys_bounds = False
    bins: int
    edges: tuple[Fraction, ...] | None
    branching: int
    dates: bool

    def __init__(
        self, bins: int | None = None, *, edges: Iterable[Any] | None = None, branching: int | None = None
    ) -> None:
        if bins is not None and edges is not None:
            raise UsageError("a histogram takes bins or edges, not both.")
        given = None if edges is None else listed(edges, "edges", "a list of numbers", most=MOST_BINS + 2)
        dated = given is not None and are_dates(given)
        read = None if given is None else _read_edges([as_day(edge) for edge in given] if dated else given)
        count = len(read) - 1 if read is not None else _DEFAULT_BINS if bins is None else bins
        if read is None:
            count = whole(count, "bins", least=2, most=MOST_BINS)
        wide = _branching(count) if branching is None else whole(branching, "branching", least=2, most=count)
        fill(self, bins=count, edges=read, branching=wide, dates=dated)

    # -- bins and levels ------------------------------------------------------------------------------

    def edges_within(self, bounds: Bounds | None) -> np.ndarray:
        """Return the edges as floating-point numbers, each the nearest to the exact one.

        A value is compared with them, so a decimal in the rows is in the bin that ends with the same decimal.
        """
        if self.edges is not None:
            return np.array([float(edge) for edge in self.edges])
        if bounds is None:
            raise UsageError("a histogram of so many bins needs bounds.")
        low, high = bounds[0]
        return np.array([float(low + (high - low) * i / self.bins) for i in range(self.bins + 1)])

    def level_starts(self) -> list[np.ndarray]:
        """Return where the groups of each level begin, single bins first."""
        starts, size = [], 1
        while size < self.bins:
            starts.append(np.arange(0, self.bins, size))
            size *= self.branching
        return starts

    @property
    def n_levels(self) -> int:
        """How many levels have counts: the L of the sensitivity."""
        return len(self.level_starts())

    @property
    def usable_width(self) -> Fraction:
        """The width of the usable count, in quarters: the least with w^2 >= 1/L, so that counting it is free."""
        quarters = isqrt(16 // self.n_levels)
        return Fraction(quarters if quarters**2 * self.n_levels >= 16 else quarters + 1, 4)

    def counts_usable(self, neighbors: Neighbors, missing: Missing) -> bool:
        """Tell whether the usable count is a coordinate of its own."""
        return neighbors == "replace" and missing == "count"

    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        names = [f"bin {i}" for i in range(self.bins)]
        for starts in self.level_starts()[1:]:
            ends = [*starts[1:], self.bins]
            names += [f"bins {first} to {last - 1}" for first, last in zip(starts, ends, strict=True)]
        width = [UNIT] * len(names)
        if self.counts_usable(neighbors, domain.missing):
            names.append("usable")
            width.append(self.usable_width)
        change = Fraction(self.n_levels * (2 if neighbors == "replace" else 1))
        return Layout(
            tuple(names), (), (UNIT,) * len(names), tuple(width), None, None, change, sqrt_up(change)
        )

    def coordinate_ranges(self, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
        usable = self.counts_usable(neighbors, domain.missing)
        return ((Fraction(0), UNIT),) * (sum(map(len, self.level_starts())) + usable)

    def published_names(self) -> tuple[str, ...]:
        return tuple(f"bin {i}" for i in range(self.bins))

    def published_layout(
        self, domain: Domain, records: int | None, names: Collection[str]
    ) -> PublishedLayout:
        cells = self.published_names()
        if self.n_levels > 1:
            raise UsageError(
                f"published counts of {self.bins} bins have no counts of groups of bins.",
                hint=f"dc.Histogram({self.bins}, branching={self.bins})",
            )
        return published_cells(Cells(cells), cells, records, names, self.name)

    # -- declarations ---------------------------------------------------------------------------------

    def check_dates(self, domain: Domain) -> None:
        super().check_dates(domain)
        if self.edges is not None and self.dates != domain.dates:
            raise UsageError("the edges of a histogram and its bounds must be dates, or both numbers.")

    @property
    def own_bounds(self) -> tuple[Fraction, Fraction] | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return None if self.edges is None else (self.edges[0], self.edges[-1])

    def check_bounds(self, bounds: Bounds | None) -> None:
        super().check_bounds(bounds)
        if bounds is None:
            return
        if self.edges is not None and bounds[0] != self.own_bounds:
            raise UsageError(
                "the edges of a histogram are its bounds, and other bounds were given.",
                hint=f"leave out bounds, or say bounds=({plain(self.edges[0])}, {plain(self.edges[-1])})",
            )
        if not (np.diff(self.edges_within(bounds)) > 0).all():
            raise UsageError(
                f"{self.bins} bins are too narrow for floating-point numbers between these bounds.",
                hint="use fewer bins, or wider bounds",
            )

    def assumptions(self, domain: Domain) -> list[str]:
        if self.edges is None:
            return [f"they were cut into {self.bins} bins of equal width"]
        some = [shown_day(edge) if self.dates else plain(edge) for edge in self.edges[:_MOST_IN_WORDS]]
        more = [f"{len(self.edges) - len(some)} more"] if len(self.edges) > len(some) else []
        return [f"the declared edges of its {self.bins} bins are {', '.join([*some, *more])}"]

    # -- identity -------------------------------------------------------------------------------------

    def describe(self) -> str:
        return f"{self.name} ({self.bins} bins)"

    def constants(self) -> dict[str, Any]:
        shown = shown_day if self.dates else text
        bins = {"bins": self.bins} if self.edges is None else {"edges": [shown(edge) for edge in self.edges]}
        return {**bins, "branching": self.branching}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if set(constants) not in ({"bins", "branching"}, {"edges", "branching"}):
            raise ValueError("a histogram has bins or edges, and branching")
        edges = constants.get("edges")
        if "edges" in constants and not are_texts(edges):
            raise ValueError("the edges of a histogram are not a list of exact numbers")
        for name in ("bins", "branching"):
            if not isinstance(constants.get(name, 0), int) or isinstance(constants.get(name), bool):
                raise ValueError(f"{name} of a histogram is no whole number")
        return cls(constants.get("bins"), edges=edges, branching=constants["branching"])

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        given: dict[str, Any] = {}
        for name, value in options.items():
            if name == "edges":
                given[name] = [edge.strip() for edge in value.split("|")]
            elif not (value.isascii() and value.isdigit()):
                raise UsageError(f"{name} must be a whole number, got {name}={value!r:.40}.")
            else:
                # more digits than Python reads are more bins than there can be
                given[name] = int(value[:30])
        return cls(**given)


def _branching(bins: int) -> int:
    """Return how many bins make a group: with so few levels that groups are no wider than 16, as even as can be."""
    levels = 1
    while _WIDEST_GROUP**levels < bins:
        levels += 1
    wide = 2
    while wide**levels < bins:
        wide += 1
    return wide


def _read_edges(edges: Sequence[Any]) -> tuple[Fraction, ...]:
    given = edges
    if not 3 <= len(given) <= MOST_BINS + 1:
        raise UsageError(
            f"edges must be 3 to {MOST_BINS + 1:,} numbers, two bins or more, got "
            f"{'more' if len(given) > 3 else len(given)}."
        )
    read = tuple(exact(edge, "an edge") for edge in given)
    for before, after in pairwise(read):
        if not before < after:
            raise UsageError(
                f"edges must increase, got {plain(before)} before {plain(after)}.",
                hint="for example edges=[0, 17, 64, 100]",
            )
    if max(abs(read[0]), abs(read[-1])) > _LARGEST or any(
        not float(before) < float(after) for before, after in pairwise(read)
    ):
        raise UsageError("edges must be at most 1e100 and distinct as floating-point numbers.")
    return read

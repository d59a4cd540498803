r"""The mean of rows that come in clusters: several rows of a person, or rows with survey weights.

What one person adds is a function of the rows that count of that person (at most ``max_rows``, each with a weight of at
most 1 after division by the largest declared one). With t in [0, 1] the mapped value of a row and v its weight,

    m = sum v,   h = sum v t,   q = sum v t^2,       0 <= q <= h <= m <= k,

and the released coordinates are two partitions of numbers that are bounded and never negative,

    low, middle, high                 m - 2h + q,  2 (h - q),  q                which add up to m     <= k,
    low-low, low-high, high-high      (m - h)^2,   2 h (m - h),  h^2            which add up to m^2   <= k^2.

The first three are the sums over rows that :class:`~discreet.families.mean.Mean` releases. The last three are its
*cluster sums*: from sum m^2, sum m h and sum h^2 over people follows how much the mean of the table varies between
samples of people, whatever rows of one person have in common. Sums over rows alone cannot tell: the same sums go with
rows that are alike and with rows that are not.

**Sensitivity.** Give the cluster sums the width 2 k. Adding or removing a person, with all rows, moves the vector by

    L1:  m + m^2 / (2k) <= k + k / 2 = 3k/2,        L2:  sqrt(k^2 + (k/2)^2) = k sqrt(5) / 2,

both attained by k rows at one bound. Replacing a person moves it by |f - f'| <= |f| + |f'| <= 3k in L1, attained by k
rows at one bound and k at the other, and since no coordinate is negative by at most sqrt(|f|^2 + |f'|^2) =
sqrt(2) k sqrt(5) / 2 in L2. With one row of weight 1 a person (k = 1) cluster sums say nothing that sums over rows do
not say, and are left out: 1 and 2 in L1, 1 and sqrt(2) in L2.

Numbers of rows differ between people, so their sum m is never public, under either relation. Taking k times the
sensitivity of one row would be wrong for that reason alone. In the coordinates (sum z, sum z^2, rows), z = 2t - 1, a
person of k rows at z = 1 and another of n >= 1 rows at z = -x are apart by

    (k + n x) + (k - n x^2) + (k - n) = 3k - n (1 - x + x^2) <= 3k - 3/4,    at n = 1, x = 1/2,

and that is the largest distance. Take the sign of the first difference as positive, by symmetry in z. If the others
have the same sign it is a sum over rows of one person of z + z^2 + 1 <= 3, minus a sum over at least one row of the
other of z + z^2 + 1 >= 3/4; if both have the opposite sign, the same with the persons exchanged; if one has, each row
of one person adds at most 1 and of the other 5/4, and 9k/4 <= 3k - 3/4. For k = 5 that is 14.25, and not
5 x 2.25 = 11.25; 15 if a person may be without a usable row.

Everything is integers: t in steps of 2^-24, weights of 2^-20, and each coordinate is rounded so that the two
identities above hold exactly (:mod:`discreet.data.summaries.cluster_sums`). So nothing is added to the sensitivity for
rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

from discreet.arguments import whole
from discreet.domain.bounds import check_pair, read_pairs
from discreet.domain.columns import Column, Numeric
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.families.record_sums import RecordSums
from discreet.models.base import Model
from discreet.models.layout import FINE, UNIT, Layout
from discreet.names import check_name, shown
from discreet.rational import exact, plain, sqrt_up, text

#: More rows of one person than this say nothing that fewer do not.
MOST_ROWS = 10_000
_ROW_SUMS = ("low", "middle", "high")
_CLUSTER_SUMS = ("low-low", "low-high", "high-high")
_ZERO = Fraction(0)


@dataclass(frozen=True)
class Weights:
    """A column of survey weights, and the public bounds that each weight is clipped to."""

    column: str
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class ClusterMean(RecordSums):
    """The mean and the standard deviation of rows, for samples of people; what ``Mean()`` becomes with ``max_rows``.

    ===========  ==================================================================
    statistic    sums over rows, and over people of the squares of their sums
    prior        none is needed
    draws        ``mean``, ``sd``: of the rows that count, clipped to the bounds
    sensitivity  replace: 3k; add_remove: 3k/2, with k rows a person
    ===========  ==================================================================

    Privacy
    -------
    See the head of this module: joint over all rows of a person, under both neighbor relations, with the proof.
    """

    question = "Mean"
    name = "cluster_mean"
    summary = "clusters"
    engines = "cluster_mean"
    draw_names = ("mean", "sd")
    only_outside = "clip"
    buys_bounds = False

    max_rows: int = 1  # pyright: ignore[reportIncompatibleVariableOverride]
    weights: Weights | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_rows", whole(self.max_rows, "max_rows", most=MOST_ROWS))

    @property
    def in_words(self) -> str:
        return "mean" if self.weights is None else "weighted mean"

    def describe(self) -> str:
        said = [] if self.max_rows == 1 else [f"max_rows = {self.max_rows}"]
        if self.weights is not None:
            said.append(f"weights = {shown(self.weights.column)}")
        return f"mean ({', '.join(said)})" if said else "mean"

    def capped(self, max_rows: int) -> ClusterMean:
        return replace(self, max_rows=max_rows)

    def weighted(self, weights: Any, weight_bounds: Any) -> ClusterMean:
        return replace(self, weights=read_weights(weights, weight_bounds))

    # -- the released vector ----------------------------------------------------------------------------

    @property
    def has_cluster_sums(self) -> bool:
        """Whether the squares of people's sums are released: unless each person has one row of weight 1."""
        return self.max_rows > 1 or self.weights is not None

    @property
    def cluster_steps(self) -> int:
        """How many steps the grid of cluster sums has in 1: a power of two, so that k^2 of them fit 32 bits."""
        return 2 ** min(24, 32 - 2 * (self.max_rows - 1).bit_length())

    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        k = Fraction(self.max_rows)
        names, grid, width = _ROW_SUMS, (FINE,) * 3, (UNIT,) * 3
        l1, l2_squared = k, k**2
        if self.has_cluster_sums:
            names += _CLUSTER_SUMS
            grid += (Fraction(1, self.cluster_steps),) * 3
            width += (2 * k,) * 3
            l1, l2_squared = 3 * k / 2, 5 * k**2 / 4
        if neighbors == "replace":
            l1, l2_squared = 2 * l1, 2 * l2_squared
        return Layout(names, (), grid, width, *self.affine_map(domain), l1, sqrt_up(l2_squared))

    def coordinate_ranges(self, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
        k = Fraction(self.max_rows)
        return ((_ZERO, k),) * 3 + ((_ZERO, k**2),) * (3 if self.has_cluster_sums else 0)

    # -- declarations -------------------------------------------------------------------------------------

    @property
    def n_columns(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 1 if self.weights is None else 2

    def record_columns(self, columns: Sequence[str], domain: Domain) -> tuple[Column, ...]:
        learned = super().record_columns(columns[:1], domain)
        if self.weights is None:
            return learned
        return (*learned, Numeric(self.weights.column, self.weights.low, self.weights.high))

    def read_columns(self, columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if self.weights is None:
            return columns
        if columns is None:
            raise UsageError("name the column that is learned about: weights are another one.")
        if self.weights.column in columns:
            raise UsageError("the column of weights cannot be the one that is learned about.")
        return (*columns, self.weights.column)

    # its two columns are no two numbers to learn, and rows do not become one record
    unit_rules = Model.unit_rules  # pyright: ignore[reportIncompatibleMethodOverride]
    record_bounds, axis_labels = Model.record_bounds, Model.axis_labels

    def check_domain(self, domain: Domain, columns: Sequence[str]) -> None:
        super().check_domain(domain, columns)
        if self.weights is not None and columns[1] != self.weights.column:
            raise ValueError("its columns are not its model's")

    def check_bounds(self, bounds: Any) -> None:
        if bounds is None or len(bounds) != 1:
            raise UsageError(
                "mean needs bounds, chosen without looking at the data.", hint="for example bounds=(0, 100)"
            )
        check_pair(bounds[0])

    @property
    def takes_groups(self) -> bool:
        return True

    def assumptions(self, domain: Domain) -> list[str]:
        said = []
        if self.weights is not None:
            low, high = plain(self.weights.low), plain(self.weights.high)
            column = shown(self.weights.column)
            said.append(f"each row counts with its weight “{column}”, clipped to [{low}, {high}]")
        if self.has_cluster_sums:
            said.append("squares of each person's sums are among the totals, for intervals about people")
        return said

    def missing_in_words(self, neighbors: Neighbors) -> str:
        return "rows without a usable value were left out, and how many rows there were is itself protected"

    # -- what a file records --------------------------------------------------------------------------------

    def constants(self) -> dict[str, Any]:
        found: dict[str, Any] = {"max_rows": self.max_rows}
        if self.weights is not None:
            w = self.weights
            found["weights"] = {"column": w.column, "bounds": [text(w.low), text(w.high)]}
        return found

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if not {"max_rows"} <= set(constants) <= {"max_rows", "weights"}:
            raise ValueError("its model has other constants than a mean of clusters")
        k, declared = constants["max_rows"], constants.get("weights")
        if type(k) is not int:
            raise ValueError("max_rows is no whole number")
        if declared is None:
            return cls(k)
        if set(declared) != {"column", "bounds"} or len(declared["bounds"]) != 2:
            raise ValueError("its weights have other fields")
        low, high = (exact(bound, "a bound of weights") for bound in declared["bounds"])
        return cls(k, checked_weights(declared["column"], (low, high)))


def checked_weights(column: Any, bounds: tuple[Fraction, Fraction]) -> Weights:
    """Return a column of weights with its bounds, or raise unless they can be bounds of weights."""
    low, high = bounds
    if not 0 <= low < high and not 0 < low == high:
        raise UsageError("weight_bounds must satisfy 0 <= low <= high, and 0 < high.")
    if not Fraction(1, 10**12) <= high <= 10**12:
        raise UsageError("the largest weight must be between 1e-12 and 1e12.")
    return Weights(check_name(column, "the column of weights"), low, high)


def read_weights(column: Any, bounds: Any) -> Weights:
    """Read ``weights="w", weight_bounds=(low, high)`` as the curator gives them."""
    if bounds is None:
        raise UsageError(
            "weights need weight_bounds, chosen without looking at the data.",
            hint="for example weight_bounds=(0, 10)",
        )
    pairs = read_pairs(bounds, "weight_bounds")
    if len(pairs) != 1:
        raise UsageError("weight_bounds are one pair, low and high.")
    return checked_weights(column, pairs[0])

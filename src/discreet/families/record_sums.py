"""What one record of declared columns adds to the sums: the part of a family that the private side needs.

A model that assumes a likelihood is a :class:`~discreet.families.base.Family`; one that reads the same sums without one
is a :class:`RecordSums` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from inspect import signature
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np

from discreet.domain.bounds import Bounds, check_pair, read_dated, shown_pair
from discreet.domain.columns import Column, Labels, Numeric, are_texts
from discreet.domain.declarations import Domain, Missing, Neighbors, Outside
from discreet.domain.unit import FOR_COUNTS, FOR_LABELS, FOR_NUMBERS, Rule
from discreet.errors import UsageError
from discreet.families.impute import check_impute, imputed_position, read_impute
from discreet.models.base import Model
from discreet.models.layout import Layout
from discreet.models.shapes import Interval, RecordShape
from discreet.names import shown_label
from discreet.rational import exact


@dataclass(frozen=True)
class Support:
    """Where one column of a record can lie: an interval, of integers if ``discrete``."""

    low: float
    high: float
    discrete: bool = False

    def contains(self, x: np.ndarray) -> np.ndarray:
        """Tell for each value whether it is a point of the support."""
        x = np.asarray(x, dtype=float)
        inside = np.isfinite(x) & (x >= self.low) & (x <= self.high)
        return inside & (x == np.floor(x)) if self.discrete else inside


class RecordSums(Model):
    """A model of one record whose release is a sum: every record adds a vector of its own.

    Subclasses are frozen dataclasses whose fields are the model's known constants; those fields, and :attr:`name`, are
    what a release file records.
    """

    summary: ClassVar[str] = "sums"
    #: Names of the draws.
    draw_names: ClassVar[tuple[str, ...]]  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
    #: True if :meth:`measure` only understands NumPy arrays; the private side then feeds it Arrow batches.
    measure_needs_arrays: ClassVar[bool] = False
    #: Whether bounds may be chosen from the rows, privately; if not, they must be declared.
    buys_bounds: ClassVar[bool] = True
    #: Whether values are summed as they are: no :meth:`measure` of its own.
    sums_values: ClassVar[bool] = True
    #: Whether a column holds numbers between bounds: it has no :attr:`vocabulary`.
    has_numbers: ClassVar[bool] = True  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
    #: The bounds of the column where they are part of the model, and need not be declared; ``dates`` if they are such.
    own_bounds: Any = None
    dates: bool = False
    #: Geometry of one record; one statistic in [-1, 1] unless a family says otherwise.
    geometry: ClassVar[RecordShape] = Interval()
    #: How many axes one value of a draw has, by name; draws that are single numbers are left out.
    draw_axes: ClassVar[Mapping[str, int]] = {}
    #: For families whose parameter is a vector of probabilities, how many; ``None`` for all others.
    n_probabilities: int | None = None
    #: For families of labels, the accepted spellings of each; ``None`` for numeric families.
    vocabulary: tuple[tuple[str, ...], ...] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.sums_values = cls.measure is RecordSums.measure
        cls.has_numbers = cls.vocabulary is None  # pyright: ignore[reportIncompatibleMethodOverride]

    # -- what one record adds to the sums (used by the private side) ----------------------------------

    def measure(self, x: Any) -> Any:
        """Return the scalar whose sum is the statistic, from a column clipped to its bounds.

        Written with arithmetic that arrays and narwhals expressions share, and :func:`absolute`. It must treat each
        value on its own: the noise covers what one record adds, and a mean or rank over the column would let it move
        what the others add. And it must not divide by a constant, but multiply by the reciprocal: engines divide by
        constants differently, some by that very multiplication, and the last bit of the sums would tell them apart.
        """
        return x

    def measure_range(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
        """Return exact bounds of :meth:`measure` over [low, high].

        This is the family's certificate of sensitivity. The private side clamps to it, so a wrong certificate
        costs accuracy, never privacy.
        """
        return low, high

    def affine_map(self, domain: Domain) -> tuple[tuple[Fraction, ...] | None, tuple[Fraction, ...] | None]:
        """Return (shift, half) per column: the map z = (measure(x) - shift) / half onto [-1, 1]."""
        if domain.bounds is None:
            return None, None
        ranges = [self.measure_range(low, high) for low, high in domain.bounds]
        shift = tuple((low + high) / 2 for low, high in ranges)
        half = tuple((high - low) / 2 for low, high in ranges)
        return shift, half

    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        return self.geometry.layout(neighbors, domain.missing, *self.affine_map(domain))

    def coordinate_ranges(self, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
        return self.geometry.coordinate_ranges(neighbors, domain.missing)

    # -- what tables to expect, for planning ----------------------------------------------------------

    def plausible(
        self, prior: Any, domain: Domain, size: int, rng: np.random.Generator
    ) -> list[Mapping[str, Any]]:
        """Return parameters of tables that may be met, spread evenly over how variable their records are."""
        raise UsageError(f"{self.name} does not say what tables to expect, so it cannot be planned.")

    def simulate(
        self, theta: Mapping[str, Any], domain: Domain, size: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw the records of such a table."""
        raise UsageError(f"{self.name} does not say what tables to expect, so it cannot be planned.")

    # -- what is assumed: nothing, unless a family says so ---------------------------------------------

    @property
    def assumption(self) -> str:
        return ""

    def weak_prior_in_words(self, domain: Domain) -> str:
        return ""

    # -- declarations ---------------------------------------------------------------------------------

    def read_columns(self, columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return columns

    @property
    def takes_groups(self) -> bool:
        return self.summary == "sums" and not self.measure_needs_arrays

    @property
    def takes_where(self) -> bool:
        return True

    @property
    def unit_rules(self) -> tuple[tuple[Rule, ...], ...]:
        numbers = FOR_COUNTS if self.support.discrete else FOR_NUMBERS
        return (FOR_LABELS if self.vocabulary is not None else numbers,) * self.n_columns

    def record_bounds(self, domain: Domain) -> tuple[tuple[Fraction, Fraction] | None, ...]:
        return domain.bounds or (None,) * self.n_columns

    def record_columns(self, columns: Sequence[str], domain: Domain) -> tuple[Column, ...]:
        if self.vocabulary is not None:
            return tuple(Labels(name, tuple(each[0] for each in self.vocabulary)) for name in columns)
        pairs = domain.bounds or ((Fraction(0), Fraction(1)),) * len(columns)
        return tuple(Numeric(name, *pair) for name, pair in zip(columns, pairs, strict=True))

    def read_domain(self, bounds: Any, outside: Outside, missing: Missing, impute: Any = None) -> Domain:
        stand_in = None if impute is None else read_impute(self, impute)
        pairs, dates = self._read_bounds(bounds)
        domain = Domain(pairs, self.labels, outside, missing, stand_in, dates)
        self.check_dates(domain)
        self._check_outside(outside)
        if stand_in is not None or missing == "impute":
            check_impute(self, domain)
        return domain

    def check_domain(self, domain: Domain, columns: Sequence[str]) -> None:
        self.check_bounds(domain.bounds)
        self.check_dates(domain)
        self._check_outside(domain.outside)
        if domain.labels != self.labels:
            raise ValueError("its labels are not its model's")
        if len(columns) != self.n_columns:
            raise ValueError("it has the wrong number of columns")
        check_impute(self, domain)

    def imputed_in_words(self, domain: Domain) -> list[str]:
        position = None if self.vocabulary is None else imputed_position(self, domain)
        if self.vocabulary is None or position is None:
            return super().imputed_in_words(domain)
        return [shown_label(self.vocabulary[position][0])]

    def decode_impute(self, values: Sequence[str]) -> tuple[Fraction | str, ...]:
        return tuple(values) if self.labels is not None else tuple(exact(one, "impute") for one in values)

    def stand_ins(self, domain: Domain) -> tuple[Fraction | str, ...]:
        if self.labels is not None:
            return (self.labels[0],)
        return (Fraction(0),) if domain.bounds is None else tuple(low for low, _ in domain.bounds)

    def axis_labels(self, columns: Sequence[str]) -> dict[str, Any]:
        if self.labels is not None:
            return {"p": self.labels}
        return dict.fromkeys(self.draw_names, tuple(columns)) if self.n_columns > 1 else {}

    def check_dates(self, domain: Domain) -> None:
        """Raise if the column is declared to hold dates and this model cannot read any."""
        if not domain.dates:
            return
        everywhere = self.support.low == -np.inf and self.support.high == np.inf
        if not (everywhere and self.sums_values and self.n_columns == 1 and self.vocabulary is None):
            raise UsageError(
                f"{self.name} does not read dates.",
                hint="dc.Mean() and dc.Histogram() take bounds that are dates",
            )
        if domain.bounds is None or any(day.denominator != 1 for pair in domain.bounds for day in pair):
            raise UsageError("bounds that are dates must be whole days.")
        if domain.impute is not None:
            raise UsageError("dates are for noisy totals: samples take numbers.")

    def parse_bounds(self, bounds: Any) -> Bounds | None:
        """Read the curator's bounds as exact numbers and check them.

        One column takes ``(low, high)``; several take one pair each, ``[(low, high), ...]``.
        """
        return self._read_bounds(bounds)[0]

    def _read_bounds(self, bounds: Any) -> tuple[Bounds | None, bool]:
        """Read bounds, and tell whether they are dates."""
        given = self.own_bounds if bounds is None else bounds
        pairs, dates = (None, False) if given is None else read_dated(given)
        self.check_bounds(pairs)
        return pairs, dates or self.dates

    def check_bounds(self, bounds: Bounds | None) -> None:
        """Raise unless these bounds fit the family: one pair per column, inside the support, none for labels."""
        example = "bounds=(0, 100)" if self.n_columns == 1 else f"bounds={[(0, 100)] * self.n_columns}"
        if self.vocabulary is not None:
            if bounds is not None:
                raise UsageError(f"{self.name} counts labels and takes no bounds.")
        elif bounds is None:
            raise UsageError(
                f"{self.name} needs bounds, chosen without looking at the data.",
                hint=f"for example {example}",
            )
        elif len(bounds) != self.n_columns:
            raise UsageError(
                f"{self.name} takes {self.n_columns} pair(s) of bounds, got {len(bounds)}.",
                hint=f"for example {example}",
            )
        else:
            for pair in bounds:
                self.check_pair(pair)

    def check_pair(self, pair: tuple[Fraction, Fraction], name: str = "bounds") -> None:
        """Raise unless low < high, and both are points of the support."""
        check_pair(pair, name)
        (low, high), support = pair, self.support
        if low < support.low or high > support.high:
            raise UsageError(
                f"{self.name} lies in [{support.low:g}, {support.high:g}], got {shown_pair(pair, name)}."
            )
        if support.discrete and not (low.denominator == high.denominator == 1):
            raise UsageError(
                f"{self.name} counts, so its bounds must be integers, got {shown_pair(pair, name)}."
            )

    def _check_outside(self, outside: Outside) -> None:
        if self.only_outside is not None and outside != self.only_outside:
            raise UsageError(
                f"{self.name} describes the column as clipped to its bounds: outside={outside!r} is not for it.",
                hint=f"leave out outside, or say outside={self.only_outside!r}",
            )

    # -- the prior, which a model without a likelihood does not take ----------------------------------

    def read_prior(self, prior: Any, domain: Domain) -> Any:
        if prior is not None:
            self.check_prior(prior)
        return None

    def check_prior(self, prior: Any) -> None:
        raise UsageError(
            f"{self.name} needs no prior: it assumes nothing but the bounds.", hint="leave out prior"
        )

    @property
    def support(self) -> Support:
        """Where a column of a record can lie; anywhere, unless a model says otherwise."""
        return Support(-np.inf, np.inf)

    # -- identity -------------------------------------------------------------------------------------

    def describe(self) -> str:
        constants = ", ".join(
            f"{name} = {value}" for name, value in self.constants().items() if name != "labels"
        )
        return f"{self.name} ({constants})" if constants else self.name

    def constants(self) -> dict[str, Any]:
        """Return the known constants that rebuild this family: ``type(self)(**self.constants())``."""
        if not is_dataclass(self):
            return {}
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) is not None
        }

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        for value in constants.values():
            number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
            if not number and not are_texts(value):
                raise UsageError("a parameter of the model is neither a number nor a list of labels.")
        try:
            signature(cls).bind(**constants)
        except TypeError:
            raise UsageError(f"{cls.name} has other constants than these.") from None
        return cls(**constants)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        """Build the family from constants written as text, as in ``normal:variance=4``."""
        return cls(**{name: known(value, name) for name, value in options.items()})


def absolute(x: Any) -> Any:
    """Return ``|x|`` of an array or of a narwhals expression, which has the method but not the protocol."""
    return x.abs() if hasattr(x, "abs") else np.abs(x)


def known(value: Any, name: str, *, positive: bool = False) -> float:
    """Return a family's known constant as a float, or say what is wrong with it."""
    number = float(exact(value, name))
    if positive and not number > 0:
        raise UsageError(f"{name} must be positive, got {name}={value}.")
    return number

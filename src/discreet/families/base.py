"""The protocol of a family: a likelihood in exponential form, seen from both sides of the wall.

The private side needs only :meth:`Family.measure`, :meth:`Family.measure_range` and :attr:`Family.geometry`: what one
record adds to the sums. The public side needs the rest: density, moments, conjugacy. Parameters travel as a mapping
from draw name to array, so that a thousand draws are as easy as one; statistics and natural parameters have their
components on the last axis.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from inspect import signature
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np

from discreet.domain.bounds import Bounds, check_pair, read_pairs
from discreet.domain.declarations import Domain, Missing, Neighbors, Outside
from discreet.errors import UsageError
from discreet.families.derivatives import gradient, hessian
from discreet.families.impute import check_impute, read_impute
from discreet.models.base import Model
from discreet.models.layout import Layout
from discreet.models.shapes import Interval, RecordShape
from discreet.objects import as_array
from discreet.priors import parse
from discreet.priors.base import Prior
from discreet.rational import exact

Theta = Mapping[str, np.ndarray]


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


class Family(Model):
    r"""A likelihood p(x | theta) = h(x) exp(eta . t(x) - A(eta)) with its conjugate prior.

    Subclasses are frozen dataclasses whose fields are the family's known constants; those fields, and
    :attr:`name`, are what a release file records. Abstract are only the parts that nobody can guess; what has a
    default here is overridden for speed or accuracy.
    """

    summary: ClassVar[str] = "sums"
    engines: ClassVar[str] = "family"
    #: Type of the conjugate prior.
    prior_type: ClassVar[type[Prior]]
    #: Names of the draws.
    draw_names: ClassVar[tuple[str, ...]]  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
    #: Whether the records have a likelihood; a query about them has none, and only released samples can be read.
    is_likelihood: ClassVar[bool] = True
    #: True if :meth:`measure` only understands NumPy arrays; the private side then feeds it Arrow batches.
    measure_needs_arrays: ClassVar[bool] = False
    #: Where each component of the statistic can lie; :meth:`project` clips to it.
    statistic_range: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.draw is not Family.draw:
            # engines name values that they found themselves, and would pass such a method by
            raise UsageError(
                f"{cls.__name__} defines draw.", hint="define named, which says what values of the prior mean"
            )

    # -- what one record adds to the sums (used by the private side) ----------------------------------

    @property
    def geometry(self) -> RecordShape:
        """Geometry of one record; one statistic in [-1, 1] unless a family says otherwise."""
        return Interval()

    @property
    def n_columns(self) -> int:
        """How many columns make one record."""
        return 1

    @property
    def draw_axes(self) -> dict[str, int]:
        """How many axes one value of a draw has, by name; draws that are single numbers are left out."""
        return {}

    @property
    def n_probabilities(self) -> int | None:
        """For families whose parameter is a vector of probabilities, how many; ``None`` for all others."""
        return None

    @property
    def vocabulary(self) -> tuple[tuple[str, ...], ...] | None:
        """For families of labels, the accepted spellings of each; ``None`` for numeric families."""
        return None

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

    @property
    def sums_values(self) -> bool:
        """Whether values are summed as they are: no :meth:`measure` of its own."""
        return type(self).measure is Family.measure

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

    # -- declarations ---------------------------------------------------------------------------------

    @property
    def has_numbers(self) -> bool:
        return self.vocabulary is None

    def read_columns(self, columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return columns

    def read_domain(self, bounds: Any, outside: Outside, missing: Missing, impute: Any = None) -> Domain:
        stand_in = None if impute is None else read_impute(self, impute)
        domain = Domain(self.parse_bounds(bounds), self.labels, outside, missing, stand_in)
        if stand_in is not None or missing == "impute":
            check_impute(self, domain)
        return domain

    def check_domain(self, domain: Domain, columns: Sequence[str]) -> None:
        self.check_bounds(domain.bounds)
        if domain.labels != self.labels:
            raise ValueError("its labels are not its model's")
        if len(columns) != self.n_columns:
            raise ValueError("it has the wrong number of columns")
        check_impute(self, domain)

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

    def parse_bounds(self, bounds: Any) -> Bounds | None:
        """Read the curator's bounds as exact numbers and check them.

        One column takes ``(low, high)``; several take one pair each, ``[(low, high), ...]``.
        """
        pairs = None if bounds is None else read_pairs(bounds)
        self.check_bounds(pairs)
        return pairs

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
                check_pair(
                    pair, self.name, self.support.low, self.support.high, discrete=self.support.discrete
                )

    # -- the likelihood -------------------------------------------------------------------------------

    @property
    @abstractmethod
    def support(self) -> Support:
        """Where a column of a record can lie."""

    def sufficient(self, x: np.ndarray) -> np.ndarray:
        """Return t(x) of each record, components last."""
        x = np.asarray(x, dtype=float)
        columns = [x] if self.n_columns == 1 else [x[..., i] for i in range(self.n_columns)]
        return np.stack(self.geometry.features([self.measure(column) for column in columns]), axis=-1)

    @abstractmethod
    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        """Return log h(x) of each record, ``-inf`` outside the support."""

    @abstractmethod
    def natural(self, theta: Theta) -> np.ndarray:
        """Return eta(theta), components last."""

    @abstractmethod
    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        """Return theta(eta)."""

    @abstractmethod
    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        """Return A(eta)."""

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        """Return E[t(x) | theta], the gradient of A; by finite differences unless a family knows better."""
        return gradient(self.log_partition, self.natural(theta))[0]

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        """Return Cov[t(x) | theta], the Hessian of A, with components on the last two axes; likewise."""
        return hessian(self.log_partition, self.natural(theta))[0]

    @property
    def can_sample(self) -> bool:
        """Whether records can be drawn: there is a :meth:`sample`."""
        return type(self).sample is not Family.sample

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where the density of one column has a kink, which a rule for smooth functions must not cross."""
        return ()

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw ``size`` records given one parameter value; columns last if there are several."""
        raise UsageError(f"{self.name} does not say how to draw records.", hint="define its method sample")

    def log_density(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        """Return log p(x | theta) of each record, for one parameter value."""
        eta, t = np.asarray(self.natural(theta)), self.sufficient(x)
        # an impossible label has eta = -inf; records without it (t = 0) are not affected
        terms = np.multiply(t, eta, out=np.zeros_like(t), where=t != 0)
        return self.log_base_measure(x) + terms.sum(axis=-1) - self.log_partition(eta)

    # -- conjugacy ------------------------------------------------------------------------------------

    def parse_prior(self, text: str) -> Prior:
        return parse(text)

    @abstractmethod
    def update(self, prior: Any, s: np.ndarray, n: np.ndarray | float) -> Prior:
        """Return the conjugate posterior after sums ``s`` of the statistic over ``n`` records."""

    def learn(self, prior: Any, records: Any) -> Prior:
        """Return the conjugate posterior after records that need no protection, to use as a prior for those that do.

        They need the same care as any declaration: public records are ones that anybody may see.
        """
        self.check_prior(prior)
        x = as_array(records, labels=self.labels is not None)
        if x is None:
            raise UsageError("the records cannot be read: give a list or an array of numbers, or of labels.")
        if x.size == 0 or x.ndim != (1 if self.n_columns == 1 else 2):
            raise UsageError(
                f"records must be a list with {self.n_columns} value(s) each, got shape {x.shape}."
            )
        try:
            inside = self.sufficient(x).any(axis=-1) if self.labels is not None else self.support.contains(x)
        except Exception:  # of a user's family; the message repeats no record
            raise UsageError(f"records must be a list with {self.n_columns} value(s) each.") from None
        if not inside.all():
            raise UsageError(f"some of the records are outside the support of {self.name}.")
        return self.update(prior, self.sufficient(x).sum(axis=0), float(len(x)))

    def draw(self, prior: Any, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw parameters from a prior (or conjugate posterior), by draw name."""
        return self.named(prior.sample(size, rng))

    def named(self, values: Any) -> dict[str, np.ndarray]:
        """Return the parameters, by draw name, at values of the prior's variable: the same ones, unless overridden."""
        return dict(zip(self.draw_names, values if isinstance(values, tuple) else (values,), strict=True))

    @property
    def prior_on_parameter(self) -> bool:
        """Whether the prior is a distribution of the parameters as they are drawn: no :meth:`named` of its own."""
        return type(self).named is Family.named

    def project(self, s: np.ndarray, n: float) -> np.ndarray:
        """Move noisy sums to the nearest ones that ``n`` records could have produced (Foulds 2016, eq. 16).

        Without records (``n`` not positive) the sums are zero.
        """
        s = np.asarray(s, dtype=float)
        if not n > 0:
            return np.zeros_like(s)
        low, high = self.statistic_range
        return np.clip(s, n * low, n * high)

    def read_prior(self, prior: Any, domain: Domain) -> Prior:
        """Return the analyst's prior, given as an object or as text, or the family's neutral one."""
        if prior is None:
            prior = self.default_prior
            if prior is None:
                weak = self.suggested_prior(domain)
                shown = f"dc.priors.{self.prior_type.__name__}(...)" if weak is None else f"'{weak}'"
                raise UsageError(
                    f"{self.name} has no neutral prior: give one.",
                    hint=f"a weak one on the scale of this release is prior={shown}",
                )
        prior = parse(prior) if isinstance(prior, str) else prior
        self.check_prior(prior)
        return prior

    def check_prior(self, prior: Any) -> None:
        """Raise unless ``prior`` is this family's conjugate prior, of the right dimension."""
        if not isinstance(prior, self.prior_type):
            raise UsageError(
                f"{self.name} takes a {self.prior_type.__name__} prior, got {type(prior).__name__}.",
                hint=f"use dc.priors.{self.prior_type.__name__}(...)",
            )

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
            labels = isinstance(value, list) and all(isinstance(label, str) for label in value)
            number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
            if not labels and not number:
                raise ValueError("a parameter of the model is neither a number nor a list of labels")
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

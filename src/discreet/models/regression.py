"""Regressions: a target, features, and how much of the target goes with each.

Noise on sums of products is the default way to release them; :class:`~discreet.mechanisms.noisy_sgd.NoisySGD` and
:class:`~discreet.mechanisms.langevin.Langevin` fit their weights by gradients instead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from discreet.arguments import fill, flag
from discreet.domain.columns import Column, Labels, Numeric, decode_columns, encode_columns
from discreet.domain.declarations import Domain, Neighbors, Outside
from discreet.errors import UsageError
from discreet.models.base import AxisLabels, Draws
from discreet.models.design import ONE, Design, Term
from discreet.models.formula import read_formula
from discreet.models.layout import Layout
from discreet.models.loss_model import LinearForm, LossModel, read_size
from discreet.models.losses import LinearLoss, LossConstants
from discreet.models.product_layout import coordinate_ranges, product_layout, suited_width
from discreet.models.product_norm import l1_reach
from discreet.models.public_rows import code_rows, warn_moved
from discreet.models.regression_columns import read_regression
from discreet.rational import Number, float_down, text

#: Terms up to which a noisy release is read without being asked to take long, and up to which it is read at all.
READ_SOON, READ_AT_ALL = 33, 75


@dataclass(frozen=True)
class Regression(LossModel):
    """What all regressions share; see ``LinearRegression``, ``LogisticRegression`` and ``PoissonRegression``.

    A number is mapped from its bounds to z of [-1, 1]; of K labels all but the first have a term of their own that is 1
    for them and 0 otherwise; ``terms`` adds products and squares. Noise is added to the sums of all products of two
    terms, each once (:mod:`~discreet.models.product_layout`). Gradients see (1, z_1, ..., z_D) / sqrt(1 + D), with D
    columns and products of columns, whose length is at most 1 whatever the record.
    """

    summary: ClassVar[str] = "products"
    group_summary: ClassVar[str] = "group_products"
    by_norm = True
    main_draws: ClassVar[str] = "coefficients"
    only_outside: ClassVar[Outside | None] = "clip"
    loss: ClassVar[type[LinearLoss]]
    target: Column
    features: tuple[Column, ...]
    ridge: Fraction
    radius: Fraction
    terms: tuple[str, ...] = ()
    square_width: Fraction | None = None
    signs: bool = False

    def __init__(
        self,
        target: Mapping[str, Any] | Column | str,
        features: Mapping[str, Any] | Sequence[Column | str],
        *,
        bounds: Mapping[str, Any] | None = None,
        terms: Sequence[str] = (),
        ridge: Number = Fraction(1, 1000),
        radius: Number = 5,
        square_width: Number | None = None,
        signs: bool = False,
    ) -> None:
        aim, declared, written = read_regression(self.name, target, features, bounds, terms)
        fill(
            self,
            target=self._check_target(aim),
            features=declared,
            ridge=read_size(ridge, "ridge", zero=True),
            radius=read_size(radius, "radius"),
            terms=written,
            square_width=None if square_width is None else _width(square_width),
            signs=flag(signs, "signs"),
        )
        # products and squares are read, or refused, now
        _ = self.design

    @classmethod
    def from_formula(cls, formula: str, bounds: Mapping[str, Any], **more: Any) -> Self:
        """Return the regression that a formula says, such as ``"bp ~ age + C(smoker)"``.

        Parameters
        ----------
        formula
            Columns with ``+``, products with ``:`` or ``*``, squares as ``I(age ** 2)``. Needs formulaic. What columns
            hold is declared by ``bounds``, which ``C(...)`` must not contradict; a column in a product has a
            coefficient of its own too.
        bounds
            By column: ``(low, high)`` of a number, or the labels of a column of labels.
        more
            Further arguments of the regression.
        """
        target, features = read_formula(formula, bounds)
        return cls(target, features, bounds=bounds, **more)

    @classmethod
    @abstractmethod
    def _check_target(cls, target: Column) -> Column:
        """Return the target, or say which kind of column it must be."""

    @property
    def columns(self) -> tuple[Column, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The target and the features."""
        return (self.target, *self.features)

    @cached_property
    def design(self) -> Design:
        """The terms of the regression, the target last, and their products."""
        return Design.of(self.target, self.features, self.terms)

    @property
    def weight_names(self) -> tuple[str, ...]:
        return ("intercept", *self.design.names[:-1])

    @property
    def explained(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.target.name

    def title(self, columns: Sequence[str]) -> str:
        return f"{self.question} of {self.target.name} on {', '.join(one.name for one in self.features)}"

    @property
    def outcome(self) -> str:
        """What coefficients change, in words."""
        return self.target.name

    @property
    def numbers_per_draw(self) -> int:
        return self.dimension + 2

    def axis_labels(self, columns: Sequence[str] = ()) -> AxisLabels:
        return {**super().axis_labels(columns), "coefficients": (self.weight_names[1:],)}

    # -- sums of products, for noise -------------------------------------------------------------------

    def suited(self, norm: Literal["l1", "l2"]) -> Self:
        if self.square_width is not None:
            return self
        two = any(isinstance(column, Labels) and column.n_labels == 2 for column in self.features)
        return replace(self, square_width=suited_width(self.design, norm), signs=self.signs or two)

    @cached_property
    def released_design(self) -> Design:
        """The design whose sums are released: with ``signs``, features of two labels are -1 and 1 in it."""
        if self.signs and self.summary == Regression.summary:
            return Design.of(self.target, self.features, self.terms, signs=True)
        return self.design

    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        return product_layout(self.released_design, self.square_width or Fraction(1), domain, neighbors)

    @property
    def released_products(self) -> Design | None:
        """The design whose plain sums of products are released; None if it is something else that is."""
        return self.released_design if self.summary == Regression.summary else None

    def l1_reach(self, neighbors: Neighbors) -> Fraction:
        """Return how far neighbors are apart in L1, in widths, at most: the usable count apart."""
        return l1_reach(self.released_design, float_down(self.square_width or Fraction(1)), neighbors)

    def coordinate_ranges(self, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
        return coordinate_ranges(self.released_design, domain, neighbors)

    @property
    def takes_groups(self) -> bool:
        return self.summary == Regression.summary

    def replaced_l2(self, domain: Domain) -> Fraction:
        # products are negative too, and what two records are apart by is known: less than twice what one adds
        return self.layout(replace(domain, missing="count"), "replace").l2_sensitivity

    def missing_in_words(self, neighbors: Neighbors) -> str:
        kept = ", and how many there were is itself protected" if neighbors == "replace" else ""
        return f"records with a missing or undeclared value were left out{kept}"

    @property
    def totals_in_words(self) -> str:
        if not self.numeric_columns:
            return ""
        two = any(term.signs for term in self.released_design.terms)
        labels = ", two labels are -1 and 1" if two else ""
        return f"A total is the sum over all usable records; numbers are mapped from their bounds to [-1, 1]{labels}."

    @property
    def released_draws_in_words(self) -> str:
        return (
            "weights are those of columns mapped from their bounds to [-1, 1], not in their units; predict takes "
            "rows in their units"
        )

    @property
    def slow_in_words(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        terms = len(self.design.terms) - 1
        if terms <= READ_SOON:
            return ""
        how = "only with engine='gibbs', in minutes" if terms <= READ_AT_ALL else "only if noise is small"
        return (
            f"infer reads a regression of {terms} terms {how}, and of up to {READ_SOON} in seconds: join rare labels, "
            "or leave out columns"
        )

    @property
    def log_likelihood_scale(self) -> float:
        """How many times the loss, but for the ridge, a record's negative log-likelihood is."""
        return 1.0

    @property
    def loss_constants(self) -> LossConstants:
        return self.loss.constants(float(self.radius), float(self.ridge))

    def constants(self) -> dict[str, Any]:
        return {
            "target": encode_columns([self.target])[0],
            "features": encode_columns(self.features),
            **{name: text(getattr(self, name)) for name in self._gradients},
            **({"terms": list(self.terms)} if self.terms else {}),
            **({} if self.square_width is None else {"square_width": text(self.square_width)}),
            **({"signs": True} if self.signs else {}),
        }

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        terms = constants.get("terms", [])
        known = {"target", "features", *cls._gradients}
        more = [name for name in cls._optional if name in constants]
        if set(constants) - {"terms", "signs"} != {*known, *more} or constants.get("signs", True) is not True:
            raise ValueError(f"a regression has {', '.join(sorted(known))}")
        if "terms" in constants and not (
            terms and isinstance(terms, list) and all(isinstance(t, str) for t in terms)
        ):
            raise ValueError("the terms of a regression are a list of texts")
        signs = {"signs": True} if "signs" in constants else {}
        return cls(*cls._declared(constants), terms=terms, **signs, **cls._numbers(constants, *more))

    #: Numbers that gradients need, and a file has.
    _gradients: ClassVar[tuple[str, ...]] = ("ridge", "radius")
    #: Numbers that a file may leave out.
    _optional: ClassVar[tuple[str, ...]] = ("square_width",)

    @staticmethod
    def _declared(constants: Mapping[str, Any]) -> tuple[Column, tuple[Column, ...]]:
        (target,) = decode_columns([constants["target"]])
        return target, decode_columns(constants["features"])

    @classmethod
    def _numbers(cls, constants: Mapping[str, Any], *names: str) -> dict[str, Any]:
        wanted = (*cls._gradients, *names)
        if any(not isinstance(constants[name], str) for name in wanted):
            raise ValueError("a number of the regression is not written as text")
        return {name: constants[name] for name in wanted}

    # -- records as vectors --------------------------------------------------------------------------------

    def encode(self, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the feature vectors of records, given as positions of labels and numbers inside their bounds.

        The columns of both arrays are those of :attr:`label_columns` and :attr:`numeric_columns`, target included.
        """
        coded, numbers = self._by_column(codes, values)
        mapped = {c.name: _mapped(c, numbers[c.name]) for c in self.numeric_columns if c != self.target}
        terms = [self.design.evaluate(term, coded, mapped) for term in self.design.terms[:-1]]
        # of the indicators of one column, or of one product of columns, at most one is 1
        return np.stack([np.ones(len(codes)), *terms], axis=1) / np.sqrt(
            1.0 + len(self.features) + len(self.terms)
        )

    def aims(self, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the targets of records: -1 and +1 for labels, of [-1, 1] for numbers."""
        coded, numbers = self._by_column(codes, values)
        if isinstance(self.target, Labels):
            return 2.0 * coded[self.target.name] - 1.0
        return _mapped(self.target, numbers[self.target.name])

    def linear_form(self, codes: np.ndarray, values: np.ndarray) -> LinearForm:
        return LinearForm(self.loss, self.encode(codes, values), self.aims(codes, values), float(self.ridge))

    @property
    def gradient_clip(self) -> Fraction:
        """The length to which gradients of the log-likelihood are clipped, if nobody says otherwise."""
        return Fraction(1)

    def _by_column(
        self, codes: np.ndarray, values: np.ndarray
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        coded = {column.name: codes[:, i] for i, column in enumerate(self.label_columns)}
        return coded, {column.name: values[:, i] for i, column in enumerate(self.numeric_columns)}

    def unit_matrix(self) -> np.ndarray:
        """Return how coefficients of the columns as they are follow from those of mapped terms; the intercept first.

        Its rows are the intercept and the terms of the columns, its columns the mapped terms that are released.
        """
        terms = self.design.terms[:-1]
        moved = np.zeros((len(terms) + 1, len(terms)))
        places = {ONE: 0, **{term: at for at, term in enumerate(terms, start=1)}}
        for at, term in enumerate(self.released_design.terms[:-1]):
            for part, weight in self._expanded(term).items():
                moved[places[part], at] += weight
        return moved

    def _expanded(self, term: Term) -> dict[Term, float]:
        """Return a product of mapped numbers and signs as a sum of products of the numbers and indicators.

        A mapped number is z = (x - shift) / half, a sign 2 b - 1 with b the indicator of the second label.
        """
        factors = [(Term(labels=((name, 1),)), 0.5, 0.5) for name in term.signs]
        for name, power in term.powers:
            factors += [(Term(powers=((name, 1),)), *scale_of(self.design.by_name[name]))] * power
        found = {Term(labels=term.labels): 1.0}
        for factor, shift, half in factors:
            longer: dict[Term, float] = {}
            for part, weight in found.items():
                with_x = part.times(factor)
                assert with_x is not None
                longer[with_x] = longer.get(with_x, 0.0) + weight / half
                longer[part] = longer.get(part, 0.0) - weight * shift / half
            found = longer
        return found

    # -- predictions, for rows that need no protection -----------------------------------------------------

    def predictors(self, draws: Draws, rows: Any) -> np.ndarray:
        """Return intercept + coefficients . terms of rows, draws × rows, of the columns as they are."""
        codes, values = self._complete_rows(rows)
        return np.asarray(draws["intercept"])[:, None] + np.asarray(draws["coefficients"]) @ self.terms_of(
            codes, values
        )

    def terms_of(self, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the terms of the columns as they are, terms × records; numbers must lie within their bounds."""
        coded, numbers = self._by_column(codes, values)
        return np.stack([self.design.evaluate(term, coded, numbers) for term in self.design.terms[:-1]])

    def margins(self, weights: Any, rows: Any) -> np.ndarray:
        """Return the margins of rows, one row of the result for each draw of the weights.

        ``rows`` are records that need no protection: a dictionary of columns or a table, with or without the target.
        Nothing may be missing, and numbers are clipped to their bounds. ``weights`` is one vector, or several.
        """
        draws = np.asarray(weights, dtype=float)
        if draws.shape[-1:] != (self.dimension,):
            raise UsageError(
                f"{self.name} has {self.dimension} weights, got an array of shape {draws.shape}."
            )
        return draws @ self.encode(*self._complete_rows(rows)).T

    def _complete_rows(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes and numbers of rows to be predicted, moved into their bounds; raise if any is missing.

        How many rows were moved is said in one line.
        """
        codes, values = code_rows(self, rows, absent=(self.target.name,))
        self._check_complete(codes, values, self.features)
        kept = self._clipped(values)
        asked = [column != self.target for column in self.numeric_columns]
        warn_moved((values != kept)[:, asked].any(axis=1))
        return codes, kept

    def row_log_density(self, draws: Draws, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the log of each row's probability of its target given its features, draws × rows."""
        self._check_complete(codes, values, self.columns)
        kept = self._clipped(values)
        margins = draws["weights"] @ self.encode(codes, kept).T
        return self._log_likelihood(margins, self.aims(codes, kept))

    @abstractmethod
    def _log_likelihood(self, margins: np.ndarray, aims: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of targets with these margins."""

    def _clipped(self, values: np.ndarray) -> np.ndarray:
        low, high = ([float(getattr(c, end)) for c in self.numeric_columns] for end in ("low", "high"))
        return np.clip(values, low, high)

    def _check_complete(self, codes: np.ndarray, values: np.ndarray, wanted: Sequence[Column]) -> None:
        coded, numbers = self._by_column(codes, values)
        for column in wanted:
            if isinstance(column, Labels):
                lost = coded[column.name] >= column.n_labels
            else:
                lost = np.isnan(numbers[column.name])
            if np.any(lost):
                where = np.flatnonzero(lost)
                raise UsageError(
                    f"column {column.name!r:.60} of the rows has missing or undeclared values, in row {where[0]}"
                    + (f" and {len(where) - 1:,} more." if len(where) > 1 else "."),
                    hint=f"its labels are {', '.join(column.labels):.120}"
                    if isinstance(column, Labels)
                    else None,
                )


def bounds_of(column: Column) -> tuple[Fraction, Fraction]:
    """Return the bounds of a column of numbers."""
    assert isinstance(column, Numeric)
    return column.low, column.high


def scale_of(column: Column) -> tuple[float, float]:
    """Return the middle of the bounds of a column of numbers, and half their width."""
    low, high = map(float, bounds_of(column))
    return (low + high) / 2, (high - low) / 2


def _mapped(column: Column, values: np.ndarray) -> np.ndarray:
    """Map numbers from their bounds to [-1, 1]."""
    shift, half = scale_of(column)
    # rounding must not leave the interval
    return np.clip((values - shift) / half, -1.0, 1.0)


def _width(value: Number) -> Fraction:
    width = read_size(value, "square_width")
    # the proof of the sensitivity needs one over its square to be at least 1/2
    if not Fraction(1, 1000) <= width <= Fraction(7, 5):
        raise UsageError(f"square_width must be from 0.001 to 1.4, got square_width={value!s:.40}.")
    return width

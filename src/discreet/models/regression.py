"""Regressions: a target, features, and weights that are fitted by gradients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit

from discreet.domain.columns import Column, Labels, Numeric, decode_columns, encode_columns, read_columns
from discreet.errors import UsageError
from discreet.models.loss_model import LinearForm, LossModel, read_size
from discreet.models.losses import LinearLoss, LogisticLoss, LossConstants, SquaredLoss
from discreet.models.public_rows import code_rows
from discreet.rational import Number, text

_EXAMPLE = 'dc.models.LogisticRegression({"smoker": ["no", "yes"]}, {"age": (18, 100), "sex": ["f", "m"]})'

_LEAST_SD = Fraction(1, 10**9)


@dataclass(frozen=True)
class Regression(LossModel):
    """What both regressions share; see :class:`LogisticRegression` and :class:`LinearRegression`.

    The feature vector of a record is (1, z_1, ..., z_D) / sqrt(1 + D): a number is mapped from its bounds to z of
    [-1, 1], and of K labels all but the first have a place of their own that is 1 for them and 0 otherwise. So its
    length is at most 1, whatever the record.
    """

    loss: ClassVar[type[LinearLoss]]
    target: Column
    features: tuple[Column, ...]
    ridge: Fraction
    radius: Fraction

    def __init__(
        self,
        target: Mapping[str, Any] | Column,
        features: Mapping[str, Any] | Sequence[Column],
        *,
        ridge: Number = Fraction(1, 1000),
        radius: Number = 5,
    ) -> None:
        aim = read_columns(target if isinstance(target, Mapping) else [target])
        if len(aim) != 1:
            raise UsageError(f"{self.name} has one target, got {len(aim)}.", hint=f"for example {_EXAMPLE}")
        declared = read_columns(features)
        # a column that is both is caught by its name
        read_columns((*aim, *declared))
        for name, value in {
            "target": self._check_target(aim[0]),
            "features": declared,
            "ridge": read_size(ridge, "ridge", zero=True),
            "radius": read_size(radius, "radius"),
        }.items():
            object.__setattr__(self, name, value)

    @classmethod
    @abstractmethod
    def _check_target(cls, target: Column) -> Column:
        """Return the target, or say which kind of column it must be."""

    @property
    def columns(self) -> tuple[Column, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The target and the features."""
        return (self.target, *self.features)

    @property
    def weight_names(self) -> tuple[str, ...]:
        names = ["intercept"]
        for column in self.features:
            if isinstance(column, Labels):
                names += [f"{column.name}={label}" for label in column.labels[1:]]
            else:
                names.append(column.name)
        return tuple(names)

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
            "ridge": text(self.ridge),
            "radius": text(self.radius),
        }

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if set(constants) != {"target", "features", "ridge", "radius"}:
            raise ValueError("a regression has a target, features, a ridge and a radius")
        return cls(*cls._declared(constants), **cls._numbers(constants))

    @staticmethod
    def _declared(constants: Mapping[str, Any]) -> tuple[Column, tuple[Column, ...]]:
        (target,) = decode_columns([constants["target"]])
        return target, decode_columns(constants["features"])

    @staticmethod
    def _numbers(constants: Mapping[str, Any], *names: str) -> dict[str, Any]:
        wanted = ("ridge", "radius", *names)
        if any(not isinstance(constants[name], str) for name in wanted):
            raise ValueError("a number of the regression is not written as text")
        return {name: constants[name] for name in wanted}

    # -- records as vectors --------------------------------------------------------------------------------

    def encode(self, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the feature vectors of records, given as positions of labels and numbers inside their bounds.

        The columns of both arrays are those of :attr:`label_columns` and :attr:`numeric_columns`, target included.
        """
        coded, numbers = self._by_column(codes, values)
        parts = [np.ones((len(codes), 1))]
        for column in self.features:
            if isinstance(column, Labels):
                parts.append(coded[column.name][:, None] == np.arange(1, column.n_labels))
            else:
                parts.append(_mapped(column, numbers[column.name])[:, None])
        return np.concatenate(parts, axis=1, dtype=float) / np.sqrt(1.0 + len(self.features))

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

    # -- predictions, for rows that need no protection -----------------------------------------------------

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
        codes, values = code_rows(self, rows, absent=(self.target.name,))
        self._check_complete(codes, values, self.features)
        return draws @ self.encode(codes, self._clipped(values)).T

    def row_log_density(
        self, draws: Mapping[str, np.ndarray], codes: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
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
                raise UsageError(f"column {column.name!r:.60} of the rows has missing or undeclared values.")


class LogisticRegression(Regression):
    """A target of two labels, whose second one has log-odds weights . features.

    Parameters
    ----------
    target
        One column of two labels, such as ``{"smoker": ["no", "yes"]}``.
    features
        Columns of numbers with public bounds, or of labels: ``{"age": (18, 100), "sex": ["f", "m"]}``.
    ridge
        Each record's loss is log(1 + e^(-y weights . features)), plus half of ridge times the squared length of the
        weights.
    radius
        The weights lie in the ball of this radius, decided without looking at the data.
    """

    name: ClassVar[str] = "logistic_regression"
    loss = LogisticLoss

    @classmethod
    def _check_target(cls, target: Column) -> Column:
        if not isinstance(target, Labels) or target.n_labels != 2:
            raise UsageError(
                f"the target {target.name!r:.60} of a logistic regression has two labels.",
                hint=f"for example {_EXAMPLE}",
            )
        return target

    def _log_likelihood(self, margins: np.ndarray, aims: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0, -aims * margins)

    def class_probability(self, weights: Any, rows: Any) -> np.ndarray:
        """Return the probability of the target's second label for each row; see :meth:`margins`."""
        return expit(self.margins(weights, rows))

    def predict_at(self, weights: Any, rows: Any) -> np.ndarray:
        """Return the likelier label for each row; see :meth:`margins`."""
        return self._labels[(self.margins(weights, rows) > 0).astype(int)]

    def predict_proba(self, draws: Mapping[str, np.ndarray], rows: Any) -> np.ndarray:
        second = self.class_probability(draws["weights"], rows).mean(axis=0)
        return np.stack([1 - second, second], axis=1)

    def predict(self, draws: Mapping[str, np.ndarray], rows: Any) -> np.ndarray:
        return self._labels[self.predict_proba(draws, rows).argmax(axis=1)]

    @property
    def _labels(self) -> np.ndarray:
        return np.array(self.label_columns[0].labels)


@dataclass(frozen=True, init=False)
class LinearRegression(Regression):
    """A number as target, whose mean is weights . features on the scale where its bounds are -1 and 1.

    Parameters
    ----------
    target
        One column of numbers with public bounds, such as ``{"pressure": (60, 200)}``.
    features
        Columns of numbers with public bounds, or of labels.
    ridge
        Each record's loss is (y - weights . features)^2 / 2 with y of [-1, 1], plus half of ridge times the squared
        length of the weights.
    radius
        The weights lie in the ball of this radius, decided without looking at the data. The loss has steep gradients
        only because of it: the wider the ball, the more noise.
    residual_sd
        Standard deviation of the target around its mean, in the target's own units. Only
        :class:`~discreet.mechanisms.langevin.Langevin` needs it, for the likelihood.
    """

    name: ClassVar[str] = "linear_regression"
    loss = SquaredLoss
    residual_sd: Fraction | None = None

    def __init__(
        self,
        target: Mapping[str, Any] | Column,
        features: Mapping[str, Any] | Sequence[Column],
        *,
        ridge: Number = Fraction(1, 1000),
        radius: Number = 2,
        residual_sd: Number | None = None,
    ) -> None:
        super().__init__(target, features, ridge=ridge, radius=radius)
        sd = None if residual_sd is None else read_size(residual_sd, "residual_sd")
        low, high = _bounds(self.target)
        if sd is not None and sd < _LEAST_SD * (high - low):
            # one over its square must stay far inside float64, whatever a record's residual
            raise UsageError(f"residual_sd must be at least {float(_LEAST_SD):g} of the target's range.")
        object.__setattr__(self, "residual_sd", sd)

    @classmethod
    def _check_target(cls, target: Column) -> Column:
        if not isinstance(target, Numeric):
            raise UsageError(
                f"the target {target.name!r:.60} of a linear regression is a number with bounds.",
                hint='for example {"pressure": (60, 200)}',
            )
        return target

    def constants(self) -> dict[str, Any]:
        known = {} if self.residual_sd is None else {"residual_sd": text(self.residual_sd)}
        return {**super().constants(), **known}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        extra = [name for name in ("residual_sd",) if name in constants]
        if set(constants) != {"target", "features", "ridge", "radius", *extra}:
            raise ValueError("a linear regression has a target, features, a ridge and a radius")
        return cls(*cls._declared(constants), **cls._numbers(constants, *extra))

    @property
    def log_likelihood_scale(self) -> float:
        return self.mapped_sd**-2

    def _log_likelihood(self, margins: np.ndarray, aims: np.ndarray) -> np.ndarray:
        # a density in the target's own units
        z, sd = (aims - margins) / self.mapped_sd, float(self.residual_sd or 1)
        return -0.5 * z**2 - np.log(sd * np.sqrt(2 * np.pi))

    @property
    def gradient_clip(self) -> Fraction:
        return Fraction(2 / self.mapped_sd)

    @property
    def mapped_sd(self) -> float:
        """Standard deviation around the mean, on the scale where the target's bounds are -1 and 1."""
        if self.residual_sd is None:
            raise UsageError(
                "a linear regression has a likelihood only if residual_sd is given.",
                hint="the standard deviation of the target around its mean, from public knowledge",
            )
        low, high = _bounds(self.target)
        return float(2 * self.residual_sd / (high - low))

    def predict(self, draws: Mapping[str, np.ndarray], rows: Any) -> np.ndarray:
        return self.predict_at(draws["weights"], rows).mean(axis=0)

    def predict_at(self, weights: Any, rows: Any) -> np.ndarray:
        """Return the mean of the target for each row, in its own units; see :meth:`margins`."""
        low, high = map(float, _bounds(self.target))
        return (low + high) / 2 + (high - low) / 2 * self.margins(weights, rows)


def _bounds(column: Column) -> tuple[Fraction, Fraction]:
    """Return the bounds of a column of numbers."""
    assert isinstance(column, Numeric)
    return column.low, column.high


def _mapped(column: Column, values: np.ndarray) -> np.ndarray:
    """Map numbers from their bounds to [-1, 1]."""
    low, high = map(float, _bounds(column))
    # rounding must not leave the interval
    return np.clip((values - (low + high) / 2) / ((high - low) / 2), -1.0, 1.0)

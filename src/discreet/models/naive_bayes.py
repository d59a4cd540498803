"""Naive Bayes: features that are independent given the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.arguments import fill
from discreet.domain.columns import (
    Column,
    Labels,
    Numeric,
    are_texts,
    decode_columns,
    encode_columns,
    only_labels,
    read_columns,
    read_split,
)
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.models.base import AxisLabels, Draws
from discreet.models.discrete import Conditional, DiscreteModel
from discreet.models.layout import UNIT
from discreet.models.moment_table import MomentTable
from discreet.models.public_rows import code_rows, distinct_rows
from discreet.models.tables import Table
from discreet.priors import NormalInverseGamma, parse
from discreet.rational import Number, text

_EXAMPLE = 'dc.models.NaiveBayes({"smoker": ["no", "yes"]}, {"sex": ["f", "m"], "age": (0, 120)})'
# numbers held at a time while rows are weighed
_MOST_NUMBERS = 1 << 24
_LOG_2PI = np.log(2 * np.pi)


@dataclass(frozen=True)
class NaiveBayes(DiscreteModel):
    """A class with probabilities pi, and features with a distribution of their own in each class, independent given it.

    A release holds one table of counts for each feature, class by feature. A record is in one cell of each, so with D
    features the joint L1 sensitivity is 2D under ``replace`` and D under ``add_remove``. To give each feature
    epsilon / D (Foulds et al. 2016, supplement E.1) is the same noise, by another name. For a number the table holds
    sums instead, three for each class, in which a record counts for one as well, but for rounding to the grid
    (:class:`~discreet.models.moment_table.MomentTable`).

    The draws are named after the columns: the target's probabilities, and each feature's with one row for each class;
    for a number ``age`` they are ``age.mean`` and ``age.sd``, with one entry for each class: those of the column as
    clipped to its bounds.

    Parameters
    ----------
    target
        The column of the class and its labels: ``{"smoker": ["no", "yes"]}``.
    features
        The other columns, with their labels or, for numbers, their bounds: ``{"sex": ["f", "m"], "age": (0, 120)}``.
        Nothing is assumed of a number's mean and standard deviation in each class but the bounds; to weigh a row it is
        taken to be normal with these.
    split
        How the noise is divided between the features, as weights by name, 1 for those not named: the tables of a
        feature with weight 2 bear half the noise of one with weight 1. By default all bear the same.
    """

    name: ClassVar[str] = "naive_bayes"
    engines: ClassVar[str] = "naive_bayes"
    target: Labels
    features: tuple[Column, ...]
    weights: tuple[Fraction, ...]

    def __init__(
        self,
        target: Mapping[str, Any] | Labels,
        features: Mapping[str, Any] | tuple[Column, ...],
        *,
        split: Mapping[str, Number] | None = None,
    ) -> None:
        if not isinstance(target, Mapping | Labels):
            raise UsageError("the target is declared with its labels.", hint=f"for example {_EXAMPLE}")
        classes = only_labels(read_columns([target] if isinstance(target, Labels) else target), self.name)
        if len(classes) != 1:
            raise UsageError(f"naive Bayes has one target, got {len(classes)}.")
        others = read_columns(features)
        if classes[0].name in {feature.name for feature in others}:
            raise UsageError(f"column {classes[0].name!r:.60} is the target and cannot be a feature as well.")
        names = [feature.name for feature in others]
        weights = read_split(split, names, "feature")
        fill(self, target=classes[0], features=others, weights=tuple(weights.values()))
        if len(set(self.draw_names)) != len(self.draw_names):
            raise UsageError("two columns would have draws of the same name: rename one of them.")

    @cached_property
    def columns(self) -> tuple[Column, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The target, then the features."""
        return (self.target, *self.features)

    @property
    def optional_columns(self) -> tuple[str, ...]:
        return (self.target.name,)

    def constants(self) -> dict[str, Any]:
        written: dict[str, Any] = {
            "target": encode_columns([self.target])[0],
            "features": encode_columns(self.features),
        }
        if set(self.weights) != {UNIT}:
            written["split"] = [text(weight) for weight in self.weights]
        return written

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> NaiveBayes:
        if set(constants) - {"split"} != {"target", "features"}:
            raise ValueError("naive Bayes has a target, features and perhaps a split")
        (target,) = decode_columns([constants["target"]])
        features = decode_columns(constants["features"])
        split = constants.get("split", ["1"] * len(features))
        if not isinstance(split, list) or len(split) != len(features):
            raise ValueError("there is not one weight for each feature")
        if not are_texts(split):
            raise ValueError("a weight is not an exact number")
        names = [feature.name for feature in features]
        return cls(only_labels([target], cls.name)[0], features, split=dict(zip(names, split, strict=True)))

    def tables(self) -> tuple[Table, ...]:
        return tuple(
            Table((self.target, feature), 1 / weight)
            if isinstance(feature, Labels)
            else MomentTable((self.target,), 1 / weight, number=feature)
            for feature, weight in zip(self.features, self.weights, strict=True)
        )

    def affine_maps(self) -> tuple[tuple[Fraction, ...] | None, tuple[Fraction, ...] | None]:
        if not self.numeric_columns:
            return None, None
        blocks = [table.block() for table in self.tables() if isinstance(table, MomentTable)]
        return tuple(b.shift[0] for b in blocks if b.shift), tuple(b.half[0] for b in blocks if b.half)

    def conditionals(self) -> tuple[Conditional, ...]:
        """Return one conditional for each column of labels."""
        labelled = (feature for feature in self.features if isinstance(feature, Labels))
        return (Conditional(self.target), *(Conditional(feature, (self.target,)) for feature in labelled))

    @property
    def draw_names(self) -> tuple[str, ...]:
        named = [
            (feature.name,) if isinstance(feature, Labels) else moment_names(feature)
            for feature in self.features
        ]
        return (self.target.name, *(name for names in named for name in names))

    def axis_labels(self, columns: Sequence[str] = ()) -> AxisLabels:
        numbers = (name for number in self.numeric_columns for name in moment_names(number))
        return {**super().axis_labels(), **dict.fromkeys(numbers, (self.target.labels,))}

    # -- priors ---------------------------------------------------------------------------------------

    def suggested_prior(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, domain: Domain | None = None
    ) -> dict[str, NormalInverseGamma]:
        """Return a weak prior on the scale of its bounds for each column of numbers."""
        return {
            number.name: NormalInverseGamma.weak(number.low, number.high) for number in self.numeric_columns
        }

    def weak_prior_in_words(self, domain: Domain) -> str:
        if domain.outside == "clip":
            return super().weak_prior_in_words(domain)  # numbers need none
        numbers = [f"{name}={prior}" for name, prior in self.suggested_prior().items()]
        return "; ".join([super().weak_prior_in_words(domain), *numbers])

    def read_prior(
        self, prior: Any = None, domain: Domain | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, NormalInverseGamma]]:
        """Return the Dirichlet parameters of the columns of labels, and the priors given for columns of numbers.

        See :meth:`concentrations` for the first. A column of numbers needs none; the engine ``gibbs``, which takes it
        to be normal, has a weak one, or takes a ``NormalInverseGamma`` (or its text), the same for all classes, in the
        dictionary by column; as text, ``"age=normal_inverse_gamma:60,0.25,2,900"``, with a semicolon between columns.
        """
        if isinstance(prior, str) and "=" in prior:
            pairs = [part.partition("=") for part in prior.split(";")]
            prior = {name.strip(): value.strip() for name, _, value in pairs}
        names = [number.name for number in self.numeric_columns]
        given = dict(prior) if isinstance(prior, Mapping) else {}
        labels = {name: value for name, value in given.items() if name not in names}
        return self.concentrations(labels if isinstance(prior, Mapping) else prior), {
            name: self._normal_prior(name, given[name]) for name in names if name in given
        }

    def _normal_prior(self, name: str, given: Any) -> NormalInverseGamma:
        if isinstance(given, str):
            given = parse(given)
        if not isinstance(given, NormalInverseGamma):
            weak = {one: str(prior) for one, prior in self.suggested_prior().items()}
            raise UsageError(
                f"column {name!r:.60} takes a normal_inverse_gamma prior, or none.",
                hint=f"weak ones on the scale of the bounds: prior={weak!s:.300}",
            )
        return given

    # -- rows -----------------------------------------------------------------------------------------

    def sample_rows(self, theta: Draws, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        rows = super().sample_rows(theta, size, rng)
        codes = np.array([self.target.labels.index(label) for label in rows[self.target.name]], dtype=int)
        for number in self.numeric_columns:
            mean, sd = (np.asarray(theta[name])[codes] for name in moment_names(number))
            rows[number.name] = rng.normal(mean, sd)
        return rows

    def log_joint(self, draws: Draws, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return log p(class, features of each row | draw): draws × rows × classes.

        A feature that is missing says nothing, and so does a label that was not declared or a number out of bounds.
        """
        with np.errstate(divide="ignore"):
            total = np.repeat(np.log(draws[self.target.name])[:, None, :], len(codes), axis=1)
            for at, feature in enumerate(self.label_columns[1:], start=1):
                known = np.flatnonzero(codes[:, at] < feature.n_labels)
                log_p = np.log(draws[feature.name])[:, :, codes[known, at]]
                total[:, known] += log_p.swapaxes(1, 2)
        for at, number in enumerate(self.numeric_columns):
            x = values[:, at]
            known = np.flatnonzero((x >= float(number.low)) & (x <= float(number.high)))
            mean, sd = (draws[name][:, None, :] for name in moment_names(number))
            # values that may all be alike within a class are still told apart by a thousandth of their range
            sd = np.maximum(sd, float(number.high - number.low) / 1000)
            off = (x[known, None] - mean) / sd
            total[:, known] -= 0.5 * (off * off + _LOG_2PI) + np.log(sd)
        return total

    def row_log_density(self, draws: Draws, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        joint = self.log_joint(draws, codes, values)
        mine = codes[:, 0]
        known = mine < self.target.n_labels
        out = np.logaddexp.reduce(joint, axis=-1)
        out[:, known] = joint[:, np.flatnonzero(known), mine[known]]
        return out

    def predict_proba(self, draws: Draws, rows: Any) -> np.ndarray:
        """Return each row's probability of every class: p(class, features) averaged over the draws, then normalized.

        The target's column may be left out of the rows, and is ignored if it is there.
        """
        codes, values = code_rows(self, rows, absent=self.optional_columns)
        distinct, where = distinct_rows(codes[:, 1:]) if not values.shape[1] else (codes[:, 1:], slice(None))
        n_draws, n_classes = len(draws[self.target.name]), self.target.n_labels
        out = np.empty((len(distinct), n_classes))
        step = max(_MOST_NUMBERS // (n_draws * n_classes), 1)
        full = np.hstack([np.full((len(distinct), 1), n_classes, dtype=codes.dtype), distinct])
        for start in range(0, len(full), step):
            part = slice(start, start + step)
            out[part] = np.logaddexp.reduce(self.log_joint(draws, full[part], values[part]), axis=0)
        out -= np.logaddexp.reduce(out, axis=1, keepdims=True)
        return np.exp(out)[where]

    def predict(self, draws: Draws, rows: Any) -> np.ndarray:
        return np.array(self.target.labels)[self.predict_proba(draws, rows).argmax(axis=1)]


def moment_names(number: Numeric) -> tuple[str, str]:
    """Return the names of the draws of a column of numbers."""
    return f"{number.name}.mean", f"{number.name}.sd"

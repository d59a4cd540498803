"""Naive Bayes: features that are independent given the class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.errors import UsageError
from discreet.families.shapes import UNIT
from discreet.models.base import Table
from discreet.models.columns import Column, Labels, decode_columns, encode_columns, only_labels, read_columns
from discreet.models.discrete import Conditional, DiscreteModel
from discreet.rational import Number, exact, text

_EXAMPLE = 'dc.models.NaiveBayes({"smoker": ["no", "yes"]}, {"sex": ["f", "m"], "stage": ["1", "2", "3"]})'


@dataclass(frozen=True)
class NaiveBayes(DiscreteModel):
    """A class with probabilities pi, and features with probabilities theta[class] of their own, independent given it.

    Parameters
    ----------
    target
        The column of the class and its labels: ``{"smoker": ["no", "yes"]}``.
    features
        The other columns and their labels: ``{"sex": ["f", "m"], "stage": ["1", "2", "3"]}``.
    split
        How the noise is divided between the features, as weights by name, 1 for those not named: the tables of a
        feature with weight 2 bear half the noise of one with weight 1. By default all bear the same.

    A release holds one table of counts for each feature, class by feature. A record is in one cell of each, so with D
    features the joint L1 sensitivity is 2D under ``replace`` and D under ``add_remove``. To give each feature
    epsilon / D (Foulds et al. 2016, supplement E.1) is the same noise, by another name.

    The draws are named after the columns: the target's probabilities, and each feature's with one row for each class.
    """

    name: ClassVar[str] = "naive_bayes"
    target: Labels
    features: tuple[Labels, ...]
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
        others = only_labels(read_columns(features), self.name)
        if classes[0].name in {feature.name for feature in others}:
            raise UsageError(f"column {classes[0].name!r:.60} is the target and cannot be a feature as well.")
        names = [feature.name for feature in others]
        unknown = [name for name in split or {} if name not in names]
        if unknown:
            raise UsageError(f"split names {unknown[0]!r:.60}, and there is no feature of that name.")
        weights = tuple(exact((split or {}).get(name, 1), "a weight of split") for name in names)
        if any(weight <= 0 for weight in weights):
            raise UsageError("the weights of split must be positive.")
        for name, value in (("target", classes[0]), ("features", others), ("weights", weights)):
            object.__setattr__(self, name, value)

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
        if not all(isinstance(weight, str) for weight in split):
            raise ValueError("a weight is not an exact number")
        names = [feature.name for feature in features]
        return cls(only_labels([target], cls.name)[0], features, split=dict(zip(names, split, strict=True)))

    def tables(self) -> tuple[Table, ...]:
        return tuple(
            Table((self.target, feature), 1 / weight)
            for feature, weight in zip(self.features, self.weights, strict=True)
        )

    def conditionals(self) -> tuple[Conditional, ...]:
        return (
            Conditional(self.target),
            *(Conditional(feature, (self.target,)) for feature in self.features),
        )

    def log_joint(self, draws: Mapping[str, np.ndarray], codes: np.ndarray) -> np.ndarray:
        """Return log p(class, features of each row | draw): draws × rows × classes. A missing feature says nothing."""
        with np.errstate(divide="ignore"):
            total = np.repeat(np.log(draws[self.target.name])[:, None, :], len(codes), axis=1)
            for at, feature in enumerate(self.features, start=1):
                known = np.flatnonzero(codes[:, at] < feature.n_labels)
                log_p = np.log(draws[feature.name])[:, :, codes[known, at]]
                total[:, known] += log_p.swapaxes(1, 2)
        return total

    def log_density(
        self, draws: Mapping[str, np.ndarray], codes: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        joint = self.log_joint(draws, codes)
        mine = codes[:, 0]
        known = mine < self.target.n_labels
        out = np.logaddexp.reduce(joint, axis=-1)
        out[:, known] = joint[:, np.flatnonzero(known), mine[known]]
        return out

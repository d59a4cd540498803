"""Poisson regression: the log of a count's mean is linear in the terms of a design.

Two things can be released with noise: the sums of all products of two terms, as for a linear regression, from which the
coefficients follow as far as bounds and moments tell the shapes of the features; and, with ``start``, one Newton step
of the likelihood from these public weights, which takes nothing for granted about the features if the start is near.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import log
from typing import Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from scipy.special import gammaln

from discreet.domain.columns import Column, Numeric
from discreet.errors import UsageError
from discreet.models.base import Draws
from discreet.models.loss_model import read_size
from discreet.models.losses import LossConstants
from discreet.models.regression import bounds_of
from discreet.models.score_layout import POISSON
from discreet.models.step_regression import StepRegression
from discreet.rational import Number, exact, text

#: Records whose mean at the start is above so many times the mean of all count no more in the curvature.
#: A lower limit leaves out the few records that say most about steep slopes, and moved coefficients of real tables by
#: half a posterior sd and more; with a higher one the curvature drowns in noise, which is in proportion to it.
HEAVIEST = Fraction(4)
# the same, of a step that does not say it
_HEAVIEST_UNSAID = Fraction(2)
# a log of a mean below this is as good as nothing
_LEAST_LOG = -30.0


@dataclass(frozen=True, init=False)
class PoissonRegression(StepRegression):
    """A count as target, the log of whose mean is intercept + coefficients . terms.

    What is estimated is the coefficients of greatest Poisson likelihood in the population, of the target as clipped to
    its bounds, with means of at most the bound too. That counts vary as much as a Poisson distribution says is not
    taken for granted: ``dispersion`` is their variance over their mean, and intervals are as wide as it asks for.

    Parameters
    ----------
    target
        The column to explain, from 0 to a public bound: its name, with ``bounds``, or ``{"visits": (0, 30)}``. Noise is
        in proportion to the bound, and larger counts are clipped to it.
    features, bounds, terms
        As for :class:`~discreet.models.linear_regression.LinearRegression`.
    square_width
        As for a linear regression.
    start
        Public weights, the intercept first, in the units of the columns: what is released is one Newton step from
        there. Take them, with the next two, from an earlier private release by :meth:`refined`.
    dispersion
        Variance over mean of the target around its mean, with ``start``.
    mean
        The target's mean over all records, roughly, with ``start``.
    limit
        With ``start``: records with a mean of more than that count no more in the curvature. Twice ``mean`` if it is
        left out; :meth:`refined` takes four times.

    Examples
    --------
    >>> model = PoissonRegression({"visits": (0, 30)}, {"age": (18, 100), "sex": ["f", "m"]})
    >>> model.weight_names
    ('intercept', 'age', 'sex=m')
    """

    name: ClassVar[str] = "poisson_regression"
    question: ClassVar[str] = "Poisson regression"
    picture: ClassVar[str] = "coefficients"
    region = POISSON
    _gradients = ()
    _of_step = ("dispersion", "mean")
    _may_of_step = ("limit",)
    ridge: Fraction = field(init=False, default=Fraction(0))
    radius: Fraction = field(init=False, default=Fraction(1))
    dispersion: Fraction | None = None
    mean: Fraction | None = None
    limit: Fraction | None = None

    def __init__(
        self,
        target: Mapping[str, Any] | Column | str,
        features: Mapping[str, Any] | Sequence[Column | str],
        *,
        bounds: Mapping[str, Any] | None = None,
        terms: Sequence[str] = (),
        square_width: Number | None = None,
        signs: bool = False,
        start: Sequence[Number] | None = None,
        dispersion: Number | None = None,
        mean: Number | None = None,
        limit: Number | None = None,
    ) -> None:
        super().__init__(target, features, bounds=bounds, terms=terms, square_width=square_width, signs=signs)
        known = {"dispersion": dispersion, "mean": mean}
        for name, value in known.items():
            if (value is None) != (start is None):
                raise UsageError(
                    f"{name} goes with start: a step needs both.",
                    hint="model.refined(posterior) takes them from an earlier release",
                )
            object.__setattr__(self, name, None if value is None else read_size(value, name))
        if limit is not None and start is None:
            raise UsageError("limit goes with start.", hint="leave it out")
        object.__setattr__(self, "limit", None if limit is None else read_size(limit, "limit"))
        object.__setattr__(self, "start", None if start is None else self._read_start(start))

    @classmethod
    def _check_target(cls, target: Column) -> Column:
        if not isinstance(target, Numeric) or target.low != 0:
            raise UsageError(
                f"the target {target.name!r:.60} of a Poisson regression is a count with bounds from 0.",
                hint='for example {"visits": (0, 30)}',
            )
        return target

    def _learned(self, draws: Draws) -> dict[str, Any]:
        # a step says nothing new of the mean
        mean = np.median(draws["mean"]) if "mean" in draws else self.mean
        if "dispersion" not in draws or mean is None:
            raise UsageError(
                "a start is taken from the posterior of the same regression.",
                hint="dc.infer of a release of this model, with noise",
            )
        # the larger half of what the dispersion may be widens intervals more than the smaller one narrows them
        found = {"dispersion": np.mean(draws["dispersion"]), "mean": mean, "limit": HEAVIEST * Fraction(mean)}
        return {name: exact(f"{float(value):.6g}", name) for name, value in found.items()}

    # -- what is released ------------------------------------------------------------------------------

    @property
    def released(self) -> Literal["products", "step"]:
        """What is released with noise: sums of products, or a Newton step."""
        return "products" if self.start is None else "step"

    @property
    def summary(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "products" if self.start is None else "scores"

    @property
    def engines(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return f"poisson_{self.released}"

    def suited(self, norm: Literal["l1", "l2"]) -> Self:
        return super().suited(norm) if self.start is None else self

    @property
    def most(self) -> float:
        """The target's upper bound."""
        return float(bounds_of(self.target)[1])

    @property
    def heaviest(self) -> float:
        """The mean from which on records count alike in the curvature."""
        return min(float(self.limit or _HEAVIEST_UNSAID * (self.mean or 1)), self.most)

    def start_means(self, predictors: np.ndarray) -> np.ndarray:
        """Return means at the start, of at most the target's bound."""
        return np.exp(np.clip(predictors, _LEAST_LOG, log(self.most)))

    def score(self, codes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means = self.start_means(self.start_predictors(codes, values))
        target = self._by_column(codes, values)[1][self.target.name]
        return np.minimum(means / self.heaviest, 1.0), (target - means) / self.most

    def constants(self) -> dict[str, Any]:
        every = (*self._of_step, *self._may_of_step)
        known = {name: text(value) for name in every if (value := getattr(self, name)) is not None}
        return {**super().constants(), **known}

    # -- the analyst's side ----------------------------------------------------------------------------

    @property
    def outcome(self) -> str:
        return f"log of the mean of {self.target.name}"

    @property
    def assumption(self) -> str:
        return "the log of the target's mean is linear in the terms"

    # -- predictions, for rows that need no protection -------------------------------------------------

    def _means(self, draws: Draws, rows: Any) -> np.ndarray:
        # counts are clipped to their bound, so no mean is above it
        return np.exp(np.minimum(self.predictors(draws, rows), log(self.most)))

    def predict(self, draws: Draws, rows: Any) -> np.ndarray:
        return self._means(draws, rows).mean(axis=0)

    def _log_likelihood(self, margins: np.ndarray, aims: np.ndarray) -> np.ndarray:
        return aims * margins - np.exp(margins) - gammaln(aims + 1)

    def aims(self, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the targets of records, as they are."""
        return self._by_column(codes, values)[1][self.target.name]

    # -- gradients -------------------------------------------------------------------------------------

    def check_gradient(self) -> None:
        self._refuse_gradients()

    @property
    def loss_constants(self) -> LossConstants:
        self._refuse_gradients()

    @property
    def gradient_clip(self) -> Fraction:
        self._refuse_gradients()

    def _refuse_gradients(self) -> NoReturn:
        # the slope of exp has no bound that leaves anything beside the noise
        raise UsageError(
            "a Poisson regression is not fitted by gradients, which have no useful bound.",
            hint="release with noise: epsilon=1",
        )

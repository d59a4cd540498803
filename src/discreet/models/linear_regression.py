"""Linear regression: a number whose mean is linear in the terms of a design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from discreet.arguments import listed, one_of
from discreet.arguments import text as text_of
from discreet.domain.columns import Column, Numeric
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.models.base import Draws
from discreet.models.design import Design, is_expression
from discreet.models.loss_model import read_size
from discreet.models.losses import SquaredLoss
from discreet.models.product_norm import takes_norm
from discreet.models.regression import Regression, bounds_of, scale_of
from discreet.rational import Number, text

_LEAST_SD = Fraction(1, 10**9)


@dataclass(frozen=True, init=False)
class LinearRegression(Regression):
    """A number as target, whose mean is linear in features.

    Parameters
    ----------
    target
        The column to explain: its name, with ``bounds``, or ``{"pressure": (60, 200)}``.
    features
        Columns to explain it by: names, with ``bounds``, or a dictionary like that. Of labels all but the first get a
        coefficient of their own, their difference from the first. A list may hold products and squares of columns that
        stand in it too: ``"age * smoker"``, ``"age ** 2"``.
    bounds
        For columns that are given by name: ``(low, high)`` of a number, or the labels of a column of labels; chosen
        without looking at the data.
    terms
        Products and squares of features, if they do not stand among them.
    ridge, radius
        For gradients. Each record's loss is (y - weights . features)^2 / 2 with y of [-1, 1], plus half of ridge times
        the squared length of the weights, which lie in the ball of this radius, decided without looking at the data.
        The loss has steep gradients only because of it: the wider the ball, the more noise.
    residual_sd
        Standard deviation of the target around its mean, in the target's own units. Only
        :class:`~discreet.mechanisms.langevin.Langevin` needs it, for the likelihood.
    square_width
        How wide the noise of sums of squares is beside that of other products; chosen for the noise if it is left out.
    signs
        Whether features of two labels are released as -1 and 1, which tells twice as much; as ``square_width``.

    Examples
    --------
    >>> model = LinearRegression("bp", ["age", "smoker", "age ** 2"],
    ...     bounds={"bp": (60, 200), "age": (18, 100), "smoker": ["no", "yes"]})
    >>> model.weight_names
    ('intercept', 'age', 'smoker=yes', 'age ** 2')
    """

    name: ClassVar[str] = "linear_regression"
    engines: ClassVar[str] = "linear_regression"
    question: ClassVar[str] = "Linear regression"
    picture: ClassVar[str] = "coefficients"
    loss = SquaredLoss
    _optional = ("square_width", "residual_sd")
    residual_sd: Fraction | None = None

    def __init__(
        self,
        target: Mapping[str, Any] | Column | str,
        features: Mapping[str, Any] | Sequence[Column | str],
        *,
        bounds: Mapping[str, Any] | None = None,
        terms: Sequence[str] = (),
        ridge: Number = Fraction(1, 1000),
        radius: Number = 2,
        residual_sd: Number | None = None,
        square_width: Number | None = None,
        signs: bool = False,
    ) -> None:
        super().__init__(
            target,
            features,
            bounds=bounds,
            terms=terms,
            ridge=ridge,
            radius=radius,
            square_width=square_width,
            signs=signs,
        )
        sd = None if residual_sd is None else read_size(residual_sd, "residual_sd")
        low, high = bounds_of(self.target)
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

    def noise(self, neighbors: Neighbors) -> str:
        return "k-norm" if takes_norm(self.design, one_of(neighbors, "neighbors", Neighbors)) else "laplace"

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
        low, high = bounds_of(self.target)
        return float(2 * self.residual_sd / (high - low))

    def submodel(self, target: Any = None, features: Any = None) -> LinearRegression:
        """Return the regression of one of the columns on some of the others, whose products are among this one's.

        ``target`` is a column of numbers, this regression's if it is left out. ``features`` are other columns, and
        products and squares that are terms of this regression; all that there are if they are left out.
        """
        by_name = self.design.by_name
        aim = self.target.name if target is None else text_of(target, "target")
        if features is None:
            mine = [name for name in by_name if name != aim]
            written = [one for one in self.terms if aim not in Design.columns_of(one)]
        else:
            asked = [text_of(one, "features") for one in listed(features, "features", "a list of columns")]
            mine = [one for one in asked if not is_expression(one)]
            written = [one for one in asked if is_expression(one)]
        for name in (aim, *mine):
            if name not in by_name:
                raise UsageError(
                    f"{name!r:.60} is no column of this regression.",
                    hint=f"there are {', '.join(by_name):.200}",
                )
        found = LinearRegression(
            by_name[aim], [by_name[name] for name in mine], terms=written, signs=self.signs
        )
        for term, name in zip(found.design.terms, found.design.names, strict=True):
            if term not in self.design.terms:
                raise UsageError(
                    f"the products of {name!r:.60} were not released.", hint="release it as a term"
                )
        return found

    # -- coefficients in the units of the data ---------------------------------------------------------

    @property
    def assumption(self) -> str:
        return "the line that is meant is that of least squares, of values as clipped"

    def read_prior(self, prior: Any, domain: Domain) -> None:
        if prior is not None:
            raise UsageError("a linear regression takes no prior but its own.", hint="leave out prior")

    def weak_prior_in_words(self, domain: Domain) -> str:
        return (
            "on bounds mapped to [-1, 1], means N(0, 0.5^2), sds lognormal(log 0.3, 0.8), correlations of the "
            "features LKJ(2), R^2 Beta(1/2, 1), of many features Beta(1, 2), kurtosis from 3 on"
        )

    def in_units(self, intercept: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Turn draws of intercept and coefficients of the mapped terms into those of the columns as they are."""
        middle, half = scale_of(self.target)
        found = slopes @ self.unit_matrix().T
        return middle + half * (intercept + found[:, 0]), half * found[:, 1:]

    def mapped(self, intercept: np.ndarray, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Turn draws of the columns as they are into those of the mapped terms: what :meth:`in_units` turns back."""
        (middle, half), matrix = scale_of(self.target), self.unit_matrix()
        slopes = np.linalg.solve(matrix[1:], coefficients.T / half).T
        return (intercept - middle) / half - slopes @ matrix[0], slopes

    # -- predictions, for rows that need no protection -------------------------------------------------

    def predict(self, draws: Draws, rows: Any) -> np.ndarray:
        return self._means(draws, rows).mean(axis=0)

    def predict_interval(self, draws: Draws, rows: Any, prob: float) -> Predicted:
        from scipy.special import ndtr

        if "residual_sd" not in draws:
            raise UsageError(
                "weights that were fitted by gradients have no intervals.",
                hint="release with noise: epsilon=1",
            )
        means, sd = self._means(draws, rows), np.asarray(draws["residual_sd"])[:, None]
        ends = []
        for level in ((1 - prob) / 2, (1 + prob) / 2):
            low, high = (means - 40 * sd).min(axis=0), (means + 40 * sd).max(axis=0)
            # the quantile of the mixture over draws, by bisection
            for _ in range(50):
                middle = (low + high) / 2
                below = ndtr((middle - means) / sd).mean(axis=0) < level
                low, high = np.where(below, middle, low), np.where(below, high, middle)
            ends.append((low + high) / 2)
        return Predicted(means.mean(axis=0), *ends)

    def _means(self, draws: Draws, rows: Any) -> np.ndarray:
        """Return the mean of the target, draws × rows, in its own units; numbers are clipped to their bounds."""
        if "weights" in draws:
            return np.atleast_2d(self.predict_at(draws["weights"], rows))
        return self.predictors(draws, rows)

    def predict_at(self, weights: Any, rows: Any) -> np.ndarray:
        """Return the mean of the target for each row, in its own units; see :meth:`margins`."""
        middle, half = scale_of(self.target)
        return middle + half * self.margins(weights, rows)


class Predicted(NamedTuple):
    """Rows' means, and intervals that hold their targets; one number for each row."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray

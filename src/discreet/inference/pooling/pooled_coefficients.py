"""Partial pooling of regressions: the coefficients of each group are drawn towards those of the others, together.

The intercept at the middle of all bounds and the coefficients, on bounds mapped to [-1, 1], are the vector of a group
(:mod:`~discreet.inference.pooling.vector_hierarchy`). What goes along with them, the residual sd and R^2, is that of
the draw of the group's own whose coefficients are nearest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from discreet.artifact import Release
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.pooling.vector_hierarchy import FREEDOM, Student, VectorHierarchy
from discreet.inference.posterior import Posterior
from discreet.inference.regression import slopes_of
from discreet.inference.regression.moment_prior import draw_priors
from discreet.models.linear_regression import LinearRegression
from discreet.models.regression import bounds_of

_APPROXIMATION = "what groups say for themselves as multivariate t distributions"
_REASON = "pool=True"
_WORDS = (
    "on bounds mapped to [-1, 1], each coefficient has a t distribution over groups, with 4 degrees of freedom; its "
    "center is N(0, 2^2), its spread s has density 0.5 / (0.5 + s)^2"
)
_PRIOR_DRAWS = 4000


def pool_coefficients(
    releases: Mapping[str, Release], apart: Mapping[str, Posterior], rng: np.random.Generator
) -> tuple[dict[str, Posterior], Posterior]:
    """Return the pooled posteriors of linear regressions by name, and that of their population.

    Draw k of every group goes with draw k of the population.
    """
    first = next(iter(apart.values()))
    model = next(iter(releases.values())).model.require(LinearRegression, "coefficients are pooled")
    vectors = {name: _vectors(model, one) for name, one in apart.items()}
    prior = _WeakPrior.of(len(model.design.terms) - 1)
    alone = [Student.of(own[prior.again(model, apart[name], own, rng)]) for name, own in vectors.items()]
    hierarchy = VectorHierarchy(alone, prior.vector)
    drawn = hierarchy.draw(first.n_draws, rng)
    found = {}
    for at, (name, own) in enumerate(vectors.items()):
        x = drawn.groups[:, at]
        nearest = _nearest(x, own, hierarchy.alone[at].precision)
        beside = {key: values[nearest] for key, values in apart[name].draws.items()}
        found[name] = replace(
            apart[name],
            draws={**beside, **_in_units(model, x)},
            how=lambda one=apart[name]: _diagnosed(one.diagnostics),
        )
    said = Diagnostics("pooled", _APPROXIMATION, _REASON, independent=False, given=_WORDS)
    centers = _in_units(model, drawn.center)
    names = model.axis_labels()["coefficients"]
    population = Posterior(
        {**centers, **_spreads(model, drawn.spread)},
        said,
        n_chains=first.n_chains,
        labels={"coefficients": names, "coefficients_sd": names},
        units=first.units,
    )
    return found, population


def _vectors(model: LinearRegression, one: Posterior) -> np.ndarray:
    """Return draws of the intercept and the coefficients on mapped bounds, draws × parameters."""
    intercept, slopes = model.mapped(one.draws["intercept"], one.draws["coefficients"])
    return np.column_stack([intercept, slopes])


def _in_units(model: LinearRegression, x: np.ndarray) -> dict[str, np.ndarray]:
    intercept, coefficients = model.in_units(x[:, 0], x[:, 1:])
    return {"intercept": intercept, "coefficients": coefficients}


def _spreads(model: LinearRegression, spread: np.ndarray) -> dict[str, np.ndarray]:
    """Return standard deviations over groups: of sums of independent parameters, in the units of the data."""
    spread = spread * np.sqrt(FREEDOM / (FREEDOM - 2))
    dimension = spread.shape[1]
    origin = model.in_units(np.zeros(1), np.zeros((1, dimension - 1)))[0]
    ones = np.eye(dimension)
    intercept, coefficients = model.in_units(ones[:, 0], ones[:, 1:])
    return {
        "intercept_sd": np.sqrt(spread**2 @ (intercept - origin) ** 2),
        "coefficients_sd": np.sqrt(spread**2 @ coefficients**2),
    }


@dataclass(frozen=True)
class _WeakPrior:
    """What the weak prior says of intercept and slopes, and of the log residual sd, each by itself.

    In the prior slopes go with the residual sd and the spread of the features. Where these are known, it says more of
    slopes than their marginal does, and what a group says for itself would have too much of it.
    """

    vector: Student
    log_sd: tuple[float, float]

    @classmethod
    @lru_cache(maxsize=32)
    def of(cls, d: int) -> _WeakPrior:
        """Return that of a regression on d terms."""
        mean, root = draw_priors(d, _PRIOR_DRAWS, np.random.default_rng(d))
        slopes = slopes_of(root)
        intercept = mean[:, d] - (mean[:, :d] * slopes).sum(axis=1)
        log_sd = np.log(root[:, d, d])
        return cls(
            Student.of(np.column_stack([intercept, slopes])), (float(log_sd.mean()), float(log_sd.std()))
        )

    def again(
        self, model: LinearRegression, one: Posterior, own: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return which draws of a group to take, some several times, so that their prior is this one."""
        assert one.log_prior is not None
        low, high = map(float, bounds_of(model.target))
        log_sd = np.log(one.draws["residual_sd"] / ((high - low) / 2))
        middle, spread = self.log_sd
        log_weights = self.vector.log_density(own) - 0.5 * ((log_sd - middle) / spread) ** 2 - 2 * log_sd
        log_weights -= one.log_prior
        weights = np.exp(log_weights - log_weights.max())
        # a few draws must not stand for all
        weights = np.minimum(weights, weights.mean() * np.sqrt(weights.size))
        cumulative = np.cumsum(weights)
        places = (np.arange(weights.size) + rng.random()) / weights.size * cumulative[-1]
        return np.minimum(np.searchsorted(cumulative, places), weights.size - 1)


def _nearest(x: np.ndarray, own: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return for each point the nearest of the group's own draws, in units of how widely these are spread."""
    from scipy.spatial import KDTree

    root = np.linalg.cholesky(precision)
    return np.asarray(KDTree(own @ root).query(x @ root)[1])


def _diagnosed(own: Diagnostics) -> Diagnostics:
    """Say how a pooled group was drawn."""
    return replace(
        own,
        engine=f"pooled {own.engine}",
        approximation=f"{own.approximation}; {_APPROXIMATION}",
        reason=f"{own.reason}; {_REASON}",
        prior=_WORDS,
        # what noise leaves open, the others say
        headline="",
        warnings=tuple(f"by itself, {said}" if said == own.headline else said for said in own.warnings),
        independent=False,
        chains={},
    )

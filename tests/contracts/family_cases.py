"""Every family with parameters to try, an oracle, a prior and bounds: what the contract runs over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet import priors
from discreet.domain.declarations import Domain
from discreet.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Family,
    Gamma,
    Geometric,
    Laplace,
    MultivariateNormal,
    Normal,
    Poisson,
)
from discreet.priors import Prior

Theta = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A family with parameters to try, its oracle, its prior, and declared bounds."""

    family: Family
    thetas: tuple[Theta, ...]
    prior: Prior
    oracle: Callable[[Theta], Any]
    value: Callable[[Theta], Any]
    nodes: Callable[[Theta], tuple[np.ndarray, np.ndarray]] = field(repr=False)
    bounds: Any = None

    def __str__(self) -> str:
        return str(self.family).replace(" ", "")


def counts(_: Theta) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(2000.0), np.ones(2000)


def positive(_: Theta) -> tuple[np.ndarray, np.ndarray]:
    u, step = np.linspace(-80, 12, 3000, retstep=True)
    return np.exp(u), np.exp(u) * step


def around(location: float) -> tuple[np.ndarray, np.ndarray]:
    x, w = positive({})
    return np.concatenate([location - x, location + x]), np.concatenate([w, w])


def real(mean: float, variance: float) -> tuple[np.ndarray, np.ndarray]:
    u, step = np.linspace(-13, 13, 600, retstep=True)
    return mean + np.sqrt(variance) * u, np.full(u.size, np.sqrt(variance) * step)


def plane(theta: Theta) -> tuple[np.ndarray, np.ndarray]:
    u, step = np.linspace(-10, 10, 250, retstep=True)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(u, u)], axis=-1)
    root = np.linalg.cholesky(theta["covariance"])
    return theta["normal_mean"] + grid @ root.T, np.full(len(grid), step**2 * np.linalg.det(root))


def precision(theta: Theta) -> Any:
    return 1 / theta["variance"]


def both(theta: Theta) -> tuple[Any, Any]:
    return theta["mean"], theta["variance"]


RATES = ({"rate": 0.3}, {"rate": 7.0})
VARIANCES = ({"variance": 0.2}, {"variance": 30.0})
LABELS = ("a", "b", "c")
TILTED = np.array([[2.0, -0.7], [-0.7, 0.5]])

CASES = [
    Case(
        Bernoulli(),
        ({"p": 0.03}, {"p": 0.6}),
        priors.Beta(2, 3),
        lambda t: stats.bernoulli(t["p"]),
        lambda t: t["p"],
        lambda t: (np.array([0.0, 1.0]), np.ones(2)),
    ),
    Case(
        Categorical(LABELS),
        ({"p": np.array([0.1, 0.6, 0.3])}, {"p": np.array([0.98, 0.01, 0.01])}),
        priors.Dirichlet([1, 2, 0.5]),
        lambda t: None,
        lambda t: t["p"],
        lambda t: (np.array(LABELS), np.ones(3)),
    ),
    Case(
        Poisson(),
        RATES,
        priors.Gamma(2, 0.5),
        lambda t: stats.poisson(t["rate"]),
        lambda t: t["rate"],
        counts,
        (0, 100),
    ),
    Case(
        Geometric(),
        ({"p": 0.05}, {"p": 0.7}),
        priors.Beta(2, 3),
        lambda t: stats.geom(t["p"], loc=-1),
        lambda t: t["p"],
        counts,
        (0, 40),
    ),
    Case(
        Exponential(),
        RATES,
        priors.Gamma(2, 0.5),
        lambda t: stats.expon(scale=1 / t["rate"]),
        lambda t: t["rate"],
        positive,
        (0, 100),
    ),
    Case(
        Gamma(shape=0.6),
        RATES,
        priors.Gamma(2, 0.5),
        lambda t: stats.gamma(0.6, scale=1 / t["rate"]),
        lambda t: t["rate"],
        positive,
        ("0.5", 100),
    ),
    Case(
        Gamma(shape=5),
        RATES,
        priors.Gamma(2, 0.5),
        lambda t: stats.gamma(5, scale=1 / t["rate"]),
        lambda t: t["rate"],
        positive,
        (0, 100),
    ),
    Case(
        Laplace(location=-2),
        RATES,
        priors.Gamma(2, 0.5),
        lambda t: stats.laplace(-2, 1 / t["rate"]),
        lambda t: t["rate"],
        lambda t: around(-2),
        (-3, 100),
    ),
    Case(
        Normal(variance=4),
        ({"mean": -1.5}, {"mean": 30.0}),
        priors.Normal(1, 3),
        lambda t: stats.norm(t["mean"], 2),
        lambda t: t["mean"],
        lambda t: real(t["mean"], 4),
        (-3, 100),
    ),
    Case(
        Normal(mean=0.1),
        VARIANCES,
        priors.Gamma(2, 0.5),
        lambda t: stats.norm(0.1, np.sqrt(t["variance"])),
        precision,
        lambda t: real(0.1, t["variance"]),
        (-3, 100),
    ),
    Case(
        Normal(),
        ({"mean": -1.5, "variance": 0.2}, {"mean": 20.0, "variance": 30.0}),
        priors.NormalInverseGamma(1, 0.5, 3, 2),
        lambda t: stats.norm(t["mean"], np.sqrt(t["variance"])),
        both,
        lambda t: real(t["mean"], t["variance"]),
        (-3, 100),
    ),
    Case(
        MultivariateNormal(2),
        (
            {"normal_mean": np.array([1.0, -2.0]), "covariance": TILTED},
            {"normal_mean": np.array([0.5, 10.0]), "covariance": np.diag([0.1, 5.0])},
        ),
        priors.NormalInverseWishart([1, 0], 0.5, 4.5, TILTED),
        lambda t: stats.multivariate_normal(t["normal_mean"], t["covariance"]),
        lambda t: (t["normal_mean"], t["covariance"]),
        plane,
        [(-3, 100), (0, 1)],
    ),
]
THETAS = [
    pytest.param(case, theta, id=f"{case}-{i}") for case in CASES for i, theta in enumerate(case.thetas)
]
every_family = pytest.mark.parametrize("case", CASES, ids=str)
every_theta = pytest.mark.parametrize(("case", "theta"), THETAS)
numeric = pytest.mark.parametrize("case", [case for case in CASES if case.bounds is not None], ids=str)


def domain_of(case: Case) -> Domain:
    return Domain(case.family.parse_bounds(case.bounds), case.family.labels, "redact", "count")

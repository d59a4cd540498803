"""The parameter on an unconstrained scale: coordinates in which a walker may step anywhere.

One unconstraining transform for each conjugate prior. Coordinates are (walkers, dimension); densities are normalized
and per coordinate volume, so that a draw from the prior can serve as a proposal whose density is known.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaln, multigammaln  # pyright: ignore[reportAttributeAccessIssue]

from discreet.priors import (
    Beta,
    ByDensity,
    Dirichlet,
    Gamma,
    MeanDispersion,
    Normal,
    NormalInverseGamma,
    NormalInverseWishart,
    Product,
)
from discreet.priors.parameters import ParameterPrior

_LOG_2PI = math.log(2 * math.pi)
# Draws of a prior of tiny shape underflow; they are taken for this.
_LEAST = 1e-300


@dataclass
class UnconstrainingTransform(ABC):
    """Coordinates of the values a prior speaks about."""

    prior: Any
    #: Number of coordinates.
    dim: int = field(init=False)

    @abstractmethod
    def values(self, x: np.ndarray) -> Any:
        """Return the prior's values at these coordinates."""

    @abstractmethod
    def coordinates(self, values: Any) -> np.ndarray:
        """Return the coordinates of the prior's values."""

    @abstractmethod
    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log prior density of the coordinates, volume included."""

    @abstractmethod
    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw coordinates from the prior."""


def log_gamma_draws(shape: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw logarithms of standard gamma variables: those of small shape would underflow."""
    log_u = np.log1p(-rng.random((size, shape.size)))
    return np.log(rng.standard_gamma(shape + 1, log_u.shape)) + log_u / shape


@dataclass
class _Charted(UnconstrainingTransform):
    """One number, or two that are independent: a logit, logarithms, or standard deviations from the prior mean."""

    prior: Beta | Gamma | Normal | MeanDispersion

    def __post_init__(self) -> None:
        prior = self.prior
        several = isinstance(prior, MeanDispersion)
        self._product = Product(prior.of_mean, prior.of_dispersion) if several else Product(prior)
        self.dim = self._product.dim

    def values(self, x: np.ndarray) -> Any:
        found = self._product.values(x)
        return found[0] if self.dim == 1 else found

    def coordinates(self, values: Any) -> np.ndarray:
        return self._product.coordinates((values,) if self.dim == 1 else values)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        return self._product.log_density_at(x)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return np.concatenate([_SAMPLED[type(p)](p, size, rng) for p in self._product.parts], axis=1)


def _log_odds(prior: Beta, size: int, rng: np.random.Generator) -> np.ndarray:
    drawn = log_gamma_draws(np.array([prior.a, prior.b]), size, rng)
    return drawn[:, :1] - drawn[:, 1:]


# Draws of a coordinate from its prior, none of which underflow.
_SAMPLED: dict[type, Callable[[Any, int, np.random.Generator], np.ndarray]] = {
    Beta: _log_odds,
    Gamma: lambda prior, size, rng: (
        log_gamma_draws(np.array([prior.shape]), size, rng) - math.log(prior.rate)
    ),
    Normal: lambda prior, size, rng: rng.standard_normal((size, 1)),
}


class _LocationScale(UnconstrainingTransform):
    """Normal-inverse-gamma: asinh of the mean in prior units from its prior mean, and log variance.

    The mean itself has heavy tails a priori; its asinh has exponential ones.
    """

    prior: NormalInverseGamma
    dim = 2

    @property
    def _unit(self) -> float:
        return math.sqrt(self.prior.beta / self.prior.alpha / self.prior.kappa)

    def values(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        off = self._unit * np.sinh(np.clip(x[:, 0], -300, 300))
        return self.prior.mean + off, np.exp(np.clip(x[:, 1], -700, 700))

    def coordinates(self, values: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        mean, variance = values
        return np.stack([np.arcsinh((mean - self.prior.mean) / self._unit), np.log(variance)], axis=1)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        kappa, alpha, unit = self.prior.kappa, self.prior.alpha, self._unit
        bounded = np.clip(x[:, 0], -300, 300)
        rate = self.prior.beta + kappa * (unit * np.sinh(bounded)) ** 2 / 2
        constant = alpha * math.log(self.prior.beta) - gammaln(alpha) + (math.log(kappa) - _LOG_2PI) / 2
        log_volume = math.log(unit) + np.log(np.cosh(bounded))
        return constant + log_volume - (alpha + 0.5) * x[:, 1] - rate * np.exp(np.clip(-x[:, 1], -700, 700))

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        log_v = math.log(self.prior.beta) - log_gamma_draws(np.array([self.prior.alpha]), size, rng)[:, 0]
        sd = np.exp(np.minimum(log_v, 700) / 2) / math.sqrt(self.prior.kappa)
        return np.stack([np.arcsinh(rng.standard_normal(size) * sd / self._unit), log_v], axis=1)


@dataclass
class _LogRatios(UnconstrainingTransform):
    """Dirichlet: logarithms of the shares over that of the last label."""

    prior: Dirichlet

    def __post_init__(self) -> None:
        self.dim = len(self.prior.alpha) - 1

    @staticmethod
    def _log_shares(x: np.ndarray) -> np.ndarray:
        full = np.column_stack([x, np.zeros(len(x))])
        full -= full.max(axis=1, keepdims=True)
        return full - np.log(np.exp(full).sum(axis=1, keepdims=True))

    def values(self, x: np.ndarray) -> np.ndarray:
        return np.exp(self._log_shares(x))

    def coordinates(self, values: np.ndarray) -> np.ndarray:
        log_values = np.log(np.maximum(values, _LEAST))
        return log_values[:, :-1] - log_values[:, -1:]

    def log_density(self, x: np.ndarray) -> np.ndarray:
        alpha = self.prior.natural()
        constant = gammaln(alpha.sum()) - gammaln(alpha).sum()
        return self._log_shares(x) @ alpha + constant

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        drawn = log_gamma_draws(self.prior.natural(), size, rng)
        return drawn[:, :-1] - drawn[:, -1:]


@dataclass
class _LocationShape(UnconstrainingTransform):
    r"""Normal-inverse-Wishart: the mean, and the covariance through its Cholesky factor L.

    Row i of L is L_ii (r_i1, ..., 1, 0, ...); the coordinates are log L_ii and r_ij, j < i. The volume is
    dV = 2^d prod L_ii^(d+1) d log L_ii dr. Means are in prior standard units of their column.
    """

    prior: NormalInverseWishart

    def __post_init__(self) -> None:
        prior = self.prior
        self._d = prior.dim
        self._scale_root = np.linalg.cholesky(np.array(prior.scale))
        self._unit = np.sqrt(np.diag(prior.scale) / prior.df)
        self._rows, self._columns = np.tril_indices(self._d, -1)
        self.dim = self._d + self._d * (self._d + 1) // 2

    def _factor(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d = self._d
        log_diagonal = x[:, d : 2 * d] + np.log(self._unit)
        root = np.zeros((len(x), d, d))
        root[:, range(d), range(d)] = 1.0
        root[:, self._rows, self._columns] = x[:, 2 * d :]
        return root * np.exp(np.clip(log_diagonal, -300, 300))[:, :, None], log_diagonal

    def values(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        root, _ = self._factor(x)
        return np.array(self.prior.mean) + self._unit * x[:, : self._d], root @ root.transpose(0, 2, 1)

    def coordinates(self, values: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        mean, covariance = values
        root = np.linalg.cholesky(covariance)
        diagonal = root[:, range(self._d), range(self._d)]
        ratios = root[:, self._rows, self._columns] / diagonal[:, self._rows]
        center = (mean - np.array(self.prior.mean)) / self._unit
        return np.concatenate([center, np.log(diagonal / self._unit), ratios], axis=1)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        d, prior = self._d, self.prior
        root, log_diagonal = self._factor(x)
        half_log_det = log_diagonal.sum(axis=1)
        right = np.concatenate(
            [np.broadcast_to(self._scale_root, root.shape), (self._unit * x[:, :d])[:, :, None]], axis=2
        )
        solved = np.linalg.solve(root, right)
        trace = (solved[:, :, :d] ** 2).sum(axis=(1, 2))
        distance = (solved[:, :, d] ** 2).sum(axis=1)
        constant = (
            prior.df * np.log(np.diag(self._scale_root)).sum()
            - prior.df * d / 2 * math.log(2)
            - multigammaln(prior.df / 2, d)
            + d / 2 * (math.log(prior.kappa) - _LOG_2PI)
            + d * math.log(2)
            + np.log(self._unit).sum()
        )
        density = -(prior.df + d + 2) * half_log_det - trace / 2 - prior.kappa * distance / 2
        return constant + density + (d + 1) * half_log_det

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return self.coordinates(self.prior.sample(size, rng))


@dataclass
class _OfPrior(UnconstrainingTransform):
    """Priors that bring coordinates of their own."""

    prior: ParameterPrior

    def __post_init__(self) -> None:
        self.dim = self.prior.dim

    def values(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.prior.values(x)

    def coordinates(self, values: tuple[np.ndarray, ...]) -> np.ndarray:
        return self.prior.coordinates(values)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        return self.prior.log_density_at(x)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return self.prior.coordinates(self.prior.sample(size, rng))


#: The coordinates for values of each kind of prior.
TRANSFORMS: dict[type, type[UnconstrainingTransform]] = {
    **dict.fromkeys((Beta, Gamma, MeanDispersion, Normal), _Charted),
    NormalInverseGamma: _LocationScale,
    Dirichlet: _LogRatios,
    NormalInverseWishart: _LocationShape,
    ByDensity: _OfPrior,
    ParameterPrior: _OfPrior,
    Product: _OfPrior,
}

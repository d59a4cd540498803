"""Several columns, jointly normal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.arguments import fill
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families.base import Family, Theta, known
from discreet.families.record_sums import RecordSums
from discreet.models.shapes import Quadratic
from discreet.priors.base import Prior, three_digits
from discreet.priors.normal_inverse_wishart import NormalInverseWishart, outer, pack, unpack

# an eigenvalue of a projected scatter matrix is at least this fraction of the largest second moment
_TINY = 1e-12
# half a million products of columns; a file cannot ask for more
_MOST = 1000


@dataclass(frozen=True)
class MultivariateNormal(Family):
    """``dim`` real columns, normal with mean vector and covariance matrix.

    ===========  ===================================================================
    statistic    x_i, then x_i x_j for i <= j, row by row
    prior        ``NormalInverseWishart(mean, kappa, df, scale)``
    draws        ``mean``, ``sd``: of each column as clipped to its bounds, columns last;
                 ``normal_mean``, ``covariance``: of the normal distribution, columns last
    sensitivity  replace: d (d + 2)^2 / (2 (d + 1)), or d + d (d + 1) / 2 + 1/2 if missing values
                 are counted and it is larger; add_remove: d + d (d + 1) / 2 + 1/2
    ===========  ===================================================================

    ``mean`` and ``sd`` assume nothing but the bounds, as those of ``Mean()``; ``normal_mean`` and ``covariance`` are
    right if the columns are jointly normal. If values outside the bounds were redacted, all four go by the normal
    distribution.
    """

    name = "multivariate_normal"
    support = RecordSums.support  # pyright: ignore[reportIncompatibleMethodOverride]
    engines = "multivariate_normal"
    prior_type = NormalInverseWishart
    draw_names = ("normal_mean", "covariance")
    draw_axes: ClassVar[Mapping[str, int]] = {"normal_mean": 1, "covariance": 2}
    dim: int

    def __post_init__(self) -> None:
        dim = known(self.dim, "dim")
        if dim != int(dim) or not 2 <= dim <= _MOST:
            raise UsageError(
                f"dim must be an integer from 2 to {_MOST}, got dim={self.dim}.",
                hint="use dc.Normal() for one column",
            )
        fill(self, dim=int(dim))

    @property
    def geometry(self) -> Quadratic:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Quadratic(self.dim)

    @property
    def n_columns(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.dim

    def axis_labels(self, columns: Sequence[str]) -> dict[str, Any]:
        return dict.fromkeys(("mean", "sd", *self.draw_names), tuple(columns))

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        inside = self.support.contains(x).all(axis=-1)
        return np.where(inside, -self.dim / 2 * np.log(2 * np.pi), -np.inf)

    def natural(self, theta: Theta) -> np.ndarray:
        precision = np.linalg.inv(theta["covariance"])
        first = np.einsum("...ij,...j->...i", precision, theta["normal_mean"])
        return np.concatenate([first, -precision[..., *self._pairs] * self._weights], axis=-1)

    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        covariance = np.linalg.inv(self._precision(eta))
        return {
            "normal_mean": np.einsum("...ij,...j->...i", covariance, eta[..., : self.dim]),
            "covariance": covariance,
        }

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        eta = np.asarray(eta, dtype=float)
        precision, first = self._precision(eta), eta[..., : self.dim]
        sign, log_det = np.linalg.slogdet(precision)
        solved = np.linalg.solve(precision, first[..., None])[..., 0]
        return np.where(sign > 0, ((first * solved).sum(axis=-1) - log_det) / 2, np.inf)

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        mean = np.asarray(theta["normal_mean"], dtype=float)
        return np.concatenate([mean, pack(theta["covariance"] + outer(mean))], axis=-1)

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        r"""Return the covariance of (x_i, x_i x_j).

        Isserlis, with m the mean and V the covariance matrix: Cov(x_k, x_i x_j) = m_i V_kj + m_j V_ki, and
        Cov(x_i x_j, x_k x_l) = V_ik V_jl + V_il V_jk + m_i m_k V_jl + m_i m_l V_jk + m_j m_k V_il + m_j m_l V_ik.
        """
        m, v = np.asarray(theta["normal_mean"], dtype=float), np.asarray(theta["covariance"], dtype=float)
        i, j = self._pairs

        def block(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return v[..., a[:, None], b[None, :]]

        def means(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return m[..., a[:, None]] * m[..., b[None, :]]

        columns = np.arange(self.dim)
        cross = m[..., None, i] * block(columns, j) + m[..., None, j] * block(columns, i)
        quadratic = (
            block(i, i) * block(j, j)
            + block(i, j) * block(j, i)
            + means(i, i) * block(j, j)
            + means(i, j) * block(j, i)
            + means(j, i) * block(i, j)
            + means(j, j) * block(i, i)
        )
        top = np.concatenate([v, cross], axis=-1)
        bottom = np.concatenate([np.swapaxes(cross, -1, -2), quadratic], axis=-1)
        return np.concatenate([top, bottom], axis=-2)

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        root = np.linalg.cholesky(theta["covariance"])
        return theta["normal_mean"] + rng.standard_normal((size, self.dim)) @ root.T

    def suggested_prior(self, domain: Domain) -> NormalInverseWishart:
        """Take the bounds for two standard deviations either side, with the weight of a quarter of a record."""
        bounds = domain.bounds or ((-2, 2),) * self.dim
        middle = [three_digits((low + high) / 2) for low, high in bounds]
        variance = [three_digits((high - low) ** 2 / 16) for low, high in bounds]
        return NormalInverseWishart(middle, 0.25, self.dim + 2, np.diag(variance))

    def update(
        self, prior: NormalInverseWishart, s: np.ndarray, n: np.ndarray | float
    ) -> NormalInverseWishart:
        # moments about the prior mean: no division by n, and less cancellation far from zero
        s, n, center = np.asarray(s, dtype=float), float(n), np.array(prior.mean)
        shifted = s[..., : self.dim, None] * center
        first = s[..., : self.dim] - n * center
        second = (
            unpack(s[..., self.dim :], self.dim)
            - (shifted + np.swapaxes(shifted, -1, -2))
            + n * outer(center)
        )
        kappa = prior.kappa + n
        added = second - outer(first) / kappa
        at = center + first / kappa
        try:
            return NormalInverseWishart(at, kappa, prior.df + n, np.array(prior.scale) + added)
        except UsageError:
            scale = _with_semidefinite(np.array(prior.scale), added)
            return NormalInverseWishart(at, kappa, prior.df + n, scale)

    def project(self, s: np.ndarray, n: float) -> np.ndarray:
        """Keep the first moments and move the scatter matrix s_2 - s_1 s_1^T / n to the nearest semidefinite one."""
        s = np.asarray(s, dtype=float)
        if not n > 0:
            return np.zeros_like(s)
        first, second = s[..., : self.dim], unpack(s[..., self.dim :], self.dim)
        spectrum, vectors = np.linalg.eigh(second - outer(first) / n)
        floor = _TINY * np.abs(second).max(axis=(-2, -1))[..., None]
        scatter = (vectors * np.maximum(spectrum, floor)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return np.concatenate([first, pack(scatter + outer(first) / n)], axis=-1)

    def check_prior(self, prior: Prior) -> None:
        super().check_prior(prior)
        if isinstance(prior, NormalInverseWishart) and prior.dim != self.dim:
            raise UsageError(f"the prior is on {prior.dim} columns, the family has {self.dim}.")

    @property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return np.triu_indices(self.dim)

    @property
    def _weights(self) -> np.ndarray:
        """Coefficient of precision_ij in -x^T precision x / 2, for i <= j."""
        i, j = self._pairs
        return np.where(i == j, 0.5, 1.0)

    def _precision(self, eta: np.ndarray) -> np.ndarray:
        return unpack(-np.asarray(eta, dtype=float)[..., self.dim :] / self._weights, self.dim)


def _with_semidefinite(scale: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Return the scale plus what is semidefinite but for rounding, without the part that rounding made negative."""
    root = np.linalg.cholesky(scale)
    inverse = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(inverse @ (added + added.T) @ inverse.T / 2)
    out = root @ (np.eye(len(scale)) + (vectors * np.maximum(values, 0.0)) @ vectors.T) @ root.T
    # what is left of rounding is relative to the largest entry
    return (out + out.T) / 2 + np.eye(len(out)) * (1e-12 * np.abs(out).max())

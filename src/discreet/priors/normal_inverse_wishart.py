"""Normal-inverse-Wishart prior on a mean vector and a covariance matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from discreet.arguments import fill, numbers
from discreet.errors import UsageError
from discreet.priors.base import Prior, finite, positive


def pack(matrix: np.ndarray) -> np.ndarray:
    """Return the entries (i <= j) of symmetric matrices, row by row, on the last axis."""
    return matrix[(..., *np.triu_indices(matrix.shape[-1]))]


def unpack(entries: np.ndarray, d: int) -> np.ndarray:
    """Return the symmetric d x d matrices whose entries (i <= j) are on the last axis."""
    matrix = np.zeros((*entries.shape[:-1], d, d))
    i, j = np.triu_indices(d)
    matrix[..., i, j] = entries
    matrix[..., j, i] = entries
    return matrix


def outer(vector: np.ndarray) -> np.ndarray:
    """Return v v^T, components last."""
    return vector[..., :, None] * vector[..., None, :]


@dataclass(frozen=True)
class NormalInverseWishart(Prior):
    """Covariance V ~ InverseWishart(df, scale) and, given it, mean x ~ Normal(mean, V / kappa).

    Values are pairs (x, V); ``df`` must exceed d - 1.

    ==========  =========================================================================
    density     det(scale)^(df/2) det(V)^(-(df+d+1)/2) exp(-tr(scale V^-1)/2) / (2^(df d/2) Gamma_d(df/2))
                times Normal(x; mean, V / kappa)
    eta         (kappa mean, entries i <= j of scale + kappa mean mean^T, kappa, df), with
                T = (V^-1 x, -V^-1_ii / 2 and -V^-1_ij, -x^T V^-1 x / 2, -log det(V) / 2)
                and base measure det(V)^(-(d+2)/2) (2 pi)^(-d/2)
    C(eta)      (df d/2) log 2 + log Gamma_d(df/2) - (df/2) log det(scale) - (d/2) log kappa
    ==========  =========================================================================

    In these coordinates n records with sums s of (x_i, x_i x_j) add (s, n, n). As text the numbers are the mean, kappa,
    df and the entries i <= j of the scale, row by row.
    """

    name = "normal_inverse_wishart"
    mean: tuple[float, ...]
    kappa: float
    df: float
    scale: tuple[tuple[float, ...], ...]

    def __init__(self, mean: Any, kappa: float, df: float, scale: Any) -> None:
        center, matrix = numbers(mean, "mean"), numbers(scale, "scale")
        d = center.size
        if center.ndim != 1 or d == 0 or matrix.shape != (d, d):
            raise UsageError(
                f"scale must be a square matrix as long as the mean, got {matrix.shape} for {d} value(s)."
            )
        positive(kappa=kappa)
        finite(df=df)
        if not df > d - 1:
            raise UsageError(f"df must exceed {d - 1}, the number of columns less one, got df={df}.")
        asymmetry = np.abs(matrix - matrix.T).max()
        if asymmetry > 1e-9 * np.abs(matrix).max() or np.linalg.eigvalsh(matrix)[0] <= 0:
            raise UsageError("scale must be a symmetric positive definite matrix.")
        matrix = (matrix + matrix.T) / 2
        rows = tuple(map(tuple, matrix.tolist()))
        fill(self, mean=tuple(center.tolist()), kappa=float(kappa), df=float(df), scale=rows)

    @property
    def dim(self) -> int:
        """How many columns the mean has."""
        return len(self.mean)

    def natural(self) -> np.ndarray:
        mean = np.array(self.mean)
        second = pack(np.array(self.scale) + self.kappa * outer(mean))
        return np.concatenate([self.kappa * mean, second, [self.kappa, self.df]])

    @classmethod
    def from_natural(cls, eta: np.ndarray) -> NormalInverseWishart:
        eta = np.asarray(eta, dtype=float)
        mean, kappa, df, scale = _standard(eta)
        return cls(mean, float(kappa), float(df), scale)

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        eta = np.asarray(eta, dtype=float)
        d = _dim(eta.shape[-1] - 2)
        possible = (eta[..., -2] > 0) & (eta[..., -1] > d - 1)
        _, kappa, df, scale = _standard(np.where(possible[..., None], eta, 1.0 + d))
        spectrum = np.linalg.eigvalsh(scale)
        inside = possible & (spectrum > 0).all(axis=-1)
        log_det = np.log(np.where(inside[..., None], spectrum, 1.0)).sum(axis=-1)
        value = (
            df * d / 2 * math.log(2) + _log_multigamma(df / 2, d) - df / 2 * log_det - d / 2 * np.log(kappa)
        )
        return np.where(inside, value, np.inf)

    def log_density(self, value: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        x, v = np.asarray(value[0], dtype=float), np.asarray(value[1], dtype=float)
        d, scale = self.dim, np.array(self.scale)
        precision = np.linalg.inv(v)
        log_det = np.linalg.slogdet(v)[1]
        off = x - np.array(self.mean)
        distance = np.einsum("...i,...ij,...j->...", off, precision, off)
        gaussian = -(d * np.log(2 * np.pi / self.kappa) + log_det + self.kappa * distance) / 2
        log_c = self.df * d / 2 * math.log(2) + _log_multigamma(self.df / 2, d)
        wishart = (
            self.df / 2 * np.linalg.slogdet(scale)[1]
            - (self.df + d + 1) / 2 * log_det
            - np.einsum("ij,...ji->...", scale, precision) / 2
            - log_c
        )
        return gaussian + wishart

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        r"""Draw (means, covariances).

        Bartlett: with scale = L L^T and A lower triangular, A_ii^2 ~ chi2(df - i + 1), A_ij ~ N(0, 1) below, the
        matrix R^T R with A R = L^T is inverse Wishart; and R^T z has that covariance.
        """
        d = self.dim
        bartlett = np.tril(rng.standard_normal((size, d, d)), -1)
        bartlett[:, range(d), range(d)] = np.sqrt(rng.chisquare(self.df - np.arange(d), (size, d)))
        root = np.linalg.solve(bartlett, np.linalg.cholesky(np.array(self.scale)).T)
        covariance = np.swapaxes(root, -1, -2) @ root
        z = rng.standard_normal((size, d)) / math.sqrt(self.kappa)
        return np.array(self.mean) + np.einsum("...ji,...j->...i", root, z), covariance

    def numbers(self) -> list[float]:
        return [*self.mean, self.kappa, self.df, *pack(np.array(self.scale)).tolist()]

    @classmethod
    def from_numbers(cls, numbers: Sequence[float]) -> NormalInverseWishart:
        d = _dim(len(numbers) - 2)
        if d + d * (d + 1) // 2 + 2 != len(numbers) or d < 1:
            raise UsageError(
                f"{cls.name} takes a mean, kappa, df and the upper triangle of a scale, not {len(numbers)} numbers.",
                hint="for two columns write m1,m2,kappa,df,s11,s12,s22",
            )
        values = np.array(numbers, dtype=float)
        return cls(values[:d], values[d], values[d + 1], unpack(values[d + 2 :], d))


def _dim(n_statistics: int) -> int:
    """Solve d + d (d + 1) / 2 = n_statistics, rounding down."""
    return (math.isqrt(9 + 8 * max(n_statistics, 0)) - 3) // 2


def _standard(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    d = _dim(eta.shape[-1] - 2)
    kappa, df = eta[..., -2], eta[..., -1]
    mean = eta[..., :d] / kappa[..., None]
    return mean, kappa, df, unpack(eta[..., d:-2], d) - kappa[..., None, None] * outer(mean)


def _log_multigamma(a: np.ndarray | float, d: int) -> np.ndarray:
    """Return log Gamma_d(a) for arrays of ``a``, which SciPy's own does not take."""
    halves = np.arange(d) / 2
    return d * (d - 1) / 4 * math.log(math.pi) + gammaln(np.asarray(a)[..., None] - halves).sum(axis=-1)

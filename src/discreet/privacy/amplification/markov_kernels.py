"""Mixing coefficients of common kernels, in closed form, for inputs in a bounded set.

The set must be a public fact about the mechanism's outputs, or be enforced by projecting them onto it first. Outside a
bounded set these kernels hardly mix at all: two inputs far enough apart stay apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erf, log_ndtr

from discreet.arguments import not_negative, positive, whole
from discreet.checked import checked
from discreet.privacy.amplification.mixing_coefficients import MarkovKernel

# Panels of the radial integral in `GaussianKernel.doeblin`, and nodes on each.
_PANELS, _NODES = 40, 20
_QUADRATURE_ERROR = 1e-12
# The log of a float that is not yet rounded to 0; what is smaller is stated as this.
_SMALLEST = -700.0


@dataclass(frozen=True)
class RandomizedResponseKernel(MarkovKernel):
    """Keep a label with probability e^epsilon / (e^epsilon + k - 1), else say one of the other k - 1 at random.

    Dobrushin at e: max(0, (e^epsilon - e^e) / (e^epsilon + k - 1)). Doeblin, with the uniform omega, is the same at
    e = 0. Ultra-mixing: 1 - e^-epsilon, whatever k.

    References
    ----------
    Definition 22 of Geumlek (2020), applied to the matrix.
    """

    n_labels: int
    epsilon: float

    def __post_init__(self) -> None:
        whole(self.n_labels, "n_labels", least=2)
        not_negative(self.epsilon, "epsilon")

    @checked
    def dobrushin(self, epsilon: float = 0.0) -> float:
        # divided by e^epsilon, so that a large one does not overflow
        gain = -np.expm1(min(epsilon - self.epsilon, 0.0))
        return float(gain / (1 + (self.n_labels - 1) * np.exp(-self.epsilon)))

    def doeblin(self) -> float:
        return self.dobrushin()

    def ultra_mixing(self) -> float:
        return float(-np.expm1(-self.epsilon))

    @property
    def matrix(self) -> np.ndarray:
        """The kernel as a matrix, inputs first."""
        other = 1 / (np.exp(self.epsilon) + self.n_labels - 1)
        matrix = np.full((self.n_labels, self.n_labels), other)
        np.fill_diagonal(matrix, 1 - (self.n_labels - 1) * other)
        return matrix


@dataclass(frozen=True)
class LaplaceKernel(MarkovKernel):
    """Add Laplace noise of scale ``laplace_scale`` to a number in an interval of length ``width``.

    With t = width / laplace_scale, Dobrushin at epsilon: max(0, 1 - e^((epsilon - t) / 2)); Doeblin: 1 - e^(-t / 2),
    since the least density at y is that of the farther end; ultra-mixing: 1 - e^-t.

    References
    ----------
    Definition 22 of Geumlek (2020), the worst pair being the two ends.
    """

    laplace_scale: float
    width: float

    def __post_init__(self) -> None:
        positive(self.laplace_scale, "laplace_scale")
        not_negative(self.width, "width")

    @property
    def _t(self) -> float:
        return self.width / self.laplace_scale

    @checked
    def dobrushin(self, epsilon: float = 0.0) -> float:
        return float(-np.expm1(min((epsilon - self._t) / 2, 0.0)))

    def doeblin(self) -> float:
        return self.dobrushin()

    def ultra_mixing(self) -> float:
        return float(-np.expm1(-self._t))


@dataclass(frozen=True)
class GaussianKernel(MarkovKernel):
    r"""Add normal noise of standard deviation ``sigma`` to each coordinate of a vector in a ball of ``radius``.

    Dobrushin at epsilon: with t = 2 radius / sigma, Phi(t/2 - epsilon/t) - e^epsilon Phi(-t/2 - epsilon/t), in any
    dimension. Doeblin: the least density at y is that of the farthest point of the ball, so

        1 - gamma = \int N(norm(y) + radius; 0, sigma^2 I) dy,

    2 Phi(-radius / sigma) in one dimension, a radial integral in several. Ultra-mixing: 1, the ratio of two shifted
    normal densities has no bound; :class:`ProjectedGaussianKernel` has one.

    References
    ----------
    Definition 22 of Geumlek (2020); Balle and Wang (2018) for the hockey-stick divergence.
    """

    sigma: float
    radius: float
    dimension: int = 1

    def __post_init__(self) -> None:
        positive(self.sigma, "sigma")
        not_negative(self.radius, "radius")
        whole(self.dimension, "dimension")

    @checked
    def dobrushin(self, epsilon: float = 0.0) -> float:
        return _gaussian_hockey_stick(2 * self.radius / self.sigma, epsilon)

    def doeblin(self) -> float:
        r, d = self.radius / self.sigma, self.dimension
        if d == 1:
            return float(erf(r / np.sqrt(2)))
        if r == 0:
            return 0.0
        # the mean over distances s of N(0, I) from the center of 1 less the ratio of the densities at s + r and s. The
        # distribution of s is log-concave with curvature of at least 1, so that twelve away from its peak nothing is
        # left
        peak = np.sqrt(d - 1)
        edges = np.linspace(max(0.0, peak - 12.0), peak + 12.0, _PANELS + 1)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        half = 0.5 * np.diff(edges)[:, None]
        s = edges[:-1, None] + half * (nodes + 1)
        off = s - peak
        mass = half * weights * np.exp((d - 1) * np.log1p(off / peak) - 0.5 * off * (s + peak))
        lost = np.average(-np.expm1(-r * (s + 0.5 * r)), weights=mass)
        return float(min(lost * (1 + _QUADRATURE_ERROR), 1.0))

    def ultra_mixing(self) -> float:
        return 1.0 if self.radius > 0 else 0.0


@dataclass(frozen=True)
class ProjectedGaussianKernel(MarkovKernel):
    """Add normal noise to a number in an interval of length ``width`` and project the result back onto the interval.

    Outputs beyond an end become that end, which then has a mass of its own. Total variation and the Doeblin
    coefficient do not change; ultra-mixing becomes possible. With t = width / sigma, Dobrushin at epsilon is that of
    :class:`GaussianKernel` while the threshold t/2 + epsilon/t stays within the interval, and max(0, 1/2 - e^epsilon
    Phi(-t)) beyond. Ultra-mixing: 1 - 2 Phi(-t); the least ratio is that of the masses of an end, seen from the other
    end.

    References
    ----------
    Definition 22 of Geumlek (2020). Likelihood ratios grow with the output, so thresholds are the worst events, and
    their worst pair of inputs is the two ends.
    """

    sigma: float
    width: float

    def __post_init__(self) -> None:
        positive(self.sigma, "sigma")
        not_negative(self.width, "width")

    @property
    def _t(self) -> float:
        return self.width / self.sigma

    @checked
    def dobrushin(self, epsilon: float = 0.0) -> float:
        t = self._t
        if t == 0 or epsilon == np.inf:
            return 0.0
        if epsilon <= t * t / 2:
            return _gaussian_hockey_stick(t, epsilon)
        return float(-0.5 * np.expm1(min(epsilon + np.log(2.0) + log_ndtr(-t), 0.0)))

    def doeblin(self) -> float:
        return float(erf(self._t / np.sqrt(8)))

    def ultra_mixing(self) -> float:
        return float(erf(self._t / np.sqrt(2)))


def _gaussian_hockey_stick(t: float, epsilon: float) -> float:
    """Return D_{e^epsilon} of two unit normal distributions ``t`` apart, rounded up: positive for every epsilon."""
    if t == 0 or epsilon == np.inf:
        return 0.0
    if epsilon == 0:
        return float(erf(t / np.sqrt(8)))
    log_first, log_rest = log_ndtr(t / 2 - epsilon / t), log_ndtr(-t / 2 - epsilon / t)
    if log_first < _SMALLEST:
        return float(np.exp(_SMALLEST))
    # a relative error of the exponents, which are sums of numbers of this size, is an absolute one of their difference
    error = 1e-15 * (4 + epsilon - log_first - log_rest)
    ratio = epsilon + log_rest - log_first
    return float(min(np.exp(log_first) * (error - np.expm1(min(ratio, 0.0))), 1.0))

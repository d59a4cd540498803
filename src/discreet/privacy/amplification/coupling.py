"""Amplification by coupling: noise added to a private output, counted at its Rényi divergence.

Uniform mixing fails on the real line, where inputs can be far apart. The neighbors' distributions mu and nu are not far
apart, and theorem 20 splits the way from one to the other: part of it is hidden by the mechanism, the rest by the
kernel.

References
----------
Geumlek (2020), section 6.4. Feldman, Mironov, Talwar and Thakurta (2018), Privacy amplification by iteration.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import positive
from discreet.checked import checked
from discreet.errors import UsageError
from discreet.privacy.amplification.checks import orders, probabilities
from discreet.privacy.amplification.differences import mean_exp, second_difference
from discreet.privacy.amplification.divergences import renyi_divergence
from discreet.privacy.amplification.mixing_coefficients import FiniteKernel

# Beyond this exponent only logarithms are computed; what is left of 1 then does not matter.
_LARGE = 500.0


@checked
def coupling_bound(order: float, nu: ArrayLike, coupling: ArrayLike, kernel: FiniteKernel) -> float:
    r"""Bound R_order(mu K || nu K) on a finite space by a coupling of some omega with mu.

    R(omega || nu) + max over x in the support of nu of R((H K)(x) || K(x)), where H(x) is the distribution of the
    second coordinate given that the first is x. Any omega and coupling are allowed; the diagonal of mu gives the
    data-processing inequality.

    Parameters
    ----------
    order
        From 1 (relative entropy) to infinity.
    nu
        Distribution of the mechanism on the one of two neighbors that stands second in the divergence.
    coupling
        ``coupling[x, y]``: joint distribution with marginals omega (rows) and mu (columns).
    kernel
        Applied to both.

    References
    ----------
    Geumlek (2020), theorem 20, equation (6.2). Any neighbors.
    """
    nu = probabilities(nu, "nu")
    shape = (nu.size, nu.size)
    if np.shape(coupling) != shape or kernel.matrix.shape[0] != nu.size:
        raise UsageError("nu, coupling and kernel must be of one size.")
    joint = probabilities(np.ravel(coupling), "coupling").reshape(shape)
    omega = joint.sum(axis=1)
    # where omega has no mass the transport is free to stay, and costs nothing
    moved = np.flatnonzero(omega > 0)
    first = float(renyi_divergence(omega, nu, order))
    if first == np.inf:
        return first
    transported = (joint[moved] / omega[moved, None]) @ kernel.matrix
    return first + float(renyi_divergence(transported, kernel.matrix[moved], order).max())


@checked
def iterated_gaussian_rho(
    l2_sensitivity: float, sigma: float, kernel_sigma: float, lipschitz: float = 1.0
) -> float:
    """Return rho of a Gaussian mechanism, put through an L-Lipschitz map and normal noise again.

    The output is psi(f(D) + N(0, sigma^2 I)) + N(0, kernel_sigma^2 I). Its Rényi divergence of order a is at most a
    rho, rho = l2_sensitivity^2 / (2 (sigma^2 + kernel_sigma^2 / L^2)), exactly so if psi is L times an isometry. Of
    the way between the two means the share L^2 sigma^2 / (L^2 sigma^2 + kernel_sigma^2) is hidden by the first noise.

    References
    ----------
    Geumlek (2020), theorem 20, examples 1 (L = 1) and 3. Neighbors: those whose f differ by at most ``l2_sensitivity``.
    """
    if lipschitz == 0:
        return 0.0
    ratio = positive(kernel_sigma, "kernel_sigma") / positive(lipschitz, "lipschitz")
    return positive(l2_sensitivity, "l2_sensitivity") ** 2 / (2 * (positive(sigma, "sigma") ** 2 + ratio**2))


@checked
def laplace_epsilons(order: ArrayLike, shift: ArrayLike, laplace_scale: float) -> np.ndarray:
    """Return the Rényi divergence log g(z) / (order - 1) of Laplace distributions z = shift / laplace_scale apart.

    g(z) = a / (2a - 1) e^(z (a - 1)) + (a - 1) / (2a - 1) e^(-z a) at order a; the divergence is z at infinity.

    References
    ----------
    Mironov (2017), Rényi differential privacy, corollary 2; Geumlek (2020), example 2.
    """
    a = orders(order)
    z = np.asarray(shift, dtype=float) / positive(laplace_scale, "laplace_scale")
    if not np.all(z >= 0):
        raise UsageError("shifts must not be negative.")
    finite = np.where(np.isinf(a), 2.0, a)
    return np.where(np.isinf(a), z, _log_g(finite, z) / (finite - 1))


@checked
def iterated_laplace_bound(
    order: ArrayLike, l1_sensitivity: float, laplace_scale: float, kernel_scale: float
) -> np.ndarray:
    """Bound the Rényi divergence of a Laplace mechanism to whose output Laplace noise is added again.

    min over w of [log g(w / laplace_scale) + log g((l1_sensitivity - w) / kernel_scale)] / (order - 1). The sum is
    convex in w, so bisection of its derivative finds the best split; every w gives a valid bound. Not tight:
    :func:`iterated_laplace_epsilons` has the exact value. At infinite order nothing is gained over the larger scale
    alone.

    References
    ----------
    Geumlek (2020), theorem 20, example 2 and lemma 5. Neighbors: those whose scalar f differ by at most
    ``l1_sensitivity``.
    """
    a = orders(order)
    shift = positive(l1_sensitivity, "l1_sensitivity")
    first, second = positive(laplace_scale, "laplace_scale"), positive(kernel_scale, "kernel_scale")
    finite = np.where(np.isinf(a), 2.0, a)
    low, high = np.zeros_like(finite), np.full_like(finite, shift)
    for _ in range(60):
        w = 0.5 * (low + high)
        rising = _slope(finite, w / first) / first > _slope(finite, (shift - w) / second) / second
        low, high = np.where(rising, low, w), np.where(rising, w, high)
    # the ends are candidates of their own: there the whole way is hidden by one of the two
    splits = np.stack([0.5 * (low + high), np.zeros_like(finite), np.full_like(finite, shift)])
    sums = _log_g(finite, splits / first) + _log_g(finite, (shift - splits) / second)
    return np.where(np.isinf(a), shift / max(first, second), sums.min(axis=0) / (finite - 1))


@checked
def iterated_laplace_epsilons(
    order: ArrayLike, l1_sensitivity: float, laplace_scale: float, kernel_scale: float
) -> np.ndarray:
    r"""Return the exact Rényi divergence of a Laplace mechanism to whose output Laplace noise is added again.

    With p the density of the sum of the two noises and s the sensitivity,

        log \int p(x - s)^a p(x)^(1 - a) dx / (a - 1),

    by Gauss-Legendre quadrature on panels that shrink toward the kinks at 0 and s, to eleven digits. The noise is
    log-concave, so no smaller shift does worse (its tests are ordered: Dong, Roth and Su 2022).

    References
    ----------
    Geumlek (2020), equation (6.3) for p, and lemma 5 for the infinite order, where the value is
    l1_sensitivity / max(laplace_scale, kernel_scale). Neighbors: those whose scalar f differ by at most
    ``l1_sensitivity``.
    """
    a = orders(order)
    shift = positive(l1_sensitivity, "l1_sensitivity")
    scales = positive(laplace_scale, "laplace_scale"), positive(kernel_scale, "kernel_scale")
    result = np.full(a.shape, shift / max(scales))
    for at in np.ndindex(a.shape):
        if np.isfinite(a[at]):
            result[at] = min(_divergence(float(a[at]), shift, scales), shift / max(scales))
    return result


def log_density_of_two(x: ArrayLike, first: float, second: float) -> np.ndarray:
    """Return the log-density at x of the sum of two independent Laplace variables with these scales.

    With b the larger scale, c the smaller and u = |x| / b: p(x) = e^-u (1 + u h(u b (1/c - 1/b))) / (2 (b + c)), where
    h(t) = (1 - e^-t) / t. It is equation (6.3) of Geumlek (2020) in a form that stays exact as the scales approach each
    other, where the printed one divides zero by zero.
    """
    large, small = max(first, second), min(first, second)
    size = np.abs(np.asarray(x, dtype=float))
    h = mean_exp(-size * ((large - small) / (large * small)))
    return -size / large + np.log1p(size / large * h) - np.log(2 * (large + small))


def _log_ratio_of_two(x: np.ndarray, shift: float, first: float, second: float) -> np.ndarray:
    """Return log(p(x - shift) / p(x)) for p of :func:`log_density_of_two`, exact also for a small shift."""
    large, small = max(first, second), min(first, second)
    rate = (large - small) / (large * small)
    # how much farther from 0 the shifted point is
    farther = np.clip(shift - 2 * x, -shift, shift)
    size = np.abs(x)
    grown = farther / large * np.exp(-rate * size) * mean_exp(-rate * farther)
    return np.log1p(grown / (1 + size / large * mean_exp(-rate * size))) - farther / large


def _divergence(a: float, shift: float, scales: tuple[float, float]) -> float:
    """Return log of the integral of p(x - shift)^a p(x)^(1 - a), over a - 1."""
    large, small = max(scales), min(scales)
    # log p changes by one over `small` at the kinks, a times as fast in its a-th power, and decays over `large`
    finest = min(small, shift) / (16 * (2 * a - 1))
    tail = _graded(finest, 60 * large)
    inner = _graded(finest, 0.5 * shift)
    edges = np.concatenate([-tail[::-1], inner[1:], (shift - inner[::-1])[1:], (shift + tail)[1:]])
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(edges)[:, None]
    x = edges[:-1, None] + half * (nodes + 1)
    log_p, log_ratio = log_density_of_two(x, *scales), _log_ratio_of_two(x, shift, *scales)
    if a * shift / large > _LARGE:
        log_value = log_p + a * log_ratio
        top = float(log_value.max())
        return (top + float(np.log((half * weights * np.exp(log_value - top)).sum()))) / (a - 1)
    # the integral less 1: e^(a l) - 1 in the mean, less a (e^l - 1), whose mean is 0
    excess = a * log_ratio**2 * second_difference(log_ratio, a * log_ratio)
    return float(np.log1p((a - 1) * (half * weights * np.exp(log_p) * excess).sum())) / (a - 1)


def _graded(finest: float, reach: float) -> np.ndarray:
    """Return panel edges from 0 to ``reach`` whose widths grow from ``finest`` by half at each step."""
    edges, width = [0.0], finest
    while edges[-1] + width < reach:
        edges.append(edges[-1] + width)
        width *= 1.5
    return np.array([*edges, reach])


def _log_g(a: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return log g_a(z) for finite orders, exact also where g is next to 1."""
    small = z * (a - 1) < 1
    near = np.where(small, z, 0.0)
    excess = a * (a - 1) * near**2 * second_difference(near * (a - 1), -near * a)
    far = np.logaddexp(np.log(a / (2 * a - 1)) + z * (a - 1), np.log((a - 1) / (2 * a - 1)) - z * a)
    return np.where(small, np.log1p(excess), far)


def _slope(a: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the derivative of log g_a at z: a (a - 1) (1 - v) / (a + (a - 1) v) with v = e^(-z (2a - 1))."""
    v = np.exp(-z * (2 * a - 1))
    return -a * (a - 1) * np.expm1(-z * (2 * a - 1)) / (a + (a - 1) * v)

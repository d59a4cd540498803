"""The benchmark's models as a NumPyro user would write them, in every parametrization that seemed worth trying.

All models of a case have the same data and the same posterior. For labels NUTS needs continuous parameters, so either
the latent count is summed out or it is replaced by a continuous one (its normal limit, or a real-valued count); with
n = 1000 and this much noise that changes nothing visible, and the benchmark checks it.

==============  ======================================================================================================
summed          every possible count summed out inside the likelihood: exact
non-centered    count = n p + sqrt(n p (1 - p)) x, x standard normal; Laplace likelihood
convolved       the normal count and the Laplace noise integrated in closed form
collapsed       p integrated out by conjugacy: NUTS samples the share q = count / n alone, and p given q is drawn after
==============  ======================================================================================================

For truncated families the model itself is approximate: the sums of the mapped statistics are normal, with the mean and
covariance of one record times n.

==============  ======================================================================================================
non-centered    the sums are n m + sqrt(n) L x, x standard normal; Laplace likelihood
convolved       the normal sum and the Laplace noise integrated in closed form (one statistic only)
mixed           Laplace noise as a normal with exponential variance, the sums integrated out
==============  ======================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammaln, log_ndtr, logsumexp

Model = Callable[..., None]


def _laplace(name: str, residual: Any, b: float) -> None:
    """Add a Laplace likelihood; its constant does not matter to NUTS."""
    numpyro.factor(name, -jnp.abs(residual).sum() / b)


def _normal_laplace(name: str, residual: Any, sd: Any, b: float) -> None:
    """Add the likelihood of a residual that is a normal variable plus Laplace noise."""
    tilt = sd**2 / (2 * b**2)
    left = tilt - residual / b + log_ndtr(residual / sd - sd / b)
    right = tilt + residual / b + log_ndtr(-residual / sd - sd / b)
    numpyro.factor(name, jnp.logaddexp(left, right))


def bernoulli(n: int, b: float) -> dict[str, Model]:
    """y = (2 count - n) + discrete Laplace noise of scale b."""

    def summed(y: Any) -> None:
        p = jnp.asarray(numpyro.sample("p", dist.Beta(1, 1)))
        c = jnp.arange(n + 1.0)
        # |y - z| / b is the discrete Laplace mass function too, up to a constant
        log_noise = -jnp.abs(y[0] - (2 * c - n)) / b
        log_ways = gammaln(n + 1.0) - gammaln(c + 1) - gammaln(n - c + 1)
        log_count = log_ways + c * jnp.log(p) + (n - c) * jnp.log(1.0 - p)
        numpyro.factor("y", logsumexp(log_count + log_noise))

    def non_centered(y: Any) -> None:
        p = numpyro.sample("p", dist.Beta(1, 1))
        x = numpyro.sample("x", dist.Normal(0, 1))
        _laplace("y", y[0] - (2 * (n * p + jnp.sqrt(n * p * (1 - p)) * x) - n), b)

    def convolved(y: Any) -> None:
        p = numpyro.sample("p", dist.Beta(1, 1))
        _normal_laplace("y", y[0] - n * (2 * p - 1), 2 * jnp.sqrt(n * p * (1 - p)), b)

    def collapsed(y: Any) -> None:
        q = numpyro.sample("q", dist.Beta(1, 1))
        _laplace("y", y[0] - n * (2 * q - 1), b)
        yes = n * q
        numpyro.deterministic("alpha", jnp.stack([1 + n - yes, 1 + yes]))

    return {"summed": summed, "non-centered": non_centered, "convolved": convolved, "collapsed": collapsed}


def bernoulli_missing(n: int, b: float) -> dict[str, Model]:
    """y = (2 count - usable, usable), each with noise of scale b; usable is uniform on 0, ..., n."""

    def non_centered(y: Any) -> None:
        p = numpyro.sample("p", dist.Beta(1, 1))
        u = numpyro.sample("u", dist.Uniform(0, n))
        x = numpyro.sample("x", dist.Normal(0, 1))
        _laplace("z", y[0] - (u * (2 * p - 1) + 2 * jnp.sqrt(u * p * (1 - p)) * x), b)
        _laplace("usable", y[1] - u, b)

    def convolved(y: Any) -> None:
        p = numpyro.sample("p", dist.Beta(1, 1))
        u = numpyro.sample("u", dist.Uniform(0, n))
        _normal_laplace("z", y[0] - u * (2 * p - 1), 2 * jnp.sqrt(u * p * (1 - p)), b)
        _laplace("usable", y[1] - u, b)

    def collapsed(y: Any) -> None:
        q = numpyro.sample("q", dist.Beta(1, 1))
        u = numpyro.sample("u", dist.Uniform(0, n))
        _laplace("z", y[0] - u * (2 * q - 1), b)
        _laplace("usable", y[1] - u, b)
        numpyro.deterministic("alpha", 1 + u * jnp.stack([1 - q, q]))

    return {"non-centered": non_centered, "convolved": convolved, "collapsed": collapsed}


def categorical(n: int, b: float, k: int) -> dict[str, Model]:
    """y = cell counts + discrete Laplace noise of scale b on each."""

    def non_centered(y: Any) -> None:
        p = numpyro.sample("p", dist.Dirichlet(jnp.ones(k)))
        x = numpyro.sample("x", dist.Normal(0, 1).expand([k]).to_event(1))
        root = jnp.sqrt(p)
        # sqrt(p) x - p (sqrt(p) . x) has the multinomial covariance diag(p) - p p'
        _laplace("y", y - (n * p + jnp.sqrt(1.0 * n) * (root * x - p * (root @ x))), b)

    def collapsed(y: Any) -> None:
        q = numpyro.sample("q", dist.Dirichlet(jnp.ones(k)))
        _laplace("y", y - n * q, b)
        numpyro.deterministic("alpha", 1 + n * q)

    return {"non-centered": non_centered, "collapsed": collapsed}


def exponential(n: int, b: float, bounds: tuple[float, float]) -> dict[str, Model]:
    """y = sum of z, redacted outside the bounds, + noise of scale b; rate ~ Gamma(10, 10)."""
    x, z, weight = _nodes(*bounds)

    def moments() -> tuple[Any, Any]:
        rate = jnp.asarray(numpyro.sample("rate", dist.Gamma(10, 10)))
        mass = weight * rate * jnp.exp(-rate * x)
        mean = mass @ z
        return n * mean, jnp.sqrt(n * (mass @ z**2 - mean**2))

    def non_centered(y: Any) -> None:
        mean, sd = moments()
        _laplace("y", y[0] - (mean + sd * jnp.asarray(numpyro.sample("x", dist.Normal(0, 1)))), b)

    def convolved(y: Any) -> None:
        mean, sd = moments()
        _normal_laplace("y", y[0] - mean, sd, b)

    return {"non-centered": non_centered, "convolved": convolved}


def normal(n: int, b: float, bounds: tuple[float, float]) -> dict[str, Model]:
    """y = sums of z and z^2, redacted outside the bounds, + noise of scale b; NormalInverseGamma(1, 2, 4, 4)."""
    x, z, weight = _nodes(*bounds)
    features = jnp.stack([z, z**2])

    def moments() -> tuple[Any, Any]:
        variance = jnp.asarray(numpyro.sample("variance", dist.InverseGamma(4, 4)))
        mean = numpyro.sample("mean", dist.Normal(1, jnp.sqrt(variance / 2)))
        mass = weight * jnp.exp(-((x - mean) ** 2) / (2 * variance)) / jnp.sqrt(2 * jnp.pi * variance)
        first = features @ mass
        return n * first, n * ((features * mass) @ features.T - jnp.outer(first, first))

    def non_centered(y: Any) -> None:
        mean, covariance = moments()
        x = numpyro.sample("x", dist.Normal(0, 1).expand([2]).to_event(1))
        _laplace("y", y - (mean + jnp.linalg.cholesky(covariance) @ x), b)

    def mixed(y: Any) -> None:
        mean, covariance = moments()
        w = jnp.asarray(numpyro.sample("w", dist.Exponential(1 / (2 * b**2)).expand([2]).to_event(1)))
        numpyro.sample("y", dist.MultivariateNormal(mean, covariance + jnp.diag(w)), obs=y)

    return {"non-centered": non_centered, "mixed": mixed}


def mean(n: int, b: float) -> dict[str, Model]:
    """y = sums of z and z^2 + noise of scale b; the working model of ``dc.Mean``, which see.

    The table's mean m and the share r of the largest variance that it lacks have Beta(1/2, 1/2) priors, that of m times
    1 + kappa (ours of r is constant on a few steps, and both have a part on their ends, far from these data). NUTS
    samples these two, which are all that the likelihood has; the population's moments are drawn after, given them, as
    ours are (``draw_population``).
    """

    def angles(y: Any) -> None:
        # uniform angles are Beta(1/2, 1/2) shares, without their poles
        angle = jnp.asarray(numpyro.sample("angle", dist.Uniform(0, jnp.pi / 2).expand([2]).to_event(1)))
        _moments(y, jnp.sin(angle[0]) ** 2, jnp.sin(angle[1]) ** 2)

    def shares(y: Any) -> None:
        _moments(y, numpyro.sample("m", dist.Beta(0.5, 0.5)), numpyro.sample("r", dist.Beta(0.5, 0.5)))

    def _moments(y: Any, m: Any, r: Any) -> None:
        total, square = n * (2 * m - 1), n - 4 * n * m * (1 - m) * r
        numpyro.factor("balance", jnp.log1p(4 * n * m * (1 - m) / (b * 2**0.5)))
        _laplace("y", y - jnp.stack([total, square]), b)
        numpyro.deterministic("moments", jnp.stack([jnp.full((), 1.0 * n), m, 1 - r]))

    return {"angles": angles, "shares": shares}


def _nodes(low: float, high: float) -> tuple[Any, Any, Any]:
    """Return quadrature nodes of a record between its bounds, their mapped values, and their weights."""
    z, weight = np.polynomial.legendre.leggauss(40)
    half = (high - low) / 2
    return jnp.asarray(half * z + (low + high) / 2), jnp.asarray(z), jnp.asarray(half * weight)

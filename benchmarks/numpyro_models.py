"""The benchmark's models as a NumPyro user would write them, in every parametrization that seemed worth trying, and
the two ways of running NUTS on them.

All have the same data and the same posterior of ``p``. NUTS needs continuous parameters, so either the latent count is
summed out or it is replaced by a continuous one (its normal limit, or a real-valued count); with n = 1000 and this much
noise that changes nothing visible, and the benchmark checks it.

==============  ======================================================================================================
summed          every possible count summed out inside the likelihood: exact
non-centered    count = n p + sqrt(n p (1 - p)) x, x standard normal; Laplace likelihood
convolved       the normal count and the Laplace noise integrated in closed form
collapsed       p integrated out by conjugacy: NUTS samples the share q = count / n alone, and p given q is drawn after
==============  ======================================================================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammaln, log_ndtr, logsumexp
from numpyro.infer import MCMC, NUTS

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


@dataclass(frozen=True)
class Timed:
    """One run: its time without compilation, what compiling took on top, and p as (chains, draws, ...)."""

    seconds: float
    compiling: float
    p: np.ndarray


class AsCalled:
    """NUTS through NumPyro's public API: an ``MCMC`` object, run once untimed, then again for every release.

    ``jit_model_args=True`` is NumPyro's own way of telling that the same model will see other data of the same size.
    It spares the tracing but not the compiling, so what JAX reports as tracing, lowering or compiling is subtracted.
    """

    name = "as called"

    def __init__(self, model: Model, y: Any, **size: int) -> None:
        self._mcmc = _nuts(model, **size)
        self(0, y)

    def __call__(self, seed: int, y: Any) -> Timed:
        key = jax.random.key(seed)
        spans: list[tuple[float, float]] = []

        def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
            if event.startswith("/jax/core/compile/"):
                now = time.perf_counter()
                spans.append((now - duration_secs, now))

        jax.monitoring.register_event_duration_secs_listener(listen)
        start = time.perf_counter()
        self._mcmc.run(key, y)
        samples = jax.block_until_ready(self._mcmc.get_samples(group_by_chain=True))
        total = time.perf_counter() - start
        jax.monitoring.unregister_event_duration_listener(listen)
        compiling = _covered(spans)
        return Timed(total - compiling, compiling, _draws_of_p(samples, seed))


class HandCompiled:
    """The same sampler from initialization to last draw as one XLA program, compiled ahead of time.

    NumPyro does not offer this; it is the least that its NUTS could take.
    """

    name = "hand-compiled"

    def __init__(self, model: Model, y: Any, **size: int) -> None:
        def everything(key: Any, y: Any) -> dict[str, Any]:
            mcmc = _nuts(model, **size)
            mcmc.run(key, y)
            return mcmc.get_samples(group_by_chain=True)

        self._run = jax.jit(everything).lower(jax.random.key(0), y).compile()
        self(0, y)

    def __call__(self, seed: int, y: Any) -> Timed:
        key = jax.random.key(seed)
        start = time.perf_counter()
        samples = jax.block_until_ready(self._run(key, y))
        return Timed(time.perf_counter() - start, 0.0, _draws_of_p(samples, seed))


def _nuts(model: Model, *, warmup: int, draws: int, chains: int) -> MCMC:
    return MCMC(
        NUTS(model),
        num_warmup=warmup,
        num_samples=draws // chains,
        num_chains=chains,
        # on two cores this was 1.2 to 3 times faster than one chain after another
        chain_method="vectorized",
        progress_bar=False,
        jit_model_args=True,
    )


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return the time inside any of the spans: one function is traced within another, and counts once."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _draws_of_p(samples: dict[str, Any], seed: int) -> np.ndarray:
    """Return p, drawn here where the model integrated it out: untimed, to the benefit of NUTS."""
    if "p" in samples:
        return np.asarray(samples["p"], dtype=float)
    parts = np.random.default_rng(seed).standard_gamma(np.asarray(samples["alpha"], dtype=float))
    p = parts / parts.sum(axis=-1, keepdims=True)
    return p[..., 1] if p.shape[-1] == 2 else p

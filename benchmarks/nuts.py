"""Two ways of running NumPyro's NUTS, timed with and without its compiler."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpyro.infer import MCMC, NUTS

from discreet.inference.bounded_mean import TableDraws, draw_population

Model = Callable[..., None]

#: Names of parameters in the benchmark's models; everything else is latent.
PARAMETERS = ("p", "rate", "mean", "variance", "sd")


@dataclass(frozen=True)
class Timed:
    """One run: its time without compilation, what compiling took on top, and the draws as (chains, draws, ...)."""

    seconds: float
    compiling: float
    draws: np.ndarray


class AsCalled:
    """NUTS through NumPyro's public API: an ``MCMC`` object, run once untimed, then again for every release.

    ``jit_model_args=True`` is NumPyro's own way of telling that the same model will see other data of the same size.
    It spares the tracing but not the compiling, so what JAX reports as tracing, lowering or compiling is subtracted.
    """

    name = "as called"

    def __init__(self, model: Model, y: Any, **size: int) -> None:
        self._mcmc = nuts_chains(model, **size)
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
        compiling = covered(spans)
        return Timed(total - compiling, compiling, _draws(samples, seed))


class HandCompiled:
    """The same sampler from initialization to last draw as one XLA program, compiled ahead of time.

    NumPyro does not offer this; it is the least that its NUTS could take.
    """

    name = "hand-compiled"

    def __init__(self, model: Model, y: Any, **size: int) -> None:
        def everything(key: Any, y: Any) -> dict[str, Any]:
            mcmc = nuts_chains(model, **size)
            mcmc.run(key, y)
            return mcmc.get_samples(group_by_chain=True)

        self._run = jax.jit(everything).lower(jax.random.key(0), y).compile()
        self(0, y)

    def __call__(self, seed: int, y: Any) -> Timed:
        key = jax.random.key(seed)
        start = time.perf_counter()
        samples = jax.block_until_ready(self._run(key, y))
        return Timed(time.perf_counter() - start, 0.0, _draws(samples, seed))


def nuts_chains(model: Model, *, warmup: int, draws: int, chains: int) -> MCMC:
    """Return NUTS on a model, ready to be run on its data."""
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


def covered(spans: list[tuple[float, float]]) -> float:
    """Return the time inside any of the spans: one function is traced within another, and counts once."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def components(values: dict[str, Any], axes: int) -> np.ndarray:
    """Return every parameter's components side by side, as (..., components); the first ``axes`` are draws."""
    arrays = [np.asarray(values[name], dtype=float) for name in PARAMETERS if name in values]
    return np.concatenate([a.reshape(*a.shape[:axes], -1) for a in arrays], axis=-1)


def _draws(samples: dict[str, Any], seed: int) -> np.ndarray:
    """Return the parameters; those that the model left out are drawn here: untimed, to the benefit of NUTS."""
    if "moments" in samples:
        table = TableDraws(*np.moveaxis(np.asarray(samples["moments"], dtype=float), -1, 0))
        population = draw_population(table, np.random.default_rng(seed))
        return np.stack([population.mean, population.sd], axis=-1)
    if "alpha" not in samples:
        return components(samples, 2)
    parts = np.random.default_rng(seed).standard_gamma(np.asarray(samples["alpha"], dtype=float))
    p = parts / parts.sum(axis=-1, keepdims=True)
    return p[..., 1:] if p.shape[-1] == 2 else p

"""Effective draws per second of a private linear regression next to NumPyro's NUTS on the same posterior.

    python benchmarks/regression_nuts.py [--check] [--json] [--d 5] [--rounds 3]

Both draw the moments of the table given noisy sums of products, under the same prior; the population given the moments
is drawn by the same function, untimed for NUTS, to its benefit. NUTS runs 4 chains of 1,000 draws after 1,000 of
warm-up. It is timed as somebody waits for it, with what NumPyro compiles for every new release, and without that.

``--check`` exits with 1 if ``dc.infer`` does not have at least 20 times as many effective draws, of its worst
coefficient, in the time that is waited for, or the two posteriors differ. Needs the ``bench`` extra.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from regression import table_of

import discreet as dc
from discreet.inference.diagnostics import bulk_ess
from discreet.inference.regression import MomentDraws, Readings, draw_population
from discreet.inference.regression.moment_prior import EDGE, ETA, LOG_SD, MEAN_SD, SOFT, SPREAD, A, B

N, TARGET, FARTHEST = 20_000, 20.0, 0.2
CHAINS, DRAWS, WARMUP = 4, 4000, 1000


def nuts_model(readings: Readings) -> Callable[[Any], None]:
    """Return the model as somebody would write it: means, standard deviations, correlations and R^2."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    p, d = readings.size, readings.size - 1
    lower = np.tril_indices(p)
    scales = jnp.asarray(np.concatenate([readings.mean_scales, readings.product_scales[lower]]))

    def model(y: Any) -> None:
        mean = jnp.asarray(numpyro.sample("mean", dist.Normal(jnp.zeros(p), MEAN_SD)))
        sd = jnp.exp(numpyro.sample("log_sd", dist.Normal(LOG_SD * jnp.ones(p), SPREAD)))
        correlation = numpyro.sample("correlation", dist.LKJCholesky(d, ETA))
        share = numpyro.sample("share", dist.Beta(A, B))
        numpyro.factor("soft", (0.5 * d - A) * jnp.log(share / (share + SOFT)))
        direction = numpyro.sample("direction", dist.Normal(jnp.zeros(d), 1))
        direction = direction / jnp.linalg.norm(direction)
        root = jnp.zeros((p, p)).at[:d, :d].set(correlation)
        root = root.at[d, :d].set(jnp.sqrt(share) * direction).at[d, d].set(jnp.sqrt(1 - share))
        root = sd[:, None] * root
        numpyro.deterministic("root", root)
        second = root @ root.T + jnp.outer(mean, mean)
        beyond = jnp.maximum(jnp.diag(second) - 1, 0) / EDGE
        numpyro.factor("edge", -0.5 * (beyond**2).sum())
        residual = (y - N * jnp.concatenate([mean, second[lower]])) / scales
        numpyro.factor("noise", -jnp.abs(residual).sum() if readings.laplace else -0.5 * (residual**2).sum())

    return model


def measured(draws: np.ndarray) -> float:
    """Return the least number of effective draws of intercept, slopes and residual sd."""
    return float(bulk_ess(draws.reshape(CHAINS, -1, draws.shape[-1])).min())


def ours(release: dc.Release, seed: int) -> tuple[float, np.ndarray]:
    """Return the seconds of an inference, and draws side by side."""
    start = perf_counter()
    found = dc.infer(release, draws=DRAWS, rng=seed)
    seconds = perf_counter() - start
    parts = [found.draws[name] for name in ("intercept", "coefficients", "residual_sd")]
    return seconds, np.column_stack(parts)


def theirs(mcmc: Any, readings: Readings, seed: int) -> tuple[float, float, np.ndarray]:
    """Return the seconds of a run with and without compiling, and draws side by side; the columns are on [-1, 1]."""
    import jax
    from nuts import covered

    spans: list[tuple[float, float]] = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event.startswith("/jax/core/compile/"):
            spans.append((perf_counter() - duration_secs, perf_counter()))

    y = np.concatenate([readings.means, readings.products[np.tril_indices(readings.size)]])
    jax.monitoring.register_event_duration_secs_listener(listen)
    start = perf_counter()
    mcmc.run(jax.random.key(seed), y)
    samples = {name: np.asarray(one, dtype=float) for name, one in mcmc.get_samples().items()}
    waited = perf_counter() - start
    jax.monitoring.unregister_event_duration_listener(listen)
    table = MomentDraws(samples["mean"], samples["root"], np.full(DRAWS, float(N)))
    found = draw_population(table, np.random.default_rng(seed))
    return (
        waited,
        waited - covered(spans),
        np.column_stack([found.intercept, found.slopes, found.residual_sd]),
    )


def compare(d: int, rounds: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return how many times as many effective draws a second there are, round by round."""
    from nuts import nuts_chains

    rows, model = table_of(N, d, rng)
    releases = [
        dc.release(rows, model, mechanism="gaussian", rho="0.05", missing="none") for _ in range(rounds + 1)
    ]
    # the first is for compiling what can be kept
    mcmc = nuts_chains(nuts_model(Readings.of(releases[0])), warmup=WARMUP, draws=DRAWS, chains=CHAINS)
    ours(releases[0], 0)
    theirs(mcmc, Readings.of(releases[0]), 0)
    ratios: dict[str, list[float]] = {"waited": [], "run": []}
    apart, figures = [], []
    for number, release in enumerate(releases[1:], 1):
        seconds, mine = ours(release, number)
        waited, run, other = theirs(mcmc, Readings.of(release), number)
        rate = measured(mine) / seconds
        ratios["waited"].append(rate / (measured(other) / waited))
        ratios["run"].append(rate / (measured(other) / run))
        apart.append(float(np.max(np.abs(mine.mean(axis=0) - other.mean(axis=0)) / other.std(axis=0))))
        figures.append(
            {"ours": [seconds, measured(mine)], "nuts": [waited, run, measured(other)], "apart": apart[-1]}
        )
    passed = median(ratios["waited"]) >= TARGET and max(apart) <= FARTHEST
    return {"d": d, "rounds": figures, "ratios": ratios, "apart": max(apart), "passed": passed}


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--d", type=int, default=5, help="features")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    import jax

    jax.config.update("jax_enable_x64", True)
    found = compare(asked.d, asked.rounds, np.random.default_rng(0))
    if asked.json:
        print(json.dumps(found))
    else:
        for one in found["rounds"]:
            (seconds, ess), (waited, run, other) = one["ours"], one["nuts"]
            print(
                f"d = {asked.d}: dc.infer {seconds:.2f} s, ESS {ess:.0f}; NUTS {waited:.1f} s ({run:.1f} s without "
                f"compiling), ESS {other:.0f}; means apart by at most {one['apart']:.3f} sd"
            )
        for name, values in found["ratios"].items():
            print(f"effective draws a second, NUTS as {name}: {median(values):.0f} times")
    return int(asked.check and not found["passed"])


if __name__ == "__main__":
    sys.exit(main())

"""A mixture to learn privately: the world that records come from, and the ways to learn it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import logsumexp

import discreet as dc
from discreet.curator.publish import release_with, sample_with
from discreet.mechanisms.base import RandomSource
from discreet.mechanisms.noise import Laplace
from discreet.models import Mixture
from discreet.privacy.costs.gibbs_costs import SweepCosts
from discreet.privacy.costs.likelihood_range import simplex_range

MODEL = Mixture(2, {"stage": 3, "smoker": 2, "cough": 2, "active": 2})
WEIGHTS = np.array([0.6, 0.4])
TABLES = (
    np.array([[0.80, 0.15, 0.05], [0.10, 0.20, 0.70]]),
    np.array([[0.85, 0.15], [0.20, 0.80]]),
    np.array([[0.90, 0.10], [0.30, 0.70]]),
    np.array([[0.20, 0.80], [0.80, 0.20]]),
)
#: The least probability of a label, for methods that need one.
LEAST = Fraction(1, 20)
RANGES = tuple(simplex_range(size, LEAST) for size in MODEL.sizes)
DELTA = Fraction(1, 10**6)
SHAPE = MODEL.sizes
#: Every combination of labels, in the order of the table of counts.
CELLS = np.array(list(np.ndindex(*SHAPE)))

Draws = dict[str, np.ndarray]


def truth() -> Draws:
    """Return the world's parameters, as one draw."""
    return {"weights": WEIGHTS[None], **dict(zip(MODEL.column_names, (t[None] for t in TABLES), strict=True))}


def simulate(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the counts of all cells for n records."""
    return rng.multinomial(n, np.exp(MODEL.row_log_density(truth(), CELLS)[0]))


def table_of(counts: np.ndarray) -> dict[str, np.ndarray]:
    """Return records with these counts, as a curator's table of labels."""
    codes = np.repeat(CELLS, counts, axis=0)
    return {name: codes[:, d].astype(str) for d, name in enumerate(MODEL.column_names)}


def held_out(draws: Draws) -> float:
    """Return the expected log-likelihood of a new record, whose probability is averaged over the draws.

    The expectation is over the world itself, so that no sample of held-out records adds an error of its own.
    """
    log_mean = logsumexp(MODEL.row_log_density(draws, CELLS), axis=0) - np.log(len(draws["weights"]))
    return float(np.exp(MODEL.row_log_density(truth(), CELLS)[0]) @ log_mean)


def independent_columns() -> float:
    """Return the best that a single component can do: the world's margins, as if columns were independent."""
    p = np.exp(MODEL.row_log_density(truth(), CELLS)[0]).reshape(SHAPE)
    total = 0.0
    for axis in range(p.ndim):
        margin = p.sum(axis=tuple(i for i in range(p.ndim) if i != axis))
        total += float(margin @ np.log(margin))
    return total


def prior(rng: np.random.Generator, size: int = 2000) -> float:
    """Return the held-out likelihood of the prior's mean prediction."""
    draws = {"weights": rng.dirichlet(np.ones(2), size)}
    for name, k in zip(MODEL.column_names, SHAPE, strict=True):
        draws[name] = rng.dirichlet(np.ones(k), (size, 2))
    return held_out(draws)


def noisy_statistics(counts: np.ndarray, epsilon: Any, engine: str, rng: np.random.Generator) -> float:
    """Pay once: Laplace noise on the table of counts, and any number of sweeps on what was released."""
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        table_of(counts),
        MODEL,
        Laplace(epsilon),
        missing="none",
    )
    return held_out(dc.infer(release, engine=engine, draws=600, chains=2, rng=rng).draws)  # pyright: ignore[reportArgumentType]


def without_privacy(counts: np.ndarray, rng: np.random.Generator) -> float:
    """Read the counts themselves: the same release with noise that rounds to nothing."""
    return noisy_statistics(counts, 1000, "naive", rng)


def private_gibbs(
    counts: np.ndarray, epsilon: Any, steps: int, delta: Fraction | None, rng: np.random.Generator
) -> float:
    """Pay for every update; the later half of the states is averaged."""
    mechanism = dc.mechanisms.PrivateGibbs(epsilon=epsilon, delta=delta, steps=steps, support=LEAST)
    release = sample_with(RandomSource.seeded(rng), table_of(counts), MODEL, mechanism, missing="none")
    states = dc.infer(release).draws
    return held_out({name: values[steps // 2 :] for name, values in states.items()})


def sweeps_temperature(epsilon: Any, steps: int, delta: Fraction | None) -> float:
    """Return the temperature at which so many sweeps are paid for."""
    return float(SweepCosts(RANGES).temperature(Fraction(str(epsilon)), steps, delta))


@dataclass(frozen=True)
class OneSample:
    """One draw from the posterior of weights and tables at temperature T = range / epsilon, many tables at once.

    A likelihood of a record lies between the products of the least and of the largest probabilities, so its range over
    the support is the sum of the columns'. There is no exact sampler of this posterior. What is simulated here is a
    long chain that starts at the truth; a curator who released its last state would have this guarantee only with a
    proven bound on its distance from the posterior, for every table.
    """

    sweeps: int = 4000

    def held_out(self, counts: np.ndarray, temperatures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the held-out likelihood of one draw for each row of counts and temperature."""
        rows = len(counts)
        draw = {name: np.repeat(values, rows, axis=0) for name, values in truth().items()}
        power = 1 / np.maximum(temperatures, 1.0)

        def log_posterior(one: Draws) -> np.ndarray:
            return power * (counts * MODEL.row_log_density(one, CELLS)).sum(axis=1)

        current = log_posterior(draw)
        for sweep in range(self.sweeps):
            name = MODEL.draw_names[sweep % len(MODEL.draw_names)]
            least = 0.0 if name == "weights" else float(LEAST)
            step = rng.normal(size=draw[name].shape) * np.exp(rng.uniform(-5, 0, size=(rows,))).reshape(
                rows, *(1,) * (draw[name].ndim - 1)
            )
            proposed = draw[name] + step - step.mean(axis=-1, keepdims=True)
            inside = (proposed > least).reshape(rows, -1).all(axis=1)
            safe = np.where(inside.reshape(rows, *(1,) * (proposed.ndim - 1)), proposed, draw[name])
            new = log_posterior({**draw, name: safe})
            accept = inside & (np.log(rng.random(rows)) < new - current)
            chosen = accept.reshape(rows, *(1,) * (proposed.ndim - 1))
            draw[name] = np.where(chosen, safe, draw[name])
            current = np.where(accept, new, current)
        return np.array([held_out({k: v[i : i + 1] for k, v in draw.items()}) for i in range(rows)])


def one_sample_temperature(epsilon: Any) -> float:
    """Return the temperature of one posterior sample."""
    return max(1.0, float(sum(RANGES)) / float(epsilon))

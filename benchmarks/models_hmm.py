"""Hidden Markov models at the size of the Iraq logs: what noise costs in time, and hmmlearn beside it.

Three samplers on counts of 7 regions, 71 months and five features: the true counts, noisy counts taken as they are
(epsilon = 5), and noisy counts with the true ones latent (epsilon = 5 and 0.1). hmmlearn's ``MultinomialHMM`` does
expectation maximization on the same table of counts, all features side by side, with as many states: one step of it is
one pass over the data, like one iteration here. Seconds are of processor time, which other work on the machine disturbs
less; the least of several runs counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.inference.models.hidden_markov.noisy_cells import Noisy, SequenceCells
from discreet.inference.models.hidden_markov.sampler import sample
from discreet.privacy.noise import DiscreteLaplace

N_SEQUENCES, LENGTH, SIZES, N_ENTRIES = 7, 71, (8, 24, 2, 2, 2), 390_000
ITERATIONS, REPEATS = 200, 5
#: Times that of the same sampler on true counts.
MOST_NAIVE, MOST_AWARE = 1.2, 10.0


def simulated(rng: np.random.Generator) -> np.ndarray:
    """Two states, one change in each sequence; about 785 entries a cell."""
    profiles = [np.concatenate([rng.dirichlet(np.ones(size)) for size in SIZES]) for _ in range(2)]
    change = rng.integers(20, 50, N_SEQUENCES)
    totals = rng.multinomial(N_ENTRIES, np.full(N_SEQUENCES * LENGTH, 1 / (N_SEQUENCES * LENGTH)))
    starts = np.cumsum((0, *SIZES))
    rows = []
    for cell, total in enumerate(totals):
        p = profiles[int(cell % LENGTH >= change[cell // LENGTH])]
        rows.append([rng.multinomial(total, p[a:b]) for a, b in pairwise(starts)])
    return np.array([np.concatenate(row) for row in rows])


def least_seconds(work: Callable[[], Any]) -> float:
    """Return the processor time of the fastest of several runs, after one that compiles and warms up."""
    work()
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def samplers(counts: np.ndarray, states: int, rng: np.random.Generator) -> dict[str, float]:
    """Return the seconds of one iteration of each sampler, of 200."""

    def seconds(cells: SequenceCells, noisy: Noisy | None = None) -> float:
        half = ITERATIONS // 2
        return (
            least_seconds(lambda: sample(states, cells, noisy=noisy, draws=half, burn_in=half, rng=rng))
            / ITERATIONS
        )

    out = {"non-private": seconds(SequenceCells(counts, SIZES, N_SEQUENCES, LENGTH))}
    for epsilon in (5.0, 0.1):
        width = 2 * len(SIZES) / epsilon
        noise = DiscreteLaplace(width).sample(counts.size, rng).reshape(counts.shape)
        cells = SequenceCells(counts + noise, SIZES, N_SEQUENCES, LENGTH)
        out[f"naive {epsilon:g}"] = seconds(cells.clipped())
        out[f"noise-aware {epsilon:g}"] = seconds(
            cells, Noisy(np.full(counts.shape[1], width), False, n_entries=N_ENTRIES)
        )
    return out


def hmmlearn_step(counts: np.ndarray, states: int) -> float | None:
    """Return the seconds of one step of hmmlearn's expectation maximization; None if it is not installed."""
    try:
        from hmmlearn.hmm import MultinomialHMM
    except ImportError:
        return None
    import logging

    logging.getLogger("hmmlearn").setLevel(logging.CRITICAL)
    steps = 20

    def fit() -> int:
        model = MultinomialHMM(
            states,
            n_trials=counts.sum(axis=1),
            n_iter=steps,
            tol=-np.inf,
            random_state=0,
            implementation="log",
        )
        with np.errstate(all="ignore"):  # a state without cells divides by zero
            model.fit(counts, [LENGTH] * N_SEQUENCES)
        return model.monitor_.iter

    done = fit()
    return least_seconds(fit) / done


def run() -> dict[str, Any]:
    """Measure, and judge."""
    rng = np.random.default_rng(0)
    counts = simulated(rng)
    figures: dict[str, Any] = {"iterations": ITERATIONS, "cells": len(counts), "labels": counts.shape[1]}
    passed = True
    for states in (2, 10):
        seconds = samplers(counts, states, rng)
        base = seconds["non-private"]
        peer = hmmlearn_step(counts, states)
        ratios = {name: value / base for name, value in seconds.items() if name != "non-private"}
        figures[f"{states} states"] = {"seconds": seconds, "ratios": ratios, "hmmlearn": peer}
        passed &= all(
            ratio <= (MOST_NAIVE if name.startswith("naive") else MOST_AWARE)
            for name, ratio in ratios.items()
        )
        passed &= peer is None or max(value for name, value in seconds.items() if "aware" not in name) < peer
    return {**figures, "passed": passed}


def describe(figures: dict[str, Any]) -> str:
    """Return the figures as lines of text."""
    lines = []
    for states in (2, 10):
        found = figures[f"{states} states"]
        each = ", ".join(
            f"{name} {1e3 * value:.2f} ms"
            + (f" ({found['ratios'][name]:.2f}x)" if name in found["ratios"] else "")
            for name, value in found["seconds"].items()
        )
        peer = "not installed" if found["hmmlearn"] is None else f"{1e3 * found['hmmlearn']:.2f} ms"
        lines.append(f"{states} states, an iteration: {each}; hmmlearn, a step: {peer}")
    compared = all(figures[f"{states} states"]["hmmlearn"] is not None for states in (2, 10))
    faster = "and faster than hmmlearn" if compared else "and not compared with hmmlearn"
    limits = f"naive at most {MOST_NAIVE:g}x, noise-aware at most {MOST_AWARE:g}x, {faster}"
    return "\n".join([*lines, f"{limits}: {'met' if figures['passed'] else 'MISSED'}"])

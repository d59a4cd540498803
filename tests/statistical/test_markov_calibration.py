"""Markov chains are calibrated: ranks over 300 simulated releases; and where naive reading is not.

Through ``infer`` and the curator's own path with seeded noise. The engine takes the number of steps out of each state
as any number, which paths do not have: 300 trials do not see it at the sizes a chain is released for, and where noise
is of the size of the counts the last test says how far intervals are off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.models import MarkovChain
from tests.statistical.ranks import N_DRAWS, least_p, table_ranks

TRIALS = 300
STATES = 3
# one alarm in a thousand for all assertions of this file: 8 runs, 12 scalars, 2 tests
THRESHOLD = 1e-3 / (8 * 12 * 2)

# steps that belong to no path, any number out of each state; and noise of standard deviation 57 on counts of about 50
LOOSE, STRONG = "loose steps, epsilon 1", "laplace, 40 x 12, epsilon 0.1"
# mechanism, sequences, points in time, neighbors
SETTINGS: dict[str, tuple[Any, int, int, Any]] = {
    "laplace, 40 x 12, epsilon 0.3": (dc.mechanisms.Laplace(0.3), 40, 12, "replace"),
    "laplace, 200 x 10, epsilon 0.1": (dc.mechanisms.Laplace(0.1), 200, 10, "replace"),
    "gaussian, 60 x 10, rho 0.05": (dc.mechanisms.Gaussian(rho=0.05), 60, 10, "replace"),
    "private count, 40 x 12, epsilon 0.3": (dc.mechanisms.Laplace(0.3), 40, 12, "add_remove"),
    LOOSE: (dc.mechanisms.Laplace(1), 4 * 60, 3, "replace"),
    STRONG: (dc.mechanisms.Laplace(0.1), 40, 12, "replace"),
}


def model_of(sequences: int, times: int) -> MarkovChain:
    return MarkovChain({"ward": range(sequences)}, {"day": range(times)}, {"state": range(STATES)})


def paths(
    truth: dict[str, np.ndarray], sequences: int, times: int, rng: np.random.Generator
) -> dict[str, Any]:
    """One record for each sequence at each time."""
    states = np.empty((sequences, times), dtype=np.int64)
    states[:, 0] = rng.choice(STATES, size=sequences, p=truth["initial"])
    edges = truth["transition"].cumsum(axis=1)
    for time in range(1, times):
        before = edges[states[:, time - 1]]
        states[:, time] = np.minimum((rng.random((sequences, 1)) > before).sum(axis=1), STATES - 1)
    ward, day = np.indices(states.shape)
    return {"ward": ward.ravel(), "day": day.ravel(), "state": states.ravel()}


def loose_steps(truth: dict[str, np.ndarray], most: int, rng: np.random.Generator) -> dict[str, Any]:
    """First states, and single steps out of each state, any number of each up to ``most``: the engine's own model."""
    records: list[tuple[int, int, int]] = []
    ward = 0
    for row, chances in enumerate([truth["initial"], *truth["transition"]]):
        for state in rng.choice(STATES, size=int(rng.integers(0, most + 1)), p=chances):
            # nothing at time 0 unless it is a first state, nothing at time 1 after one
            records += [(ward, 0, state)] if row == 0 else [(ward, 1, row - 1), (ward, 2, state)]
            ward += 1
    return {name: [one[i] for one in records] for i, name in enumerate(("ward", "day", "state"))}


def simulate(name: str, trials: int, rng: np.random.Generator, engine: Any = "auto") -> np.ndarray:
    """Ranks, trials × scalars."""
    mechanism, sequences, times, neighbors = SETTINGS[name]
    model, out = model_of(sequences, times), []
    for _ in range(trials):
        truth = {
            "initial": rng.dirichlet(np.ones(STATES)),
            "transition": rng.dirichlet(np.ones(STATES), size=STATES),
        }
        rows = loose_steps(truth, 60, rng) if name == LOOSE else paths(truth, sequences, times, rng)
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            rows,
            model,
            mechanism,
            neighbors=neighbors,
        )
        posterior = dc.infer(release, draws=N_DRAWS, chains=1, engine=engine, rng=rng)
        out.append(table_ranks(posterior.draws, truth, rng))
    return np.array(out)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SETTINGS if name != STRONG])
def test_ranks_are_uniform(name: str, rng: np.random.Generator) -> None:
    found = least_p(simulate(name, TRIALS, rng))
    print(f"{name}: least p-value {found:.2g}")
    assert found > THRESHOLD


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace, 40 x 12, epsilon 0.3", "laplace, 200 x 10, epsilon 0.1", LOOSE])
def test_the_naive_engine_is_rejected(name: str, rng: np.random.Generator) -> None:
    found = least_p(simulate(name, TRIALS, rng, engine="naive"))
    print(f"{name}, naive: least p-value {found:.2g}")
    assert found < THRESHOLD


def missed(ranks: np.ndarray) -> np.ndarray:
    """Share of trials in which the central 90% interval does not hold the truth, by scalar."""
    return ((ranks < 0.05) | (ranks > 0.95)).mean(axis=0)


@pytest.mark.slow
def test_intervals_under_strong_noise_are_a_little_too_narrow(rng: np.random.Generator) -> None:
    """The standard error of a share is 0.008, so 0.15 is six of them above 0.1; naive intervals miss it by far."""
    share = missed(simulate(STRONG, 1500, rng))
    print(f"{STRONG}: 90% intervals miss the truth in {share.min():.3f} to {share.max():.3f} of trials")
    assert share.max() < 0.15
    naive = missed(simulate(STRONG, 300, rng, engine="naive"))
    print(f"{STRONG}, naive: {naive.min():.3f} to {naive.max():.3f}")
    assert naive.max() > 0.3

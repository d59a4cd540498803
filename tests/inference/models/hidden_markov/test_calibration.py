"""Simulation-based calibration: parameters, states, tables and noise drawn from the model, and read back."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet.inference.models.hidden_markov.noisy_cells import Noisy, SequenceCells
from discreet.inference.models.hidden_markov.sampler import Draws, sample
from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace
from discreet.validation.ranks import rank, uniformity

N_STATES, N_SEQUENCES, LENGTH, SIZES, N_ENTRIES = 2, 2, 10, (2, 3), 400
N_CELLS = N_SEQUENCES * LENGTH
TRIALS = 300
# all quantities and both tests of each together
FALSE_ALARM = 1e-3


def simulate(width: float, gaussian: bool, rng: np.random.Generator) -> tuple[Draws, np.ndarray, Noisy]:
    """Draw the truth from the prior (flat Dirichlets, all totals equally likely) and noisy counts from it."""
    transition = rng.dirichlet(np.ones(N_STATES), N_STATES + 1)
    emission = np.concatenate([rng.dirichlet(np.ones(size), N_STATES) for size in SIZES], axis=1)
    states = np.empty(N_CELLS, dtype=np.int64)
    for cell in range(N_CELLS):
        before = N_STATES if cell % LENGTH == 0 else states[cell - 1]
        states[cell] = rng.choice(N_STATES, p=transition[before])
    # stars and bars: all ways to share out the entries are equally likely
    bars = np.sort(rng.choice(N_ENTRIES + N_CELLS - 1, N_CELLS - 1, replace=False))
    totals = np.diff(np.concatenate([[-1], bars, [N_ENTRIES + N_CELLS - 1]])) - 1
    starts = np.concatenate([[0], np.cumsum(SIZES)])
    counts = np.concatenate(
        [
            [rng.multinomial(n, emission[k, a:b]) for n, k in zip(totals, states, strict=True)]
            for a, b in pairwise(starts)
        ],
        axis=1,
    )
    distribution = DiscreteGaussian(width) if gaussian else DiscreteLaplace(width)
    readings = counts + distribution.sample(counts.size, rng).reshape(counts.shape)
    truth = Draws(states[None, None], emission[None, None], transition[None, None], totals[None, None])
    return truth, readings, Noisy(np.full(sum(SIZES), width), gaussian, n_entries=N_ENTRIES)


def quantities(drawn: Draws) -> dict[str, np.ndarray]:
    """Return numbers that do not depend on how states are called, a value for each draw."""
    first = drawn.emission[..., 0].reshape(-1, N_STATES)
    third = drawn.emission[..., 2].reshape(-1, N_STATES)
    states = drawn.states.reshape(-1, N_SEQUENCES, LENGTH)
    stay = np.diagonal(drawn.transition[..., :N_STATES, :], axis1=-2, axis2=-1).reshape(-1, N_STATES)
    out = {
        "least": first.min(axis=1),
        "largest": first.max(axis=1),
        "range": np.ptp(third, axis=1),
        "stay": stay.mean(axis=1),
        "changes": (np.diff(states, axis=2) != 0).sum(axis=(1, 2)).astype(float),
    }
    if drawn.totals is not None:
        out["total"] = drawn.totals.reshape(-1, N_CELLS)[:, 0].astype(float)
    return out


def least_p_values(
    width: float, gaussian: bool, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the p-values of uniform ranks, noise-aware and naive."""
    ranks: dict[str, dict[str, list[float]]] = {"aware": {}, "naive": {}}
    for _ in range(TRIALS):
        truth, readings, noisy = simulate(width, gaussian, rng)
        cells = SequenceCells(readings, SIZES, N_SEQUENCES, LENGTH)
        aware = sample(N_STATES, cells, noisy=noisy, draws=100, burn_in=1000, thin=50, rng=rng)
        naive = sample(N_STATES, cells.clipped(), draws=100, burn_in=100, thin=5, rng=rng)
        for name, drawn in (("aware", aware), ("naive", naive)):
            true = quantities(truth)
            for key, values in quantities(drawn).items():
                ranks[name].setdefault(key, []).append(rank(true[key][0], values, rng))
    aware_p, naive_p = (
        {key: uniformity(np.array(values)).least_p_value for key, values in table.items()}
        for table in ranks.values()
    )
    return aware_p, naive_p


@pytest.mark.slow
@pytest.mark.parametrize(("width", "gaussian"), [(8.0, False), (10.0, True)])
def test_noise_aware_draws_are_calibrated_and_naive_ones_are_not(
    width: float, gaussian: bool, rng: np.random.Generator
) -> None:
    aware, naive = least_p_values(width, gaussian, rng)
    print("noise-aware", aware, "naive", naive)
    assert min(aware.values()) > FALSE_ALARM / (4 * len(aware))
    assert min(naive.values()) < 1e-6

"""Forecasts of hidden Markov models: held-out months and months to come, from rows to intervals, are calibrated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.curator.publish import release_with
from discreet.validation.ranks import rank, uniformity

TRIALS = 300
# all quantities, ranks and coverage together
FALSE_ALARM = 1e-3
N_ENTRIES, LENGTH, N_AHEAD, NEW_ENTRIES = 400, 10, 2, 30
MONTHS = [str(month) for month in range(LENGTH)]
MODEL = dc.models.HiddenMarkov(
    2,
    chain={"ward": ["n", "s"]},
    time={"month": MONTHS},
    features={"a": ["x", "y"], "b": ["u", "v", "w"]},
    held_out=MONTHS[-1:],
)


def simulate(rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    """Draw parameters and paths from the prior, two steps further than declared, and entries of the declared ones."""
    p = {"a": rng.dirichlet(np.ones(2), 2), "b": rng.dirichlet(np.ones(3), 2)}
    moves = rng.dirichlet(np.ones(2), 3)
    z = np.empty((2, LENGTH + N_AHEAD), dtype=int)
    for s in range(2):
        for t in range(z.shape[1]):
            z[s, t] = rng.choice(2, p=moves[2 if t == 0 else z[s, t - 1]])
    # stars and bars: all ways to share out the entries are equally likely
    n_cells = 2 * LENGTH
    bars = np.sort(rng.choice(N_ENTRIES + n_cells - 1, n_cells - 1, replace=False))
    totals = np.diff(np.concatenate([[-1], bars, [N_ENTRIES + n_cells - 1]])) - 1
    cell = np.repeat(np.arange(n_cells), totals)
    states = z[cell // LENGTH, cell % LENGTH]
    labels: dict[str, Any] = {"a": ["x", "y"], "b": ["u", "v", "w"]}
    rows = {"ward": np.array(["n", "s"])[cell // LENGTH], "month": np.array(MONTHS)[cell % LENGTH]}
    for name, words in labels.items():
        at = (rng.random(N_ENTRIES)[:, None] > np.cumsum(p[name][states], axis=1)).sum(axis=1)
        rows[name] = np.array(words)[np.minimum(at, len(words) - 1)]
    return rows, p, z


@pytest.mark.slow
def test_held_out_months_and_months_to_come(rng: np.random.Generator) -> None:
    ranks: dict[str, list[float]] = {}
    held: dict[str, list[bool]] = {}
    for _ in range(TRIALS):
        rows, p, z = simulate(rng)
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            rows,
            MODEL,
            dc.mechanisms.Laplace(1.0),
            missing="none",
        )
        posterior = dc.infer(release, draws=800, chains=1, rng=rng)
        found = posterior.forecast(N_AHEAD, entries=NEW_ENTRIES, rng=rng)
        kept, each = slice(None, None, 8), np.arange(800)
        at_hidden = posterior.draws["states"][:, 0, -1] - 1
        truths = {
            "held out": (p["a"][z[0, LENGTH - 1], 0], posterior.draws["a"][each, at_hidden, 0]),
            "next": (p["a"][z[0, LENGTH], 0], found.shares("a")[:, 0, 0, 0]),
            "after next": (p["b"][z[1, LENGTH + 1], 0], found.shares("b")[:, 1, 1, 0]),
            "entries": (
                float(rng.multinomial(NEW_ENTRIES, p["b"][z[0, LENGTH]])[2]),
                found.counts["b"][:, 0, 0, 2].astype(float),
            ),
        }
        for name, (true, draws) in truths.items():
            ranks.setdefault(name, []).append(rank(float(true), draws[kept], rng))
            low, high = np.quantile(draws, [0.05, 0.95])
            held.setdefault(name, []).append(bool(low <= true <= high))
    least = {name: uniformity(np.array(values)).least_p_value for name, values in ranks.items()}
    covered = {name: float(np.mean(values)) for name, values in held.items()}
    print("ranks", least, "90% intervals hold", covered)
    share = FALSE_ALARM / (2 * len(least))
    assert min(least.values()) > share / 2
    for values in held.values():
        assert binom.cdf(sum(values), len(values), 0.9) > share

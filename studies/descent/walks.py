"""Panel d: how near the states of a private Langevin walk come to the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
from common.claim import Claim, Panel

from discreet.curator.publish import sample_with
from discreet.mechanisms import Langevin
from discreet.mechanisms.base import RandomSource

from .fits import MODEL, fit, simulate


def langevin(rng: np.random.Generator, repeats: int, n: int) -> Panel:
    """Walk on one table at several budgets, with either relation of neighbors."""
    rows = simulate(rng, n)
    mode, hessian = fit(rows, 1.0)
    # distances in units of the posterior, which is nearly normal with so many records
    root = np.linalg.cholesky(hessian)
    epsilons = (0.1, 0.3, 1.0, 3.0)
    series: dict[str, Any] = {"epsilons": epsilons}
    for relation, rate in (("add_remove", 1), ("add_remove", "1/10"), ("replace", 1), ("replace", "1/10")):
        off, distance = [], []
        for epsilon in epsilons:
            mechanism = Langevin(epsilon=epsilon, delta="1e-6", steps=1000, rate=rate, samples=100)
            far, away = [], []
            for _ in range(repeats):
                made = sample_with(
                    RandomSource.seeded(rng),
                    rows,
                    MODEL,
                    mechanism,
                    missing="none",
                    neighbors=relation,  # pyright: ignore[reportArgumentType]
                )
                assert made.samples is not None
                states = (made.samples.arrays()["weights"] - mode) @ root
                far.append(np.sqrt(np.mean(states.mean(axis=0) ** 2)))
                away.append(np.mean(states**2))
            off.append(float(np.mean(far)))
            distance.append(float(np.sqrt(np.mean(away))))
        series[f"{relation}_{rate}"], series[f"{relation}_{rate}_distance"] = off, distance
    off, distance = series["add_remove_1"][2], series["add_remove_1_distance"][2]
    return Panel(
        "langevin",
        series,
        [
            Claim(
                "Wang et al.",
                "where records are many, the walk's own noise pays for its privacy, and its states resemble the "
                "posterior",
                # of draws of the posterior it would be 1; a walk has some ten effective states in six dimensions
                0.6 < distance < 1.5,
                f"{n:,} records, epsilon = 1, delta = 1e-6, neighbors add_remove, 1,000 full steps: states at "
                f"{distance:.2f} posterior standard deviations from the posterior's center, their mean at {off:.2f}",
            ),
            Claim(
                "this library",
                "with neighbors replace, fixed samples are accounted for so loosely that reading all records is better",
                series["replace_1/10"][2] > 2 * series["replace_1"][2],
                f"epsilon = 1: mean off by {series['replace_1'][2]:.2f} with all records, "
                f"{series['replace_1/10'][2]:.2f} with a tenth of them at each step",
            ),
        ],
    )

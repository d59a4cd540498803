"""Others on the same columns: `Normal()`, the naive reading, and OpenDP's mean with its own error bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

import discreet as dc
from columns.populations import Column
from columns.simulate import Setting, releases
from discreet.families.record_sums import RecordSums

SETTINGS = tuple(Setting(n, epsilon) for n in (200, 1000) for epsilon in (0.3, 1.0))
# a release is read by `Normal()` in a third of a second, by the others in a hundredth
_LESS = 8
WAYS = ("Mean", "Normal", "naive", "OpenDP")


@dataclass(frozen=True)
class RivalCell:
    """How often each way's 95% interval held the mean of one column; ``trials`` are those of `Mean`."""

    column: str
    setting: Setting
    trials: int
    held: dict[str, float]


def rival_cell(column: Column, setting: Setting, trials: int, seed: Sequence[int]) -> RivalCell:
    """Resample a column, and read the same sort of release in every way; `Normal()`, which is slow, less often."""
    rng = np.random.default_rng(seed)
    low, high = column.bounds
    population = np.clip(column.values, low, high)
    truth = float(population.mean())
    held: dict[str, list[bool]] = {way: [] for way in WAYS}
    # the two models release the same sums
    ways: tuple[tuple[str, RecordSums, Any, int], ...] = (
        ("Mean", dc.Mean(), "auto", trials),
        # as from a thousand records on; with fewer, another engine takes seconds for each release
        ("Normal", dc.Normal(), "gibbs", max(trials // _LESS, 2)),
        ("naive", dc.Normal(), "naive", trials),
    )
    for way, model, engine, times in ways:
        for trial in releases(column, model, setting, times, rng):
            posterior = dc.infer(trial.release, draws=1000, engine=engine, rng=rng)
            ends = np.quantile(posterior.draws["mean"], [0.025, 0.975])
            held[way].append(bool(ends[0] <= truth <= ends[1]))
    scale, accuracy = opendp_error_bar(low, high, setting.n, setting.epsilon)
    for _ in range(4 * trials):
        noisy = rng.choice(population, setting.n).mean() + rng.laplace(scale=scale)
        held["OpenDP"].append(bool(abs(noisy - truth) <= accuracy))
    return RivalCell(
        column.name, setting, trials, {way: float(np.mean(found)) for way, found in held.items()}
    )


@cache
def opendp_error_bar(low: float, high: float, n: int, epsilon: float) -> tuple[float, float]:
    """Return the noise scale of OpenDP's mean of n bounded values, and the 95% accuracy that it states."""
    dp: Any = import_module("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(bounds=(float(low), float(high)), nan=False), size=n)
    mean = dp.t.make_mean(domain, dp.symmetric_distance())
    # one record replaced is one removed and one added
    scale = dp.binary_search_param(lambda s: mean >> dp.m.then_laplace(s), d_in=2, d_out=float(epsilon))
    return float(scale), float(dp.laplacian_scale_to_accuracy(scale=scale, alpha=0.05))

"""Real columns: how wide intervals get under the epsilon that a plan gives for plus or minus 5% of the range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from columns.populations import Column
from common.claim import Claim

import discreet as dc
from discreet.curator.publish import release_with

N, WIDTH = 500, 0.1
#: How far a width may be from the plan's: with the right rough mean and sd, and with defaults.
KNOWN, DEFAULT = 0.10, 0.30


@dataclass(frozen=True)
class Ratio:
    """What was achieved on a column, as a share of what the plan said."""

    column: str
    epsilon: float
    ratio: float
    error: float

    def within(self, allowed: float) -> bool:
        """Tell whether it is as close as is allowed, beyond what chance explains."""
        return 1 - allowed - 3 * self.error <= self.ratio <= 1 + allowed + 3 * self.error


def rough(value: float) -> float:
    """Return two digits of a number: what somebody knows roughly."""
    return float(f"{value:.2g}")


def known_ratio(column: Column, releases: int, rng: np.random.Generator) -> Ratio | None:
    """Plan with the column's rough mean and sd; None if its bounds have no such width, or any width is less."""
    low, high = column.bounds
    values = np.clip(column.values, low, high)
    public = {"mean": rough(float(values.mean())), "sd": rough(float(values.std()))}
    try:
        plan = dc.plan(dc.Mean(), n=N, width=WIDTH * (high - low), bounds=(low, high), public=public)
    except dc.errors.UsageError:
        return None
    return _achieved(column, float(plan.epsilon or 0), releases, rng)


def default_ratio(column: Column, epsilon: float, releases: int, rng: np.random.Generator) -> Ratio:
    """Use the epsilon of a plan that knows nothing of the column."""
    return _achieved(column, epsilon, releases, rng)


def default_epsilon() -> float:
    """Return the epsilon of a plan that knows nothing but the bounds: the same for all of them."""
    return float(dc.plan(dc.Mean(), n=N, width=WIDTH, bounds=(0, 1)).epsilon or 0)


def _achieved(column: Column, epsilon: float, releases: int, rng: np.random.Generator) -> Ratio:
    low, high = column.bounds
    widths = []
    for _ in range(releases):
        rows = rng.choice(column.values, N)
        made = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            rows,
            dc.Mean(),
            dc.mechanisms.Laplace(epsilon),
            bounds=(low, high),
        )
        first, last = dc.infer(made, rng=rng).interval()["mean"]
        widths.append(float(last - first) / (WIDTH * (high - low)))
    return Ratio(
        column.name, epsilon, float(np.mean(widths)), float(np.std(widths, ddof=1) / np.sqrt(releases))
    )


def claims_of(ratios: list[Ratio], allowed: float, what: str) -> Claim:
    """Return the claim that all columns are as close as they should be."""
    outside = [one for one in ratios if not one.within(allowed)]
    worst = sorted(ratios, key=lambda one: -abs(np.log(one.ratio)))[:5]
    named = ", ".join(f"{one.column} {one.ratio:.3f}" for one in worst)
    return Claim(
        "real columns",
        f"widths are within {100 * allowed:.0f}% of the plan's {what}",
        not outside,
        f"{len(ratios) - len(outside)} of {len(ratios)} columns; furthest: {named}",
    )

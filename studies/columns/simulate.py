"""Simulated releases of a real column through the public path: a resample, its exact totals, seeded noise.

The contribution of every record of the population is computed once, by the rules of a release (fixed point, bins), so
that a resample of any size is a sum of integers. What follows is :func:`discreet.curator.publish.privatize` and
:func:`discreet.infer`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import discreet as dc
from columns.populations import Column
from discreet.curator.declare import declare
from discreet.curator.publish import privatize
from discreet.domain.declarations import Neighbors
from discreet.families.histogram import Histogram
from discreet.families.record_sums import RecordSums
from discreet.mechanisms.base import Mechanism
from discreet.models.layout import Layout

DELTA = Fraction(1, 10**6)


@dataclass(frozen=True)
class Setting:
    """How a column is released: noise, relation, and the share of records that are missing."""

    n: int
    epsilon: float
    noise: str = "laplace"
    neighbors: Neighbors = "replace"
    share: float = 0.0

    def __str__(self) -> str:
        missing = f", {self.share:.0%} missing" if self.share else ""
        return f"n = {self.n}, epsilon = {self.epsilon:g}, {self.noise}, {self.neighbors}{missing}"

    @property
    def has_limited_width(self) -> bool:
        """Whether the width of every column's interval is held against a limit here."""
        return (self.n, self.epsilon, self.noise, self.share) == (10_000, 1.0, "laplace", 0.0)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that is asked for."""
        budget = Fraction(str(self.epsilon))
        if self.noise == "laplace":
            return dc.mechanisms.Laplace(budget)
        return dc.mechanisms.Gaussian(epsilon=budget, delta=DELTA)


@dataclass(frozen=True)
class Trial:
    """One release, and the positions of the usable records of the table it is of."""

    release: dc.Release
    usable: np.ndarray


def releases(
    column: Column, model: RecordSums, setting: Setting, trials: int, rng: np.random.Generator
) -> Iterator[Trial]:
    """Yield simulated releases of resamples of a column."""
    asked = declare(
        column.values,
        model,
        setting.mechanism,
        columns=("value",),
        bounds=column.bounds,
        neighbors=setting.neighbors,
    )
    assert asked.layout is not None
    each = contributions(column, model, setting.neighbors)
    for _ in range(trials):
        usable = rng.integers(column.values.size, size=setting.n)
        if setting.share:
            usable = usable[rng.random(setting.n) >= setting.share]
        totals = each[usable].sum(axis=0) if each.ndim == 2 else _counted(each[usable], model, asked.layout)
        yield Trial(
            privatize(
                lambda noise: int(noise.sample(1, rng)[0]),
                [int(v) for v in totals],
                setting.n,
                model,
                asked.domain,
                asked.mechanism,
                columns=("value",),
                neighbors=setting.neighbors,
            ),
            usable,
        )


def contributions(column: Column, model: RecordSums, neighbors: Neighbors) -> np.ndarray:
    """Return what each record adds to the released vector, in grid steps; for a histogram, its bin."""
    domain = declare(
        column.values, model, dc.mechanisms.Laplace(1), columns=("value",), bounds=column.bounds
    ).domain
    if isinstance(model, Histogram):
        edges = model.edges_within(domain.bounds)
        clipped = np.clip(column.values, edges[0], edges[-1])
        return np.maximum(np.searchsorted(edges, clipped, side="left") - 1, 0)
    layout = model.layout(domain, neighbors)
    assert layout.shift is not None
    assert layout.half is not None
    clipped = np.clip(column.values, *column.bounds)
    z = np.clip((clipped - float(layout.shift[0])) * (1 / float(layout.half[0])), -1, 1)
    made = layout.coordinates(np.ones(z.size), [z, z * z])
    steps = [np.floor(v / float(step) + 0.5) for v, step in zip(made, layout.grid, strict=True)]
    return np.stack(steps, axis=-1).astype(np.int64)


def _counted(bins: np.ndarray, model: RecordSums, layout: Layout) -> np.ndarray:
    histogram = model.require(Histogram, "bins are counted for a histogram")
    counts = np.bincount(bins, minlength=histogram.bins)
    levels = [np.add.reduceat(counts, starts) for starts in histogram.level_starts()]
    totals = np.concatenate(levels)
    return totals if len(layout.names) == totals.size else np.append(totals, bins.size)

"""A cell of the grid: one model, one number of records, one budget, and what each method did over many replicates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.validation.bands import empirical
from discreet.validation.ranks import Uniformity, uniformity

from .methods import MODELS, Reading, replicate

#: Points at which distribution functions of ranks are kept for the figure.
POINTS = np.linspace(0, 1, 101)


@dataclass(frozen=True)
class Key:
    """Which cell."""

    model: str
    n_records: int
    epsilon: float

    @property
    def noise_ratio(self) -> float:
        """The standard deviation of the noise over that of the sum it covers."""
        return MODELS[self.model].noise_ratio(self.n_records, self.epsilon)

    def __str__(self) -> str:
        return f"{self.model} n = {self.n_records:,} ε = {self.epsilon:g}"


@dataclass(frozen=True)
class Job:
    """Some replicates of one cell, small enough for a progress bar.

    ``stage`` separates the random numbers of a second look from those of the first.
    """

    key: Key
    first: int
    last: int
    methods: tuple[str, ...]
    seed: int
    n_utility: int
    #: Methods so slow that only this many replicates get them.
    limits: tuple[tuple[str, int], ...] = ()
    stage: int = 0

    def run(self) -> list[dict[str, Reading]]:
        """Run the replicates, each from its own seed."""
        key, limits = self.key, dict(self.limits)
        where = (list(MODELS).index(key.model), key.n_records, round(key.epsilon * 1000))
        return [
            replicate(
                MODELS[key.model],
                key.n_records,
                key.epsilon,
                tuple(m for m in self.methods if i < limits.get(m, i + 1)),
                (self.seed, self.stage, *where, i),
                utility=i < self.n_utility,
            )
            for i in range(self.first, self.last)
        ]


@dataclass(frozen=True, eq=False)
class Series:
    """One method in one cell: a row of ranks for each replicate, and one MMD where it was computed."""

    ranks: np.ndarray
    sd: np.ndarray
    mmd: np.ndarray

    def test(self, component: int = 0) -> Uniformity:
        """Test whether the ranks of one parameter are uniform."""
        return self._tests[component]

    @cached_property
    def _tests(self) -> list[Uniformity]:
        return [uniformity(column) for column in self.ranks.T]

    def central(self, share: float) -> float:
        """Return the share of truths inside the central interval of the first parameter."""
        return float((np.abs(self.ranks[:, 0] - 0.5) <= share / 2).mean())

    @property
    def utility(self) -> tuple[float, float]:
        """The mean squared MMD and its standard error."""
        return _mean(self.mmd)


@dataclass(eq=False)
class Cell:
    """All methods in one cell; ``again`` holds fresh replicates where the first ones raised a suspicion."""

    key: Key
    series: dict[str, Series]
    again: dict[str, Series] | None = None

    @classmethod
    def of(cls, key: Key, found: Sequence[Mapping[str, Reading]]) -> Cell:
        """Gather replicates."""
        return cls(key, gather(found))

    def worse(self, method: str, than: str, *, fresh: bool = False) -> tuple[float, float]:
        """Return by how much the squared MMD of a method exceeds another's, paired, and its standard error."""
        series = self.again if fresh else self.series
        assert series is not None
        size = min(len(series[method].mmd), len(series[than].mmd))
        return _mean(series[method].mmd[:size] - series[than].mmd[:size])

    def to_dict(self, *, curves: bool) -> dict[str, Any]:
        """Return plain numbers."""
        out: dict[str, Any] = {
            "model": self.key.model,
            "n_records": self.key.n_records,
            "epsilon": self.key.epsilon,
            "noise_ratio": _digits(self.key.noise_ratio),
            "methods": {},
        }
        for name, series in self.series.items():
            tests = [series.test(c) for c in range(series.ranks.shape[1])]
            mean, error = series.utility
            out["methods"][name] = {
                "replicates": len(series.ranks),
                "ks": [_digits(t.ks) for t in tests],
                "p_value": [_digits(t.p_value) for t in tests],
                "outside_90": _digits(tests[0].outside),
                "sd": _digits(float(series.sd.mean())),
                "mmd_squared": _digits(mean),
                "mmd_squared_se": _digits(error),
                "mmd_replicates": len(series.mmd),
            }
            if curves:
                ecdf = empirical(series.ranks[:, 0], POINTS)
                out["methods"][name]["ecdf"] = [round(float(v), 4) for v in ecdf]
        return out


def gather(found: Sequence[Mapping[str, Reading]]) -> dict[str, Series]:
    """Turn replicates into arrays, method by method."""
    names = dict.fromkeys(name for readings in found for name in readings)
    out = {}
    for name in names:
        mine = [readings[name] for readings in found if name in readings]
        mmd = np.array([r.mmd for r in mine])
        out[name] = Series(
            np.array([r.ranks for r in mine]), np.array([r.sd for r in mine]), mmd[np.isfinite(mmd)]
        )
    return out


def _mean(values: np.ndarray) -> tuple[float, float]:
    if len(values) < 2:
        return math.nan, math.nan
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def _digits(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None

"""A cell of the grid: one model, one number of records, one budget, and what each method did over many replicates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .budgets import RenyiBudget
from .models import MODELS
from .replicate import DRAWS, Reading, replicate


@dataclass(frozen=True)
class Key:
    """Which cell; epsilon is a decimal text, so that mechanisms read it exactly."""

    model: str
    n_records: int
    epsilon: str

    @property
    def noise_ratio(self) -> float:
        """Laplace noise against what the data leave open; see :meth:`Model.noise_ratio`."""
        return MODELS[self.model].noise_ratio(self.n_records, float(self.epsilon))

    def __str__(self) -> str:
        return f"{self.model}, n = {self.n_records:,}, ε = {self.epsilon}"


@dataclass(frozen=True)
class Job:
    """Some replicates of one cell, small enough for a progress bar."""

    key: Key
    first: int
    last: int
    methods: tuple[str, ...]
    seed: int
    #: Rényi budgets by method.
    renyi: tuple[tuple[str, RenyiBudget], ...]

    def run(self) -> list[dict[str, Reading]]:
        """Run the replicates, each from its own seed."""
        key, renyi = self.key, dict(self.renyi)
        seed = (self.seed, list(MODELS).index(key.model))
        return [
            replicate(key.model, key.n_records, key.epsilon, renyi, self.methods, seed, i)
            for i in range(self.first, self.last)
        ]


@dataclass(frozen=True, eq=False)
class Series:
    """One method in one cell: arrays with a row for each replicate; ``covered`` has no columns without intervals."""

    error: np.ndarray
    loss: np.ndarray
    covered: np.ndarray
    width: np.ndarray
    spent: float

    @classmethod
    def of(cls, found: Sequence[Reading]) -> Series:
        """Gather replicates."""
        return cls(
            np.array([r.error for r in found]),
            np.array([r.loss for r in found]),
            np.array([r.covered for r in found], dtype=bool).reshape(len(found), -1),
            np.array([r.width for r in found]),
            max(r.spent for r in found),
        )

    @property
    def has_interval(self) -> bool:
        """Whether there is more than one draw."""
        return self.covered.shape[1] > 0

    def summary(self, what: str) -> tuple[float, float]:
        """Return the mean of ``error``, ``loss``, ``covered`` or ``width`` over replicates, and its standard error."""
        if what in ("covered", "width") and not self.has_interval:
            return math.nan, math.nan
        values = self.covered.mean(axis=1) if what == "covered" else getattr(self, what)
        return mean_and_error(values)


@dataclass(frozen=True, eq=False)
class Cell:
    """All methods in one cell."""

    key: Key
    series: dict[str, Series]
    renyi: Mapping[str, RenyiBudget]

    @classmethod
    def of(cls, key: Key, found: Sequence[Mapping[str, Reading]], renyi: Mapping[str, RenyiBudget]) -> Cell:
        """Gather replicates, all of which have the same methods."""
        return cls(key, {name: Series.of([each[name] for each in found]) for name in found[0]}, renyi)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        methods = {}
        for name, series in self.series.items():
            numbers: dict[str, Any] = {"epsilon_spent": _digits(series.spent, 9)}
            for what in ("error", "loss", "covered", "width"):
                mean, error = series.summary(what)
                numbers[what], numbers[f"{what}_se"] = _digits(mean), _digits(error)
            if name in self.renyi:
                budget = self.renyi[name]
                numbers["renyi"] = {
                    "order": budget.order,
                    "epsilon": _digits(float(budget.epsilon), 9),
                    "weight": _digits(budget.weight, 6),
                }
            methods[name] = numbers
        return {
            "model": self.key.model,
            "n_records": self.key.n_records,
            "epsilon": self.key.epsilon,
            "noise_ratio": _digits(self.key.noise_ratio),
            "replicates": len(next(iter(self.series.values())).error),
            "methods": methods,
        }


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return a mean and its standard error."""
    if len(values) < 2:
        return float(values.mean()), math.nan
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def nominal_coverage(n_draws: int = DRAWS) -> float:
    """Return the probability that the 2.5% and 97.5% quantiles of draws enclose one more draw of the same distribution.

    With all n + 1 exchangeable, each gap between neighbors is equally likely, and the two interpolated quantiles are
    0.95 (n - 1) gaps apart.
    """
    return 0.95 * (n_draws - 1) / (n_draws + 1)


def _digits(value: float, digits: int = 4) -> float | None:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None

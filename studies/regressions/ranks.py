"""Ranks of true coefficients among their draws: uniform if the posterior is as sure as it should be.

A population comes from the prior itself: means, sds, correlations and R^2 as the engine has them, kurtosis too, and a
number of missing records. Records beyond the bounds are added up as they are, not clipped, because the population's
coefficients are those of unclipped records. Noise is added by the mechanism that releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import discreet as dc
from discreet.curator.publish import choose_mechanism, privatize
from discreet.inference.missing_prior import missing_prior
from discreet.inference.regression.moment_prior import (
    EXCESS_SPREAD,
    draw_prior,
    expected_excess,
    expected_tail,
    towards,
)
from discreet.models.layout import FINE
from discreet.samplers.secure import RandomSource

BUDGETS: dict[str, dict[str, str | None]] = {
    "epsilon = 0.3": {"epsilon": "0.3", "delta": None, "rho": None},
    "epsilon = 1": {"epsilon": "1", "delta": None, "rho": None},
    "rho = 0.05": {"epsilon": None, "delta": None, "rho": "0.05"},
}


@dataclass(frozen=True)
class RankCell:
    """A number of features, a number of records, a budget and a neighbor relation."""

    d: int
    n: int
    budget: str
    neighbors: str


@dataclass(frozen=True)
class Ranks:
    """Shares of draws below the truth, trials × (intercept, slopes, residual sd, R^2), and p-values for uniformity."""

    cell: RankCell
    shares: np.ndarray
    naive: np.ndarray

    @property
    def p_values(self) -> np.ndarray:
        """Kolmogorov-Smirnov p-values for each number."""
        return np.array([stats.kstest(column, "uniform").pvalue for column in self.shares.T])

    @property
    def naive_p_values(self) -> np.ndarray:
        """The same of the naive reading."""
        return np.array([stats.kstest(column, "uniform").pvalue for column in self.naive.T])


def cells() -> list[RankCell]:
    """Return all 36 cells."""
    return [
        RankCell(d, n, budget, neighbors)
        for d in (1, 3, 5)
        for n in (100, 1000)
        for budget in BUDGETS
        for neighbors in ("replace", "add_remove")
    ]


def run(cell: RankCell, trials: int, seed: int, *, draws: int = 1000) -> Ranks:
    """Simulate, release and read one cell."""
    rng = np.random.default_rng([seed, cell.d, cell.n, *cell.budget.encode(), *cell.neighbors.encode()])
    names = [f"x{i}" for i in range(cell.d)]
    bounds = dict.fromkeys(["y", *names], (-1, 1))
    model = dc.models.LinearRegression("y", names, bounds=bounds)
    budget = BUDGETS[cell.budget]
    # what a release takes that names no mechanism
    mechanism = choose_mechanism("gaussian" if budget["rho"] else model.noise(cell.neighbors), **budget)  # pyright: ignore
    model = mechanism.suited(model)
    source = RandomSource.seeded(rng)
    domain = model.read_domain(None, "clip", "count")
    shares, naive = [], []
    for _ in range(trials):
        mean, root = draw_prior(cell.d, rng)
        covariance = root @ root.T
        slopes = np.linalg.solve(covariance[:-1, :-1], covariance[:-1, -1])
        explained = float(slopes @ covariance[:-1, -1])
        truth = np.array(
            [mean[-1] - slopes @ mean[:-1], *slopes, root[-1, -1], explained / covariance[-1, -1]]
        )
        usable = cell.n
        if cell.neighbors == "replace":
            usable = max(cell.n - missing_prior(None, cell.n).sample(rng), cell.d + 2)
        median, spread = expected_excess(towards(mean, covariance))
        excess = median * np.exp(spread * rng.standard_normal())
        tails = np.sqrt(rng.gamma(1 / excess, excess, usable))
        tail = float(expected_tail(mean[-1:], covariance[-1:, -1])[0])
        tail *= np.exp(EXCESS_SPREAD * rng.standard_normal())
        deviations = rng.standard_normal((usable, cell.d + 1)) * tails[:, None]
        deviations[:, -1] *= np.sqrt(rng.gamma(1 / tail, tail, usable))
        rows = mean + deviations @ root.T
        design = np.column_stack([np.ones(usable), rows])
        sums = (design.T @ design)[tuple(np.array(model.design.pairs).T)]
        values = [*(round(float(total / float(FINE))) for total in sums), usable]

        release = privatize(
            source.noise,
            values,
            cell.n,
            model,
            domain,
            mechanism,
            columns=model.column_names,
            neighbors=cell.neighbors,  # pyright: ignore[reportArgumentType]
            coin=source.coin,
        )
        for engine, kept in (("auto", shares), ("naive", naive)):
            posterior: Any = dc.infer(release, engine=engine, rng=rng, draws=draws, chains=2)  # pyright: ignore
            found = posterior.draws
            every = np.column_stack(
                [found["intercept"], found["coefficients"], found["residual_sd"], found["r_squared"]]
            )
            kept.append((every < truth).mean(axis=0))
    return Ranks(cell, np.array(shares), np.array(naive))

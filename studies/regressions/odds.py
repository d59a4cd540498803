"""How often 95% intervals of regressions with a link hold the population's coefficients, by every route."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.mechanisms.base import Mechanism
from discreet.samplers.secure import RandomSource

from .populations import Table

# of two releases the first gets this share of the budget
FIRST = 0.25
BUDGETS: dict[str, tuple[Any, float]] = {
    "epsilon = 1": (lambda x: dc.mechanisms.Laplace(round(x, 6)), 1.0),
    "rho = 0.05": (lambda x: dc.mechanisms.Gaussian(rho=round(x, 6)), 0.05),
}


class Population(Protocol):
    """A table, a regression of its first column, and that one's coefficients in it."""

    @property
    def name(self) -> str: ...
    @property
    def table(self) -> Table: ...
    @property
    def model(self) -> dc.models.LogisticRegression | dc.models.PoissonRegression: ...
    @property
    def truth(self) -> np.ndarray: ...
    def errors(self, at: np.ndarray) -> np.ndarray:
        """Return the standard errors of the coefficients without privacy, from the records at these places."""
        ...


@dataclass(frozen=True)
class Held:
    """What was counted for one table, size, budget and route: intercept and coefficients, in this order."""

    table: str
    n: int
    budget: str
    route: str
    trials: int
    hits: np.ndarray
    naive_hits: np.ndarray
    ratio: np.ndarray
    warned: float

    @property
    def share(self) -> np.ndarray:
        """The share of intervals that hold."""
        return self.hits / self.trials

    def line(self) -> str:
        """Return it in one line."""
        return (
            f"{self.table:<31} n={self.n:<6} {self.budget:<11} {self.route:<9} intercept {self.share[0]:.3f}  "
            f"slopes {self.share[1:].mean():.3f}, least {self.share[1:].min():.3f}  naive "
            f"{self.naive_hits[1:].mean() / self.trials:.2f}  width {np.median(self.ratio):.1f} times  "
            f"warned in {self.warned:.2f}"
        )


def run(population: Population, n: int, budget: str, route: str, trials: int, seed: int) -> Held:
    """Resample, release and read; ``route`` is "one" release or "two", the second from the first."""
    rng = np.random.default_rng([seed, n, *population.name.encode(), *budget.encode(), *route.encode()])
    truth = population.truth
    hits, naive, ratios, warned = np.zeros(len(truth)), np.zeros(len(truth)), [], 0
    infer = partial(dc.infer, rng=rng, draws=1000, chains=2)
    for _ in range(trials):
        at, rows = population.table.sample(n, rng)
        release = _released(population, rows, budget, route, rng, infer)
        posterior = infer(release)
        low, high = _ends(posterior)
        hits += (low <= truth) & (truth <= high)
        ends = _ends(infer(release, engine="naive", draws=400))
        naive += (ends[0] <= truth) & (truth <= ends[1])
        errors = population.errors(at)
        ratios.append((high - low)[1:] / (2 * 1.96 * errors[1:]))
        warned += bool(posterior.diagnostics.headline or posterior.diagnostics.warnings)
    ratio = np.median(ratios, axis=0)
    return Held(population.name, n, budget, route, trials, hits, naive, ratio, warned / trials)


def _released(
    population: Population, rows: Any, budget: str, route: str, rng: np.random.Generator, infer: Any
) -> dc.Release:
    make, whole = BUDGETS[budget]
    source, model = RandomSource.seeded(rng), population.model

    def release(one: Any, share: float) -> dc.Release:
        mechanism: Mechanism = make(share * whole)
        return sample_with(source, rows, one, mechanism)

    if route == "one":
        return release(model, 1.0)
    first = infer(release(model, FIRST))
    return release(model.refined(first), 1 - FIRST)


def _ends(posterior: Any) -> tuple[np.ndarray, np.ndarray]:
    draws = posterior.draws
    every = np.column_stack([draws["intercept"], draws["coefficients"]])
    low, high = np.quantile(every, [0.025, 0.975], axis=0)
    return low, high

"""Simulation-based calibration: draw a parameter, data and a release; where does the posterior put the parameter?

If the posterior is right, the rank of the true parameter among the draws is uniform (Cook, Gelman and Rubin 2006;
Talts et al. 2018). Everything runs through the same code as a real release, except that the noise is seeded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest, kstest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.domain.declarations import Missing, Neighbors
from discreet.families.base import Family
from discreet.inference.engines.registry import EngineName as Engine
from discreet.inference.missing_prior import missing_prior
from discreet.mechanisms.noise import NoiseMechanism
from discreet.models.discrete import DiscreteModel
from discreet.priors.base import Prior

N_DRAWS = 99

#: How many calibration assertions share the suite's false-alarm rate of 1e-3.
N_ASSERTIONS = 250
THRESHOLD = 1e-3 / N_ASSERTIONS


@dataclass(frozen=True)
class Setting:
    """One cell of a calibration table."""

    family: Family
    mechanism: NoiseMechanism
    n: int
    neighbors: Neighbors = "replace"
    missing: Missing = "none"
    engine: Engine = "auto"
    prior: Prior | None = None


def simulate(
    setting: Setting,
    trials: int,
    rng: np.random.Generator,
    *,
    keep: Callable[[np.ndarray, int], np.ndarray] | None = None,
) -> np.ndarray:
    """Return the rank of each scalar of the parameter in each trial, as a number in (0, 1).

    Under ``add_remove`` the number of records is drawn from the prior that ``infer`` is given, uniform on 0, ...,
    2n. With missing values counted, the number of missing ones is drawn from its prior too, which expects few;
    ``keep`` replaces that rule.
    """
    family, out = setting.family, []
    prior = setting.prior or family.default_prior
    assert prior is not None
    for _ in range(trials):
        theta = {name: value[0] for name, value in family.draw(prior, 1, rng).items()}
        n, records = setting.n, None
        if setting.neighbors == "add_remove":
            records = (0, 2 * setting.n)
            n = int(rng.integers(0, 2 * setting.n + 1))
        data: Any = family.sample(theta, n, rng).astype(float) if n else np.empty(0)
        if keep is not None:
            data = keep(data, n)
        elif setting.missing == "count" and setting.neighbors == "replace":
            data[n - missing_prior(None, n).sample(rng) :] = np.nan
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            data,
            family,
            setting.mechanism,
            neighbors=setting.neighbors,
            missing=setting.missing,
        )
        posterior = dc.infer(
            release,
            prior=prior,
            draws=N_DRAWS,
            chains=1,
            records=records,
            engine=setting.engine,
            rng=rng,
        )
        below = np.atleast_1d((posterior.draws["p"] < theta["p"]).sum(axis=0))
        # the rank is uniform on 0, ..., N_DRAWS; a uniform within its step makes it continuous
        out.append((below + rng.random(below.size)) / (N_DRAWS + 1))
    return np.array(out)


def uniform_p(ranks: np.ndarray) -> float:
    """P-value of the two-sided Kolmogorov-Smirnov test."""
    return float(kstest(ranks, "uniform").pvalue)


def tails_p(ranks: np.ndarray) -> float:
    """P-value of the share of ranks outside the central 90%, two-sided: sees a wrong width sooner than KS does."""
    outside = int(((ranks < 0.05) | (ranks > 0.95)).sum())
    return float(binomtest(outside, ranks.size, 0.1).pvalue)


def least_p(ranks: np.ndarray) -> float:
    """Smallest p-value of both tests over all scalars, which are the columns of ``ranks``."""
    return min(min(uniform_p(column), tails_p(column)) for column in ranks.T)


def table_prior_draw(model: DiscreteModel, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw every table of a model of labels from its flat prior."""
    return {
        one.child.name: rng.dirichlet(np.ones(one.child.n_labels), size=one.shape[:-1])
        for one in model.conditionals()
    }


def table_ranks(
    draws: Mapping[str, np.ndarray], truth: Mapping[str, np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """Return the rank of every entry of the true tables among draws, as numbers in (0, 1), end to end."""
    below = np.concatenate([(draws[name] < value).sum(axis=0).ravel() for name, value in truth.items()])
    return (below + rng.random(below.size)) / (len(next(iter(draws.values()))) + 1)

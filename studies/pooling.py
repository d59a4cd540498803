"""Partial pooling of small groups: ranks, and the error of estimates beside no pooling and complete pooling.

    python studies/pooling.py [--check] [--trials 300] [--groups 20] [--model bernoulli] [--seed 0]
    python studies/pooling.py --real [--check] [--trials 100]

In each trial the hyperparameters are drawn from their prior, the groups' parameters from their population, and 10 to 40
records of each group; the table is released by groups (epsilon 1, ``add_remove``) and read with ``pool=True``. Ranked
are the parameter of one group picked at random and the population's mean, among their draws.

* Pooled ranks are to be uniform, and intervals to cover.
* *No pooling* reads each group for itself; *complete pooling* takes all groups to share one parameter: its ranks must
  be far from uniform.
* The mean squared error of pooled estimates (means of draws, averaged over groups and trials) is to be below both.

Poisson groups are read with a central limit (``engine="gibbs"``), which the exact engine would take seven times as long
to do without. Records of ``Mean`` are beta variables whose relative variance is that of the trial.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import binom, kstest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.pooling.one_parameter import draw_common
from discreet.inference.pooling.pooled_groups import curves_of
from discreet.models.grouped import read_groups
from discreet.validation.ranks import rank

ALARM = 1e-3
MODELS = ("bernoulli", "poisson", "mean")
DRAWS = 1000


@dataclass
class Case:
    """A model, how parameters and records of a trial are drawn, and how its groups are read."""

    model: Any
    bounds: Any
    parameter: str
    population: Callable[[np.random.Generator, int], tuple[float, np.ndarray]]
    records: Callable[[np.random.Generator, float, int, float], np.ndarray]
    options: dict[str, Any] = field(default_factory=dict)


def shares(rng: np.random.Generator, n: int) -> tuple[float, np.ndarray]:
    """Draw the mean of a population of shares and the shares, from the prior that pooling has."""
    center, spread = rng.random(2)
    weight = max(spread, 1e-4) ** -2 - 1
    return center, rng.beta(center * weight, (1 - center) * weight, n)


def means(rng: np.random.Generator, n: int) -> tuple[float, np.ndarray]:
    """Likewise of means between 0 and 100, away from the bounds: a few records do not say how near to one they are."""
    center, spread = rng.uniform(0.2, 0.8), rng.uniform(0.02, 0.4)
    weight = spread**-2 - 1
    return 100 * center, 100 * rng.beta(center * weight, (1 - center) * weight, n)


def rates(rng: np.random.Generator, n: int) -> tuple[float, np.ndarray]:
    """Likewise of rates; the weak prior of a rate between 0 and 12 has mean 6."""
    center, spread = rng.exponential(6.0), rng.random()
    shape = (spread / (1 - spread)) ** -2
    return center, rng.gamma(shape, center / shape, n)


def beta_records(rng: np.random.Generator, mean: float, n: int, spread: float) -> np.ndarray:
    """Draw records between 0 and 100 of this mean, whose variance is this share of the largest."""
    share = np.clip(mean / 100, 1e-6, 1 - 1e-6)
    weight = 1 / spread - 1
    return 100 * rng.beta(share * weight, (1 - share) * weight, n)


CASES = {
    "bernoulli": Case(dc.Bernoulli(), None, "p", shares, lambda rng, p, n, _: rng.binomial(1, p, n)),
    "poisson": Case(
        dc.Poisson(), (0, 12), "rate", rates, lambda rng, m, n, _: rng.poisson(m, n), {"engine": "gibbs"}
    ),
    "mean": Case(
        dc.Mean(),
        (0, 100),
        "mean",
        means,
        beta_records,
    ),
}


def trial(case: Case, n_groups: int, epsilon: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the ranks of one trial, and the squared errors of three readings."""
    center, truth = case.population(rng, n_groups)
    sizes, spread = rng.integers(10, 41, n_groups), rng.uniform(0.05, 0.5)
    names = [f"{i:04d}" for i in range(n_groups)]
    values = [case.records(rng, truth[g], n, spread) for g, n in enumerate(sizes)]
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        {"g": np.repeat(names, sizes).tolist(), "v": np.concatenate(values).tolist()},
        read_groups(case.model, "g", names),
        dc.mechanisms.Laplace(epsilon),
        columns=("v",),
        bounds=case.bounds,
        neighbors="add_remove",
        outside="clip" if case.bounds else "redact",
    )
    pooled: Any = dc.infer(release, pool=True, draws=DRAWS, rng=rng, **case.options)
    population, curves = curves_of(release.by_group(), pooled.apart)
    common = population.value(draw_common(curves, population, DRAWS, rng))
    picked = int(rng.integers(n_groups))
    draws = {
        "pooled": pooled.stacked(case.parameter),
        "apart": pooled.apart.stacked(case.parameter),
        "common": np.broadcast_to(common, (n_groups, DRAWS)),
    }
    low, high = np.quantile(draws["pooled"], [0.025, 0.975], axis=1)
    return {
        "ranks": {name: rank(truth[picked], x[picked], rng) for name, x in draws.items()}
        | {"population": rank(center, pooled.population.draws["mean"], rng)},
        "errors": {name: float(np.mean((x.mean(axis=1) - truth) ** 2)) for name, x in draws.items()},
        "covered": float(np.mean((low <= truth) & (truth <= high))),
    }


def run(
    name: str, trials: int, n_groups: int, epsilon: float = 1.0, seed: int = 0
) -> tuple[dict[str, Any], bool]:
    """Return what the trials of a model show, and whether it is what is claimed."""
    rng = np.random.default_rng([seed, MODELS.index(name), n_groups])
    found = [trial(CASES[name], n_groups, epsilon, rng) for _ in range(trials)]
    ranks = {key: np.array([one["ranks"][key] for one in found]) for key in found[0]["ranks"]}
    tests = {key: kstest(values, "uniform") for key, values in ranks.items()}
    errors = {key: float(np.mean([one["errors"][key] for one in found])) for key in found[0]["errors"]}
    covered = int(np.sum((ranks["pooled"] > 0.025) & (ranks["pooled"] < 0.975)))
    good = bool(
        min(tests[key].pvalue for key in ("pooled", "population")) > ALARM / (2 * len(MODELS))
        and binom.cdf(covered, trials, 0.95) > ALARM / len(MODELS)
        and tests["common"].pvalue < ALARM
        and errors["pooled"] < min(errors["apart"], errors["common"])
    )
    return {
        "ks": {key: (float(test.statistic), float(test.pvalue)) for key, test in tests.items()},
        "errors": errors,
        "covered": covered / trials,
        "all_covered": float(np.mean([one["covered"] for one in found])),
    }, good


def real_shares() -> tuple[np.ndarray, np.ndarray]:
    """Return the groups and answers of a survey of marriages (Fair 1978): who had an affair, by age and religion."""
    import statsmodels.api as sm

    table = sm.datasets.fair.load_pandas().data
    groups = table["age"].astype(str) + ", " + table["religious"].astype(str)
    return groups.to_numpy(), (table["affairs"] > 0).to_numpy().astype(int)


def run_real(trials: int, epsilon: float = 1.0, seed: int = 0) -> tuple[dict[str, float], bool]:
    """Sample 800 of 6,366 real records, without the families of the model: how often the groups' shares are covered."""
    groups, answers = real_shares()
    names = sorted(set(groups))
    truth = np.array([answers[groups == name].mean() for name in names])
    rng = np.random.default_rng([seed, 99])
    found = []
    for _ in range(trials):
        rows = rng.choice(groups.size, 800, replace=True)
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            {"g": [name.replace(", ", " / ") for name in groups[rows]], "v": answers[rows].tolist()},
            read_groups(dc.Bernoulli(), "g", [name.replace(", ", " / ") for name in names]),
            dc.mechanisms.Laplace(epsilon),
            columns=("v",),
            neighbors="add_remove",
        )
        pooled: Any = dc.infer(release, pool=True, draws=DRAWS, rng=rng)
        result = []
        for one in (pooled, pooled.apart):
            draws = one.stacked()
            low, high = np.quantile(draws, [0.025, 0.975], axis=1)
            inside = (low <= truth) & (truth <= high)
            result += [inside.mean(), ((draws.mean(axis=1) - truth) ** 2).mean()]
        found.append(result)
    covered, error, alone, alone_error = np.mean(found, axis=0).tolist()
    return {
        "groups": len(names),
        "covered": covered,
        "error": error,
        "alone": alone,
        "alone_error": alone_error,
    }, covered >= 0.93 and error < alone_error


def main() -> int:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a line falls short")
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--real", action="store_true", help="only the real table")
    asked = parser.parse_args()
    failed = 0
    if asked.real:
        result, good = run_real(asked.trials, asked.epsilon, asked.seed)
        print(
            f"real table, {result['groups']} groups: pooled intervals cover {result['covered']:.3f}, squared error "
            f"{result['error']:.4g}; alone {result['alone']:.3f}, {result['alone_error']:.4g}"
            f"{'' if good else '  falls short'}"
        )
        return int(asked.check and not good)
    for name in asked.model or MODELS:
        start = time.process_time()
        result, good = run(name, asked.trials, asked.groups, asked.epsilon, asked.seed)
        failed += not good
        ks = ", ".join(f"{key} {d:.3f} (p = {p:.2g})" for key, (d, p) in result["ks"].items())
        errors = ", ".join(f"{key} {error:.4g}" for key, error in result["errors"].items())
        print(
            f"{name}: KS of ranks: {ks}; covers {result['covered']:.3f} (all groups {result['all_covered']:.3f}); mean "
            f"squared error: {errors}; {time.process_time() - start:.0f} s{'' if good else '  falls short'}",
            flush=True,
        )
    return int(asked.check and failed > 0)


if __name__ == "__main__":
    sys.exit(main())

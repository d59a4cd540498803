"""One replicate of the study: a truth, data, a private release, and everybody's posterior.

The paper does not print its priors. Beta(10, 10) and three labels with Dirichlet(5, 5, 5) are those of its authors'
public code. For the exponential model the prior is Gamma(10, 10) and the bounds are the 2.5% and 97.5% quantiles of a
record before anything is known about the rate: bounds must not depend on the true rate, as those of that code do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import privatize, release_with
from discreet.families.base import Family
from discreet.inference.engine import Question
from discreet.inference.record_prior import record_prior
from discreet.mechanisms.noise import Laplace
from discreet.priors.base import Prior
from discreet.validation.ranks import rank

#: Draws that two posteriors are compared by, and draws among which the truth is ranked.
DRAWS, RANKED = 400, 99
#: Burn-in and draws of the paper's sampler ("5000 iterations after 2000 burnin iterations").
BURN_IN, ITERATIONS = 2000, 5000
#: One-posterior sampling: how many samples share the budget, and where the parameter set is cut.
OPS_SAMPLES, OPS_CUT = 100, 0.1

#: Methods in the order in which they are shown, with the name a reader sees.
METHODS = {
    "exact": "exact",
    "gibbs": "Gibbs",
    "plain": "Gibbs of the paper",
    "naive": "naive",
    "ops": "OPS",
    "non-private": "non-private",
}


@dataclass(frozen=True)
class Model:
    """A likelihood with its prior, and the two sizes that say when noise matters.

    ``record_sd`` is the spread of one record's statistic at the prior mean, ``sensitivity`` how far one record
    can move the released sum, both in the units of the statistic.
    """

    name: str
    family: Family
    prior: Prior
    bounds: tuple[float, float] | None
    record_sd: float
    sensitivity: float

    def noise_ratio(self, n_records: int, epsilon: float) -> float:
        """Return the standard deviation of the noise over that of the sum it covers."""
        return math.sqrt(2) * self.sensitivity / epsilon / (self.record_sd * math.sqrt(n_records))


def _middle_of_waiting_times(shape: float, rate: float) -> tuple[float, float]:
    """Return the 2.5% and 97.5% quantiles of a record: P(x > t) = (rate / (rate + t))^shape."""
    low, high = (rate * ((1 - q) ** (-1 / shape) - 1) for q in (0.025, 0.975))
    # bounds are declared, so they are round numbers
    return round(low, 4), round(high, 4)


_BOUNDS = _middle_of_waiting_times(10, 10)
MODELS = {
    model.name: model
    for model in (
        Model("binomial", dc.Bernoulli(), dc.priors.Beta(10, 10), None, 0.5, 1),
        Model("multinomial", dc.Categorical(3), dc.priors.Dirichlet([5, 5, 5]), None, math.sqrt(2 / 9), 2),
        Model(
            "exponential", dc.Exponential(), dc.priors.Gamma(10, 10), _BOUNDS, 1.0, _BOUNDS[1] - _BOUNDS[0]
        ),
    )
}


@dataclass(frozen=True)
class Reading:
    """What one method made of one replicate.

    Parameters
    ----------
    ranks
        Rank of the truth in (0, 1), one for each parameter (for three labels, three).
    sd
        Standard deviation of the first parameter's draws.
    mmd
        Unbiased squared MMD to the non-private posterior; nan where it was not asked for.
    """

    ranks: tuple[float, ...]
    sd: float
    mmd: float


@dataclass(frozen=True)
class Case:
    """A truth, the exact sums of its data, and the private release of them."""

    truth: np.ndarray
    sums: np.ndarray
    release: Release
    #: Sums of all records, redacted or not, with the release's own noise: more than a private reader could have.
    cheat: np.ndarray


def simulate(model: Model, n_records: int, epsilon: float, rng: np.random.Generator) -> Case:
    """Draw a parameter from the prior and data from the model, and release them with seeded noise."""
    theta = {name: value[0] for name, value in model.family.draw(model.prior, 1, rng).items()}
    steps: list[int] = []

    def draw(distribution: Any) -> int:
        steps.append(int(distribution.sample(1, rng)[0]))
        return steps[-1]

    mechanism = Laplace(epsilon)
    (truth,) = theta.values()
    if model.bounds is not None:
        rows = model.family.sample(theta, n_records, rng)
        release = release_with(
            draw, rows, model.family, mechanism, bounds=model.bounds, outside="redact", missing="none"
        )
        sums = model.family.sufficient(rows).sum(axis=0)
        statistics = release.statistics
        assert statistics.half is not None
        noise = float(steps[0] * statistics.grid[0] * statistics.half[0])
        return Case(np.atleast_1d(truth), sums, release, sums + noise)
    # counts say everything about labels, so rows need not exist
    shares = np.array([1 - truth, truth]) if truth.ndim == 0 else truth
    counts = rng.multinomial(n_records, shares)
    domain = model.family.read_domain(bounds=None, outside="redact", missing="none")
    values = model.family.layout(domain, "replace").coordinates(
        n_records, model.family.geometry.features_of_labels([int(count) for count in counts])
    )
    release = privatize(
        draw, values, n_records, model.family, domain, mechanism, columns=("x",), neighbors="replace"
    )
    sums = counts[1:] if truth.ndim == 0 else counts
    return Case(np.atleast_1d(truth), sums.astype(float), release, np.empty(0))


def _infer(engine: Any, model: Model, case: Case, rng: np.random.Generator) -> np.ndarray:
    posterior = dc.infer(case.release, prior=model.prior, engine=engine, draws=DRAWS, rng=rng)
    return next(iter(posterior.draws.values()))


def _plain(model: Model, case: Case, rng: np.random.Generator) -> np.ndarray:
    """Run the paper's own sampler (its misprints mended) for as long as the paper does."""
    from discreet.inference.engines.gibbs import plain

    question = Question(case.release, model.prior, record_prior(None), ITERATIONS, 1, rng)
    draws = next(iter(plain.draw(question, warmup=BURN_IN).draws.values()))
    return draws[np.linspace(0, len(draws) - 1, DRAWS).round().astype(int)]


def _naive(model: Model, case: Case, rng: np.random.Generator) -> np.ndarray:
    """Take the release at its word; where it is truncated, take the noisy sums of *all* records instead.

    The paper lets its baseline cheat in the same way: there is no simple naive reading of truncated sums.
    """
    if model.bounds is None:
        return _infer("naive", model, case, rng)
    n = case.release.records
    assert n is not None
    return _conjugate(model, model.family.project(case.cheat, n), n, DRAWS, rng)


def _non_private(model: Model, case: Case, rng: np.random.Generator) -> np.ndarray:
    assert case.release.records is not None
    return _conjugate(model, case.sums, case.release.records, DRAWS, rng)


def _conjugate(model: Model, sums: np.ndarray, n: int, size: int, rng: np.random.Generator) -> np.ndarray:
    draws = model.family.draw(model.family.update(model.prior, sums, n), size, rng)
    return next(iter(draws.values()))


def temperature(epsilon: float) -> float:
    """Return the temperature at which ``OPS_SAMPLES`` samples of a probability in [cut, 1 - cut] cost ``epsilon``.

    One sample at temperature T costs range / T, where the range over p of log p(x | p) - log p(x' | p) is
    logit(1 - cut) - logit(cut). A temperature below 1 would sharpen the posterior, so it is never used.
    """
    reach = 2 * math.log((1 - OPS_CUT) / OPS_CUT)
    return max(1.0, OPS_SAMPLES * reach / epsilon)


def _ops(model: Model, case: Case, rng: np.random.Generator) -> np.ndarray:
    """Draw from the tempered, truncated beta posterior of Foulds et al. (2016), eq. 14, in closed form.

    A stand-in for a posterior-sampling mechanism: floating-point draws, for this study and not for publication. Prior
    and likelihood are tempered alike, p(theta | x)^(1/T).
    """
    assert isinstance(model.prior, dc.priors.Beta)
    assert case.release.records is not None
    t = temperature(float(case.release.guarantee.epsilon))  # pyright: ignore[reportAttributeAccessIssue]
    yes = float(case.sums[0])
    a = 1 + (model.prior.a + yes - 1) / t
    b = 1 + (model.prior.b + case.release.records - yes - 1) / t
    low, high = betainc(a, b, OPS_CUT), betainc(a, b, 1 - OPS_CUT)
    # a posterior beyond the cut has no mass left in double precision; the nearest allowed value is its limit
    drawn = betaincinv(a, b, low + (high - low) * rng.random(OPS_SAMPLES))
    return np.clip(drawn, OPS_CUT, 1 - OPS_CUT)


_READERS = {
    "exact": partial(_infer, "exact"),
    "gibbs": partial(_infer, "gibbs"),
    "plain": _plain,
    "naive": _naive,
    "ops": _ops,
    "non-private": _non_private,
}


def applies(method: str, model: Model) -> bool:
    """Tell whether a method is part of the study for this model: the paper samples posteriors of the binomial only."""
    return method != "ops" or model.name == "binomial"


def replicate(
    model: Model,
    n_records: int,
    epsilon: float,
    methods: tuple[str, ...],
    seed: tuple[int, ...],
    *,
    utility: bool,
) -> dict[str, Reading]:
    """Run one replicate. Each method has random numbers of its own, so leaving one out changes no other."""
    case = simulate(model, n_records, epsilon, np.random.default_rng([*seed, 0]))
    reference = _non_private(model, case, np.random.default_rng([*seed, 1]))
    out = {}
    for number, method in enumerate(METHODS, start=2):
        if method not in methods or not applies(method, model):
            continue
        rng = np.random.default_rng([*seed, number])
        draws = _READERS[method](model, case, rng)
        columns = draws.reshape(len(draws), -1)
        kept = columns[np.linspace(0, len(columns) - 1, RANKED).round().astype(int)]
        ranks = tuple(rank(t, column, rng) for t, column in zip(case.truth, kept.T, strict=True))
        mmd = (
            dc.validation.discrepancy(draws, reference, bandwidth=1).squared
            if utility and method != "ops"
            else math.nan
        )
        out[method] = Reading(ranks, float(columns[:, 0].std()), mmd)
    return out

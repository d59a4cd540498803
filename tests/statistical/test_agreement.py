"""Engines that share no code give one posterior, within Monte Carlo error.

``exact`` enumerates or inverts characteristic functions, ``augment`` walks over latent records, ``gibbs`` (from 200
records on) uses a central limit. Each pair is compared by the mean and the standard deviation of every parameter, on a
scale without hard ends, so that moments exist and settle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.inference.diagnostics import bulk_ess
from tests.statistical.cases import LABELS, SCALAR, WIDE, Case

N_SETTINGS = 20
# Two moments of up to ten scalars in up to three comparisons, for 20 settings of 12 families: false alarm 1e-3 in all.
THRESHOLD = 1e-3 / 10_000

EXACT = (*LABELS, *SCALAR)


def settings(case: Case, rng: np.random.Generator, low: int, high: int, *, public: bool) -> dict[str, Any]:
    """Return a random way of releasing records of this case; ``public`` keeps the number of records public."""
    epsilon = float(np.round(np.exp(rng.uniform(np.log(0.1), np.log(2))), 3))
    laplace = rng.random() < 0.7
    return {
        "n": int(np.exp(rng.uniform(np.log(low), np.log(high)))),
        "mechanism": dc.mechanisms.Laplace(epsilon)
        if laplace
        else dc.mechanisms.Gaussian(rho=epsilon**2 / 2),
        "outside": "redact" if case.bounds is None or rng.random() < 0.5 else "clip",
        "missing": "count" if rng.random() < 0.5 else "none",
        "neighbors": "replace" if public or rng.random() < 0.5 else "add_remove",
    }


def simulate(case: Case, rng: np.random.Generator, *, n: int, mechanism: Any, **policy: Any) -> Release:
    """Release ``n`` records drawn from the prior predictive; with missing values counted, a fifth is missing."""
    theta = {name: value[0] for name, value in case.family.draw(case.prior, 1, rng).items()}
    data = case.family.sample(theta, n, rng).astype(float)
    if policy["missing"] == "count":
        data[: n // 5] = np.nan
    columns = {"columns": ["x", "y"]} if case.family.n_columns == 2 else {}
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        data,
        case.family,
        mechanism,
        bounds=case.bounds,
        **columns,
        **policy,
    )


def free(name: str, values: np.ndarray) -> np.ndarray:
    """Return draws on a scale without hard ends."""
    if name.startswith("p"):
        values = np.clip(values, 1e-12, 1 - 1e-12)
        return np.log(values) - np.log1p(-values)
    return np.log(values) if name.startswith(("rate", "variance")) else values


def effective(posterior: dc.Posterior, x: np.ndarray) -> float:
    """Return how many independent draws these values of the posterior's draws are worth."""
    if posterior.diagnostics.independent:
        return x.size
    return max(float(bulk_ess(x.reshape(posterior.n_chains, -1))), 4.0)


def least_p(a: dc.Posterior, b: dc.Posterior) -> float:
    """Return the smallest p-value over all moments of the hypothesis that both are draws of one posterior.

    Under it the two may be pooled, and standard errors come from the pool: a far mode of small weight, which one of
    them happened to miss, widens both. With as many draws of each, a mode that only one has seen k times gives
    sqrt(k) standard errors, and probability 2^(1 - k): the normal tail claims no more than that.
    """
    p_values = []
    theirs = b.scalars()
    for name, values in a.scalars().items():
        pair = [(a, free(name, values)), (b, free(name, theirs[name]))]
        pool = np.concatenate([x for _, x in pair])
        squares = [(posterior, (x - pool.mean()) ** 2) for posterior, x in pair]
        for each in (pair, squares):
            pooled = np.concatenate([x for _, x in each]).std()
            error = pooled * np.sqrt(sum(1 / effective(posterior, x) for posterior, x in each))
            difference = each[0][1].mean() - each[1][1].mean()
            p_values.append(2 * stats.norm.sf(abs(difference) / error))
    return min(p_values)


def compare(release: Release, case: Case, engines: tuple[Any, Any], rng: np.random.Generator) -> float:
    """Return the smallest p-value of a comparison of two engines on a release."""
    # draws of augment cost the most
    draws = 1000 if "augment" in engines else 4000
    a, b = (dc.infer(release, prior=case.prior, engine=name, draws=draws, rng=rng) for name in engines)
    return least_p(a, b)


def agree_small(case: Case, rng: np.random.Generator) -> float:
    """Compare ``exact`` with ``augment`` on few records."""
    release = simulate(case, rng, **settings(case, rng, 5, 100, public=True))
    return compare(release, case, ("exact", "augment"), rng)


def agree_large(case: Case, reference: Any, rng: np.random.Generator) -> float:
    """Compare ``gibbs`` with a reference engine on many records."""
    release = simulate(case, rng, **settings(case, rng, 200, 1000, public=reference == "augment"))
    return compare(release, case, (reference, "gibbs"), rng)


@pytest.mark.parametrize(
    "case",
    [
        # labels and a continuous family; tests/inference/test_augment.py has every family
        case
        if case.name in ("bernoulli", "categorical", "exponential")
        else pytest.param(case, marks=pytest.mark.slow)
        for case in EXACT
    ],
    ids=lambda case: case.name,
)
def test_exact_and_augment_agree(case: Case, rng: np.random.Generator) -> None:
    assert agree_small(case, rng) > THRESHOLD


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_and_gibbs_agree(case: Case, rng: np.random.Generator) -> None:
    assert agree_large(case, "exact", rng) > THRESHOLD


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.slow)
        if "normal" in case.name or case.name == "categorical-10"
        else case
        for case in WIDE
    ],
    ids=lambda case: case.name,
)
def test_augment_and_gibbs_agree(case: Case, rng: np.random.Generator) -> None:
    assert agree_large(case, "augment", rng) > THRESHOLD


@pytest.mark.slow
@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_and_augment_agree_on_many_settings(case: Case, rng: np.random.Generator) -> None:
    assert min(agree_small(case, rng) for _ in range(N_SETTINGS)) > THRESHOLD


@pytest.mark.slow
@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_and_gibbs_agree_on_many_settings(case: Case, rng: np.random.Generator) -> None:
    assert min(agree_large(case, "exact", rng) for _ in range(N_SETTINGS)) > THRESHOLD


@pytest.mark.slow
@pytest.mark.parametrize("case", WIDE, ids=lambda case: case.name)
def test_augment_and_gibbs_agree_on_many_settings(case: Case, rng: np.random.Generator) -> None:
    assert min(agree_large(case, "augment", rng) for _ in range(N_SETTINGS)) > THRESHOLD


def test_the_comparison_sees_a_wrong_posterior(rng: np.random.Generator) -> None:
    """A posterior that ignores the noise, and one a fifth too wide, are told apart."""
    case = LABELS[0]
    release = simulate(
        case,
        rng,
        n=100,
        mechanism=dc.mechanisms.Laplace(0.2),
        outside="redact",
        missing="none",
        neighbors="replace",
    )
    right, naive = (dc.infer(release, prior=case.prior, engine=e, rng=rng) for e in ("exact", "naive"))
    assert least_p(right, naive) < THRESHOLD
    center = np.log(right.draws["p"] / (1 - right.draws["p"]))
    wide = 1 / (1 + np.exp(-(center.mean() + 1.2 * (center - center.mean()))))
    assert least_p(right, dc.Posterior({"p": wide}, right.diagnostics, n_chains=4)) < THRESHOLD

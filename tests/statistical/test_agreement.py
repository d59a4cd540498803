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
from discreet.inference.diagnostics import bulk_ess
from discreet.mechanisms.curator import release_with
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
        "mechanism": dc.LaplaceMechanism(epsilon) if laplace else dc.GaussianMechanism(rho=epsilon**2 / 2),
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
        lambda law: int(law.sample(1, rng)[0]),
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


def moments(posterior: dc.Posterior) -> dict[str, tuple[float, float, float, float]]:
    """Return mean, its standard error, sd and its standard error of every scalar, from effective sample sizes."""
    out = {}
    for name, values in posterior.scalars().items():
        x = free(name, values)
        squares = (x - x.mean()) ** 2
        independent = posterior.diagnostics.independent
        sizes = [
            x.size if independent else max(float(bulk_ess(v.reshape(posterior.n_chains, -1))), 4.0)
            for v in (x, squares)
        ]
        sd = x.std()
        out[name] = (x.mean(), sd / np.sqrt(sizes[0]), sd, squares.std() / (2 * sd * np.sqrt(sizes[1])))
    return out


def least_p(a: dc.Posterior, b: dc.Posterior) -> float:
    """Return the smallest p-value over all moments of the hypothesis that both are draws of one posterior."""
    p_values = []
    ours, theirs = moments(a), moments(b)
    for name, (mean, mean_error, sd, sd_error) in ours.items():
        other = theirs[name]
        p_values.append(2 * stats.norm.sf(abs(mean - other[0]) / np.hypot(mean_error, other[1])))
        p_values.append(2 * stats.norm.sf(abs(sd - other[2]) / np.hypot(sd_error, other[3])))
    return min(p_values)


def ask(release: Release, case: Case, engine: Any, rng: np.random.Generator) -> dc.Posterior:
    # draws of augment cost the most, and it thins them until they are nearly independent
    return dc.infer(
        release, prior=case.prior, engine=engine, draws=1000 if engine == "augment" else 4000, rng=rng
    )


def agree_small(case: Case, rng: np.random.Generator) -> float:
    """Compare ``exact`` with ``augment`` on few records."""
    release = simulate(case, rng, **settings(case, rng, 5, 100, public=True))
    return least_p(ask(release, case, "exact", rng), ask(release, case, "augment", rng))


def agree_large(case: Case, reference: Any, rng: np.random.Generator) -> float:
    """Compare ``gibbs`` with a reference engine on many records."""
    how = settings(case, rng, 200, 1000, public=reference == "augment")
    if reference == "augment" and case.bounds is not None:
        # redacted sums of several statistics can have a second mode, which latent records do not find
        how["outside"] = "clip"
    release = simulate(case, rng, **how)
    return least_p(ask(release, case, reference, rng), ask(release, case, "gibbs", rng))


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_and_augment_agree(case: Case, rng: np.random.Generator) -> None:
    assert agree_small(case, rng) > THRESHOLD


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_and_gibbs_agree(case: Case, rng: np.random.Generator) -> None:
    assert agree_large(case, "exact", rng) > THRESHOLD


@pytest.mark.parametrize("case", WIDE, ids=lambda case: case.name)
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
        mechanism=dc.LaplaceMechanism(0.2),
        outside="redact",
        missing="none",
        neighbors="replace",
    )
    right = ask(release, case, "exact", rng)
    assert least_p(right, ask(release, case, "naive", rng)) < THRESHOLD
    center = np.log(right.draws["p"] / (1 - right.draws["p"]))
    wide = 1 / (1 + np.exp(-(center.mean() + 1.2 * (center - center.mean()))))
    assert least_p(right, dc.Posterior({"p": wide}, right.diagnostics, n_chains=4)) < THRESHOLD

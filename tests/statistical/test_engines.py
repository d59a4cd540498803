"""Calibration of the engines, family by family: where the truth falls among the draws must be uniform.

The default suite runs a few settings with fewer trials; the whole table, as promised, is marked ``slow``. So is all of
``augment``, and of ``gibbs`` in many dimensions: the few trials there would be time for see no error that the agreement
of engines (test_agreement.py) does not see sooner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from tests.statistical.cases import LABELS, SCALAR, WIDE, Case

EXACT = (*LABELS, *SCALAR)
ALL = (*EXACT, *WIDE)

# Two tests of every scalar: 22 in the exact families, 37 in all, six settings each, and the policies below. The
# false-alarm rate of 1e-3 is split over all of them.
THRESHOLD = 1e-3 / 1000

TAILS = 0.1


def check(case: Case, rng: np.random.Generator, *, trials: int, **setting: Any) -> None:
    """Assert that ranks are uniform: by the Kolmogorov-Smirnov test, and by how many fall into the outer tenth."""
    found = dc.calibrate(
        case.family,
        prior=case.prior,
        bounds=case.bounds,
        trials=trials,
        rng=rng,
        workers=1,
        progress=False,
        **setting,
    )
    for name, ranks in found.ranks.items():
        outside = int(((ranks < TAILS / 2) | (ranks > 1 - TAILS / 2)).sum())
        p_values = stats.kstest(ranks, "uniform").pvalue, stats.binomtest(outside, ranks.size, TAILS).pvalue
        assert min(p_values) > THRESHOLD, (name, p_values)


def cases(some: tuple[Case, ...]) -> Any:
    return pytest.mark.parametrize("case", some, ids=lambda case: case.name)


@cases((SCALAR[0], *(pytest.param(SCALAR[i], marks=pytest.mark.slow) for i in (2, 5))))  # pyright: ignore[reportArgumentType]
def test_exact_is_calibrated_on_five_records(case: Case, rng: np.random.Generator) -> None:
    check(case, rng, engine="exact", n=5, epsilon=1, trials=100)


POLICIES = (
    {"missing": "count"},
    {"neighbors": "add_remove"},
    {"outside": "clip", "mechanism": dc.mechanisms.Gaussian(rho="0.02"), "epsilon": None},
)


@pytest.mark.parametrize(
    ("policy", "case"),
    [
        pytest.param(policy, case, id=f"{'-'.join(policy)}-{case.name}", marks=pytest.mark.slow)
        for policy in POLICIES
        for case in (SCALAR[0], SCALAR[2], SCALAR[6])
    ],
)
def test_exact_is_calibrated_under_every_policy(case: Case, policy: Any, rng: np.random.Generator) -> None:
    check(case, rng, **{"engine": "exact", "n": 30, "epsilon": 0.5, "trials": 40, **policy})


# test_agreement.py compares gibbs with exact in all of them
@cases(
    tuple(
        pytest.param(case, marks=pytest.mark.slow)
        if case.name in ("categorical", "gamma", "laplace")
        else case  # pyright: ignore[reportArgumentType]
        for case in (*EXACT, WIDE[1])
    )
)
def test_gibbs_is_calibrated(case: Case, rng: np.random.Generator) -> None:
    check(case, rng, engine="gibbs", n=200, epsilon=0.1, trials=50)


@pytest.mark.slow
@cases(SCALAR)
@pytest.mark.parametrize(
    "policy", [{"missing": "count"}, {"neighbors": "add_remove"}], ids=lambda p: "-".join(p)
)
def test_exact_is_calibrated_when_the_count_is_latent(
    case: Case, policy: Any, rng: np.random.Generator
) -> None:
    check(case, rng, **{"engine": "exact", "n": 30, "epsilon": 0.5, "trials": 300, **policy})


def test_naive_is_rejected(rng: np.random.Generator) -> None:
    with pytest.raises(AssertionError):
        check(SCALAR[2], rng, engine="naive", n=50, epsilon=0.1, trials=200)


@pytest.mark.slow
@cases(EXACT)
@pytest.mark.parametrize("n", [5, 50, 500])
@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_exact_is_calibrated_at_length(case: Case, n: int, epsilon: float, rng: np.random.Generator) -> None:
    check(case, rng, engine="exact", n=n, epsilon=epsilon, trials=1000)


@pytest.mark.slow
@cases((WIDE[1], SCALAR[2]))
def test_augment_is_calibrated(case: Case, rng: np.random.Generator) -> None:
    check(case, rng, engine="augment", n=10, epsilon=0.5, trials=30)


@pytest.mark.slow
@cases(ALL)
@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1])
def test_gibbs_is_calibrated_at_length(case: Case, n: int, epsilon: float, rng: np.random.Generator) -> None:
    check(case, rng, engine="gibbs", n=n, epsilon=epsilon, trials=300)


@pytest.mark.slow
@cases(ALL)
@pytest.mark.parametrize(
    "policy", [{"missing": "count"}, {"neighbors": "add_remove"}], ids=lambda p: "-".join(p)
)
def test_gibbs_is_calibrated_when_the_count_is_latent(
    case: Case, policy: Any, rng: np.random.Generator
) -> None:
    # latent counts are drawn from 0 on, but a central limit is only claimed for 200 records or more
    check(case, rng, **{"engine": "gibbs", "n": 1000, "epsilon": 0.1, "trials": 300, **policy})

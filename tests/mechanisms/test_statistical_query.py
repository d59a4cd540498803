"""The mean of a predicate, as a private draw."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet import priors
from discreet.curator.publish import sample_with
from discreet.errors import EngineError, UsageError
from discreet.mechanisms.base import RandomSource
from discreet.privacy.costs.posterior_divergence import conjugate_divergence

PREDICATE = dc.families.Predicate()


def query(**changes: Any) -> dc.mechanisms.StatisticalQuery:
    return dc.mechanisms.StatisticalQuery(**({"prior": "beta:2,3", "order": 2, "epsilon": 0.1} | changes))


@pytest.mark.parametrize("mode", ["diffused", "concentrated"])
def test_a_query_is_answered(mode: str) -> None:
    release = dc.release([0.2, 0.4, 1.0] * 30, PREDICATE, mechanism=query(mode=mode), impute=0.5)
    assert release.guarantee == dc.RenyiDP([2], [0.1])
    assert dc.Release.from_json(release.to_json()) == release
    (draw,) = dc.infer(release).draws["mean"]
    assert 0 < draw < 1


@pytest.mark.parametrize("mode", ["diffused", "concentrated"])
def test_real_values_stay_within_the_claim(mode: str, rng: np.random.Generator) -> None:
    """Tables of real numbers in [0, 1], also with sums that no table of bits has."""
    n = 30
    record = query(mode=mode).plan(PREDICATE, _domain(), n)
    r, m = (float(record.parameters[name]) for name in "rm")
    bits, reals = 0.0, 0.0
    for rest in [0.0, n - 1.0, *rng.uniform(0, n - 1, size=200)]:
        for x, y in [(0, 1), (1, 0), *rng.uniform(0, 1, size=(5, 2))]:
            p, q = (
                priors.Beta(2 / m + r * (rest + v), 3 / m + r * (n - rest - v)) for v in (float(x), float(y))
            )
            spent = conjugate_divergence(p, q, 2)
            if {x, y} == {0, 1} and rest in (0, n - 1):
                bits = max(bits, spent)
            else:
                reals = max(reals, spent)
    assert 0.95 * 0.1 < bits <= 0.1
    assert reals <= bits


def test_draws_match_the_distribution(rng: np.random.Generator) -> None:
    """Values beyond [0, 1] are clipped, and missing ones imputed, before they are summed."""
    data = [0.25] * 60 + [7.0] * 20 + [-1.0] * 10 + [float("nan")] * 10
    release = sample_with(
        RandomSource.seeded(rng), data, PREDICATE, query(epsilon=500, samples=10_000), impute=0.75
    )
    record: Any = release.mechanism
    r, total = float(record.parameters["r"]), 60 * 0.25 + 20 + 7.5
    assert release.samples is not None
    draws = release.samples.arrays()["mean"]

    def p_value(s: float) -> float:
        uniform = stats.beta(2 + r * s, 3 + r * (100 - s)).cdf(draws)
        return float(stats.chisquare(np.bincount((uniform * 20).astype(int), minlength=20)).pvalue)

    assert p_value(total) > 1e-3
    # the missing values left out, or imputed by 0
    assert p_value(total - 7.5) < 1e-12


def test_the_sum_is_exact_on_the_grid() -> None:
    """A hundred times 1/4 and 3/4 are sums of dyadic numbers, so nothing is rounded."""
    from discreet.data import summarize
    from discreet.mechanisms.base import Totals

    layout = PREDICATE.layout(_domain(), "replace")
    summary = summarize([0.25, 0.75] * 50, PREDICATE, _domain(), layout)
    assert Totals(PREDICATE, _domain(), summary.values, 100).sums() == (Fraction(50),)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mode": "direct"}, "mode must be 'diffused' or 'concentrated'"),
        ({"order": 1}, "order must be above 1"),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"prior": "gamma:1,1"}, "takes a Beta prior"),
        ({"epsilon": 1e-60}, "too small"),
    ],
)
def test_bad_queries(options: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match) as caught:
        dc.release([0.5] * 10, PREDICATE, mechanism=query(**options), impute=0.5)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "impute"),
        ({"impute": 2}, "impute"),
        ({"impute": 0, "outside": "redact"}, "redact"),
        ({"impute": 0, "bounds": (0, 2)}, "between 0 and 1"),
    ],
)
def test_bad_declarations(options: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        dc.release([0.5] * 10, PREDICATE, mechanism=query(), **options)


def test_it_is_not_for_models() -> None:
    with pytest.raises(UsageError, match="numbers between 0 and 1"):
        dc.release([0, 1], dc.Bernoulli(), mechanism=query(), impute=0)


def test_noisy_totals_of_a_predicate_have_no_posterior() -> None:
    """Bits vary more than numbers in between, so a posterior that took them for bits would not be calibrated."""
    noisy = dc.release([0.2, 0.9] * 50, PREDICATE, epsilon=1)
    for engine in ("auto", "exact", "gibbs", "augment"):
        with pytest.raises((UsageError, EngineError)) as caught:
            dc.infer(noisy, prior=priors.Beta(1, 1), engine=engine, draws=50, rng=0)  # pyright: ignore
        assert "\n" not in caught.value.message


def _domain() -> Any:
    from discreet.domain.declarations import Domain

    return Domain(PREDICATE.parse_bounds(None), None, "clip", "none")

"""The gibbs engine says where its central limit is doubtful: judged by the distribution of the sums, not by n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.inference.engine import Question
from discreet.inference.engines.gibbs.gibbs_engine import LEAST_RECORDS, _skewness, skewness_warnings
from discreet.inference.engines.gibbs.target import Target
from discreet.inference.record_prior import RecordPrior
from discreet.priors import Prior

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
EDGE = "central limit for the released sum"


def quiet(data: Any, family: Any, mechanism: Any, shift: float = 0.0, **how: Any) -> Release:
    """A release whose noise is ``shift`` scales, rounded."""
    options = {"missing": "none", **how}
    return release_with(
        lambda distribution: round(shift * distribution.sd), data, family, mechanism, **options
    )


@dataclass
class Difference:
    """How far two posteriors are apart: quantiles in standard deviations, and distribution functions."""

    quantiles: float
    functions: float

    @classmethod
    def between(cls, exact: dc.Posterior, other: dc.Posterior) -> Difference:
        apart, steps = [], []
        for name, x in exact.scalars().items():
            y = np.sort(other.scalars()[name])
            apart.append(np.abs(np.quantile(x, LEVELS) - np.quantile(y, LEVELS)).max() / x.std())
            u = np.linspace(0.02, 0.98, 97)
            steps.append(np.abs(np.searchsorted(y, np.quantile(x, u)) / len(y) - u).max())
        return cls(float(max(apart)), float(max(steps)))

    @property
    def bad(self) -> bool:
        return self.quantiles > 0.1 or self.functions > 0.04

    @property
    def good(self) -> bool:
        return self.quantiles < 0.05 and self.functions < 0.02


def judged(release: Release, prior: Prior, draws: int) -> tuple[Difference, bool]:
    """Return how far gibbs is from exact, and whether it warns."""
    exact = dc.infer(release, prior=prior, engine="exact", draws=draws, rng=1)
    gibbs = dc.infer(release, prior=prior, engine="gibbs", draws=draws, rng=2)
    return Difference.between(exact, gibbs), any(EDGE in said for said in gibbs.diagnostics.warnings)


def yes(n: int, k: int) -> np.ndarray:
    return np.r_[np.ones(k, dtype=int), np.zeros(n - k, dtype=int)]


CASES: dict[str, tuple[Any, Any, float, Prior, dict[str, Any], bool]] = {
    "no yes": (yes(200, 0), dc.Bernoulli(), 3, dc.priors.Beta(0.3, 5), {}, True),
    "no yes among many": (yes(20_000, 0), dc.Bernoulli(), 3, dc.priors.Beta(0.3, 5), {}, True),
    "one no": (yes(400, 399), dc.Bernoulli(), 5, dc.priors.Beta(1, 1), {}, True),
    "some yes": (yes(400, 150), dc.Bernoulli(), 3, dc.priors.Beta(0.3, 5), {}, False),
    "no yes behind wide noise": (yes(200, 0), dc.Bernoulli(), 0.05, dc.priors.Beta(1, 1), {}, False),
    "no event": (
        np.zeros(500, dtype=int), dc.Poisson(), 10, dc.priors.Gamma(1, 1), {"bounds": (0, 10), "outside": "clip"}, True,
    ),
    "events": (
        np.arange(500) % 4, dc.Poisson(), 3, dc.priors.Gamma(1, 1), {"bounds": (0, 10), "outside": "clip"}, False,
    ),
    "a label nobody has": (
        np.repeat(["a", "b"], 200), dc.Categorical(["a", "b", "c"]), 5, dc.priors.Dirichlet([1, 1, 1]), {}, True,
    ),
    "waiting times": (
        -np.log(1 - (np.arange(1000) + 0.5) / 1000), dc.Exponential(), 2, dc.priors.Gamma(1, 1), {"bounds": (0, 10)},
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_doubtful_limit_is_said_and_a_good_one_is_not(case: str) -> None:
    data, family, epsilon, prior, how, doubtful = CASES[case]
    release = quiet(data, family, dc.mechanisms.Laplace(epsilon), **how)
    assert release.records is not None
    # the guard on n alone sees nothing
    assert release.records >= LEAST_RECORDS
    difference, warned = judged(release, prior, 20_000)
    assert difference.bad is doubtful
    assert warned is doubtful


def target_of(release: Release, prior: Prior) -> Target:
    return Target(Question(release, prior, RecordPrior(), 4, 1, np.random.default_rng(0)))


def test_skewness_of_sums_is_the_known_one() -> None:
    """A binomial count, a Poisson count, a gamma sum; one row of coordinates each, at the prior's reference draws."""
    n, mechanism = 300, dc.mechanisms.Laplace(1)
    rng = np.random.default_rng(0)
    release, prior = quiet(yes(n, 20), dc.Bernoulli(), mechanism), dc.priors.Beta(2, 3)
    target = target_of(release, prior)
    x = target.reference(50, rng)
    p = target.theta(x)["p"]
    expected = np.abs(1 - 2 * p) / np.sqrt(n * p * (1 - p))
    assert _skewness(release, target, x)[0][:, 0] == pytest.approx(expected, rel=1e-9)

    release = quiet(np.ones(n, dtype=int), dc.Poisson(), mechanism, bounds=(0, 60), outside="clip")
    target = target_of(release, dc.priors.Gamma(9, 9))
    x = target.reference(50, rng)
    expected = 1 / np.sqrt(n * target.theta(x)["rate"])
    assert _skewness(release, target, x)[0][:, 0] == pytest.approx(expected, rel=1e-6)

    release = quiet(np.ones(n), dc.Exponential(), mechanism, bounds=(0, 60), outside="clip")
    target = target_of(release, dc.priors.Gamma(50, 50))
    assert _skewness(release, target, target.reference(50, rng))[0][:, 0] == pytest.approx(
        2 / np.sqrt(n), rel=1e-6
    )


def test_skewness_of_several_columns() -> None:
    """Sums of normal values are not skewed, sums of their squares are chi-square."""
    n, family = 400, dc.MultivariateNormal(2)
    release = quiet(
        np.zeros((n, 2)), family, dc.mechanisms.Laplace(1), bounds=[(-50, 50)] * 2, outside="clip"
    )
    prior = dc.priors.NormalInverseWishart([0, 0], 1e6, 50, np.eye(2) * 50)
    target = target_of(release, prior)
    of_sum, _ = _skewness(release, target, target.reference(20, np.random.default_rng(0)))
    names = list(release.layout.names)
    # the error of a sample skewness from 2000 records, five times
    assert np.median(of_sum[:, names.index("z1")]) < 5 * np.sqrt(6 / 2000 / n)
    assert of_sum.max(axis=1) == pytest.approx(np.sqrt(8 / n), rel=0.35)


def test_records_that_are_all_redacted_leave_a_sum_at_its_edge() -> None:
    family, prior = dc.Normal(variance=1), dc.priors.Normal(14, 1)
    release = quiet(np.full(500, 13.0), family, dc.mechanisms.Laplace(5), bounds=(0, 10), outside="redact")
    target = target_of(release, prior)
    (said,) = skewness_warnings(release, target, target.reference(400, np.random.default_rng(0)))
    assert "at the edge of its range" in said


@pytest.mark.slow
def test_the_warning_is_right_on_settings_that_it_was_not_made_for(rng: np.random.Generator) -> None:
    """Random columns, budgets, priors and noises: nearly all that is off is said, and little else."""
    found: list[tuple[Difference, bool]] = []
    for _ in range(200):
        n = int(10 ** rng.uniform(2.31, 4))
        epsilon = 10 ** rng.uniform(-0.7, 1)
        mechanism = (
            dc.mechanisms.Laplace(epsilon)
            if rng.random() < 0.7
            else dc.mechanisms.Gaussian(rho=epsilon**2 / 8)
        )
        mean = 10 ** rng.uniform(-4, 0)
        a = float(rng.choice([0.3, 0.5, 1.0, 2.0]))
        kind = rng.choice(4, p=[0.4, 0.15, 0.3, 0.15])
        if kind == 0:
            data, family, prior, how = rng.binomial(1, mean / 2, n), dc.Bernoulli(), dc.priors.Beta(a, 1), {}
        elif kind == 1:
            rest = (1 - mean / 2) * rng.dirichlet([3, 3])
            data = np.array(["a", "b", "c"])[rng.choice(3, n, p=[mean / 2, *rest])]
            family, prior, how = dc.Categorical(["a", "b", "c"]), dc.priors.Dirichlet([a] * 3), {}
        elif kind == 2:
            data, family, prior = rng.poisson(mean, n), dc.Poisson(), dc.priors.Gamma(a, 1)
            how = {"bounds": (0, 15), "outside": "clip"}
        else:
            data, family, prior = rng.exponential(4 * mean, n), dc.Exponential(), dc.priors.Gamma(1, 1)
            how = {"bounds": (0, 10), "outside": str(rng.choice(["clip", "redact"]))}
        release = quiet(data, family, mechanism, shift=float(rng.normal()), **how)
        found.append(judged(release, prior, 40_000))
    bad = [warned for difference, warned in found if difference.bad]
    good = [warned for difference, warned in found if difference.good]
    print(f"{sum(bad)} of {len(bad)} bad ones warned of, {sum(good)} of {len(good)} good ones")
    assert len(bad) >= 20
    assert len(good) >= 60
    assert np.mean(bad) > 0.9
    assert np.mean(good) < 0.1

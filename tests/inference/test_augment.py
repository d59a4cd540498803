"""The augment engine against the exact one, quadrature, importance sampling, and the theory of its acceptance."""

from __future__ import annotations

import runpy
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact import Release
from discreet.families.base import Family
from discreet.inference.diagnostics import ess
from discreet.inference.engine import Question
from discreet.inference.engines.augment import augment_engine as augment
from discreet.inference.engines.augment.chain import Chain, LatentTarget, check_floor, ladder, starting_points
from discreet.inference.missing_prior import missing_prior
from discreet.models.registry import REGISTERED
from tests.contracts.family_cases import Case, every_family
from tests.inference.augmented import (
    CHAINS,
    LIMIT,
    ask,
    exactly,
    importance_sample,
    release_of,
    typical_release,
    worst_gap,
)

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "rayleigh.py"


# -- against the exact engine ---------------------------------------------------------------------------


def settings() -> list[Any]:
    """All 32 settings; the default suite runs four, each value in two of them, each family with both noises."""
    families = {"bernoulli": dc.Bernoulli(), "categorical": dc.Categorical(3)}
    found = []
    for f, n, e, g, m in product((0, 1), repeat=5):
        name, size, epsilon = list(families)[f], (10, 100)[n], (0.1, 1)[e]
        noise, missing = ("laplace", "gaussian")[g], ("none", "count")[m]
        found.append(
            pytest.param(
                families[name],
                size,
                epsilon,
                bool(g),
                missing,
                id=f"{name}-{size}-{epsilon}-{noise}-{missing}",
                marks=[] if e == g == (f + n) % 2 and m == f else pytest.mark.slow,
            )
        )
    return found


@pytest.mark.parametrize(("family", "n", "epsilon", "gaussian", "missing"), settings())
def test_agrees_with_exact(
    family: Family, n: int, epsilon: float, gaussian: bool, missing: str, rng: np.random.Generator
) -> None:
    mechanism = dc.mechanisms.Gaussian(rho=epsilon**2 / 2) if gaussian else dc.mechanisms.Laplace(epsilon)
    data = rng.integers(0, 2, n).astype(float)
    if missing == "count":
        data[: n // 4] = np.nan
    release = release_of(data, family, mechanism, rng, missing=missing)
    prior = family.default_prior
    assert prior is not None
    mine = augment.draw(ask(release, prior, 1000, rng)).draws["p"]
    theirs = exactly(ask(release, prior, 20_000, rng)).draws["p"]
    assert worst_gap(mine, theirs) < LIMIT


def test_wrong_noise_is_seen(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: told of 20% less noise, or more, the engine no longer agrees with the exact one."""
    drawn = release_of(np.arange(400) % 2, dc.Bernoulli(), dc.mechanisms.Laplace(0.05), rng, missing="none")
    # a reading in the middle, where the noise makes most of the width
    release = replace(drawn, statistics=replace(drawn.totals, values=(0,)))
    prior = dc.priors.Beta(1, 1)
    theirs = exactly(ask(release, prior, 20_000, rng)).draws["p"]
    honest = LatentTarget.of
    for factor, passes in ((1.0, True), (0.8, False), (1.2, False)):

        def told(question: Question, factor: float = factor) -> LatentTarget:
            target = honest(question)
            assert target.epsilon is not None
            return replace(target, scales=target.scales * factor, epsilon=target.epsilon / factor)

        monkeypatch.setattr(LatentTarget, "of", told)
        mine = augment.draw(ask(release, prior, 12_000, rng)).draws["p"]
        assert (worst_gap(mine, theirs) < LIMIT) == passes


# -- against quadrature ---------------------------------------------------------------------------------


def exponential_posterior(release: Release, shape: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return values of the rate and their posterior weights, integrating over one or two records by brute force."""
    (low, high) = (float(v) for v in release.domain.bounds[0])  # pyright: ignore[reportOptionalSubscript]
    nodes, node_weights = np.polynomial.legendre.leggauss(120)
    x = (high + low) / 2 + (high - low) / 2 * nodes
    log_theta, step = np.linspace(np.log(1e-4), np.log(60), 600, retstep=True)
    theta = np.exp(log_theta)
    prior = theta**shape * np.exp(-rate * theta) * step
    # one record: points inside, and an atom for values beyond the upper bound; the lower one is 0
    z = np.append((x - low) / (high - low) * 2 - 1, 1.0 if release.domain.outside == "clip" else 0.0)
    inside = theta[:, None] * np.exp(-theta[:, None] * x) * node_weights * (high - low) / 2
    mass = np.column_stack([inside, np.exp(-high * theta)])
    read = [v * float(g) for v, g in zip(release.totals.values, release.totals.grid, strict=True)]
    scale = [float(s) for s in release.noise_record.scale]

    def noise(total: Any, usable: int) -> Any:
        counted = abs(read[1] - usable) / scale[1] if len(read) > 1 else 0.0
        return np.exp(-np.abs(read[0] - total) / scale[0] - counted)

    n = release.records
    assert n is not None
    terms = [
        noise(0.0, 0) * np.ones_like(theta),
        mass @ noise(z, 1),
        np.einsum("ti,ij,tj->t", mass, noise(z[:, None] + z, 2), mass),
    ]
    likelihood = terms[n]
    if release.domain.missing == "count":
        expected = np.exp(missing_prior(None, n).log_mass(np.arange(n + 1)))
        likelihood = sum(p * term for p, term in zip(expected, terms, strict=False))
    return theta, prior * likelihood


@pytest.mark.parametrize(
    ("n", "missing", "outside"),
    [
        # half of them by default, with every pair of two values
        pytest.param(n, missing, outside, marks=[] if odd else pytest.mark.slow)
        for n, missing, outside in product([1, 2], ["none", "count"], ["redact", "clip"])
        for odd in [(n == 2) ^ (missing == "count") ^ (outside == "clip")]
    ],
)
def test_agrees_with_quadrature(n: int, missing: str, outside: str, rng: np.random.Generator) -> None:
    data = np.array([0.4, 6.0][:n])
    release = release_of(
        data, dc.Exponential(), dc.mechanisms.Laplace(3), rng, bounds=(0, 4), missing=missing, outside=outside
    )
    theta, weights = exponential_posterior(release, 2, 1)
    weights = weights / weights.sum()
    mine = augment.draw(ask(release, dc.priors.Gamma(2, 1), 1500, rng)).draws["rate"]
    mean = weights @ theta
    for power, expected in ((1, 0.0), (2, weights @ (theta - mean) ** 2)):
        a = (mine - mean) ** power
        assert abs(a.mean() - expected) < LIMIT * np.sqrt(a.var() / float(ess(a.reshape(CHAINS, -1))))


# -- every family, against importance sampling ----------------------------------------------------------


def bounded(draws: dict[str, np.ndarray]) -> np.ndarray:
    """Return every scalar squashed to (-1, 1): some posteriors have no variance."""
    flat = np.concatenate([x.reshape(len(x), -1) for x in draws.values()], axis=1)
    return np.arctan(flat)


@every_family
def test_every_family_agrees_with_importance_sampling(case: Case, rng: np.random.Generator) -> None:
    release = typical_release(case, rng)
    assert augment.refusal(release) is None
    answer = augment.draw(ask(release, case.prior, 800, rng))
    assert not answer.independent
    theirs, weights = importance_sample(ask(release, case.prior, 0, rng), 2000)
    assert worst_gap(bounded(answer.draws), bounded(theirs), weights) < LIMIT


def test_user_defined_family(rng: np.random.Generator) -> None:
    """The family of the developer docs does not draw records and is refused; taught to, it agrees."""
    kind = runpy.run_path(str(EXAMPLE))["Rayleigh"]
    try:

        class Drawing(kind):
            def sample(self, theta: Any, size: int, rng: np.random.Generator) -> np.ndarray:
                return np.sqrt(rng.exponential(1 / theta["rate"], size))

        data = np.array([1.0, 2.0, 4.0])
        mute = release_of(data, kind(), dc.mechanisms.Laplace(1), rng, bounds=(0, 5))
        assert augment.refusal(mute) == "rayleigh does not say how to draw records"
        release = replace(mute, model=Drawing())
        assert augment.refusal(release) is None
        prior = dc.priors.Gamma(2, 8)
        mine = augment.draw(ask(release, prior, 800, rng)).draws["rate"]
        theirs, weights = importance_sample(ask(release, prior, 0, rng), 2000)
        assert worst_gap(mine, theirs["rate"], weights) < LIMIT
    finally:
        REGISTERED.pop("rayleigh")


# -- theory ---------------------------------------------------------------------------------------------


def test_acceptance_never_falls_below_the_floor(rng: np.random.Generator) -> None:
    """A flipped answer moves the vector by its whole sensitivity, so the bound is met, and half of it is not."""
    release = release_of(rng.integers(0, 2, 30), dc.Bernoulli(), dc.mechanisms.Laplace(2), rng)
    question = ask(release, dc.priors.Beta(1, 1), 200, rng)
    target = LatentTarget.of(question)
    assert target.epsilon == pytest.approx(2, rel=1e-12)
    augment.draw(question)
    chain = Chain(replace(target, epsilon=1.0), starting_points(question), rng)
    with pytest.raises(AssertionError, match="does not cover"):
        augment._run(chain, 100, 1, np.ones(ladder(30).size))
    check_floor(-2.0, 2.0, -50.0)
    check_floor(-7.0, None, -50.0)
    with pytest.raises(AssertionError):
        check_floor(-2.00001, 2.0, -50.0)


def test_blocks_mix_where_sweeps_alone_do_not(rng: np.random.Generator) -> None:
    """When noise dominates, sweeps alone need about 2 (n + a) / a = 400 steps for one effective draw."""

    class Plain(Chain):
        def _block(self, rung: int) -> None:
            """Leave the block move out."""

    release = release_of(
        rng.exponential(1, 400),
        dc.Exponential(),
        dc.mechanisms.Laplace(0.01),
        rng,
        bounds=(0, 4),
        outside="redact",
        missing="none",
    )
    times = []
    for kind in (Chain, Plain):
        question = ask(release, dc.priors.Gamma(2, 2), 0, rng)
        chain = kind(LatentTarget.of(question), starting_points(question), rng)
        times.append(augment._autocorrelation_time([augment._run(chain, 3000, 1, np.ones(ladder(400).size))]))
    # estimates of a long time from a chain not much longer vary a lot, but not by a factor of ten
    assert times[0] < 10
    assert times[1] > 40

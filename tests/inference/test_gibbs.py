"""The gibbs engine as a whole: against grids, the exact engine and itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.families import Family
from discreet.inference.analyst import places
from discreet.inference.diagnostics import bulk_ess
from discreet.inference.engine import Answer, Question, load
from discreet.inference.engines.gibbs import cell_tree as tree
from discreet.inference.engines.gibbs import gibbs_engine as gibbs
from discreet.inference.engines.gibbs import plain, walkers
from discreet.inference.engines.gibbs.target import Target
from discreet.inference.record_prior import record_prior
from discreet.mechanisms.noise import NoiseMechanism
from discreet.priors import Beta, Dirichlet, Gamma, NormalInverseGamma, NormalInverseWishart

# KS distance of draws to a distribution they follow, times the root of their effective number, exceeds this once in 1e5
KS = 2.47

MODELS: dict[str, tuple[Family, Any, Any]] = {
    "bernoulli": (dc.Bernoulli(), Beta(1, 1), None),
    "exponential": (dc.Exponential(), Gamma(10, 10), (0.0254, 4.46)),
    "normal": (dc.Normal(), NormalInverseGamma(0, 0.25, 2, 1), (-3, 3)),
    "categorical": (dc.Categorical(10), Dirichlet([1] * 10), None),
}


def simulated(
    family: Family,
    prior: Any,
    bounds: Any,
    n: int,
    mechanism: NoiseMechanism,
    rng: np.random.Generator,
    **how: Any,
) -> Release:
    """A release of records drawn from the prior predictive distribution."""
    theta = {name: value[0] for name, value in family.draw(prior, 1, rng).items()}
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        family.sample(theta, n, rng),
        family,
        mechanism,
        bounds=bounds,
        **{"missing": "none", "outside": "redact", **how},
    )


def ask(
    release: Release, prior: Any, rng: np.random.Generator, size: int = 4000, records: Any = None
) -> Question:
    return Question(release, prior, record_prior(records), size, 4, rng)


def exactly(asked: Question) -> Answer:
    """Ask the most exact engine."""
    return load(places(asked.release)[0]).draw(asked)


def least_ess(draws: dict[str, np.ndarray]) -> float:
    return min(float(bulk_ess(v.reshape(4, -1, *v.shape[1:])).min()) for v in draws.values())


def distance(draws: np.ndarray, points: np.ndarray, cdf: np.ndarray) -> float:
    """KS distance of draws to a distribution function given at points."""
    x = np.sort(draws)
    at = np.interp(x, points, cdf)
    steps = np.arange(1, x.size + 1) / x.size
    return float(max(np.abs(at - steps).max(), np.abs(at - steps + 1 / x.size).max()))


def marginals(target: Target, x: np.ndarray, log_p: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Distribution functions of both coordinates of a posterior tabulated on a grid (n, n, 2)."""
    p = np.exp(log_p - log_p.max())
    out = []
    for axis in (0, 1):
        mass = p.sum(axis=1 - axis)
        cdf = (np.cumsum(mass) - mass / 2) / mass.sum()
        out.append((np.take(x[..., axis], 0, axis=1 - axis), cdf))
    return out


@pytest.mark.parametrize("method", ["tree", "walkers"])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_normal_against_a_grid(epsilon: float, method: str, rng: np.random.Generator) -> None:
    """Mean, spread and shape of both unknowns against a 300 x 300 grid of the density."""
    family, prior, bounds = MODELS["normal"]
    x = np.random.default_rng(3).normal(0.4, 0.9, 500)
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        x,
        family,
        dc.mechanisms.Laplace(epsilon),
        bounds=bounds,
        outside="redact",
        missing="none",
    )
    target = Target(ask(release, prior, rng))
    size = 8000
    drawn = tree.sample(target, size, 4, rng) if method == "tree" else walkers.sample(target, size, 4, rng)[0]
    assert drawn is not None
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    margin = 0.3 * (high - low)
    axes = [np.linspace(a, b, 300) for a, b in zip(low - margin, high + margin, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    log_p = target.log_posterior(target.place(grid.reshape(-1, 2))).reshape(300, 300)
    for axis, (points, cdf) in enumerate(marginals(target, grid, log_p)):
        ess = float(bulk_ess(drawn[:, axis].reshape(4, -1)))
        assert distance(drawn[:, axis], points, cdf) < KS / np.sqrt(ess)
        mass = np.gradient(cdf)
        mean = (points * mass).sum() / mass.sum()
        sd = np.sqrt((points**2 * mass).sum() / mass.sum() - mean**2)
        assert drawn[:, axis].mean() == pytest.approx(mean, abs=4.5 * sd / np.sqrt(ess))
        # tails are not heavier than exponential on this scale: the error of sd is below 1.5 sd / sqrt(ess)
        assert drawn[:, axis].std() == pytest.approx(sd, abs=4.5 * 1.5 * sd / np.sqrt(ess))


POLICIES = [
    {"missing": "none"},
    {"missing": "count"},
    {"missing": "none", "neighbors": "add_remove"},
]


# by default several labels have one mechanism for each policy, and two labels have both
@pytest.mark.parametrize(
    ("name", "mechanism", "how"),
    [
        pytest.param(
            name,
            mechanism,
            how,
            id=f"{name}-{mechanism.name}-{'-'.join(how.values())}",
            marks=[] if name == "bernoulli" or (i + j) % 2 else pytest.mark.slow,
        )
        for name in ("bernoulli", "categorical")
        for i, mechanism in enumerate([dc.mechanisms.Laplace(0.1), dc.mechanisms.Gaussian(rho=0.01)])
        for j, how in enumerate(POLICIES)
    ],
)
def test_counts_against_the_exact_engine(
    name: str, mechanism: Any, how: dict[str, str], rng: np.random.Generator
) -> None:
    """At a thousand records and this much noise the central limit is indistinguishable from the truth."""
    family, prior, bounds = MODELS[name]
    release = simulated(family, prior, bounds, 1000, mechanism, rng, **how)
    asked = ask(release, prior, rng)
    ours, theirs = gibbs.draw(asked).draws["p"], exactly(asked).draws["p"]
    ours, theirs = ours.reshape(4000, -1), theirs.reshape(4000, -1)
    for j in range(ours.shape[1]):
        ess = float(bulk_ess(ours[:, j].reshape(4, -1)))
        x = np.sort(theirs[:, j])
        gap = distance(ours[:, j], x, (np.arange(4000) + 0.5) / 4000)
        # 0.02 is the measured error of the central limit for a cell near zero
        assert gap < KS * np.sqrt(1 / ess + 1 / 4000) + 0.02


def reading(n: int, epsilon: float, z: int) -> Release:
    """A Bernoulli release whose noisy sum of plus and minus one is z."""
    release = release_with(
        lambda distribution: 0, np.zeros(n), dc.Bernoulli(), dc.mechanisms.Laplace(epsilon), missing="none"
    )
    return replace(release, statistics=replace(release.totals, values=(z,)))


@pytest.mark.parametrize(("n", "epsilon", "count"), [(100, 0.1, -12.0), (1000, 0.1, -15.0), (1000, 1.0, 0.5)])
def test_bernoulli_at_the_boundary(n: int, epsilon: float, count: float, rng: np.random.Generator) -> None:
    asked = ask(reading(n, epsilon, int(2 * count - n)), Beta(1, 1), rng, 40_000)
    ours = gibbs.draw(asked).draws["p"]
    theirs = np.sort(exactly(asked).draws["p"])
    gap = distance(ours, theirs, (np.arange(40_000) + 0.5) / 40_000)
    # the bound is for the distributions; two sets of 40,000 draws blur it by 0.01 at most
    assert gap < 0.025


def test_bernoulli_between_two_possible_readings() -> None:
    """The density itself at a count of 0.4, which no release can read, against the sum over all counts."""
    n, epsilon, y = 1000, 1.0, 0.4
    target = Target(ask(reading(n, epsilon, -n), Beta(1, 1), np.random.default_rng(0)))
    target.readings.y[:] = (2 * y - n) / 2 * epsilon
    p = np.geomspace(1e-6, 0.03, 4000)
    x = np.log(p / (1 - p))
    ours = np.exp(target.log_posterior(target.place(x[:, None]))) * np.gradient(x)
    k = np.arange(200)
    theirs = (binom.pmf(k, n, p[:, None]) * np.exp(-epsilon * np.abs(y - k))).sum(axis=1) * np.gradient(p)
    gap = np.abs(np.cumsum(ours) / ours.sum() - np.cumsum(theirs) / theirs.sum()).max()
    assert gap < 0.025


def mixing(name: str, n: int, epsilon: float, rng: np.random.Generator) -> tuple[float, tuple[str, ...]]:
    family, prior, bounds = MODELS[name]
    release = simulated(family, prior, bounds, n, dc.mechanisms.Laplace(epsilon), rng)
    answer = gibbs.draw(ask(release, prior, rng))
    return least_ess(answer.draws) / 4000, answer.warnings


@pytest.mark.parametrize(("n", "epsilon"), [(1000, 0.01), (1_000_000, 1.0)])
@pytest.mark.parametrize("name", MODELS)
def test_chains_mix(name: str, n: int, epsilon: float, rng: np.random.Generator) -> None:
    share, warnings = mixing(name, n, epsilon, rng)
    assert share > 0.1
    assert not warnings


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("n", [100, 1000, 10_000, 1_000_000])
@pytest.mark.parametrize("name", MODELS)
def test_chains_mix_everywhere(name: str, n: int, epsilon: float, rng: np.random.Generator) -> None:
    for _ in range(5):
        share, warnings = mixing(name, n, epsilon, rng)
        assert share > 0.02
        assert not any("agree" in text for text in warnings)


def test_the_plain_sampler_hardly_moves_where_noise_dominates(rng: np.random.Generator) -> None:
    """The reason for the other moves: at a thousand records and epsilon 0.01 few plain draws are effective."""
    family, prior, bounds = MODELS["bernoulli"]
    asked = ask(simulated(family, prior, bounds, 1000, dc.mechanisms.Laplace(0.01), rng), prior, rng)
    assert least_ess(plain.draw(asked, warmup=500).draws) < 0.05 * 4000
    assert least_ess(gibbs.draw(asked).draws) > 0.2 * 4000


@pytest.mark.parametrize("name", MODELS)
def test_the_plain_sampler_agrees_where_it_mixes(name: str, rng: np.random.Generator) -> None:
    family, prior, bounds = MODELS[name]
    # redacted sums can fit two normals, between which the plain sampler never crosses; clipped ones fit one
    outside = "redact" if bounds is None else "clip"
    release = simulated(family, prior, bounds, 2000, dc.mechanisms.Laplace(1), rng, outside=outside)
    asked = ask(release, prior, rng)
    ours, theirs = gibbs.draw(asked).draws, plain.draw(asked).draws
    for key, value in ours.items():
        a, b = value.reshape(4000, -1), theirs[key].reshape(4000, -1)
        for j in range(a.shape[1]):
            ess = [float(bulk_ess(v[:, j].reshape(4, -1))) for v in (a, b)]
            sd = a[:, j].std()
            # five Monte Carlo errors, and a tenth of a standard deviation for its incompatible conditionals
            assert abs(a[:, j].mean() - b[:, j].mean()) < sd * (5 * np.sqrt(1 / ess[0] + 1 / ess[1]) + 0.1)


@pytest.mark.parametrize("outside", ["redact", pytest.param("clip", marks=pytest.mark.slow)])
def test_the_plain_sampler_knows_what_was_cut(outside: Any, rng: np.random.Generator) -> None:
    family, prior, _ = MODELS["exponential"]
    release = simulated(family, prior, (0.2, 2.0), 2000, dc.mechanisms.Laplace(1), rng, outside=outside)
    asked = ask(release, prior, rng)
    ours, theirs = gibbs.draw(asked).draws["rate"], plain.draw(asked).draws["rate"]
    ess = float(bulk_ess(theirs.reshape(4, -1)))
    assert abs(ours.mean() - theirs.mean()) < ours.std() * (5 * np.sqrt(1 / ess + 1 / 3000) + 0.1)
    assert theirs.std() / ours.std() == pytest.approx(1, abs=0.05 + 5 / np.sqrt(ess))


def test_walkers_and_tree_find_both_modes(rng: np.random.Generator) -> None:
    """E z is not monotone in the rate when most records are redacted, so two rates fit one reading."""
    prior = Gamma(1, 1)
    n = 20_000
    release = release_with(
        lambda distribution: 0,
        np.full(n, 0.55),
        dc.Exponential(),
        dc.mechanisms.Laplace(1),
        bounds=(0.5, 3),
        outside="redact",
        missing="none",
    )
    # nine tenths of the most negative mean are reached on both sides of it
    target = Target(ask(release, prior, rng))
    m, _ = target.moments({"rate": np.geomspace(0.01, 50, 2000)})
    turning = float(m.min())
    wanted = int(0.9 * turning * n / float(release.totals.grid[0]))
    release = replace(release, statistics=replace(release.totals, values=(wanted,)))
    target = Target(ask(release, prior, rng))
    x = np.linspace(-5, 5, 20_001)
    p = np.exp(target.log_posterior(target.place(x[:, None])))
    peaks = np.flatnonzero((p[1:-1] > p[:-2]) & (p[1:-1] > p[2:]) & (p[1:-1] > 1e-3 * p.max()))
    assert len(peaks) == 2
    valley = x[peaks[0] : peaks[1]][p[peaks[0] : peaks[1]].argmin()]
    left = p[x < valley].sum() / p.sum()
    for drawn in (tree.sample(target, 8000, 4, rng), walkers.sample(target, 8000, 4, rng)[0]):
        assert drawn is not None
        got = (drawn[:, 0] < valley).mean()
        # jumps between the modes are rarer than moves within: a tenth of the draws count
        assert abs(got - left) < 5 * np.sqrt(left * (1 - left) / 800)


# one direction for each policy; the others are long
@pytest.mark.parametrize(
    ("how", "scales"),
    [
        pytest.param(
            how, scales, id=f"{'-'.join(how.values())}-{scales}", marks=[] if quick else pytest.mark.slow
        )
        for i, how in enumerate(POLICIES)
        for scales, quick in ((40, i == 0), (-40, i == 1), (4000, False))
    ],
)
@pytest.mark.parametrize("name", MODELS)
def test_absurd_readings_give_finite_draws(
    name: str, how: dict[str, str], scales: int, rng: np.random.Generator
) -> None:
    family, prior, bounds = MODELS[name]
    release = simulated(family, prior, bounds, 300, dc.mechanisms.Laplace(0.5), rng, **how)
    values = tuple(
        int(v + scales * distribution.sd)
        for v, distribution in zip(release.totals.values, release.noise, strict=True)
    )
    absurd = replace(release, statistics=replace(release.totals, values=values))
    answer = gibbs.draw(ask(absurd, prior, rng, 400))
    for value in answer.draws.values():
        assert value.shape[0] == 400
        assert np.isfinite(value).all()
        assert np.std(value, axis=0).min() > 0


def correlated(outside: Any, rng: np.random.Generator) -> tuple[Release, np.ndarray, np.ndarray]:
    """A hundred thousand records of two columns and little noise, with the truth behind them."""
    import pandas as pd

    mean, covariance = np.array([0.3, -0.2]), np.array([[1.0, 0.6], [0.6, 0.8]])
    data = pd.DataFrame(rng.multivariate_normal(mean, covariance, 100_000), columns=["a", "b"])
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]), data, dc.MultivariateNormal(2), dc.mechanisms.Laplace(2),
        columns=("a", "b"), bounds=[(-2, 2), (-2, 2)], outside=outside, missing="none",
    )  # fmt: skip
    return release, mean, covariance


PAIR = NormalInverseWishart([0, 0], 1, 5, np.eye(2))


def test_multivariate_normal_recovers_what_was_clipped(rng: np.random.Generator) -> None:
    release, mean, covariance = correlated("clip", rng)
    draws = gibbs.draw(ask(release, PAIR, rng, 2000)).draws
    for key, truth in (("normal_mean", mean), ("covariance", covariance)):
        # five posterior standard deviations, which are small
        assert np.abs((draws[key].mean(axis=0) - truth) / draws[key].std(axis=0)).max() < 5
        assert draws[key].std(axis=0).max() < 0.05
    assert np.linalg.eigvalsh(draws["covariance"]).min() > 0


@pytest.mark.slow
def test_multivariate_normal_shows_both_fits_of_redacted_sums(rng: np.random.Generator) -> None:
    """Five redacted sums fit two normals, the true one and a broader one; both must be there."""
    release, _, covariance = correlated("redact", rng)
    asked = ask(release, PAIR, rng, 2000)
    drawn = gibbs.draw(asked).draws
    broad = drawn["covariance"][:, 0, 0] > 1.7
    assert 0.05 < broad.mean() < 0.8
    near = drawn["covariance"][~broad]
    assert np.abs((near.mean(axis=0) - covariance) / near.std(axis=0)).max() < 5
    target = Target(asked)
    means = [target.moments({k: v[part].mean(axis=0, keepdims=True) for k, v in drawn.items()})[0][0]
             for part in (broad, ~broad)]  # fmt: skip
    # what one record adds on average is the same under both, within the spread of a hundred thousand records
    assert np.abs(means[0] - means[1]).max() < 0.01


def test_refusals_and_warnings(rng: np.random.Generator) -> None:
    few = simulated(dc.Bernoulli(), Beta(1, 1), None, 150, dc.mechanisms.Laplace(1), rng)
    answer = gibbs.draw(ask(few, Beta(1, 1), rng))
    assert answer.approximation == "central limit for the sums"
    assert any("150 records" in text for text in answer.warnings)
    assert not answer.independent
    hidden = simulated(
        dc.Bernoulli(), Beta(1, 1), None, 500, dc.mechanisms.Laplace(1), rng, neighbors="add_remove"
    )
    assert not gibbs.draw(ask(hidden, Beta(1, 1), rng)).warnings
    assert gibbs.draw(ask(hidden, Beta(1, 1), rng, records=(0, 100))).warnings
    assert gibbs.refusal(few) is None
    assert "public" in (plain.refusal(hidden) or "")
    wide = release_with(
        lambda distribution: 0, np.zeros((5, 4)), dc.MultivariateNormal(4), dc.mechanisms.Laplace(1),
        bounds=[(-1, 1)] * 4, outside="redact", missing="none",
    )  # fmt: skip
    assert "3 columns" in (gibbs.refusal(wide) or "")


@pytest.mark.parametrize(
    "name", ["exponential", "normal", pytest.param("categorical", marks=pytest.mark.slow)]
)
def test_cost_does_not_follow_the_records(
    name: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evaluations of the target at a thousand million records stay within four times those at a thousand."""
    seen = [0]
    original = Target.place

    def counted(self: Target, x: np.ndarray) -> Any:
        seen[0] += len(x)
        return original(self, x)

    monkeypatch.setattr(Target, "place", counted)
    family, prior, bounds = MODELS[name]
    base = simulated(family, prior, bounds, 1000, dc.mechanisms.Laplace(0.5), rng)
    asked = ask(base, prior, rng)
    center = {k: v.mean(axis=0, keepdims=True) for k, v in gibbs.draw(asked).draws.items()}
    typical = Target(asked).moments(center)[0][0]
    counts = []
    for n in (1000, 1_000_000_000):
        noise = [distribution.sample(1, rng)[0] for distribution in base.noise]
        grid = [float(g) for g in base.totals.grid]
        values = tuple(int(n * m / g + e) for m, g, e in zip(typical, grid, noise, strict=True))
        release = replace(base, records=n, statistics=replace(base.totals, values=values))
        seen[0] = 0
        gibbs.draw(ask(release, prior, rng))
        counts.append(seen[0])
    assert counts[1] < 4 * counts[0]


def test_odd_sizes_are_filed_chain_after_chain(rng: np.random.Generator) -> None:
    for name, how in (("exponential", {}), ("categorical", {}), ("normal", {"missing": "count"})):
        family, prior, bounds = MODELS[name]
        release = simulated(family, prior, bounds, 500, dc.mechanisms.Laplace(0.5), rng, **how)
        for size, chains in ((1, 1), (99, 1), (99, 3), (2000, 1000)):
            answer = gibbs.draw(Question(release, prior, record_prior(None), size, chains, rng))
            assert all(len(value) == size for value in answer.draws.values())

"""Partial pooling: against enumeration, beside no pooling, and refused where it has no meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, logit, ndtr
from scipy.stats import binom

import discreet as dc
from discreet.curator.publish import release_with
from discreet.errors import UsageError
from discreet.inference.pooling.group_curves import curve_of_cells, curve_of_draws
from discreet.inference.pooling.hierarchy import Cells, Hierarchy, size_classes
from discreet.inference.pooling.populations import (
    LogVariancePopulation,
    NormalPopulation,
    RatePopulation,
    SharePopulation,
)
from discreet.models.grouped import read_groups
from discreet.priors import NormalInverseGamma
from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise

# which kind of posterior it is depends on what is read
infer: Any = dc.infer

NAMES = ["a", "b", "c", "d"]
WIDE = NormalInverseGamma(50.0, 1e-9, 2.0, 2.0)


def released(table, model, rng, epsilon=1.0, names=NAMES, **options):
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        table,
        read_groups(model, "g", names),
        dc.mechanisms.Laplace(epsilon),
        columns=("v",),
        neighbors="add_remove",
        **options,
    )


def smokers(rng, sizes=(12, 30, 8, 20), shares=(0.2, 0.4, 0.3, 0.35), **options):
    return released(
        {
            "g": np.repeat(NAMES, sizes).tolist(),
            "v": np.concatenate([rng.binomial(1, p, n) for p, n in zip(shares, sizes, strict=True)]).tolist(),
        },
        dc.Bernoulli(),
        rng,
        **options,
    )


def counts_near(y: int, noise: Noise) -> np.ndarray:
    reach = int(noise.reach(25.0))
    return np.arange(max(0, y - reach), max(y, 0) + reach + 1)


@pytest.mark.parametrize("noise", [DiscreteLaplace(1.3), DiscreteGaussian(2.0)])
@pytest.mark.parametrize("readings", [(7, 3), (0, 12), (-3, -1)])
def test_the_likelihood_of_a_share_sums_over_all_counts(noise: Noise, readings: tuple[int, int]) -> None:
    no, yes = (counts_near(y, noise)[None, :] for y in readings)
    no, yes = no.T, yes
    rng = np.random.default_rng(0)
    curve = curve_of_cells(*readings, noise, np.array([0.05, 1.5]), rng.integers(0, 60, 100))
    p = np.array([0.03, 0.2, 0.5, 0.8, 0.97])
    log_noise = noise.log_mass(no - readings[0]) + noise.log_mass(yes - readings[1])
    direct = np.array(
        [np.exp(log_noise + binom.logpmf(yes, no + yes, share)).sum() for share in p], dtype=float
    )
    found = np.exp(curve(np.arcsin(np.sqrt(p))))
    # up to one factor; interpolated to three digits
    assert found / found[2] == pytest.approx(direct / direct[2], rel=2e-3)


def test_pooled_shares_agree_with_enumeration(rng: np.random.Generator) -> None:
    """Hyperparameters on a grid, every pair of counts of every group: what the posterior means are."""
    release = smokers(rng)
    n, n_with = 30, 12
    grid = (np.arange(n) + 0.5) / n
    mesh = np.meshgrid(grid, grid, 2 * (np.arange(n_with) + 0.5) / n_with - 1, indexing="ij")
    level, spread, with_size = (v.ravel()[:, None] for v in mesh)
    center, spread = logit(level), spread / (1 - spread)
    sizes = np.array([sum(part.totals.values) for part in release.by_group().values()], dtype=float)
    z = np.log(np.maximum(sizes, 0) + 2) - np.log(np.maximum(sizes, 0) + 2).mean()
    z /= max(z.std(), 0.3)
    edges = np.sin(np.linspace(0, np.pi / 2, 401)) ** 2
    p = (edges[1:] + edges[:-1]) / 2
    log_posterior, means = np.zeros(center.size), []
    with np.errstate(divide="ignore"):
        places = logit(edges)
    for part, own_z in zip(release.by_group().values(), z, strict=True):
        (y_no, y_yes), noise = part.totals.values, part.noise[0]
        no, yes = (v.ravel() for v in np.meshgrid(counts_near(y_no, noise), counts_near(y_yes, noise)))
        log_w = noise.log_mass(no - y_no) + noise.log_mass(yes - y_yes)
        near = log_w > log_w.max() - 15
        no, yes, log_w = no[near, None], yes[near, None], log_w[near, None]
        ways = gammaln(no + yes + 1) - gammaln(no + 1) - gammaln(yes + 1)
        likelihood = np.exp(log_w + ways + yes * np.log(p) + no * np.log1p(-p)).sum(axis=0)
        mean, sd = center + spread * with_size * own_z, spread * np.sqrt(1 - with_size**2)
        mass = (0.5 * np.diff(ndtr((places - mean) / sd), axis=1) + 0.5 * np.diff(edges)) * likelihood
        log_posterior += np.log(mass.sum(axis=1))
        means.append(mass @ p / mass.sum(axis=1))
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    every = [infer(release, pool=True, rng=seed, draws=512) for seed in range(6)]
    for name, mean in zip(NAMES, means, strict=True):
        draws = np.concatenate([found[name].draws["p"] for found in every])
        # Monte Carlo at one in ten thousand, if three draws are worth one, and what the grids leave
        reach = 4 * draws.std() * np.sqrt(3 / draws.size) + 0.002
        assert draws.mean() == pytest.approx(posterior @ mean, abs=reach)
    drawn = np.concatenate([found.population.draws["mean"] for found in every])
    wanted = posterior @ SharePopulation().moments(center[:, 0], spread[:, 0])[0]
    assert drawn.mean() == pytest.approx(wanted, abs=4 * drawn.std() * np.sqrt(3 / drawn.size) + 0.005)


def test_a_group_unlike_the_others_is_left_where_it_is(rng: np.random.Generator) -> None:
    names = [f"{i:02d}" for i in range(16)]
    sizes, shares = [80] * 15 + [20], [0.2] * 15 + [0.9]
    values = np.concatenate([rng.binomial(1, p, n) for p, n in zip(shares, sizes, strict=True)])
    table = {"g": np.repeat(names, sizes).tolist(), "v": values.tolist()}
    found = infer(released(table, dc.Bernoulli(), rng, names=names), pool=True, rng=1, draws=1000)
    own = found.apart.stacked()
    assert found.stacked()[-1].mean() == pytest.approx(own[-1].mean(), abs=own[-1].std())
    # the others are known better than by themselves
    assert np.mean(found.stacked()[:-1].std(axis=1) / own[:-1].std(axis=1)) < 0.9


def test_small_groups_are_compared_with_small_ones(rng: np.random.Generator) -> None:
    """Where parameters go with size, the hyperparameters find it; groups of one size have one class."""
    sizes = np.array([6] * 8 + [20] * 8 + [90] * 8)
    x = SharePopulation().x(np.repeat([0.15, 0.35, 0.6], 8))
    curves = [
        curve_of_draws(rng.normal(at, 0.5 / np.sqrt(n), 800), SharePopulation())
        for at, n in zip(x, sizes, strict=True)
    ]
    z, of_group = size_classes(sizes)
    assert z.size == 3
    assert of_group.tolist() == [0] * 8 + [1] * 8 + [2] * 8
    hierarchy = Hierarchy(Cells.of(curves, SharePopulation()), SharePopulation(), z, of_group)
    h = hierarchy.at(hierarchy.draw_points(rng))
    assert np.median(h.with_size) > 0.5
    # two or three records more are no other size
    assert abs(size_classes(np.array([20, 21, 22, 20]))[0]).max() < 0.3
    assert size_classes(np.full(5, 7.0))[0].tolist() == [0]
    assert np.isfinite(size_classes(np.array([-5.0, 0.0, 1e9]))[0]).all()


def test_curves_of_draws_follow_the_density(rng: np.random.Generator) -> None:
    x = rng.normal(50, 3, 20_000)
    curve = curve_of_draws(x, NormalPopulation(50.0, 100.0, WIDE))
    at = np.array([41.0, 47.0, 50.0, 53.0, 59.0])
    # within 3 standard deviations; tails go on exponentially, and so somewhat higher
    assert curve(at) - curve(np.array([50.0])) == pytest.approx(-0.5 * ((at - 50) / 3) ** 2, abs=0.5)
    assert (np.diff(curve(np.linspace(60, 90, 50))) < 0).all()
    # a density that is highest at the end of its range stays so
    rates = rng.exponential(1.0, 20_000)
    near_zero = curve_of_draws(rates, RatePopulation(1e-9, 1e9))
    values = near_zero(np.array([0.0, 0.5, 1.0, 2.0]))
    assert values - values[0] == pytest.approx([0, -0.5, -1, -2], abs=0.2)


@pytest.mark.parametrize(
    ("population", "levels"),
    [
        (SharePopulation(), [[0.3, 0.2], [0.01, 0.6], [0.5, 0.001]]),
        (SharePopulation(10.0, 90.0, uniform=True), [[0.7, 0.4]]),
        (RatePopulation(0.2, 15.0), [[0.5, 0.3], [0.2, 0.4]]),
        (NormalPopulation(50.0, 100.0, NormalInverseGamma(50.0, 0.1, 2.0, 90.0)), [[0.5, 0.1]]),
        (LogVariancePopulation.of(NormalInverseGamma(0.0, 1.0, 2.0, 3.0)), [[0.5, 0.1]]),
    ],
)
def test_populations_are_what_they_say(population, levels, rng: np.random.Generator) -> None:
    for at, wide in levels:
        center, spread = population.center(np.array([at])), population.spread(np.array([wide]))
        u = center + spread * rng.standard_normal(100_000)
        values = population.value(population.x_of(u))
        mean, sd = population.moments(center, spread)
        # Monte Carlo; the fourth moment of a rate is large
        assert values.mean() == pytest.approx(mean[0], rel=0.02, abs=1e-3)
        assert values.std() == pytest.approx(sd[0], rel=0.05, abs=1e-3)
        x = population.x(values[:100])
        assert population.value(population.x_of(population.u(x))) == pytest.approx(values[:100], rel=1e-6)
        # the distribution function of the own prior has its density for a slope
        x = np.quantile(population.x(values), np.linspace(0.1, 0.9, 9))
        step = 1e-5 * max(float(np.ptp(x)), 0.01)
        slope = (population.own_cdf(x + step) - population.own_cdf(x - step)) / (2 * step)
        ratio = np.log(slope) - population.log_own_prior(x)
        assert np.ptp(ratio) < 1e-3


@pytest.mark.parametrize("case", ["mean", "normal", "poisson"])
def test_groups_borrow_from_each_other(case: str, rng: np.random.Generator) -> None:
    sizes = (15, 60, 8, 30)
    model, bounds, draw = {
        "mean": (dc.Mean(), (0, 100), lambda n: rng.normal(50, 10, n)),
        "normal": (dc.Normal(), (0, 100), lambda n: rng.normal(50, 10, n)),
        "poisson": (dc.Poisson(), (0, 12), lambda n: rng.poisson(3, n)),
    }[case]
    values = np.concatenate([draw(n) for n in sizes])
    release = released(
        {"g": np.repeat(NAMES, sizes).tolist(), "v": values.tolist()},
        model,
        rng,
        bounds=bounds,
        outside="clip",
    )
    found = infer(release, pool=True, rng=1, draws=1000, engine="gibbs" if case == "poisson" else "auto")
    pooled, alone = found.stacked(), found.apart.stacked()
    # groups that are alike lie closer together once they are pooled, and each is known better
    assert np.ptp(pooled.mean(axis=1)) < np.ptp(alone.mean(axis=1))
    assert (pooled.std(axis=1) < 1.2 * alone.std(axis=1)).all()
    # the smallest group gains most; the median of so many draws is known to 4% of a standard deviation
    assert pooled[2].std() < alone[2].std()
    assert set(found["a"].draws) == set(found.apart["a"].draws)
    assert found["a"].diagnostics.engine.startswith("pooled ")


def test_summary_picture_and_frame_show_the_population(rng: np.random.Generator, tmp_path: Path) -> None:
    found = infer(smokers(rng), pool=True, rng=1, draws=400)
    summary = found.summary()
    assert [row.name for row in summary.rows][:3] == ["population.mean", "population.sd", "a.p"]
    assert "log odds of groups are normal" in str(summary)
    found.plot(tmp_path / "pooled.png")
    assert (tmp_path / "pooled.png").stat().st_size > 1000
    assert set(found.to_pandas()["group"]) == {"population", *NAMES}
    assert set(found.shrinkage) == set(NAMES)
    with pytest.raises(UsageError, match="only a pooled posterior"):
        _ = found.apart.shrinkage
    # totals of the table come along
    assert found.table["a"].draws["usable"].shape == (400,)
    again = infer(smokers(np.random.default_rng(5)), pool=True, rng=3, draws=40)
    same = infer(smokers(np.random.default_rng(5)), pool=True, rng=3, draws=40)
    assert np.array_equal(again.stacked(), same.stacked())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prior": "beta:1,1"}, "take no prior"),
        ({"records": (0, 50)}, "take no records"),
        ({"engine": "naive"}, "naive engine reads nothing together"),
        ({"pool": "yes"}, "pool must be True or False"),
        ({"same_table": True}, "same_table is for several releases"),
    ],
)
def test_what_has_no_meaning_is_refused(options, said: str, rng: np.random.Generator) -> None:
    with pytest.raises(UsageError, match=said):
        infer(smokers(rng), **{"pool": True, **options})


def test_who_is_not_pooled() -> None:
    table = {"g": ["a", "b"], "v": ["x", "y"]}
    labels = dc.release(table, dc.Categorical(["x", "y"]), column="v", by="g", groups=["a", "b"], epsilon=1)
    with pytest.raises(UsageError, match="categorical is not pooled"):
        infer(labels, pool=True)
    whole = dc.release([0, 1], dc.Bernoulli(), epsilon=1)
    with pytest.raises(UsageError, match="pool is for several releases"):
        infer(whole, pool=True)
    one = dc.release({"g": ["a"], "v": [1]}, dc.Bernoulli(), column="v", by="g", groups=["a"], epsilon=1)
    with pytest.raises(UsageError, match="nobody to borrow from"):
        infer(one, pool=True)

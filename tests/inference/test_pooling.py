"""Partial pooling: against enumeration, beside no pooling, and refused where it has no meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, gammaln
from scipy.stats import binom

import discreet as dc
from discreet.curator.publish import release_with
from discreet.errors import UsageError
from discreet.inference.pooling.group_curves import curve_of_cells, curve_of_draws
from discreet.inference.pooling.populations import BetaPopulation, GammaPopulation, NormalPopulation
from discreet.models.grouped import read_groups
from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise

# which kind of posterior it is depends on what is read
infer: Any = dc.infer

NAMES = ["a", "b", "c", "d"]


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
    """Hyperparameters on a fine grid, every pair of counts of every group: what the posterior means are."""
    release = smokers(rng)
    n = 60
    grid = (np.arange(n) + 0.5) / n
    center, spread = (v.ravel() for v in np.meshgrid(grid, grid, indexing="ij"))
    weight = spread**-2.0 - 1
    a, b = (center * weight)[:, None], ((1 - center) * weight)[:, None]
    log_posterior, means = np.zeros(center.size), []
    for part in release.by_group().values():
        (y_no, y_yes), noise = part.totals.values, part.noise[0]
        no, yes = (v.ravel() for v in np.meshgrid(counts_near(y_no, noise), counts_near(y_yes, noise)))
        log_w = noise.log_mass(no - y_no) + noise.log_mass(yes - y_yes)
        near = log_w > log_w.max() - 22
        no, yes, log_w = no[near], yes[near], log_w[near]
        ways = gammaln(no + yes + 1) - gammaln(no + 1) - gammaln(yes + 1)
        weights = np.exp(log_w + ways + betaln(a + yes, b + no) - betaln(a, b))
        log_posterior += np.log(weights.sum(axis=1))
        means.append((weights * (a + yes) / (a + b + yes + no)).sum(axis=1) / weights.sum(axis=1))
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    found = infer(release, pool=True, rng=1, draws=20_000)
    assert found.population is not None
    for truth, draws in [
        (posterior @ center, found.population.draws["mean"]),
        (posterior @ (spread * np.sqrt(center * (1 - center))), found.population.draws["sd"]),
        *((posterior @ mean, found[name].draws["p"]) for name, mean in zip(NAMES, means, strict=True)),
    ]:
        # Monte Carlo at one in ten thousand, and what the grids leave
        assert draws.mean() == pytest.approx(truth, abs=4 * draws.std() / np.sqrt(draws.size) + 0.002)


def test_curves_of_draws_follow_the_density(rng: np.random.Generator) -> None:
    x = rng.normal(50, 3, 20_000)
    curve = curve_of_draws(x, NormalPopulation(50.0, 100.0))
    at = np.array([41.0, 47.0, 50.0, 53.0, 59.0])
    # within 3 standard deviations; tails go on exponentially, and so somewhat higher
    assert curve(at) - curve(np.array([50.0])) == pytest.approx(-0.5 * ((at - 50) / 3) ** 2, abs=0.5)
    assert (np.diff(curve(np.linspace(60, 90, 50))) < 0).all()
    # a density that is highest at the end of its range stays so
    rates = rng.exponential(1.0, 20_000)
    near_zero = curve_of_draws(rates, GammaPopulation(1e-9))
    values = near_zero(np.array([0.0, 0.5, 1.0, 2.0]))
    assert values - values[0] == pytest.approx([0, -0.5, -1, -2], abs=0.2)


@pytest.mark.parametrize(
    ("population", "h"),
    [
        (BetaPopulation(), [[0.3, 0.2], [0.01, 0.9], [0.5, 0.001]]),
        (BetaPopulation(10.0, 90.0), [[0.7, 0.4]]),
        (GammaPopulation(0.2), [[0.5, 0.3], [0.2, 0.8]]),
        (NormalPopulation(50.0, 100.0), [[0.5, 0.1]]),
    ],
)
def test_populations_have_the_moments_they_say(population, h, rng: np.random.Generator) -> None:
    h = np.array(h)
    level = (np.arange(40_000) + 0.5) / 40_000
    for one in h:
        x = population.quantile(level, np.broadcast_to(one, (level.size, 2)))
        mean, sd = population.moments(one)
        values = population.value(x)
        assert values.mean() == pytest.approx(mean, rel=0.02, abs=1e-3)
        assert values.std() == pytest.approx(sd, rel=0.03, abs=1e-3)
        edges = np.unique(np.quantile(x, np.linspace(0, 1, 200)))
        mass = population.masses(edges, one[None])[0]
        assert mass.sum() == pytest.approx(1, abs=0.03)
        assert population.x(values) == pytest.approx(x, abs=1e-6)


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
    assert "groups follow a beta distribution" in str(summary)
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

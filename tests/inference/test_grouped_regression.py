"""Regressions by groups, alone and pooled: against one group's own release, quadrature, and complete pooling."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.curator.publish import release_with
from discreet.errors import UsageError
from discreet.inference.pooling.vector_hierarchy import CENTER, FREEDOM, SPREAD, Student, VectorHierarchy
from discreet.inference.regression.moment_prior import draw_priors, log_prior, log_prior_given_features
from discreet.models.grouped import read_groups

# which kind of posterior it is depends on what is read
infer: Any = dc.infer
# as in the study
BOUNDS = {"y": (-4, 4), "a": (-3, 3), "b": (-3, 3)}
MODEL = dc.models.LinearRegression("y", ["a", "b"], bounds=BOUNDS)
FLAT = 1e-10


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The study of pooled slopes as a module; its parts are found next to it, as when it is run."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "studies"))
    return importlib.import_module("pooled_slopes")


def test_a_group_is_read_as_its_own_release_would_be(
    study: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    """The same noise on the rows of one group alone gives the same file, and the same draws."""
    table, _ = study.a_table(rng, 3, 0.2)
    drawn: list[int] = []

    def noise(law: Any) -> int:
        drawn.append(int(law.sample(1, rng)[0]))
        return drawn[-1]

    model = read_groups(MODEL, "g", ["g0", "g1", "g2", "nobody"])
    mechanism = dc.mechanisms.Laplace(40)
    every = release_with(noise, table, model, mechanism, neighbors="add_remove")
    every.save(tmp_path / "groups.json")
    size = len(drawn) // 4
    again = iter(drawn[size : 2 * size])
    mine = {name: [v for v, g in zip(table[name], table["g"], strict=True) if g == "g1"] for name in BOUNDS}
    alone = release_with(lambda law: next(again), mine, MODEL, mechanism, neighbors="add_remove")
    part = dc.Release.load(tmp_path / "groups.json").by_group()["g1"]
    assert part.totals == alone.totals
    assert part.noise == alone.noise
    assert part.guarantee == alone.guarantee
    one, other = (infer(release, rng=4, draws=400) for release in (part, alone))
    for name, values in one.draws.items():
        assert np.array_equal(values, other.draws[name])
    # and in the groups' posterior only the random numbers are others: means differ by Monte Carlo, at one in 10^5
    posterior = infer(every, rng=5, draws=400)
    for at in range(2):
        both = [p.draws["coefficients"][:, at] for p in (posterior["g1"], one)]
        assert abs(both[0].mean() - both[1].mean()) < 4.5 * both[0].std() * np.sqrt(2 / 100)
    # the group without a record had noise on all its sums, and says little
    assert all(drawn[3 * size :])
    width = {name: _width(p) for name, p in posterior.items()}
    assert width["nobody"] > 3 * width["g1"]


def _width(posterior: Any) -> float:
    low, high = np.quantile(posterior.draws["coefficients"][:, 0], [0.05, 0.95])
    return float(high - low)


def test_groups_are_compared_ranked_and_drawn(study: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    table, _ = study.a_table(rng, 3, 0.4)
    release = study.released(table, rng, 3, epsilon=30)
    posterior = infer(release, rng=1, draws=400)
    difference = posterior.compare("g0", "g1")
    assert "coefficients[a]" in str(difference)
    a = posterior.stacked("a")
    assert np.array_equal(a, posterior.stacked("coefficients[a]"))
    assert np.array_equal(a, posterior.stacked())
    assert np.array_equal(difference.draws["coefficients"][:, 0], a[0] - a[1])
    assert set(posterior.ranks("b")) == {"g0", "g1", "g2"}
    frame = posterior.to_pandas()
    assert set(frame["group"]) == {"g0", "g1", "g2"}
    assert "coefficients[b]" in set(frame["parameter"])
    figure = posterior.plot(tmp_path / "groups.png")
    assert [axes.get_xlabel() for axes in figure.axes] == ["coefficients[a]", "coefficients[b]"]
    assert len(posterior.plot(parameter="b").axes) == 1
    assert posterior["g0"].plot() is not None
    with pytest.raises(UsageError, match="'c' is no parameter"):
        posterior.stacked("c")
    with pytest.raises(UsageError, match="there is no group 'g7'"):
        posterior["g7"]
    with pytest.raises(UsageError, match="only a pooled posterior has shrinkage"):
        posterior.shrinkage_of("a")


def test_a_logistic_regression_on_numbers_has_groups(rng: np.random.Generator) -> None:
    a = rng.normal(0, 1, 3000)
    table = {
        "a": a,
        "s": np.where(rng.random(3000) < 1 / (1 + np.exp(-a)), "yes", "no"),
        "g": rng.choice(["x", "z"], 3000),
    }
    model = dc.models.LogisticRegression({"s": ["no", "yes"]}, {"a": (-3, 3)})
    release = dc.release(table, model, by="g", groups=["x", "z"], epsilon=50)
    posterior = infer(release, rng=2, draws=400)
    for one in posterior.values():
        low, high = np.quantile(one.draws["coefficients"][:, 0], [0.0005, 0.9995])
        assert low < 1 < high
    with pytest.raises(UsageError, match="logistic_regression is not pooled"):
        infer(release, pool=True)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_prior_given_the_features_is_a_part_of_the_prior(d: int, rng: np.random.Generator) -> None:
    """Intercept, slopes and residual variance change, the features stay: both densities change by the same."""
    mean, root = draw_priors(d, 1, rng)
    differences = []
    for _ in range(5):
        other_mean, other_root = draw_priors(d, 1, rng)
        new_mean, new_root = mean.copy(), root.copy()
        new_mean[:, d], new_root[:, d] = other_mean[:, d], other_root[:, d]
        covariance = new_root @ new_root.swapaxes(1, 2)
        # from covariances with the target to slopes
        jacobian = np.linalg.slogdet(covariance[:, :d, :d])[1]
        whole = log_prior(new_mean, new_root) + jacobian
        differences.append(float((whole - log_prior_given_features(new_mean, new_root))[0]))
    assert differences == pytest.approx([differences[0]] * 5)


def test_units_turn_back(rng: np.random.Generator) -> None:
    model = dc.models.LinearRegression(
        "y", ["a", "s", "a ** 2", "a * s"], bounds={"y": (-50, 150), "a": (2, 10), "s": ["n", "p", "q"]}
    )
    intercept, slopes = rng.normal(size=7), rng.normal(size=(7, len(model.weight_names) - 1))
    back = model.mapped(*model.in_units(intercept, slopes))
    assert back[0] == pytest.approx(intercept)
    assert back[1] == pytest.approx(slopes)


def test_a_multivariate_t_is_fitted(rng: np.random.Generator) -> None:
    scale = np.array([[1.0, 0.6], [0.6, 2.0]])
    normal = rng.multivariate_normal([0, 0], scale, 2000)
    fit = Student.of(np.array([1, -2]) + normal / np.sqrt(rng.chisquare(3, (2000, 1)) / 3))
    assert fit.middle == pytest.approx([1, -2], abs=0.15)
    assert np.linalg.inv(fit.precision) == pytest.approx(scale, abs=0.3)
    assert 2 <= fit.freedom <= 4


def test_one_parameter_agrees_with_quadrature() -> None:
    """Centers and levels of spreads on a grid, the t distribution as a mixture of normals: posterior means."""
    y, v = np.array([-0.6, 0.1, 0.9, 0.3]), np.array([0.02, 0.2, 0.05, 0.5])
    level = (np.arange(120) + 0.5) / 120
    spread = (SPREAD * level / (1 - level))[:, None, None]
    center = np.linspace(-7, 7, 281)[None, :, None]
    w = stats.gamma(FREEDOM / 2, scale=2 / FREEDOM).ppf((np.arange(80) + 0.5) / 80)
    log_height, means = -0.5 * (center[..., 0] / CENTER) ** 2 + np.zeros((120, 281)), []
    for one, variance in zip(y, v, strict=True):
        total = variance + spread**2 / w
        density = np.exp(-0.5 * (one - center) ** 2 / total) / np.sqrt(total)
        drawn = (one / variance + center * w / spread**2) / (1 / variance + w / spread**2)
        density = np.maximum(density, 1e-300)
        log_height = log_height + np.log(density.mean(axis=2))
        means.append((density * drawn).sum(axis=2) / density.sum(axis=2))
    weight = np.exp(log_height - log_height.max())
    weight /= weight.sum()
    flat = Student(np.zeros(1), np.array([[FLAT]]), 200.0)
    alone = [Student(np.array([a]), np.array([[1 / b]]), 1e7) for a, b in zip(y, v, strict=True)]
    drawn = VectorHierarchy(alone, flat).draw(4000, np.random.default_rng(3))
    # one in ten thousand each, if five draws are worth one
    for at, mean in enumerate(means):
        x = drawn.groups[:, at, 0]
        assert x.mean() == pytest.approx((weight * mean).sum(), abs=4 * x.std() * np.sqrt(5 / x.size))
    share = (drawn.spread[:, 0] < SPREAD).mean()
    truth = float(weight[level < 0.5].sum())
    assert share == pytest.approx(truth, abs=4 * np.sqrt(truth * (1 - truth) * 8 / 4000))


def test_pooled_slopes_hold_where_complete_pooling_does_not(study: Any, rng: np.random.Generator) -> None:
    found = study.trial(rng, 10, 0.3, 10, draws=800)
    # 30 intervals of 95%: fewer than 22 hold in one of ten thousand, even if groups go together a little
    assert found["pooled covers"].sum() >= 22
    assert found["complete covers"].sum() <= 15


@pytest.mark.slow
def test_pooled_slopes_over_many_tables(study: Any) -> None:
    claims = [claim for spread in study.SPREADS for claim in study.run("", spread, 10, 20, 10, 0)]
    assert all(claim.holds for claim in claims), [claim.measured for claim in claims]


def test_pooled_groups_have_a_population(study: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    table, _ = study.a_table(rng, 4, 0.1)
    release = study.released(table, rng, 4, epsilon=20)
    pooled = infer(release, pool=True, rng=3, draws=400)
    assert list(pooled.population.draws) == ["intercept", "coefficients", "intercept_sd", "coefficients_sd"]
    said = str(pooled.summary())
    assert "population.coefficients[a]" in said
    assert "pooled gibbs engine" in said
    assert set(pooled.shrinkage_of("b")) == {"g0", "g1", "g2", "g3"}
    assert len(pooled.plot(tmp_path / "pooled.png").axes) == 2
    # draws in the units of the data, and predictions by group
    rows = {"a": [0.0, 1.0], "b": [0.0, 0.0]}
    mean = pooled["g0"].predict(rows)
    assert mean[1] - mean[0] == pytest.approx(pooled["g0"].draws["coefficients"][:, 0].mean())
    assert pooled["g0"].predict(rows, interval=0.9).low.shape == (2,)


def test_pooling_is_refused_where_it_has_no_meaning(study: Any, rng: np.random.Generator) -> None:
    table, _ = study.a_table(rng, 2, 0.1)
    release = study.released(table, rng, 2, 8)
    with pytest.raises(UsageError, match="naive engine reads nothing together"):
        infer(release, pool=True, engine="naive")
    with pytest.raises(UsageError, match="take no records"):
        infer(release, pool=True, records=(0, 10))
    one = study.released({name: values[:50] for name, values in table.items()}, rng, 1, 8)
    with pytest.raises(UsageError, match="one group alone"):
        infer(one, pool=True, draws=400)
    alone = [dc.release({k: table[k] for k in BOUNDS}, MODEL, epsilon=1, dataset=d) for d in "pq"]
    with pytest.raises(UsageError, match="no one parameter that several tables share"):
        infer(alone)


def test_institutions_are_pooled_too(study: Any, rng: np.random.Generator) -> None:
    table, _ = study.a_table(rng, 2, 0.2)
    mine = {k: table[k] for k in BOUNDS}
    releases = [dc.release(mine, MODEL, epsilon=40, dataset=name) for name in ("east", "west")]
    pooled = infer(releases, pool=True, rng=rng, draws=400)
    assert list(pooled) == ["east", "west"]
    assert pooled.population.draws["coefficients"].shape == (400, 2)

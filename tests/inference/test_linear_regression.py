"""Linear regressions from noisy sums: the density, the walks against independent draws, units, and hard tables."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import UsageError
from discreet.inference.engine import TooLong
from discreet.inference.regression import MomentDraws, Readings, draw_population
from discreet.inference.regression.moment_draws import independent_moments, moved_moments
from discreet.inference.regression.moment_kernels import log_density
from discreet.inference.regression.moment_prior import draw_prior, draw_priors, log_prior
from discreet.mechanisms.base import RandomSource

BOUNDS = {"y": (-50, 150), "x": (0, 10), "u": (-3, 1), "s": ["a", "b", "c"]}


def model_of(*features: str) -> dc.models.LinearRegression:
    names = {"y", *features}
    return dc.models.LinearRegression(
        "y", list(features), bounds={k: v for k, v in BOUNDS.items() if k in names}
    )


def rows_of(n: int, rng: np.random.Generator) -> dict[str, Any]:
    x, u = rng.uniform(1, 9, n), rng.uniform(-2.5, 0.5, n)
    s = rng.choice(["a", "b", "c"], n)
    y = 10 + 4 * x - 6 * u + 0.5 * x**2 - 8 * (s == "b") + 12 * (s == "c") + rng.normal(0, 5, n)
    return {"x": x, "u": u, "s": s, "y": y}


def readings_of(
    p: int, scale: float, rng: np.random.Generator, *, laplace: bool, tied: bool = False
) -> Readings:
    repeated = np.zeros((p, p), dtype=np.bool_)
    other = np.full((p, p, 2), -1)
    if tied:
        repeated[0, 0], other[0, 0] = True, (0, 1)
        repeated[1, 2] = repeated[2, 1] = True
        repeated[2, 2], other[2, 2] = True, (1, 2)
    products = rng.normal(size=(p, p)) * scale
    return Readings(
        rng.normal(size=p) * scale,
        np.full(p, scale),
        products + products.T,
        np.full((p, p), scale),
        repeated,
        other,
        laplace,
    )


@pytest.mark.parametrize("laplace", [False, True])
@pytest.mark.parametrize("p", [2, 4, 9])
def test_the_gradient_and_the_prior(p: int, laplace: bool, rng: np.random.Generator) -> None:
    mean, root = draw_prior(p - 1, rng)
    rows, columns = np.tril_indices(p)
    q = np.concatenate([mean, np.where(rows == columns, np.log(np.diag(root))[rows], root[rows, columns])])
    r = readings_of(p, 7.0, rng, laplace=laplace, tied=p > 2)
    given = (r.means, r.mean_scales, laplace, r.products, r.product_scales, r.tied, r.other)
    work = [np.zeros((p, p)) for _ in range(3)]

    def density(at: np.ndarray, n: float, tied: np.ndarray = r.tied) -> tuple[float, np.ndarray]:
        slope = np.zeros(len(q))
        return log_density(at, slope, n, *given[:5], tied, r.other, 0.01, *r.thinned, *work), slope

    found = density(q, 100.0)[1]
    steps = np.eye(len(q)) * 1e-6
    numeric = [(density(q + h, 100.0)[0] - density(q - h, 100.0)[0]) / 2e-6 for h in steps]
    assert found == pytest.approx(np.array(numeric), rel=1e-4, abs=1e-3 * np.abs(found).max())
    # without records and ties it is the prior, up to a constant, and the Jacobian of the root
    none = np.zeros((p, p), dtype=np.bool_)
    jacobian = float(((p + 1 - np.arange(p)) * np.log(np.diag(root))).sum())
    other_mean, other_root = draw_prior(p - 1, rng)
    other = np.concatenate(
        [other_mean, np.where(rows == columns, np.log(np.diag(other_root))[rows], other_root[rows, columns])]
    )
    change = density(other, 0.0, none)[0] - density(q, 0.0, none)[0]
    other_jacobian = float(((p + 1 - np.arange(p)) * np.log(np.diag(other_root))).sum())
    expected = log_prior(other_mean[None], other_root[None])[0]
    expected -= log_prior(mean[None], root[None])[0]
    assert change == pytest.approx(expected + other_jacobian - jacobian)


@pytest.mark.parametrize(("laplace", "scale"), [(False, 1e6), (False, 60.0), (True, 60.0)])
def test_walks_agree_with_weighted_draws_from_the_prior(
    laplace: bool, scale: float, rng: np.random.Generator
) -> None:
    """Against independent draws from the prior that are weighted by the noise: quantiles of means, sds and R^2."""
    n, d = 100.0, 2
    truth, root = draw_prior(d, rng)
    second = root @ root.T + np.outer(truth, truth)
    draw = rng.laplace if laplace else rng.normal
    noise = draw(0, scale, (d + 1, d + 1))
    none = np.zeros((d + 1, d + 1), dtype=np.bool_)
    sums = n * second + np.tril(noise) + np.tril(noise, -1).T
    readings = Readings(
        n * truth + draw(0, scale, d + 1),
        np.full(d + 1, scale),
        sums,
        np.full((d + 1, d + 1), scale),
        none,
        np.full((d + 1, d + 1, 2), -1),
        laplace,
    )
    walked = moved_moments(readings, np.array([n]), 4000, 4, rng)
    size = 12_000
    means, roots = draw_priors(d, size, rng)
    covariances = roots @ roots.swapaxes(1, 2)
    products = covariances + means[:, :, None] * means[:, None, :]
    off = [np.abs(readings.means - n * means), np.abs(sums - n * products)[:, *np.tril_indices(d + 1)]]
    off = np.concatenate(off, axis=1) / scale
    log_weights = -off.sum(axis=1) if laplace else -0.5 * (off**2).sum(axis=1)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    effective = 1 / (weights**2).sum()
    assert effective > 200

    def numbers(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        slopes = np.linalg.solve(covariance[:, :d, :d], covariance[:, :d, d, None])[..., 0]
        return np.column_stack([mean, np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)), slopes])

    ours, theirs = numbers(walked.mean, walked.covariance), numbers(means, covariances)
    # 8 numbers at 3 levels in 3 settings at a false alarm of 1e-4 together; a walk has at least 400 effective draws
    limit = stats.norm.isf(1e-4 / 2 / 72)
    for i in range(ours.shape[1]):
        for level in (0.1, 0.5, 0.9):
            share = weights[theirs[:, i] <= np.quantile(ours[:, i], level)].sum()
            error = np.sqrt(level * (1 - level) * (1 / effective + 1 / 400))
            assert abs(share - level) < limit * error


@pytest.mark.parametrize("laplace", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_independent_draws_agree_with_walks(
    laplace: bool, tied: bool, known: bool, rng: np.random.Generator
) -> None:
    """Two samplers of one posterior: means, sds, slopes and the number of records; other noise is told apart."""
    n, scale = 2000.0, 10.0
    x = rng.random((int(n), 3)) * 1.6 - 0.8
    x[:, 0] = rng.random(len(x)) < 0.4 if tied else x[:, 0]
    x[:, 2] = 0.3 * x[:, 0] - 0.4 * x[:, 1] + rng.normal(0, 0.2, len(x))
    repeated, other = np.zeros((3, 3), dtype=np.bool_), np.full((3, 3, 2), -1)
    if tied:  # the square of an indicator is itself
        repeated[0, 0], other[0, 0] = True, (0, 1)
    draw = rng.laplace if laplace else rng.normal
    noise = draw(0, scale, (3, 3))
    given = (x.sum(axis=0) + draw(0, scale, 3), x.T @ x + np.tril(noise) + np.tril(noise, -1).T)

    def readings(scale: float) -> Readings:
        scales = np.full(3, scale), np.full((3, 3), scale)
        return Readings(given[0], scales[0], given[1], scales[1], repeated, other, laplace)

    counts = np.array([n]) if known else np.round(n + rng.laplace(0, 30, 4000))

    def numbers(found: MomentDraws | None) -> np.ndarray:
        assert found is not None
        root = found.root
        slopes = np.linalg.solve(root[:, :2, :2].swapaxes(1, 2), root[:, 2, :2, None])[..., 0]
        sds = np.sqrt(np.einsum("njk,njk->nj", root, root))
        return np.column_stack([found.mean, sds, slopes] + ([] if known else [found.records]))

    walked = numbers(moved_moments(readings(scale), counts, 6000, 4, rng))[::6]

    def least_p_value(found: np.ndarray) -> float:
        tests: list[Any] = [stats.ks_2samp(a, b) for a, b in zip(walked.T, found.T, strict=True)]
        return min(float(one.pvalue) for one in tests)

    # 68 numbers in eight settings, at 1e-4 together
    fine = numbers(independent_moments(readings(scale), counts, 4000, rng))
    assert least_p_value(fine) > 1e-4 / 68
    wrong = numbers(independent_moments(readings(1.5 * scale), counts, 4000, rng))
    assert least_p_value(wrong) < 1e-4 / 68


@pytest.mark.parametrize(
    ("mechanism", "neighbors"),
    [
        (dc.mechanisms.Laplace(3), "replace"),
        (dc.mechanisms.Gaussian(rho="0.3"), "add_remove"),
        (dc.mechanisms.KNorm(2), "replace"),
    ],
)
def test_latent_records_agree_with_collapsed_moments(
    mechanism: Any, neighbors: Any, rng: np.random.Generator
) -> None:
    """The chain over every record and the default engine, in standard deviations; the naive reading is far off."""
    x = np.clip(rng.normal(0, 0.4, 60), -1, 1)
    y = np.clip(0.5 * x + rng.normal(0, 0.2, 60), -1, 1)
    model = dc.models.LinearRegression({"y": (-1, 1)}, {"x": (-1, 1)})
    release = sample_with(RandomSource.seeded(rng), {"x": x, "y": y}, model, mechanism, neighbors=neighbors)

    def quantiles(engine: Any) -> np.ndarray:
        found: Any = dc.infer(release, engine=engine, rng=rng, draws=2000)
        every = [found.draws[name].ravel() for name in ("intercept", "coefficients", "residual_sd")]
        return np.quantile(np.column_stack(every), [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)

    default, latent, naive = quantiles("gibbs"), quantiles("augment"), quantiles("naive")
    spread = latent[3] - latent[1]
    # each quantile of 2,000 draws, 1,000 of them effective, has an error of about 0.05 to 0.1 of this spread
    assert (np.abs(default - latent) / spread).max() < 0.5
    assert (np.abs(naive - latent) / spread).max() > 0.8


def test_latent_records_are_few_numbers(rng: np.random.Generator) -> None:
    release = dc.release(rows_of(50, rng), model_of("x", "s"), epsilon=1)
    with pytest.raises(UsageError, match="labels, products or squares"):
        dc.infer(release, engine="augment")
    release = dc.release(rows_of(3000, rng), model_of("x"), epsilon=1)
    with pytest.raises(UsageError, match="too many"):
        dc.infer(release, engine="augment")


def test_where_noise_is_large_nothing_is_drawn_independently(rng: np.random.Generator) -> None:
    counts = np.array([100.0])
    assert independent_moments(readings_of(3, 60.0, rng, laplace=True), counts, 400, rng) is None


def test_with_hardly_any_noise_it_is_least_squares(rng: np.random.Generator) -> None:
    rows = rows_of(4000, rng)
    model = model_of("x", "u", "s", "x ** 2")
    release = dc.release(rows, model, epsilon=10_000)
    posterior = dc.infer(release, rng=1)
    s = rows["s"]
    columns = [np.ones(4000), rows["x"], rows["u"], s == "b", s == "c", rows["x"] ** 2]
    design = np.column_stack(columns).astype(float)
    found, residual = np.linalg.lstsq(design, rows["y"], rcond=None)[:2]
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * residual[0] / 4000)
    drawn = np.column_stack([posterior.draws["intercept"], posterior.draws["coefficients"]])
    assert (np.abs(drawn.mean(axis=0) - found) < 0.6 * errors).all()
    # the sampling error of the population, with room for kurtosis
    assert (drawn.std(axis=0) > 0.95 * errors).all()
    assert (drawn.std(axis=0) < 1.7 * errors).all()
    assert posterior.draws["residual_sd"].mean() == pytest.approx(5, rel=0.05)
    assert posterior.diagnostics.headline == ""
    new = {"x": [2.0, 8.0], "u": [0.0, -2.0], "s": ["a", "c"]}
    mean = [10 + 8 + 2, 10 + 32 + 12 + 32 + 12]
    assert posterior.predict(new) == pytest.approx(mean, abs=1.5)
    predicted = posterior.predict(new, interval=0.9)
    assert predicted.high - predicted.low == pytest.approx([2 * 1.645 * 5] * 2, rel=0.06)


def test_other_regressions_from_one_release(rng: np.random.Generator) -> None:
    rows = rows_of(4000, rng)
    release = dc.release(rows, model_of("x", "u", "s", "x ** 2"), epsilon=10_000)
    s = rows["s"]
    for target, features, columns in (
        ("y", ["x", "s"], [rows["x"], s == "b", s == "c"]),
        ("x", ["y", "u"], [rows["y"], rows["u"]]),
        ("y", ["x", "x ** 2"], [rows["x"], rows["x"] ** 2]),
    ):
        posterior = dc.regress(release, target, features, draws=1000, rng=1)
        design = np.column_stack([np.ones(4000), *columns]).astype(float)
        found, residual = np.linalg.lstsq(design, rows[target], rcond=None)[:2]
        errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * residual[0] / 4000)
        drawn = np.column_stack([posterior.draws["intercept"], posterior.draws["coefficients"]])
        assert (np.abs(drawn.mean(axis=0) - found) < 0.6 * errors).all()
        assert posterior.model is not None
        assert posterior.model.column_names[0] == target  # pyright: ignore[reportAttributeAccessIssue]
        assert str(posterior.summary())
    whole = dc.regress(release, draws=400, rng=1)
    assert whole.draws["coefficients"].shape == (400, 5)
    for wrong, words in (
        ({"target": "s"}, "is a number with bounds"),
        ({"target": "z"}, "no column of this regression"),
        ({"features": ["x", "u", "x * u"]}, "were not released"),
        ({"features": "x"}, "list of columns"),
    ):
        with pytest.raises(UsageError, match=words):
            dc.regress(release, **wrong)  # pyright: ignore[reportArgumentType]


def test_many_features_are_read_by_default(rng: np.random.Generator) -> None:
    names = [f"x{i}" for i in range(15)]
    model = dc.models.LinearRegression("y", names, bounds=dict.fromkeys(["y", *names], (-1, 1)))
    rows = {name: rng.uniform(-1, 1, 2000) for name in ["y", *names]}
    posterior = dc.infer(dc.release(rows, model, mechanism="gaussian", rho=1), draws=400, rng=1)
    assert posterior.draws["coefficients"].shape == (400, 15)


def test_noise_that_dominates_is_the_first_line(rng: np.random.Generator) -> None:
    release = dc.release(rows_of(100, rng), model_of("x", "u"), epsilon="0.1")
    posterior = dc.infer(release, rng=1, draws=400)
    first = str(posterior.summary()).splitlines()[0]
    assert first.startswith("noise dominates")
    assert "epsilon = " in first
    assert "records" in first
    gaussian = dc.release(rows_of(100, rng), model_of("x", "u"), mechanism="gaussian", rho="0.001")
    assert "rho = " in dc.infer(gaussian, rng=1, draws=400).diagnostics.headline
    # wide intervals: the slope of x is between -20 and 20 for all that is known
    low, high = posterior.interval(0.95)["coefficients"]
    assert (high - low)[0] > 5


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"u": lambda rows: rows["x"] / 5 - 2}, "of 'x' and 'u'"),
        ({"x": lambda rows: np.full(5000, 5.0)}, "too little variation, of 'x'"),
    ],
    ids=["varied", "collinear", "constant"],
)
@pytest.mark.parametrize("rho", [5, 50])
def test_no_budget_is_asked_for_where_none_would_help(
    rng: np.random.Generator, changed: dict[str, Any], said: str, rho: int
) -> None:
    rows = rows_of(5000, rng)
    rows |= {name: made(rows) for name, made in changed.items()}
    gaussian, model = dc.mechanisms.Gaussian(rho=rho), model_of("x", "u")
    releases = [sample_with(RandomSource.seeded(rng), rows, model, gaussian) for _ in range(12)]
    headlines = [dc.infer(one, rng=1, draws=80).diagnostics.headline for one in releases]
    assert not any("rho = " in one for one in headlines)
    if not said:
        assert not any(headlines)
    # an eigenvalue of 0 seems to be clear of noise by two of its standard deviations now and then
    assert sum(said in one for one in headlines) >= 8


@pytest.mark.parametrize(
    ("neighbors", "n", "usable", "said"),
    [
        ("replace", 5000, False, " of 5,000 values (was|were) usable: are the labels"),
        ("add_remove", 5000, False, "no more records were counted|hardly enough"),
        ("replace", 12, True, "hardly enough for a regression"),
    ],
)
def test_too_few_usable_records_are_the_first_line(
    rng: np.random.Generator, neighbors: Any, n: int, usable: bool, said: str
) -> None:
    rows = rows_of(n, rng) | ({} if usable else {"x": np.full(n, np.nan)})
    release = dc.release(rows, model_of("x", "u"), mechanism="gaussian", rho=50, neighbors=neighbors)
    found = dc.infer(release, rng=1, draws=400).diagnostics
    assert re.search(said, found.headline)
    assert found.warnings.count(found.headline) == 1


def test_labels_that_no_row_has_are_asked_about_and_not_the_budget(rng: np.random.Generator) -> None:
    rows = rows_of(200, rng) | {"s": rng.choice(["no", "yes"], 200)}
    model = dc.models.LinearRegression(
        "y", ["x", "s"], bounds={"y": (-50, 150), "x": (0, 10), "s": ["0", "1"]}
    )
    # so much noise that 200 records may as well be usable as none
    releases = [sample_with(RandomSource.seeded(rng), rows, model, dc.mechanisms.KNorm(1)) for _ in range(6)]
    said = [dc.infer(one, rng=1, draws=80).diagnostics.headline for one in releases]
    assert sum("usable" in one and "labels" in one for one in said) >= 5


def test_chains_that_mix_slowly_are_run_longer() -> None:
    """Terms that repeat each other, much noise: without more moves for a draw fewer than 100 of 4,000 are effective."""
    rng = np.random.default_rng(0)
    n = 3000
    x, label = rng.normal(0, 0.4, n), rng.choice(["a", "b", "c"], n)
    rows = {"y": 0.5 * x + rng.normal(0, 0.3, n), "x": x, "s": label}
    bounds = {"y": (-2, 2), "x": (-2, 2), "s": ["a", "b", "c"]}
    model = dc.models.LinearRegression("y", ["x", "s", "x * s", "x ** 2"], bounds=bounds)
    release = sample_with(RandomSource.seeded(rng), rows, model, dc.mechanisms.Laplace(1))
    found = dc.infer(release, rng=1).diagnostics
    assert min(float(np.min(one)) for one in found.ess.values()) > 400
    assert not found.mixing_warnings


def test_values_beyond_the_bounds_are_told_from_the_noisy_means(rng: np.random.Generator) -> None:
    rows = rows_of(3000, rng)
    for bounds, columns in (((100, 200), ["u"]), ((-3, 1), [])):
        model = dc.models.LinearRegression(
            "y", ["x", "u"], bounds={"y": (-50, 150), "x": (0, 10), "u": bounds}
        )
        posterior = dc.infer(dc.release(rows, model, epsilon=5), rng=1, draws=400)
        said = [one for one in posterior.diagnostics.warnings if "at a bound of" in one]
        assert [one.split("'")[1] for one in said] == columns


HARD: dict[str, Any] = {
    "constant": lambda rows: rows | {"x": np.full(500, 5.0)},
    "collinear": lambda rows: rows | {"u": rows["x"] / 5 - 2},
    "target outside": lambda rows: rows | {"y": rows["y"] + 1000},
    "nothing usable": lambda rows: rows | {"x": np.full(500, np.nan)},
    "a label never seen": lambda rows: rows | {"s": np.full(500, "a")},
    "fewer rows than terms": lambda rows: {name: column[:2] for name, column in rows.items()},
}


@pytest.mark.parametrize("case", HARD)
def test_hard_tables_give_wide_intervals_and_no_error(case: str, rng: np.random.Generator) -> None:
    rows = HARD[case](rows_of(500, rng))
    settings: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": 1, "neighbors": "add_remove"}]
    for how in settings:
        neighbors = how.get("neighbors", "replace")
        made = sample_with(
            RandomSource.seeded(rng),
            rows,
            model_of("x", "u", "s"),
            dc.mechanisms.Laplace(1),
            neighbors=neighbors,
        )
        posterior = dc.infer(made, rng=1, draws=400)
        assert all(np.isfinite(values).all() for values in posterior.draws.values())
        low, high = posterior.interval(0.95)["coefficients"]
        if case in ("constant", "nothing usable", "fewer rows than terms"):
            # the slope of x might be anything that the bounds allow; with seeded noise, as limits of a width need
            assert (high - low)[0] > 5
        assert str(posterior.summary())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dc.models.LinearRegression("y", ["x"], bounds={"y": (0, 1)}), "needs bounds or labels"),
        (lambda: dc.models.LinearRegression("y", ["x"]), "needs bounds or labels"),
        (lambda: dc.models.LinearRegression("y", ["x"], bounds=[(0, 1)]), "bounds must be a dictionary"),  # pyright: ignore
        (lambda: dc.models.LinearRegression("y", "x", bounds=BOUNDS), "a list of columns"),
        (lambda: model_of("x", "x * w"), "names 'w', which is no feature"),
        (lambda: model_of("x", "x ** 3"), "nor a square"),
        (lambda: model_of("x", "x * u * s"), "more than two factors"),
        (lambda: model_of("x", "s", "s ** 2"), "squares labels"),
        (lambda: model_of("x", "x ** 2", "x ** 2"), "stands twice"),
        (lambda: model_of("x", "y"), "among the features too"),
        (
            lambda: dc.models.LinearRegression("y", ["x"], bounds={"x": (0, 1), "y": (0, 1), "z": (0, 1)}),
            "neither the target nor a feature",
        ),
        (
            lambda: dc.models.LinearRegression("y", ["x"], bounds={"x": (0, 1), "y": ["a", "b"]}),
            "is a number with bounds",
        ),
        (
            lambda: dc.models.LinearRegression({"y": (0, 1)}, {"x": (0, 1)}, square_width=3),
            "square_width must be",
        ),
    ],
)
def test_declarations_that_are_refused(call: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call()


def test_what_a_posterior_does_not_take(rng: np.random.Generator) -> None:
    release = dc.release(rows_of(100, rng), model_of("x"), epsilon=1)
    with pytest.raises(UsageError, match="no prior but its own"):
        dc.infer(release, prior=1.0)
    posterior = dc.infer(release, draws=400, rng=1)
    with pytest.raises(UsageError, match="the rows have no column"):
        posterior.predict({"u": [1]})
    with pytest.raises(UsageError, match="interval must"):
        posterior.predict({"x": [1]}, interval=2)
    gradients = dc.release(
        rows_of(100, rng), model_of("x"), mechanism=dc.mechanisms.NoisySGD(rho=1), missing="none"
    )
    with pytest.raises(UsageError, match="have no intervals"):
        dc.infer(gradients).predict({"x": [1]}, interval=0.5)


def test_a_population_is_drawn_for_every_table(rng: np.random.Generator) -> None:
    """With many records slopes scatter as least squares says, times the root of the kurtosis ratio."""
    covariance = np.array([[0.09, 0.03], [0.03, 0.04]])
    table = MomentDraws(
        np.zeros((8000, 2)),
        np.broadcast_to(np.linalg.cholesky(covariance), (8000, 2, 2)),
        np.full(8000, 10_000.0),
    )
    for naive in (True, False):
        found = draw_population(table, rng, naive=naive)
        residual = np.sqrt(0.04 - 0.03**2 / 0.09)
        ratio = found.slopes.std() / (residual / np.sqrt(0.09 * 10_000))
        assert 0.97 < ratio < 1.03 if naive else 1.1 < ratio < 1.35
        assert found.residual_sd.mean() == pytest.approx(residual, rel=0.002)
        assert found.r_squared.mean() == pytest.approx(0.25, rel=0.02)


def many_labels(k: int, rng: np.random.Generator) -> tuple[dict[str, Any], dc.models.LinearRegression]:
    labels = [f"g{i}" for i in range(k)]
    rows = {"y": rng.random(500), "x": rng.random(500), "g": rng.choice(labels, 500)}
    return rows, dc.models.LinearRegression("y", ["x", "g"], bounds={"y": (0, 1), "x": (0, 1), "g": labels})


@pytest.mark.parametrize(
    ("labels", "said", "hint"),
    [
        (50, "a regression of 50 terms only with engine='gibbs'", r"engine='gibbs' takes about 1\d\d s"),
        (
            100,
            "a regression of 100 terms only if noise is small",
            "release fewer terms, with rare labels joined",
        ),
    ],
)
def test_many_terms_are_warned_of_before_they_are_paid_for(
    labels: int, said: str, hint: str, rng: np.random.Generator
) -> None:
    rows, model = many_labels(labels, rng)
    # nothing is spent, and nothing but the line is said
    explained = str(dc.release(rows, model, epsilon=1, explain=True))
    assert f"warning: infer reads {said}" in explained
    with pytest.warns(UserWarning, match=said) as heard:
        release = dc.release(rows, model, epsilon=1)
    assert [one.filename for one in heard] == [__file__]
    with pytest.raises(TooLong) as caught:
        dc.infer(release, draws=400, rng=0)
    assert re.match(hint, caught.value.hint or "")
    # what is hinted at works
    part = dc.regress(release, features=["x"], draws=400, rng=0)
    assert part.draws["coefficients"].shape == (400, 1)


def test_few_terms_are_not_warned_of(rng: np.random.Generator) -> None:
    rows, model = many_labels(33, rng)
    assert not model.slow_in_words
    assert "warning" not in str(dc.release(rows, model, epsilon=1, explain=True))
    labels = [f"g{i}" for i in range(100)]
    assert not dc.models.LogisticRegression({"z": ["0", "1"]}, {"g": labels}).slow_in_words

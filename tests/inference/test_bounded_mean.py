"""The posterior of a bounded column's moments agrees with quadrature, and has the right limits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from discreet.domain.declarations import Domain
from discreet.families.normal import Normal
from discreet.inference.bounded_mean import NoisyTotals, draw_population, draw_table, segments
from discreet.inference.bounded_mean.table import SPREAD_PRIOR, weight_at_a_bound, weight_of_alike
from discreet.inference.missing_prior import FewMissing, MissingBetween, WeightedMissing
from discreet.inference.record_prior import RecordPrior
from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace

_DISTRIBUTIONS = {"laplace": DiscreteLaplace, "gaussian": DiscreteGaussian}


def _plan(neighbors: str, missing: str) -> tuple[np.ndarray, np.ndarray]:
    domain = Domain(((Fraction(0), Fraction(1)),), None, "clip", missing)  # type: ignore[arg-type]
    layout = Normal().layout(domain, neighbors)  # type: ignore[arg-type]
    rows = np.array([[float(c) for c in row] for row in layout.rows])
    return rows, np.array([float(g) for g in layout.grid])


def _release(t, distribution, scale, neighbors="replace", missing="count", rng=None) -> NoisyTotals:
    """Noisy totals of records t in [0, 1]; ``scale`` in mapped units, no noise drawn without ``rng``."""
    rows, grid = _plan(neighbors, missing)
    z = 2 * np.asarray(t, dtype=float) - 1
    exact = rows @ np.array([z.size, z.sum(), (z * z).sum()])
    noise = [_DISTRIBUTIONS[distribution](scale / step) for step in grid]
    drawn = [0 if rng is None else int(v.sample(1, rng)[0]) for v in noise]
    values = [round(total / step) + e for total, step, e in zip(exact, grid, drawn, strict=True)]
    return NoisyTotals(values, rows, grid, noise)


def _nodes(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nodes and prior weights of m, by angles and at both bounds, and of r, within every step of its prior and at 1.

    The weights at both bounds of m and of r = 1 depend on the noise, and are left at 1.
    """
    angle = np.r_[(np.arange(size) + 0.5) / size, 0.0, 1.0] * np.pi / 2
    of_m = np.r_[np.full(size, 1 / size), 1.0, 1.0]
    within = (np.arange(40) + 0.5) / 40
    r = SPREAD_PRIOR.edges[:-1, None] + within * np.diff(SPREAD_PRIOR.edges)[:, None]
    of_r = np.repeat(SPREAD_PRIOR.mass / 40, 40)
    return np.sin(angle) ** 2, of_m, np.r_[r.ravel(), 1.0], np.r_[of_r, 1.0]


def _quadrature(totals: NoisyTotals, prior, counts: range, size: int = 200) -> dict[str, float]:
    """Posterior moments by brute force over (U, arcsin sqrt m, r), from the definition of the coordinates."""
    m, of_m, r, of_r = _nodes(size)
    m, r = m[:, None], r[None]
    weights, sums = 0.0, np.zeros(6)
    logs = []
    for usable in counts:
        moments = (usable, usable * (2 * m - 1) + 0 * r, usable - 4 * usable * m * (1 - m) * r)
        log = np.log(of_m[:, None] * of_r) + float(prior.log_mass(np.array(float(usable))))
        # by how many standard deviations of the noise r can move the release, given m
        kappa = np.sqrt(
            sum(
                (row[2] * 4 * usable * m * (1 - m) / step / distribution.sd) ** 2
                for row, step, distribution in zip(totals.rows, totals.grid, totals.noise, strict=True)
            )
        )
        largest = kappa.max() / (4 * m * (1 - m)).max()
        log = log + np.log1p(kappa) - np.log1p(largest)
        log[-2:] += np.log(weight_at_a_bound(largest))
        log[:, -1] += np.log(weight_of_alike(kappa))[:, 0]
        for value, row, step, distribution in zip(
            totals.values, totals.rows, totals.grid, totals.noise, strict=True
        ):
            total = sum(c * moment for c, moment in zip(row, moments, strict=True))
            log = log + distribution.log_mass(value - total / step)
        logs.append(log)
    peak = max(log.max() for log in logs)
    for usable, log in zip(counts, logs, strict=True):
        w = np.exp(log - peak)
        weights += w.sum()
        sums += [
            w.sum() * usable,
            w.sum() * usable**2,
            (w * m).sum(),
            (w * m * m).sum(),
            (w * r).sum(),
            (w * r * r).sum(),
        ]
    return dict(zip(("U", "U2", "m", "m2", "r", "r2"), sums / weights, strict=True))


@pytest.mark.parametrize("distribution", _DISTRIBUTIONS)
@pytest.mark.parametrize(
    ("neighbors", "missing"), [("replace", "count"), ("replace", "none"), ("add_remove", "count")]
)
@pytest.mark.parametrize("scale", [0.6, 3.0])
def test_tiny_tables_match_quadrature(distribution, neighbors, missing, scale, rng) -> None:
    n, n_draws = 4, 10_000
    totals = _release([0.0, 0.1, 0.7], distribution, scale, neighbors, missing, rng)
    if missing == "none":
        prior, counts = RecordPrior(n, n), range(n, n + 1)
    elif neighbors == "replace":
        prior, counts = FewMissing(n), range(n + 1)
    else:
        prior, counts = RecordPrior(), range(50)
    exact = _quadrature(totals, prior, counts)
    draws = draw_table(totals, prior, n_draws, rng)
    seen = {"U": draws.usable, "m": draws.mean, "r": 1 - draws.spread}
    reach = norm.isf(1e-4 / 72)  # 1e-4 for the test and its cases, two-sided
    for name, value in seen.items():
        for power, key in ((1, name), (2, name + "2")):
            moment = value**power
            assert abs(moment.mean() - exact[key]) <= reach * moment.std() / np.sqrt(n_draws) + 2e-5 * (
                1 + abs(exact[key])
            ), key
    # the control: a posterior for noise a fifth wider is told apart where noise matters
    if scale == 3.0 and missing == "count" and neighbors == "replace":
        wider = NoisyTotals(
            totals.values,
            totals.rows,
            totals.grid,
            [_DISTRIBUTIONS[distribution](1.5 * scale / g) for g in totals.grid],
        )
        other = _quadrature(wider, prior, counts)
        gaps = [abs(seen[k].mean() - other[k]) / (seen[k].std() / np.sqrt(n_draws)) for k in seen]
        assert max(gaps) > reach


@pytest.mark.parametrize("distribution", _DISTRIBUTIONS)
def test_integral_along_the_line_matches_quadrature(distribution, rng) -> None:
    r = (np.arange(200_000) + 0.5) / 200_000
    for _ in range(20):
        offset, slope = rng.normal(0, 20, (3, 1)), rng.normal(0, 30, (3, 1))
        slope[0] *= rng.integers(2)
        noise = [_DISTRIBUTIONS[distribution](s) for s in rng.uniform(3, 20, 3)]
        log = sum(v.log_mass(offset[j] - slope[j] * r) for j, v in enumerate(noise))
        exact = np.log(np.exp(log).mean())
        assert segments.along(offset, slope, noise).log_integral[0] == pytest.approx(exact, abs=1e-8)
    nothing = segments.along(offset, np.zeros((3, 1)), noise).log_integral
    assert nothing[0] == pytest.approx(sum(v.log_mass(offset[j])[0] for j, v in enumerate(noise)))


def test_a_single_moving_residual_needs_no_pieces(rng: np.random.Generator) -> None:
    """The closed form for one residual is the sum over all pieces, where it moves little, much or not at all."""
    noise = [DiscreteLaplace(3.0), DiscreteLaplace(5.0), DiscreteLaplace(2e6)]
    offset = rng.normal(size=(3, 300)) * np.array([[5.0], [5.0], [3e6]])
    slope = np.zeros((3, 300))
    slope[2] = rng.choice([0, 1, -1, 100, 1e-3], 300) * 2e6
    pieces = segments._Pieces(offset, slope, noise, SPREAD_PRIOR, [2])
    one = segments._OneLaplace(offset, slope, noise, SPREAD_PRIOR, 2)
    np.testing.assert_allclose(one.log_integral, pieces.log_integral, atol=1e-6)
    lines = np.repeat(np.arange(300), 200)
    ours, theirs = (line.draw(lines, rng).reshape(300, 200) for line in (one, pieces))
    scatter = np.hypot(ours.std(axis=1), theirs.std(axis=1)) / 200**0.5
    assert (np.abs(ours.mean(axis=1) - theirs.mean(axis=1)) < 5 * scatter + 1e-9).all()


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0])
def test_values_that_are_all_alike_may_be_so(t: float, rng: np.random.Generator) -> None:
    """A column of one value has its mean in the interval, at a bound too, and no spread as its lower end."""
    totals = _release(np.full(1000, t), "laplace", 2.5)
    draws = draw_population(draw_table(totals, FewMissing(1000), 4000, rng), rng)
    (low, high), ends = (np.quantile(values, [0.025, 0.975]) for values in (draws.mean, draws.sd))
    assert low - 1e-15 <= t <= high
    assert ends[0] < 1e-9
    assert high - low < 0.02


def test_without_noise_intervals_are_those_of_student(rng: np.random.Generator) -> None:
    t = rng.beta(4.0, 6.0, 2000)
    totals = _release(t, "laplace", 1e-5, missing="none")
    table = draw_table(totals, RecordPrior(t.size, t.size), 20_000, rng)
    assert abs(table.mean.mean() - t.mean()) < 1e-6
    assert abs(table.sd.mean() - t.std()) < 1e-6
    draws = draw_population(table, rng)
    half = student.ppf(0.975, t.size - 1) * t.std(ddof=1) / np.sqrt(t.size)
    low, high = np.quantile(draws.mean, [0.025, 0.975])
    assert high - low == pytest.approx(2 * half, rel=0.05)
    assert 0.5 * (low + high) == pytest.approx(t.mean(), abs=0.1 * half)


def test_vast_noise_leaves_the_prior(rng: np.random.Generator) -> None:
    totals = _release(np.full(20, 0.3), "gaussian", 1e4)
    prior = WeightedMissing(20, np.r_[3.0, np.zeros(9), 1.0])
    table = draw_table(totals, prior, 20_000, rng)
    assert set(table.usable) == {10.0, 20.0}
    assert abs((table.usable == 20).mean() - 0.75) < 0.02
    at_a_bound = [(table.mean == bound).mean() for bound in (0.0, 1.0)]
    bound, alike = (float(weight(np.zeros(1))[0]) for weight in (weight_at_a_bound, weight_of_alike))
    np.testing.assert_allclose(at_a_bound, bound / (1 + 2 * bound), atol=0.008)
    assert abs((table.spread == 0).mean() - alike / (1 + alike)) < 0.008
    inner = np.arange(0.1, 1, 0.1)
    arcsine = np.sin((inner * (1 + 2 * bound) - bound) * np.pi / 2) ** 2
    np.testing.assert_allclose(np.quantile(table.mean, inner), arcsine, atol=0.02)
    steps = np.interp(inner, np.r_[0, np.cumsum(SPREAD_PRIOR.mass)], SPREAD_PRIOR.edges)
    np.testing.assert_allclose(np.quantile(1 - table.spread[table.spread > 0], inner), steps, atol=0.02)


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_size_of_the_table_does_not_matter(n: int, neighbors: str, rng: np.random.Generator) -> None:
    """The posterior of the table's total has the same width for every n; the grid is as small."""
    m, sd = 0.04, 0.05
    rows, grid = _plan(neighbors, "count")
    totals = np.array([n, n * (2 * m - 1), n * (4 * (sd**2 + m**2) - 4 * m + 1)])
    noise = [DiscreteLaplace(2.5 / step) for step in grid]
    values = [round(v / step) for v, step in zip(rows @ totals, grid, strict=True)]
    released = NoisyTotals(values, rows, grid, noise)
    prior = FewMissing(n) if neighbors == "replace" else RecordPrior()
    table = draw_table(released, prior, 2000, rng)
    total = table.usable * table.mean
    assert abs(np.median(total) - n * m) < 10
    assert total.std() < 20
    assert abs(table.usable.mean() - n) < 10


@pytest.mark.parametrize("distribution", _DISTRIBUTIONS)
@pytest.mark.parametrize(
    ("t", "n"),
    [([], 50), ([0.5], 1), ([0.0] * 30, 30), ([1.0] * 30, 30), ([0.3] * 30, 30), ([0.0, 1.0] * 15, 30)],
    ids=["all missing", "one record", "all low", "all high", "all equal", "ends"],
)
def test_extreme_tables_give_a_proper_posterior(distribution, t, n, rng) -> None:
    for scale in (0.01, 5.0):
        for neighbors in ("replace", "add_remove"):
            totals = _release(t, distribution, scale, neighbors, "count", rng)
            prior = FewMissing(n) if neighbors == "replace" else RecordPrior()
            table = draw_table(totals, prior, 500, rng)
            draws = draw_population(table, rng)
            for value in (table.mean, table.spread, draws.mean, draws.sd):
                assert np.isfinite(value).all()
                assert ((value >= 0) & (value <= 1)).all()
            assert (draws.sd**2 <= draws.mean * (1 - draws.mean) + 1e-12).all()


def test_impossible_readings_give_the_nearest_possible(rng: np.random.Generator) -> None:
    rows, grid = _plan("replace", "count")
    noise = [DiscreteLaplace(2.0 / step) for step in grid]
    values = [round(v / step) for v, step in zip((-500.0, 900.0, 400.0), grid, strict=True)]
    totals = NoisyTotals(values, rows, grid, noise)
    table = draw_table(totals, FewMissing(100), 500, rng)
    assert (table.usable <= 100).all()
    assert table.usable.mean() > 90
    assert table.mean.mean() < 0.1


def test_sampling_error_is_added(rng: np.random.Generator) -> None:
    t = rng.random(100)
    totals = _release(t, "gaussian", 0.01, missing="none")
    prior = RecordPrior(100, 100)
    table = draw_table(totals, prior, 4000, rng)
    draws = draw_population(table, rng)
    assert table.mean.std() < 1e-3
    assert draws.mean.std() == pytest.approx(t.std() / 10, rel=0.15)
    assert draws.sd.std() > 10 * table.sd.std()


def test_interval_of_missing_values_is_respected(rng: np.random.Generator) -> None:
    totals = _release(rng.random(100), "laplace", 20.0, rng=rng)
    table = draw_table(totals, MissingBetween(110, 5, 8), 2000, rng)
    assert set(table.usable) == {102.0, 103.0, 104.0, 105.0}

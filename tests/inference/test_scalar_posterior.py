"""Posteriors of one-statistic releases: shapes, extremes, cost, and the density on a line behind them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import privatize, release_with
from discreet.errors import EngineError
from discreet.families.base import Family
from discreet.inference.engine import Question
from discreet.inference.engines.scalar import inversion
from discreet.inference.engines.scalar import line_draws as draws
from discreet.inference.engines.scalar import line_draws as exact
from discreet.inference.engines.scalar import series_kernels as kernels
from discreet.inference.engines.scalar import sum_likelihood as sums
from discreet.inference.engines.scalar.line import LineDensity, line_density
from discreet.inference.engines.scalar.readings import reading_of
from discreet.inference.engines.scalar.record_distribution import RecordDistribution
from discreet.inference.engines.scalar.sum_likelihood import log_likelihood
from discreet.inference.record_prior import RecordPrior
from discreet.mechanisms.noise import NoiseMechanism
from discreet.priors.base import Prior

P = dc.priors
LAPLACE = dc.mechanisms.Laplace(1)
GRID = 2**24
HOWS = {"none": {"missing": "none"}, "count": {"missing": "count"}, "add_remove": {"neighbors": "add_remove"}}
HOW = pytest.mark.parametrize("how", HOWS.values(), ids=list(HOWS))
FAMILIES = [
    (dc.Poisson(), P.Gamma(4, 1), (0, 10)),
    (dc.Geometric(), P.Beta(4, 4), (0, 6)),
    (dc.Exponential(), P.Gamma(10, 10), (0, 4)),
    (dc.Gamma(shape="0.5"), P.Gamma(6, 3), (0, 3)),  # pyright: ignore[reportArgumentType]
    (dc.Laplace(location=1), P.Gamma(6, 6), (-2, 5)),
    (dc.Normal(variance=4), P.Normal(1, 2), (-4, 6)),
    (dc.Normal(mean=1), P.Gamma(5, 5), (-1, 4)),
]
EVERY = pytest.mark.parametrize("case", FAMILIES, ids=lambda case: str(case[0]).replace(" ", ""))


def read_as(
    family: Family, values: list[float], n: int, bounds: Any, mechanism: NoiseMechanism = LAPLACE, **how: str
) -> Release:
    """A release whose readings, in mapped units, are exactly these."""
    domain = family.read_domain(
        bounds=bounds,
        outside=how.get("outside", "redact"),  # pyright: ignore[reportArgumentType]
        missing=how.get("missing", "count"),  # pyright: ignore[reportArgumentType]
    )  # pyright: ignore[reportArgumentType]
    steps = [GRID, GRID if "neighbors" in how else 1]
    integers = [round(v * step) for v, step in zip(values, steps, strict=False)]
    return privatize(
        lambda distribution: 0, integers, n, family, domain, mechanism, columns=("x",),
        neighbors=how.get("neighbors", "replace"),  # pyright: ignore[reportArgumentType]
    )  # fmt: skip


def posterior_of(
    release: Release, prior: Prior, rng: np.random.Generator, records: RecordPrior | None = None
) -> tuple[draws.Axis, LineDensity]:
    return draws.density(Question(release, prior, records or RecordPrior(), 1, 1, rng))


def readings_for(how: dict[str, str], total: float, n: float) -> list[float]:
    """Readings of a sum of z and a number of records, in the basis of the release."""
    if "neighbors" in how:
        return [(n - total) / 2, (n + total) / 2]
    return [total, n][: 1 if how["missing"] == "none" else 2]


# -- the density on a line ---------------------------------------------------------------------------------


def test_two_narrow_modes_are_both_found(rng):
    """Modes far narrower than the first points are apart: their tails lead to them."""
    means, sds, shares = np.array([-3.03, 4.01]), np.array([0.01, 0.002]), np.array([0.3, 0.7])

    def log_density(t: np.ndarray, slack: np.ndarray) -> np.ndarray:
        z = (t[:, None] - means) / sds
        return np.logaddexp.reduce(-z * z / 2 - np.log(sds) + np.log(shares), axis=1)

    curve = line_density(log_density, -10.0, 10.0, -10.0, 10.0)
    t = np.concatenate([m + s * np.linspace(-5, 5, 201) for m, s in zip(means, sds, strict=True)])
    expected = (shares * stats.norm(means, sds).pdf(t[:, None])).sum(axis=1)  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(curve(t), expected, atol=3e-6 * expected.max())
    drawn = curve.sample(20_000, rng)
    # false alarm 1e-6: 4.9 standard deviations of a share
    assert abs((drawn > 0).mean() - 0.7) < 4.9 * np.sqrt(0.21 / 20_000)


def test_draws_follow_the_density(rng):
    """Kolmogorov-Smirnov at false alarm 1e-6, and a distribution 10% too wide must fail it."""

    def log_density(t: np.ndarray, slack: np.ndarray) -> np.ndarray:
        return stats.gumbel_r.logpdf(t)

    curve = line_density(log_density, -8.0, 8.0, -50.0, 50.0)
    drawn = curve.sample(40_000, rng)
    assert stats.kstest(drawn, stats.gumbel_r.cdf).pvalue > 1e-6
    assert stats.kstest(1.1 * drawn, stats.gumbel_r.cdf).pvalue < 1e-6


def test_the_range_follows_the_mass():
    """A density wholly outside the first range is found, as far as the outer range allows."""

    def log_density(t: np.ndarray, slack: np.ndarray) -> np.ndarray:
        return -((t - 300.0) ** 2) / 2

    curve = line_density(log_density, -8.0, 8.0, -700.0, 700.0)
    assert curve.points[0] < 295 < 305 < curve.points[-1]
    assert curve(np.array([300.0]))[0] == pytest.approx(1 / np.sqrt(2 * np.pi), rel=1e-5)


def test_a_function_without_end_of_detail_is_refused():
    def log_density(t: np.ndarray, slack: np.ndarray) -> np.ndarray:
        return np.sin(1e6 * t)

    with pytest.raises(EngineError, match="too rough"):
        line_density(log_density, -8.0, 8.0, -8.0, 8.0)


# -- shapes ------------------------------------------------------------------------------------------------


def test_both_modes_are_shown(rng):
    """Records out of bounds count as 0, so a small mean of z may come from a small mean of x or a very large one."""
    family, n, bounds, prior = dc.Normal(variance=4), 400, (-4, 6), P.Normal(1, 6)
    distribution = RecordDistribution.of(read_as(family, [0.0], n, bounds, missing="none"))
    release = read_as(family, [0.2 * n], n, bounds, missing="none")
    axis, posterior = posterior_of(release, prior, rng)
    y = posterior.log_density
    crests = np.flatnonzero((y[1:-1] > y[:-2]) & (y[1:-1] > y[2:])) + 1
    crests = crests[y[crests] > y.max() - 8]
    assert crests.size == 2
    assert posterior.points[crests[0]] < 5 < posterior.points[crests[1]]
    drawn = axis.value(posterior.sample(4000, rng))
    # the share of either mode, by a plain sum over a fine grid
    t = np.linspace(-10, 20, 6001)
    log_p = axis.log_prior(t) + log_likelihood(
        distribution.at({"mean": t}), reading_of(release, RecordPrior()), None
    )
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    share = p[t < 5].sum()
    assert 0.02 < share < 0.98
    assert abs((drawn < 5).mean() - share) < 4.9 * np.sqrt(share * (1 - share) / 4000)


def test_prior_and_data_in_conflict(rng):
    """A confident, wrong prior and many records: the posterior is outside the prior, and conjugate but for noise."""
    family, prior, n = dc.Exponential(), P.Gamma(1000, 1000), 100_000
    x = rng.exponential(0.5, n)
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        x,
        family,
        LAPLACE,
        bounds=(0, 20),
        missing="none",
    )
    axis, posterior = posterior_of(release, prior, rng)
    expected = family.update(prior, np.array([x.sum()]), n)
    drawn = axis.value(posterior.sample(4000, rng))
    mean, sd = expected.shape / expected.rate, expected.shape**0.5 / expected.rate
    assert mean > 1.9
    # noise of scale 2 on z is 20 on the sum of x: 0.0004 of the mean, next to a posterior sd of 0.003 of it
    assert drawn.mean() == pytest.approx(mean, abs=0.5 * sd)
    assert drawn.std() == pytest.approx(sd, rel=0.1)


@EVERY
@pytest.mark.parametrize("how", [HOWS["count"], HOWS["add_remove"]], ids=["count", "add_remove"])
def test_without_usable_records_the_prior_remains(case, how, rng):
    """Readings that speak for no records at all leave nearly the prior."""
    family, prior, bounds = case
    release = read_as(family, readings_for(how, 0.0, -60.0), 40, bounds, **how)
    axis, posterior = posterior_of(release, prior, rng)
    drawn = posterior.sample(20_000, rng)
    oracle = line_density(lambda t, slack: axis.log_prior(t), axis.low, axis.high, axis.lowest, axis.highest)
    # with b = 2 (or 1) some records remain likely, so only roughly: the quartiles move by less than a tenth
    expected = oracle.sample(20_000, rng)
    spread = np.subtract(*np.quantile(expected, [0.75, 0.25]))
    moved = np.abs(np.quantile(drawn, [0.25, 0.5, 0.75]) - np.quantile(expected, [0.25, 0.5, 0.75]))
    assert moved.max() < 0.2 * spread


# -- extremes ----------------------------------------------------------------------------------------------


@EVERY
@HOW
@pytest.mark.parametrize(
    "mechanism", [LAPLACE, dc.mechanisms.Gaussian(rho="0.5")], ids=["laplace", "gaussian"]
)
@pytest.mark.parametrize("total", [-1e5, -110.0, 110.0, 1e5])
def test_absurd_readings(case, how, mechanism, total, rng):
    """Noise tens or thousands of scales away: draws are finite, and vary.

    Only cells that contradict each other beyond reason, such as 50,000 records in one and -49,950 in the other, are
    refused: there is no end to the numbers of records that might have to be considered.
    """
    family, prior, bounds = case
    release = read_as(family, readings_for(how, total, 50.0), 50, bounds, mechanism, **how)
    question = Question(release, prior, RecordPrior(), 500, 1, rng)
    if "neighbors" in how and abs(total) > 1e4:
        with pytest.raises(EngineError, match=r"^the .* readings .*\.$"):
            exact.draw(question)
        return
    drawn = exact.draw(question).draws
    (values,) = drawn.values()
    assert np.isfinite(values).all()
    assert values.std() > 0


def test_an_absurd_reading_has_a_known_posterior(rng):
    """Beyond all sums, Laplace noise only weighs each record by exp(z / b): the posterior is prior times M(1/b)^n."""
    family, prior, n = dc.Exponential(), P.Gamma(10, 10), 50
    release = read_as(family, [200.0], n, (0, 4), missing="none")
    axis, posterior = posterior_of(release, prior, rng)
    t = np.linspace(-1.5, 1.0, 60)
    rate = np.exp(t)
    b, half = 2.0 * (1 + 2.0**-25), 2.0
    edge = rate - 1 / (half * b)
    inside = np.exp(-1 / b) * rate / edge * -np.expm1(-4 * edge)
    log_p = axis.log_prior(t) + n * np.log(inside + np.exp(-4 * rate))
    p, q = np.exp(log_p - log_p.max()), posterior(t)
    np.testing.assert_allclose(q / q.sum(), p / p.sum(), atol=1e-7)


@pytest.mark.parametrize(
    ("family", "prior", "bounds"),
    [
        (dc.Exponential(), P.Gamma(1e-3, 1e-3), (0, 4)),
        (dc.Exponential(), P.Gamma(1e8, 1e8), (0, 4)),
        (dc.Exponential(), P.Gamma(2, 1e60), (0, 4)),
        (dc.Poisson(), P.Gamma(1e-2, 1e-40), (0, 10)),
        (dc.Geometric(), P.Beta(1e-3, 1e-3), (0, 6)),
        (dc.Geometric(), P.Beta(1e6, 3e6), (0, 6)),
        (dc.Normal(variance=4), P.Normal(1, 1e9), (-4, 6)),
        (dc.Normal(variance=4), P.Normal(1, 1e-9), (-4, 6)),
        (dc.Normal(variance=4), P.Normal(1e12, 1), (-4, 6)),
        (dc.Normal(mean=1), P.Gamma(1e-2, 1e-2), (-1, 4)),
        (dc.Laplace(location=1), P.Gamma(1e5, 1e-5), (-2, 5)),
    ],
)
@HOW
def test_extreme_priors(family, prior, bounds, how, rng):
    release = read_as(family, readings_for(how, -3.0, 50.0), 50, bounds, **how)
    (values,) = exact.draw(Question(release, prior, RecordPrior(), 1000, 1, rng)).draws.values()
    assert not np.isnan(values).any()
    assert np.unique(values).size > 1


def test_a_confident_prior_stands(rng):
    """A prior worth 1e8 records is not moved by fifty."""
    release = read_as(dc.Exponential(), [-3.0], 50, (0, 4), missing="none")
    axis, posterior = posterior_of(release, P.Gamma(1e8, 1e8), rng)
    drawn = axis.value(posterior.sample(20_000, rng))
    assert drawn.mean() == pytest.approx(1, abs=1e-5)
    # false alarm 1e-6: 4.9 standard errors of a standard deviation
    assert drawn.std() == pytest.approx(1e-4, rel=4.9 / np.sqrt(40_000) + 1e-3)


@HOW
@pytest.mark.parametrize(
    "mechanism", [LAPLACE, dc.mechanisms.Gaussian(rho="0.5")], ids=["laplace", "gaussian"]
)
def test_cost_does_not_grow_with_records(how, mechanism, rng):
    """A billion records take about as long as a thousand, and pin the rate to where they should."""
    family, prior = dc.Exponential(), P.Gamma(10, 10)
    distribution = RecordDistribution.of(read_as(family, [0.0], 1, (0, 4), missing="none"))
    at_one = distribution.at({"rate": np.ones(1)})
    mean = float(at_one.transform(np.array([[1e-6j]]))[0, 0].imag / 1e-6)
    seconds = {}
    for n in (1000, 10**9):
        release = read_as(family, readings_for(how, n * mean, float(n)), n, (0, 4), mechanism, **how)
        taken = []
        for _ in range(3):
            start = time.process_time()
            axis, posterior = posterior_of(release, prior, rng)
            taken.append(time.process_time() - start)
        seconds[n] = min(taken)
    drawn = axis.value(posterior.sample(4000, rng))
    assert drawn.mean() == pytest.approx(1, abs=2e-4)
    assert 1e-5 < drawn.std() < 2e-4
    assert seconds[10**9] < 5 * seconds[1000] + 0.1


def test_finer_frequencies_change_nothing(rng, monkeypatch):
    """Halving what is neglected, again and again, moves the posterior by less than what is claimed."""
    release = read_as(dc.Exponential(), [1.3, 6.0], 8, (0, 4), outside="clip", missing="count")
    prior = P.Gamma(10, 10)
    t = np.linspace(-2, 1.5, 300)
    coarse = posterior_of(release, prior, rng)[1](t)
    monkeypatch.setattr(inversion, "_TAIL", 1e-8)
    monkeypatch.setattr(inversion, "_GONE", 1e-12)
    monkeypatch.setattr(kernels, "DEPTH", 34.0)
    monkeypatch.setattr(sums, "DEPTH", 34.0)
    fine = posterior_of(release, prior, rng)[1](t)
    assert np.abs(coarse - fine).sum() / fine.sum() / 2 < 1e-6


# -- what is read, and what comes out ----------------------------------------------------------------------


@EVERY
@HOW
def test_infer_reads_every_family(case, how, rng):
    family, prior, bounds = case
    theta = {name: value[0] for name, value in family.draw(prior, 1, rng).items()}
    x = family.sample(theta, 40, rng).astype(float)
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        x,
        family,
        dc.mechanisms.Laplace(2),
        bounds=bounds,
        **how,
    )
    posterior = dc.infer(release, prior=prior, engine="exact", draws=400, rng=rng)
    assert posterior.diagnostics.independent
    (values,) = posterior.draws.values()
    assert values.shape == (400,)
    assert tuple(posterior.draws) == family.draw_names
    assert exact.predicted_seconds(Question(release, prior, RecordPrior(), 400, 4, rng)) < 5


def test_records_prior_of_weights(rng):
    """An array of weights that are all alike is the flat prior."""
    release = read_as(dc.Exponential(), [3.0, 4.5], 0, (0, 4), neighbors="add_remove")
    prior, t = P.Gamma(10, 10), np.linspace(-2, 1.5, 100)
    flat = posterior_of(release, prior, rng, RecordPrior(0, 30))[1](t)
    weighted = posterior_of(release, prior, rng, RecordPrior(0, 30, np.full(31, 0.2)))[1](t)
    np.testing.assert_allclose(weighted, flat, atol=1e-6)
    pinned = posterior_of(release, prior, rng, RecordPrior(12, 12, np.ones(1)))[1](t)
    assert np.abs(pinned - flat).max() > 1e-3


def test_what_is_not_read(rng):
    two = replace(read_as(dc.Exponential(), [0.0], 5, (0, 4), missing="none"), model=dc.Normal())
    assert "does not read normal" in (exact.refusal(two) or "")
    wide = read_as(dc.Poisson(), [0.0], 5, (0, 10**6), missing="none")
    assert "at most 20,000 counts" in (exact.refusal(wide) or "")
    assert exact.refusal(read_as(dc.Geometric(), [0.0], 5, (0, 10**6), missing="none")) is None


def test_readings_that_are_refused_cost_forever(rng):
    """So that another engine is chosen."""
    release = read_as(
        dc.Exponential(), readings_for(HOWS["add_remove"], 1e5, 50.0), 0, (0, 4), neighbors="add_remove"
    )
    question = Question(release, P.Gamma(10, 10), RecordPrior(), 100, 1, rng)
    assert exact.predicted_seconds(question) > 1e6
    with pytest.raises(EngineError, match="contradict"):
        exact.draw(question)


@pytest.mark.parametrize("shape", [0.01, 0.05, 1.0])
def test_a_prior_beyond_floating_point_keeps_its_weight(shape: float, rng: np.random.Generator) -> None:
    """Beta(0.01, 0.01) puts most of its weight where p is 1 to double precision; brute force goes there by logit."""
    family, b = dc.Geometric(), 1.0
    release = release_with(
        lambda distribution: 0, np.zeros(5), family, dc.mechanisms.Laplace(2), bounds=(0, 6), missing="none"
    )
    b = float(release.noise_record.scale[0])
    reading = -4.9
    value = round(reading / float(release.totals.grid[0]))
    release = replace(release, statistics=replace(release.totals, values=(value,)))
    logit, step = np.linspace(-4000.0, 4000.0, 16_001, retstep=True)
    log_p, log_q = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
    # one record: (x - 3) / 3 for x = 0, ..., 6, and the middle for all beyond
    mass = np.exp(log_p[:, None] + np.arange(7) * log_q[:, None])
    mass[:, 3] += np.exp(7 * log_q)
    sums = np.ones((logit.size, 1))
    for _ in range(5):
        longer = np.zeros((logit.size, sums.shape[1] + 6))
        for x in range(7):
            longer[:, x : x + sums.shape[1]] += sums * mass[:, x : x + 1]
        sums = longer
    likelihood = sums @ np.exp(-np.abs(reading - (np.arange(sums.shape[1]) - 15) / 3) / b)
    posterior = likelihood * np.exp(shape * (log_p + log_q))
    below = np.where(logit < np.log(9), 1.0, 0.0)
    expected = (posterior * below).sum() / posterior.sum()
    drawn = dc.infer(release, prior=dc.priors.Beta(shape, shape), engine="exact", draws=20_000, rng=rng)
    mine = (drawn.draws["p"] < 0.9).mean()
    # half a step of the brute force, and the draws' own error
    slack = step * (posterior * (np.abs(logit - np.log(9)) < step)).sum() / posterior.sum()
    assert abs(mine - expected) < slack + 4.9 * np.sqrt(expected * (1 - expected) / 20_000)


@pytest.mark.parametrize(
    ("family", "bounds", "outside", "rho", "records", "prior", "readings"),
    [
        (dc.Exponential(), (0.5, 3), "redact", 1, (0, 8), dc.priors.Gamma(0.3, 0.1), (-6.17, 5.087)),
        (dc.Normal(variance=1), (-1, 2), "redact", 1, None, dc.priors.Normal(0, 20), (-11.82,)),
        (dc.Normal(variance=1), (-1, 2), "clip", 10, (0, 8), dc.priors.Normal(0, 20), (-1.789, 4)),
        (dc.Laplace(location=0.5), (-1, 3), "redact", 1, (0, 4), dc.priors.Gamma(2, 2), (-8.485, 2)),
    ],
    ids=["exponential", "normal", "normal-clip", "laplace"],
)
def test_readings_far_from_sums_of_atoms(
    family: Any, bounds: Any, outside: Any, rho: int, records: Any, prior: Any, readings: Any
) -> None:
    """Where nearly all records sit on atoms, the inversion's rounding must not pass for likelihood."""
    release = release_with(
        lambda distribution: 0,
        np.ones(1),
        family,
        dc.mechanisms.Gaussian(rho=rho),
        bounds=bounds,
        outside=outside,
        missing="none",
        neighbors="replace" if records is None else "add_remove",
    )
    values = tuple(round(y / float(g)) for y, g in zip(readings, release.totals.grid, strict=True))
    release = replace(release, statistics=replace(release.totals, values=values))
    posterior = dc.infer(release, prior=prior, engine="exact", records=records, draws=400, rng=0)
    assert all(np.isfinite(draws).all() for draws in posterior.draws.values())

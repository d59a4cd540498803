"""The likelihood of one-statistic releases against convolutions, quadrature and closed forms: none of its code.

Everything here is deterministic but for the simulated readings, and tolerances are numerical: convolutions of counts
are exact, the fine lattice for continuous records errs by its step squared (about 1e-7), and the engine cuts off what
decays slowly at 2e-6.
"""

from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.stats import betabinom

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.families.base import Family
from discreet.inference.engine import Question
from discreet.inference.engines.scalar import line_draws as draws
from discreet.inference.engines.scalar import series
from discreet.inference.engines.scalar.readings import reading_of
from discreet.inference.engines.scalar.record_distribution import RecordDistribution
from discreet.inference.engines.scalar.sum_likelihood import log_likelihood
from discreet.inference.record_prior import RecordPrior
from discreet.mechanisms.noise import NoiseMechanism
from discreet.models.registry import REGISTERED
from discreet.priors.base import Prior

P = dc.priors
LAPLACE, WIDE = dc.mechanisms.Laplace(1), dc.mechanisms.Laplace("0.1")
GAUSSIAN = dc.mechanisms.Gaussian(rho="0.5")
REPLACE, COUNTED, ADD_REMOVE = {"missing": "none"}, {"missing": "count"}, {"neighbors": "add_remove"}
HOW = pytest.mark.parametrize("how", [REPLACE, COUNTED, ADD_REMOVE], ids=["none", "count", "add_remove"])
OUTSIDE = pytest.mark.parametrize("outside", ["redact", "clip"])
NOISE = pytest.mark.parametrize("mechanism", [LAPLACE, WIDE, GAUSSIAN], ids=["laplace", "wide", "gaussian"])

COUNTS = [
    (dc.Poisson(), P.Gamma(4, 1), (0, 10)),
    (dc.Poisson(), P.Gamma(4, 1), (1, 8)),
    (dc.Geometric(), P.Beta(4, 4), (0, 5)),
]
SMOOTH = [
    (dc.Exponential(), P.Gamma(10, 10), ("0.025", "4.46")),
    (dc.Gamma(shape=2), P.Gamma(6, 3), ("0.15", "3.3")),
    (dc.Laplace(location=1), P.Gamma(6, 6), (-2, 5)),
    (dc.Normal(variance=4), P.Normal(1, 2), (-4, 6)),
    (dc.Normal(mean=1), P.Gamma(5, 5), (-1, 4)),
]


def named(case: Any) -> str:
    return str(case[0]).replace(" ", "") + str(case[2][0])


def oracle_of(family: Family, theta: dict[str, float]) -> Any:
    """SciPy's version of the distribution of a record."""
    kind = type(family).__name__
    value = next(iter(theta.values()))
    return {
        "Poisson": lambda: stats.poisson(value),
        "Geometric": lambda: stats.geom(value, loc=-1),
        "Exponential": lambda: stats.expon(scale=1 / value),
        "Gamma": lambda: stats.gamma(family.shape, scale=1 / value),  # pyright: ignore[reportAttributeAccessIssue]
        "Laplace": lambda: stats.laplace(family.location, 1 / value),  # pyright: ignore[reportAttributeAccessIssue]
        "NormalKnownVariance": lambda: stats.norm(value, family.variance**0.5),  # pyright: ignore[reportAttributeAccessIssue]
        "NormalKnownMean": lambda: stats.norm(family.mean, value**0.5),  # pyright: ignore[reportAttributeAccessIssue]
        "Rayleigh": lambda: stats.rayleigh(scale=(2 * value) ** -0.5),
    }[kind]()


def lattice_masses(release: Release, theta: dict[str, float], per_unit: int) -> np.ndarray:
    """Masses of z on -1, ..., 1 in steps of 1 / per_unit; mass between points is split over the nearest three."""
    family, distribution = release.family, oracle_of(release.family, theta)  # pyright: ignore[reportArgumentType]
    assert release.domain.bounds is not None
    assert release.layout.shift is not None
    assert release.layout.half is not None
    low, high = (float(v) for v in release.domain.bounds[0])
    shift, half = float(release.layout.shift[0]), float(release.layout.half[0])
    out = np.zeros(2 * per_unit + 1)

    def put(x: np.ndarray, mass: np.ndarray) -> None:
        place = ((family.measure(x) - shift) / half + 1) * per_unit
        middle = np.clip(np.round(place), 1, 2 * per_unit - 1).astype(int)
        d = np.where(np.abs(place - middle) < 1e-9, 0.0, place - middle)
        for offset, share in ((-1, d * (d - 1) / 2), (0, 1 - d * d), (1, d * (d + 1) / 2)):
            np.add.at(out, middle + offset, mass * share)

    if family.support.discrete:
        x = np.arange(low, high + 1)
        put(x, distribution.pmf(x))
        below, above = distribution.cdf(low - 1), distribution.sf(high)
    else:
        turn = float(np.clip(getattr(family, "location", getattr(family, "mean", low)), low, high))
        edges = np.unique(np.append(np.linspace(low, high, 40 * per_unit + 1), turn))
        put((edges[1:] + edges[:-1]) / 2, np.diff(distribution.cdf(edges)))
        below, above = distribution.cdf(low), distribution.sf(high)
    if release.domain.outside == "clip":
        put(np.array([low, high]), np.array([below, above]))
    else:
        out[per_unit] += below + above
    return out


def brute_log_likelihood(
    release: Release, theta: dict[str, float], per_unit: int, records: tuple[int, int] = (0, 10)
) -> float:
    """Convolve the distribution of one record with itself, term by positive term, and sum over everything latent."""
    masses = lattice_masses(release, theta, per_unit)
    values, grid, noise = release.totals.values, release.totals.grid, release.noise
    y = [v * float(g) for v, g in zip(values, grid, strict=True)]
    n = release.records
    high = records[1] if n is None else n
    low = records[0] if n is None else (n if len(y) == 1 else 0)
    total, sums = -np.inf, np.ones(1)
    for u in range(high + 1):
        if u:
            # the masses of counts are positive, and small probabilities then keep their digits
            sums = np.convolve(sums, masses) if masses.size < 40 else _fft_convolve(sums, masses)
        if u < low:
            continue
        s = (np.arange(sums.size) - u * per_unit) / per_unit
        if n is None:
            log_noise = noise[0].log_mass((y[0] - (u - s) / 2) / float(grid[0]))
            log_noise = log_noise + noise[1].log_mass((y[1] - (u + s) / 2) / float(grid[1]))
        else:
            log_noise = noise[0].log_mass((y[0] - s) / float(grid[0]))
            if len(y) > 1:
                log_noise = log_noise + noise[1].log_mass(np.array(y[1] - u))
                k = n - u
                few = 0.45 if k == 0 else 0.15 / k / sum(1 / j for j in range(1, n + 1))
                log_noise = log_noise + np.log(few + 0.4 * betabinom.pmf(k, n, 1, 3))
        peak = log_noise.max()
        total = np.logaddexp(total, np.log(max((sums * np.exp(log_noise - peak)).sum(), 1e-300)) + peak)
    return float(total)


def _fft_convolve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    n = a.size + b.size - 1
    return np.fft.irfft(np.fft.rfft(a, n) * np.fft.rfft(b, n), n)


def simulated(
    case: Any, n: int, mechanism: NoiseMechanism, outside: str, how: dict[str, str], rng: np.random.Generator
) -> Release:
    family, prior, bounds = case
    theta = {name: value[0] for name, value in family.draw(prior, 1, rng).items()}
    x = family.sample(theta, n, rng).astype(float)
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        x,
        family,
        mechanism,
        bounds=bounds,
        outside=outside,
        **how,  # pyright: ignore[reportArgumentType]
    )


def engine_log_likelihood(release: Release, theta: dict[str, np.ndarray], records: RecordPrior) -> np.ndarray:
    distribution = RecordDistribution.of(release, few=True)
    usable = Question(release, None, records, 1, 1, np.random.default_rng(0)).usable
    return log_likelihood(distribution.at(theta), reading_of(release, usable), distribution.lattice)


def total_variation(release: Release, prior: Prior, per_unit: int, rng: np.random.Generator) -> float:
    """Distance between the engine's posterior and brute force's, both restricted to points that hold the prior."""
    records = RecordPrior(0, 10)
    axis, posterior = draws.density(Question(release, prior, records, 1, 1, rng))
    t = np.linspace(axis.low, axis.high, 41)[8:-4]
    theta = release.family.named(axis.value(t))
    (name,) = theta
    log_p = axis.log_prior(t) + [brute_log_likelihood(release, {name: v}, per_unit) for v in theta[name]]
    p, q = np.exp(log_p - np.logaddexp.reduce(log_p)), posterior(t)
    return float(np.abs(p - q / q.sum()).sum() / 2)


@HOW
@OUTSIDE
@NOISE
@pytest.mark.parametrize("case", COUNTS, ids=named)
def test_counts_against_exact_convolution(case, mechanism, outside, how, rng):
    release = simulated(case, 5, mechanism, outside, how, rng)
    width = int(case[2][1]) - int(case[2][0])
    assert total_variation(release, case[1], width, rng) < 1e-6


@HOW
@OUTSIDE
@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("case", SMOOTH, ids=named)
def test_continuous_records_against_a_fine_lattice(case, mechanism, outside, how, rng):
    release = simulated(case, 5, mechanism, outside, how, rng)
    assert total_variation(release, case[1], 256, rng) < 3e-6


def test_the_oracle_sees_wrong_noise(rng):
    """Twenty per cent too much noise moves the posterior by far more than the tolerance."""
    case = SMOOTH[0]
    release = simulated(case, 5, LAPLACE, "redact", REPLACE, rng)
    other = dc.mechanisms.Laplace("0.8")
    wrong = release_with(lambda distribution: 0, np.ones(5), case[0], other, bounds=case[2], missing="none")
    object.__setattr__(wrong, "statistics", release.statistics)
    axis, posterior = draws.density(Question(wrong, case[1], RecordPrior(), 1, 1, rng))
    t = np.linspace(axis.low, axis.high, 41)[8:-4]
    log_p = axis.log_prior(t) + [brute_log_likelihood(release, {"rate": np.exp(v)}, 128) for v in t]
    p, q = np.exp(log_p - np.logaddexp.reduce(log_p)), posterior(t)
    assert np.abs(p - q / q.sum()).sum() / 2 > 1e-3


@HOW
@pytest.mark.parametrize(
    "mechanism", [dc.mechanisms.Laplace(5), dc.mechanisms.Gaussian(rho=5)], ids=["laplace", "gaussian"]
)
@OUTSIDE
def test_far_out_likelihoods_keep_their_digits(mechanism, outside, how, rng):
    """With little noise and 60 records, most rates are out of the question, by factors down to exp(-300).

    Their likelihoods still agree with a sum of positive terms, as far as that does not underflow itself.
    """
    release = simulated((dc.Poisson(), P.Gamma(40, 20), (0, 4)), 60, mechanism, outside, how, rng)
    rates = np.geomspace(0.05, 20, 25)
    ours = engine_log_likelihood(release, {"rate": rates}, RecordPrior(0, 80))
    brute = np.array([brute_log_likelihood(release, {"rate": r}, 2, (0, 80)) for r in rates])
    sound = brute > brute.max() - 300
    assert sound.sum() > 8
    assert brute.min() < brute.max() - 40
    apart = (ours - brute)[sound]
    assert np.abs(apart - apart[brute[sound].argmax()]).max() < 1e-5


@pytest.mark.parametrize("case", SMOOTH, ids=named)
@OUTSIDE
def test_one_record_by_quadrature(case, outside, rng):
    """A single record: the density times the noise, integrated directly."""
    family, prior, bounds = case
    release = simulated(case, 1, LAPLACE, outside, REPLACE, rng)
    low, high = (float(v) for v in bounds)
    distribution = RecordDistribution.of(release)
    y, b = release.totals.values[0] / 2**24, 2.0
    theta = family.draw(prior, 5, rng)
    (name,) = theta
    turn = getattr(family, "location", getattr(family, "mean", None))
    breaks = sorted({low, high, *([float(turn)] if turn is not None else []), *_preimages(distribution, y)})
    expected = []
    for value in theta[name]:
        record = oracle_of(family, {name: value})

        def height(x: float) -> float:
            return float(np.exp(-abs(float(distribution.z(x)) - y) / b))

        inside = sum(
            integrate.quad(lambda x, r=record: r.pdf(x) * height(x), a, c, epsabs=1e-13)[0]
            for a, c in pairwise(breaks)
        )
        below, above = record.cdf(low), record.sf(high)
        ends = (height(low), height(high)) if outside == "clip" else (np.exp(-abs(y) / b),) * 2
        expected.append(np.log(inside + below * ends[0] + above * ends[1]))
    ours = engine_log_likelihood(release, theta, RecordPrior())
    np.testing.assert_allclose(ours - ours[0], np.array(expected) - expected[0], atol=3e-6)


def _preimages(distribution: RecordDistribution, y: float) -> list[float]:
    """Where inside the bounds the statistic crosses y: the noise has its kink there."""
    x = np.linspace(distribution.low, distribution.high, 4001)
    z = distribution.z(x) - y
    return [float(v) for v in x[:-1][np.sign(z[:-1]) != np.sign(z[1:])]]


@pytest.mark.parametrize("case", [*SMOOTH, *COUNTS], ids=named)
@OUTSIDE
def test_transforms_by_direct_integration(case, outside, rng):
    """E[exp(s z)] at real, imaginary and complex s."""
    family, prior, bounds = case
    release = simulated(case, 3, LAPLACE, outside, REPLACE, rng)
    low, high = (float(v) for v in bounds)
    theta = family.draw(prior, 3, rng)
    (name,) = theta
    distribution = RecordDistribution.of(release)
    s = np.array([0.0, 0.7, -3.0, 2j, 11j, 1.5 - 6j])
    ours = distribution.at(theta).transform(np.broadcast_to(s, (3, s.size))) * np.exp(np.abs(s.real))  # pyright: ignore[reportAttributeAccessIssue]
    turn = float(np.clip(getattr(family, "location", getattr(family, "mean", low)), low, high))
    for i, value in enumerate(theta[name]):
        record = oracle_of(family, {name: value})
        for j, power in enumerate(s):

            def integrand(x: np.ndarray, power: complex = power) -> np.ndarray:
                return np.exp(power * distribution.z(x))

            if family.support.discrete:
                x = np.arange(low, high + 1)
                inside = complex((record.pmf(x) * integrand(x)).sum())
                below, above = record.cdf(low - 1), record.sf(high)
            else:
                pieces = [
                    integrate.quad(
                        lambda x, r=record, f=integrand: r.pdf(x) * complex(f(x)),
                        a, c, complex_func=True, epsabs=1e-12, limit=200,
                    )[0]
                    for a, c in ((low, turn), (turn, high))
                ]  # fmt: skip
                inside, below, above = sum(pieces), record.cdf(low), record.sf(high)
            ends = integrand(np.array([low, high])) if outside == "clip" else np.ones(2)
            assert ours[i, j] == pytest.approx(inside + below * ends[0] + above * ends[1], abs=3e-9)


def test_narrow_records_in_wide_bounds(rng):
    """Fifty nearly equal records: their sum is normal to 1e-300, and with Laplace noise its density is known."""
    family, n = dc.Normal(variance="1e-6"), 50  # pyright: ignore[reportArgumentType]
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]), rng.normal(2.2, 1e-3, n), family, LAPLACE, bounds=(-10, 10),
        missing="none",
    )  # fmt: skip
    y, b, sd = release.totals.values[0] / 2**24, 2.0, n**0.5 * 1e-4
    mean = np.linspace(-9, 9, 13)
    mean = np.sort(np.append(mean, 10 * y / n + np.linspace(-1e-3, 1e-3, 9)))
    gap = (y - n * mean / 10) / sd
    # the density of a normal plus a Laplace variable: two tilted normal distribution functions
    upper, lower = (
        stats.norm.logcdf(sign * gap - sd / b) - sign * gap * sd / b + sd**2 / (2 * b**2) for sign in (1, -1)
    )
    expected = np.logaddexp(upper, lower)
    ours = engine_log_likelihood(release, {"mean": mean}, RecordPrior())
    np.testing.assert_allclose(ours - ours[0], expected - expected[0], atol=1e-5)


def test_a_family_of_ones_own(rng):
    path = Path(__file__).parents[2] / "docs" / "examples" / "rayleigh.py"
    family = runpy.run_path(str(path))["Rayleigh"]()
    try:
        x = stats.rayleigh(scale=2.5).rvs(5, random_state=rng)
        for how in (REPLACE, COUNTED, ADD_REMOVE):
            release = release_with(
                lambda noise: int(noise.sample(1, rng)[0]),
                x,
                family,
                LAPLACE,
                bounds=(1, 6),
                outside="clip",
                **how,  # pyright: ignore[reportArgumentType]
            )
            assert total_variation(release, P.Gamma(4, 40), 256, rng) < 3e-6
    finally:
        REGISTERED.pop("rayleigh")


@pytest.mark.parametrize("slope", [-0.4, 0.0, 0.4])
def test_series_whose_weights_rise_while_powers_fall(slope):
    """Sums whose terms are moderate, while their factors are beyond the largest number, each in its direction."""
    u = np.arange(8000, 10_001)
    log_weights = -slope * (u - 10_000) - 0.5 * ((u - 9990) / 5.0) ** 2
    log_x = slope + 1j * np.linspace(-0.01, 0.01, 5)
    found = series.table_sum(log_x, -slope * 10_000.0, 8000, log_weights)
    exact = np.exp(1j * np.outer(log_x.imag, u) - 0.5 * ((u - 9990) / 5.0) ** 2).sum(axis=1)
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-12)

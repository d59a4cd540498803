"""The exact engine against full enumeration, high precision, and itself at a billion records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import betabinom

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import privatize
from discreet.families.base import Family
from discreet.inference.counts.latent_cells import CellCounts, cell_counts
from discreet.inference.counts.weights import log_rising
from discreet.inference.engine import Question
from discreet.inference.missing_prior import missing_prior
from discreet.inference.models.bernoulli import bernoulli_counts, binary_counts, yes_counts
from discreet.inference.models.categorical import categorical_counts
from discreet.inference.record_prior import RecordPrior, record_prior
from discreet.mechanisms.noise import NoiseMechanism
from discreet.privacy import DiscreteGaussian, DiscreteLaplace, Noise
from tests.inference.count_probabilities import probability

MECHANISMS = {
    "laplace": dc.mechanisms.Laplace(0.3),
    "wide laplace": dc.mechanisms.Laplace(0.02),
    "gaussian": dc.mechanisms.Gaussian(rho=0.05),
    "approx": dc.mechanisms.Gaussian(epsilon=1, delta=1e-6),
}


def seeded(rng: np.random.Generator) -> Callable[[Noise], int]:
    return lambda noise: int(noise.sample(1, rng)[0])


def release_of(
    counts: list[int],
    missing_records: int,
    family: Family,
    mechanism: NoiseMechanism,
    rng: np.random.Generator,
    **how: str,
) -> Release:
    """Release a table with these label counts, plus missing records."""
    domain = family.read_domain(bounds=None, outside="redact", missing=how["missing"])  # pyright: ignore[reportArgumentType]

    layout = family.layout(domain, how["neighbors"])  # pyright: ignore[reportArgumentType]
    usable = float(sum(counts))
    values = [
        round(v)
        for v in layout.coordinates(usable, family.geometry.features_of_labels([float(c) for c in counts]))
    ]
    return privatize(
        seeded(rng), values, sum(counts) + missing_records, family, domain, mechanism, columns=("x",),
        neighbors=how["neighbors"],  # pyright: ignore[reportArgumentType]
    )  # fmt: skip


def log_rises(alpha: float, c: np.ndarray) -> np.ndarray:
    return gammaln(alpha + c) - gammaln(c + 1) - gammaln(alpha)


def expected_missing(n: int) -> np.ndarray:
    """The default prior on 0, ..., n missing values, from its three parts."""
    k = np.arange(n + 1)
    few = np.append(0.0, 1 / k[1:])
    return 0.45 * (k == 0) + 0.15 * few / few.sum() + 0.4 * betabinom.pmf(k, n, 1, 3)


def enumerate_posterior(
    release: Release, alpha: np.ndarray, records: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Every count vector and its posterior probability, by brute force from the definition."""
    k = alpha.size
    low, high = (release.records, release.records) if release.records is not None else records
    if release.records is not None and "usable" in release.totals.names:
        low = 0
    points = np.array([c for c in product(range(high + 1), repeat=k) if low <= sum(c) <= high])
    u = points.sum(axis=1)
    log_p = sum(log_rises(alpha[i], points[:, i]) for i in range(k)) - log_rises(alpha.sum(), u)
    indicators = [points[:, i].astype(float) for i in range(k)]
    sums = release.layout.coordinates(u.astype(float), release.family.geometry.features_of_labels(indicators))
    for value, total, distribution in zip(release.totals.values, sums, release.noise, strict=True):
        log_p = log_p + distribution.log_mass(value - total)
    if release.records is not None and "usable" in release.totals.names:
        log_p = log_p + np.log(expected_missing(release.records))[release.records - u]
    return points, np.exp(log_p - np.logaddexp.reduce(log_p))


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("missing", ["count", "none"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("alpha", [(1.0, 1.0), (0.4, 3.0), (700.0, 20.0)], ids=str)
def test_bernoulli_counts_by_full_enumeration(alpha, mechanism, missing, neighbors, rng) -> None:
    n = 50
    lost = 6 if missing == "count" else 0
    release = release_of(
        [31 - lost, 19],
        lost,
        dc.Bernoulli(),
        MECHANISMS[mechanism],
        rng,
        missing=missing,
        neighbors=neighbors,
    )
    points, expected = enumerate_posterior(release, np.array(alpha), (0, n))
    records = Question(release, None, record_prior((0, n)), 1, 1, rng).usable
    counts = bernoulli_counts(release, dc.priors.Beta(alpha[1], alpha[0]), records)
    if isinstance(counts, CellCounts):
        got = probability(counts, points)
    else:
        table = counts.probabilities()
        got = np.array([table.get((no + yes, yes), 0.0) for no, yes in points.tolist()])
    assert np.abs(got - expected).max() < 1e-10
    assert got.sum() == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("missing", ["count", "none"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("alpha", [(1.0, 1.0, 1.0), (0.3, 2.0, 50.0), (900.0, 1.0, 30.0)], ids=str)
def test_categorical_counts_by_full_enumeration(alpha, mechanism, missing, neighbors, rng) -> None:
    n = 12
    lost = 2 if missing == "count" else 0
    release = release_of(
        [5, 4 - lost, 3],
        lost,
        dc.Categorical(3),
        MECHANISMS[mechanism],
        rng,
        missing=missing,
        neighbors=neighbors,
    )
    points, expected = enumerate_posterior(release, np.array(alpha), (0, n))
    records = Question(release, None, record_prior((0, n)), 1, 1, rng).usable
    got = probability(categorical_counts(release, dc.priors.Dirichlet(alpha), records), points)
    assert np.abs(got - expected).max() < 1e-10
    assert got.sum() == pytest.approx(1, abs=1e-10)


def test_a_posterior_that_forgets_the_noise_is_far_from_it(rng: np.random.Generator) -> None:
    """Negative control: enumeration with half the noise scale differs by far more than the tolerance."""
    release = release_of(
        [5, 4, 3], 0, dc.Categorical(3), MECHANISMS["laplace"], rng, missing="none", neighbors="replace"
    )
    points, expected = enumerate_posterior(release, np.ones(3), (0, 12))
    thin = release_of(
        [5, 4, 3], 0, dc.Categorical(3), dc.mechanisms.Laplace(0.6), rng, missing="none", neighbors="replace"
    )
    object.__setattr__(thin, "statistics", release.statistics)
    got = probability(categorical_counts(thin, dc.priors.Dirichlet([1, 1, 1]), record_prior(None)), points)
    assert np.abs(got - expected).max() > 1e-3


@pytest.mark.parametrize("alpha", [0.5, 1.0, 7.3, 4000.0])
@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
def test_weights_agree_with_high_precision_at_a_billion(alpha: float, n: int) -> None:
    """Ratio recurrences keep 1e-9; the difference of log-gammas does not, which is why they are there."""
    c = np.arange(n, n + 20_001)
    ours = log_rising(alpha, n, n + 20_000)
    with mpmath.workdps(40):
        at = [0, 1, 77, 20_000]

        def log_g(c: int) -> mpmath.mpf:
            return mpmath.loggamma(mpmath.mpf(alpha) + c) - mpmath.loggamma(c + 1)

        exact = np.array([float(log_g(n + i) - log_g(n)) for i in at])
    assert np.abs(ours[at] - exact).max() < 1e-9
    if n == 10**9 and alpha != 1.0:
        by_log_gamma = gammaln(alpha + c) - gammaln(c + 1)
        assert np.abs((by_log_gamma - by_log_gamma[0])[at] - exact).max() > 1e-9


def mp_posterior_mean_yes(n: int, y: int, distribution: Noise, window: int) -> float:
    """Posterior mean of the count of yes minus n/2, Beta(2, 3) prior, in 50 digits over a window of counts."""
    with mpmath.workdps(50):
        total = moment = mpmath.mpf(0)
        ratio = mpmath.mpf(1)
        start = (y + n) // 2 - window
        scale = mpmath.mpf(distribution.scale)  # pyright: ignore[reportAttributeAccessIssue]
        for c in range(start, start + 2 * window):
            weight = ratio * mpmath.exp(-abs(mpmath.mpf(2 * c - n - y)) / scale)
            total += weight
            moment += weight * (c - n // 2)
            ratio *= mpmath.mpf((2 + c) * (n - c)) / ((c + 1) * (3 + n - c - 1))
        return float(moment / total)


def test_weights_at_a_billion_records_end_to_end(rng: np.random.Generator) -> None:
    n, yes = 10**9, 3 * 10**8
    release = release_of(
        [n - yes, yes],
        0,
        dc.Bernoulli(),
        dc.mechanisms.Laplace(0.1),
        rng,
        missing="none",
        neighbors="replace",
    )
    counts = bernoulli_counts(release, dc.priors.Beta(2, 3), record_prior(None))
    table = counts.probabilities()  # pyright: ignore[reportAttributeAccessIssue]
    ours = sum(p * (c - n // 2) for (_, c), p in table.items())
    exact = mp_posterior_mean_yes(n, release.totals.values[0], release.noise[0], 500)
    assert ours == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("family", [dc.Bernoulli(), dc.Categorical(5)], ids=["bernoulli", "categorical"])
@pytest.mark.parametrize("n", [40, 10**9])
def test_samples_follow_the_probabilities(family, neighbors, n, rng) -> None:
    k = len(family.vocabulary)
    counts = rng.multinomial(n, np.full(k, 1 / k)).tolist()
    release = release_of(
        counts, 0, family, dc.mechanisms.Laplace(0.5), rng, missing="count", neighbors=neighbors
    )
    if k == 2:
        posterior = bernoulli_counts(release, dc.priors.Beta(1, 1), record_prior(None))
    else:
        posterior = categorical_counts(release, dc.priors.Dirichlet(np.ones(k)), record_prior(None))
    draws = posterior.sample(20_000, rng)
    draws = np.stack(draws, axis=1) if isinstance(draws, tuple) else draws
    # compare with a second, independent way to sum: moments over the enumerated totals
    total = draws.sum(axis=1)
    if isinstance(posterior, CellCounts):
        u, p = posterior.totals()
    else:
        u, p = posterior.usable, np.exp(posterior.log_rows - np.logaddexp.reduce(posterior.log_rows))  # pyright: ignore[reportAttributeAccessIssue]
    mean, sd = (u * p).sum(), np.sqrt(((u - (u * p).sum()) ** 2 * p).sum())
    # two-sided at 1e-4 over 8 cases
    assert abs(total.mean() - mean) <= 4.4 * sd / np.sqrt(20_000) + 1e-9
    assert (draws >= 0).all()


def test_rejection_and_tables_draw_the_same_distribution(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = release_of(
        [20, 3, 7], 0, dc.Categorical(3), dc.mechanisms.Laplace(0.5), rng, missing="none", neighbors="replace"
    )
    posterior = categorical_counts(release, dc.priors.Dirichlet([1, 1, 1]), record_prior(None))
    size = 20_000
    by_rejection = posterior.sample(size, rng)
    monkeypatch.setattr("discreet.inference.counts.latent_cells._TRIES", 0)
    by_tables = posterior.sample(size, rng)
    support = np.array([c for c in product(range(31), repeat=3) if sum(c) == 30])
    p = probability(posterior, support)
    for draws in (by_rejection, by_tables):
        for k in range(3):
            mean = (p * support[:, k]).sum()
            sd = np.sqrt((p * (support[:, k] - mean) ** 2).sum())
            assert abs(draws[:, k].mean() - mean) < 4.4 * sd / np.sqrt(size)


@pytest.mark.parametrize("noise_scales_away", [-200, -40, 40, 200])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("missing", ["count", "none"])
@pytest.mark.parametrize("family", [dc.Bernoulli(), dc.Categorical(4)], ids=["bernoulli", "categorical"])
def test_absurd_statistics_give_a_finite_posterior(
    family, missing, neighbors, noise_scales_away, rng
) -> None:
    k = len(family.vocabulary)
    release = release_of(
        [25] * k, 0, family, dc.mechanisms.Laplace(0.2), rng, missing=missing, neighbors=neighbors
    )
    values = list(release.totals.values)
    values[0] += round(noise_scales_away * float(release.noise_record.scale[0]))
    object.__setattr__(release.statistics, "values", tuple(values))
    draws = dc.infer(release, draws=400, rng=rng).draws["p"]
    assert np.isfinite(draws).all()
    assert ((draws >= 0) & (draws <= 1)).all()


def test_the_cost_of_a_thousand_cells_is_bearable(rng: np.random.Generator) -> None:
    family = dc.Categorical(1000)
    counts = rng.multinomial(100_000, rng.dirichlet(np.ones(1000))).tolist()
    release = release_of(
        counts, 0, family, dc.mechanisms.Laplace(1), rng, missing="count", neighbors="replace"
    )
    p = dc.infer(release, draws=200, rng=rng).draws["p"]
    assert p.shape == (200, 1000)
    assert np.allclose(p.sum(axis=1), 1)


def random_distribution(rng: np.random.Generator) -> Noise:
    if rng.random() < 0.5:
        return DiscreteLaplace(float(rng.choice([0.05, 0.4, 2.0, 7.0, 40.0])))
    return DiscreteGaussian(float(rng.choice([0.3, 0.5, 3.0, 20.0])))


def test_random_binary_cases_by_full_enumeration(rng: np.random.Generator) -> None:
    """Strong and spiky priors, noise from none to far too much, readings from likely to absurd."""
    n = 30
    holes = rng.random(n + 1) * (rng.random(n + 1) < 0.3)
    priors = [
        RecordPrior(0, n),
        *(missing_prior(v, n) for v in (None, 0.05, 0.9, (0, 3), (10, 20), [*holes[:-1], 1])),
    ]
    for case in range(1000):
        prior = priors[case % len(priors)]
        a, b = rng.choice([1e-3, 0.3, 1, 2, 30, 4000], 2)
        distribution_z, distribution_u = random_distribution(rng), random_distribution(rng)
        y_z, y_u = int(rng.integers(-60, 60)), int(rng.integers(-20, 50))
        for counted in (True, False):
            if counted:
                got = binary_counts(a, b, prior, (y_z, distribution_z), (y_u, distribution_u)).probabilities()
            else:
                got = yes_counts(a, b, n, y_z, distribution_z).probabilities()
            u, c = np.array([(u, c) for u in range(0 if counted else n, n + 1) for c in range(u + 1)]).T
            log_p = (
                log_rises(a, c)
                + log_rises(b, u - c)
                - log_rises(a + b, u)
                + distribution_z.log_mass(y_z - 2 * c + u)
            )
            if counted:
                possible = (u >= prior.low) & (u <= prior.high)
                log_prior = np.where(possible, prior.log_mass(np.clip(u, prior.low, prior.high)), -np.inf)
                log_p = log_p + distribution_u.log_mass(y_u - u) + log_prior
            expected = np.exp(log_p - np.logaddexp.reduce(log_p))
            ours = np.array([got.get(pair, 0.0) for pair in zip(u.tolist(), c.tolist(), strict=True)])
            assert np.abs(ours - expected).max() < 1e-10, (a, b, distribution_z, distribution_u, y_z, y_u)


def test_random_cell_cases_by_full_enumeration(rng: np.random.Generator) -> None:
    n = 10
    points = np.array(list(product(range(n + 1), repeat=3)))
    u = points.sum(axis=1)
    for case in range(1200):
        alpha = rng.choice([1e-3, 0.3, 1, 2, 30, 4000], 3)
        distributions, distribution_u = (
            tuple(random_distribution(rng) for _ in range(3)),
            random_distribution(rng),
        )
        y, y_u = rng.integers(-15, 25, 3), int(rng.integers(-5, 20))
        low, high = [(n, n), (0, n), (0, n), (3, 7)][case % 4]
        weights = rng.random(5) if case % 4 == 3 else None
        records = RecordPrior(low, high, weights)
        usable = (y_u, distribution_u) if case % 4 == 1 else None
        inside = (u >= low) & (u <= high)
        c, total = points[inside], u[inside]
        log_p = sum(
            log_rises(alpha[k], c[:, k]) + distributions[k].log_mass(y[k] - c[:, k]) for k in range(3)
        )
        log_p = log_p - log_rises(alpha.sum(), total) + records.log_mass(total)
        log_p = log_p if usable is None else log_p + distribution_u.log_mass(y_u - total)
        expected = np.exp(log_p - np.logaddexp.reduce(log_p))
        got = probability(cell_counts(alpha, y, distributions, records, usable), c)
        assert np.abs(got - expected).max() < 1e-10, (alpha, distributions, y, records, usable)


def check_cells(
    alpha: np.ndarray,
    y: list[int],
    distribution: Noise,
    records: RecordPrior,
    usable: tuple[int, Noise] | None,
    most: int,
) -> None:
    """Compare the posterior of the total of two cells with brute force over all pairs up to ``most``."""
    c = np.arange(most + 1)
    log_cells = [log_rises(a, c) + distribution.log_mass(v - c) for a, v in zip(alpha, y, strict=True)]
    log_total = np.array(
        [np.logaddexp.reduce(log_cells[0][: u + 1] + log_cells[1][: u + 1][::-1]) for u in range(most + 1)]
    )
    u = np.arange(most + 1)
    log_total -= log_rises(float(np.sum(alpha)), u)
    if usable is not None:
        log_total += usable[1].log_mass(usable[0] - u)
    high = most if records.high is None else min(records.high, most)
    log_total[: records.low], log_total[high + 1 :] = -np.inf, -np.inf
    log_total[records.low : high + 1] += records.log_mass(u[records.low : high + 1])
    expected = np.exp(log_total - np.logaddexp.reduce(log_total))
    totals, got = cell_counts(alpha, np.array(y), (distribution, distribution), records, usable).totals()
    ours = np.zeros(most + 1)
    ours[totals[totals <= most]] = got[totals <= most]
    assert np.abs(ours - expected).sum() < 1e-8


@pytest.mark.parametrize(
    ("weights", "scale", "y"),
    [
        ({100 * k: 1.0 for k in range(11)}, 1.0, [170, 180]),
        ({0: 1.0, 1000: 1.0}, 1.0, [250, 250]),
        ({100: 1e-40, 600: 1.0}, 10.0, [50, 50]),
        ({7: 1.0, 8: 0.0, 9: 1e-9, 50: 3.0}, 2.0, [20, 11]),
    ],
)
def test_priors_on_records_may_have_holes(weights: dict[int, float], scale: float, y: list[int]) -> None:
    dense = np.zeros(max(weights) + 1)
    dense[list(weights)] = list(weights.values())
    check_cells(np.ones(2), y, DiscreteLaplace(scale), record_prior(dense), None, 1100)


def test_cells_and_usable_count_in_absurd_conflict() -> None:
    distribution = DiscreteLaplace(0.0651)
    check_cells(
        np.array([0.328, 1024.6]), [-72, -120], distribution, RecordPrior(0, 196), (130, distribution), 196
    )


@pytest.mark.parametrize("epsilon", [100, 300, 2000, 10**5])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("missing", ["count", "none"])
@pytest.mark.parametrize("family", [dc.Bernoulli(), dc.Categorical(3)], ids=["bernoulli", "categorical"])
def test_almost_no_noise_gives_the_ordinary_posterior(family, missing, neighbors, epsilon, rng) -> None:
    k = len(family.vocabulary)
    counts = [40, 25, 10][:k]
    lost = 5 if missing == "count" else 0
    for mechanism in (dc.mechanisms.Laplace(epsilon), dc.mechanisms.Gaussian(rho=epsilon)):
        release = release_of(counts, lost, family, mechanism, rng, missing=missing, neighbors=neighbors)
        draws = dc.infer(release, draws=4000, rng=rng).draws["p"]
        last = draws if k == 2 else draws[:, -1]
        expected = (counts[-1] + 1) / (sum(counts) + k)
        sd = np.sqrt(expected * (1 - expected) / (sum(counts) + k + 1))
        assert abs(last.mean() - expected) < 5 * sd / np.sqrt(4000)


@pytest.mark.parametrize(
    ("usable", "yes", "epsilon"),
    [(5 * 10**8, 0, 1), (5 * 10**8, 5 * 10**8, 0.1), (9 * 10**8, 3, 0.1), (10, 5, 1), (0, 0, 1)],
)
def test_a_billion_records_with_lopsided_counts(
    usable: int, yes: int, epsilon: float, rng: np.random.Generator
) -> None:
    release = release_of(
        [usable - yes, yes], 10**9 - usable, dc.Bernoulli(), dc.mechanisms.Laplace(epsilon), rng,
        missing="count", neighbors="replace",
    )  # fmt: skip
    p = dc.infer(release, draws=400, rng=rng).draws["p"]
    assert np.isfinite(p).all()
    if usable > 1000:
        assert abs(p.mean() - yes / usable) < 1e-4


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_tiny_priors_never_give_nan(neighbors: str, rng: np.random.Generator) -> None:
    nobody = release_of(
        [0, 0, 0], 3, dc.Categorical(3), dc.mechanisms.Laplace(5), rng, missing="count", neighbors=neighbors
    )
    p = dc.infer(nobody, prior=dc.priors.Dirichlet([1e-3] * 3), draws=4000, rng=rng).draws["p"]
    assert np.isfinite(p).all()
    assert np.allclose(p.sum(axis=1), 1)
    # an almost empty prior puts nearly all its weight on the corners, each as often
    corners = (p > 0.999).mean(axis=0)
    assert corners.sum() > 0.5
    yes_no = release_of(
        [0, 0], 3, dc.Bernoulli(), dc.mechanisms.Laplace(5), rng, missing="count", neighbors=neighbors
    )
    assert np.isfinite(
        dc.infer(yes_no, prior=dc.priors.Beta(1e-3, 1e-3), draws=4000, rng=rng).draws["p"]
    ).all()


@pytest.mark.parametrize("alpha", [1e-3, 1e-9, 1e-15, 1e-50])
def test_weights_of_tiny_priors(alpha: float) -> None:
    with mpmath.workdps(80):
        exact = float(
            mpmath.loggamma(mpmath.mpf(alpha) + 5) - mpmath.loggamma(6) - mpmath.loggamma(mpmath.mpf(alpha))
        )
    assert log_rising(alpha, 0, 5)[-1] == pytest.approx(exact, abs=1e-12)


def total_by_convolution(
    alpha: np.ndarray,
    y: np.ndarray,
    distribution: Noise,
    records: RecordPrior,
    usable: tuple[int, Noise] | None,
    most: int,
) -> np.ndarray:
    """The posterior of the total by direct convolution of log weights: slow, and right however far the tails go."""
    c = np.arange(most + 1)
    log_sum = None
    for a, v in zip(alpha, y, strict=True):
        cell = log_rises(a, c) + distribution.log_mass(v - c)
        log_sum = (
            cell
            if log_sum is None
            else np.array([np.logaddexp.reduce(log_sum[: m + 1] + cell[: m + 1][::-1]) for m in c])
        )
    assert log_sum is not None
    log_total = log_sum - log_rises(float(np.sum(alpha)), c)
    if usable is not None:
        log_total = log_total + usable[1].log_mass(usable[0] - c)
    log_total[: records.low] = -np.inf
    return np.exp(log_total - np.logaddexp.reduce(log_total))


def test_many_cells_with_a_prior_stronger_than_the_data() -> None:
    """Ten cells, noise far wider than the counts: several panels, one of them at a total of nothing."""
    alpha = np.array([0.3] * 5 + [4.0] * 5)
    y = np.array([-1, -58, 51, 92, 3, -15, -36, -28, -68, -5])
    distribution = DiscreteLaplace(2 / 0.03)
    records, usable = RecordPrior(0, 300), (83, distribution)
    counts = cell_counts(alpha, y, (distribution,) * 10, records, usable)
    assert len(counts.panels) > 1
    totals, got = counts.totals()
    assert (
        np.abs(got - total_by_convolution(alpha, y, distribution, records, usable, 300)[totals]).sum() < 1e-9
    )


def test_cases_drawn_from_the_model_are_never_refused(rng: np.random.Generator) -> None:
    for case in range(200):
        k, n = int(rng.integers(2, 12)), int(np.exp(rng.uniform(0, np.log(60))))
        alpha = np.exp(rng.uniform(np.log(0.03), np.log(60), k))
        width = float(np.exp(rng.uniform(np.log(0.3), np.log(200))))
        distribution = DiscreteLaplace(width) if case % 2 else DiscreteGaussian(width)
        u = n if case % 3 == 0 else int(rng.integers(0, n + 1))
        y = rng.multinomial(u, rng.dirichlet(alpha)) + distribution.sample(k, rng)
        records = [RecordPrior(n, n), RecordPrior(0, n), RecordPrior(0, 2 * n)][case % 3]
        usable = (u + int(distribution.sample(1, rng)[0]), distribution) if case % 3 == 1 else None
        totals, got = cell_counts(alpha, y, (distribution,) * k, records, usable).totals()
        assert records.high is not None
        expected = total_by_convolution(alpha, y, distribution, records, usable, records.high)
        assert np.abs(got - expected[totals]).sum() + (1 - expected[totals].sum()) < 1e-8

"""Posterior draws under a metric: exact log-ratios of posteriors never exceed the claim, and come close to it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import discreet as dc
from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.privacy.metric import (
    RecordDistance,
    finite_bernoulli,
    finite_posterior,
    lipschitz,
    lipschitz_posterior,
    network_posterior,
    normal_posterior,
    restricted_posterior,
    supported_posterior,
)

D = RecordDistance


def log_ratios(log_prior: np.ndarray, log_x: np.ndarray, log_y: np.ndarray) -> float:
    """Return the largest log-ratio of two posteriors on finitely many parameters."""
    x, y = log_prior + log_x, log_prior + log_y
    return float(np.abs(x - logsumexp(x) - y + logsumexp(y)).max())


@pytest.mark.parametrize("step", ["0.2", "0.05"])
def test_coins_on_a_grid_of_parameters(step: str, rng: np.random.Generator) -> None:
    """Theorem 8.1 for every pair of tables of four tosses, under priors that make the worst of it."""
    points, constant = finite_bernoulli(step)
    p = np.array([float(point) for point in points])
    guarantee = lipschitz_posterior(constant, "hamming")
    assert guarantee.epsilon == 2 * constant
    assert guarantee.to_neighbors() == dc.PureDP(2 * constant)
    tables = np.array(list(product([0, 1], repeat=4)))
    log_p = tables.sum(1)[:, None] * np.log(p) + (4 - tables.sum(1))[:, None] * np.log1p(-p)
    worst = 0.0
    for spread in (0.0, 1.0, 30.0):
        log_prior = spread * rng.normal(size=(2, len(p)))
        for (i, j), prior in product(combinations(range(16), 2), log_prior):
            rho = int(np.sum(tables[i] != tables[j]))
            worst = max(worst, log_ratios(prior, log_p[i], log_p[j]) / rho)
    # all mass at one end, and the draw at the other
    ends = np.full(len(p), -200.0)
    ends[[0, -1]] = 0, -60
    worst = max(worst, log_ratios(ends, log_p[0], log_p[15]) / 4)
    assert 0.999 * float(guarantee.epsilon) <= worst <= float(guarantee.epsilon)


CASES: dict[str, tuple[Family, RecordDistance, tuple[str, str], float, float]] = {
    "exponential": (dc.Exponential(), D.absolute(0, 3), ("0.2", "2"), 0.0, 3.0),
    "laplace": (dc.Laplace(location=1), D.absolute(-3, 4), ("0.2", "2"), 1.0, -3.0),
    "poisson": (dc.Poisson(), D.absolute(0, 4), ("0.5", "3"), 0.0, 4.0),
    "geometric": (dc.Geometric(), D.hamming(0, 4), ("0.2", "0.9"), 0.0, 4.0),
    "bernoulli": (dc.Bernoulli(), D.hamming(), ("0.01", "0.5"), 0.0, 1.0),
    "normal-mean": (dc.Normal(mean=1), D.quadratic(-2, 2), ("0.5", "4"), -1.999, -2.0),
    "normal-variance": (dc.Normal(variance=2), D.absolute(-2, 2), ("-1", "3"), -2.0, 2.0),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_of_one_parameter(name: str) -> None:
    """The width of eta is enough, and is attained by many records at one end; 2L is never below it."""
    family, distance, support, first, second = CASES[name]
    guarantee = supported_posterior(family, support, distance)
    key = family.draw_names[0]
    theta = np.linspace(float(support[0]), float(support[1]), 4001)
    log_p = {
        x: np.array([float(family.log_density(np.array([x]), {key: t})[0]) for t in theta])
        for x in (first, second)
    }
    rho = float(distance.between(np.array([first]), np.array([second]))[0])
    worst = 0.0
    for n, (x, y) in product((1, 20_000), ((first, second), (second, first))):
        rest = (n - 1) * log_p[x]
        worst = max(worst, log_ratios(np.zeros(len(theta)), rest + log_p[x], rest + log_p[y]) / rho)
    claimed = float(guarantee.epsilon)
    assert 0.999 * claimed <= worst <= claimed
    printed = 2 * float(lipschitz(family, {key: theta}, distance).max())
    assert claimed <= printed * (1 + 1e-9)


def test_a_prior_restricted_to_smooth_parameters() -> None:
    """Theorem 17 (a), at most 2L; half of it where eta has one sign."""
    for name, (family, distance, *_rest) in CASES.items():
        restricted = restricted_posterior(family, 3, distance)
        epsilon = restricted.guarantee.epsilon
        one_sign = name in ("exponential", "laplace", "geometric", "normal-mean")
        assert float(epsilon) == pytest.approx(3 if one_sign else 6, rel=1e-9)
        assert restricted_posterior(family, 3, distance, samples=5).guarantee.epsilon == 5 * epsilon
    coin = restricted_posterior(dc.Bernoulli(), np.log(9), D.hamming())
    low, high = coin.support
    assert low is not None
    assert high is not None
    assert (float(low), float(high)) == (pytest.approx(0.1), pytest.approx(0.9))
    assert coin.guarantee.to_neighbors().epsilon <= Fraction("4.3944491547")
    # the support goes into the mechanism, whose own cost is the same
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=5, support=(low, high))
    release = dc.release([0, 1, 1], dc.Bernoulli(), mechanism=mechanism, missing="none")
    assert release.sampling_record.parameters["temperature"] == 1


def test_finitely_many_parameters_and_records(rng: np.random.Generator) -> None:
    """Any family, by trying all pairs: the closed form where there is one, and exact posteriors where there is none."""
    rates = np.linspace(0.5, 3, 6)
    found = finite_posterior(dc.Poisson(), {"rate": rates}, D.absolute(0, 4), np.arange(5))
    closed = supported_posterior(dc.Poisson(), ("0.5", "3"), D.absolute(0, 4))
    assert closed.epsilon <= found.epsilon <= closed.epsilon * (1 + Fraction(1, 10**9))
    labels = np.array(["0", "1", "2"])
    p = rng.dirichlet(np.ones(3), size=4)
    guarantee = finite_posterior(dc.Categorical(3), {"p": p}, D.hamming(), labels, samples=2)
    worst = 0.0
    for (i, j), k, m in product(combinations(range(3), 2), range(4), range(4)):
        prior = np.full(4, -400.0)
        prior[[k, m]] = 0.0, -50.0
        worst = max(worst, log_ratios(prior, np.log(p[:, i]), np.log(p[:, j])))
    assert 0.999 * float(guarantee.epsilon) / 2 <= worst <= float(guarantee.epsilon) / 2
    mean, variance = np.array([0.0, 1.0, 0.0]), np.array([1.0, 1.0, 4.0])
    both = finite_posterior(
        dc.Normal(), {"mean": mean, "variance": variance}, D.absolute(-1, 1), np.linspace(-1, 1, 9)
    )
    assert both.epsilon > 0
    with pytest.raises(dc.errors.UsageError, match="not Lipschitz"):
        finite_posterior(
            dc.Categorical(2), {"p": np.array([[0.0, 1.0], [0.5, 0.5]])}, D.hamming(), labels[:2]
        )


def test_an_unrestricted_prior_has_no_epsilon() -> None:
    """Corollary 9: however likely Theta_L is, a draw outside of it is not within 2L."""
    prior, n = dc.priors.Beta(4, 4), 5
    p = np.array([1e-3, 1e-6, 1e-9])
    found = stats.beta.logpdf(p, 4 + 0, 4 + n) - stats.beta.logpdf(p, 4 + 1, 4 + n - 1)
    assert found == pytest.approx([6.9, 13.8, 20.7], abs=0.7)
    level = 4.0
    outside = 2 * stats.beta.cdf(1 / (1 + np.exp(level)), prior.a, prior.b)
    assert outside < 1e-5
    assert found[2] > 2 * level
    with pytest.raises(dc.errors.UsageError, match="not Lipschitz"):
        supported_posterior(dc.Bernoulli(), (0, 1), D.hamming())
    import discreet.privacy.metric as metric

    assert not [name for name in metric.__all__ if "random" in name]


@pytest.mark.parametrize(
    ("family", "support", "end"),
    [
        (dc.Bernoulli(), (0, "0.5"), "lower"),
        (dc.Bernoulli(), ("0.1", 1), "upper"),
        (dc.Exponential(), (0, None), "upper"),
        (dc.Exponential(), (None, 1), "lower"),
        (dc.Poisson(), (0, 3), "lower"),
        (dc.Normal(mean=0), (0, None), "lower"),
        (dc.Normal(variance=1), (None, 3), "lower"),
    ],
)
def test_supports_without_a_constant_are_refused(family: Family, support: tuple, end: str) -> None:
    distance = D.hamming() if family.name == "bernoulli" else D.absolute(0, 3)
    with pytest.raises(dc.errors.UsageError, match=f"not Lipschitz[^$]*{end}"):
        supported_posterior(family, support, distance)
    with pytest.raises(dc.errors.UsageError, match="lower end first"):
        supported_posterior(family, ("0.5", "0.5"), distance)
    with pytest.raises(dc.errors.UsageError, match="samples"):
        supported_posterior(family, ("0.2", "0.5"), distance, samples=0)


def test_multivariate_normal_guarantee(rng: np.random.Generator) -> None:
    """Lemma 23, and the printed 3 epsilon for records of norm at most 1 as a control that fails."""
    distance = D.outer_product(1, 2)
    norm = np.sqrt(2) * 4
    guarantee = normal_posterior(str(round(norm, 9)), 1, distance)
    angle = np.arcsin((np.sqrt(5) - 1) / (2 * np.sqrt(2)))
    worst = 0.0
    for _ in range(300):
        x, y = rng.normal(size=(2, 2))
        x, y = x / max(1, np.linalg.norm(x)), y / max(1, np.linalg.norm(y))
        rho = float(distance.between(x, y))
        means = rng.normal(size=(30, 2))
        means /= np.maximum(1, np.linalg.norm(means, axis=1, keepdims=True))
        change = 4 * (means @ (y - x)) - 2 * (y @ y - x @ x)
        worst = max(worst, log_ratios(20 * rng.normal(size=30), change, 0 * change) / rho)
    assert worst <= float(guarantee.epsilon)
    neighbors = guarantee.to_neighbors()
    assert isinstance(neighbors, dc.PureDP)
    assert float(neighbors.epsilon) == pytest.approx(norm * 4.7097, rel=1e-4)
    x, y = np.array([np.sin(angle), np.cos(angle)]), np.array([np.sin(angle), -np.cos(angle)])
    assert float(distance.between(x, y)) > 1.5 * 3
    for wrong in ({"mean_norm": -1}, {"mean_norm": 1, "distance": D.outer_product(1, 2, centered=True)}):
        with pytest.raises(dc.errors.UsageError, match="mean_norm"):
            normal_posterior(1, **{"distance": distance, **wrong})
    with pytest.raises(dc.errors.UsageError, match="outer"):
        normal_posterior(1, 1, D.absolute(0, 1))


def chain_log_p(theta: np.ndarray, row: tuple[int, ...]) -> float:
    """Return the log-probability of a row of a chain of binary variables; theta has a table for each variable."""
    parents = (0, *row[:-1])
    return float(sum(np.log(theta[k, parents[k], value]) for k, value in enumerate(row)))


def test_networks(rng: np.random.Generator) -> None:
    """Lemma 24: for a whole record the printed 2 max(1 + children) log(1/least) is violated, this one holds."""
    least, k = 0.05, 3
    record = network_posterior([1, 1, 0], "0.05").to_neighbors()
    value = network_posterior([1, 1, 0], "0.05", changed="value").to_neighbors()
    assert isinstance(record, dc.PureDP)
    assert isinstance(value, dc.PureDP)
    assert value.unit == "one value"
    rows = list(product([0, 1], repeat=k))
    worst = {1: 0.0, 3: 0.0}
    for trial in range(15):
        extreme = rng.random((2, k, 2)) < 0.5
        tables = np.where(extreme, 1 - least, least)
        if trial == 0:
            # rows 000 and 111 see different tables everywhere but at the root: all factors are as bad as can be
            tables[0] = [[1 - least, 0.5], [1 - least, least], [1 - least, least]]
            tables[1] = 1 - tables[0]
        thetas = np.stack([tables, 1 - tables], axis=-1)
        for (i, j), mass in product(combinations(range(8), 2), (-60.0, 0.0, 60.0)):
            differ = sum(a != b for a, b in zip(rows[i], rows[j], strict=True))
            log_p = np.array([[chain_log_p(theta, rows[r]) for r in (i, j)] for theta in thetas])
            for weight in (mass, mass / 8):
                found = log_ratios(np.array([0.0, weight]), log_p[:, 0], log_p[:, 1])
                worst[3] = max(worst[3], found)
                if differ == 1:
                    worst[1] = max(worst[1], found)
    assert worst[1] <= float(value.epsilon) * (1 + 1e-9)
    assert 0.99 * float(record.epsilon) <= worst[3] <= float(record.epsilon)
    assert float(record.epsilon) == pytest.approx(2 * k * np.log(0.95 / 0.05), rel=1e-9)
    printed = 2 * 2 * np.log(1 / least)
    assert worst[3] > 1.4 * printed
    # a Markov chain of 10 steps: "4 log(1/least)" is for one step
    chain = network_posterior([1] * 9 + [0], "0.05").to_neighbors()
    assert float(chain.budgets()["epsilon"]) == pytest.approx(20 * np.log(19), rel=1e-9)
    for wrong in ([], [-1], [1], [5, 0]):
        with pytest.raises(dc.errors.UsageError, match="children"):
            network_posterior(wrong, "0.1")
    with pytest.raises(dc.errors.UsageError, match="changed"):
        network_posterior([0], "0.1", changed="row")  # pyright: ignore[reportArgumentType]
    with pytest.raises(dc.errors.UsageError, match="least probability"):
        network_posterior([0, 0], "0.6")


@pytest.mark.parametrize("records", [[], [3], 3])
def test_without_two_records_there_is_no_guarantee(records: Any) -> None:
    distance, rates = RecordDistance.absolute(0, 9), {"rate": np.array([0.5, 2.0])}
    with pytest.raises(dc.errors.UsageError, match="at least two records"):
        finite_posterior(dc.Poisson(), rates, distance, records)
    assert finite_posterior(dc.Poisson(), rates, distance, [3, 4]).epsilon > 1


def test_parameters_have_the_names_of_the_family() -> None:
    with pytest.raises(dc.errors.UsageError, match="the parameters of poisson are rate, got 'p'"):
        finite_posterior(dc.Poisson(), {"p": np.array([0.5])}, RecordDistance.absolute(0, 9), [0, 1])


def test_a_network_is_given_by_its_model() -> None:
    abc = {"a": ["x", "y"], "b": ["x", "y", "z"], "c": ["x", "y"]}
    network = dc.models.BayesianNetwork([("a", "b"), ("a", "c")], abc)
    for changed in ("record", "value"):
        said = network_posterior(network, "0.05", changed=changed)  # pyright: ignore[reportArgumentType]
        assert said == network_posterior([2, 0, 0], "0.05", changed=changed)  # pyright: ignore[reportArgumentType]
    chain = dc.models.MarkovChain({"who": ["p", "q"]}, {"day": ["1", "2", "3"]}, {"state": ["s", "t", "u"]})
    assert network_posterior(chain, "0.05") == network_posterior([1, 1, 0], "0.05", cells=3)
    naive = dc.models.NaiveBayes({"a": ["x", "y"]}, {"b": ["x", "y"], "c": ["x", "y"]})
    assert network_posterior(naive, "0.1") == network_posterior([2, 0, 0], "0.1")
    with_numbers = dc.models.NaiveBayes({"a": ["x", "y"]}, {"b": ["x", "y"], "age": (0, 100)})
    for wrong in (with_numbers, dc.models.Mixture(2, {"b": ["x", "y"]}), dc.Bernoulli()):
        with pytest.raises(UsageError) as refused:
            network_posterior(wrong, "0.1")  # pyright: ignore[reportArgumentType]
        assert "\n" not in refused.value.message
    with pytest.raises(UsageError, match="leave out cells"):
        network_posterior(network, "0.1", cells=2)

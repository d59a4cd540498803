"""Released probabilities of labels, and finite sets, told apart: against quadrature, simulation and the limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

import discreet as dc
from discreet.errors import UsageError
from discreet.samplers.truncated_dirichlet import sample_truncated_dirichlet
from discreet.validation.sampled_distribution import distribution_of_draw

OPS = dc.mechanisms.PosteriorSampling
FALSE_ALARM = 1e-5


def labels_pair(first: list[str], second: list[str], mechanism: Any, labels: str) -> Any:
    known = distribution_of_draw(dc.Categorical(list(labels)), mechanism, None)
    return known, known.compared(first, second)[0]


def test_two_labels_by_quadrature() -> None:
    """Between truncated beta distributions the divergence and the advantage are integrals of one variable."""
    mechanism = OPS("dirichlet:1,2", epsilon=1, support="0.05")
    tables = list("aab") * 5, list("aab") * 4 + list("abb")
    known, pair = labels_pair(*tables, mechanism, "ab")
    t = float(known.temperature)
    laws = [beta(1 + table.count("a") / t, 2 + table.count("b") / t) for table in tables]
    mass = [law.cdf(0.95) - law.cdf(0.05) for law in laws]

    def density(at: float, which: int) -> float:
        return float(laws[which].pdf(at) / mass[which])  # pyright: ignore[reportAttributeAccessIssue]

    divergence = quad(lambda x: density(x, 0) * np.log(density(x, 0) / density(x, 1)), 0.05, 0.95)[0]
    advantage = quad(lambda x: abs(density(x, 0) - density(x, 1)) / 2, 0.05, 0.95, points=[0.5, 0.65, 0.7])[0]
    assert pair.divergence() == pytest.approx(divergence, rel=1e-5)
    assert pair.best_test(1).advantage == pytest.approx(advantage, rel=1e-3)


@pytest.mark.parametrize(
    ("first", "second", "support"),
    [
        ("aabbccd", "aabbcdd", "0.05"),
        ("aaaaaab", "aaaaabb", {"a": "0.05", "b": "0.1", "c": "0.02", "d": "0.1"}),
        # three labels differ, and all four
        ("aabbccd", "abbcdcc", "0.05"),
        ("aaabbcd", "abbbccd", "0.05"),
    ],
)
def test_more_labels_by_simulation(first: str, second: str, support: Any, rng: np.random.Generator) -> None:
    """Mean and spread of the log-ratio under the sampler itself, for tables that differ in two and in more labels."""
    mechanism = OPS("dirichlet:1,1,2,1", epsilon=4, support=support)
    known, pair = labels_pair(list(first) * 3, list(second) * 3, mechanism, "abcd")
    t = float(known.temperature)
    counts = np.array([[3 * table.count(label) for label in "abcd"] for table in (first, second)])
    drawn = sample_truncated_dirichlet(
        np.array([1, 1, 2, 1]) + counts[0] / t, np.array(known.least), 20_000, rng
    )
    ratio = np.log(drawn) @ (counts[0] - counts[1]) / t
    mass = np.exp(pair.log_p)
    # up to the constant, which the lattice has: compare the mean of exp(-ratio), that is of Q / P, which is 1
    lattice = pair.log_p - pair.log_q
    center = lattice @ mass
    spread = np.sqrt(mass @ (lattice - center) ** 2)
    assert ratio.std() == pytest.approx(spread, rel=0.05)
    shift = np.log(np.mean(np.exp(-(ratio - ratio.mean()))))
    # KL(P | Q) = log E_P[exp(-(L - E L))], an average of 20,000 draws
    assert shift == pytest.approx(pair.divergence(), rel=0.1)


def test_the_summary_and_the_limit() -> None:
    mechanism = OPS("dirichlet:1,1,1", epsilon=1, support="0.05")
    told = dc.validation.distinguish(
        list("aabbc") * 4, list("aabbc") * 3 + list("aabcc"), dc.Categorical(["a", "b", "c"]), mechanism=mechanism,
        draws=[1, 10], trials=20, rng=1,
    )  # fmt: skip
    said = told.summary().splitlines()
    assert "differ in 1" in said[0]
    assert "at least 0.05" in said[1]
    assert "numerical integration" in said[1]
    for row in told.by_draws:
        assert row.best is not None
        # no test beats the limit of the guarantee
        assert row.best.error >= row.error_limit
        assert row.best.advantage <= row.advantage_limit
    assert told.by_draws[1].best.error < told.by_draws[0].best.error  # pyright: ignore


def test_no_log_ratio_exceeds_the_range_and_a_generous_claim_is_caught() -> None:
    """The worst neighbors come close to epsilon, so that a claim of nine tenths of it is refuted."""
    mechanism = OPS("dirichlet:1,1,1", epsilon=1, support="0.1")
    worst = 0.0
    for one, other in (
        ("a" * 151, "a" * 150 + "b"),
        ("b" * 30 + "a" * 31, "b" * 31 + "a" * 30),
        ("aab", "aac"),
    ):
        _, pair = labels_pair(list(one), list(other), mechanism, "abc")
        worst = max(worst, float(np.abs(pair.log_p - pair.log_q).max()))
    assert 0.9 < worst <= 1 + 1e-9


def test_finite_sets_are_compared_exactly() -> None:
    mechanism = dc.mechanisms.FinitePosterior([[0.2, 0.8], [0.6, 0.4]], [0.3, 0.7], epsilon=1)
    labels = dc.Categorical(["a", "b"])
    told = dc.validation.distinguish(list("aab"), list("abb"), labels, mechanism=mechanism, draws=[1])
    p = np.array([[0.2, 0.8], [0.6, 0.4]])
    needed = np.log(0.6 / 0.4) - np.log(0.2 / 0.8)
    mass = [0.3, 0.7] * np.exp(np.array([[2, 1], [1, 2]]) @ np.log(p).T / needed)
    mass /= mass.sum(axis=1, keepdims=True)
    best = told.by_draws[0].best
    assert best is not None
    assert best.advantage == pytest.approx(np.abs(mass[0] - mass[1]).sum() / 2, rel=1e-6)
    assert "prior weights on 2 declared values" in told.summary()


def test_what_cannot_be_integrated_is_refused() -> None:
    labels = dc.Categorical(list("abcde"))
    mechanism = OPS("dirichlet:1,1,1,1,1", epsilon=1, support="0.05")
    with pytest.raises(UsageError, match="counts of 5 labels"):
        dc.validation.distinguish(list("aabcd"), list("abbee"), labels, mechanism=mechanism)
    hot = OPS("dirichlet:1,1,1,1,1", epsilon=50, support="0.01")
    with pytest.raises(UsageError, match="too concentrated"):
        dc.validation.distinguish(
            list("abcde") * 40_000, list("abcde") * 39_999 + list("abcdd"), labels, mechanism=hot
        )
    renyi = dc.mechanisms.RenyiPosterior("beta:6,12", order=2, epsilon=1)
    with pytest.raises(UsageError, match="known for posterior samples"):
        dc.validation.distinguish([0], [1], dc.Bernoulli(), mechanism=renyi)  # pyright: ignore

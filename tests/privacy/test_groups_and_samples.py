"""Parallel composition, subsampling and Markov chain costs, by enumeration of small mechanisms."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import mpmath
import numpy as np
import pytest

import discreet as dc
from discreet.privacy import RenyiDP, compose_parallel, subsample
from discreet.privacy.costs.sampler_costs import approximate_sampler, random_scan, sequence_scan
from tests.privacy.oracles import (
    hockey_stick,
    max_log_ratio,
    random_distributions,
    renyi_divergence,
    response,
)

ROUND = 1e-12


def noisy_count(count: int, epsilon: float, reach: int = 8) -> np.ndarray:
    """Return the distribution of a count plus discrete Laplace noise, clamped to -reach..reach."""
    k = np.arange(-reach, reach + 1)
    mass = np.exp(-epsilon * np.abs(np.arange(-200, 201) - count))
    return np.bincount(np.clip(np.arange(-200, 201), -reach, reach) + reach, mass / mass.sum(), k.size)


class TestParallel:
    """A table of records (group, value); each group publishes its noisy count of ones."""

    epsilons = (0.3, 0.7, 0.5)

    def distribution(self, table: tuple[tuple[int, int], ...]) -> np.ndarray:
        distributions = [
            noisy_count(sum(v for g, v in table if g == group), epsilon)
            for group, epsilon in enumerate(self.epsilons)
        ]
        return np.einsum("a,b,c->abc", *distributions).ravel()

    def worst(self, *, moves: bool) -> float:
        """Return the largest log ratio between tables that differ in one record, which may change its group or not."""
        others = ((0, 1), (1, 1))
        records = list(product(range(3), range(2)))
        return max(
            max_log_ratio(self.distribution((a, *others)), self.distribution((b, *others)))
            for a in records
            for b in records
            if moves or a[0] == b[0]
        )

    def test_replace_adds_the_two_largest(self) -> None:
        promised = compose_parallel(*(dc.PureDP(e) for e in self.epsilons))
        assert promised == dc.PureDP("1.2")
        assert self.worst(moves=True) == pytest.approx(1.2)
        # control: the largest alone is not enough
        assert self.worst(moves=True) > 0.7 + 0.1

    def test_a_public_key_needs_the_largest_only(self) -> None:
        promised = compose_parallel(*(dc.PureDP(e) for e in self.epsilons), key="public")
        assert promised == dc.PureDP("0.7")
        assert self.worst(moves=False) == pytest.approx(0.7)

    def test_add_remove_needs_the_largest_only(self) -> None:
        promised = compose_parallel(*(dc.PureDP(e, neighbors="add_remove") for e in self.epsilons))
        assert promised == dc.PureDP("0.7", neighbors="add_remove")
        others = ((0, 1), (1, 1))
        worst = max(
            max_log_ratio(self.distribution(others), self.distribution((record, *others)))
            for record in product(range(3), range(2))
        )
        assert worst == pytest.approx(0.7)

    def test_other_kinds(self) -> None:
        pure, approx, zcdp = dc.PureDP(1), dc.ApproxDP("0.2", "1e-6"), dc.ZeroConcentratedDP("0.1")
        assert compose_parallel(pure, approx, dc.ApproxDP("0.1", "1e-5")) == dc.ApproxDP("1.2", "1.1e-5")
        assert compose_parallel(pure, zcdp, zcdp) == dc.ZeroConcentratedDP("0.6")
        assert compose_parallel(zcdp, dc.ZeroConcentratedDP(2), key="public") == dc.ZeroConcentratedDP(2)
        assert compose_parallel(pure) == pure
        curves = RenyiDP([2, 4], [1, 5]), RenyiDP([2, 3, 4], [2, 3, 4]), zcdp
        # at order 3 the first is (1 * 1 + 3 * 5) / 2 / 2 = 4, by convexity
        assert compose_parallel(*curves) == RenyiDP([2, 3, 4], [3, 7, 9])

    def test_refusals(self) -> None:
        with pytest.raises(dc.errors.UsageError, match="no guarantee"):
            compose_parallel()
        with pytest.raises(dc.errors.UsageError, match="different neighbors"):
            compose_parallel(dc.PureDP(1), dc.PureDP(1, neighbors="add_remove"))
        with pytest.raises(dc.errors.UsageError, match="key must be"):
            compose_parallel(dc.PureDP(1), key="fixed")  # pyright: ignore[reportArgumentType]
        with pytest.raises(dc.errors.UsageError, match="no common kind"):
            compose_parallel(dc.ApproxDP(1, "1e-6"), dc.ZeroConcentratedDP(1))


class TestSubsampling:
    """A mechanism tells by randomized response whether its sample holds a one."""

    @staticmethod
    def answer(found: bool, epsilon: float) -> np.ndarray:
        return response(epsilon)[0 if found else 1]

    def poisson(self, table: tuple[int, ...], rate: float, epsilon: float) -> np.ndarray:
        total = np.zeros(2)
        for kept in product((0, 1), repeat=len(table)):
            weight = rate ** sum(kept) * (1 - rate) ** (len(table) - sum(kept))
            total += weight * self.answer(any(v for v, k in zip(table, kept, strict=True) if k), epsilon)
        return total

    def fixed(self, table: tuple[int, ...], size: int, epsilon: float) -> np.ndarray:
        samples = list(combinations(table, size))
        return np.mean([self.answer(any(sample), epsilon) for sample in samples], axis=0)

    @pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
    @pytest.mark.parametrize("rate", ["0.01", "0.25", "1"])
    def test_poisson_with_add_remove_is_attained(self, epsilon: str, rate: str) -> None:
        promised = subsample(dc.PureDP(epsilon, neighbors="add_remove"), rate, sampling="poisson")
        e, g = float(epsilon), float(rate)
        worst = max(max_log_ratio(self.poisson((0, 0), g, e), self.poisson((0, 0, v), g, e)) for v in (0, 1))
        assert worst == pytest.approx(float(promised.budgets()["epsilon"]), rel=1e-9)
        assert promised.neighbors == "add_remove"

    @pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
    def test_fixed_size_with_replace_is_attained(self, epsilon: str) -> None:
        promised = subsample(dc.PureDP(epsilon), Fraction(2, 5), sampling="fixed_size")
        e = float(epsilon)
        worst = max_log_ratio(self.fixed((0, 0, 0, 0, 0), 2, e), self.fixed((1, 0, 0, 0, 0), 2, e))
        assert worst == pytest.approx(float(promised.budgets()["epsilon"]), rel=1e-9)

    def test_the_linear_form_would_not_hold(self) -> None:
        """Control: 2 rate epsilon, as sometimes printed, is exceeded for epsilon = 2 and small rates."""
        g, e = 0.05, 2.0
        assert max_log_ratio(self.poisson((0,), g, e), self.poisson((0, 1), g, e)) > 2 * g * e

    def test_an_approximate_guarantee(self) -> None:
        promised = subsample(dc.ApproxDP(1, "1e-5"), "0.1", sampling="fixed_size")
        assert promised.budgets()["delta"] == Fraction(1, 10**6)
        with mpmath.workdps(50):
            exact = mpmath.log(1 + (mpmath.e - 1) / 10)
            stated = promised.budgets()["epsilon"]
            assert (
                exact
                <= mpmath.mpf(stated.numerator) / stated.denominator
                <= exact * (1 + mpmath.mpf("1e-25"))
            )
        # a mechanism that fails with probability 0.2 and shows it, kept with probability one half
        p, q = np.array([0.2, 0, *0.8 * response(1.0)[0]]), np.array([0, 0.2, *0.8 * response(1.0)[1]])
        mixed = 0.5 * p + 0.5 * q
        half = subsample(dc.ApproxDP(1, "0.2"), "0.5", sampling="fixed_size").budgets()
        assert hockey_stick(mixed, q, float(half["epsilon"])) <= float(half["delta"]) + ROUND
        assert hockey_stick(mixed, q, float(half["epsilon"])) > 0.9 * float(half["delta"])

    def test_extremes_stay_valid(self) -> None:
        relation: dict[str, Any] = {"neighbors": "add_remove"}
        assert subsample(dc.PureDP("1e5", **relation), "0.5", sampling="poisson") == dc.PureDP(
            "1e5", **relation
        )
        tiny = subsample(dc.PureDP("1e-20", **relation), "1e-10", sampling="poisson").budgets()["epsilon"]
        assert Fraction(1, 10**30) <= tiny <= Fraction(1, 10**30) * (1 + Fraction(1, 10**9))

    def test_refusals(self) -> None:
        for guarantee, sampling in (
            (dc.PureDP(1), "poisson"),
            (dc.PureDP(1, neighbors="add_remove"), "fixed_size"),
        ):
            with pytest.raises(dc.errors.UsageError, match="helps a guarantee for"):
                subsample(guarantee, "0.1", sampling=sampling)  # pyright: ignore[reportArgumentType]
        with pytest.raises(dc.errors.UsageError, match="sampling must be"):
            subsample(dc.PureDP(1), "0.1", sampling="with_replacement")  # pyright: ignore[reportArgumentType]
        with pytest.raises(dc.errors.UsageError, match="not helped"):
            subsample(dc.ZeroConcentratedDP(1), "0.1", sampling="fixed_size")
        for rate in (0, 2, -1, float("nan")):
            with pytest.raises(dc.errors.UsageError, match="rate"):
                subsample(dc.PureDP(1), rate, sampling="fixed_size")


class TestApproximateSampler:
    def test_it_holds_and_is_attained(self, rng: np.random.Generator) -> None:
        epsilon, t = 0.8, 0.02
        promised = approximate_sampler(dc.PureDP("0.8"), total_variation="0.02")
        bound = float(promised.delta)
        assert bound == pytest.approx((1 + np.exp(epsilon)) * t, rel=1e-12)
        assert promised.epsilon == Fraction(4, 5)
        p, q = response(epsilon)
        for wrong in rng.normal(size=(200, 2, 2)):
            steps = [t * np.array([w[0], -w[0]]) / max(abs(w[0]), 1e-9) * min(1, abs(w[1])) for w in wrong]
            assert hockey_stick(p + steps[0], q + steps[1], epsilon) <= bound + ROUND
        step = np.array([t, -t])
        worst = hockey_stick(p + step, q - step, epsilon)
        assert worst == pytest.approx(bound, rel=1e-9)
        # controls: t alone, or twice it, is not enough
        assert worst > 2 * t

    def test_an_approximate_draw_keeps_its_own_delta(self) -> None:
        promised = approximate_sampler(dc.ApproxDP(1, "1e-6"), total_variation="1e-6")
        assert float(promised.delta) == pytest.approx((2 + np.e) * 1e-6, rel=1e-12)

    def test_refusals(self) -> None:
        with pytest.raises(dc.errors.UsageError, match="nothing is promised"):
            approximate_sampler(dc.PureDP(5), total_variation="0.01")
        with pytest.raises(dc.errors.UsageError, match="total_variation"):
            approximate_sampler(dc.PureDP(1), total_variation=0)
        with pytest.raises(dc.errors.UsageError, match="pure or an approximate"):
            approximate_sampler(dc.ZeroConcentratedDP(1), total_variation="0.01")  # pyright: ignore


class TestScans:
    """Four variables, one of them moved at random; only the changed record's has a distribution that depends on it."""

    variables = 4

    def scan(self, distribution: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the distribution of (which variable moved, where to): the first one's is ``distribution``."""
        return np.concatenate([distribution, *[other] * (self.variables - 1)]) / self.variables

    def test_a_pure_guarantee_is_not_amplified(self, rng: np.random.Generator) -> None:
        p, q = response(0.847)
        other = np.array([0.5, 0.5])
        actual = max_log_ratio(self.scan(p, other), self.scan(q, other))
        promised = random_scan(dc.PureDP("0.847"), updated=1, variables=4)
        assert promised == dc.PureDP("0.847")
        assert actual == pytest.approx(0.847)
        # control: the printed 2 epsilon Q / N is exceeded
        assert actual > 2 * 0.847 / 4

    def test_delta_and_renyi_divergence_are(self, rng: np.random.Generator) -> None:
        other = np.array([0.2, 0.3, 0.5])
        orders = [Fraction(3, 2), 2, 5]
        for p, q in zip(
            random_distributions(rng, 30, 3, 0.7), random_distributions(rng, 30, 3, 0.7), strict=True
        ):
            moved, fixed = self.scan(p, other), self.scan(q, other)
            epsilon = 0.1
            delta = hockey_stick(p, q, epsilon)
            if delta > 1e-6:
                promised = random_scan(dc.ApproxDP("0.1", delta), updated=1, variables=4).budgets()
                assert hockey_stick(moved, fixed, epsilon) == pytest.approx(
                    float(promised["delta"]), rel=1e-9
                )
            divergences = [renyi_divergence(p, q, float(a)) for a in orders]
            curve = random_scan(RenyiDP(orders, divergences), updated=1, variables=4)
            assert isinstance(curve, RenyiDP)
            exact = [renyi_divergence(moved, fixed, float(a)) for a in orders]
            assert [float(e) for e in curve.epsilons] == pytest.approx(exact, rel=1e-8)

    def test_a_concentrated_update_becomes_a_curve(self) -> None:
        curve = random_scan(dc.ZeroConcentratedDP("0.5"), updated=2, variables=8)
        assert isinstance(curve, RenyiDP)
        assert all(e <= a / 2 for a, e in zip(curve.orders, curve.epsilons, strict=True))
        assert curve.at(2) == pytest.approx(np.log1p(0.25 * np.expm1(1.0)), rel=1e-9)
        assert random_scan(dc.ZeroConcentratedDP("0.5"), updated=8, variables=8) == dc.ZeroConcentratedDP(
            "0.5"
        )

    def test_a_pass_over_all_costs_one_update(self) -> None:
        """Two latent variables, the second reads the first and its own record; then a parameter reads both records."""

        def distribution(records: tuple[int, int]) -> np.ndarray:
            total = np.zeros((2, 2))
            for z in product((0, 1), repeat=2):
                first = response(1.0)[records[0]][z[0]]
                second = response(1.0)[records[1] ^ z[0]][z[1]]
                total[z] = first * second
            return total.ravel()

        promised = float(sequence_scan(dc.PureDP(1)).budgets()["epsilon"])
        pairs = [((a, b), (c, b)) for a, b, c in product((0, 1), repeat=3)]
        pairs += [((b, a), (b, c)) for a, b, c in product((0, 1), repeat=3)]
        assert max(max_log_ratio(distribution(x), distribution(y)) for x, y in pairs) == pytest.approx(
            promised
        )
        shared = sequence_scan(dc.PureDP(1), shared=[dc.PureDP("0.5"), dc.PureDP("0.5")])
        assert shared == dc.PureDP(2)

    def test_refusals(self) -> None:
        with pytest.raises(dc.errors.UsageError, match="replace"):
            sequence_scan(dc.PureDP(1, neighbors="add_remove"))
        for updated, variables in ((0, 4), (5, 4)):
            with pytest.raises(dc.errors.UsageError, match="updated"):
                random_scan(dc.PureDP(1), updated=updated, variables=variables)

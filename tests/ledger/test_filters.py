"""What adds up how: exact sums, the Rényi filter against independent computations, and adversaries that adapt."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

import discreet as dc
from discreet.errors import UsageError
from discreet.ledger.filters import (
    Terms,
    Totals,
    added,
    counted,
    fits,
    read_terms,
    read_totals,
    remaining,
    spent,
    terms_of,
)
from discreet.ledger.renyi_filter import conversion, pure_curve
from discreet.privacy.guarantees import Guarantee
from discreet.rational import text


def charge_all(terms: Terms, charges: list[Guarantee]) -> tuple[Totals, int]:
    """Charge one after the other until one is refused."""
    totals = Totals()
    for n, charge in enumerate(charges):
        after = added(terms, totals, [charge])
        if not fits(terms, after):
            return totals, n
        totals = after
    return totals, len(charges)


def test_decimals_add_up_exactly() -> None:
    _, n = charge_all(terms_of(dc.PureDP(3)), [dc.PureDP(0.01)] * 301)
    assert n == 300
    _, n = charge_all(terms_of(dc.ZeroConcentratedDP("0.3")), [dc.ZeroConcentratedDP(0.1)] * 4)
    assert n == 3
    # epsilon^2 / 2 = 0.02
    _, n = charge_all(terms_of(dc.ZeroConcentratedDP("0.3")), [dc.PureDP(0.2)] * 16)
    assert n == 15


def test_an_approximate_budget_takes_basic_sums_to_the_end() -> None:
    terms = terms_of(dc.ApproxDP(1, "1e-6"))
    assert charge_all(terms, [dc.ApproxDP(0.1, 1e-7)] * 11)[1] == 10
    assert charge_all(terms, [dc.PureDP(0.25)] * 5)[1] == 4
    basic = terms_of(dc.ApproxDP(1, "1e-6"), renyi_share=0)
    assert charge_all(basic, [dc.PureDP(0.5), dc.ApproxDP("0.5", "1e-6")])[1] == 2


def test_many_small_charges_go_further_than_their_sum() -> None:
    terms = terms_of(dc.ApproxDP(5, "1e-6"))
    assert charge_all(terms, [dc.PureDP(0.01)] * 3000)[1] == 3000
    totals, n = charge_all(terms, [dc.ZeroConcentratedDP(0.01)] * 100)
    assert 35 <= n <= 44  # 0.44 is what the best single order would allow at half of delta
    assert spent(terms, totals)["epsilon"] <= 5


@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(33, 5), Fraction(60)])
@pytest.mark.parametrize("epsilon", ["1e-9", "0.01", "1", "30", "5000"])
def test_curves_are_rounded_up_and_hardly(order: Fraction, epsilon: str) -> None:
    with mpmath.workdps(120):
        a, e = mpmath.mpf(order.numerator) / order.denominator, mpmath.mpf(epsilon)
        true = mpmath.log((mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (mpmath.exp(e) + 1)) / (a - 1)
        got = pure_curve(order, Fraction(epsilon))
        above = mpmath.mpf(got.numerator) / got.denominator - true
        # beyond 1000 the curve is taken for epsilon itself, which it is to within epsilon / (a - 1) e^-epsilon ...
        assert 0 <= above <= (mpmath.mpf(2) ** -79 if e < 1000 else e)
        assert got <= Fraction(epsilon) + Fraction(1, 2**80)


def test_conversions_are_rounded_up_and_hardly() -> None:
    for order in (Fraction(3, 2), Fraction(33, 5), Fraction(60)):
        for delta in (Fraction(1, 10**6), Fraction(1, 3), Fraction(1, 10**30)):
            with mpmath.workdps(120):
                a, d = (mpmath.mpf(v.numerator) / v.denominator for v in (order, delta))
                true = mpmath.log((a - 1) / a) - (mpmath.log(d) + mpmath.log(a)) / (a - 1)
                got = conversion(order, delta)
                assert 0 <= mpmath.mpf(got.numerator) / got.denominator - true <= mpmath.mpf(2) ** -78


def test_totals_and_terms_survive_json() -> None:
    terms = terms_of(dc.ApproxDP(5, "1e-6", neighbors="add_remove"))
    totals = added(
        terms,
        Totals(),
        [dc.PureDP("1/3", neighbors="add_remove"), dc.ZeroConcentratedDP(1, neighbors="add_remove")],
    )
    assert read_terms(terms.to_json()) == terms
    assert read_totals(totals.to_json()) == totals


@pytest.mark.parametrize(
    ("budget", "charge", "reason"),
    [
        (dc.PureDP(1), dc.ApproxDP(0.1, 1e-9), "pure budget takes no approximate"),
        (dc.PureDP(1), dc.ZeroConcentratedDP(0.1), "pure budget takes no zero-concentrated"),
        (dc.ZeroConcentratedDP(1), dc.ApproxDP(0.1, 1e-9), "implies no zero-concentrated"),
        (dc.PureDP(1, neighbors="add_remove"), dc.PureDP(0.1), "number of records"),
        (dc.PureDP(1, unit="household"), dc.PureDP(0.1), "unit household"),
        (dc.PureDP(1), dc.RenyiDP([2, 3], [0.1, 0.2]), "no upper limit"),
    ],
)
def test_what_does_not_count_is_refused_with_the_reason(
    budget: Guarantee, charge: Guarantee, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        added(terms_of(budget), Totals(), [charge])


def test_removing_and_adding_counts_as_two_steps_of_replacing() -> None:
    assert counted(dc.PureDP(0.5, neighbors="add_remove"), dc.PureDP(9)) == dc.PureDP(1)
    rho = dc.ZeroConcentratedDP(0.5, neighbors="add_remove")
    assert counted(rho, dc.ApproxDP(9, 1e-6)) == dc.ZeroConcentratedDP(2)
    twice = counted(dc.ApproxDP(0.5, 1e-9, neighbors="add_remove"), dc.ApproxDP(9, 1e-6))
    assert isinstance(twice, dc.ApproxDP)
    assert twice.epsilon == 1
    assert (1 + math.exp(0.5)) * 1e-9 <= float(twice.delta) <= 1.001 * (1 + math.exp(0.5)) * 1e-9


def test_whatever_remains_will_be_allowed(rng: np.random.Generator) -> None:
    for _ in range(200):
        terms = terms_of(dc.ApproxDP(text(Fraction(int(rng.integers(1, 80)), 10)), 1e-6))
        totals, _ = charge_all(terms, random_charges(rng, 30))
        left = remaining(terms, totals)
        if left["epsilon"] > 0:
            assert fits(terms, added(terms, totals, [dc.PureDP(left["epsilon"])]))
        if left["epsilon"] > 0 and left["delta"] >= Fraction(1, 10**30):
            assert fits(terms, added(terms, totals, [dc.ApproxDP(left["epsilon"], left["delta"])]))


def random_charges(rng: np.random.Generator, n: int) -> list[Guarantee]:
    return [random_charge(rng, float(rng.uniform(-2, 0))) for _ in range(n)]


def random_charge(rng: np.random.Generator, size: float) -> Guarantee:
    amount = f"{10**size:.3g}"
    kind = rng.integers(3)
    if kind == 0:
        return dc.PureDP(amount)
    if kind == 1:
        return dc.ApproxDP(amount, f"{10 ** rng.uniform(-9, -6):.3g}")
    return dc.ZeroConcentratedDP(f"{float(amount) ** 2 / 2:.3g}")


def independent_epsilon(charges: list[Guarantee], delta: float) -> float:
    """The least epsilon at ``delta`` for a fixed list: basic sums, or Rényi at the best of very many orders."""
    pure = np.array([float(c.epsilon) for c in charges if isinstance(c, dc.PureDP)])
    approx = [c for c in charges if isinstance(c, dc.ApproxDP)]
    rho = sum(float(c.rho) for c in charges if isinstance(c, dc.ZeroConcentratedDP))
    epsilon, used = sum(float(c.epsilon) for c in approx), sum(float(c.delta) for c in approx)
    if used > delta * (1 + 1e-12):
        return math.inf
    best = math.inf if rho else pure.sum() + epsilon
    if used < delta:
        a = 1 + np.geomspace(0.02, 2000, 400)
        logs = logsumexp(
            np.stack([np.outer(a, pure), np.outer(1 - a, pure)]), axis=0
        ) - np.logaddexp(pure, 0)  # fmt: skip
        renyi = logs.sum(axis=1) / (a - 1) + a * rho
        best = min(
            best, float((renyi + np.log1p(-1 / a) - np.log((delta - used) * a) / (a - 1)).min()) + epsilon
        )
    return best


@pytest.mark.parametrize("curators", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_adaptive_sequences_never_pass_an_independent_bound(curators: int, rng: np.random.Generator) -> None:
    """Many curators, each asking for more or less as the noise of earlier releases goes."""
    accepted_by_renyi = refusals = 0
    for trial in range(curators):
        epsilon = float(f"{rng.uniform(0.3, 6):.2g}")
        budget = [dc.PureDP(epsilon), dc.ZeroConcentratedDP(epsilon / 10), dc.ApproxDP(epsilon, 1e-6)][
            trial % 3
        ]
        terms = terms_of(budget)
        totals, made, size = Totals(), [], float(rng.uniform(-1.5, 0))
        for _ in range(int(rng.integers(5, 25))):
            charge = random_charge(rng, size)
            try:
                after = added(terms, totals, [charge])
            except UsageError:
                continue
            if not fits(terms, after):
                refusals += 1
                size -= 0.3
                continue
            totals, made = after, [*made, charge]
            # an outcome of the release steers what is asked next
            size = min(0.0, size + (0.2 if rng.random() < 0.5 + 0.1 * size else -0.2))
        pure = sum((c.epsilon for c in made if isinstance(c, dc.PureDP)), Fraction(0))
        squares = sum((c.epsilon**2 / 2 for c in made if isinstance(c, dc.PureDP)), Fraction(0))
        rho = sum((c.rho for c in made if isinstance(c, dc.ZeroConcentratedDP)), Fraction(0))
        if isinstance(budget, dc.PureDP):
            assert pure <= budget.epsilon
        elif isinstance(budget, dc.ZeroConcentratedDP):
            assert rho + squares <= budget.rho
        else:
            # a relative 1e-9 covers the double precision of the independent bound
            assert independent_epsilon(made, 1e-6) <= epsilon * (1 + 1e-9)
            accepted_by_renyi += rho > 0
    # otherwise nothing was tried
    assert refusals > curators / 2
    assert accepted_by_renyi > curators / 10


def adversary(terms: Terms, step: str, *, late: bool) -> float:
    """The largest delta, in units of the budget's, that an adaptive adversary reaches, by backward induction.

    All charges are randomized response with privacy loss ``step``, for which curves are exact, and at any moment the
    adversary may spend as much delta as the filter still allows on a mechanism that fails with that probability, and
    stop. ``late`` is the rule that shares delta as it stands at the end instead of fixing the filter's share early.
    """
    assert isinstance(terms.budget, dc.ApproxDP)
    limit, delta, e = float(terms.budget.epsilon), float(terms.budget.delta), float(step)
    n_orders = len(terms.orders)
    curves = np.array([float(pure_curve(a, Fraction(step))) for a in terms.orders])

    @cache
    def converted(share: float) -> np.ndarray:
        return np.array([float(conversion(a, Fraction(share / n_orders))) for a in terms.orders])

    def holds(n: int, share: float) -> bool:
        return share > 0 and bool((n * curves + converted(share) <= limit).any())

    def spendable(n: int) -> float:
        """Delta that approximate charges may take after n pure ones."""
        if not late:
            held = float(terms.renyi_share) * delta if n else 0.0
            return delta - held
        if n * e <= limit * (1 + 1e-12):
            return delta
        low, high = 0.0, delta
        # the lower end holds after any number of steps
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if holds(n, delta - middle) else (low, middle)
        return low

    share = delta if late else float(terms.renyi_share) * delta
    most = max(n for n in range(3000) if n * e <= limit * (1 + 1e-12) or holds(n, share))
    plus = math.exp(e) / (1 + math.exp(e))
    value = None
    for n in range(most, -1, -1):
        loss = (2 * np.arange(n + 1) - n) * e
        stop = -np.expm1(np.minimum(0, limit - loss))
        d = spendable(n)
        here = d + (1 - d) * stop
        value = here if value is None else np.maximum(here, plus * value[1:] + (1 - plus) * value[:-1])
    assert value is not None
    return float(value[0]) / delta


@pytest.mark.parametrize(
    ("budget", "step"), [((5, "1e-6"), "0.05"), ((2, "1e-3"), "0.05"), ((1, "1e-2"), "0.05")]
)
def test_an_adversary_who_adapts_does_not_exceed_delta(budget: tuple[int, str], step: str) -> None:
    terms = terms_of(dc.ApproxDP(*budget))
    assert adversary(terms, step, late=False) <= 1 + 1e-9
    # the rule that looks as good, and is not
    assert adversary(terms, step, late=True) > 1.01


def test_totals_stay_small_whatever_denominators_come() -> None:
    terms, totals = terms_of(dc.PureDP(1000)), Totals()
    exact = Fraction(0)
    for prime in range(10**6 + 1, 10**6 + 200, 2):
        totals = added(terms, totals, [dc.PureDP(Fraction(1, prime))])
        exact += Fraction(1, prime)
    assert exact.denominator > 2**1500
    assert totals.pure.denominator <= 2**1400
    assert 0 <= totals.pure - exact <= Fraction(200, 2**1400)


@pytest.mark.parametrize("share", ["-0.1", "1.1", "nan"])
def test_shares_are_shares(share: str) -> None:
    with pytest.raises(UsageError, match="renyi_share"):
        terms_of(dc.ApproxDP(1, 1e-6), share)

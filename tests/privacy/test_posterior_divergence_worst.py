"""The largest divergence over all neighboring tables: against every table there is, where they can be listed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import priors
from discreet.errors import UsageError
from discreet.families import Family
from discreet.priors import Prior
from discreet.privacy.costs.posterior_divergence import conjugate_divergence
from discreet.privacy.costs.posterior_neighbors import NeighboringPosteriors

#: Differences of posteriors' rounded parameters, as small as a twentieth of a record, lose this much.
_ROUNDING = 1e-8


def statistics_of(family: Family, bounds: Any) -> list[np.ndarray]:
    """Some statistics that a record can have: all of them for labels, both ends and the middle for values."""
    if isinstance(family, dc.Bernoulli):
        return [np.zeros(1), np.ones(1)]
    if isinstance(family, dc.Categorical):
        return list(np.eye(len(family.labels)))
    low, high = (float(end) for end in family.measure_range(*bounds[0]))
    return [np.array([value]) for value in np.linspace(low, high, 4)]


def listed(near: NeighboringPosteriors, order: float, r: float, m: float, corners: bool = False) -> float:
    """The largest divergence over all tables with these statistics; ``corners``: one record off a constant table."""
    values = statistics_of(near.family, near.bounds)
    prior = type(near.prior).from_natural(near.prior.natural() / m)
    best = 0.0
    for others in itertools.combinations_with_replacement(range(len(values)), near.n_records - 1):
        if corners and len(set(others)) > 1:
            continue
        sums = sum((values[i] for i in others), np.zeros_like(values[0]))
        after = [near.family.update(prior, r * (sums + value), r * near.n_records) for value in values]
        pairs = [
            (p, q)
            for (i, p), (j, q) in itertools.permutations(enumerate(after), 2)
            if not corners or not others or others[0] in (i, j)
        ]
        best = max(best, *(conjugate_divergence(p, q, order) for p, q in pairs))
    return best


def drawn(kind: str, rng: np.random.Generator) -> tuple[Family, Prior, Any]:
    a, b = (float(x) for x in 10 ** rng.uniform(-0.7, 1, size=2))
    low = Fraction(int(rng.integers(0, 2)))
    bounds = ((low, low + int(rng.integers(1, 5))),)
    cases: dict[str, tuple[Family, Prior, Any]] = {
        "bernoulli": (dc.Bernoulli(), priors.Beta(a, b), None),
        "two labels": (dc.Categorical(k=2), priors.Dirichlet([a, b]), None),
        "three labels": (dc.Categorical(k=3), priors.Dirichlet(10 ** rng.uniform(-0.7, 1, size=3)), None),
        "four labels": (dc.Categorical(k=4), priors.Dirichlet(10 ** rng.uniform(-0.7, 1, size=4)), None),
        "poisson": (dc.Poisson(), priors.Gamma(a, b), bounds),
        "geometric": (dc.Geometric(), priors.Beta(a, b), bounds),
        "exponential": (dc.Exponential(), priors.Gamma(a, b), bounds),
        "gamma": (dc.Gamma(shape=1.7), priors.Gamma(a, b), bounds),
        "laplace": (dc.Laplace(location=0.8), priors.Gamma(a, b), bounds),
        "normal, mean known": (dc.Normal(mean=0.3), priors.Gamma(a, b), bounds),
        "normal, variance known": (dc.Normal(variance=2.0), priors.Normal(a, b), bounds),
    }
    return cases[kind]


_KINDS = (
    "bernoulli",
    "two labels",
    "three labels",
    "four labels",
    "poisson",
    "geometric",
    "exponential",
    "gamma",
    "laplace",
    "normal, mean known",
    "normal, variance known",
)


@pytest.mark.parametrize("kind", _KINDS)
def test_no_table_exceeds_it_and_one_attains_it(kind: str, rng: np.random.Generator) -> None:
    for _ in range(40):
        family, prior, bounds = drawn(kind, rng)
        near = NeighboringPosteriors(family, prior, int(rng.integers(1, 6)), bounds)
        r, m = rng.uniform(0.05, 1), rng.uniform(0.1, 1)
        order = 1 + (min(near.largest_order(r=r, m=m), 20) - 1) * rng.uniform(0.05, 0.97)
        found = near.worst_divergence(order, r=r, m=m)
        assert found == pytest.approx(listed(near, order, r, m), rel=_ROUNDING)


def test_values_between_the_ends_change_nothing(rng: np.random.Generator) -> None:
    """A predicate in [0, 1] instead of a bit: sums are real numbers, and the bound is that of bits."""
    for _ in range(20):
        prior, n = priors.Beta(*10 ** rng.uniform(-0.7, 1, size=2)), int(rng.integers(1, 6))
        near = NeighboringPosteriors(dc.Bernoulli(), prior, n)
        order = 1 + (near.largest_order() - 1) * rng.uniform(0.05, 0.97)
        bound = near.worst_divergence(order) * (1 + _ROUNDING)
        for _ in range(100):
            others = rng.uniform(0, n - 1)
            p, q = (
                priors.Beta(prior.a + others + x, prior.b + n - others - x) for x in rng.uniform(0, 1, size=2)
            )
            assert conjugate_divergence(p, q, order) <= bound


def test_corners_of_the_simplex_miss_it(rng: np.random.Generator) -> None:
    """Negative control: with three labels, tables where all others have one label are not the worst."""
    misses = []
    for _ in range(30):
        near = NeighboringPosteriors(
            dc.Categorical(k=3), priors.Dirichlet(10 ** rng.uniform(-0.5, 0.7, size=3)), 4
        )
        order = 1 + (near.largest_order() - 1) * 0.7
        # both records that differ and all others have one of two labels
        corner = max(
            conjugate_divergence(p, q, order)
            for i, j in itertools.permutations(range(3), 2)
            for p, q in [_one_label(near, i, j)]
        )
        misses.append(near.worst_divergence(order) / corner)
    assert min(misses) > 1.001
    assert max(misses) > 1.05


def _one_label(near: NeighboringPosteriors, i: int, j: int) -> tuple[Prior, Prior]:
    """All records have label i, and then one has label j instead."""
    counts = np.zeros(3)
    counts[i] = near.n_records
    after = counts + np.eye(3)[j] - np.eye(3)[i]
    return near.family.update(near.prior, counts, 4), near.family.update(near.prior, after, 4)


def test_pairs_out_of_reach_would_forbid_what_is_fine() -> None:
    """Beta(1/2, 1/2), five records, order 1.3: the printed pairs include yes-counts of -1, where it is infinite."""
    near = NeighboringPosteriors(dc.Bernoulli(), priors.Beta(0.5, 0.5), 5)
    assert near.worst_divergence(1.3) == pytest.approx(2.6155, abs=5e-5)
    with pytest.raises(UsageError):
        priors.Beta(0.5 - 1, 5.5 + 1)


@pytest.mark.parametrize("n", [1, 5, 100])
def test_the_largest_order_of_a_beta(n: int) -> None:
    near = NeighboringPosteriors(dc.Bernoulli(), priors.Beta(6, 12), n)
    assert near.largest_order() == 7
    assert near.largest_order(r=0.5) == 13
    assert near.largest_order(m=0.25) == 25
    assert near.worst_divergence(6.99) < math.inf
    assert near.worst_divergence(7.0) == near.worst_divergence(7.01) == math.inf


def test_largest_orders_of_the_others() -> None:
    def largest(family: Family, prior: Prior, bounds: Any = None) -> float:
        return NeighboringPosteriors(family, prior, 10, bounds).largest_order()

    to_four = ((Fraction(0), Fraction(4)),)
    assert largest(dc.Categorical(k=3), priors.Dirichlet([3, 2, 9])) == 3
    assert largest(dc.Poisson(), priors.Gamma(8, 0.5), to_four) == 3
    assert largest(dc.Exponential(), priors.Gamma(8, 2), to_four) == 1.5
    assert largest(dc.Geometric(), priors.Beta(1, 6), to_four) == 2.5
    assert largest(dc.Normal(variance=1.0), priors.Normal(0, 1), to_four) == math.inf


def test_labels_do_not_depend_on_the_number_of_records() -> None:
    prior = priors.Dirichlet([0.5, 2, 3, 4])
    values = {
        NeighboringPosteriors(dc.Categorical(k=4), prior, n).worst_divergence(1.4) for n in (1, 10, 10**6)
    }
    assert max(values) / min(values) - 1 < 1e-12


def test_a_redacted_record_breaks_it() -> None:
    """Why sampling mechanisms clip: a record that adds nothing, not even its count, leads out of what is covered."""
    family, prior, bounds = dc.Poisson(), priors.Gamma(8, 0.5), ((Fraction(0), Fraction(3)),)
    near = NeighboringPosteriors(family, prior, 5, bounds)
    claim = near.worst_divergence(1.6)
    with_all, without = family.update(prior, np.zeros(1), 5), family.update(prior, np.zeros(1), 4)
    lone = family.update(prior, np.zeros(1), 1)
    nothing = family.update(prior, np.zeros(1), 0)
    assert claim == pytest.approx(0.92, abs=0.005)
    assert conjugate_divergence(nothing, lone, 1.6) == math.inf
    assert conjugate_divergence(with_all, without, 1.6) < math.inf


@pytest.mark.parametrize(
    ("family", "prior", "bounds"),
    [
        (dc.Normal(), priors.NormalInverseGamma(0, 1, 2, 1), ((Fraction(0), Fraction(1)),)),
        (
            dc.MultivariateNormal(2),
            priors.NormalInverseWishart([0, 0], 1, 4, np.eye(2)),
            ((Fraction(0), Fraction(1)),) * 2,
        ),
    ],
)
def test_families_without_a_proof_are_refused(family: Family, prior: Prior, bounds: Any) -> None:
    with pytest.raises(UsageError, match=r"no largest divergence .* is proven") as refused:
        NeighboringPosteriors(family, prior, 10, bounds)
    assert "\n" not in refused.value.message


def test_a_users_family_is_refused() -> None:
    class Coin(dc.Bernoulli):
        name = "coin"

    with pytest.raises(UsageError, match="proven for coin"):
        NeighboringPosteriors(Coin(), priors.Beta(1, 1), 10)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="takes a Beta prior"):
        NeighboringPosteriors(dc.Bernoulli(), priors.Gamma(1, 1), 10)
    with pytest.raises(UsageError, match="n_records must be a positive whole number"):
        NeighboringPosteriors(dc.Bernoulli(), priors.Beta(1, 1), 0)
    with pytest.raises(UsageError, match="needs bounds"):
        NeighboringPosteriors(dc.Poisson(), priors.Gamma(1, 1), 10)

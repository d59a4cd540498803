"""How much of the data, or how much more of the prior, a budget allows: the feasible end, to the last digit."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import discreet as dc
from discreet import priors
from discreet.errors import UsageError
from discreet.families import Family
from discreet.priors import Prior
from discreet.privacy.costs.posterior_neighbors import ROOM, NeighboringPosteriors

_TO_THREE = ((Fraction(0), Fraction(3)),)
_CASES: list[tuple[Family, Prior, Any]] = [
    (dc.Bernoulli(), priors.Beta(6, 12), None),
    (dc.Categorical(k=4), priors.Dirichlet([1, 2, 3, 4]), None),
    (dc.Poisson(), priors.Gamma(4, 2), _TO_THREE),
    (dc.Geometric(), priors.Beta(2, 5), _TO_THREE),
    (dc.Exponential(), priors.Gamma(2, 3), _TO_THREE),
    (dc.Laplace(location=1.0), priors.Gamma(2, 3), _TO_THREE),
    (dc.Normal(variance=2.0), priors.Normal(1, 2), _TO_THREE),
    (dc.Normal(mean=1.0), priors.Gamma(3, 2), _TO_THREE),
]


@pytest.mark.parametrize(("order", "epsilon"), [(2.0, 0.02), (15.0, 0.01), (1.05, 1e-5), (2.0, 1e-8)])
@pytest.mark.parametrize(("family", "prior", "bounds"), _CASES, ids=lambda x: str(x) if x else "")
def test_the_feasible_end_is_returned(
    family: Family, prior: Prior, bounds: Any, order: float, epsilon: float
) -> None:
    near = NeighboringPosteriors(family, prior, 100, bounds)
    for name, weight in (("r", near.find_r(order, epsilon)), ("m", near.find_m(order, epsilon))):
        assert 0 < weight < 1
        here = near.worst_divergence(order, **{name: weight})
        # room is left for rounding errors of the posterior: more of it, the smaller the share of a record
        assert epsilon * (1 - 1e-6) < here <= epsilon
        assert near.allows(order, epsilon, **{name: weight})
        assert not near.allows(order, epsilon, **{name: math.nextafter(weight, 1)})


def test_the_end_is_feasible_in_sixty_digits() -> None:
    """The divergence at the returned r, for its exact value, without this library's arithmetic."""
    near = NeighboringPosteriors(dc.Bernoulli(), priors.Beta(6, 12), 100)
    for order, epsilon in ((2.0, 0.1), (15.0, 0.1), (6.0, 1e-9)):
        r = near.find_r(order, epsilon)
        with mp.workdps(60):
            assert max(_beta(order, r, k, move) for k, move in ((0, 1), (100, -1))) <= mp.mpf(epsilon)
            wider = mp.mpf(r) * (1 + mp.mpf(4) * ROOM)
            assert max(_beta(order, wider, k, move) for k, move in ((0, 1), (100, -1))) > mp.mpf(epsilon)


def _beta(order: float, r: Any, k: int, move: int) -> mp.mpf:
    """The divergence for yes-counts k and k + move of 100, from a Beta(6, 12) prior."""

    def log_beta(yes: Any) -> mp.mpf:
        a, b = 6 + mp.mpf(r) * yes, 12 + mp.mpf(r) * (100 - yes)
        return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)

    a = mp.mpf(order)
    return (log_beta(k + (1 - a) * move) - a * log_beta(k)) / (a - 1) + log_beta(mp.mpf(k + move))


def test_ten_percent_more_is_too_much() -> None:
    """Negative control, at orders below and above that of the posterior itself."""
    near = NeighboringPosteriors(dc.Bernoulli(), priors.Beta(6, 12), 100)
    for order in (2.0, 15.0):
        r, m = near.find_r(order, 0.1), near.find_m(order, 0.1)
        assert near.worst_divergence(order, r=1.1 * r) > 0.1 * 1.1
        assert near.worst_divergence(order, m=1.1 * m) > 0.1 * 1.05


def test_the_posterior_itself_where_it_is_private_enough() -> None:
    near = NeighboringPosteriors(dc.Bernoulli(), priors.Beta(6, 12), 100)
    enough = near.worst_divergence(2.0) * (1 + 2 * ROOM)
    assert near.find_r(2.0, enough) == near.find_m(2.0, enough) == 1
    assert near.find_r(2.0, enough * 0.999) < 1
    # above the largest order no epsilon is enough
    assert near.find_r(8.0, 1e6) < 1
    assert near.find_m(8.0, 1e6) < 1


@pytest.mark.parametrize(("family", "prior", "bounds"), _CASES, ids=lambda x: str(x) if x else "")
def test_it_grows_with_r_and_m(family: Family, prior: Prior, bounds: Any) -> None:
    near = NeighboringPosteriors(family, prior, 100, bounds)
    weights = np.geomspace(1e-6, 1, 80)
    for name in ("r", "m"):
        found = [near.worst_divergence(1.7, **{name: float(weight)}) for weight in weights]
        assert all(low <= high for low, high in itertools.pairwise(found))


@pytest.mark.parametrize("epsilon", [1e-40, 1e-290])
def test_budgets_that_underflow_are_refused(epsilon: float) -> None:
    near = NeighboringPosteriors(dc.Bernoulli(), priors.Beta(6, 12), 100)
    for find in (near.find_r, near.find_m):
        with pytest.raises(UsageError, match="too small") as refused:
            find(2.0, epsilon)
        assert "\n" not in refused.value.message


def test_orders_of_one_are_refused() -> None:
    near = NeighboringPosteriors(dc.Bernoulli(), priors.Beta(6, 12), 100)
    for order in (1.0, 0.3):
        with pytest.raises(UsageError, match="order must be above 1"):
            near.find_r(order, 0.1)


def test_bounds_are_read_as_a_curator_writes_them() -> None:
    plain = NeighboringPosteriors(dc.Exponential(), priors.Gamma(2, 30), 50, bounds=(0, 100))  # pyright: ignore[reportArgumentType]
    pairs = NeighboringPosteriors(
        dc.Exponential(), priors.Gamma(2, 30), 50, dc.Exponential().parse_bounds((0, 100))
    )
    assert plain == pairs
    assert plain.worst_divergence(1.5) == pairs.worst_divergence(1.5)
    for n in (0, True, 2.0, "3"):
        with pytest.raises(UsageError, match="n_records must be a positive whole number"):
            NeighboringPosteriors(dc.Bernoulli(), priors.Beta(1, 1), n)  # pyright: ignore[reportArgumentType]

"""The range of the log-likelihood difference: brute force never exceeds it, and attains it."""

from __future__ import annotations

import decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.domain.declarations import Domain
from discreet.families.base import Family
from discreet.privacy.costs.likelihood_range import (
    from_difference,
    from_likelihood,
    quadratic_range,
    simplex_range,
    temperature_for,
)
from discreet.privacy.costs.parameter_grid import ParameterGrid

#: Family, prior, data bounds, support, and the closed form of the range.
CASES: dict[str, tuple[Family, str, Any, list[tuple[Any, Any]], float]] = {
    "bernoulli": (dc.Bernoulli(), "beta:1,1", None, [(0.01, 0.5)], np.log(0.99 / 0.01)),
    "poisson": (dc.Poisson(), "gamma:2,1", (1, 9), [(0.5, 20)], 8 * np.log(40)),
    "geometric": (dc.Geometric(), "beta:1,1", (0, 12), [(0.1, 0.8)], 12 * np.log(0.9 / 0.2)),
    "exponential": (dc.Exponential(), "gamma:2,1", (0, 7), [(0.2, 3)], 7 * 2.8),
    "gamma": (dc.Gamma(shape=2.5), "gamma:2,1", (0.5, 7), [(0.2, 3)], 6.5 * 2.8),
    "laplace": (dc.Laplace(location=1.5), "gamma:2,1", (-3, 4), [(0.2, 3)], 4.5 * 2.8),
    "laplace-outside": (dc.Laplace(location=9), "gamma:2,1", (-3, 4), [(0.2, 3)], 7 * 2.8),
    "normal-variance": (dc.Normal(variance=4), "normal:0,2", (-3, 5), [(-2, 6)], 8 * 8 / 4),
    "normal-mean": (dc.Normal(mean=1), "gamma:2,2", (-3, 6), [(0.5, 9)], 25 / 2 * (2 - 1 / 9)),
}


def brute_force(family: Family, records: np.ndarray, thetas: dict[str, np.ndarray]) -> float:
    """Return the largest spread over parameters of log p(x') - log p(x), over all pairs of records."""
    size = len(next(iter(thetas.values())))
    table = np.array(
        [
            family.log_density(records, {name: values[i] for name, values in thetas.items()})
            for i in range(size)
        ]
    )
    return max(float(np.ptp(table[:, i] - table[:, j])) for i, j in combinations(range(len(records)), 2))


def grid_of(name: str, cells: int = 128) -> ParameterGrid:
    family, prior, bounds, support, _ = CASES[name]
    domain = Domain(family.parse_bounds(bounds), family.labels, "clip", "none")
    exact = tuple((Fraction(str(low)), Fraction(str(high))) for low, high in support)
    return ParameterGrid(family, domain, dc.priors.parse(prior), exact, cells)


@pytest.mark.parametrize("name", CASES)
def test_one_parameter(name: str) -> None:
    family, _, bounds, _, closed = CASES[name]
    grid = grid_of(name)
    found = float(grid.range())
    # rounded up, by at most 1e-10 and its twelfth digit
    assert closed * (1 - 1e-12) <= found <= closed * (1 + 2e-10) + 1e-11
    low, high = (0, 1) if bounds is None else bounds
    whole = family.support.discrete
    records = (
        np.arange(low, high + 1.0) if whole else np.append(np.linspace(low, high, 41), _center(family, low))
    )
    worst = brute_force(family, records, grid.points)
    assert found * (1 - 1e-9) <= worst <= found


def _center(family: Family, default: float) -> float:
    """The point at which |x - location| or (x - mean)^2 is least, if it is inside the bounds."""
    center = float(next(iter(family.constants().values()), default))
    return center if -3 <= center <= 6 else default


@pytest.mark.parametrize(
    ("bounds", "box"),
    [((-3, 100), [(10, 60), (30, 400)]), ((-1, 1), [(-5, 2), (0.5, 3)]), ((0, 1), [(4, 5), (0.2, 0.3)])],
)
def test_normal_with_both_parameters_unknown(bounds: Any, box: Any) -> None:
    family = dc.Normal()
    domain = Domain(family.parse_bounds(bounds), None, "clip", "none")
    support = tuple((Fraction(str(low)), Fraction(str(high))) for low, high in box)
    grid = ParameterGrid(family, domain, dc.priors.NormalInverseGamma(0, 1, 2, 2), support, 24)
    found = float(grid.range())
    worst = brute_force(family, np.linspace(*bounds, 161), grid.points)  # pyright: ignore[reportCallIssue]
    # records on a grid of 161 points miss the best pair by little: the objective is quadratic around it
    assert 0.999 * found <= worst <= found


def test_quadratic_range_is_the_supremum_over_pairs_of_records(rng: np.random.Generator) -> None:
    z = np.linspace(-1, 1, 401)
    change = np.stack([z[:, None] - z[None, :], z[:, None] ** 2 - z[None, :] ** 2], axis=-1).reshape(-1, 2)
    for _ in range(50):
        slopes = rng.normal(size=(2, 2)) * rng.choice([0.1, 1, 10], size=2)
        brute = float(np.abs(change @ (slopes[0] - slopes[1])).max())
        found = quadratic_range(slopes)
        assert brute <= found
        # 1/200 in z around a quadratic maximum, and two grid steps of 2^-24
        assert found - brute <= 1e-4 * found


def test_labels() -> None:
    least, k = Fraction(1, 20), 4
    found = float(simplex_range(k, least))
    assert found == pytest.approx(2 * np.log(0.85 / 0.05), rel=1e-10)
    corners = np.full((k, k), 0.05) + 0.8 * np.eye(k)
    family = dc.Categorical(k)
    worst = brute_force(family, np.array(family.labels), {"p": corners})
    assert found * (1 - 1e-9) <= worst <= found
    for wrong in (Fraction(0), Fraction(1, 4), Fraction(-1, 10)):
        with pytest.raises(dc.errors.UsageError, match="least probability"):
            simplex_range(k, wrong)


def test_the_printed_bounds_are_never_below_the_range() -> None:
    """Theorems 2 and 3 of Foulds et al.: valid for a truncated probability, and loose."""
    for low, high in ((0.01, 0.5), (0.1, 0.9), (0.3, 0.4)):
        exact = np.log(high / (1 - high)) - np.log(low / (1 - low))
        difference = max(abs(np.log(p / (1 - p))) for p in (low, high))
        likelihood = max(abs(np.log(p)) for p in (low, high, 1 - low, 1 - high))
        assert exact <= float(from_difference(difference)) * (1 + 1e-12)
        assert (
            exact
            <= float(from_likelihood(likelihood, discrete=True))
            <= float(from_likelihood(likelihood)) / 1.99
        )
    # C looks at one parameter at a time: here it is twice the range
    assert float(from_difference(np.log(99))) > 1.99 * np.log(99)


def test_a_record_that_is_left_out_breaks_the_supremum() -> None:
    """Why samples never redact: without its log-partition, a record moves a normal posterior by half as much again."""
    theta = np.linspace(-10, 10, 2001)
    log_p = {x: x * theta - theta**2 / 2 for x in (-1.0, 1.0)}
    assert np.ptp(log_p[1.0] - log_p[-1.0]) == pytest.approx(40)
    assert np.ptp(log_p[1.0] - 0) == pytest.approx(60.5, abs=0.01)


def test_temperature_never_costs_more_than_epsilon() -> None:
    slack = Fraction(2, 1 << 52)
    for needed in (Fraction(1, 3), Fraction("59.9146454771")):
        for epsilon in (Fraction(1, 10**6), Fraction(1, 2), Fraction(100)):
            for samples in (1, 7):
                t = temperature_for(needed, epsilon, samples, slack)
                assert t >= 1
                assert samples * (needed / t + slack) <= epsilon
                assert t == 1 or samples * needed / t >= epsilon * (1 - Fraction(1, 10**8))
    with pytest.raises(dc.errors.UsageError, match="too small"):
        temperature_for(Fraction(1), Fraction(1, 10**10), 1, slack)


def test_the_callers_decimal_precision_does_not_matter() -> None:
    with decimal.localcontext() as context:
        context.prec = 3
        coarse = simplex_range(3, Fraction(1, 100))
    assert coarse == simplex_range(3, Fraction(1, 100))
    assert float(coarse) >= 2 * np.log(98)

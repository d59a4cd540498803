"""Laws of noise against SciPy's, sums and integrals; rounding, clipping and truncation against simulation-free sums."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from scipy import integrate, stats

from discreet.privacy.laws import law_of
from discreet.privacy.published import Published

NAMES = ("laplace", "gaussian", "discrete_laplace", "discrete_gaussian", "geometric")


def mass(name: str, scale: float, k: np.ndarray) -> np.ndarray:
    """Return masses of integers by SciPy or from their definition."""
    if name in ("discrete_laplace", "geometric"):
        return stats.dlaplace.pmf(k, 1 / scale)
    every = np.arange(-400, 401)
    weights = np.exp(-0.5 * (every / scale) ** 2)
    return np.exp(-0.5 * (k / scale) ** 2) / weights.sum()


@pytest.mark.parametrize("bound", [None, 7.3])
@pytest.mark.parametrize("scale", [0.4, 3.0, 11.0])
@pytest.mark.parametrize("name", NAMES)
def test_masses_sum_to_the_distribution_function(name: str, scale: float, bound: float | None) -> None:
    law = law_of(name, scale, bound)  # pyright: ignore[reportArgumentType]
    x = np.array([-30.0, -7.0, -6.0, -1.0, 0.0, 1.0, 3.0, 6.0, 7.0, 40.0])
    if law.whole:
        k = np.arange(-400, 401)
        inside = np.abs(k) <= (np.inf if bound is None else bound)
        weights = mass(name, scale, k) * inside
        weights /= weights.sum()
        expected = np.array([weights[k <= at].sum() for at in x])
    else:
        base = stats.laplace(scale=scale) if name == "laplace" else stats.norm(scale=scale)
        low, high = (-np.inf, np.inf) if bound is None else (-bound, bound)
        expected = base.cdf(np.clip(x, low, high)) - base.cdf(low)
        expected /= base.cdf(high) - base.cdf(low)
    np.testing.assert_allclose(np.exp(law.log_cdf(x)), expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_densities_are_scipys(name: Literal["laplace", "gaussian"]) -> None:
    x = np.linspace(-30, 30, 41)
    base: Any = stats.laplace(scale=2.5) if name == "laplace" else stats.norm(scale=2.5)
    np.testing.assert_allclose(law_of(name, 2.5).log_density(x), base.logpdf(x), rtol=1e-12)
    far = law_of(name, 2.5).log_between(x - 0.5, x + 0.5)
    exact = [integrate.quad(base.pdf, at - 0.5, at + 0.5, epsabs=0, epsrel=1e-10, points=[0])[0] for at in x]
    np.testing.assert_allclose(np.exp(far), exact, rtol=1e-8)


@pytest.mark.parametrize("bound", [None, 6.0])
@pytest.mark.parametrize("name", NAMES)
def test_standard_deviations_and_draws_fit_the_law(
    name: str, bound: float | None, rng: np.random.Generator
) -> None:
    law = law_of(name, 3.0, bound)  # pyright: ignore[reportArgumentType]
    drawn = law.sample(20_000, rng)
    assert bound is None or np.abs(drawn).max() <= bound
    # the fourth moment of Laplace noise is 6 sd^4, so the relative error of the sd is 1.1 / sqrt(n); 4.5 of them
    assert drawn.std() == pytest.approx(law.sd, rel=4.5 * 1.1 / np.sqrt(20_000))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_published_has_probability_one_in_all(name: str) -> None:
    """Over all integers that a rounded, clipped number can be, given one total."""
    law, total = law_of(name, 3.0), 4.0  # pyright: ignore[reportArgumentType]
    found = 0.0
    for number in range(61):
        noise = Published(law, away=number - total, unit=1.0, rounded=1.0, clipped=-1 if number == 0 else 0)
        found += float(np.exp(noise.log_mass(np.zeros(1)))[0])
    # 60 is 56 away: e^-18 of the mass is beyond it for Laplace noise
    assert found == pytest.approx(1.0, abs=1e-7)


def test_a_step_of_k_moves_the_total_by_a_unit() -> None:
    """yes = 123.4 of 300, where yes - no is laid out: a step is half a yes."""
    law = law_of("laplace", 12.5)
    noise = Published(law, away=0.4, unit=0.5)
    k = np.array([-3, 0, 5])
    np.testing.assert_allclose(noise.log_mass(k), law.log_density(0.4 + 0.5 * k), rtol=1e-15)
    assert noise.sd == pytest.approx(2 * law.sd)

"""Samplers that must fail: Bernstein and Sheldon's Algorithm 2 as printed, and with only its line 10 mended.

For the truncated exponential with a gamma prior, in the paper's own coordinates (sums of x inside the bounds, noise
of scale bound / epsilon), all trials at once. The only correction that both have is m = n q mu in Algorithm 3, without
which nothing works at all. ``joint`` draws the sums inside and outside from their joint distribution and must pass: it
shows that the harness is able to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Variant = Literal["printed", "given readings", "joint"]


@dataclass(frozen=True)
class Truncated:
    """Exponential records inside [low, high], a Gamma(shape, rate) prior on their rate, noise on the sum."""

    n: int = 1000
    epsilon: float = 1.0
    shape: float = 10.0
    rate: float = 10.0

    @property
    def bounds(self) -> tuple[float, float]:
        """The central 95% of the prior predictive distribution, P(X > x) = (rate / (rate + x))^shape."""
        low, high = (self.rate * ((1 - p) ** (-1 / self.shape) - 1) for p in (0.025, 0.975))
        return low, high

    @property
    def laplace_scale(self) -> float:
        return self.bounds[1] / self.epsilon

    def simulate(self, trials: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return true rates and readings."""
        theta = rng.gamma(self.shape, 1 / self.rate, trials)
        low, high = self.bounds
        sums = np.empty(trials)
        for i, rate in enumerate(theta):
            x = rng.exponential(1 / rate, self.n)
            sums[i] = x[(x >= low) & (x <= high)].sum()
        return theta, sums + rng.laplace(0, self.laplace_scale, trials)


def region(theta: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the probability of [low, high] and the integrals of x and x^2 over it."""

    def upper(x: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if np.isinf(x):
            return (np.zeros_like(theta),) * 3  # pyright: ignore[reportReturnType]
        tail = np.exp(-theta * x)
        return tail, (x + 1 / theta) * tail, (x * x + 2 * x / theta + 2 / theta**2) * tail

    q, first, second = (a - b for a, b in zip(upper(low), upper(high), strict=True))
    return q, first, second


def sum_distribution(theta: np.ndarray, low: float, high: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the sum of the records inside [low, high] (Algorithm 3 with m = n q mu)."""
    _, first, second = region(theta, low, high)
    return n * first, n * (second - first**2)


def ranks(
    model: Truncated,
    variant: Variant,
    trials: int,
    rng: np.random.Generator,
    *,
    draws: int = 99,
    thin: int = 8,
    warmup: int = 100,
) -> np.ndarray:
    """Return the rank of the true rate among draws of the sampler, as a number in (0, 1), for each trial."""
    truth, y = model.simulate(trials, rng)
    low, high = model.bounds
    b, n = model.laplace_scale, model.n
    theta = rng.gamma(model.shape, 1 / model.rate, trials)
    variance = rng.exponential(2 * b * b, trials)
    below = np.zeros(trials)
    for step in range(-warmup, draws * thin):
        m, v = sum_distribution(theta, low, high, n)
        parts = [sum_distribution(theta, *ends, n) for ends in ((0.0, low), (high, np.inf))]
        m_out, v_out = parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]
        # the sum inside given its reading: the normal product of Algorithm 1
        m_given, v_given = m + v / (v + variance) * (y - m), v * variance / (v + variance)
        if variant == "printed":
            s = _positive(m_out + m_given, v_out + v_given, rng)
        else:
            inside = rng.normal(m_given, np.sqrt(v_given))
            if variant == "joint":
                # records are inside or outside: the two sums are correlated through the counts
                cross = -m * m_out / n
                v_both = v_out - 2 * parts[0][0] * parts[1][0] / n
                m_out, v_out = m_out + cross / v * (inside - m), v_both - cross**2 / v
            s = inside + rng.normal(m_out, np.sqrt(v_out))
            again = s <= 0
            s[again] = _positive(m_given + m_out, v_given + v_out, rng)[again]
        theta = rng.gamma(model.shape + n, 1 / (model.rate + s))
        if variant == "printed":
            m, v = sum_distribution(theta, low, high, n)
            inside = rng.normal(m, np.sqrt(v))
        variance = b * b / rng.wald(b / np.maximum(np.abs(y - inside), 1e-9), 1.0)
        if step >= 0 and step % thin == 0:
            below += theta < truth
    return (below + rng.random(trials)) / (draws + 1)


def _positive(mean: np.ndarray, variance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    s = rng.normal(mean, np.sqrt(variance))
    for _ in range(100):
        again = s <= 0
        if not again.any():
            break
        s[again] = rng.normal(mean[again], np.sqrt(variance[again]))
    return np.maximum(s, 1e-9)

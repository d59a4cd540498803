"""Projected Gaussian walks as a way to release a total: what they tell, beside normal noise of the same cost."""

from __future__ import annotations

import numpy as np
from common.claim import Claim
from scipy.optimize import brentq
from scipy.special import ndtr

from discreet.privacy.amplification import GaussianKernel

from .distributions import POINTS, Distribution

# A count among 20 records, on [-1, 1]; a record moves it by one step.
COUNTS = np.linspace(-1, 1, 21)
_STEP = float(COUNTS[1] - COUNTS[0])
_THRESHOLDS = np.linspace(-1, 1, 1001)


def walks() -> list[Claim]:
    """Return what holds for walks of several steps that start at the true count."""
    excess, closest = _told_apart(sigma=0.25, steps=4)
    rhos, steps = (0.02, 0.01, 0.001), (1, 2, 4)
    noise = np.array([_after_noise(rho) for rho in rhos])
    walked = np.array([[_after_walk(rho, n) for n in steps] for rho in rhos])
    gain = float((1 - walked[:, 0] / noise).max())
    listed = ", ".join(f"{sd:.3f}" for sd in walked[1])
    return [
        Claim(
            "theorem 21",
            "a projected walk tells no two totals apart better than normal noise of the same cost, at any epsilon",
            excess <= 1e-9 and closest > 0.999,
            f"4 steps, all pairs of 21 totals: at most {closest:.4f} of the hockey-stick divergence of normal noise",
        ),
        Claim(
            "section 6.5",
            "at equal computed cost a walk of several steps leaves more uncertainty than normal noise",
            bool(np.all(walked[:, 1:] > noise[:, None])) and gain < 2e-3,
            f"rho = {rhos[1]:g} at order 2: posterior sd {noise[1]:.3f} after noise, {listed} after walks of 1, 2, 4 "
            f"steps; one step gains at most {gain:.1%}",
        ),
    ]


def _before_last(sigma: float, steps: int) -> list[np.ndarray]:
    """Return, for each count, the mass at the points before the last step."""
    starts = [Distribution.around(float(x), sigma) for x in COUNTS]
    for _ in range(steps - 2):
        starts = [one.step(lambda x: x, sigma) for one in starts]
    return [one.mass for one in starts]


def _told_apart(sigma: float, steps: int) -> tuple[float, float]:
    """Return the largest excess over the divergence of normal distributions, and the largest share of it.

    Likelihood ratios grow with the result (Gaussian steps and projections keep that), so the best tests are
    thresholds; the chance to pass one is smooth in where the last step begins, and the quadrature exact.
    """
    passed = np.array(_before_last(sigma, steps)) @ ndtr((POINTS[:, None] - _THRESHOLDS) / sigma)
    excess, closest = -np.inf, 0.0
    for i in range(COUNTS.size):
        for j in range(COUNTS.size):
            if i <= j:
                continue
            far = GaussianKernel(sigma * np.sqrt(steps), (COUNTS[i] - COUNTS[j]) / 2)
            for epsilon in (0.0, 0.1, 0.5, 1.0):
                walk = float((passed[i] - np.exp(epsilon) * passed[j]).max())
                normal = far.dobrushin(epsilon)
                excess = max(excess, walk - normal)
                if normal > 1e-3:
                    closest = max(closest, walk / normal)
    return excess, closest


def _walked(sigma: float, steps: int) -> np.ndarray:
    ends = [Distribution.around(float(x), sigma) for x in COUNTS]
    for _ in range(steps - 1):
        ends = [one.step(lambda x: x, sigma) for one in ends]
    return np.array([one.mass / one.mass.sum() for one in ends])


def _rho(mass: np.ndarray) -> float:
    """Return half the largest Rényi divergence at order 2 between neighboring counts."""
    first, second = mass[:-1], mass[1:]
    worst = max(float((first**2 / second).sum(axis=1).max()), float((second**2 / first).sum(axis=1).max()))
    return float(np.log(worst) / 2)


def _after_walk(rho: float, steps: int) -> float:
    most = _STEP / np.sqrt(2 * rho * steps)
    sigma = brentq(lambda s: _rho(_walked(s, steps)) - rho, 0.4 * most, 1.01 * most)
    return _posterior_sd(_walked(float(sigma), steps))  # pyright: ignore[reportArgumentType]


def _after_noise(rho: float) -> float:
    sigma = _STEP / np.sqrt(2 * rho)
    at = np.linspace(-1 - 9 * sigma, 1 + 9 * sigma, 4001)
    mass = np.exp(-0.5 * ((at - COUNTS[:, None]) / sigma) ** 2)
    return _posterior_sd(mass / mass.sum(axis=1, keepdims=True))


def _posterior_sd(mass: np.ndarray) -> float:
    """Return the root mean posterior variance of the count, from a flat prior."""
    count, together = np.arange(COUNTS.size), mass.mean(axis=0)
    mean = (mass * count[:, None]).mean(axis=0) / together
    square = (mass * count[:, None] ** 2).mean(axis=0) / together
    return float(np.sqrt((together * (square - mean**2)).sum()))

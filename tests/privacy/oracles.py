"""Divergences by definition, for small mechanisms, and compositions by summing over all outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from scipy.special import log_ndtr, ndtr


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Return the least delta of P against Q at epsilon."""
    return float(np.maximum(0.0, p - np.exp(epsilon) * q).sum())


def renyi_divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    return float(np.log((p**order * q ** (1 - order)).sum()) / (order - 1))


def max_log_ratio(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.abs(np.log(p) - np.log(q)).max())


def response(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the two distributions of randomized response."""
    p = 1 / (1 + np.exp(-epsilon))
    return np.array([p, 1 - p]), np.array([1 - p, p])


def random_distributions(rng: np.random.Generator, count: int, size: int, spread: float) -> np.ndarray:
    """Return distributions on ``size`` outcomes whose log masses differ by about ``spread``."""
    weights = np.exp(spread * rng.normal(size=(count, size)))
    return weights / weights.sum(axis=1, keepdims=True)


def response_losses(epsilons: Sequence[Fraction]) -> tuple[np.ndarray, np.ndarray]:
    """Return losses and masses of independent randomized responses, on the lattice of their exact losses.

    Only positive numbers are added and multiplied, so every mass has a relative error of a few 1e-16 per response.
    """
    if not epsilons:
        return np.zeros(1), np.ones(1)
    common = lcm(*(e.denominator for e in epsilons))
    whole = [int(e * common) for e in epsilons]
    step = gcd(*whole)
    size = sum(whole) // step
    mass = np.zeros(2 * size + 1)
    mass[size] = 1.0
    for epsilon, k in zip(epsilons, (w // step for w in whole), strict=True):
        p = 1 / (1 + np.exp(-float(epsilon)))
        moved = np.zeros_like(mass)
        moved[k:] += p * mass[:-k]
        moved[:-k] += (1 - p) * mass[k:]
        mass = moved
    return np.arange(-size, size + 1) * float(Fraction(step, common)), mass


def gaussian_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """Return the delta of N(mu, 1) against N(0, 1), the mechanism with rho = mu^2 / 2, at any real epsilon."""
    if mu == 0:
        return np.maximum(0.0, -np.expm1(epsilon))
    e = np.asarray(epsilon, dtype=float)
    return ndtr(mu / 2 - e / mu) - np.exp(e + log_ndtr(-mu / 2 - e / mu))


def composed_delta(
    epsilons: Sequence[Fraction], deltas: Sequence[Fraction], rho: Fraction
) -> Callable[[float], float]:
    """Return delta(epsilon) of the worst mechanisms of each (epsilon, delta) and a Gaussian of this total rho."""
    losses, mass = response_losses(epsilons)
    intact = float(np.prod([1 - float(d) for d in deltas])) if deltas else 1.0
    failed = float(-np.expm1(sum(np.log1p(-float(d)) for d in deltas)))
    mu = float(np.sqrt(2 * float(rho)))
    return lambda epsilon: failed + intact * float(mass @ gaussian_delta(mu, epsilon - losses))

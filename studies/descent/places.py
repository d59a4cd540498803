"""Panels a and b: what a place in the pass is worth, and what steps after the pass add."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from common.claim import Claim, Panel

from discreet.privacy.amplification import SGDCost, renyi_divergence

# Quadratic losses: gradients at most 2 C apart, curvatures between the two constants.
_C, _SMOOTH, _WEAK, _ETA, _SIGMA, _RECORDS = 1.3, 2.0, 0.1, 0.5, 0.8, 80


def _descent(n: int, extra: int = 0, extra_lipschitz: float | None = None) -> SGDCost:
    return SGDCost(n, _C, _SMOOTH, _WEAK, _ETA, _SIGMA, extra, extra_lipschitz)


def _exact(curvatures: list[np.ndarray], place: int, change: np.ndarray, sigma: float = _SIGMA) -> float:
    """Return R_a / a between the last iterates, both normal, if one record's gradient moves by ``change``."""
    moved, covariance = np.zeros(change.size), np.zeros((change.size,) * 2)
    for i, curvature in enumerate(curvatures):
        step = np.eye(change.size) - _ETA * curvature
        moved = step @ moved + (_ETA * change if i == place else 0.0)
        covariance = step @ covariance @ step.T + (_ETA * sigma) ** 2 * np.eye(change.size)
    return float(moved @ np.linalg.solve(covariance, moved)) / 2


def _worst(n: int, place: int, after: list[float] | None = None) -> list[np.ndarray]:
    """Return the worst losses for a place: its step forgets where it was, the others contract as little as may be."""
    curvatures = [1 / _ETA if i == place else _WEAK for i in range(n)] + (after or [])
    return [np.array([[c]]) for c in curvatures]


def _random(rng: np.random.Generator, steps: int, dimension: int) -> list[np.ndarray]:
    found = []
    for _ in range(steps):
        basis, _ = np.linalg.qr(rng.normal(size=(dimension, dimension)))
        extreme = rng.choice([_WEAK, _SMOOTH], dimension)
        values = np.where(rng.random(dimension) < 0.5, extreme, rng.uniform(_WEAK, _SMOOTH, dimension))
        found.append(basis @ np.diag(values) @ basis.T)
    return found


def places(rng: np.random.Generator, trials: int) -> Panel:
    """Compare the guarantee at each index with exact divergences of quadratic losses."""
    n, given = _RECORDS, _descent(_RECORDS)
    bound, later = given.rhos(), _RECORDS - 1 - np.arange(_RECORDS)
    far = np.array([2 * _C])
    exact = np.array([_exact(_worst(n, i), i, far) for i in range(n)])
    left = np.maximum(later, 1)
    base = 1 - 2 * _ETA * _SMOOTH * _WEAK / (_SMOOTH + _WEAK)
    printed = np.where(later > 0, 2 * (_C / _SIGMA) ** 2 / left * base ** ((left + 1) / 2), bound[-1])
    largest = 0.0
    for _ in range(trials):
        size, dimension = int(rng.integers(2, 12)), int(rng.integers(1, 4))
        losses, rhos = _random(rng, size, dimension), _descent(size).rhos()
        for i in range(size):
            change = rng.normal(size=dimension)
            change *= 2 * _C / np.linalg.norm(change)
            largest = max(largest, _exact(losses, i, change) / rhos[i])
    slope = float(np.polyfit(later[later >= 40], np.log(exact[later >= 40]), 1)[0])
    expected = 2 * float(np.log(1 - _ETA * _WEAK))
    half = _exact(_worst(n, n - 1), n - 1, far, _SIGMA / 2) / bound[-1]
    secret, allowed, mean = _secret(8, 6.0)
    return Panel(
        "places",
        {"later": later, "exact": exact, "bound": bound, "printed": printed, "mean": bound.mean()},
        [
            Claim(
                "theorem 22",
                "on quadratic losses the guarantee at no index is violated, and at every index it is attained",
                largest <= 1 + 1e-10 and float(np.abs(exact / bound - 1).max()) < 1e-9,
                f"{trials:,} random passes of up to 3 dimensions: at most {largest:.3f} of the guarantee; the worst "
                f"losses: {float((exact / bound).max()):.6f} of it at each of {n} places",
            ),
            Claim(
                "theorem 22",
                "with strong convexity the gain is exponential: a line on the log scale, of slope 2 log(1 - eta rho)",
                abs(slope / expected - 1) < 1e-2,
                f"slope {slope:.4f} of the exact values, {expected:.4f} expected; first record {exact[0]:.1e}, last "
                f"{exact[-1]:.2f}",
            ),
            Claim(
                "theorem 22",
                "the printed form is valid and looser; half the noise would be found out",
                bool(np.all(exact <= printed * (1 + 1e-12))) and half > 3.99,
                f"record 40 of {n}: exact {exact[39]:.2g}, printed {printed[39]:.2g}; half the noise: {half:.2f} "
                "times the guarantee",
            ),
            Claim(
                "theorem 22",
                "the mean over places is no guarantee, in a public order or in a secret one",
                bool(exact[-1] > 5 * bound.mean()) and secret > 1.3 * mean and secret <= allowed,
                f"public order: mean {bound.mean():.2f}, the last record {exact[-1]:.2f}; secret order, 8 records, "
                f"order 6: mean {mean:.2f}, exact {secret:.2f}, promised {allowed:.2f}",
            ),
        ],
    )


def _secret(n: int, order: float) -> tuple[float, float, float]:
    """Return the exact divergence of a record at a secret place, the bound for it, and the mean over places."""
    contraction, sigma = 0.1, 0.7
    weak = (1 - contraction) / _ETA
    given = SGDCost(n, _C, weak, weak, _ETA, sigma)
    shifts = _ETA * _C * contraction ** np.arange(n)
    sd = _ETA * sigma * np.sqrt(np.sum(contraction ** (2 * np.arange(n))))
    x = np.linspace(-shifts[0] - 14 * sd, shifts[0] + 14 * sd, 20_001)
    distributions = [np.exp(-0.5 * ((x[:, None] - sign * shifts) / sd) ** 2).mean(axis=1) for sign in (1, -1)]
    p, q = (distribution / distribution.sum() for distribution in distributions)
    mean = order * float(given.rhos().mean())
    return float(renyi_divergence(p, q, order)), float(given.shuffled_epsilons(order)), mean


def hiding() -> Panel:
    """Let steps that read no record follow the pass, and look at the last record."""
    steps = np.unique(np.round(np.geomspace(1, 200, 40)).astype(int))
    series: dict[str, object] = {"steps": steps}
    gap = 0.0
    for name, curvature in (("noise", 0.0), ("public", _WEAK)):
        lipschitz = 1 - _ETA * curvature
        bound = [_descent(5, int(m), lipschitz).rho() / _descent(5).rho() for m in steps]
        exact = [_exact(_worst(5, 4, [curvature] * int(m)), 4, np.array([2 * _C])) for m in steps]
        gap = max(gap, float(np.abs(np.array(exact) / _descent(5).rho() / bound - 1).max()))
        series[name] = bound
    still, public = (np.asarray(series[name]) for name in ("noise", "public"))
    at = int(np.argmin(np.abs(steps - 20)))
    lowest = replace(_descent(1000, 1000, 1.0), sigma=1.0).with_least_noise(0.5).sigma
    return Panel(
        "hiding",
        series,
        [
            Claim(
                "section 6.4",
                "steps that read no record protect the last one: 1 / (1 + m) by noise alone, exponentially by "
                "contracting ones",
                gap < 1e-9 and bool(np.all(public <= still)),
                f"{steps[at]} steps: {still[at]:.3f} of the cost by noise alone, {public[at]:.3f} on public records; "
                f"exact to {gap:.1g}",
            ),
            Claim(
                "this library",
                "with as many steps of noise as records, a step of the pass needs a thousandth of the variance",
                abs(lowest / (_C * np.sqrt(2 / 0.5)) * np.sqrt(1001) - 1) < 1e-6,
                f"rho = 0.5, 1,000 records: sigma {lowest:.4f} against {_C * 2:.2f} without",
            ),
        ],
    )

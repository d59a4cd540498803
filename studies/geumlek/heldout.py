"""Chapter 5, figures 5.5 to 5.8: how well one private draw predicts records that were held out."""

from __future__ import annotations

import math

import numpy as np
from common.claim import Claim, Panel
from scipy.special import digamma
from scipy.stats import binom

from discreet.families import Bernoulli
from discreet.priors import Beta
from discreet.privacy.costs.posterior_neighbors import NeighboringPosteriors

from .largest import PRIOR, RECORDS, weight
from .levels import noisy_counts, sigma_for

METHODS = ("diffused", "concentrated", "gaussian")
# A mean of `runs` draws is within this many standard errors of the true one, except once in 15 million.
_SIGMAS = 5.3


def heldout(
    name: str,
    rng: np.random.Generator,
    runs: int,
    points: int,
    *,
    rate: float,
    order: float,
    prior: Beta = PRIOR,
) -> Panel:
    """Draw the mean of -log Pr(held-out | draw) and its spread over runs; both tables have 100 records."""
    budgets = np.geomspace(1e-3, 30, points)
    series: dict[str, object] = {"epsilon": budgets, "posterior": _exact(prior, rate, 1.0, 1.0)}
    worst = 0.0
    for method in METHODS:
        means, spreads = [], []
        for epsilon in budgets:
            r = weight("r", order, float(epsilon), prior) if method == "diffused" else 1.0
            m = weight("m", order, float(epsilon), prior) if method == "concentrated" else 1.0
            sigma = sigma_for(order, float(epsilon)) if method == "gaussian" else 0.0
            loss = _simulated(rng, runs, prior, rate, r, m, sigma)
            expected = _exact(prior, rate, r, m, sigma)
            error = float(loss.std(ddof=1)) / math.sqrt(runs)
            worst = max(worst, abs(float(loss.mean()) - expected) / error)
            means.append(float(loss.mean()))
            spreads.append(float(loss.std(ddof=1)))
        series[f"{method}_mean"], series[f"{method}_sd"] = means, spreads
    series["truth"] = _truth(rate)
    claim = Claim(
        f"figure {name}",
        "simulated means are the exact ones, within Monte Carlo error",
        worst < _SIGMAS,
        f"{runs:,} runs: at most {worst:.1f} standard errors",
    )
    return Panel(f"heldout_{name}", series, [claim])


def limits(points: int) -> list[Claim]:
    """Check what the text says about budgets that go to 0 or to infinity, without simulation."""
    claims = []
    for figure, order in (("5.5", 2.0), ("5.6", 15.0)):
        small = {method: _at(0.5, order, method, 1e-6) for method in METHODS[:2]}
        center = _loss_at(PRIOR.a / (PRIOR.a + PRIOR.b), 0.5)
        claims.append(
            Claim(
                f"figure {figure}",
                "as epsilon goes to 0, concentrated sampling degrades only to the likelihood at the prior's center, "
                "and is ahead of diffused",
                abs(small["concentrated"] / center - 1) < 0.01 and small["concentrated"] < small["diffused"],
                f"epsilon 1e-6: concentrated {small['concentrated']:.2f}, at 1/3 {center:.2f}, "
                f"diffused {small['diffused']:.2f}",
            )
        )
    large = {method: _at(0.5, 15.0, method, 1e6) - _exact(PRIOR, 0.5, 1.0, 1.0) for method in METHODS}
    claims.append(
        Claim(
            "figure 5.6",
            "above the largest order a gap to the posterior stays for both, and none for noise",
            min(large["diffused"], large["concentrated"]) > 0.05 and abs(large["gaussian"]) < 1e-3,
            ", ".join(f"{method} {value:.3f}" for method, value in large.items()) + " above the posterior",
        )
    )
    excess = {
        rate: max(_at(rate, 15.0, method, 1e-6) for method in METHODS[:2]) - _truth(rate)
        for rate in (1 / 3, 1 / 2, 2 / 3)
    }
    noise = {rate: _at(rate, 15.0, "gaussian", 1e-3) - _truth(rate) for rate in excess}
    claims.append(
        Claim(
            "figure 5.7",
            "with much privacy both act conservatively; where the prior matches, that still predicts well",
            excess[1 / 3] < excess[1 / 2] < excess[2 / 3] and excess[1 / 3] < 0.2 * noise[1 / 3],
            "worse than the truth by "
            + ", ".join(f"{value:.1f} at {rate:.2f}" for rate, value in excess.items())
            + f"; noise at epsilon 0.001 by {noise[1 / 3]:.1f}",
        )
    )
    uniform = NeighboringPosteriors(Bernoulli(), Beta(1, 1), RECORDS)
    narrow = Beta(*[1 / weight("m", 15.0, 1e-4, Beta(1, 1))] * 2)
    best = {
        method: min(_at(0.2, 15.0, method, float(e), Beta(1, 1)) for e in np.geomspace(1e-3, 30, points))
        for method in METHODS
    }
    claims.append(
        Claim(
            "figure 5.8",
            "the uniform prior has largest order 2, is hard to keep private, and concentrates at 0.5 (0.2 in print)",
            uniform.largest_order() == 2
            and abs(narrow.a / (narrow.a + narrow.b) - 0.5) < 1e-12
            and best["gaussian"] < min(best["diffused"], best["concentrated"]),
            f"best up to epsilon 30: diffused {best['diffused']:.1f}, concentrated {best['concentrated']:.1f}, "
            f"noise {best['gaussian']:.1f}; truth {_truth(0.2):.1f}",
        )
    )
    return claims


def _at(rate: float, order: float, method: str, epsilon: float, prior: Beta = PRIOR) -> float:
    if method == "gaussian":
        return _exact(prior, rate, 1.0, 1.0, sigma_for(order, epsilon))
    if method == "diffused":
        return _exact(prior, rate, weight("r", order, epsilon, prior), 1.0)
    return _exact(prior, rate, 1.0, weight("m", order, epsilon, prior))


def _simulated(
    rng: np.random.Generator, runs: int, prior: Beta, rate: float, r: float, m: float, sigma: float
) -> np.ndarray:
    """Draw tables, private parameters and held-out tables, and return -log Pr(held-out | parameter)."""
    yes = rng.binomial(RECORDS, rate, size=runs).astype(float)
    if sigma:
        yes = np.clip(yes + sigma * rng.standard_normal(runs), 0, RECORDS)
    # of two gammas, because a beta draw so near 1 that it is 1 has no logarithm of what is left
    g, h = (
        _log_gamma_draws(rng, shape) for shape in (prior.a / m + r * yes, prior.b / m + r * (RECORDS - yes))
    )
    total = np.logaddexp(g, h)
    held = rng.binomial(RECORDS, rate, size=runs)
    return -(held * (g - total) + (RECORDS - held) * (h - total))


def _log_gamma_draws(rng: np.random.Generator, shape: np.ndarray) -> np.ndarray:
    """Return the logarithm of gamma draws, which for small shapes the draws themselves could not hold."""
    return np.log(rng.gamma(shape + 1)) + np.log(rng.random(shape.size)) / shape


def _exact(prior: Beta, rate: float, r: float, m: float, sigma: float = 0.0) -> float:
    """Return the expectation of what :func:`_simulated` draws, as a sum over counts and a quadrature of the noise."""
    counts = np.arange(RECORDS + 1)
    mass = binom.pmf(counts, RECORDS, rate)
    if not sigma:
        return float(mass @ _expected_loss(prior, rate, r, m, counts.astype(float)))
    total = 0.0
    for count, chance in zip(counts, mass, strict=True):
        if chance > 1e-14:
            y, log_weight = noisy_counts(float(count), sigma, 60)
            total += chance * float(np.exp(log_weight) @ _expected_loss(prior, rate, r, m, y))
    return total


def _expected_loss(prior: Beta, rate: float, r: float, m: float, yes: np.ndarray) -> np.ndarray:
    a, b = prior.a / m + r * yes, prior.b / m + r * (RECORDS - yes)
    whole = digamma(a + b)
    return -RECORDS * (rate * (digamma(a) - whole) + (1 - rate) * (digamma(b) - whole))


def _loss_at(p: float, rate: float) -> float:
    return -RECORDS * (rate * math.log(p) + (1 - rate) * math.log1p(-p))


def _truth(rate: float) -> float:
    """Return the expected loss of somebody who knows the rate."""
    return _loss_at(rate, rate)

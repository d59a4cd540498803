"""Figure 1: the mass of smooth parameters in two finite families of coins, and theorem 17 on them."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
from common.claim import Claim, Panel
from scipy import stats
from scipy.special import betaln, logsumexp

import discreet as dc
from discreet.privacy.metric import (
    RecordDistance,
    StochasticLipschitz,
    finite_bernoulli,
    lipschitz,
    lipschitz_posterior,
    restricted_posterior,
)

STEPS = ("0.2", "0.05")


def staircase(step: str, weighted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, StochasticLipschitz]:
    """Return parameters, their levels and the mass up to each level, and the best constants of assumption 2.

    L0 is the least level, below which there is no mass at all, and c the largest rate that keeps the bound below the
    mass up to the next step.
    """
    p = np.array([float(point) for point in finite_bernoulli(step)[0]])
    steep = lipschitz(dc.Bernoulli(), {"p": p}, RecordDistance.hamming())
    weight = np.exp(-steep) if weighted else np.ones(len(p))
    levels = np.unique(np.round(steep, 12))
    mass = np.array([weight[steep <= level + 1e-9].sum() for level in levels]) / weight.sum()
    c = float(np.min(-np.log1p(-mass[:-1]) / (levels[1:] - levels[0])))
    return p, levels, mass, StochasticLipschitz(c, float(levels[0]), 1.0)


def smooth_mass(name: str, *, weighted: bool) -> Panel:
    """Figure 1 (a), uniform prior, or (b), prior proportional to exp(-l(theta))."""
    found = {step: staircase(step, weighted) for step in STEPS}
    level = np.linspace(0, 3.5, 701)
    series: dict[str, object] = {"level": level}
    below = True
    for step, (_, levels, mass, best) in found.items():
        stairs = np.concatenate([[0.0], mass])[np.searchsorted(levels, level + 1e-12, side="right")]
        bound = np.where(level >= best.start, -np.expm1(-best.c * (level - best.start)), 0.0)
        below &= bool(np.all(bound <= stairs + 1e-9))
        tight = -np.expm1(-1.01 * best.c * (level - best.start))
        below &= bool(np.any(tight[level >= best.start] > stairs[level >= best.start] + 1e-9))
        series |= {
            f"mass {step}": stairs,
            f"bound {step}": bound,
            f"constant {step}": levels[-1],
            f"c {step}": best.c,
        }
    figure = f"figure 1{'b' if weighted else 'a'}"
    words = ", ".join(f"c = {found[s][3].c:.3f} from L0 = {found[s][3].start:.3f} for {s}" for s in STEPS)
    claims = [
        Claim(
            figure, "the thin curves are the highest bounds 1 - exp(-c (L - L0)) below the mass", below, words
        )
    ]
    claims += _with_weights(found) if weighted else _without(found, level, series)
    return Panel(name, series, claims)


def _without(found: dict, level: np.ndarray, series: dict) -> list[Claim]:
    constants = {step: float(levels[-1]) for step, (_, levels, _, _) in found.items()}
    printed = {step: np.log(1 / float(step)) for step in STEPS}
    ratio = constants["0.05"] / constants["0.2"]
    higher = level[series["bound 0.2"] > series["bound 0.05"]]
    return [
        Claim(
            "example 1",
            "L = log(1/step) in print counts the parameter 1, at which it is infinite; without, log((1 - step)/step)",
            all(abs(constants[s] - np.log((1 - float(s)) / float(s))) < 1e-9 for s in STEPS)
            and not np.isfinite(log_odds(1.0)),
            "; ".join(f"step {s}: {constants[s]:.3f}, printed {printed[s]:.3f}" for s in STEPS)
            + f"; step 0.3, which does not divide 1: {float(finite_bernoulli('0.3')[1]):.3f}, "
            f"printed {np.log(1 / 0.3):.3f}",
        ),
        Claim(
            "figure 1a",
            "step 0.2 has about half the Lipschitz constant of step 0.05, and its staircase has two steps only",
            1.8 < ratio < 2.3 and len(found["0.2"][1]) == 2,
            f"{constants['0.2']:.3f} and {constants['0.05']:.3f}; steps at "
            + ", ".join(f"{v:.3f}" for v in found["0.2"][1]),
        ),
        Claim(
            "figure 1a",
            "the higher of the two bounds is that of step 0.2",
            higher.min() < 0.8 and np.all(np.diff(higher) < 0.006),
            f"from L = {higher.min():.2f} on",
        ),
        _posteriors(found),
    ]


def log_odds(p: float) -> float:
    """Return abs(log p - log(1 - p)), which may be infinite."""
    with np.errstate(divide="ignore"):
        return float(abs(np.log(p) - np.log1p(-p)))


def _posteriors(found: dict) -> Claim:
    """Theorem 8.1 over all pairs of tables of five tosses, under the uniform prior and one at the ends."""
    worst, holds = {}, True
    for step, (p, levels, _, _) in found.items():
        claimed = float(lipschitz_posterior(str(round(levels[-1], 9)), "hamming").epsilon)
        tables = np.array(list(product([0, 1], repeat=5)))
        yes = tables.sum(axis=1)
        log_p = yes[:, None] * np.log(p) + (5 - yes)[:, None] * np.log1p(-p)
        ends = np.full(len(p), -300.0)
        ends[[0, -1]] = 0.0, -40.0
        largest = 0.0
        for prior in (np.zeros(len(p)), ends):
            log_post = prior + log_p
            log_post -= logsumexp(log_post, axis=1, keepdims=True)
            for i, j in combinations(range(len(tables)), 2):
                rho = int((tables[i] != tables[j]).sum())
                largest = max(largest, float(np.abs(log_post[i] - log_post[j]).max()) / rho)
        worst[step] = f"{largest:.4f} of {claimed:.4f}"
        holds &= 0.99 * claimed < largest <= claimed * (1 + 1e-8)
    return Claim(
        "theorem 8.1",
        "the log-ratio of posteriors is at most 2L per differing record, and some prior attains it",
        holds,
        "over all tables of five tosses: " + ", ".join(f"{w} for step {s}" for s, w in worst.items()),
    )


def _with_weights(found: dict) -> list[Claim]:
    uniform = {step: staircase(step, False)[3].c for step in STEPS}
    weighted = {step: found[step][3].c for step in STEPS}
    return [
        Claim(
            "figure 1b",
            "a prior proportional to exp(-l(theta)) raises both bounds, and leaves the Lipschitz constants as they are",
            all(weighted[s] > 1.5 * uniform[s] for s in STEPS)
            and all(abs(staircase(s, False)[1][-1] - found[s][1][-1]) < 1e-12 for s in STEPS),
            "; ".join(f"step {s}: c from {uniform[s]:.3f} to {weighted[s]:.3f}" for s in STEPS),
        ),
        _restricted(),
        _tails(),
    ]


def _restricted() -> Claim:
    """Theorem 17 (a) and corollary 9, for tosses under a beta prior."""
    level, alpha, n = 4.0, 4.0, 5
    restricted = restricted_posterior(dc.Bernoulli(), level, RecordDistance.hamming())
    low, high = (float(end) for end in restricted.support if end is not None)
    p = np.linspace(low, high, 20_001)
    inside, claimed = 0.0, float(restricted.guarantee.epsilon)
    for k in range(n):
        distributions = []
        for yes in (k, k + 1):
            log_p = stats.beta.logpdf(p, alpha + yes, alpha + n - yes)
            distributions.append(log_p - logsumexp(log_p))
        inside = max(inside, float(np.abs(distributions[0] - distributions[1]).max()))
    far = np.array([1e-3, 1e-6, 1e-9])
    outside = stats.beta.logpdf(far, alpha, alpha + n) - stats.beta.logpdf(far, alpha + 1, alpha + n - 1)
    rare = 2 * stats.beta.cdf(low, alpha, alpha)
    return Claim(
        "theorem 17a",
        "a prior restricted to Theta_L makes a draw 2L-private; one that merely favors it (corollary 9) does not",
        inside <= claimed and outside[-1] > 2 * claimed,
        f"Beta(4, 4), 5 tosses, L = 4: log-ratio up to {inside:.2f} of {claimed:.2f} on [{low:.4f}, {high:.4f}]; "
        f"without the restriction {', '.join(f'{v:.1f}' for v in outside)} at p = 1e-3, 1e-6, 1e-9, although only "
        f"{rare:.0e} of the prior is outside",
    )


def _tails() -> Claim:
    """Theorem 17 (b): mass outside of Theta_L of the prior, and of posteriors."""
    alpha, n, low = 2.0, 50, 0.1
    prior = 2 * stats.beta.cdf(low, alpha, alpha)
    tails = np.array(
        [
            stats.beta.cdf(low, alpha + k, alpha + n - k) + stats.beta.sf(1 - low, alpha + k, alpha + n - k)
            for k in range(n + 1)
        ]
    )
    chance = np.array(
        [comb(n, k) * np.exp(betaln(alpha + k, alpha + n - k) - betaln(alpha, alpha)) for k in range(n + 1)]
    )
    average = float(tails @ chance)
    return Claim(
        "theorem 17b",
        "what is lost by the restriction is the posterior's mass outside of Theta_L; in print the prior's, right on "
        "average only",
        abs(average / prior - 1) < 1e-9 and tails.max() > 3 * prior,
        f"Beta(2, 2) restricted to [0.1, 0.9]: prior {prior:.4f}, posterior of 50 tosses {tails.min():.4f} to "
        f"{tails.max():.3f}, average {average:.4f}",
    )

"""Chapter 5, figures 5.1 to 5.4: which guarantees r and m reach, and how far from the posterior that is."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
from common.claim import Claim, Panel
from scipy.special import betaln, digamma, logsumexp, ndtr, ndtri

from discreet.priors import Beta

from .largest import BERNOULLI, PRIOR, RECORDS, weight

WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
YES = 38
_rule = cache(np.polynomial.legendre.leggauss)
_NODES, _WEIGHTS = _rule(400)
_X, _DX = (_NODES + 1) / 2, _WEIGHTS / 2


def levels(name: str) -> Panel:
    """Draw the largest divergence over orders, for six values of r or of m."""
    orders = np.geomspace(0.02, 60, 160) + 1
    curves = {w: [BERNOULLI.worst_divergence(float(a), **{name: w}) for a in orders] for w in WEIGHTS}
    asymptotes = {w: BERNOULLI.largest_order(**{name: w}) for w in WEIGHTS}
    lower = all(
        low <= high
        for small, large in pairwise(WEIGHTS)
        for low, high in zip(curves[small], curves[large], strict=True)
    )
    right = all(abs(asymptotes[w] - (1 + 6 / w)) < 1e-9 for w in WEIGHTS)
    finite = all(
        (value < math.inf) == (order < asymptotes[w])
        for w in WEIGHTS
        for order, value in zip(orders, curves[w], strict=True)
    )
    figure = {"r": "figure 5.1", "m": "figure 5.2"}[name]
    words = ", ".join(f"{asymptotes[w]:.4g}" for w in WEIGHTS)
    series: dict[str, object] = {"largest_order": list(asymptotes.values())}
    # drawn up to a hair below the asymptote
    shares = np.concatenate([np.geomspace(0.003, 0.9, 40), 1 - np.geomspace(0.09, 3e-6, 25)])
    for w in WEIGHTS:
        series[f"order_{w:g}"] = at = 1 + (asymptotes[w] - 1) * shares
        series[f"{name}_{w:g}"] = [BERNOULLI.worst_divergence(float(a), **{name: w}) for a in at]
    return Panel(
        f"levels_{name}",
        series,
        [
            Claim(
                figure,
                f"with smaller {name} guarantees improve and reach larger orders, but an asymptote stays: 1 + 6/{name}",
                lower and right and finite,
                f"{name} = {', '.join(f'{w:g}' for w in WEIGHTS)}: asymptotes at {words}",
            )
        ],
    )


def distance(order: float, points: int) -> Panel:
    """Draw the Kullback-Leibler divergence of the mechanism from the posterior, for 38 of 100."""
    budgets = np.geomspace(1e-3, 30, points)
    target = Beta(PRIOR.a + YES, PRIOR.b + RECORDS - YES)
    series = {
        "epsilon": budgets,
        "diffused": [beta_kl(target, rebalanced(YES, r=weight("r", order, float(e)))) for e in budgets],
        "concentrated": [beta_kl(target, rebalanced(YES, m=weight("m", order, float(e)))) for e in budgets],
        "gaussian": [gaussian_kl(target, sigma_for(order, float(e))) for e in budgets],
    }
    return Panel(f"distance_{order:g}", series, _distance_claims(order, series, target))


def rebalanced(yes: float, *, prior: Beta = PRIOR, r: float = 1.0, m: float = 1.0) -> Beta:
    """Return the distribution of a draw for this many yes among the records."""
    return Beta(prior.a / m + r * yes, prior.b / m + r * (RECORDS - yes))


def sigma_for(order: float, epsilon: float) -> float:
    """Return the noise on the count of yes, order / (2 sigma^2) = epsilon; the text has no 2, and more noise."""
    return math.sqrt(order / (2 * epsilon))


def beta_kl(p: Beta, q: Beta) -> float:
    """Return KL(P || Q)."""
    mean = digamma([p.a, p.b]) - digamma(p.a + p.b)
    return float(betaln(q.a, q.b) - betaln(p.a, p.b) + np.array([p.a - q.a, p.b - q.b]) @ mean)


def gaussian_kl(p: Beta, sigma: float) -> float:
    """Return KL(P || A), A the beta posterior after noise on the count and projection to what is possible."""
    y, log_weight = noisy_counts(YES, sigma)
    a, b = PRIOR.a + y, PRIOR.b + RECORDS - y
    log_x, log_1x = np.log(_X)[:, None], np.log1p(-_X)[:, None]
    log_mix = logsumexp(log_weight + (a - 1) * log_x + (b - 1) * log_1x - betaln(a, b), axis=1)
    log_p = p.log_density(_X)
    return float((_DX * np.exp(log_p) * (log_p - log_mix)).sum())


def noisy_counts(yes: float, sigma: float, nodes: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Return a quadrature of the projected noisy count: both ends, and quantiles between them."""
    ends = ndtr((0 - yes) / sigma), ndtr((yes - RECORDS) / sigma)
    u, w = _rule(nodes)
    level = ends[0] + (1 - ends[0] - ends[1]) * (u + 1) / 2
    y = np.concatenate([[0.0, RECORDS], np.clip(yes + sigma * ndtri(level), 0, RECORDS)])
    with np.errstate(divide="ignore"):
        log_weight = np.log(np.concatenate([ends, (1 - ends[0] - ends[1]) * w / 2]))
    return y, log_weight


def _distance_claims(order: float, series: dict[str, object], target: Beta) -> list[Claim]:
    diffused, concentrated, gaussian = (
        np.asarray(series[name], dtype=float) for name in ("diffused", "concentrated", "gaussian")
    )
    budgets = np.asarray(series["epsilon"])
    to_prior = beta_kl(target, PRIOR)
    if order == 2:
        enough = BERNOULLI.worst_divergence(2.0) * (1 + 1e-6)
        zero = budgets >= enough
        tiny = 1e-6
        tight = beta_kl(target, rebalanced(YES, m=weight("m", order, tiny)))
        wide = sigma_for(order, tiny)
        at_ends = float(ndtr(-YES / wide) + ndtr((YES - RECORDS) / wide))
        return [
            Claim(
                "figure 5.3",
                "diffused and concentrated sampling reach the posterior where direct sampling is allowed, noise never",
                bool((diffused[zero] == 0).all() and (concentrated[zero] == 0).all() and gaussian.min() > 0),
                f"from epsilon {enough:.4f} on; noise is still {gaussian[-1]:.2g} away at epsilon {budgets[-1]:.3g}",
            ),
            Claim(
                "section 5.4.1",
                "as epsilon goes to 0: concentrated sampling to a point (KL without bound), diffused to the prior, "
                "noise to both ends",
                tight > 100 * to_prior
                and abs(beta_kl(target, rebalanced(YES, r=weight("r", order, 1e-9))) / to_prior - 1) < 0.01
                and at_ends > 0.9,
                f"epsilon 1e-6: concentrated {tight:.3g}, diffused at most {to_prior:.3f}; noise has {at_ends:.1%} of "
                "its mass at counts 0 and 100",
            ),
            _gaussian_constant(),
            _who_wins("figure 5.3", budgets, diffused, concentrated, gaussian),
        ]
    far = 1e6
    ends = [
        beta_kl(target, rebalanced(YES, r=weight("r", order, far))),
        beta_kl(target, rebalanced(YES, m=weight("m", order, far))),
    ]
    # no budget lets r or m pass 6/14, where order 15 is the largest
    limits = [beta_kl(target, rebalanced(YES, **{name: 6 / 14})) for name in ("r", "m")]
    noise = [gaussian_kl(target, sigma_for(order, e)) for e in (30.0, 300.0)]
    return [
        Claim(
            "figure 5.4",
            "above the largest order diffused and concentrated sampling stay away from the posterior, noise does not",
            bool(np.allclose(ends, limits, rtol=1e-3))
            and min(limits) > 100 * noise[0]
            and noise[1] < 0.2 * noise[0],
            f"diffused {limits[0]:.3f}, concentrated {limits[1]:.3f} for any epsilon; noise {noise[0]:.2g} at 30, "
            f"{noise[1]:.2g} at 300",
        ),
        _who_wins("figure 5.4", budgets, diffused, concentrated, gaussian),
    ]


def _who_wins(
    figure: str, budgets: np.ndarray, diffused: np.ndarray, concentrated: np.ndarray, gaussian: np.ndarray
) -> Claim:
    ahead = {
        name: budgets[curve < gaussian]
        for name, curve in (("diffused", diffused), ("concentrated", concentrated))
    }
    words = "; ".join(
        f"{name} ahead of noise {f'for epsilon {e.min():.2g} to {e.max():.2g}' if e.size else 'nowhere'}"
        for name, e in ahead.items()
    )
    wins = [e.size for e in ahead.values()]
    return Claim(
        figure,
        "sampling beats noise in specific situations: for some budgets, and not for all",
        max(wins) > 0 and min(wins) < budgets.size,
        words,
    )


def _gaussian_constant() -> Claim:
    """Integrate the divergence of two normals a distance 1 apart, with sigma = 2 and order 3."""
    x = np.linspace(-60, 60, 24001)
    log_p, log_q = (-((x - mean) ** 2) / 8 for mean in (0, 1))
    step = x[1] - x[0]
    direct = math.log(np.exp(3 * log_p - 2 * log_q).sum() * step / math.sqrt(8 * math.pi)) / 2
    return Claim(
        "section 5.4.1",
        "normal noise costs order/(2 sigma^2) at sensitivity 1; the printed order/sigma^2 is twice as much",
        abs(direct / (3 / 8) - 1) < 1e-9,
        f"order 3, sigma 2: {direct:.4f}, printed {3 / 4}",
    )

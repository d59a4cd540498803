"""What a posterior sample costs: theorems 2 and 3, equation 15, and the experiments of the supplement."""

from __future__ import annotations

import itertools

import numpy as np
from common.claim import Claim, Panel
from numpy.typing import ArrayLike
from scipy.special import logsumexp

import discreet as dc
from discreet.errors import UsageError
from discreet.validation.greedy import NextRecord
from discreet.validation.sampled_distribution import PosteriorDistribution

from .distributions import COIN, FLAT, OneSample

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def adversary(longest: int = 200) -> Panel:
    """Supplement A: records are added one by one, each the one that makes the next posterior cost most."""
    least = 0.1
    worst = 2 * np.log((1 - least) / least)
    # a budget above 2C buys a draw from the posterior itself
    path = dc.validation.adversary(COIN, mechanism=OneSample(least, 10.0).mechanism, records=longest)
    costs = path.epsilon
    kinds = [int((path.added == kind).sum()) for kind in path.replaced]
    halved = dc.mechanisms.PosteriorSampling(FLAT, epsilon=10, support=("0.01", "0.5"))
    after = NextRecord(PosteriorDistribution.of(COIN, halved, None))
    narrow = [after.epsilon(total, 20_000) for total in (-20_000, 20_000)]
    limit = np.log(0.99 / 0.01)
    edges = [OneSample(a, 1.0) for a in (0.2, 0.05, 0.001)]
    spans = [float(one.temperature) for one in edges]
    needed = [2 * np.log((1 - one.least) / one.least) for one in edges]
    return Panel(
        "adversary",
        {"n": np.arange(1, longest + 1), "cost": costs, "worst": worst, "bound_b": 4 * np.log(1 / least)},
        [
            Claim(
                "theorem 2",
                "no data set makes one posterior sample cost more than 2C, and an adversary's come close",
                bool(costs.max() <= worst and costs[-1] > 0.98 * worst),
                f"truncated at 0.1: 2C = {worst:.3f}; cost {costs[0]:.3f} at n = 1, {costs[-1]:.3f} at n = {longest}",
            ),
            Claim(
                "supplement A",
                "the greedy adversary makes the cost grow with every record (no privacy comes from more data)",
                bool(np.all(np.diff(costs) > 0)),
                f"all {longest} steps, {max(kinds)} other records of one kind and {min(kinds)} of the other",
            ),
            Claim(
                "theorem 2",
                "2C is loose if the support is not symmetric: the range of the log-ratio is the cost, and is attained",
                0.999 * limit < max(narrow) <= limit + 1e-9,
                f"p in [0.01, 0.5]: cost {max(narrow):.4f}, range {limit:.4f}, 2C = {2 * limit:.2f}",
            ),
            Claim(
                "theorem 3",
                "4B is valid; for probabilities of discrete records, which are at most 1, half of it is enough",
                worst <= 2 * np.log(1 / least),
                f"truncated at 0.1: 4B = {4 * np.log(1 / least):.2f}, 2B = {2 * np.log(1 / least):.2f}, "
                f"attained {costs[-1]:.2f}",
            ),
            Claim(
                "equation 15",
                "the sensitivity is log((1 - a)/a), and T twice that over epsilon; at a = 0 it is infinite and refused",
                bool(np.allclose(spans, needed, rtol=1e-9)) and refused_at_the_edge(),
                "T at epsilon = 1 for a = 0.2, 0.05, 0.001: " + ", ".join(f"{v:.3f}" for v in spans),
            ),
            _many_samples(),
        ],
    )


def refused_at_the_edge() -> bool:
    """Tell whether a support that reaches 0 is refused."""
    mechanism = dc.mechanisms.PosteriorSampling(FLAT, epsilon=1, support=(0, 1))
    try:
        dc.release(np.array([0, 1]), COIN, mechanism=mechanism, missing="none")
    except UsageError:
        return True
    return False


def _many_samples() -> Claim:
    span, found = 2 * np.log(9), {}
    for samples, epsilon in ((1, 5.0), (2, 9.0), (2, 5.0)):
        mechanism = dc.mechanisms.PosteriorSampling(
            FLAT, epsilon=epsilon, samples=samples, support=("0.1", "0.9")
        )
        release = dc.release(np.array([0, 1]), COIN, mechanism=mechanism, missing="none")
        found[samples, epsilon] = float(release.mechanism.parameters["temperature"])
    return Claim(
        "section 2.2",
        "a budget of 2C or more buys a draw from the posterior itself (T = 1), and q times that buys q draws",
        found[1, 5.0] == found[2, 9.0] == 1 and abs(found[2, 5.0] - 2 * span / 5) < 1e-9,
        f"2C = {span:.3f}: T = {found[1, 5.0]:g} for one draw at 5, {found[2, 9.0]:g} for two at 9, "
        f"{found[2, 5.0]:.3f} for two at 5",
    )


def recipe(n: int = 100) -> Panel:
    """Supplement E.2: three cells of at least 0.12, drawn one after another from truncated beta distributions."""
    least, step = 0.12, n // 5
    span = 2 * np.log((1 - 2 * least) / least)
    first = np.linspace(least, 1 - 2 * least, 201)[:-1]  # at the end nothing is left to draw
    sequential, exact = (0.0, ""), 0.0
    for counts in itertools.product(range(0, n + 1, step), repeat=2):
        if sum(counts) > n:
            continue
        base = 1.0 + np.array([*counts, n - sum(counts)])
        for i, j in itertools.permutations(range(3), 2):
            whole, rest = (
                one - other
                for one, other in zip(
                    *(log_parts(first, base + np.eye(3)[k], least) for k in (i, j)), strict=True
                )
            )
            shift = _log_odds(base, i, j, least)
            for second in (np.full(first.shape, least), 1 - least - first):
                p = np.stack([first, second, 1 - first - second])
                change = np.log(p[i]) - np.log(p[j])
                sequential = max(sequential, (float((change - whole - rest).max()), _counts(base)))
                exact = max(exact, float(change.max()) - shift)
    shown = np.ones(3)
    whole, rest = log_parts(first, shown, least)
    printed = np.exp((shown[0] - 1) * np.log(first) + (shown[1:].sum() - 1) * np.log1p(-first) - whole)
    true = printed * np.exp(rest)
    return Panel(
        "recipe",
        {"first": first, "sequential": printed, "exact": true / np.trapezoid(true, first), "span": span},
        [
            Claim(
                "supplement E.2",
                "components drawn in turn from truncated betas are no truncated Dirichlet, and break its 2C",
                sequential[0] > 1.1 * span,
                f"3 cells of at least {least:g}, {n + 1} records ({sequential[1]} and one more): "
                f"log-ratio {sequential[0]:.2f} against 2C = {span:.2f}",
            ),
            Claim(
                "theorem 2",
                "the exact truncated Dirichlet distribution, which this library draws from, keeps it",
                0.95 * span < exact <= span,
                f"at worst over the same data: log-ratio {exact:.2f}",
            ),
        ],
    )


def _counts(alpha: np.ndarray) -> str:
    return ", ".join(f"{a - 1:.0f}" for a in alpha)


def log_parts(first: np.ndarray, alpha: np.ndarray, least: float) -> tuple[float, np.ndarray]:
    """Return the log-normalizers of the recipe's two steps, the second for each value of the first component."""
    a, b, c = alpha
    edge = least / (1 - first)
    return float(log_beta(least, 1 - 2 * least, a, b + c)), log_beta(edge, 1 - edge, b, c)


def log_beta(low: ArrayLike, high: ArrayLike, a: float, b: float) -> np.ndarray:
    """Return the logarithm of the integral of t^(a-1) (1-t)^(b-1) from ``low`` to ``high``, by quadrature."""
    low, high = np.asarray(low)[..., None], np.asarray(high)[..., None]
    t = low + (high - low) * (_NODES + 1) / 2
    return logsumexp((a - 1) * np.log(t) + (b - 1) * np.log1p(-t), axis=-1, b=_WEIGHTS * (high - low) / 2)


def _log_odds(base: np.ndarray, i: int, j: int, least: float) -> float:
    """Return the log-ratio of the exact distribution's normalizers for one more record in cell i, and in cell j."""
    low, high = least, 1 - 2 * least
    first = low + (high - low) * (_NODES + 1) / 2
    total = []
    for k in (i, j):
        a, b, c = base + np.eye(3)[k]
        _, rest = log_parts(first, np.array([a, b, c]), least)
        # with the first component integrated last, what the recipe forgets is a factor
        total.append(logsumexp((a - 1) * np.log(first) + (b + c - 1) * np.log1p(-first) + rest, b=_WEIGHTS))
    return float(total[0] - total[1])

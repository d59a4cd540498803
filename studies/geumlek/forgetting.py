"""Panels a to c: kernels that mix (theorem 15), and Laplace noise added twice (theorem 20)."""

from __future__ import annotations

import numpy as np
from common.claim import Claim, Panel
from scipy.special import ndtr

from discreet.privacy.amplification import (
    FiniteKernel,
    GaussianKernel,
    RandomizedResponseKernel,
    after_doeblin,
    after_pure_ultra_mixing,
    after_ultra_mixing,
    amplifications,
    coupling_bound,
    hockey_stick_divergence,
    hockey_stick_level,
    iterated_laplace_bound,
    iterated_laplace_epsilons,
    laplace_epsilons,
    renyi_divergence,
)
from discreet.privacy.amplification.coupling import log_density_of_two

# Sums of a few products of probabilities are exact to this.
_ROUNDING = 1e-13


def pure_after_mixing(rng: np.random.Generator, trials: int) -> Panel:
    """Send the output of a 1-DP mechanism through randomized response."""
    epsilon, budgets = 1.0, np.geomspace(0.05, 6, 60)
    kernels = [RandomizedResponseKernel(2, float(e)) for e in budgets]
    first = RandomizedResponseKernel(2, epsilon).matrix
    direct = [float(renyi_divergence(*(first @ k.matrix), np.inf)) for k in kernels]
    sharp = [after_pure_ultra_mixing(epsilon, k.ultra_mixing()) for k in kernels]
    theorem = [after_ultra_mixing(epsilon, 0.0, k.ultra_mixing())[0] for k in kernels]
    gap = float(np.abs(np.array(sharp) / direct - 1).max())
    excess = np.array(theorem) / np.array(direct)
    at_one = RandomizedResponseKernel(2, 1.0).ultra_mixing()
    words = (
        f"1-DP through randomized response at 1: {after_ultra_mixing(1.0, 0.0, at_one)[0]:.4f} by the theorem, "
        f"{after_pure_ultra_mixing(1.0, at_one):.4f} exact; up to {excess.max():.2f} times too large on the curve"
    )
    return Panel(
        "pure_after_mixing",
        {
            "epsilon": epsilon,
            "kernel_epsilon": budgets,
            "direct": direct,
            "sharp": sharp,
            "theorem_15_4": theorem,
        },
        [
            _random_kernels(rng, trials),
            _implications(rng, trials),
            Claim(
                "theorem 15",
                "(4) is not tight for pure privacy; log((1 + e^(a+b)) / (e^a + e^b)) is: two randomized responses",
                gap < 1e-9 and excess.min() > 1,
                words,
            ),
            _doeblin_remark(),
        ],
    )


def delta_after_mixing() -> Panel:
    """Add normal noise to the output of a (1, 1e-5)-DP mechanism on an interval of length 1."""
    epsilon, delta, sigmas = 1.0, 1e-5, np.geomspace(0.05, 5, 60)
    level = hockey_stick_level(epsilon, delta)
    kernels = [GaussianKernel(float(s), 0.5) for s in sigmas]
    dobrushin = [k.dobrushin() for k in kernels]
    stick = [k.dobrushin(level) for k in kernels]
    gap, least = _attained(epsilon, 0.01)
    at = int(np.argmin(np.abs(sigmas - 0.2)))
    words = (
        f"of delta, at noise {sigmas[at]:.2f}, {dobrushin[at]:.3f} is left by (1) and {stick[at]:.2g} by (2)"
    )
    return Panel(
        "delta_after_mixing",
        {
            "epsilon": epsilon,
            "delta": delta,
            "level": level,
            "sigma": sigmas,
            "dobrushin": dobrushin,
            "hockey_stick": stick,
        },
        [
            Claim(
                "theorem 15",
                "(2) is never worse than (1), and attained for every kernel by one ordered pair of distributions",
                gap < _ROUNDING and bool(np.all(np.array(stick) <= dobrushin)),
                f"{words}; the pair is within {gap:.1g} of deltas from {least:.1g} on",
            )
        ],
    )


def laplace_twice(rng: np.random.Generator, trials: int) -> Panel:
    """Add Laplace noise of scale 1 to the output of a Laplace mechanism of scale 1 and sensitivity 1."""
    orders = np.concatenate([[1.01], np.geomspace(1.05, 512, 80)])
    once, bound = laplace_epsilons(orders, 1.0, 1.0), iterated_laplace_bound(orders, 1.0, 1.0, 1.0)
    exact = iterated_laplace_epsilons(orders, 1.0, 1.0, 1.0)
    two = [float(f) for f in (laplace_epsilons(2.0, 1, 1), iterated_laplace_bound(2.0, 1, 1, 1))]
    two.append(float(iterated_laplace_epsilons(2.0, 1, 1, 1)))
    far = np.array([1.0, 1e2, 1e4, 1e6])
    ratios = [log_density_of_two(far, 1, c) - log_density_of_two(far + 1, 1, c) for c in (1.0, 0.5)]
    return Panel(
        "laplace_twice",
        {"order": orders, "once": once, "bound": bound, "exact": exact},
        [
            _random_couplings(rng, trials),
            Claim(
                "example 2",
                "Laplace noise twice: exact <= bound of (6.2) at its best shift <= once; the bound is not tight",
                bool(np.all(exact <= bound) and np.all(bound <= once)) and two[2] < 0.7 * two[1],
                f"at order 2: once {two[0]:.4f}, bound {two[1]:.4f}, exact {two[2]:.4f}",
            ),
            Claim(
                "lemma 5",
                "for pure privacy nothing is gained over the larger of the two scales",
                all(np.all(r <= 1 + 1e-9) and r[-1] > 1 - 1e-5 for r in ratios),
                "log-ratio of the densities 1, 100, 10^4, 10^6 out, scales 1 and 1: "
                + ", ".join(f"{r:.6f}" for r in ratios[0]),
            ),
        ],
    )


def _random_kernels(rng: np.random.Generator, trials: int) -> Claim:
    excess = -np.inf
    for _ in range(trials):
        n = int(rng.integers(2, 6))
        kernel = FiniteKernel(rng.dirichlet(np.full(4, rng.choice([0.2, 1.0, 5.0])), size=n))
        mu, nu = rng.dirichlet(np.full(n, rng.choice([0.5, 5.0])), size=2)
        epsilon = float(rng.choice([0.0, 0.1, 0.7, 2.0, np.abs(np.log(mu / nu)).max()]))
        delta = max(float(hockey_stick_divergence(*pair, epsilon)) for pair in ((mu, nu), (nu, mu)))
        delta = 0.0 if delta < _ROUNDING else delta
        for found in amplifications(epsilon, delta, kernel).values():
            after = hockey_stick_divergence(mu @ kernel.matrix, nu @ kernel.matrix, found.epsilon)
            excess = max(excess, float(after) - found.delta)
    return Claim(
        "theorem 15",
        "all four guarantees hold after every kernel tried, for delta computed directly",
        excess < _ROUNDING,
        f"largest excess over {trials:,} random kernels and pairs: {max(excess, 0.0):.1g}",
    )


def _implications(rng: np.random.Generator, trials: int) -> Claim:
    wrong = 0
    for _ in range(trials):
        kernel = FiniteKernel(rng.dirichlet(np.full(4, rng.choice([0.2, 1.0, 5.0])), size=3))
        ladder = [kernel.dobrushin(0.5), kernel.dobrushin(), kernel.doeblin(), kernel.ultra_mixing()]
        wrong += bool(np.any(np.diff(ladder) < -_ROUNDING))
    flip = FiniteKernel([[0.6, 0.4], [0.4, 0.6]])
    return Claim(
        "lemma 1",
        "ultra-mixing => Doeblin => Dobrushin => (gamma, epsilon)-Dobrushin; figure 6.1 has the last one reversed",
        wrong == 0 and flip.dobrushin(0.3) < 0.061 < 0.19 < flip.dobrushin(),
        f"{trials:,} random kernels agree; [[.6, .4], [.4, .6]]: {flip.dobrushin(0.3):.3f} at epsilon = 0.3 "
        f"but {flip.dobrushin():.1f} at 0",
    )


def _doeblin_remark() -> Claim:
    epsilon, delta = 1.0, 0.05
    threshold = delta * np.exp(epsilon) / ((1 - delta) * np.expm1(epsilon))
    below, above = (after_doeblin(epsilon, delta, f * threshold)[1] for f in (0.99, 1.01))
    return Claim(
        "theorem 15",
        "(3) improves delta only below gamma = delta e^epsilon / ((1 - delta)(e^epsilon - 1))",
        below < delta < above,
        f"(1, 0.05)-DP: threshold {threshold:.4f}; delta {below:.5f} just below, {above:.5f} just above",
    )


def _attained(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the largest gap between (2) and the pair that attains it, and the least delta, over kernels."""
    gaps, claims = [], []
    for sigma in (0.3, 0.5, 1.0):
        edges = np.linspace(-8 * sigma, 1 + 8 * sigma, 2001)
        rows = np.diff(ndtr((edges - np.linspace(0, 1, 3)[:, None]) / sigma), axis=1)
        kernel = FiniteKernel(rows / rows.sum(axis=1, keepdims=True))
        blur = np.array([0.0, 1.0, 0.0])
        mu = (1 - delta) * blur + delta * np.array([1.0, 0.0, 0.0])
        share = (1 - delta) * np.exp(-epsilon)
        nu = share * blur + (1 - share) * np.array([0.0, 0.0, 1.0])
        after = float(hockey_stick_divergence(mu @ kernel.matrix, nu @ kernel.matrix, epsilon))
        claimed = delta * kernel.dobrushin(hockey_stick_level(epsilon, delta))
        gaps.append(abs(after - claimed))
        claims.append(claimed)
    return max(gaps), min(claims)


def _random_couplings(rng: np.random.Generator, trials: int) -> Claim:
    excess, better, gap = -np.inf, 0, 0.0
    for _ in range(trials):
        n = int(rng.integers(2, 6))
        kernel = FiniteKernel(rng.dirichlet(np.full(n, rng.choice([0.5, 2.0, 20.0])), size=n))
        mu, nu = rng.dirichlet(np.ones(n), size=2)
        omega = nu + rng.random() * (mu - nu)
        stay = np.minimum(omega, mu)
        left, right = omega - stay, mu - stay
        moved = np.outer(left, right) / left.sum()
        coupling, order = np.diag(stay) + moved, float(rng.choice([1.0, 2.0, 8.0, np.inf]))
        actual = float(renyi_divergence(mu @ kernel.matrix, nu @ kernel.matrix, order))
        bound = coupling_bound(order, nu, coupling, kernel)
        excess = max(excess, actual - bound)
        better += bound < renyi_divergence(mu, nu, order)
        # from one fixed point to another the whole way is the kernel's to hide, and there is nothing to lose
        points = np.eye(n)[rng.choice(n, size=2, replace=False)]
        actual = float(renyi_divergence(*(points @ kernel.matrix), order))
        gap = max(gap, abs(coupling_bound(order, points[1], np.outer(points[1], points[0]), kernel) - actual))
    return Claim(
        "theorem 20",
        "(6.2) holds for every coupling tried, often beats plain post-processing, and is attained by fixed points",
        excess < 1e-12 and better > trials / 20 and gap < 1e-12,
        f"largest excess over {trials:,} random couplings: {max(excess, 0.0):.1g}; "
        f"better than post-processing in {better / trials:.0%}",
    )

"""Chapter 5: where the largest divergence is, and what can be found with it; panels k and l."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
from common.claim import Claim, Panel
from scipy import integrate
from scipy.special import polygamma

from discreet.families import Bernoulli, Categorical, Exponential
from discreet.priors import Beta, Dirichlet, Gamma
from discreet.privacy.costs.posterior_divergence import conjugate_divergence
from discreet.privacy.costs.posterior_neighbors import NeighboringPosteriors

PRIOR, RECORDS = Beta(6, 12), 100
BERNOULLI = NeighboringPosteriors(Bernoulli(), PRIOR, RECORDS)


@cache
def weight(name: str, order: float, epsilon: float, prior: Beta = PRIOR) -> float:
    """Return the r or the m that a budget allows; many panels ask for the same one."""
    near = NeighboringPosteriors(Bernoulli(), prior, RECORDS)
    return near.find_r(order, epsilon) if name == "r" else near.find_m(order, epsilon)


def corners(rng: np.random.Generator, trials: int) -> Panel:
    """Three labels: the largest divergence against that at the corners of the set of posteriors."""
    orders = np.linspace(1.05, 1.95, 19)
    near = NeighboringPosteriors(Categorical(3), Dirichlet([1, 2, 3]), 4)
    largest = [near.worst_divergence(float(a)) for a in orders]
    at_corners = [_corner(near, float(a)) for a in orders]
    listed = [_listed(near, float(a)) for a in orders]
    gap = float(np.abs(np.array(largest) / listed - 1).max())
    ratios = []
    for _ in range(max(trials // 40, 5)):
        other = NeighboringPosteriors(Categorical(3), Dirichlet(10 ** rng.uniform(-0.5, 0.7, size=3)), 4)
        order = 1 + (other.largest_order() - 1) * float(rng.uniform(0.1, 0.9))
        gap = max(gap, abs(other.worst_divergence(order) / _listed(other, order) - 1))
        ratios.append(other.worst_divergence(order) / _corner(other, order))
    return Panel(
        "corners",
        {"order": orders, "largest": largest, "corners": at_corners, "listed": listed},
        [
            _closed_form(),
            _largest_order(),
            _beta_pairs(rng, trials),
            _convexity(rng, trials),
            Claim(
                "theorem 10",
                "for three labels the corners miss the supremum; the closed form is the largest of all tables",
                gap < 1e-9 and min(ratios) > 1,
                f"{len(ratios)} random priors: up to {max(ratios):.2f} times what the corners say, never less than "
                f"{min(ratios):.3f}; gap to all tables {gap:.1g}",
            ),
            _lemma_17(rng, trials),
            _query(rng, trials),
        ],
    )


def found(points: int) -> Panel:
    """Find what r and m a budget allows, at orders below and above that of the posterior itself."""
    budgets = np.geomspace(1e-3, 30, points)
    series: dict[str, object] = {"epsilon": budgets}
    exact = True
    for order in (2.0, 15.0):
        for name in ("r", "m"):
            weights = [weight(name, order, float(e)) for e in budgets]
            series[f"{name}_{order:g}"] = weights
            exact &= all(
                w == 1 or not BERNOULLI.allows(order, float(e), **{name: math.nextafter(w, 1)})
                for w, e in zip(weights, budgets, strict=True)
            )
            exact &= all(
                BERNOULLI.worst_divergence(order, **{name: w}) <= e
                for w, e in zip(weights, budgets, strict=True)
            )
    hard = [(1.01, 1e-6), (100.0, 1e-6), (1000.0, 50.0)]
    r, m = ([weight(name, a, e) for a, e in hard] for name in ("r", "m"))
    return Panel(
        "found",
        series,
        [
            Claim(
                "theorem 8",
                "an r gives any order and epsilon; the one found is private enough and the next float is not",
                exact and min(r) > 0,
                f"order 100, epsilon 1e-6: r = {r[1]:.3g}; order 2, epsilon 0.1: r = {weight('r', 2, 0.1):.4f}",
            ),
            Claim(
                "theorem 9",
                "an m gives any order and epsilon; the one found is private enough and the next float is not",
                exact and min(m) > 0,
                f"order 100, epsilon 1e-6: m = {m[1]:.3g}; order 2, epsilon 0.1: m = {weight('m', 2, 0.1):.4f}",
            ),
            *_public_records(),
        ],
    )


def _listed(near: NeighboringPosteriors, order: float) -> float:
    """Return the largest divergence over all tables of three labels."""
    n, best = near.n_records, 0.0
    tables = [np.array([i, j, n - i - j]) for i in range(n + 1) for j in range(n + 1 - i)]
    for p, q in itertools.permutations(tables, 2):
        if np.abs(p - q).sum() == 2:
            pair = [near.family.update(near.prior, counts, n) for counts in (p, q)]
            best = max(best, conjugate_divergence(*pair, order))
    return best


def _corner(near: NeighboringPosteriors, order: float) -> float:
    """Return the largest divergence from or to a table whose records are all the same."""
    n, best = near.n_records, 0.0
    for i, j in itertools.permutations(range(3), 2):
        p = n * np.eye(3)[i]
        pair = [near.family.update(near.prior, counts, n) for counts in (p, p - np.eye(3)[i] + np.eye(3)[j])]
        best = max(best, conjugate_divergence(*pair, order), conjugate_divergence(*pair[::-1], order))
    return best


def _closed_form() -> Claim:
    gap = 0.0
    for p, q, order in (
        (Beta(6, 12), Beta(7, 11), 2.0),
        (Beta(6, 12), Beta(7, 11), 6.5),
        (Beta(44, 74), Beta(45, 73), 15.0),
        (Beta(0.5, 5.5), Beta(1.5, 4.5), 1.3),
    ):
        total, _ = integrate.quad(
            lambda x, p=p, q=q, order=order: math.exp(
                order * p.log_density(x) + (1 - order) * q.log_density(x)
            ),
            0,
            1,
            epsabs=0,
            epsrel=1e-11,
            limit=400,
        )
        direct = math.log(total) / (order - 1)
        gap = max(gap, abs(conjugate_divergence(p, q, order) / direct - 1))
    return Claim(
        "equation 5.15",
        "the closed form, with log Gamma where the text has Gamma, is the divergence",
        gap < 1e-7,
        f"gap to quadrature {gap:.1g}",
    )


def _largest_order() -> Claim:
    """Cut the integral off near 0: below lambda* it settles, at lambda* and above it keeps growing."""
    same = {NeighboringPosteriors(Bernoulli(), PRIOR, n).largest_order() for n in (1, 5, 100, 10**6)}
    p, q = Beta(6, 12 + RECORDS), Beta(7, 11 + RECORDS)

    def beyond(order: float) -> float:
        """How much the integral gains from cutting at e^-30 instead of e^-15."""
        parts = [
            integrate.quad(
                lambda t: math.exp(
                    order * p.log_density(np.exp(t)) + (1 - order) * q.log_density(np.exp(t)) + t
                ),
                cut,
                -1e-9,
                limit=400,
            )[0]
            for cut in (-15.0, -30.0)
        ]
        return parts[1] / parts[0] - 1

    below, above = beyond(6.0), beyond(7.2)
    return Claim(
        "corollary 15",
        "direct sampling has a guarantee below order 1 + min(alpha, beta) = 7 and none from there on, for any n",
        same == {7.0} and below < 1e-3 and above > 1 and BERNOULLI.worst_divergence(7.0) == math.inf,
        f"cutting the integral at e^-30 instead of e^-15 adds {below:.1g} at order 6 and {above:.2g} at order 7.2",
    )


def _beta_pairs(rng: np.random.Generator, trials: int) -> Claim:
    """All neighboring counts, against the four pairs that can be reached."""
    gap = 0.0
    for _ in range(max(trials // 10, 10)):
        n = int(rng.integers(1, 30))
        near = NeighboringPosteriors(Bernoulli(), Beta(*10 ** rng.uniform(-0.7, 1.3, size=2)), n)
        r = float(rng.uniform(0.1, 1))
        order = 1 + (near.largest_order(r=r) - 1) * float(rng.uniform(0.05, 0.95))
        after = [near.family.update(near.prior, np.array([r * k]), r * n) for k in range(n + 1)]
        direct = max(
            conjugate_divergence(*pair, order)
            for k in range(n)
            for pair in itertools.permutations(after[k : k + 2])
        )
        gap = max(gap, abs(near.worst_divergence(order, r=r) / direct - 1))
    five = NeighboringPosteriors(Bernoulli(), Beta(0.5, 0.5), 5).worst_divergence(1.3)
    return Claim(
        "corollary 16",
        "the four pairs that a table can lead to have the largest divergence; two of the printed ones do not exist",
        gap < 1e-8 and abs(five - 2.6155) < 1e-4,
        f"gap to all tables {gap:.1g}; Beta(1/2, 1/2), n = 5, order 1.3: {five:.4f}, infinite as printed",
    )


def _convexity(rng: np.random.Generator, trials: int) -> Claim:
    """Second differences in Q, and in P at a fixed step."""
    least = math.inf
    for _ in range(max(trials // 10, 10)):
        a, b = 10 ** rng.uniform(0.3, 1.5, size=2)
        order, step = float(rng.uniform(1.1, 3)), float(rng.uniform(0.05, 0.4))
        at = np.array([-0.2, 0.0, 0.2])
        in_q = [conjugate_divergence(Beta(a, b), Beta(a + step + t, b - step - t), order) for t in at]
        in_p = [conjugate_divergence(Beta(a + t, b - t), Beta(a + t + step, b - t - step), order) for t in at]
        least = min(least, *(x - 2 * y + z for x, y, z in (in_q, in_p)))
    return Claim(
        "theorem 10",
        "the divergence is convex in Q, and for the beta in P at a fixed step",
        least > 0,
        f"least second difference {least:.2g}",
    )


def _lemma_17(rng: np.random.Generator, trials: int) -> Claim:
    """Bound the Hessian from Q to order - 1 steps beyond P; the printed interval leaves out Q."""

    def bound(p: Beta, q: Beta, order: float, low: float) -> float:
        v = np.array([p.a - q.a, p.b - q.b])
        along = np.linspace(low, order - 1, 2001)[:, None] * v + [p.a, p.b]
        trigamma = polygamma(1, along)
        whole = polygamma(1, along.sum(axis=1))
        # the largest eigenvalue of diag(trigamma) - whole
        mean, half = trigamma.mean(axis=1), np.diff(trigamma, axis=1)[:, 0] / 2
        largest = mean - whole + np.sqrt(half**2 + whole**2)
        return float(order * largest.max() * (v @ v))

    p, q, order = Beta(1.0, 2.0), Beta(0.001, 2.999), 1.01
    value, printed = conjugate_divergence(p, q, order), bound(p, q, order, -(order - 1))
    excess = -math.inf
    for _ in range(max(trials // 10, 10)):
        a, b = 10 ** rng.uniform(-1, 1, size=2)
        order_here = 1 + 10 ** float(rng.uniform(-2, 1))
        step = float(rng.uniform(-0.9 * a, 0.9 * min(b, a / (order_here - 1))))
        if b + (order_here - 1) * step <= 0 or a - (order_here - 1) * step <= 0:
            continue
        pair = Beta(a, b), Beta(a + step, b - step)
        excess = max(excess, conjugate_divergence(*pair, order_here) / (bound(*pair, order_here, -1.0) / 2))
    return Claim(
        "lemma 17",
        "half the bound holds with the Hessian from Q on; over the printed interval it fails for orders below 2",
        excess <= 1 and value > printed,
        f"order 1.01: {value:.2f}, more than the printed {printed:.2f}; over the right interval at most "
        f"{excess:.2f} of half the bound",
    )


def _query(rng: np.random.Generator, trials: int) -> Claim:
    worst = 0.0
    for _ in range(max(trials // 10, 10)):
        n = int(rng.integers(1, 20))
        a, b = 10 ** rng.uniform(-0.5, 1, size=2)
        near = NeighboringPosteriors(Bernoulli(), Beta(a, b), n)
        order = 1 + (near.largest_order() - 1) * float(rng.uniform(0.1, 0.9))
        rest, (x, y) = float(rng.uniform(0, n - 1)), rng.uniform(0, 1, size=2)
        pair = (Beta(a + rest + v, b + n - rest - v) for v in (float(x), float(y)))
        worst = max(worst, conjugate_divergence(*pair, order) / near.worst_divergence(order))
    return Claim(
        "section 5.3.2",
        "a predicate in [0, 1] costs no more than a bit",
        worst <= 1,
        f"random sums: at most {worst:.3f} of the bits' largest divergence",
    )


def _public_records() -> list[Claim]:
    """Put records that are known, or become known, into the prior."""
    order, n = 2.0, RECORDS
    without = BERNOULLI.worst_divergence(order)
    known = {k: _with_known(k, n, order) for k in (10, 40)}
    breach = [
        NeighboringPosteriors(Bernoulli(), Beta(6 + yes, 12 + k - yes), n - k).worst_divergence(order)
        for k in (1, 5, 30)
        for yes in range(k + 1)
    ]
    bounds = Exponential().parse_bounds((0, 3))
    waits = [
        NeighboringPosteriors(Exponential(), Gamma(2 + k, 6.0), 20, bounds).worst_divergence(1.5)
        for k in (0, 40)
    ]
    return [
        Claim(
            "section 5.3.1",
            "public records in the prior lower the divergence, and leaked ones do not harm the others",
            max(known.values()) < without and max(breach) <= without * (1 + 1e-12),
            f"order 2: {without:.4f}, with 10 public records {known[10]:.4f}, with 40 {known[40]:.4f}; after a leak "
            f"at most {max(breach):.4f}",
        ),
        Claim(
            "section 5.3.1",
            "but not in every case: waiting times of 0 in the prior make neighbors easier to tell apart",
            waits[1] > waits[0],
            f"exponential, order 1.5: {waits[0]:.4f}, with 40 public waits of 0 {waits[1]:.4f}",
        ),
    ]


def _with_known(k: int, n: int, order: float) -> float:
    """Return the divergence if k public records, a third of them yes, join the prior."""
    prior = Bernoulli().learn(PRIOR, [1] * round(k / 3) + [0] * (k - round(k / 3)))
    return NeighboringPosteriors(Bernoulli(), prior, n).worst_divergence(order)

"""Figure 7.2 and observation 10: how often the bit of one of two profiles must be flipped."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from common.claim import Claim, Panel
from scipy.optimize import linprog

from discreet.profiles import OneBitPair, ProfileGraph

EPSILONS = (0.2, 0.5, 1.0)
#: How far a solver's optimum and an exact one may be apart.
PRECISION = 1e-8


def printed_bound(p: float, q: float, epsilon: float) -> float:
    """Return observation 10's closed form as printed, for comparison only; p <= q."""
    growth = float(np.exp(epsilon))
    first = (q - growth * p) / (2 * (q - growth * p) - (1 - growth))
    second = (p - growth * q + growth - 1) / (2 * (p - growth * q) + growth - 1)
    return max(0.0, first, second)


def _flip(p: float | Fraction, q: float | Fraction, epsilon: float) -> float:
    graph = ProfileGraph({"i": p, "j": q}, [("i", "j")])
    return float(OneBitPair().fit(graph, epsilon).flips[0])


def _program(p: float, q: float, epsilon: float) -> float:
    """Solve 7.5 with its fractions multiplied out."""
    growth = np.exp(epsilon)
    pairs = ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))
    rows = [[(1 - 2 * a) - growth * (1 - 2 * b)] for a, b in pairs]
    return float(linprog([1], A_ub=rows, b_ub=[growth * b - a for a, b in pairs], bounds=[(0, 0.5)]).fun)


def couplet(n: int) -> Panel:
    """Figure 7.2: two profiles around 1/2, their difference from 0 to 1 in ``n`` steps."""
    gaps = [Fraction(i, n) for i in range(n + 1)]
    flips = {e: np.array([_flip((1 - g) / 2, (1 + g) / 2, e) for g in gaps]) for e in EPSILONS}
    below = {e: 1 / (1 + np.exp(e)) for e in EPSILONS}
    # every pair on a grid, not only those around 1/2
    grid = [(Fraction(a, 12), Fraction(b, 12)) for b in range(13) for a in range(b)]
    room = {(p, q): below[0.5] - _flip(p, q, 0.5) for p, q in grid}
    tight = [pair for pair, left in room.items() if left < 1e-12]
    return Panel(
        "couplet",
        {
            "difference": [float(g) for g in gaps],
            **{f"{e:g}": v for e, v in flips.items()},
            "response": list(below.values()),
        },
        [
            Claim(
                "figure 7.2",
                "the flipping probability grows with the difference of the two profiles",
                all(bool((np.diff(v) >= 0).all()) and v[-1] > v[0] for v in flips.values()),
                f"epsilon = 0.5: {flips[0.5][0]:.4f} at 0, {flips[0.5][n // 2]:.4f} at 1/2, {flips[0.5][-1]:.4f} at 1",
            ),
            Claim(
                "figure 7.2",
                "it stays below randomized response's, and reaches it only for p = 0 and 1 (program 7.5)",
                min(room.values()) > -1e-12 and tight == [(Fraction(0), Fraction(1))],
                f"{len(grid)} pairs, epsilon = 0.5: 1/(1 + e^epsilon) = {below[0.5]:.4f}, next largest "
                f"{below[0.5] - sorted(room.values())[1]:.4f}",
            ),
        ],
    )


def closed_form(rng: np.random.Generator, n: int) -> Panel:
    """Observation 10 against program 7.5, for random pairs."""
    p, q = np.sort(rng.uniform(0, 1, (n, 2)), axis=1).T
    epsilons = rng.uniform(0.05, 2, n)
    program = np.array([_program(*case) for case in zip(p, q, epsilons, strict=True)])
    exact = np.array([_flip(*case) for case in zip(p, q, epsilons, strict=True)])
    printed = np.array([printed_bound(*case) for case in zip(p, q, epsilons, strict=True)])
    off = np.abs(exact - program).max()
    wrong = printed > 0.5
    return Panel(
        "closed form",
        {"program": program, "printed": printed, "exact": exact},
        [
            Claim(
                "observation 10",
                "with terms kept only where their constraint binds, the closed form is the program's solution",
                off < PRECISION,
                f"{n} random pairs: largest difference {off:.1e}",
            ),
            Claim(
                "observation 10",
                "as printed it is an upper bound, but not the value: terms of constraints that hold anyway blow up",
                bool((printed >= program - PRECISION).all()) and bool(0.2 < wrong.mean() < 0.5),
                f"above 1/2, where no flipping probability lies, in {100 * wrong.mean():.0f}% of the pairs; "
                f"the largest is {printed.max():.0f}",
            ),
        ],
    )

r"""The released vector of one Newton step of a regression's likelihood, and how far one record can move it.

At public weights b a record with terms x = (1, x_1, ...), each at most 1 in size, has a weight a of [0, 1] and a
residual e of [-1, 1]. It adds

    a x_j x_k  for every distinct product,        e x_j  for every term:

its part of the curvature of the log-likelihood at b and its part of the slope, each divided by a public number.

* Logistic: with m = 1 / (1 + exp(-b . x)) and a target of {0, 1}, e = y - m and a = 4 m (1 - m). Since |e| is m or
  1 - m, a = 4 |e| (1 - |e|): a record that counts in one of them hardly counts in the other.
* Poisson: with m = exp(b . x) and a target of [0, B], e = (y - m) / B and a = m / M, clipped. Any a goes with any e.
  What the curvature is needed for is how far to go along the slope, so its sums have noise that is twice as wide.

**Sensitivity.** Products that coincide are released once. A coordinate that r pairs share has the width 1 / sqrt(r), so
that it counts at most as much as r coordinates. A width v of the whole curvature divides a by v. Let N bound how many
terms of a record are not 0, P = N (N + 1) / 2, T = x . x' and Q = sum x_j^2 x'_j^2 >= 1. The sum over pairs of
(x_j x_k)(x'_j x'_k) is (T^2 + Q) / 2, so for two records

    L2^2  <=  P (a^2 + a'^2) - a a' (T^2 + 1) + N (e^2 + e'^2) - 2 e e' T.

In L1, of c terms that both records have, |a m - a' m'| <= max(a, a') - min(a, a') m m' for m, m' of [-1, 1]:

    L1  <=  (a + a') (P - C) + max(a, a') C - min(a, a') (T^2 + 1) / 2
            + (|e| + |e'|) (N - c) + max(|e|, |e'|) c - sign(e e') min(|e|, |e'|) T,      C = c (c + 1) / 2.

Both are concave in T, with the maximum in closed form. Given T they are convex in each of a, a', |e| and |e'| (in L1
because |T| <= c), so where these are independent the largest is at 0 and 1 of each. Where a follows from |e| they are
searched over |e| and |e'| on a grid, to which what they can change by between its points is added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.domain.columns import Numeric
from discreet.domain.declarations import Domain, Neighbors
from discreet.models.design import ONE, Design, Term
from discreet.models.layout import FINE, UNIT, Layout
from discreet.models.product_layout import USABLE_WIDTH, counts_usable
from discreet.rational import float_down, sqrt_up

_GRID = 1025
_USABLE = "usable"
# sensitivities are rounded up to a multiple of this
_DIGITS = 2**16
_SAFE = 1 + 1e-10


@dataclass(frozen=True)
class ScoreRegion:
    """Which weights and residuals a record may have together: any, or ``tied`` as in a logistic regression.

    ``width`` is how wide the noise of the curvature is beside that of the slope.
    """

    tied: bool
    width: Fraction = UNIT

    def points(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return weights over their width and sizes of residuals to search, and the distance of the latter."""
        if not self.tied:
            corner = 1 / float_down(self.width)
            return np.array([0.0, 0.0, corner, corner]), np.array([0.0, 1.0, 0.0, 1.0]), 0.0
        e, step = np.linspace(0.0, 1.0, _GRID, retstep=True)
        return 4 * e * (1 - e), e, float(step)


LOGISTIC = ScoreRegion(tied=True)
POISSON = ScoreRegion(tied=False, width=Fraction(2))


def feature_design(design: Design) -> Design:
    """Return the design of the features alone, whose products are weighted by the curvature."""
    return Design(design.columns[1:], design.terms[:-1])


def score_layout(design: Design, region: ScoreRegion, domain: Domain, neighbors: Neighbors) -> Layout:
    """Return the released vector of a Newton step from public weights, and its joint sensitivity."""
    inner = feature_design(design)
    counted = counts_usable(domain, neighbors)
    widths = [region.width * _width(r) for r in _multiplicities(inner)] + [UNIT] * (1 + len(inner.terms))
    shared = sum(not term.labels for term in inner.terms) + 1
    most = len(design.columns) + _expressions(inner)

    def powered(q: int) -> Fraction:
        count = 1 / USABLE_WIDTH**q if counted else Fraction(0)
        alone = _up(_alone(region, most, q)) + count
        if neighbors == "add_remove":
            return alone
        pair = _up(_between(region, most, min(shared, most), q))
        return max(pair, alone) if counted else pair

    # a record, and a pair of them, is off by at most a step in each coordinate
    first = FINE * sum((1 / width for width in widths), Fraction(0))
    second = FINE * sqrt_up(sum((1 / width**2 for width in widths), Fraction(0)))
    numbers = [column for column in design.columns if isinstance(column, Numeric)]
    return Layout(
        names=(*coordinate_names(inner), *([_USABLE] if counted else [])),
        rows=(),
        grid=(*(FINE for _ in widths), *([UNIT] if counted else [])),
        width=(*widths, *([USABLE_WIDTH] if counted else [])),
        shift=tuple((c.low + c.high) / 2 for c in numbers) or None,
        half=tuple((c.high - c.low) / 2 for c in numbers) or None,
        l1_sensitivity=powered(1) + first,
        l2_sensitivity=sqrt_up(powered(2)) + second,
    )


def coordinate_names(inner: Design) -> tuple[str, ...]:
    """Return the names of the curvature's coordinates, then of the slope's."""
    weighted = [f"weight * {one.name(inner.by_name)}" for one in inner.products]
    return ("weight", *weighted, "residual", *(f"residual * {name}" for name in inner.names))


def score_ranges(design: Design, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
    """Return what one record can add to each coordinate, and 0."""
    inner = feature_design(design)
    room = FINE
    curved = [
        (-UNIT - room if any(power % 2 for _, power in one.powers) else -room, UNIT + room)
        for one in (ONE, *inner.products)
    ]
    sloped = [(-UNIT - room, UNIT + room)] * (1 + len(inner.terms))
    return [*curved, *sloped, *([(Fraction(0), UNIT)] if counts_usable(domain, neighbors) else [])]


def _multiplicities(inner: Design) -> list[int]:
    """Return how many pairs of terms, 1 included, are each distinct product: 1 first."""
    index = inner.index[np.triu_indices(len(inner.index))]
    found = np.bincount(index[index >= 0], minlength=len(inner.products))
    return [1, *(int(r) for r in found)]


def _expressions(inner: Design) -> int:
    """Return how many products and squares of columns are terms; of those with labels one at most is not 0."""
    kinds = {_kind(term) for term in inner.terms if _degree(term) > 1}
    return len(kinds)


def _kind(term: Term) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    return tuple(column for column, _ in term.labels), term.powers


def _degree(term: Term) -> int:
    return len(term.labels) + sum(power for _, power in term.powers)


def _width(r: int) -> Fraction:
    """Return one over the root of r, rounded up: what is wider counts for less."""
    return Fraction(math.ceil(4096 / math.sqrt(r)), 4096) if r > 1 else UNIT


@lru_cache(maxsize=256)
def _alone(region: ScoreRegion, n: int, q: int) -> float:
    """Return the largest sum of |coordinate / width|^q of one record with n terms."""
    a, e, step = region.points()
    pairs = n * (n + 1) / 2
    steep = q * (4 * pairs + n)
    return float((pairs * a**q + n * e**q).max() + steep * step / 2) * _SAFE


@lru_cache(maxsize=256)
def _between(region: ScoreRegion, n: int, least: int, q: int) -> float:
    """Return a bound on the sum of |change / width|^q over two records with n terms, ``least`` of them in both."""
    a, e, step = region.points()
    e1, e2 = e[:, None], e[None, :]
    a1, a2 = a[:, None], a[None, :]
    pairs = n * (n + 1) / 2
    best = 0.0
    for sign in (-1.0, 1.0):
        if q == 2:
            # the maximum over T of -a a' T^2 - 2 e e' T
            push, pull = sign * e1 * e2, a1 * a2
            t = np.clip(-push / np.maximum(pull, 1e-12), 2 - n, n)
            found = pairs * (a1**2 + a2**2) + n * (e1**2 + e2**2) - pull * (t**2 + 1) - 2 * push * t
            best = max(best, float(found.max()))
            continue
        low_a, high_a, low_e, high_e = (
            np.minimum(a1, a2),
            np.maximum(a1, a2),
            np.minimum(e1, e2),
            np.maximum(e1, e2),
        )
        for c in range(least, n + 1):
            both = c * (c + 1) / 2
            t = np.clip(-sign * low_e / np.maximum(low_a, 1e-12), 2 - c, c)
            found = (a1 + a2) * (pairs - both) + high_a * both - low_a * (t**2 + 1) / 2
            found = found + (e1 + e2) * (n - c) + high_e * c - sign * low_e * t
            best = max(best, float(found.max()))
    # derivatives in |e| and |e'|; of squares they are twice a difference of at most 2
    steep = (4 * pairs + n) if q == 1 else (8 * pairs + 4 * n * n + 4 * n + 4)
    return (best + steep * step) * _SAFE


def _up(value: float) -> Fraction:
    return Fraction(math.ceil(value * _DIGITS), _DIGITS)

r"""How far one record can move the sums of products of a regression's design: certified, and nearly always attained.

**Numbers.** A product of numbers is a monomial m, and m(z) m(z') = m(s) with s_i = z_i z'_i. For x and y of [-1, 1]
(1 - x)(1 + y) >= 0 and (1 + x)(1 - y) >= 0, so |x - y| <= 1 - xy. Hence for two records and any widths

    sum_m |m(z) - m(z')|^q / w_m^q  <=  sum_m (1 - m(s))^q / w_m^q,

with equality at z = (1, ..., 1), z' = s: the joint sensitivity is the maximum of the right side over the cube of s.

**Labels.** Of two records with given labels a product is there in both, in one, or in none. In both it is as above. If
A of equal monomials are in the first record alone and B in the second alone, then by convexity
A |x|^q + B |y|^q <= max(A, B) + min(A, B) |xy|^q. Which labels two records have is enumerated: the first label of a
column adds nothing, so of two labels they are (1, 1), (1, 0) or (0, 1), and of more they are alike or differ. A sign is
a number that is -1 or 1: whether two records have the same one, s = 1 or -1, is enumerated too.

**The maximum.** Columns that enter no interaction are interchangeable: with k of them only S = sum s_j, Q = sum s_j^2,
T = sum |s_j| and R = sum s_j^4 matter. With square weights v = 1 / w_square^q of at least 1/2:

q = 1   -c S + b T - S^2 / 2 - (v - 1/2) Q, concave where no s_j changes its sign, so that those of one sign are equal;
q = 2   -2 c S - S^2 + (e + 1 - 2 v) Q + Q^2 / 2 + (v - 1/2) R, with R <= Q, and S within k - Q of a whole number that
        is even or odd as k is, because 1 - |s| <= 1 - s^2; a maximum over Q alone, by intervals.

Without interactions c, b and e are constants: for numbers alone, all other widths 1, the first would be
k (k + 2 v)^2 / (2 (k + 2 v - 1)), the second (k + 1)^2 for odd k and (k + 1)^2 - 1 for even k, if v <= (k + 2) / 2.
Columns that interact are searched by
branch and bound: a box is dropped if its middle plus its Lipschitz constant times its size is not above the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, product
from math import prod

import numpy as np

from discreet.domain.columns import Labels
from discreet.errors import UsageError
from discreet.models.design import Design, Term

#: The noise on the sum of a number is wider by this factor than that on products: slopes depend on it less.
LINEAR_WIDTH = 1.5
#: Columns of numbers that may interact.
MOST_INTERACTING = 4
# relative room left by the search, and boxes after which it stops with what it has proven
_ROOM, _MOST_BOXES = 2e-3, 300_000
_INTERVALS = 512
# pairs of labels that are enumerated
_MOST_PATTERNS = 20_000
# powers of interacting columns, and a sign
_Monomial = tuple[tuple[tuple[str, int], ...], int]
# what float64 may be wrong by, a thousand times over
_SAFE = 1 + 1e-10


@lru_cache(maxsize=256)
def between(design: Design, square_width: float, q: int) -> float:
    """Return the supremum over two records of the sum of |change / width|^q, rounded up a little."""
    numbers = [c.name for c in design.columns if not isinstance(c, Labels)]
    inside = design.interacting
    if len(inside) > MOST_INTERACTING:
        raise UsageError(
            f"at most {MOST_INTERACTING} columns of numbers may be in products and squares, got {len(inside)}."
        )
    alike = [name for name in numbers if name not in inside]
    found = (
        _Pattern.of(design, codes, signs, alike, _weights(square_width, q))
        for codes in _patterns(design, q)
        for signs in _sign_patterns(design)
    )
    return _SAFE * max(one.supremum(inside, q) for one in found)


@lru_cache(maxsize=256)
def from_nothing(design: Design, square_width: float, q: int) -> float:
    """Return the largest sum of |product / width|^q of one record: every number at a bound, no label the first.

    A product with a sign is as large whichever label it is.
    """
    shown = {c.name: 1 for c in design.columns if isinstance(c, Labels)}
    weights = _weights(square_width, q)
    return _SAFE * sum(
        weights(one) for one in design.products if all(shown[column] == at for column, at in one.labels)
    )


def _weights(square_width: float, q: int) -> Callable[[Term], float]:
    """Return how much the change of a product counts, to the power q."""
    return lambda one: (
        (square_width if one.is_square else LINEAR_WIDTH if one.is_number or one.is_sign else 1.0) ** -q
    )


def _sign_patterns(design: Design) -> Iterator[dict[str, int]]:
    """Yield the products of two records' signs, by column, up to what changes nothing."""
    entangled = {c for t in design.terms if t.n_factors > 1 for c in t.signs}
    groups: dict[str, list[str]] = {}
    for term in design.terms:
        if term.is_sign:
            (name,) = term.signs
            groups.setdefault(name if name in entangled else "", []).append(name)
    choices = [list(combinations_with_replacement((1, -1), len(names))) for names in groups.values()]
    if np.prod([float(len(one)) for one in choices]) > _MOST_PATTERNS:
        raise UsageError("so many columns of labels cannot be released together.", hint="leave some out")
    names = [name for each in groups.values() for name in each]
    for chosen in product(*choices):
        yield dict(zip(names, (sign for each in chosen for sign in each), strict=True))


def _patterns(design: Design, q: int) -> Iterator[dict[str, tuple[int, int]]]:
    """Yield which labels two records may have, up to what changes nothing."""
    entangled = {c for t in design.terms if t.n_factors > 1 for c, _ in t.labels}
    signs = {c for t in design.terms for c in t.signs}
    groups: dict[tuple[str, bool], list[str]] = {}
    for column in design.columns:
        if isinstance(column, Labels) and column.name not in signs:
            own = column.name if column.name in entangled else ""
            groups.setdefault((own, column.n_labels > 2), []).append(column.name)
    choices = [
        list(combinations_with_replacement(_pairs(many=many, q=q), len(names)))
        for (_, many), names in groups.items()
    ]
    if np.prod([float(len(one)) for one in choices]) > _MOST_PATTERNS:
        raise UsageError("so many columns of labels cannot be released together.", hint="leave some out")
    names = [name for each in groups.values() for name in each]
    for chosen in product(*choices):
        yield dict(zip(names, (pair for each in chosen for pair in each), strict=True))


def _pairs(*, many: bool, q: int) -> tuple[tuple[int, int], ...]:
    if not many:
        return (1, 1), (1, 0), (0, 1)
    # in L1 two labels that differ are further apart than two that are alike
    return ((1, 2),) if q == 1 else ((1, 2), (1, 1))


@dataclass(frozen=True)
class _Pattern:
    """Products by monomial, given the labels of two records: how many both have, the first alone, the second alone.

    ``own`` are of interacting columns alone, ``crossed`` are those with one of ``k`` others, for each of them;
    ``weight`` is that of squares. A monomial goes with the product of both records' signs.
    """

    own: Mapping[_Monomial, np.ndarray]
    crossed: Mapping[_Monomial, np.ndarray]
    k: int
    weight: float

    @classmethod
    def of(
        cls,
        design: Design,
        codes: Mapping[str, tuple[int, int]],
        signs: Mapping[str, int],
        alike: list[str],
        weights: Callable[[Term], float],
    ) -> _Pattern:
        own: dict[_Monomial, np.ndarray] = {}
        crossed: dict[_Monomial, np.ndarray] = {}
        for one in design.products:
            there = [all(codes[column][who] == at for column, at in one.labels) for who in (0, 1)]
            if not any(there):
                continue
            added = np.array([all(there), there[0] and not there[1], there[1] and not there[0]], dtype=float)
            added = added * weights(one)
            others, sign = [name for name in one.numbers if name in alike], prod(signs[c] for c in one.signs)
            if not others:
                own[one.powers, sign] = own.get((one.powers, sign), 0) + added
            elif others == [alike[0]] and dict(one.powers)[alike[0]] == 1:
                rest = tuple(pair for pair in one.powers if pair[0] != alike[0])
                crossed[rest, sign] = crossed.get((rest, sign), 0) + added
        square = weights(Term(powers=((alike[0], 2),))) if alike else 1.0
        return cls(own, crossed, len(alike), square)

    def supremum(self, inside: tuple[str, ...], q: int) -> float:
        """Return the largest sum of |change|^q."""
        if not inside:
            return float(self._at(np.zeros((1, 0)), (), q)[0])
        # the derivative of |1 - m|^q, or of |m|^q, is at most q 2^(q-1) times the degree
        steep = np.zeros(len(inside))
        for table, times in ((self.own, 1), (self.crossed, self.k)):
            for (powers, _), added in table.items():
                for column, power in powers:
                    steep[inside.index(column)] += times * power * q * 2 ** (q - 1) * added.sum()
        return _searched(lambda s: self._at(s, inside, q), steep)

    def _at(self, s: np.ndarray, inside: tuple[str, ...], q: int) -> np.ndarray:
        """Return the largest sum of |change|^q over the other columns, for rows of s of the interacting ones."""
        total = np.zeros(len(s))
        for monomial, (both, first, second) in self.own.items():
            m = _monomial(monomial, s, inside)
            total += both * (1 - m) ** q + max(first, second) + min(first, second) * np.abs(m) ** q
        if not self.k:
            return total
        k, v = self.k, self.weight
        c, b, e = np.zeros(len(s)), np.zeros(len(s)), np.zeros(len(s))
        constant = k * (k - 1) / 2 + k * v
        for monomial, (both, first, second) in self.crossed.items():
            m = _monomial(monomial, s, inside)
            constant += k * (both + max(first, second))
            c += both * m
            b += min(first, second) * np.abs(m)
            e += (both + min(first, second)) * m**2
        return total + constant + (_linear(np.abs(c), b, k, v) if q == 1 else _quadratic(np.abs(c), e, k, v))


def _monomial(monomial: _Monomial, s: np.ndarray, inside: tuple[str, ...]) -> np.ndarray:
    powers, sign = monomial
    value = np.full(len(s), float(sign))
    for column, power in powers:
        value = value * s[:, inside.index(column)] ** power
    return value


def _linear(c: np.ndarray, b: np.ndarray, k: int, v: float) -> np.ndarray:
    """Return the maximum of c S + b T - S^2 / 2 - (v - 1/2) Q: x is s where it is positive, -y where it is not."""
    best = np.zeros(len(c))
    v = 2 * v - 1
    for up in range(k // 2, k + 1):
        down = k - up

        def alone(push: np.ndarray, n: int, against: np.ndarray) -> np.ndarray:
            # the best on an edge, given what the others add to S
            return np.clip((push - against) / (n + v), 0.0, 1.0) if n else np.zeros(len(c))

        ups = [alone(c + b, up, y * np.full(len(c), -down)) for y in (0.0, 1.0)]
        downs = [alone(b - c, down, x * np.full(len(c), -up)) for x in (0.0, 1.0)]
        edges = [(ups[0], 0 * c), (ups[1], 0 * c + 1), (0 * c, downs[0]), (0 * c + 1, downs[1])]
        if v > 0:
            # S where both slopes vanish
            level = (up * (c + b) - down * (b - c)) / (v + up + down)
            edges.append((np.clip((c + b - level) / v, 0, 1), np.clip((b - c + level) / v, 0, 1)))
        for x, y in edges:
            s = up * x - down * y
            found = c * s + b * (up * x + down * y) - s**2 / 2 - v / 2 * (up * x**2 + down * y**2)
            best = np.maximum(best, found)
    return best


def _quadratic(c: np.ndarray, e: np.ndarray, k: int, v: float) -> np.ndarray:
    """Return a bound on -2 c S - S^2 + (e + 1/2 - v) Q + Q^2 / 2: exact at the ends, where it is largest."""
    ends = np.linspace(0.0, k, _INTERVALS + 1)
    low, high = ends[:-1], ends[1:]
    slope = (e + 0.5 - v)[:, None]
    # convex in Q
    straight = np.maximum(slope * low + low**2 / 2, slope * high + high**2 / 2)
    reach = np.minimum(np.sqrt(k * high), k)
    short = np.maximum(c[:, None] - reach, 0.0)
    # -S has the parity of k but for k - Q
    off = c % 2.0 if k % 2 == 0 else (c + 1) % 2.0
    off = np.where(c > k, 0.0, np.minimum(off, 2.0 - off))
    gap = np.maximum(short, np.maximum(off[:, None] - (k - low), 0.0))
    inner = (straight + c[:, None] ** 2 - gap**2).max(axis=1)
    # at Q = k alone, where every s is -1 or 1; the last interval ends there, and its bound is a little above
    return np.maximum(inner, 0.0)


def _searched(value: Callable[[np.ndarray], np.ndarray], steep: np.ndarray) -> float:
    """Return an upper bound on the maximum over the cube, at most ``_ROOM`` above it unless there are many boxes."""
    r = len(steep)
    corners = np.array(list(product((-1.0, 0.0, 1.0), repeat=r)))
    best = float(value(corners).max())
    half = 0.25
    boxes = np.array(list(product(np.arange(-1 + half, 1, 2 * half), repeat=r)))
    shifts = np.array(list(product((-0.5, 0.5), repeat=r)))
    while True:
        found = value(boxes)
        best = max(best, float(found.max()))
        bound = found + half * steep.sum()
        kept = bound > best * (1 + _ROOM)
        if not kept.any():
            return best * (1 + _ROOM)
        if kept.sum() * len(shifts) > _MOST_BOXES:
            return float(bound.max())
        boxes = (boxes[kept][:, None, :] + half * shifts).reshape(-1, r)
        half /= 2

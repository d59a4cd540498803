r"""A norm in which one record moves the sums of products of a regression by at most 1, tighter than the L1 norm.

Laplace noise is scaled to how far a record moves the sums in L1. But a record cannot move every sum at once, nor any
square by more than 1: the changes fill a small part of that ball. Linear forms v bound them,

    N(x) = max(sum_j |x_j| / (w_j D1),  max_v <v, x> / h(v)),    h(v) = sup over neighbors of <v, change>,

a maximum of norms, at most 1 on every change whatever the forms are. The forms below were chosen so that the unit ball
is nearly the convex hull of the changes (``scripts/make_norm_forms.py``): a ball that is too large costs noise, never
privacy, because h is computed here, exactly.

A form is written for columns of numbers s_1, ..., s_p in [-1, 1]: its coefficients are those of s_1, ..., s_p, then of
s_i s_j, i <= j, row by row. It stands for its orbit: what swapping columns and changing their signs makes of it. A
column of two labels is a number, s = 2 b - 1, whose square is always 1.

**The supremum.** Given labels, <v, products> is a quadratic function of the numbers on a cube. Its extremes are where
the slope vanishes within the cube or within one of its faces, corners included; all faces are enumerated, in rational
arithmetic. A face on which the curvature is singular has its extremes at its own edges too, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, permutations, product
from math import prod

import numpy as np

from discreet.domain.columns import Labels
from discreet.domain.declarations import Neighbors
from discreet.models.design import ONE, Design, Term
from discreet.models.product_sensitivity import between, from_nothing

# so many columns must all be numbers: of labels too few proposals would be kept
_ALL_NUMBERS = 4
# forms of one norm, and their largest coefficient
_MOST_FORMS, _LARGEST = 16, 10**4

Form = tuple[int, ...]
#: The linear forms by the number of columns, the target among them, and the relation. Of more columns too few proposals
#: of :mod:`discreet.samplers.thinned` would be kept, and of four so are those under ``add_remove``.
FORMS: dict[tuple[int, Neighbors], tuple[Form, ...]] = {
    (2, "replace"): (
        (1, 1, 4, -1, 0),
        (3, 0, 2, 0, 0),
        (0, 0, 2, 3, -2),
        (0, 0, 1, 0, 0),
        (3, 3, 4, -3, 3),
        (0, 0, 2, 3, 1),
    ),
    (2, "add_remove"): (
        (1, 1, 1, -1, 0),
        (0, 0, 2, 3, -2),
        (1, 0, 0, 0, 0),
        (34, 9, 34, 17, -60),
        (0, 0, 2, 1, -2),
        (0, 0, 1, 0, 0),
    ),
    (3, "replace"): (
        (3, 2, 1, 4, 0, -3, 0, 2, 0),
        (0, 0, 0, 1, 0, 0, 0, 0, 0),
        (0, 0, 0, 2, 3, 0, -2, 0, 0),
        (3, 0, 0, 2, 0, 0, 0, 0, 0),
        (3, 3, 0, 4, -3, 0, 3, 0, 0),
        (0, 0, 0, 2, 3, 0, 1, 0, 0),
        (7, 7, 0, 2, 3, 10, 0, -10, 12),
        (1, 1, 0, 0, 0, 1, 0, -1, 0),
    ),
    (3, "add_remove"): (
        (60, 40, 20, 60, -14, -55, -18, 54, -36),
        (0, 0, 0, 2, 3, 0, -2, 0, 0),
        (1, 1, 0, 1, -1, 0, 0, 0, 0),
        (1, 1, 0, 0, 0, 1, 0, -1, 0),
        (1, 0, 0, 0, 0, 0, 0, 0, 0),
        (37, 26, 22, 60, -22, -30, 0, 37, -60),
        (0, 0, 0, 1, 1, 1, 0, -1, 0),
        (0, 0, 0, 2, 1, 0, -2, 0, 0),
    ),
    (4, "replace"): (
        (10, 7, 3, 0, 12, 0, -10, 0, 0, 7, 0, 2, 0, 0),
        (0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (0, 0, 0, 0, 2, 3, 0, 0, -2, 0, 0, 0, 0, 0),
        (1, 1, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 0),
    ),
}


@dataclass(frozen=True)
class ProductNorm:
    """The linear forms on the released sums, forms × products, and the supremum of each over two neighbors."""

    forms: np.ndarray
    reaches: tuple[Fraction, ...]

    @property
    def scaled(self) -> np.ndarray:
        """The forms divided by their suprema, in floats."""
        return self.forms / np.array([float(reach) for reach in self.reaches])[:, None]


def takes_norm(design: Design, neighbors: Neighbors) -> bool:
    """Tell whether there is a norm for a design: few columns of numbers or of two labels, and no products as terms."""
    p, labels = len(design.columns), [column for column in design.columns if isinstance(column, Labels)]
    two = all(column.n_labels == 2 for column in labels) and (p < _ALL_NUMBERS or not labels)
    return two and len(design.terms) == p and (p, neighbors) in FORMS


def l1_reach(design: Design, square_width: float, neighbors: Neighbors) -> Fraction:
    """Return how far neighbors are apart in L1, in widths, at most: the usable count apart."""
    alone = Fraction(from_nothing(design, square_width, 1))
    return alone if neighbors == "add_remove" else max(Fraction(between(design, square_width, 1)), alone)


def check_forms(design: Design, neighbors: Neighbors, forms: Sequence[Sequence[int]]) -> None:
    """Raise ValueError unless these are forms of the design's columns."""
    p = len(design.columns)
    fits = all(
        len(form) == p + p * (p + 1) // 2
        and any(form)
        and all(type(v) is int and abs(v) <= _LARGEST for v in form)
        for form in forms
    )
    if not takes_norm(design, neighbors) or not fits or not 0 < len(forms) <= _MOST_FORMS:
        raise ValueError("its norm does not fit its model")


@lru_cache(maxsize=64)
def product_norm(design: Design, neighbors: Neighbors, forms: tuple[Form, ...]) -> ProductNorm:
    """Return the norm of a design for these forms and all their orbits."""
    coded = _coded(design)
    rows: dict[Form, Fraction] = {}
    for form in forms:
        known: Fraction | None = None
        for moved in orbit(form, len(design.columns)):
            row = tuple(int(v) for v in coded @ np.array(moved))
            if not any(row) or row in rows:
                continue
            # columns of numbers can be swapped and reflected without changing what records there are
            if known is None or design.terms != tuple(Term(powers=t.powers) for t in design.terms):
                known = _reach(design, row, neighbors)
            rows[row] = rows[tuple(-v for v in row)] = known
    return ProductNorm(np.array(list(rows), dtype=np.int64), tuple(rows.values()))


def orbit(form: Form, p: int) -> Iterator[Form]:
    """Yield the forms that swapping columns, and changing their signs, makes of one."""
    pairs = list(combinations_with_replacement(range(p), 2))
    place = {pair: p + at for at, pair in enumerate(pairs)}
    for order in permutations(range(p)):
        for signs in product((1, -1), repeat=p):
            moved = [signs[i] * form[order[i]] for i in range(p)]
            for i, j in pairs:
                a, b = sorted((order[i], order[j]))
                moved.append(signs[i] * signs[j] * form[place[a, b]])
            yield tuple(moved)


def _coded(design: Design) -> np.ndarray:
    """Return the coefficients of the released products in each s_i and s_i s_j, products × (p + p (p + 1) / 2).

    Constants are left out: they are the same for every record.
    """
    p = len(design.terms)
    places = {term: at for at, term in enumerate(design.products)}
    pairs = list(combinations_with_replacement(range(p), 2))
    out = np.zeros((len(places), p + len(pairs)), dtype=np.int64)
    # s = slope * term + shift
    slope = [2 if term.labels else 1 for term in design.terms]
    shift = [-1 if term.labels else 0 for term in design.terms]
    for i, term in enumerate(design.terms):
        out[places[term], i] = slope[i]
    for at, (i, j) in enumerate(pairs):
        both = design.terms[i].times(design.terms[j])
        # the square of two labels is constant
        if both is None or both == ONE or (i == j and slope[i] == 2):
            continue
        out[places[both], p + at] += slope[i] * slope[j]
        out[places[design.terms[i]], p + at] += slope[i] * shift[j]
        out[places[design.terms[j]], p + at] += slope[j] * shift[i]
    return out


def _reach(design: Design, row: Form, neighbors: Neighbors) -> Fraction:
    """Return the supremum of a form's change: between two records, or between one and a record that does not count."""
    # a record that does not count adds nothing
    low = high = Fraction(0)
    names = [term.numbers[0] for term in design.terms if term.numbers]
    labelled = [term.labels[0] for term in design.terms if term.labels]
    signed = [term.signs[0] for term in design.terms if term.signs]
    for shown in product((False, True), repeat=len(labelled) + len(signed)):
        there = {label for label, is_there in zip(labelled, shown, strict=False) if is_there}
        signs = dict(zip(signed, shown[len(labelled) :], strict=True))
        constant, slope = 0, [0] * len(names)
        curve = [[0] * len(names) for _ in names]
        for value, term in zip(row, design.products, strict=True):
            if not set(term.labels) <= there:
                continue
            value = value * prod(1 if signs[column] else -1 for column in term.signs)
            at = [names.index(column) for column, power in term.powers for _ in range(power)]
            if not at:
                constant += value
            elif len(at) == 1:
                slope[at[0]] += value
            else:
                # the matrix of second derivatives
                curve[at[0]][at[1]] += value
                curve[at[1]][at[0]] += value
        least, most = _extremes(slope, curve)
        low, high = min(low, constant + least), max(high, constant + most)
    return high - low if neighbors == "replace" else max(high, -low)


def _extremes(slope: Sequence[int], curve: Sequence[Sequence[int]]) -> tuple[Fraction, Fraction]:
    """Return the least and the largest value of slope · z + z · curve z / 2 on the cube [-1, 1]^k, exactly."""
    k = len(slope)
    found: list[Fraction] = []
    for n_free in range(k + 1):
        for free in combinations(range(k), n_free):
            fixed = [i for i in range(k) if i not in free]
            for corner in product((-1, 1), repeat=len(fixed)):
                z = [Fraction(0)] * k
                for i, value in zip(fixed, corner, strict=True):
                    z[i] = Fraction(value)
                push = [-slope[i] - sum((curve[i][j] * z[j] for j in fixed), Fraction(0)) for i in free]
                inside = _solved([[Fraction(curve[i][j]) for j in free] for i in free], push)
                if inside is None or any(abs(value) > 1 for value in inside):
                    continue
                for i, value in zip(free, inside, strict=True):
                    z[i] = value
                squares = sum((curve[i][j] * z[i] * z[j] for i in range(k) for j in range(k)), Fraction(0))
                found.append(sum((s * v for s, v in zip(slope, z, strict=True)), squares / 2))
    return min(found), max(found)


def _solved(matrix: list[list[Fraction]], right: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve equations exactly; None if they are singular."""
    rows = [[*row, Fraction(value)] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for at in range(size):
        pivot = next((i for i in range(at, size) if rows[i][at]), None)
        if pivot is None:
            return None
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for i in range(size):
            if i != at and rows[i][at]:
                factor = rows[i][at] / rows[at][at]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[at], strict=True)]
    return [rows[i][-1] / rows[i][i] for i in range(size)]

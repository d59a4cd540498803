r"""The released vector of a regression: the sum of every distinct product of two terms of its design.

A number is clipped, mapped to [-1, 1] and rounded to a multiple of 2^-12, an indicator is 0 or 1, so that a product of
two of them is a multiple of 2^-24 and sums are exact. The records are then points of the domain themselves, and the
sensitivity of :mod:`~discreet.models.product_sensitivity` holds as it is. A product of two numbers that is a *term* is
rounded to 2^-12 again: it is off by at most half a step, a product with it by a little more than one, and the change of
such a coordinate by a little more than two, which are added.

Widths say how the noise is shared, for least error of the slopes of usual tables: sums of numbers by themselves have
more of it than products. Squares of k numbers may have any width down to about sqrt(2 / (k + 2)) in L2 and cost
nothing; in L1 they have 7/5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from discreet.domain.columns import Numeric
from discreet.domain.declarations import Domain, Neighbors
from discreet.models.design import Design, Term
from discreet.models.layout import FINE, UNIT, Layout
from discreet.models.product_sensitivity import LINEAR_WIDTH, between, from_nothing
from discreet.rational import float_down, sqrt_up

#: Step of the grid on which mapped numbers are rounded before they are multiplied.
STEP = Fraction(1, 2**12)
#: The noise of the usable count is wider by this factor, so that counting is nearly free.
USABLE_WIDTH = Fraction(2)
_USABLE = "usable"
# sensitivities are rounded up to a multiple of this
_DIGITS = 2**16


def suited_width(design: Design, norm: Literal["l1", "l2"]) -> Fraction:
    """Return the width of squares that suits Laplace (L1) or Gaussian (L2) noise."""
    k = sum(isinstance(column, Numeric) for column in design.columns)
    return (
        Fraction(7, 5) if norm == "l1" or not k else Fraction(math.ceil(1024 * math.sqrt(2 / (k + 2))), 1024)
    )


def counts_usable(domain: Domain, neighbors: Neighbors) -> bool:
    """Tell whether the number of usable records is a coordinate."""
    return neighbors == "add_remove" or domain.missing == "count"


def product_layout(design: Design, square_width: Fraction, domain: Domain, neighbors: Neighbors) -> Layout:
    """Return the released vector of a design, and its joint sensitivity."""
    counted = counts_usable(domain, neighbors)
    linear = Fraction(LINEAR_WIDTH)
    widths = [
        square_width if one.is_square else linear if one.is_number or one.is_sign else UNIT
        for one in design.products
    ]
    # a float below the width makes the sensitivity larger, never smaller
    lower = float_down(square_width)

    def powered(q: int) -> Fraction:
        alone = Fraction(from_nothing(design, lower, q)) + (1 / USABLE_WIDTH**q if counted else 0)
        if neighbors == "add_remove":
            return _up(alone)
        pair = Fraction(between(design, lower, q))
        return _up(max(pair, alone) if counted else pair)

    rounded = [
        1 / width for one, width in zip(design.products, widths, strict=True) if _is_rounded(one, design)
    ]
    error = 2 * STEP * (1 + STEP)
    numbers = [column for column in design.columns if isinstance(column, Numeric)]
    return Layout(
        # a sum of signs is no count
        names=(
            *(one.name(design.by_name) + " ±" * bool(one.signs) for one in design.products),
            *([_USABLE] if counted else []),
        ),
        rows=(),
        grid=(*(FINE for _ in widths), *([UNIT] if counted else [])),
        width=(*widths, *([USABLE_WIDTH] if counted else [])),
        shift=tuple((c.low + c.high) / 2 for c in numbers),
        half=tuple((c.high - c.low) / 2 for c in numbers),
        l1_sensitivity=powered(1) + error * sum(rounded, Fraction(0)),
        l2_sensitivity=sqrt_up(powered(2)) + error * sqrt_up(sum((r * r for r in rounded), Fraction(0))),
    )


def _is_rounded(product: Term, design: Design) -> bool:
    """Tell whether a product is computed from a term that is rounded: a product or a square of numbers."""
    i, j = design.pairs[design.products.index(product)]
    return any(at > 0 and is_product(design.terms[at - 1]) for at in (i, j))


def is_product(term: Term) -> bool:
    """Tell whether a term is a product of two numbers, or a square."""
    return sum(power for _, power in term.powers) > 1


def coordinate_ranges(
    design: Design, domain: Domain, neighbors: Neighbors
) -> Sequence[tuple[Fraction, Fraction]]:
    """Return what one record can add to each coordinate, and 0."""
    room = STEP
    ranges = [
        (-UNIT - room if one.signs or any(power % 2 for _, power in one.powers) else -room, UNIT + room)
        for one in design.products
    ]
    return [*ranges, *([(Fraction(0), UNIT)] if counts_usable(domain, neighbors) else [])]


def _up(value: Fraction) -> Fraction:
    return Fraction(math.ceil(value * _DIGITS), _DIGITS)

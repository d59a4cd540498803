"""Formulas such as ``"bp ~ age + C(smoker)"``, parsed by formulaic, as a regression's target, features and terms.

The formula says which columns there are and how they are multiplied. What they hold is declared by bounds, which
``C(...)`` must not contradict. Nothing in a formula is ever evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Real
from typing import Any

from discreet.arguments import text as read_text
from discreet.errors import UsageError
from discreet.extras import needed_for

_HINT = 'for example "bp ~ age + C(smoker) + age:smoker + I(age ** 2)"'
_LONGEST = 10_000
_LABELS = re.compile(r"C\((?P<name>[^(),]+)\)")
# what is computed, or quoted, has no operators of the formula
_ATOM = re.compile(r"I\([^()]*\)|\{[^{}]*\}|`[^`]*`")
_POWER = re.compile(r"(?:\bC\([^()]*\)|[\w.]+)\s*(?:\*\*|\^)")
_SQUARE = re.compile(r"(?:I\()?(?P<name>[^()*,]+?)\s*\*\*\s*2\)?")


def read_formula(formula: Any, bounds: Any) -> tuple[str, list[str]]:
    """Return the target and the features, products and squares among them; ``bounds`` say what columns hold."""
    written = read_text(formula, "formula")
    if len(written) > _LONGEST:
        raise UsageError(f"a formula has at most {_LONGEST} characters.", hint=_HINT)
    if _POWER.search(_ATOM.sub("_", written)) is not None:
        # ** crosses columns, and one that is crossed with itself is itself
        raise UsageError("a formula raises a single column to a power.", hint="write a square as I(age ** 2)")
    with needed_for("a formula"):
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    try:
        parsed: Any = Formula(written)  # pyright: ignore[reportAbstractUsage]
    except (FormulaicError, SyntaxError, RecursionError):
        raise UsageError(f"{written!r:.80} is no formula.", hint=_HINT) from None
    left, right = getattr(parsed, "lhs", None), getattr(parsed, "rhs", None)
    if left is None or right is None or len(list(left)) != 1:
        raise UsageError(f"the formula {written!r:.80} has no single target.", hint=_HINT)
    products = [[_factor(factor.expr) for factor in term.factors] for term in right]
    _check_labels([factor.expr for term in (*left, *right) for factor in term.factors], bounds)
    if ["1"] not in products:
        raise UsageError("a regression has an intercept: leave out 0 and -1 from the formula.", hint=_HINT)
    features = [one for factors in products for one in factors if len(factors) == 1 and one != "1"]
    mains = [one for one in features if "**" not in one]
    # a column that stands in products alone has a coefficient of its own too
    for factors in products:
        for one in factors:
            name = one.partition(" **")[0]
            if name != "1" and name not in mains:
                mains.append(name)
    terms = [one for one in features if "**" in one]
    terms += [" * ".join(factors) for factors in products if len(factors) > 1]
    (target,) = (_factor(factor.expr) for factor in next(iter(left)).factors)
    return target, [*mains, *terms]


def _check_labels(expressions: list[str], bounds: Any) -> None:
    """Raise where ``C(...)`` says that a column holds labels and its bounds say that it holds numbers."""
    for name in (found["name"].strip() for one in expressions if (found := _LABELS.fullmatch(one))):
        declared = bounds.get(name) if isinstance(bounds, Mapping) else None
        if isinstance(declared, list | tuple) and declared and all(isinstance(end, Real) for end in declared):
            raise UsageError(
                f"C({name:.60}) is a column of labels, and bounds declare numbers.",
                hint=f'leave out C(), or declare labels: bounds={{"{name:.60}": ["4", "6", "8"]}}',
            )


def _factor(expression: str) -> str:
    """Return the column of a factor, or its square; whether it holds labels is declared elsewhere."""
    if (labels := _LABELS.fullmatch(expression)) is not None:
        return labels["name"].strip()
    if (square := _SQUARE.fullmatch(expression)) is not None:
        return f"{square['name'].strip()} ** 2"
    if re.search(r"[()*{}\[\]^]", expression):
        raise UsageError(
            f"the formula computes {expression!r:.60}; a regression takes columns, products and squares.",
            hint=_HINT,
        )
    return expression

"""Amounts in words, rounded against whoever reads them: what is spent up, what is left down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.ledger.filters import Chargeable
from discreet.privacy import MetricDP
from discreet.rational import plain, text

_DIGITS = 6


def in_words(amounts: Mapping[str, Fraction], *, down: bool = False) -> str:
    """Print amounts by name, exactly if they are short decimals."""
    return ", ".join(f"{name} = {amount(value, down=down)}" for name, value in amounts.items())


def amount(value: Fraction, *, down: bool = False) -> str:
    """Print one amount as a short decimal: exactly if it is one, else rounded up, or ``down``."""
    shown = plain(value)
    if shown != text(value) or value.denominator == 1:
        return shown
    step = Fraction(10) ** (_digits_before(value) - _DIGITS)
    steps = value / step
    return plain((steps // 1 if down else -(-steps // 1)) * step)


def _digits_before(value: Fraction) -> int:
    """Return how many digits stand before the decimal point; negative for zeros behind it."""
    power = len(str(value.numerator)) - len(str(value.denominator))
    return power + (value >= Fraction(10) ** power)


def asked_of(parts: Sequence[Chargeable]) -> str:
    """Print what a charge asks for: the amounts of each kind added up."""
    sums: dict[str, dict[str, Fraction]] = {}
    for part in parts:
        per_unit = isinstance(part, MetricDP)
        kind = sums.setdefault(part.metric.name if per_unit else part.kind, {})
        for name, value in {"epsilon per unit": part.epsilon}.items() if per_unit else part.budgets().items():
            kind[name] = kind.get(name, Fraction(0)) + value
    return " and ".join(in_words(kind) for kind in sums.values())

"""Probabilities as their owner wrote them, made exact."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from discreet.errors import UsageError
from discreet.rational import Number, exact, is_short, plain

# Floats that were divided by their sum miss 1 by some units of the last digit; a slip of the pen misses it by more.
_SLACK = Fraction(1, 10**9)


def read_distribution(values: Iterable[Number], what: str) -> tuple[Fraction, ...]:
    """Return probabilities that sum to exactly 1.

    A float means the decimal that it prints as, so 0.1, 0.2 and 0.7 are tenths and sum to 1. Where the decimals sum to
    something else that is within 1e-9 of 1, as those of 1/3, 1/3 and 1/3 do, each is divided by the sum, exactly.

    Parameters
    ----------
    values
        Floats, integers, fractions, decimals, or texts such as ``"1/3"``.
    what
        Whose probabilities these are, for error messages.
    """
    read = tuple(_probability(value, what) for value in values)
    if any(value < 0 for value in read):
        raise UsageError(f"a probability of {what} is negative.")
    total = sum(read, Fraction(0))
    if abs(total - 1) > _SLACK:
        raise UsageError(
            f"the probabilities of {what} add up to {plain(Fraction(f'{float(total):.6g}'))}, not to 1.",
            hint='write what has no short decimal as a fraction: "1/3"',
        )
    whole = read if total == 1 else tuple(value / total for value in read)
    if not all(map(is_short, whole)):
        raise UsageError(
            f"the probabilities of {what} take too many digits.",
            hint="round the smallest of them, or make it 0",
        )
    return whole


def _probability(value: Number, what: str) -> Fraction:
    try:
        return exact(value, "p")
    except UsageError as problem:
        reason = problem.message.removeprefix("p ").replace("got p=", "got ")
        raise UsageError(f"a probability of {what} {reason}", hint=problem.hint) from None


def smoothed(counts: Iterable[int], smoothing: Number) -> tuple[Fraction, ...]:
    """Return (count + smoothing) / (sum of all of these): the mean under a symmetric Dirichlet prior."""
    added = exact(smoothing, "smoothing")
    if added < 0:
        raise UsageError(f"smoothing must be 0 or more, got smoothing={smoothing}.")
    raised = [Fraction(count) + added for count in counts]
    total = sum(raised, Fraction(0))
    if not total:
        raise UsageError("a profile without observations needs smoothing.", hint="smoothing=1 is usual")
    return tuple(value / total for value in raised)

"""What users write down as profiles and edges, made into names, rows and pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from discreet.arguments import listed as read_list
from discreet.errors import UsageError
from discreet.names import check_name
from discreet.rational import Number, exact, is_short, plain

#: The name of a profile or of a category.
Name = str | int
#: Probabilities in the order of the categories or by category; one number is a Bernoulli probability of 1.
Distribution = Number | Sequence[Number] | np.ndarray | Mapping[Any, Number]
#: Pairs of names, or all pairs, or each with the next.
Edges = Literal["complete", "chain"] | Iterable[tuple[Any, Any]]

BERNOULLI: tuple[Name, ...] = (0, 1)
_LARGEST_NAME = 2**63 - 1
# Floats that were divided by their sum miss 1 by some units of the last digit; a slip of the pen misses it by more.
_SLACK = Fraction(1, 10**9)


def read_names(given: Iterable[Any], what: str) -> tuple[Name, ...]:
    """Return names that are texts or integers and differ also as texts, since files and tables hold texts."""
    names: list[Name] = []
    for name in given:
        own = name.item() if isinstance(name, np.generic) else name
        if isinstance(own, bool) or not isinstance(own, str | int) or own == "":
            raise UsageError(f"the name of a {what} must be a text or a whole number, got {name!r:.40}.")
        if isinstance(own, str):
            check_name(own, f"the name of a {what}")
        elif abs(own) > _LARGEST_NAME:
            raise UsageError(f"the name of a {what} is a number beyond 64 bits.")
        names.append(own)
    if len({str(name) for name in names}) != len(names):
        raise UsageError(f"two {'categories' if what == 'category' else what + 's'} have the same name.")
    return tuple(names)


def read_categories(profiles: Mapping[Any, Distribution], given: tuple[Any, ...] | None) -> tuple[Name, ...]:
    """Return the categories that the distributions share."""
    first = next(iter(profiles.values()))
    if given is None:
        if isinstance(first, Mapping):
            given = tuple(first)
        elif isinstance(first, str) or not hasattr(first, "__len__"):  # pyright: ignore[reportArgumentType]
            given = BERNOULLI
        else:
            given = tuple(range(len(read_list(first, "a profile", "a list of probabilities"))))
    if len(given) < 2:
        raise UsageError("there must be at least two categories.")
    return read_names(given, "category")


def ordered(given: Distribution, labels: tuple[Name, ...], name: Name) -> list[Number]:
    """Return the probabilities in the order of the categories."""
    if isinstance(given, Mapping):
        if set(given) != set(labels):
            raise UsageError(
                f"profile {name!r} has other categories than the graph.",
                hint="give every category, with 0 if need be",
            )
        return [given[label] for label in labels]
    if isinstance(given, str) or np.ndim(given) == 0:  # pyright: ignore[reportArgumentType]
        if len(labels) != 2:
            raise UsageError(f"profile {name!r} needs {len(labels)} probabilities, got one.")
        p = exact(given, f"the probability of profile {name!r}")  # pyright: ignore[reportArgumentType]
        if not 0 <= p <= 1:
            raise UsageError(f"the probability of profile {name!r} must lie in [0, 1].")
        return [1 - p, p]
    values = list(given)  # pyright: ignore[reportArgumentType]
    if len(values) != len(labels):
        raise UsageError(f"profile {name!r} has {len(values)} probabilities for {len(labels)} categories.")
    return values


def read_edges(names: tuple[Name, ...], given: Edges) -> tuple[tuple[int, int], ...]:
    """Return edges as pairs of positions."""
    if isinstance(given, str):
        if given not in ("complete", "chain"):
            raise UsageError(f"edges must be pairs of names, 'complete' or 'chain', got {given!r:.40}.")
        every = range(len(names))
        return tuple(combinations(every, 2) if given == "complete" else pairwise(every))
    position = {name: i for i, name in enumerate(names)}
    found: dict[tuple[int, int], None] = {}
    for edge in read_list(given, "edges", "pairs of names, 'complete' or 'chain'"):
        try:
            a, b = edge
            i, j = position[a], position[b]
        except KeyError as unknown:
            raise UsageError(f"an edge names {unknown.args[0]!r:.40}, which is no profile.") from None
        except Exception:  # whatever a caller's object raises
            raise UsageError("every edge must be a pair of names.") from None
        if i == j:
            raise UsageError(f"an edge joins profile {a!r:.40} with itself.")
        found[min(i, j), max(i, j)] = None
    return tuple(found)


def listed(names: Sequence[Name]) -> str:
    """List names that are public, as far as a line holds them."""
    shown = ", ".join(map(str, names[:8]))
    return f"choose from {shown}" + (" …" if len(names) > 8 else "")


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

"""What a mechanism gave out, as a table of numbers: one line for each run, one column for each number in an output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any
from zlib import crc32

import numpy as np

from discreet.artifact import Release, Samples, Statistics
from discreet.errors import UsageError

# numbers of one output; more would not tell more
_MOST_NUMBERS = 5000
_DEEPEST = 8


@dataclass(frozen=True)
class Outputs:
    """Outputs under the two tables, runs × columns; NaN where an output has no such number.

    ``is_label`` says which columns are codes of texts, whose order means nothing.
    """

    names: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray
    is_label: tuple[bool, ...]

    def half(self, start: float, stop: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the runs of both tables from one share of them to another."""
        first, second = (slice(round(start * len(one)), round(stop * len(one))) for one in self.sides)
        return self.first[first], self.second[second]

    @property
    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Both tables' runs."""
        return self.first, self.second

    def column(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return one number under both tables; NaN throughout if no output has it."""
        if name in self.names:
            at = self.names.index(name)
            return self.first[:, at], self.second[:, at]
        return np.full(len(self.first), np.nan), np.full(len(self.second), np.nan)

    @property
    def deterministic(self) -> bool:
        """Whether every run of a table gave the same, and the two tables did not."""
        one, other = self.sides
        alike = all(len(side) and _same(side, side[0]) for side in self.sides)
        return alike and not _same(one[0], other[0])

    @property
    def constant(self) -> bool:
        """Whether all runs of both tables gave the same."""
        return all(len(side) and _same(side, self.first[0]) for side in self.sides)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.all((one == other) | (np.isnan(one) & np.isnan(other))))


def tabulated(first: Sequence[Any], second: Sequence[Any]) -> Outputs:
    """Return the outputs under two tables as numbers, with the same columns for both."""
    plain = _as_matrix(first), _as_matrix(second)
    if plain[0] is not None and plain[1] is not None and plain[0].shape[1] == plain[1].shape[1]:
        width = plain[0].shape[1]
        names = tuple(str(at) for at in range(width)) if width > 1 else ("",)
        return Outputs(names, plain[0], plain[1], (False,) * width)
    flat = [[dict(_flat(output)) for output in side] for side in (first, second)]
    names = tuple(dict.fromkeys(name for side in flat for one in side for name in one))
    if len(names) > _MOST_NUMBERS:
        raise UsageError(f"an audit takes outputs of at most {_MOST_NUMBERS:,} numbers.")
    labels: set[int] = set()
    made = [np.full((len(side), len(names)), np.nan) for side in flat]
    for array, side in zip(made, flat, strict=True):
        for line, one in zip(array, side, strict=True):
            for at, name in enumerate(names):
                value = one.get(name)
                if isinstance(value, str):
                    # the same number for the same text in every table of outputs
                    value = crc32(value.encode(errors="surrogatepass"))
                    labels.add(at)
                if value is not None:
                    line[at] = value
    return Outputs(names, made[0], made[1], tuple(at in labels for at in range(len(names))))


def _as_matrix(outputs: Sequence[Any]) -> np.ndarray | None:
    """Return outputs that are all numbers, or vectors of one length, the fast way; None if they are not."""
    try:
        if not all(type(one) in (float, int, tuple, list, np.ndarray, np.float64) for one in outputs[:100]):
            return None
        array = np.array(outputs, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
    if array.ndim == 1:
        array = array[:, None]
    return array if array.ndim == 2 and array.shape[1] <= _MOST_NUMBERS else None


def released(made: Any) -> Any:
    """Return the numbers and labels that a release, or a part of one, makes public and that depend on rows."""
    match made:
        case Statistics():
            return made.values
        case Samples():
            return {**made.draws, **{f"noisy {name}": numbers for name, numbers in made.noisy.items()}}
        case Release():
            parts: dict[str, Any] = {"": released(made.statistics or made.samples)}
            if made.bounds_choice is not None:
                parts["bounds"] = [[float(end) for end in pair] for pair in made.domain.bounds or ()]
            if made.fit_check is not None:
                parts["fit_check"] = (
                    made.fit_check.values,
                    [float(cut) for cut in made.fit_check.cuts],
                )
            if made.group_selection is not None:
                parts["groups"] = dict.fromkeys(made.model.groups, 1.0)
            return parts if len(parts) > 1 else parts[""]
        case _:
            return made


def _flat(output: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, float | str]]:
    """Return every number and text in an output under its place."""
    output = released(output)
    if isinstance(output, bool | np.bool_) or output is None:
        yield name, str(output)
    elif isinstance(output, Real):
        yield name, _float(output)
    elif isinstance(output, str | bytes):
        yield name, output if isinstance(output, str) else output.hex()
    elif depth >= _DEEPEST or not isinstance(output, Mapping | np.ndarray | Sequence | set | frozenset):
        raise UsageError(
            "an audited function must return numbers, texts, or lists or dictionaries of them, got "
            f"{type(output).__name__:.40}.",
            hint="return what would be published",
        )
    elif isinstance(output, Mapping):
        for key, value in output.items():
            yield from _flat(value, f"{name}.{key}" if name else str(key), depth + 1)
    else:
        held = sorted(output, key=repr) if isinstance(output, set | frozenset) else list(output)
        # how long it is may depend on rows as well
        yield f"{name} length".strip(), float(len(held))
        for at, value in enumerate(held):
            yield from _flat(value, f"{name}[{at}]", depth + 1)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")

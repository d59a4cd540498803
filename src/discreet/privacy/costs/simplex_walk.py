r"""A random walk over label probabilities: shares of a whole number of parts, moved from one label to another.

A state gives each of K labels k_l of m parts, p_l = k_l / m, none fewer than its least number f_l. A proposal takes 1
to ``width`` parts from one label and gives them to another, all equally likely, so the walk is symmetric; one that
leaves less than f_l is never accepted, which no record has part in. A record of label l adds log(k_l / m) to the
log-likelihood. A move from i to j changes the difference between a record of label j and one of label i by
log((k_j + w) / k_j) + log(k_i / (k_i - w)), the most that it changes any such difference, and that is largest where
both labels are at their least: the range of a step is the sum of the two largest log((f_l + width) / f_l).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from discreet.arguments import whole
from discreet.errors import UsageError
from discreet.privacy.costs.scored_points import SCALE_BITS, TABLE_BITS, Scores, fixed_point
from discreet.privacy.rounding import log_up

State = tuple[int, ...]
_DEFAULT_PARTS, _MOST_PARTS = 1024, 1 << 16


@dataclass(frozen=True)
class SimplexWalk:
    """Moves of at most ``width`` of ``cells`` parts from one label to another, all equally likely.

    Privacy
    -------
    Neighbors: ``replace``. A step compares two states that differ in two labels, and the range that counts is the
    largest over all such pairs, for every table; the head of this module has it, and the proof.
    """

    alpha: tuple[float, ...]
    least: tuple[Fraction, ...]
    cells: int
    width: int

    @property
    def numbers(self) -> dict[str, Fraction]:
        """The public numbers that, beside the declarations, say which walk it is."""
        return {"cells": Fraction(self.cells), "width": Fraction(self.width)}

    @cached_property
    def floors(self) -> State:
        """The least number of parts of each label."""
        return tuple(ceil(low * self.cells) for low in self.least)

    def check(self) -> None:
        """Raise unless there is room to move."""
        if min(self.floors) < 1 or sum(self.floors) + 1 > self.cells:
            raise UsageError(
                f"{self.cells} parts do not hold the least probability of every label.",
                hint="take more cells",
            )

    def range(self) -> Fraction:
        """Return the range of the log-likelihood difference between states within one step, rounded up."""
        first, second = sorted(self.floors)[:2]
        return log_up(Fraction(first + self.width, first) * Fraction(second + self.width, second))

    def start(self, source: Any) -> State:
        """Draw the first state: the parts that are free are shared as a draw from the prior says."""
        p = source.floating(lambda rng: rng.dirichlet(self.alpha))
        free = self.cells - sum(self.floors)
        ends = np.round(np.cumsum(p)[:-1] * free).astype(int)
        return tuple(
            int(f + v) for f, v in zip(self.floors, np.diff(ends, prepend=0, append=free), strict=True)
        )

    def scores(self, features: Sequence[Fraction], n_records: int, power: Fraction) -> Scores:
        """Return the scores of states for one table; ``features`` are counts of labels."""
        counts = [int(feature) for feature in features]
        top, bottom = power.denominator, power.numerator
        weights = [fixed_point(np.array([a - 1.0]))[0] for a in self.alpha]

        def score(state: State) -> int:
            logs = [self._logs[parts] for parts in state]
            base = sum(map(int.__mul__, weights, logs)) >> TABLE_BITS
            likelihood = sum(map(int.__mul__, counts, logs))
            return ((base * top + bottom * likelihood) << SCALE_BITS) // (top << TABLE_BITS)

        return Scores(score)

    @cached_property
    def _logs(self) -> list[int]:
        return fixed_point(np.log(np.maximum(np.arange(self.cells + 1), 1) / self.cells))

    def propose(self, steps: int, rng: np.random.Generator) -> np.ndarray:
        """Draw proposals, a row of changes for each; nothing about them is private."""
        k = len(self.alpha)
        giver = rng.integers(0, k, steps)
        taker = (giver + rng.integers(1, k, steps)) % k
        parts = rng.integers(1, self.width, steps, endpoint=True)
        labels = np.arange(k)
        return parts[:, None] * ((labels == taker[:, None]).astype(int) - (labels == giver[:, None]))

    def moved(self, at: State, change: np.ndarray) -> State | None:
        """Return where a proposal leads, or None if it leaves some label less than its least number of parts."""
        to = tuple(int(parts + more) for parts, more in zip(at, change, strict=True))
        return to if self.holds(to) else None

    def holds(self, state: State) -> bool:
        """Tell whether these are shares of all parts, none of them below its least."""
        enough = all(parts >= floor for parts, floor in zip(state, self.floors, strict=True))
        return enough and sum(state) == self.cells

    def draws(self, states: Sequence[State]) -> dict[str, np.ndarray]:
        """Return the probabilities at some states."""
        return {"p": np.array(states, dtype=float) / self.cells}

    def holds_draws(self, draws: dict[str, np.ndarray]) -> bool:
        """Tell whether every draw is a state."""
        p = draws["p"]
        if p.ndim != 2 or p.shape[1] != len(self.least):
            return False
        parts = np.round(p * self.cells)
        return bool((np.abs(p * self.cells - parts) < 1e-6).all()) and all(
            self.holds(tuple(int(v) for v in row)) for row in parts
        )


def simplex_walk(alpha: np.ndarray, least: Sequence[Fraction], cells: Any, width: Any) -> SimplexWalk:
    """Return the walk with so many parts and so long steps, or the default ones."""
    parts = _DEFAULT_PARTS if cells is None else whole(cells, "cells", least=2, most=_MOST_PARTS)
    steps = max(1, parts // 64) if width is None else whole(width, "width", most=parts - 1)
    k = len(alpha)
    walk = SimplexWalk(tuple(map(float, alpha)), tuple(least) * (1 if len(least) == k else k), parts, steps)
    walk.check()
    return walk

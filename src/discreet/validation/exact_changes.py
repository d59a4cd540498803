"""How far one person can move the exact totals, set against the noise on them: a check without any chance.

Noise that is drawn as promised keeps its promise for every pair of neighbors if the totals of no pair are further
apart than its scales allow: under discrete Laplace noise of scales b_j the privacy loss is at most sum_j |change_j| /
b_j, under noise of density exp(-N(k) / s) at most N(change) / s, and some outputs reach it; under discrete Gaussian
noise of parameters sigma_j the divergence of order a is at most a sum_j change_j^2 / 2 sigma_j^2. So a sensitivity that
is too small, rows of a person that were not put together and bounds that do not hold show in a few pairs of tables,
however rare the outputs are that would tell.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from discreet.curator.draw import Reading
from discreet.mechanisms.base import Totals
from discreet.validation.audit_result import StructureCheck
from discreet.validation.neighboring_tables import Pair, Person, TableSpace
from discreet.validation.release_runs import KEY, ReleaseRuns

#: Changes of one value or person that are tried from the worst pair on.
_CLIMB = 24
#: People have so many times the rows that may count.
_MORE_ROWS = 3
# promises of noise whose loss between two tables follows from their totals
_KINDS = ("pure", "zero_concentrated")


def exact_changes(runs: ReleaseRuns, space: TableSpace, rng: np.random.Generator) -> list[StructureCheck]:
    """Return the check of the largest change that is found; none where noise is not all that a release draws."""
    promised = runs.guarantee.to_neighbors()
    parts = [one.guarantees.get("statistics") for one in runs.asked.values()]
    if promised.kind not in _KINDS or any(
        part is None or part.to_neighbors().kind != promised.kind for part in parts
    ):
        return []
    if space.unit is not None:
        space = replace(space, rows=_MORE_ROWS * space.rows)

    @cache
    def read(people: tuple[Person, ...]) -> list[Reading] | None:
        # the rows of a person that count are chosen by the same key in both tables
        made = list(runs.readings(space.records(people), row_key=KEY).values())
        return None if any(one.data is None for one in made) else made

    def loss_of(pair: Pair) -> Fraction | None:
        """Return the exact loss between two tables; None if totals are read after the first random number."""
        first, second = map(read, pair.people())
        if first is None or second is None:
            return None
        return sum(map(_loss, first, second), Fraction(0))

    pairs = [pair for some in space.pairs(rng) for pair in some]
    found = [loss_of(pair) for pair in pairs]
    if None in found:
        return []
    worst, at = max((loss, k) for k, loss in enumerate(found) if loss is not None)
    pair = pairs[at]
    for _ in range(_CLIMB):
        other = space.varied(pair, rng)
        loss = loss_of(other) or Fraction(0)
        if loss > worst:
            worst, pair = loss, other
    (name, budget) = next(iter(promised.budgets().items()))
    tried = f"{len(found) + _CLIMB:,} pairs of neighboring tables"
    words = f"{name} = {float(worst):.4g} of the promised {float(budget):.4g} is the most that {tried} cost"
    return [StructureCheck("exact changes", worst <= budget, words)]


def _loss(one: Reading, other: Reading) -> Fraction:
    """Return what the noise has to hide between totals of two tables."""
    if not isinstance(one.data, Totals) or not isinstance(other.data, Totals):
        raise TypeError("noise is on totals")
    return one.asked.mechanism.loss(one.record, one.data, other.data)

"""How bounds were bought, where they were."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.artifact.readers import COUNT, EXACT, PAIR, described, one_of
from discreet.domain.bin_grid import MOST_CELLS, Grid

if TYPE_CHECKING:
    from discreet.artifact.release import Release
    from discreet.families import RecordSums

#: The only way there is so far.
METHOD = "permute_and_flip"
#: The largest denominator of a quantile. Scores are multiples of it and must fit 64-bit integers.
LARGEST_DENOMINATOR = 10**6


@dataclass(frozen=True)
class BoundsChoice:
    """How the bounds of one column were chosen from the data, privately.

    The two bounds are ends of ``cells`` equal cells of the public range ``within``, chosen near the two ``quantiles``
    of the column, for ``epsilon`` together. Inference takes the bounds as if they had been declared.
    """

    method: Literal["permute_and_flip"]
    quantiles: tuple[Fraction, Fraction]
    within: tuple[Fraction, Fraction]
    cells: int
    epsilon: Fraction

    def grid(self, family: RecordSums) -> Grid:
        """Return the public grid that the bounds were chosen from."""
        return Grid.over(*self.within, self.cells, discrete=family.support.discrete)


#: A choice in a file.
CHOICE = described(
    BoundsChoice,
    "a choice of bounds",
    {"method": one_of(METHOD), "quantiles": PAIR, "within": PAIR, "cells": COUNT, "epsilon": EXACT},
)


def check_choices(release: Release) -> None:
    """Raise unless the bounds are ones that the choices could have made, at the price that is in the guarantees."""
    made, paid = release.bounds_choice, release.guarantees.get("bounds")
    if made is None or paid is None:
        if made is not None or paid is not None:
            raise ValueError("bounds are paid for exactly if they were bought")
        return
    from discreet.families.record_sums import RecordSums

    family = release.model.require(RecordSums, "private quantiles are bounds of a family")
    bounds = release.domain.bounds
    if bounds is None or len(made) != len(bounds):
        raise ValueError("there is not one choice for each pair of bounds")
    if paid.kind != "pure" or paid.budgets()["epsilon"] != sum(one.epsilon for one in made):
        raise ValueError("its bounds were bought at another price")
    for one, (low, high) in zip(made, bounds, strict=True):
        family.check_pair(one.within, "within")
        if one.epsilon <= 0 or not 1 < one.cells <= MOST_CELLS:
            raise ValueError("its choice of bounds is none that can be made")
        if not 0 < one.quantiles[0] < one.quantiles[1] < 1 or any(
            q.denominator > LARGEST_DENOMINATOR for q in one.quantiles
        ):
            raise ValueError("its choice of bounds is none that can be made")
        grid = one.grid(family)
        if grid.n_cells != one.cells or not grid.holds(low, high):
            raise ValueError("its bounds are none of those they were chosen from")

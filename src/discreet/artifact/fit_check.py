"""The fit check of a release: noisy counts of bins that its own noisy sums chose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.artifact.possible_totals import LOG_TAIL, MOST_RECORDS, WIDEST_NOISE
from discreet.artifact.readers import EXACT, INTEGER, described
from discreet.families.fit_bins import MOST_CUTS, checkable, fit_grid
from discreet.privacy import Noise

if TYPE_CHECKING:
    from discreet.artifact.release import Release


@dataclass(frozen=True)
class FitCheck:
    """Noisy counts of a column's values in bins that are about equally likely under the fitted family.

    A bin begins with its cut, the first one with the lower bound; ``values`` are one more than ``cuts``. ``scale`` is
    that of the noise on each count, and ``sensitivity`` the joint one that it was calibrated to.
    """

    cuts: tuple[Fraction, ...]
    values: tuple[int, ...]
    scale: Fraction
    sensitivity: Fraction


#: A fit check in a file.
FIT = described(
    FitCheck,
    "a fit check",
    {"cuts": EXACT.listed, "values": INTEGER.listed, "scale": EXACT, "sensitivity": EXACT},
)


def check_counts(release: Release, made: FitCheck, noise: Noise) -> None:
    """Raise unless the cuts are ends of cells of the public grid, and the counts ones that a table can have."""
    family = checkable(release.model)
    grid = fit_grid(family, release.domain.bounds)
    if not 1 <= len(made.cuts) <= MOST_CUTS or len(made.values) != len(made.cuts) + 1:
        raise ValueError("its fit check has another number of bins than there can be")
    places = [(cut - grid.low) / grid.step for cut in made.cuts]
    if any(place.denominator != 1 or not 0 < place < grid.n_cells for place in places):
        raise ValueError("a cut of its fit check is none of those it was chosen from")
    if any(first >= second for first, second in pairwise(places)):
        raise ValueError("the cuts of its fit check do not increase")
    if not 0 < made.scale <= WIDEST_NOISE:
        raise ValueError("the noise of its fit check is none that can be drawn")
    most = MOST_RECORDS if release.records is None else release.records
    room = math.ceil(noise.reach(LOG_TAIL)) + 1
    if any(not -room <= value <= most + room for value in made.values):
        raise ValueError("a count of its fit check is further from every possible one than its noise goes")

"""Which totals a file of noisy statistics can hold: those that some table has, give or take its noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.artifact.release import Release

#: The most records that any table is taken to hold, public or private: a hundred for everybody alive. Beyond it a file
#: is forged or damaged, and arithmetic in float64 would begin to miss single records.
MOST_RECORDS = 10**12
#: The widest noise, in grid steps. Wider noise would touch the edge of a 64-bit integer with probability above e^-128.
WIDEST_NOISE = 2**56
#: Noise goes further than this with probability below 2^-100: an honest file is never refused.
LOG_TAIL = 100 * math.log(2)


def check_totals(release: Release) -> None:
    """Raise unless every value is within reach of a total that a table of so many records can have."""
    statistics = release.totals
    if any(
        scale > WIDEST_NOISE * grid
        for scale, grid in zip(release.noise_record.scale, statistics.grid, strict=True)
    ):
        raise ValueError("its noise is wider than 64-bit integers can hold")
    ranges = release.model.coordinate_ranges(release.domain, release.neighbors)
    most = MOST_RECORDS if release.records is None else release.records
    for value, grid, (low, high), noise in zip(
        statistics.values, statistics.grid, ranges, release.noise, strict=True
    ):
        # one more step, for what rounds
        room = math.ceil(noise.reach(LOG_TAIL)) + 1
        if not most * low / grid - room <= value <= most * high / grid + room:
            raise ValueError("a value is further from every possible total than its noise goes")

"""What a release of one bounded statistic says of the sum of z and of the number of usable records."""

from __future__ import annotations

import numpy as np

from discreet.artifact import Release
from discreet.errors import OutOfReachError
from discreet.inference.engines.scalar.laplace_sums import LaplaceCells, LaplaceCounted, LaplaceSum
from discreet.inference.engines.scalar.normal_sums import NormalSum, normal_counted
from discreet.inference.engines.scalar.series_kernels import SumReading
from discreet.inference.record_prior import CountPrior, RecordPrior

# Readings of two cells whose sum must not be negative, in scales of their noise.
_CONTRADICTION = 100.0


def reading_of(release: Release, records: CountPrior) -> SumReading:
    """Return what a release of one bounded statistic says; ``records`` is the prior on how many are usable."""
    steps = release.totals.steps.tolist()
    values = [v * step for v, step in zip(release.totals.values, steps, strict=True)]
    widths = [noise.width * step for noise, step in zip(release.noise, steps, strict=True)]
    laplace = release.noise[0].kind == "laplace"
    n = release.records
    if n is None:
        assert isinstance(records, RecordPrior)
        total, y, width = values[0] + values[1], values[1] - values[0], max(widths)
        if laplace:
            if abs(y) - max(total, 0.0) > _CONTRADICTION * width:
                raise OutOfReachError(
                    "the two readings contradict each other by more than noise of their scale could explain."
                )
            return LaplaceCells(y, total, 1 / width, records)
        # both cells seen with sigma: their sum and their difference, with sigma sqrt(2) each, independently
        return normal_counted(y, width * 2**0.5, total, width * 2**0.5, records)
    y, width = values[0], widths[0]
    if laplace:
        if len(values) == 1:
            return LaplaceSum(y, 1 / width, n, None, 1.0)
        if isinstance(records, RecordPrior) and records.weights is None:
            return LaplaceSum(y, 1 / width, n, values[1], 1 / widths[1])
        return LaplaceCounted(y, 1 / width, n, values[1], 1 / widths[1], records)
    if len(values) == 1:
        return NormalSum(y, width, n, np.zeros(1))
    records = RecordPrior(0, n) if records.high is None else records
    return normal_counted(y, width, values[1], widths[1], records)

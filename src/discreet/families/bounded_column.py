"""Columns of which nothing is known but their bounds: what such columns usually look like, for planning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import betaincinv

from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families.record_sums import RecordSums

# Where in its bounds the mean of a column lies, and its variance as a share of the largest possible, m (1 - m). Rough
# shapes of 65 real columns with sensible public bounds (studies/columns): quartiles .11 .20 .39 of the mean, and
# .06 .12 .21 of the share.
_MEAN, _SPREAD = (1.2, 3.0), (1.2, 7.0)


class BoundedColumn(RecordSums):
    """A model that assumes nothing of a column of numbers but its bounds."""

    def plausible(
        self, prior: Any, domain: Domain, size: int, rng: np.random.Generator
    ) -> list[Mapping[str, np.ndarray]]:
        """Return means and standard deviations like those of real columns, spread evenly over what is usual."""
        low, high = _limits(self, domain)
        at = (np.arange(size) + 0.5) / size
        m, share = betaincinv(*_MEAN, at), betaincinv(*_SPREAD, rng.permutation(at))
        sd = np.sqrt(m * (1 - m) * share)
        return [
            {"mean": low + (high - low) * one, "sd": (high - low) * spread}
            for one, spread in zip(m, sd, strict=True)
        ]

    def simulate(
        self, theta: Mapping[str, Any], domain: Domain, size: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw records from the beta distribution on the bounds that has this mean and standard deviation."""
        low, high = _limits(self, domain)
        if set(theta) != {"mean", "sd"}:
            raise UsageError(f"{self.name} expects a mean and an sd.", hint='public={"mean": 40, "sd": 12}')
        m, sd = (float(theta["mean"]) - low) / (high - low), float(theta["sd"]) / (high - low)
        if not 0 < m < 1 or not 0 < sd**2 < m * (1 - m):
            raise UsageError(
                f"no column within the bounds has mean {theta['mean']:g} and sd {theta['sd']:g}.",
                hint="the sd is at most the root of (mean - low) (high - mean)",
            )
        concentration = m * (1 - m) / sd**2 - 1
        return low + (high - low) * rng.beta(m * concentration, (1 - m) * concentration, size)


def _limits(model: RecordSums, domain: Domain) -> tuple[float, float]:
    (pair,) = model.record_bounds(domain)
    if pair is None:
        raise UsageError(f"{model.name} needs bounds to be planned.", hint="for example bounds=(0, 100)")
    return float(pair[0]), float(pair[1])

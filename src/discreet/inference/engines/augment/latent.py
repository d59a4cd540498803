"""Latent records: drawn from the model, and mapped to the released vector as the release maps real ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.artifact import Release
from discreet.families import Bernoulli, Categorical
from discreet.families.likelihood import Likelihood, Theta
from discreet.models.layout import UNIT

Pair = tuple[np.ndarray, np.ndarray]

# Sums of larger statistics would leave the range that hyperparameters have.
_LARGEST = 1e90


def _yes_or_no(family: Likelihood, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
    return family.sample(theta, size, rng)


def _by_inversion(family: Likelihood, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
    cumulative = np.cumsum(theta["p"])
    return np.searchsorted(cumulative[:-1], rng.random(size) * cumulative[-1], side="right")


# How the positions of labels are drawn.
_POSITIONS: dict[type[Likelihood], Callable[[Likelihood, Theta, int, np.random.Generator], np.ndarray]] = {
    Bernoulli: _yes_or_no,
    Categorical: _by_inversion,
}


class LatentRecords:
    """Draws records given a parameter; each is its full statistic and its steps in the released vector.

    Redaction, clipping and rounding to the grid touch only the steps: the statistic is that of the value itself.
    """

    def __init__(self, release: Release) -> None:
        self.family: Likelihood = release.family
        self._layout = layout = release.layout
        self._vocabulary = self.family.vocabulary
        self._clip = release.domain.outside == "clip"
        # the identity gives no NaN inside the bounds; a measure of the user's own might
        self._clamped = not self.family.sums_values
        # counts are whole already; a power of two scales exactly
        self._per_step = [
            None if g == UNIT and (self._vocabulary is not None or layout.is_count(j)) else float(1 / g)
            for j, g in enumerate(layout.grid)
        ]
        self._cells: Pair | None = None
        # labels by their position: texts are slow to draw and to compare
        self._positions = self.family.closed_form(_POSITIONS)
        if self._positions is not None:
            values = np.array(self.family.labels or [0, 1])
            self._cells = self._of_labels(values, np.arange(values.size))
        if self._vocabulary is None:
            self._maps = layout.maps(release.domain.bounds)

    def draw(self, theta: Theta, size: int, rng: np.random.Generator) -> Pair | None:
        """Return (statistics, steps) of ``size`` usable records, one row each; None if a statistic exceeds 1e90.

        Only a parameter that is extreme itself gives such records, or makes a sampler fail.
        """
        try:
            with np.errstate(all="ignore"):
                full, steps = self._draw(theta, size, rng)
        except (ValueError, ZeroDivisionError, OverflowError):
            # samplers refuse a rate of 1e300, or divide by one of 0
            return None
        return (full, steps) if (np.abs(full) < _LARGEST).all() else None

    def _draw(self, theta: Theta, size: int, rng: np.random.Generator) -> Pair:
        if self._cells is not None and self._positions is not None:
            at = self._positions(self.family, theta, size, rng)
            return self._cells[0][at], self._cells[1][at]
        x = self.family.sample(theta, size, rng)
        if self._vocabulary is None:
            return self._of_numbers(np.asarray(x, dtype=float))
        values, which = np.unique(x, return_inverse=True)
        spelled = [next(i for i, forms in enumerate(self._vocabulary) if str(v) in forms) for v in values]
        full, steps = self._of_labels(values, np.array(spelled))
        return full[which], steps[which]

    def _of_labels(self, values: np.ndarray, at: np.ndarray) -> Pair:
        indicators = [(at == i).astype(float) for i in range(len(self._vocabulary or ()))]
        features = self.family.geometry.features_of_labels(indicators)
        return self.family.sufficient(values), self._steps(features, values.size)

    def _of_numbers(self, x: np.ndarray) -> Pair:
        columns = [x] if self.family.n_columns == 1 else list(x.T)
        within, mapped = [], []
        for column, each in zip(columns, self._maps, strict=True):
            inside = np.minimum(np.maximum(column, each.low), each.high)
            within.append(inside == column)
            z = (self.family.measure(inside) - each.shift) * each.slope
            if self._clamped:
                z = np.where(np.isnan(z), 0.0, z)
            mapped.append(np.minimum(np.maximum(z, -1.0), 1.0))
        if not self._clip:
            kept = within[0] if len(within) == 1 else np.logical_and.reduce(within)
            mapped = [z * kept for z in mapped]
        return self.family.sufficient(x), self._steps(self.family.geometry.features(mapped), len(x))

    def _steps(self, features: list[np.ndarray], size: int) -> np.ndarray:
        out = np.empty((size, len(self._per_step)))
        for j, t in enumerate(self._layout.coordinates(np.ones(size), features)):
            per_step = self._per_step[j]
            out[:, j] = t if per_step is None else np.floor(t * per_step + 0.5)
        return out

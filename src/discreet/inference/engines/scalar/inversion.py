"""The sum over frequencies that turns transforms of records into a likelihood, as far as its terms matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.engine import spend
from discreet.inference.engines.scalar.series_kernels import Block, SumReading, SumWindow
from discreet.inference.engines.scalar.transforms import RecordTransform

# Frequencies come in chunks that grow, until what is left cannot matter.
_FIRST_CHUNK = 24
_MOST_TERMS = 2048
# What is left, relative to the sum, when slow decay is cut off, and when fast decay is complete.
_TAIL, _GONE = 2e-6, 1e-9
_FAST = 1e-2
_ROUNDING = 1e-15
#: With this much slack, a sketch will do.
SKETCH = 2000.0
_SKETCH_TERMS = 96
# What a term costs, and what it costs more for each node that the transform sums over; measured.
_TERM_SECONDS, _NODE_SECONDS = 5e-6, 1e-8


@dataclass(frozen=True)
class Inversion:
    """One block of numbers of records, to be inverted under given tilts; results are divided by exp(scale).

    ``slack`` says how many times the usual error each parameter value tolerates.
    """

    reading: SumReading
    block: Block
    tilt: np.ndarray
    scale: np.ndarray
    slack: np.ndarray

    def invert(
        self,
        records: RecordTransform,
        window: SumWindow,
        known: np.ndarray,
        *,
        without: RecordTransform | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum over frequencies, and the sum of the terms' sizes; less the same for ``without``.

        ``known`` is what the result will be added to, and what its accuracy is measured by.
        """
        size = records.size
        total, absolute = np.zeros(size), np.zeros(size)
        rows = np.arange(size)
        chunks: list[tuple[np.ndarray, np.ndarray]] = []
        top, highest = _top_frequency(records, window)
        first, last = 0, _FIRST_CHUNK
        while True:
            term = self._terms(records, window, rows, first, last)
            if without is not None:
                term = term - self._terms(without, window, rows, first, last)
            k = np.arange(first, last)
            term *= np.where(k == 0, 1.0, 2.0) * (k <= top[rows, None])
            large = np.abs(term)
            total[rows] += np.real(term).sum(axis=1)
            if highest is not None:
                # a lattice may have a second band of frequencies that matter, at its upper end
                mirror = self._terms(records, window, rows, first, last, highest[rows])
                mirror *= 2.0 * (k < highest[rows, None] - top[rows, None])
                total[rows] += np.real(mirror).sum(axis=1)
                large = large + np.abs(mirror)
            absolute[rows] += large.sum(axis=1)
            chunks.append((rows, np.real(term)))
            quarter = (last - first) // 4
            tail = large[:, -quarter:].max(axis=1) * last
            size_of = (np.abs(total[rows]) + np.abs(known[rows])) * self.slack[rows]
            going = (tail > _GONE * size_of) & (tail > _ROUNDING * absolute[rows])
            if self.reading.kinked and highest is None:
                # decay that is fast will soon be complete; slow decay is not worth following to the end
                fast = large[:, -quarter:].max(axis=1) < _FAST * large[:, :quarter].max(axis=1)
                going &= fast | (tail > _TAIL * size_of)
            most = np.where(self.slack[rows] < SKETCH, _MOST_TERMS, _SKETCH_TERMS)
            stop = ~going | (last >= most) | (last > top[rows])
            if highest is None:
                cut = rows[stop & (tail > _GONE * size_of)]
                total[cut] = _faded(chunks, cut, np.minimum(top[cut], last))
            rows = rows[~stop]
            if rows.size == 0:
                return total, absolute
            first, last = last, min(2 * last, _MOST_TERMS)

    def _terms(
        self,
        records: RecordTransform,
        window: SumWindow,
        rows: np.ndarray,
        first: int,
        last: int,
        down: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return terms first, ..., last - 1 for some parameter values, counted from 0 or downward from ``down``."""
        spend(rows.size * (last - first) * (_TERM_SECONDS + _NODE_SECONDS * records.nodes))
        if rows.size < records.size:
            records, window = records.rows(rows), window.rows(rows)
        tilt, spacing = self.tilt[rows], 2 * np.pi / window.length
        k = np.arange(first, last) if down is None else np.maximum(down[:, None] - np.arange(first, last), 0)
        s = tilt[:, None] + 1j * spacing[:, None] * k
        value = records.comb(tilt, spacing, first, last) if down is None else records.transform(s)
        log_x = np.log(np.where(np.abs(value) > 1e-300, value, 1e-300)) + np.abs(tilt)[:, None]
        log_c = -s * self.reading.y - self.scale[rows, None]
        return self.reading.coefficients(s, log_x, log_c, self.block, window) / window.length[:, None]


def _faded(chunks: list[tuple[np.ndarray, np.ndarray]], rows: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return sums whose terms fade out before the last one, which rounds the kink of the noise and little else."""
    terms = np.concatenate([real[np.searchsorted(kept, rows)] for kept, real in chunks], axis=1)
    place = np.minimum(np.arange(terms.shape[1]) / last[:, None], 1.0)
    return (terms * np.exp(-36 * place**12)).sum(axis=1)


def _top_frequency(records: RecordTransform, window: SumWindow) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the index of the last frequency to use, counted from 0, and on a lattice the highest there is."""
    if window.step:
        highest = np.round(window.length / window.step - 1) // 2
        return highest // 2, highest
    limit = records.top_frequency
    if limit is None:
        return np.full(window.length.shape, np.inf), None
    return np.floor(limit * window.length / (2 * np.pi)), None

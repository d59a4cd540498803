"""What a release says of the sum of z and of the number of usable records, as kernels that invert transforms.

A reading is the likelihood of the latent pair (u, S): u usable records whose z sum to S. It is a function of S - y,
known on a window around y that holds all of S; its Fourier coefficients on that window, tilted by exp(-s x) with
complex s, are elementary, and so is their dependence on u. On a lattice of sums, integrals become geometric series.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import ClassVar

import numpy as np

#: Log of what is neglected of the noise on a count.
DEPTH = 27.0
# The first block of small numbers of records, and how much longer each next one is.
_FIRST_BLOCK, _GROWTH = 16, 4

#: The first and the last of consecutive numbers of records.
Block = tuple[int, int]


@dataclass(frozen=True)
class SumWindow:
    """Half widths right and left of y, offsets of the nearest lattice points, and the lattice's step (0 for none)."""

    right: np.ndarray
    left: np.ndarray
    first_right: float
    first_left: float
    step: float

    @classmethod
    def around(cls, y: float, reach: np.ndarray, lattice: float | None) -> SumWindow:
        """Return windows that reach at least so far on both sides; on a lattice they hold an odd number of points."""
        if lattice is None:
            return cls(reach, reach, 0.0, 0.0, 0.0)
        first_right = ceil(y / lattice) * lattice - y
        first_left = lattice - first_right
        n = np.ceil(reach / lattice) + 1
        return cls(
            first_right + n * lattice, first_left + (n - 1) * lattice, first_right, first_left, lattice
        )

    def rows(self, index: np.ndarray) -> SumWindow:
        """Return some of the windows."""
        return replace(self, right=self.right[index], left=self.left[index])

    @property
    def length(self) -> np.ndarray:
        """Length of the circle that the window is wrapped on."""
        return self.right + self.left - self.step

    def inverse(self, rate: np.ndarray) -> np.ndarray:
        """Return the integral of exp(-rate x) over x > 0, or its sum over the lattice times the step."""
        return self.step / -np.expm1(-self.step * rate) if self.step else 1 / rate


class SumReading(ABC):
    """The likelihood of (u, S), with S seen at ``y``."""

    y: float
    #: How fast the kernel falls, which is the largest tilt for which it stays bounded; infinite for normal noise.
    beta: float
    #: Whether all parameter values must share one window, because what is read of u depends on it.
    shares_window: ClassVar[bool] = False

    @property
    def kinked(self) -> bool:
        """Whether the kernel has a kink, so that its transform decays slowly."""
        return np.isfinite(self.beta)

    def reach(self) -> float:
        """Return how far beyond the sums a window must extend."""
        return 0.0

    @abstractmethod
    def records(self, tilt: np.ndarray, log_x: np.ndarray) -> Block:
        """Return the range of u that matters, if S is tilted and each record multiplies the likelihood by x."""

    @abstractmethod
    def all_records(self, low: int, high: int) -> bool:
        """Tell whether a range of u leaves no possible u out."""

    @abstractmethod
    def log_total(self, log_x: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        """Return the log of the sum over u of x^u, x real, weighted by what the tilted reading says of u alone."""

    @abstractmethod
    def coefficients(
        self, s: np.ndarray, log_x: np.ndarray, log_c: np.ndarray, block: Block, window: SumWindow
    ) -> np.ndarray:
        """Return c times the sum over the block of x^u and the kernel's coefficient at s, times the window's length."""

    def distance(self, block: Block) -> float:
        """Return how far a block is from the number of records that was read, or 0 if that is not private."""
        return 0.0

    def clearance(self, block: Block) -> float:
        """Return how far from y all sums must stay for the kernel to be one-sided, exp(-beta |S - y|)."""
        return np.inf

    def one_sided(self, log_x: np.ndarray, log_c: np.ndarray, block: Block) -> np.ndarray:
        """Return c times the sum over the block of x^u and what is read of u alone, x real."""
        raise NotImplementedError

    def log_noise_transform(self, tilt: np.ndarray) -> np.ndarray:
        """Return what a tilt adds to the log likelihood besides the records' part; only for normal noise."""
        return np.zeros_like(tilt)

    def blocks(self, tilt: np.ndarray, log_x: np.ndarray) -> list[Block]:
        """Cut the range of u into blocks: small numbers need high frequencies, large ones wide windows."""
        low, high = self.records(tilt, log_x)
        edges, size = [low], _FIRST_BLOCK
        while size < high:
            if size > low and edges[-1] < size / 2:
                edges.append(size)
            size *= _GROWTH
        return [(a, b - 1) for a, b in pairwise([*edges, high + 1])]


def gap(count: float, block: Block) -> float:
    """Return how far a block is from a reading of the number of records."""
    return max(block[0] - count, count - block[1], 0.0)


def likely_range(
    center: int, beta: np.ndarray | float, most: float, log_x: np.ndarray, lowest: int, highest: int | None
) -> Block:
    """Return where the weights exp(-beta |u - center|) x^u are not negligible; beta is between 0 and ``most``."""
    up = DEPTH / max(float((beta - log_x).min()), 1e-2 * most)
    down = DEPTH / max(float((beta + log_x).min()), 1e-2 * most)
    low, high = max(lowest, center - ceil(down) - 1), center + ceil(up) + 1
    return low, high if highest is None else min(high, highest)

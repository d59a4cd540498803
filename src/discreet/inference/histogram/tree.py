"""A binary tree over bins, whose nodes include every group of bins that has a noisy count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.privacy.noise import Noise


@dataclass(frozen=True)
class Level:
    """Noisy counts of consecutive groups of bins: group i holds bins starts[i] to starts[i + 1] - 1."""

    starts: Sequence[int]
    values: Sequence[int]
    noise: Noise | Sequence[Noise]

    def noise_on(self, group: int) -> Noise:
        """Return the noise on one of the counts: the same for all, or its own."""
        return self.noise if isinstance(self.noise, Noise) else self.noise[group]


@dataclass(frozen=True)
class BinNode:
    """Bins first to last - 1, where its children are, and the noisy counts of exactly these bins."""

    first: int
    last: int
    left: int | None
    right: int | None
    seen: tuple[tuple[int, Noise], ...]

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.last - self.first


def build(n_bins: int, levels: Sequence[Level]) -> list[BinNode]:
    """Return the nodes, children before parents and the root last.

    Groups must nest: a range is split at the group boundary nearest its middle, taken from the coarsest level that has
    one inside it, so that every group of every level is a node.
    """
    counts: dict[tuple[int, int], list[tuple[int, Noise]]] = {}
    borders = []
    for level in levels:
        starts = np.append(np.asarray(level.starts, dtype=np.int64), n_bins)
        if starts[0] != 0 or (np.diff(starts) < 1).any() or starts.size != len(level.values) + 1:
            raise ValueError("groups must be consecutive, begin with the first bin and have one value each")
        borders.append(starts[1:-1])
        for i, value in enumerate(level.values):
            counts.setdefault((int(starts[i]), int(starts[i + 1])), []).append(
                (int(value), level.noise_on(i))
            )
    borders = sorted(borders, key=len)
    if n_bins > 1 and (not borders or borders[-1].size != n_bins - 1):
        raise ValueError("the finest level must have one count for each bin")
    nodes: list[BinNode] = []

    def grow(first: int, last: int) -> int:
        left = right = None
        if last - first > 1:
            cut = _middle(first, last, borders)
            left, right = grow(first, cut), grow(cut, last)
        nodes.append(BinNode(first, last, left, right, tuple(counts.pop((first, last), ()))))
        return len(nodes) - 1

    grow(0, n_bins)
    if counts:
        raise ValueError("groups of bins must nest")
    return nodes


def _middle(first: int, last: int, borders: Sequence[np.ndarray]) -> int:
    for border in borders:
        low, high = np.searchsorted(border, [first, last], side="left")
        inside = border[low:high][border[low:high] > first]
        if inside.size:
            return int(inside[np.argmin(np.abs(2 * inside - first - last))])
    raise ValueError("the finest level must have one count for each bin")

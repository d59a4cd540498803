"""Sums of many counts as a tree: totals are split in halves until single cells are left.

A chain of partial sums has a table as wide as the whole sum for every cell. Here a cell meets only log K tables, and
cells that are alike (of 100,000 noisy counts most are) share theirs: K such cells need log K tables between them.
Sums are computed in double precision. Under wide noise the long tables that only split them are kept in single
precision, which moves a draw with a probability of some 1e-7 for each split.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.inference.counts.weights import Table

# Rejections before a draw gets a table of its own.
_TRIES = 64


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """The sum of ``n_cells`` counts, and the two sums that it is the sum of; ``members`` are cells that are alike."""

    table: Table
    n_cells: int
    halves: tuple[Node, Node] | None = None
    members: np.ndarray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """The distribution of the sum of all cells, and how a total is split; ``order``: cells from left to right."""

    root: Node
    order: np.ndarray

    @classmethod
    def of(cls, tables: list[Table], members: Sequence[np.ndarray], most: int) -> Tree:
        """Build the tree of cells given as one table for each set of cells that are alike; ``tables`` is emptied.

        No sum is above ``most``, nor is a part of it.
        """
        heap = []
        for at, cells in enumerate(members):
            node = _alike(tables[at], len(cells), most, {})
            root = Node(node.table, node.n_cells, node.halves, cells)
            heap.append((root.table.weights.size, at, root))
        tables.clear()
        heapq.heapify(heap)
        # the two narrowest first, so that halves are about equally wide
        for at in range(len(heap), 2 * len(heap) - 1):
            (_, _, a), (_, _, b) = heapq.heappop(heap), heapq.heappop(heap)
            both = Node(a.table.convolve(b.table, most), a.n_cells + b.n_cells, (_kept(a), _kept(b)))
            heapq.heappush(heap, (both.table.weights.size, at, both))
        root = heap[0][2]
        return cls(root, np.concatenate(_members(root)))

    def split(self, totals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw cell counts given their totals, cells on the last axis, each cell's draws together in memory."""
        # numba takes a moment to import
        from discreet.inference.counts.splits import split_off

        counts = np.empty((self.order.size, totals.size), dtype=np.int64)
        left_to_do = [(self.root, 0, totals)]
        while left_to_do:
            node, start, u = left_to_do.pop()
            if node.halves is None:
                counts[self.order[start]] = u
                continue
            a, b = node.halves
            drawn = np.empty(u.size, dtype=np.int64)
            # the narrower half proposes, the wider one accepts
            cell, rest = (a, b) if a.table.weights.size <= b.table.weights.size else (b, a)
            narrow, wide = (each.table.weights.astype(float, copy=False) for each in (cell, rest))
            split_off(narrow, cell.table.low, wide, rest.table.low, u, rng, _TRIES, drawn)
            first, second = (drawn, u - drawn) if cell is a else (u - drawn, drawn)
            left_to_do += [(b, start + a.n_cells, second), (a, start, first)]
        return counts.T


def _kept(node: Node) -> Node:
    return replace(node, table=node.table.kept())


def _alike(table: Table, n: int, most: int, made: dict[int, Node]) -> Node:
    """Return the sum of ``n`` cells with the same table; sums of equally many are one node."""
    if n not in made:
        if n == 1:
            made[n] = Node(table, 1)
        else:
            a, b = (_alike(table, part, most, made) for part in (n // 2, n - n // 2))
            made[n] = Node(a.table.convolve(b.table, most), n, (a, b))
    return made[n]


def _members(root: Node) -> list[np.ndarray]:
    """Return the cells from left to right."""
    found, left_to_do = [], [root]
    while left_to_do:
        node = left_to_do.pop()
        if node.members is not None:
            found.append(node.members)
        elif node.halves is not None:
            left_to_do += node.halves[::-1]
    return found

"""The joint table behind the noisy tables of a Bayesian network, and its posterior distribution.

A network's release counts, for every node, its labels crossed with those of its parents. All these tables are margins
of one table of n records over all columns. That joint table is what the records determine, so it is the latent variable
here: its margins agree with each other by construction, whatever the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np


@dataclass(frozen=True)
class Structure:
    """Which node has which parents, and how many levels each has.

    Parameters
    ----------
    levels
        How many levels each node has.
    parents
        The parents of each node, as positions.
    """

    levels: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]

    @property
    def n_joint(self) -> int:
        """How many cells the joint table has."""
        return prod(self.levels)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each node's table: its parents' levels, then its own."""
        return tuple(
            (*(self.levels[p] for p in parents), self.levels[node])
            for node, parents in enumerate(self.parents)
        )

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where each table begins when all are laid end to end, and the end of the last."""
        return np.concatenate([[0], np.cumsum([prod(shape) for shape in self.shapes])])

    @cached_property
    def cells(self) -> np.ndarray:
        """Return, for each node and each joint cell, the cell of the node's table it belongs to; nodes first."""
        grid = np.indices(self.levels).reshape(len(self.levels), -1)
        return np.stack(
            [
                self.offsets[node] + np.ravel_multi_index([*grid[list(parents)], grid[node]], shape)
                for node, (parents, shape) in enumerate(zip(self.parents, self.shapes, strict=True))
            ]
        )

    @cached_property
    def rows(self) -> np.ndarray:
        """Return the row of each cell: its parents' configuration. Rows are numbered on from table to table."""
        counts = [prod(shape[:-1]) for shape in self.shapes]
        starts = np.concatenate([[0], np.cumsum(counts)])
        return np.concatenate(
            [np.repeat(np.arange(starts[i], starts[i + 1]), shape[-1]) for i, shape in enumerate(self.shapes)]
        )

    def tables(self, joint: np.ndarray) -> np.ndarray:
        """Return the nodes' tables, end to end, of a joint table."""
        flat = np.asarray(joint).reshape(-1)
        out = np.zeros(self.offsets[-1], dtype=np.int64)
        for cells in self.cells:
            np.add.at(out, cells, flat)
        return out

    def split(self, tables: np.ndarray) -> list[np.ndarray]:
        """Return tables that lie end to end on the last axis one by one, each as rows of labels."""
        return [
            tables[..., first:last].reshape(*tables.shape[:-1], -1, shape[-1])
            for first, last, shape in zip(self.offsets[:-1], self.offsets[1:], self.shapes, strict=True)
        ]


@dataclass(frozen=True)
class NetworkDistribution:
    """The posterior of the joint table, the conditional probabilities integrated out.

    With Dirichlet weights ``alpha`` on each row of conditional probabilities, the records' own distribution gives a
    joint table n of N records the weight

        N! / prod_x n(x)!  prod_nodes prod_rows B(alpha + T(row)) / B(alpha),

    T being the margins that the nodes' tables are, and B the multivariate beta function. The noise multiplies it by the
    probability of every reading, which is exp(-slope |y - T| - curve (y - T)^2) up to a constant: ``slope`` is 0 for
    discrete Gaussian noise, ``curve`` is 0 for discrete Laplace noise.
    """

    structure: Structure
    alpha: np.ndarray
    readings: np.ndarray
    slope: np.ndarray
    curve: np.ndarray

    @cached_property
    def row_alpha(self) -> np.ndarray:
        """The sum of the prior weights of each row."""
        return np.bincount(self.structure.rows, weights=self.alpha)


def conditional_draws(
    structure: Structure, alpha: np.ndarray, tables: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Draw every node's conditional probabilities given its table; draws first, then rows, then labels."""
    weights = np.maximum(rng.standard_gamma(alpha + tables), np.finfo(float).tiny)
    return [part / part.sum(axis=-1, keepdims=True) for part in structure.split(weights)]


def likely_joint(
    structure: Structure, conditionals: Sequence[np.ndarray], n_records: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw a joint table of ``n_records`` records from a network with these conditional probabilities."""
    flat = np.concatenate([np.reshape(part, -1) for part in conditionals])
    chances = np.prod(flat[structure.cells], axis=0)
    return rng.multinomial(n_records, chances / chances.sum())

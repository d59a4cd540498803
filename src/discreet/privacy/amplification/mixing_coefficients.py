"""How much a Markov kernel forgets: the four mixing coefficients of definition 22.

A kernel K takes an input x to a distribution K(x). Each coefficient is the least gamma for which one condition holds;
0 forgets everything, 1 may forget nothing. With D the hockey-stick divergence, over all pairs x, x' of inputs:

    gamma-Dobrushin             TV(K(x), K(x')) <= gamma                    ``dobrushin()``
    (gamma, epsilon)-Dobrushin  D_{e^epsilon}(K(x) || K(x')) <= gamma       ``dobrushin(epsilon)``
    gamma-Doeblin               K(x) >= (1 - gamma) omega for some omega    ``doeblin()``
    gamma-ultra-mixing          dK(x) / dK(x') >= 1 - gamma                 ``ultra_mixing()``

They grow in this order: (gamma, epsilon)-Dobrushin <= Dobrushin <= Doeblin <= ultra-mixing, so that ultra-mixing
implies Doeblin implies Dobrushin implies (gamma, epsilon)-Dobrushin with the same gamma. Lemma 1 and figure 6.1 of the
thesis print the last implication the other way round, which is false: [[.6, .4], [.4, .6]] is (0.06, 0.3)-Dobrushin,
and its total variation is 0.2.

References
----------
Geumlek (2020), definition 22 and lemma 1. Balle, Barthe, Gaboardi and Geumlek (2019), Privacy amplification by mixing
and diffusion mechanisms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import fill
from discreet.checked import checked
from discreet.errors import UsageError
from discreet.privacy.amplification.checks import probabilities
from discreet.privacy.amplification.divergences import hockey_stick_divergence


class MarkovKernel(ABC):
    """A random map from inputs in a known set to outputs; it must not look at the records again.

    A kernel computes its coefficients to a few units in the last place, and 0 only where that is exact.
    """

    @abstractmethod
    @checked
    def dobrushin(self, epsilon: float = 0.0) -> float:
        """Return the largest D_{e^epsilon}(K(x) || K(x')): the Dobrushin coefficient at 0, its generalization above."""

    @abstractmethod
    def doeblin(self) -> float:
        """Return the least gamma with K(x) >= (1 - gamma) omega for all x and one distribution omega."""

    @abstractmethod
    def ultra_mixing(self) -> float:
        """Return the least gamma with dK(x) / dK(x') >= 1 - gamma for all pairs x, x'."""


@dataclass(frozen=True, eq=False)
class FiniteKernel(MarkovKernel):
    """A kernel between finite sets: ``matrix[x, y]`` is the probability of output y for input x.

    References
    ----------
    Geumlek (2020), definition 22. The largest (1 - gamma) omega below all rows is their minimum, so the Doeblin
    coefficient is 1 - sum_y min_x K(x, y).
    """

    matrix: np.ndarray

    def __init__(self, matrix: ArrayLike) -> None:
        rows = probabilities(matrix, "matrix")
        if rows.ndim != 2:
            raise UsageError("matrix must have two axes: inputs, then outputs.")
        rows.setflags(write=False)
        fill(self, matrix=rows)

    @checked
    def dobrushin(self, epsilon: float = 0.0) -> float:
        # one row against all others at a time keeps memory at the size of the matrix
        return max(float(hockey_stick_divergence(row, self.matrix, epsilon).max()) for row in self.matrix)

    def doeblin(self) -> float:
        # a row sums to 1: what it has above the minimum is summed, which is 0 only if all rows are the same
        return min(float((self.matrix - self.matrix.min(axis=0)).sum(axis=1).max()), 1.0)

    def ultra_mixing(self) -> float:
        # the extreme ratio of a column is its least entry over its greatest; outputs nobody reaches do not count
        reached = self.matrix[:, self.matrix.max(axis=0) > 0]
        return float((np.ptp(reached, axis=0) / reached.max(axis=0)).max())

    @checked
    def then(self, other: FiniteKernel) -> FiniteKernel:
        """Return the kernel that feeds this one's output to ``other``."""
        if self.matrix.shape[1] != other.matrix.shape[0]:
            raise UsageError("the outputs of the first kernel must be the inputs of the second.")
        return FiniteKernel(self.matrix @ other.matrix)

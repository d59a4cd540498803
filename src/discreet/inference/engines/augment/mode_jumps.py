r"""Jumps between far modes: a whole new state, from an approximate posterior.

Sweeps and blocks walk; where redaction lets two far parameters explain the same sums, they do not find the other one.
A jump proposes theta' from a density q that has both modes, every usable record anew given theta', and accepts by

    p(theta') noise(y - sums') / q(theta')    over    p(theta) noise(y - sums) / q(theta),

the records' own densities canceling. So q need not be right, only broad enough: here it is a kernel density, with heavy
tails, around draws of the gibbs engine, in the coordinates of the prior's unconstraining transform.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammaln, logsumexp

from discreet.inference.engine import Question
from discreet.inference.engines.gibbs.gibbs_engine import coordinates
from discreet.inference.engines.gibbs.unconstrain import TRANSFORMS, UnconstrainingTransform

# Draws that kernels sit on, and neighbors whose spread makes a kernel's shape.
_CENTERS = 600
_NEIGHBORS = 60
# Kernels are Student t with this many degrees of freedom: their tails cover what the approximation misses.
_DEGREES = 5.0


class ModeJumps:
    """The density q, on the coordinates of the prior's unconstraining transform."""

    def __init__(self, centers: np.ndarray, space: UnconstrainingTransform) -> None:
        self.space = space
        self._centers = centers
        n, d = centers.shape
        # distances in units of each coordinate's spread; the median ignores how far apart modes are
        unit = np.median(np.abs(centers - np.median(centers, axis=0)), axis=0) + 1e-12
        scaled = centers / unit
        near = np.argsort(((scaled[:, None] - scaled) ** 2).sum(axis=2), axis=1)[:, : min(_NEIGHBORS, n)]
        around = centers[near] - centers[near].mean(axis=1, keepdims=True)
        shape = np.einsum("nki,nkj->nij", around, around) / near.shape[1]
        shape[:, range(d), range(d)] += (1e-3 * unit) ** 2
        self._roots = np.linalg.cholesky(shape)
        self._inverse = np.linalg.inv(self._roots)
        self._log_height = (
            gammaln((_DEGREES + d) / 2)
            - gammaln(_DEGREES / 2)
            - d / 2 * np.log(_DEGREES * np.pi)
            - np.log(self._roots[:, range(d), range(d)]).sum(axis=1)
            - np.log(n)
        )

    @classmethod
    def of(cls, question: Question) -> ModeJumps:
        """Put kernels on draws of the gibbs engine."""
        space = TRANSFORMS[type(question.prior)](question.prior)
        _, x, _ = coordinates(replace(question, size=2 * _CENTERS))
        return cls(x[question.rng.permutation(len(x))[:_CENTERS], : space.dim], space)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw coordinates from q."""
        i = rng.integers(len(self._centers))
        step = self._roots[i] @ rng.standard_normal(self._centers.shape[1])
        return self._centers[i] + step * np.sqrt(_DEGREES / rng.chisquare(_DEGREES))

    def log_weight(self, x: np.ndarray) -> float:
        """Return log p - log q at these coordinates."""
        off = np.einsum("nij,nj->ni", self._inverse, x - self._centers)
        d = x.size
        log_kernels = self._log_height - (_DEGREES + d) / 2 * np.log1p((off**2).sum(axis=1) / _DEGREES)
        return float(self.space.log_density(x[None])[0] - logsumexp(log_kernels))

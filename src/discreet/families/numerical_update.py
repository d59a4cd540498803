"""The posterior of a few parameters given sums of their statistics, drawn from a grid, where no conjugate one is known.

The grid lies in coordinates in which the prior is unconstrained. Newton's method finds the mode, the grid is laid along
the directions in which the parameters are uncorrelated there, and laid anew by its own mean and covariance until it
holds what it should: 41 points over eight standard deviations to either side. A draw is a cell, and uniform in it, so
that a variance is too large by 1.3% of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from discreet.errors import UsageError
from discreet.priors.parameters import ParameterPrior

# Points along each side, by the number of parameters, and standard deviations from the middle to either end.
_POINTS = {1: 161, 2: 41, 3: 21}
_REACH = 8.0
# Rounds of Newton's method, the step of its differences, damping factors that are tried; times the grid is laid.
_NEWTON, _STEP, _DAMPING, _LAID = 60, 1e-4, 0.5 ** np.arange(0, 24), 3
# Draws of the prior that show where to begin.
_FIRST = 512


@dataclass(frozen=True)
class SumsSeen:
    """A prior after ``n`` records with these sums; ``log_likelihood`` is a function of parameters in draw order."""

    prior: ParameterPrior
    log_likelihood: Callable[[tuple[np.ndarray, ...]], np.ndarray]
    n: float

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Draw parameters, draws first."""
        if not self.n > 0:
            return self.prior.sample(size, rng)
        center, root = self._mode(rng)
        axis = np.linspace(-_REACH, _REACH, _POINTS[self.prior.dim])
        standard = np.array(list(product(axis, repeat=self.prior.dim)))
        p = self._weights(center, root, standard)
        for _ in range(_LAID - 1):
            center, root = _moments(center + standard @ root.T, p)
            p = self._weights(center, root, standard)
        at = rng.choice(len(p), size, p=p)
        moved = standard[at] + (axis[1] - axis[0]) * (rng.random((size, self.prior.dim)) - 0.5)
        return self.prior.values(center + moved @ root.T)

    def _weights(self, center: np.ndarray, root: np.ndarray, standard: np.ndarray) -> np.ndarray:
        """Return the probabilities of the cells of a grid."""
        log_p = self.log_posterior(center + standard @ root.T)
        p = np.exp(log_p - log_p.max())
        return p / p.sum()

    def log_posterior(self, x: np.ndarray) -> np.ndarray:
        """Return the log density of coordinates, up to a constant; minus infinity where it cannot be computed."""
        with np.errstate(all="ignore"):
            found = self.prior.log_density_at(x) + self.log_likelihood(self.prior.values(x))
        return np.where(np.isfinite(found), found, -np.inf)

    def _mode(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the mode of the coordinates, and a root of the inverse curvature there."""
        x = self.prior.coordinates(self.prior.sample(_FIRST, rng))
        log_p = self.log_posterior(x)
        at, best = x[int(np.argmax(log_p))], float(log_p.max())
        if not np.isfinite(best):
            raise UsageError("these sums are impossible under every parameter that the prior allows.")
        root = np.eye(len(at))
        for _ in range(_NEWTON):
            gradient, root = self._curvature(at)
            tried = at + _DAMPING[:, None] * (root @ (root.T @ gradient))
            log_p = self.log_posterior(tried)
            gained = float(log_p.max()) - best
            if not gained > 1e-9:
                break
            at, best = tried[int(np.argmax(log_p))], float(log_p.max())
        return at, root

    def _curvature(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient, and a root of the inverse of minus the Hessian, made positive; by differences."""
        dim = len(at)
        h = _STEP * np.maximum(1.0, np.abs(at))
        unit = np.diag(h)
        pairs = [(i, j) for i in range(dim) for j in range(i)]
        moves = [np.zeros(dim), *unit, *-unit]
        moves += [a * unit[i] + b * unit[j] for i, j in pairs for a in (1, -1) for b in (1, -1)]
        f = self.log_posterior(at + np.array(moves))
        ahead, back = f[1 : 1 + dim], f[1 + dim : 1 + 2 * dim]
        # beside places where the density is 0 differences are not finite, and are left out
        with np.errstate(invalid="ignore"):
            slope = (ahead - back) / (2 * h)
            hessian = np.diag((ahead - 2 * f[0] + back) / h**2)
            for k, (i, j) in enumerate(pairs):
                four = f[1 + 2 * dim + 4 * k :][:4]
                hessian[i, j] = hessian[j, i] = (four[0] - four[1] - four[2] + four[3]) / (4 * h[i] * h[j])
        if not np.isfinite(hessian).all():
            hessian = -np.eye(dim)
        values, vectors = np.linalg.eigh(-hessian)
        # flat directions are as wide as the prior's coordinates: about one
        gradient = np.nan_to_num(slope, posinf=1.0, neginf=-1.0)
        return gradient, vectors / np.sqrt(np.maximum(values, 1e-2))


def _moments(points: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of points with these probabilities, and a root of their covariance."""
    center = p @ points
    off = points - center
    covariance = (off.T * p) @ off
    return center, np.linalg.cholesky(covariance + np.diag(1e-9 * np.diag(covariance) + 1e-300))

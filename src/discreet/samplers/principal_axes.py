r"""Draws of the mean and covariance of several columns from a tempered posterior, on a product set given the axes.

For a rotation V the log-posterior of m = V c and V diag(lambda) V^T under a normal-inverse-Wishart prior is, with F and
S the sums of z and z z^T over n records, psi the prior's scale, mu its mean, and a grid of equal steps in log lambda,

    sum_i -(n/T + df + d) / 2 log lambda_i
          - [v_i.(S/T + psi + kappa mu mu^T)v_i - 2 c_i v_i.(F/T + kappa mu) + c_i^2 (n/T + kappa)] / (2 lambda_i)
    + sum_{i<j} log abs(lambda_i - lambda_j),

where the last sum is the volume that eigenvalues have among covariance matrices. All but it is a sum over axes, so that
the c_i are summed out one by one, the lambda_i together, and the mass of a rotation is left. A draw is of a rotation,
then of eigenvalues, then of components of the mean: exactly from the posterior on all combinations, of which there are
millions.

Of three and four columns the axes that are tried are far apart, and so are the eigenvalues: from some hundreds of
records per unit of temperature on (n/T), draws scatter more than the tempered posterior does.

The rotations are drawn before and apart from the data, uniformly (for two columns they are equally spaced, from a
random first one), and are not published. Given them a draw is the exponential mechanism; a mixture over what does not
depend on the data costs no more. Sums are in floating point, and the release says so. All of them are made for every
table: the time does not depend on the records but for that of the exponential function.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import logsumexp

from discreet.privacy.costs.principal_axes import PrincipalAxes
from discreet.samplers.chain_draws import choose_states

#: Rotations, and eigenvalues along each axis, by the number of columns; components of the mean along each axis are at
#: least and at most so many.
ROTATIONS: Mapping[int, int] = {2: 256, 3: 512, 4: 512}
EIGENVALUES: Mapping[int, int] = {2: 64, 3: 24, 4: 12}
COMPONENTS, MOST_COMPONENTS = 64, 1024


@dataclass(frozen=True)
class AxesPosterior:
    """What the tempered posterior says, in mapped units: exponents and quadratic forms, prior and records together.

    ``log_power`` multiplies -log(lambda) / 2, ``scatter`` is S/T + psi + kappa mu mu^T, ``pull`` is F/T + kappa mu, and
    ``weight`` is n/T + kappa.
    """

    axes: PrincipalAxes
    log_power: float
    scatter: np.ndarray
    pull: np.ndarray
    weight: float
    n_eigenvalues: int
    n_components: int

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """The possible eigenvalues, equal steps in their logarithm, the limits among them."""
        # the limits exactly: rounding of exp must not leave them
        inner = np.geomspace(float(self.axes.least), float(self.axes.most), self.n_eigenvalues)
        return np.clip(inner, float(self.axes.least), float(self.axes.most))

    @cached_property
    def components(self) -> np.ndarray:
        """The possible components of the mean along an axis, equally spaced, the limits among them."""
        return np.linspace(-float(self.axes.reach), float(self.axes.reach), self.n_components)

    @cached_property
    def log_volume(self) -> np.ndarray:
        """The logarithm of the product of abs(lambda_i - lambda_j), one axis for each eigenvalue."""
        d, total = self.axes.dim, np.zeros((self.n_eigenvalues,) * self.axes.dim)
        with np.errstate(divide="ignore"):
            gaps = np.log(np.abs(self.eigenvalues[:, None] - self.eigenvalues[None, :]))
        for i, j in combinations(range(d), 2):
            shape = [self.n_eigenvalues if k in (i, j) else 1 for k in range(d)]
            total = total + gaps.reshape(shape)
        return total

    def along(self, rotation: np.ndarray) -> np.ndarray:
        """Return the log-weights of axis, eigenvalue and component, for the columns of a rotation."""
        spread = np.einsum("ji,jk,ki->i", rotation, self.scatter, rotation)
        pulled = rotation.T @ self.pull
        c, values = self.components, self.eigenvalues
        quadratic = spread[:, None] - 2 * np.multiply.outer(pulled, c) + self.weight * c**2
        return (
            -self.log_power / 2 * np.log(values)[None, :, None]
            - quadratic[:, None, :] / (2 * values)[:, None]
        )

    def of_eigenvalues(self, rotation: np.ndarray) -> np.ndarray:
        """Return the log-weights of all combinations of eigenvalues, components of the mean summed out."""
        each = np.asarray(logsumexp(self.along(rotation), axis=2))
        total, d = self.log_volume, self.axes.dim
        for i, weights in enumerate(each):
            total = total + weights.reshape([-1 if k == i else 1 for k in range(d)])
        return total

    def sample(
        self, rotations: np.ndarray, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw so many means and covariances, in mapped units."""
        log_mass = np.array([logsumexp(self.of_eigenvalues(rotation)) for rotation in rotations])
        chosen = choose_states(np.broadcast_to(log_mass, (size, len(log_mass))), rng)
        means, covariances = [], []
        for at in chosen:
            rotation = rotations[at]
            cell = choose_states(self.of_eigenvalues(rotation).reshape(1, -1), rng)[0]
            places = np.unravel_index(cell, self.log_volume.shape)
            rows = np.array([axis[place] for axis, place in zip(self.along(rotation), places, strict=True)])
            c, values = self.components[choose_states(rows, rng)], self.eigenvalues[list(places)]
            means.append(rotation @ c)
            covariance = (rotation * values) @ rotation.T
            covariances.append((covariance + covariance.T) / 2)
        return np.array(means), np.array(covariances)


def components_for(axes: PrincipalAxes, weight: float) -> int:
    """Return how many components of the mean to try along an axis, from public numbers alone.

    Their steps are half the least sd that records of this weight leave, if that is not too many.
    """
    sd = math.sqrt(float(axes.least) / weight)
    wanted = math.ceil(4 * float(axes.reach) / sd) + 1
    return min(max(wanted, COMPONENTS), MOST_COMPONENTS)


def draw_rotations(dim: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rotations uniformly, without a look at the data; for two columns equally spaced ones."""
    if dim == 2:
        angles = (rng.random() + np.arange(count)) * np.pi / 2 / count
        return np.moveaxis(
            np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]), 2, 0
        )
    q, r = np.linalg.qr(rng.standard_normal((count, dim, dim)))
    # a uniform distribution needs the signs of r, which the decomposition leaves open
    return q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]

"""The protocol of a family: a likelihood in exponential form, with its conjugate prior.

What holds of every likelihood is in :mod:`discreet.families.likelihood`; statistics and natural parameters have their
components on the last axis.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from discreet.families.derivatives import gradient, hessian
from discreet.families.likelihood import Likelihood, Theta
from discreet.families.record_sums import Support, absolute, known
from discreet.priors.base import Prior

__all__ = ["Family", "Support", "Theta", "absolute", "known"]


class Family(Likelihood):
    r"""A likelihood p(x | theta) = h(x) exp(eta . t(x) - A(eta)) with its conjugate prior.

    Subclasses are frozen dataclasses whose fields are the family's known constants; those fields, and
    :attr:`name`, are what a release file records. Abstract are only the parts that nobody can guess; what has a
    default here is overridden for speed or accuracy.
    """

    has_full_sums: ClassVar[bool] = True
    #: Where each component of the statistic can lie; :meth:`project` clips to it.
    statistic_range: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    # -- the likelihood -------------------------------------------------------------------------------

    def sufficient(self, x: np.ndarray) -> np.ndarray:
        """Return t(x) of each record, components last."""
        x = np.asarray(x, dtype=float)
        columns = [x] if self.n_columns == 1 else [x[..., i] for i in range(self.n_columns)]
        return np.stack(self.geometry.features([self.measure(column) for column in columns]), axis=-1)

    @abstractmethod
    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        """Return log h(x) of each record, ``-inf`` outside the support."""

    @abstractmethod
    def natural(self, theta: Theta) -> np.ndarray:
        """Return eta(theta), components last."""

    @abstractmethod
    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        """Return theta(eta)."""

    @abstractmethod
    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        """Return A(eta)."""

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        """Return E[t(x) | theta], the gradient of A; by finite differences unless a family knows better."""
        return gradient(self.log_partition, self.natural(theta))[0]

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        """Return Cov[t(x) | theta], the Hessian of A, with components on the last two axes; likewise."""
        return hessian(self.log_partition, self.natural(theta))[0]

    def log_density(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        eta, t = np.asarray(self.natural(theta)), self.sufficient(x)
        # an impossible label has eta = -inf; records without it (t = 0) are not affected
        terms = np.multiply(t, eta, out=np.zeros_like(t), where=t != 0)
        return self.log_base_measure(x) + terms.sum(axis=-1) - self.log_partition(eta)

    def log_densities(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        eta = np.asarray(self.natural(theta), dtype=float)
        log_a = np.asarray(self.log_partition(eta), dtype=float)
        flat, shape = x.reshape(-1, *x.shape[2:]), x.shape[:2]
        # far out a statistic may overflow, where the density is nothing
        with np.errstate(all="ignore"):
            terms = self.sufficient(flat).reshape(*shape, eta.shape[-1]) * eta[:, None, :]
            out = self.log_base_measure(flat).reshape(shape) + terms.sum(-1) - log_a[:, None]
        return np.where(np.isnan(out), -np.inf, out)

    # -- conjugacy ------------------------------------------------------------------------------------

    @abstractmethod
    def update(self, prior: Any, s: np.ndarray, n: np.ndarray | float) -> Prior:
        """Return the conjugate posterior after sums ``s`` of the statistic over ``n`` records."""

    def project(self, s: np.ndarray, n: float) -> np.ndarray:
        """Move noisy sums to the nearest ones that ``n`` records could have produced (Foulds 2016, eq. 16).

        Without records (``n`` not positive) the sums are zero.
        """
        s = np.asarray(s, dtype=float)
        if not n > 0:
            return np.zeros_like(s)
        low, high = self.statistic_range
        return np.clip(s, n * low, n * high)

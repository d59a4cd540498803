r"""Proposals from outside: the prior, and the neighborhood of what the readings say at face value.

Where values are redacted, few parameters may be plausible near the face value of the sums, most records being in range,
while many are far away, most records being out of it. Records in range say much, so the first is a narrow mode, and
what closes in from the prior can pass it by. Here kernels of many widths are put around the face value, each is drawn
to where the posterior is heavy within its reach, and draws from them (and from the prior) are offered now and then.
Metropolis weighs them: they need not be right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from discreet.errors import UsageError
from discreet.inference.engines.gibbs.target import Target

# Each kernel stands for this many times fewer records than the one before.
_THINNING = 8.0
# Points that adapt a kernel, how often, and how many of them should matter each time.
_POINTS, _ROUNDS = 64, 6
_MATTER = 0.25
# Kernels are Student t: their tails bridge the widths in between.
_DEGREES = 5.0


@dataclass(frozen=True)
class GlobalProposals:
    """Half draws from the prior (with the usable count uniform), half from kernels, if there are any."""

    target: Target
    centers: np.ndarray
    roots: np.ndarray

    @classmethod
    def of(cls, target: Target, rng: np.random.Generator) -> GlobalProposals:
        """Find the kernels for a target of which something may have been redacted."""
        kernels = _kernels(target, rng)
        d = target.dim
        return cls(
            target,
            np.array([center for center, _ in kernels]).reshape(-1, d),
            np.array([root for _, root in kernels]).reshape(-1, d, d),
        )

    def reference(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw coordinates, as :meth:`Target.reference` does from the prior alone."""
        x = self.target.reference(size, rng)
        if len(self.centers):
            near = np.flatnonzero(rng.random(size) < 0.5)
            which = rng.integers(len(self.centers), size=near.size)
            x[near] = _draw(self.centers[which], self.roots[which], rng)
        return x

    def log_reference(self, x: np.ndarray) -> np.ndarray:
        """Return the density that :meth:`reference` draws from."""
        log_prior = self.target.log_reference(x)
        if not len(self.centers):
            return log_prior
        log_near = [_log_density(x, c, r) for c, r in zip(self.centers, self.roots, strict=True)]
        return np.logaddexp(log_prior, logsumexp(log_near, axis=0) - np.log(len(log_near))) - np.log(2)


def _kernels(target: Target, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return center and root of the covariance of each kernel."""
    assert target.face_value is not None
    s, n = target.face_value
    out = []
    while n >= 1:
        try:
            values = target.family.update(target.transform.prior, s, n).sample(_POINTS, rng)
        except UsageError:
            # readings so far from any table that rounding leaves no distribution: they say nothing at face value
            return out
        x = target.coordinates(values, n, rng)
        kernel = _adapted(target, x.mean(axis=0), _root(x, np.ones(len(x))), rng)
        if kernel is not None:
            out.append(kernel)
        s, n = s / _THINNING, n / _THINNING
    return out


def _adapted(
    target: Target, center: np.ndarray, root: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """Move a kernel to where the posterior is heavy, by weighted draws of itself; None if it is nowhere."""
    for _ in range(_ROUNDS):
        x = _draw(np.broadcast_to(center, (_POINTS, center.size)), root, rng)
        log_weight = target.log_posterior(target.place(x), rough=True) - _log_density(x, center, root)
        log_weight = np.where(np.isnan(log_weight), -np.inf, log_weight)
        if not np.isfinite(log_weight.max()):
            return None
        weight = _evened(log_weight - log_weight.max())
        center = weight @ x / weight.sum()
        root = _root(x, weight)
    return center, root


def _evened(log_weight: np.ndarray) -> np.ndarray:
    """Return weights raised to the largest power, at most 1, that lets enough points matter."""
    power = 1.0
    while True:
        weight = np.exp(power * log_weight)
        if weight.sum() ** 2 >= _MATTER * weight.size * (weight**2).sum() or power < 1e-12:
            return weight
        power /= 1.5


def _root(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of the weighted covariance, a little wider than it is."""
    center = weight @ x / weight.sum()
    off = x - center
    covariance = 1.2 * (off.T * weight) @ off / weight.sum()
    # fewer distinct points than dimensions still give a regular shape
    covariance += np.diag(1e-6 * np.diag(covariance) + 1e-20)
    return np.linalg.cholesky(covariance)


def _draw(centers: np.ndarray, roots: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    z = rng.standard_normal(centers.shape) * np.sqrt(_DEGREES / rng.chisquare(_DEGREES, (len(centers), 1)))
    return centers + (roots @ z[:, :, None])[:, :, 0]


def _log_density(x: np.ndarray, center: np.ndarray, root: np.ndarray) -> np.ndarray:
    d = center.size
    off = np.linalg.solve(root, (x - center).T)
    log_height = gammaln((_DEGREES + d) / 2) - gammaln(_DEGREES / 2) - d / 2 * np.log(_DEGREES * np.pi)
    log_height -= np.log(np.diag(root)).sum()
    return log_height - (_DEGREES + d) / 2 * np.log1p((off**2).sum(axis=0) / _DEGREES)

r"""One or two unknowns: a tree of cells that closes in on the posterior, and nearly independent draws from it.

The box that holds the prior is cut into cells. Within a cell the readings' means move by some amount, which is added to
the spread of the sums as if it were one more source of it: so a peak far narrower than a cell still shows from its
center. Cells that hold something are cut again until the density hardly changes within them. The result, constant on
each cell and mixed with a few global proposals, is an independence proposal; Metropolis with the exact density removes
what the cells got wrong. Weights that are uneven say that the tree has missed something, and the caller falls back on
walkers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from discreet.inference.engines.gibbs.global_proposals import GlobalProposals
from discreet.inference.engines.gibbs.target import Target

MOST_DIM = 2
# cells along each axis of the first level, levels at most, and cells at most in one level
_FIRST = {1: 32, 2: 12}
_LEVELS, _WIDEST = 60, 6000
# cells with a smaller share of the mass are dropped, or cut no further; with a larger one they are always cut
_NOTHING, _LITTLE, _MUCH = 1e-9, 1e-4, 0.02
# a cell at the edge with a larger share says that the box is too small
_EDGE = 1e-6
# variance that moving within a cell may add to that of the readings before the cell counts as blurred
_BLUR = 0.2
# nats by which the log density may differ among the siblings of a finished cell
_STEEP = 1.5
_GLOBAL_SHARE = 0.06
_WALKERS = 64
# e-folds of forgetting before the first draw, and steps they may take at most
_FORGET, _MOST_WARMUP = 5.0, 400
#: Proposals this effective, as a share, make the draws trustworthy.
LEAST_EFFECTIVE = 0.25


@dataclass(frozen=True)
class Frame:
    """Coordinates t of the cells: x = origin + axes t."""

    origin: np.ndarray
    axes: np.ndarray

    def x(self, t: np.ndarray) -> np.ndarray:
        """Return the target's coordinates."""
        return self.origin + t @ self.axes.T

    def t(self, x: np.ndarray) -> np.ndarray:
        """Return the cells' coordinates."""
        return np.linalg.solve(self.axes, (x - self.origin).T).T


@dataclass(frozen=True)
class Leaves:
    """Cells with their shares of the mass: center and half width in the frame, (cells, dimension)."""

    frame: Frame
    center: np.ndarray
    half: np.ndarray
    share: np.ndarray

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return points, and the log density they were drawn with."""
        which = np.searchsorted(np.cumsum(self.share)[:-1], rng.random(size))
        t = self.center[which] + self.half[which] * rng.uniform(-1, 1, (size, self.center.shape[1]))
        return self.frame.x(t), self._log_density(which)

    def _log_density(self, which: np.ndarray) -> np.ndarray:
        log_volume = math.log(abs(np.linalg.det(self.frame.axes)))
        return np.log(self.share[which]) - np.log(2 * self.half[which]).sum(axis=1) - log_volume

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log density at these points, -inf outside the cells."""
        inside = np.asarray((np.abs(self.frame.t(x)[:, None, :] - self.center) <= self.half).all(axis=2))
        return np.where(inside.any(axis=1), self._log_density(inside.argmax(axis=1)), -np.inf)

    def corners(self, least: float) -> np.ndarray:
        """Return the corners of the cells with at least this share, in the target's coordinates."""
        heavy = self.share > least
        return self.frame.x(_children(self.center[heavy], 2 * self.half[heavy])[0])

    def summary(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance in the target's coordinates."""
        mean = self.share @ self.center
        off = self.center - mean
        covariance = (off * self.share[:, None]).T @ off + np.diag(self.share @ self.half**2 / 3)
        return self.frame.x(mean[None])[0], self.frame.axes @ covariance @ self.frame.axes.T


def grow(target: Target, rng: np.random.Generator) -> Leaves | None:
    """Return the cells that hold the posterior, or None if they cannot be found.

    Two rough trees give the place and shape, so that the cells of the third can be cut along a ridge, not across it.
    """
    draws = target.reference(512, rng)
    low, high = draws.min(axis=0), draws.max(axis=0)
    frame = Frame((low + high) / 2, np.diag((high - low) / 8))
    leaves, low, high = None, np.full(target.dim, -6.0), np.full(target.dim, 6.0)
    for enough in (60, 60, _WIDEST):
        leaves = _close_in(target, frame, enough, low, high)
        if leaves is None:
            return None
        origin, covariance = leaves.summary()
        frame = Frame(origin, np.linalg.cholesky(covariance))
        # a second mode may lie many standard deviations away: the next box holds every cell that has some mass
        corners = frame.t(leaves.corners(_EDGE))
        low, high = np.minimum(corners.min(axis=0), -6.0), np.maximum(corners.max(axis=0), 6.0)
    return leaves


def _close_in(target: Target, frame: Frame, enough: int, low: np.ndarray, high: np.ndarray) -> Leaves | None:
    """Cover the posterior by cells of the box and beyond, cut until they are smooth or there are enough of them."""
    n = _FIRST[target.dim]
    center, half = _grid(low, high, n)
    for _ in range(20):
        log_mass, _, _ = _weigh(target, frame, center, half)
        if not np.isfinite(log_mass.max()):
            return None
        heavy = softmax(log_mass) > _EDGE
        width = high - low
        below = (center - half)[heavy].min(axis=0) <= low + 1e-6 * width
        above = (center + half)[heavy].max(axis=0) >= high - 1e-6 * width
        if not (below.any() or above.any()):
            break
        low, high = np.where(below, low - width / 2, low), np.where(above, high + width / 2, high)
        center, half = _grid(low, high, n)
    return _refine(target, frame, center, half, enough)


def _grid(low: np.ndarray, high: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut a box into n cells along each axis, in sibling order."""
    half = (high - low) / n
    steps = np.stack(np.meshgrid(*[np.arange(n // 2)] * len(low), indexing="ij"), axis=-1)
    parents = low + half * (2 * steps.reshape(-1, len(low)) + 1)
    return _children(parents, np.broadcast_to(half, parents.shape))


def _children(center: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Halve cells along each axis; siblings stay together."""
    d = center.shape[1]
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * d, indexing="ij")).reshape(d, -1).T
    halves = np.repeat(half / 2, 2**d, axis=0)
    return np.repeat(center, 2**d, axis=0) + np.tile(signs, (len(center), 1)) * halves, halves


def _weigh(
    target: Target, frame: Frame, center: np.ndarray, half: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log mass of cells, how much the log density changes among siblings, and whether blurring matters."""
    d = center.shape[1]
    place = target.place(frame.x(center))
    shape = (len(place.residual), -1, *(2,) * d)
    residual = place.residual.reshape(shape)
    moved = np.zeros_like(place.residual)
    for axis in range(d):
        # siblings are a cell's width apart: half their difference is how far the mean moves from center to edge
        step = np.diff(residual, axis=2 + axis) ** 2 / 4
        moved += np.broadcast_to(step, residual.shape).reshape(moved.shape)
    own = np.einsum("jjc->jc", place.covariance)
    blurred = np.asarray((moved > _BLUR * (own + target.readings.noise_variance)).any(axis=0))
    own += moved
    log_p = target.log_posterior(place, rough=True)
    log_p = np.where(np.isnan(log_p), -np.inf, log_p)
    siblings = log_p.reshape(-1, 2**d)
    top = siblings.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        change = np.where(np.isfinite(top), top - siblings.min(axis=1, keepdims=True), 0.0)
    log_mass = log_p + np.log(2 * half).sum(axis=1)
    return log_mass, np.broadcast_to(change, siblings.shape).ravel(), blurred


def _refine(target: Target, frame: Frame, center: np.ndarray, half: np.ndarray, enough: int) -> Leaves | None:
    done: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    finished = -math.inf
    for _ in range(_LEVELS):
        log_mass, change, blurred = _weigh(target, frame, center, half)
        total = np.logaddexp(finished, np.logaddexp.reduce(log_mass))
        if not np.isfinite(total):
            return None
        share = np.exp(log_mass - total)
        heavy = share > _NOTHING
        cut = (share > _LITTLE) & (blurred | (change > _STEEP)) | (share > _MUCH)
        if cut.sum() >= enough and enough < _WIDEST:
            cut[:] = False
        elif cut.sum() > _WIDEST:
            return None
        rest = heavy & ~cut
        done.append((center[rest], half[rest], log_mass[rest]))
        finished = np.logaddexp(finished, np.logaddexp.reduce(log_mass[rest], initial=-math.inf))
        if not cut.any():
            break
        center, half = _children(center[cut], half[cut])
    else:
        return None
    center, half, log_mass = (np.concatenate(parts) for parts in zip(*done, strict=True))
    return Leaves(frame, center, half, softmax(log_mass))


def sample(target: Target, size: int, chains: int, rng: np.random.Generator) -> np.ndarray | None:
    """Draw coordinates (size, dimension), chain after chain, or return None where the tree is no good proposal."""
    leaves = grow(target, rng)
    if leaves is None:
        return None
    per_chain = size // chains
    each = max(1, min(_WALKERS // chains, per_chain // 8))
    n_walkers, steps = each * chains, math.ceil(per_chain / each)
    others = target if target.face_value is None else GlobalProposals.of(target, rng)

    def propose(size: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw from the leaves and, to find distant modes, a few global ones; return points and their log weights."""
        x, log_q = leaves.sample(size, rng)
        far = rng.random(size) < _GLOBAL_SHARE
        x[far] = others.reference(int(far.sum()), rng)
        log_q[far] = leaves.log_density(x[far])
        log_far = math.log(_GLOBAL_SHARE) + others.log_reference(x)
        log_q = np.logaddexp(math.log1p(-_GLOBAL_SHARE) + log_q, log_far)
        log_w = target.log_posterior(target.place(x)) - log_q
        return x, np.where(np.isnan(log_w), -np.inf, log_w)

    x, log_w = propose(n_walkers * steps)
    top = log_w.max()
    if not np.isfinite(top):
        return None
    weights = np.exp(log_w - top)
    if weights.sum() ** 2 / (weights**2).sum() < LEAST_EFFECTIVE * weights.size:
        return None
    # chains forget their start at a rate of one over the largest weight, in units of the mean
    warmup = math.ceil(_FORGET / float(weights.mean()))
    if warmup > _MOST_WARMUP:
        return None
    first, log_first = propose(n_walkers * warmup)
    log_w = np.concatenate([log_first, log_w]).reshape(warmup + steps, n_walkers)
    path = _metropolis(log_w, rng)[warmup:]
    picked = path.T.reshape(chains, -1)[:, :per_chain]
    return np.concatenate([first, x])[picked.ravel()]


def _metropolis(log_w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Run independence chains over proposals with these log weights, (steps, walkers); return which each one holds."""
    steps, n = log_w.shape
    index = np.arange(steps * n).reshape(steps, n)
    out = np.empty((steps, n), dtype=int)
    now, log_now = index[0].copy(), log_w[0].copy()
    log_u = np.log1p(-rng.random((steps, n)))
    for step in range(steps):
        # a chain that starts where the density is zero takes whatever comes
        taken = ~(log_u[step] > log_w[step] - np.where(np.isfinite(log_now), log_now, -1e300))
        now = np.where(taken, index[step], now)
        log_now = np.where(taken, log_w[step], log_now)
        out[step] = now
    return out

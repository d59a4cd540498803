"""Draws of a table's means and covariance matrix given noisy sums.

Where noise is small beside what the prior spans, sums without noise are proposed as the noisy ones less fresh noise,
which is their distribution under a flat prior, and resampled by the weak prior: independent draws. Elsewhere
Hamiltonian moves start from a rough mode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.inference.diagnostics import bulk_ess
from discreet.inference.engine import LONG, spend
from discreet.inference.regression.moment_prior import MEAN_SD, SPREAD, log_prior
from discreet.inference.regression.moment_readings import Readings

# eigenvalues of the covariance at the start are at least this, or half the noise
_FLOOR = 0.01
_MOST_STEPS = 24
_LOG_STEP = np.log(0.25)
_MOST_CLIMBS, _MOST_HALVINGS, _LEAST_GAIN = 40, 12, 0.5
# proposals for each independent draw, the share of them that must count, and the most that one may count for
_PROPOSED, _LEAST_EFFECTIVE, _MOST_SHARE = 2, 0.5, 0.01
_LEAST_PIVOT = 1e-12
# numbers of all proposals together that memory should hold
_MOST_NUMBERS = 250_000_000
# the share of draws that should be effective, the most moves that are made for one draw, and seconds for all of them
_ENOUGH, _MOST_MOVES, _LONGER = 0.2, 16, 6.0
# seconds of one move, and how they grow with the square of the dimension; measured
_SECONDS, _MORE_SECONDS = 1e-5, 3e-9


@dataclass(frozen=True)
class MomentDraws:
    """Means (draws × p), lower roots of covariance matrices (draws × p × p) and numbers of records of the table."""

    mean: np.ndarray
    root: np.ndarray
    records: np.ndarray

    def part(self, terms: list[int]) -> MomentDraws:
        """Return the moments of these terms, in this order."""
        if terms == list(range(self.mean.shape[1])):
            return self
        return MomentDraws(
            self.mean[:, terms],
            np.linalg.cholesky(self.covariance[:, terms][:, :, terms]),
            self.records,
        )

    @property
    def covariance(self) -> np.ndarray:
        """The covariance matrices."""
        return self.root @ self.root.swapaxes(1, 2)


def draw_moments(
    readings: Readings, counts: np.ndarray, size: int, chains: int, rng: np.random.Generator
) -> MomentDraws:
    """Draw moments of the table, ``size`` in all, chain after chain; ``counts`` are draws of the number of records."""
    # noise that is drawn jointly is moved through: fresh draws of it cost as much
    found = None if readings.joint else independent_moments(readings, counts, size, rng)
    return found or moved_moments(readings, counts, size, chains, rng)


def independent_moments(
    readings: Readings, counts: np.ndarray, size: int, rng: np.random.Generator
) -> MomentDraws | None:
    """Draw them by resampling proposals without noise; None where too few of them count.

    Given n the posterior of the sums s is noise(y - s) prior(m, W) / n^D for D distinct sums: s = y - noise has its
    first factor as its density, and the others are its weight: 0 if no table has such sums, and bounded.
    """
    wide = _PROPOSED * size
    if wide * readings.size**2 > _MOST_NUMBERS:
        return None
    n = rng.choice(counts, wide) if len(counts) > 1 else np.full(wide, counts[0])
    noise = rng.laplace if readings.laplace else rng.normal
    mean = (readings.means - noise(0.0, readings.mean_scales, (wide, readings.size))) / n[:, None]
    rows, columns = np.nonzero(np.tril(~readings.tied))
    sums = readings.products[rows, columns] - noise(
        0.0, readings.product_scales[rows, columns], (wide, len(rows))
    )
    second = np.zeros((wide, readings.size, readings.size))
    second[:, rows, columns] = second[:, columns, rows] = sums / n[:, None]
    for j, k in np.argwhere(readings.tied):
        a, b = readings.other[j, k]
        repeated = mean[:, b - 1] if a == 0 else second[:, a - 1, b - 1]
        second[:, j, k] = 0.0 if a < 0 else 1.0 if b == 0 else repeated
    root, possible = _roots(second - mean[:, :, None] * mean[:, None, :])
    if possible.sum() < _LEAST_EFFECTIVE * wide:
        return None
    mean, root, n = mean[possible], root[possible], n[possible]
    log_weights = log_prior(mean, root) - (readings.size + len(rows)) * np.log(n)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    if 1 / (weights**2).sum() < _LEAST_EFFECTIVE * wide or weights.max() > _MOST_SHARE:
        return None
    chosen = rng.permutation(resampled(weights, size, rng))
    return MomentDraws(mean[chosen], root[chosen], n[chosen])


def _roots(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return lower roots of symmetric matrices, and which of them are positive definite: the others have none."""
    root = np.zeros_like(matrices)
    possible = np.ones(len(matrices), dtype=np.bool_)
    for j in range(matrices.shape[1]):
        rest = matrices[:, j:, j] - np.einsum("nik,nk->ni", root[:, j:, :j], root[:, j, :j])
        possible &= rest[:, 0] > _LEAST_PIVOT
        rest[~possible] = 0.0
        root[:, j:, j] = rest / np.sqrt(np.maximum(rest[:, :1], _LEAST_PIVOT))
    return root, possible


def moved_moments(
    readings: Readings, counts: np.ndarray, size: int, chains: int, rng: np.random.Generator
) -> MomentDraws:
    """Draw them by Hamiltonian moves."""
    from discreet.inference.regression.moment_kernels import walk

    p = readings.size
    n, counts = float(np.median(counts)), np.sort(counts)
    q = possible_start(readings, n)
    dim, each = len(q), size // chains
    warm = [150, 250 + dim, 400 + 3 * dim]
    burn = 50 + dim // 2
    each_move = _SECONDS + _MORE_SECONDS * dim**2
    seconds = each_move * (sum(warm) + size + chains * burn)
    spend(seconds, hint=_instead(seconds))
    most = min(max(int(_LONGER / (each_move * size)), 1), _MOST_MOVES)
    given = readings.given(n)
    q = _climbed(readings, n, q)
    log_step, states, records = _LOG_STEP, q[None], np.array([n])
    seen = None
    for moves in warm:
        center = states[len(states) // 2 :].mean(axis=0)
        root = _root(readings, n, center, seen)
        states, records, _, log_step = walk(
            states[-1], records[-1], counts, root, log_step, _MOST_STEPS, True, moves, 0, rng, *given
        )
        # of the first window nothing is learned but where the middle is
        seen = states if moves != warm[0] else None
    late, thin = len(states) // 4, 1
    while True:
        root = _root(readings, n, states[late:].mean(axis=0), states[late:])
        # adapt the step to the last root, then go on from places that are far apart
        states, records, _, log_step = walk(
            states[-1], records[-1], counts, root, log_step, _MOST_STEPS, True, 100, 0, rng, *given
        )
        runs, how = [], (counts, root, log_step, _MOST_STEPS, False, burn, each * thin, rng, *given)
        for _ in range(chains):
            at = rng.integers(len(states))
            moved, numbers, _, _ = walk(states[at], records[at], *how)
            runs.append((moved[burn + thin - 1 :: thin], numbers[burn + thin - 1 :: thin]))
        states, records = (np.concatenate(one) for one in zip(*runs, strict=True))
        mean, lower = unpacked(states, p)
        needed = math.ceil(_ENOUGH * size / _least_effective(lower, chains))
        if needed <= 1 or thin == most:
            return MomentDraws(mean, lower, records)
        # once more, with what these chains have shown of where the states lie, and so many moves for each draw
        late, thin = 0, min(thin * needed, most)
        seconds += each_move * chains * (burn + each * thin)
        spend(each_move * chains * (burn + each * thin), hint=_instead(seconds))


def _instead(seconds: float) -> str:
    """Return what to do where a reading would take so many seconds."""
    fewer = (
        "release fewer terms, with rare labels joined; dc.regress(release, features=[...]) reads some columns"
    )
    # by name an engine may do more, and moves may have to be made again
    return f"engine='gibbs' takes about {2 * seconds:,.0f} s" if seconds < LONG / 2 else fewer


def slopes_of(root: np.ndarray) -> np.ndarray:
    """Return the slopes of the last term on the others, given lower roots of covariance matrices."""
    inner = root[:, :-1, :-1].swapaxes(1, 2)
    return np.linalg.solve(inner, root[:, -1, :-1, None])[..., 0]


def _least_effective(root: np.ndarray, chains: int) -> float:
    """Return the effective number of draws of the slope, or log residual sd, whose place or spread has fewest."""
    told = np.column_stack([slopes_of(root), np.log(root[:, -1, -1])])
    told = np.column_stack([told, np.abs(told - np.median(told, axis=0))])
    found = bulk_ess(told.reshape(chains, -1, told.shape[1]))
    return max(float(np.nan_to_num(found, nan=np.inf).min()), 1.0)


def resampled(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return places drawn by weights that add up to 1, systematically: each about size times its weight."""
    places = np.searchsorted(np.cumsum(weights), (np.arange(size) + rng.random()) / size)
    return np.minimum(places, len(weights) - 1)


def unpacked(states: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return means and lower Cholesky factors of states."""
    lower = np.zeros((len(states), p, p))
    rows, columns = np.tril_indices(p)
    lower[:, rows, columns] = states[:, p:]
    at = np.arange(p)
    lower[:, at, at] = np.exp(lower[:, at, at])
    return states[:, :p], lower


def possible_start(readings: Readings, n: float) -> np.ndarray:
    """Return a possible state near the noisy sums."""
    mean, covariance = readings.at_face_value(n)
    mean = np.clip(mean, -0.7, 0.7)
    noise = float(readings.sds[0].max()) / n
    floor = min(max(_FLOOR, 0.3 * noise), 0.1)
    spectrum, vectors = np.linalg.eigh(np.nan_to_num(covariance))
    covariance = (vectors * np.clip(spectrum, floor, 0.6)) @ vectors.T
    shrink = np.minimum(1.0, np.sqrt(0.8 * (1 - mean**2) / np.diag(covariance)))
    # of signs the mean says what the variance is
    signs = readings.tied.diagonal() & (readings.other.sum(axis=2).diagonal() == 0)
    shrink = np.where(signs, np.sqrt((1 - mean**2) / np.diag(covariance)), shrink)
    lower = np.linalg.cholesky(covariance * np.outer(shrink, shrink))
    return np.concatenate([mean, _packed(lower)])


def _climbed(readings: Readings, n: float, q: np.ndarray) -> np.ndarray:
    """Return a state near the mode, as it would be if the noise were normal: Laplace noise has edges to be stuck at."""
    from discreet.inference.regression.moment_kernels import log_density

    mean_sds, product_sds = readings.sds
    sds = np.where(readings.tied, 1.0, product_sds)
    given = (readings.means, mean_sds, False, readings.products, sds, readings.tied, readings.other)
    given = (*given, readings.tie(n), np.zeros((1, 0)), readings.thinned[1])
    p = readings.size
    work = [np.zeros((p, p)) for _ in range(3)]
    slope, tried = np.zeros(len(q)), np.zeros(len(q))
    height = log_density(q, slope, n, *given, *work)
    for _ in range(_MOST_CLIMBS):
        step = np.linalg.solve(_precision(readings, n, q), slope)
        length = min(1.0, 2.0 / float(np.abs(step).max()))
        for _ in range(_MOST_HALVINGS):
            found = log_density(q + length * step, tried, n, *given, *work)
            if found > height:
                break
            length /= 2
        else:
            return q
        gained, q, height = found - height, q + length * step, found
        slope[:] = tried
        if gained < _LEAST_GAIN:
            return q
    return q


def _packed(lower: np.ndarray) -> np.ndarray:
    rows, columns = np.tril_indices(len(lower))
    values = lower[rows, columns]
    values[rows == columns] = np.log(values[rows == columns])
    return values


def _root(readings: Readings, n: float, at: np.ndarray, states: np.ndarray | None) -> np.ndarray:
    """Return a root of the covariance of the states: of those seen, drawn to what the noise and the prior say."""
    dim = len(at)
    expected = np.linalg.inv(_precision(readings, n, at))
    if states is not None and len(states) > 20:
        weight = len(states) / (len(states) + 1.5 * dim)
        expected = weight * np.cov(states.T) + (1 - weight) * expected
    try:
        return np.linalg.cholesky(expected + 1e-14 * np.eye(dim))
    except np.linalg.LinAlgError:
        # next to no noise: the inverse is no covariance to the last digit
        spectrum, vectors = np.linalg.eigh(0.5 * (expected + expected.T))
        return vectors * np.sqrt(np.maximum(spectrum, 1e-14))


def _precision(readings: Readings, n: float, at: np.ndarray) -> np.ndarray:
    """Return the precision of a state near ``at``: of the noise, by its derivatives, and roughly of the prior."""
    p, dim = readings.size, len(at)
    means, lowers = unpacked(at[None], p)
    m, lower = means[0], lowers[0]
    change = np.zeros((dim, p, p))
    for j in range(p):
        change[j, j] += m
        change[j, :, j] += m
    rows, columns = np.tril_indices(p)
    for i, (a, b) in enumerate(zip(rows, columns, strict=True)):
        factor = lower[a, a] if a == b else 1.0
        change[p + i, a] += factor * lower[:, b]
        change[p + i, :, a] += factor * lower[:, b]
    first = np.zeros((dim, p))
    first[:p, :p] = np.eye(p)
    mean_sds, product_sds = readings.sds
    parts = [first * (n / mean_sds)]
    for j, k in zip(rows, columns, strict=True):
        if not readings.tied[j, k]:
            parts.append(change[:, j, k, None] * (n / product_sds[j, k]))
            continue
        a, b = readings.other[j, k]
        repeated = 0.0 if b <= 0 else first[:, b - 1] if a == 0 else change[:, a - 1, b - 1]
        parts.append((change[:, j, k] - repeated)[:, None] / readings.tie(n))
    every = np.concatenate(parts, axis=1)
    prior = np.full(dim, MEAN_SD**-2)
    prior[p:] = np.where(rows == columns, 2 * SPREAD**-2, 1.0 / np.diag(lower)[columns] ** 2 / 4)
    return every @ every.T + np.diag(prior)

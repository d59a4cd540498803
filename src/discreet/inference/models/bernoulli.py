r"""The exact engine of a Bernoulli release: the yes and no counts are enumerated and drawn, then the parameter.

No approximation beyond dropping less than 1e-12 of the mass, and the cost follows the width of the noise, not the
number of records. Under ``add_remove`` the two counts are the cells of :mod:`discreet.inference.counts.latent_cells`.

Under ``replace``, with c yes among u usable records, the release saw z = 2c - u plus noise and, when missing values are
counted, u plus noise. Given the data the parameter is Beta(a + c, b + u - c), so the posterior is a mixture over the
latent counts:

    P(u, c | y)  ~  p(u) g_a(c) g_b(u - c) / g_{a+b}(u) * noise_z(y_z - 2c + u) * noise_u(y_u - u),

with g from :mod:`discreet.inference.counts.weights` and p the prior on the usable count, which follows from that on the
number of missing values (they are ignorable). A row of fixed u is a product of slices of three one-dimensional tables,
so it costs two multiplications per count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from discreet.artifact import Release
from discreet.errors import OutOfReachError
from discreet.inference.counts.latent_cells import CellCounts, cell_counts
from discreet.inference.counts.weights import (
    DEPTH,
    dirichlet_columns,
    locate,
    log_rising,
    rough_log_rising,
    sample_index,
    spread,
)
from discreet.inference.engine import Answer, Engine, Question, reads_all, too_wide
from discreet.inference.record_prior import CountPrior, RecordPrior
from discreet.priors import Beta
from discreet.privacy import Noise

# Some ten seconds of work; with missing values counted epsilon would have to be below 0.0015 to need more.
_MOST_CELLS = 5e9
# What a table along one count may hold, in memory.
_LONGEST = 8e6
# Tables whose entries span less than e^600 together can be multiplied; others are added as logs.
_DEEPEST = 600.0
_BLOCK = 100_000
# Up to this many records every count is enumerated, which is faster than finding a window.
_SHORT = 2048
_LOWEST = -1e300
# Standard deviations that no noise goes.
_FAR = 100.0


@dataclass(frozen=True)
class BinaryCounts:
    """The posterior over (usable, yes): the log weight of each row, and the tables rows are made of.

    In the row of u, the j-th entry has z = z_low + 2j (one more if u and z_low differ in parity), yes = (u + z) / 2
    and no = (u - z) / 2. Tables start at ``yes_low`` and, read backwards, at ``no_high``; counts below 0 weigh
    nothing. They hold weights, or logs of weights when the prior is too strong to multiply.
    """

    usable: np.ndarray
    log_usable: np.ndarray
    yes: np.ndarray
    no_backwards: np.ndarray
    noise: np.ndarray
    yes_low: int
    no_high: int
    z_low: int
    as_logs: bool

    @property
    def n_pairs(self) -> int:
        """How many pairs of counts the window holds, at most."""
        return self.usable.size * self.noise.size

    def _rows(self, usable: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield blocks of rows: positions in ``usable``, first counts of yes, weights, logs of what was divided out."""
        for parity in (0, 1):
            mine = np.flatnonzero((usable - self.z_low) % 2 == parity)
            noise = self.noise[parity::2]
            if mine.size == 0 or noise.size == 0:
                continue
            z = self.z_low + parity
            yes = sliding_window_view(self.yes, noise.size)
            no = sliding_window_view(self.no_backwards, noise.size)
            step = max(1, _BLOCK // noise.size)
            for block in (mine[k : k + step] for k in range(0, mine.size, step)):
                first = (usable[block] + z) // 2
                start_no = self.no_high - (usable[block] - z) // 2
                if self.as_logs:
                    weights = yes[first - self.yes_low] + no[start_no] + noise
                    peak = np.maximum(weights.max(axis=1), _LOWEST)
                    weights = np.exp(weights - peak[:, None])
                else:
                    weights = yes[first - self.yes_low] * no[start_no]
                    weights *= noise
                    peak = np.zeros(block.size)
                yield block, first, weights, peak

    @cached_property
    def _log_sums(self) -> np.ndarray:
        """Log weight of each row, of its first entry, and of its last, up to one constant."""
        out = np.full((3, self.usable.size), -np.inf)
        with np.errstate(divide="ignore"):
            for block, _, weights, peak in self._rows(self.usable):
                out[:, block] = np.log([weights.sum(axis=1), weights[:, 0], weights[:, -1]]) + peak
        return out + self.log_usable

    @property
    def log_rows(self) -> np.ndarray:
        """Log weight of each usable count, up to one constant."""
        return self._log_sums[0]

    def heavy_edges(self) -> tuple[bool, bool, bool, bool]:
        """Tell which edges of the window carry weight: lowest usable, highest, lowest z, highest."""
        rows, first, last = self._log_sums
        light = rows.max() - DEPTH
        return rows[0] > light, rows[-1] > light, first.max() > light, last.max() > light

    def probabilities(self) -> dict[tuple[int, int], float]:
        """Return P(usable, yes | y) of every pair in the window; for small windows."""
        row_mass = np.exp(self.log_rows - np.logaddexp.reduce(self.log_rows))
        out: dict[tuple[int, int], float] = {}
        for block, first, weights, _ in self._rows(self.usable):
            for i, c, w in zip(block, first, weights, strict=True):
                if row_mass[i] > 0:
                    share = row_mass[i] * w / w.sum()
                    out.update(
                        {(int(self.usable[i]), int(c) + j): float(p) for j, p in enumerate(share) if p > 0}
                    )
        return out

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw (no, yes) counts from the posterior, independently."""
        rows = sample_index(np.exp(self.log_rows - self.log_rows.max()), size, rng)
        drawn, which = np.unique(rows, return_inverse=True)
        level = rng.random(size)
        yes = np.empty(size, dtype=np.int64)
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(drawn.size + 1))
        for block, first, weights, _ in self._rows(self.usable[drawn]):
            cumulative = np.cumsum(weights, axis=1)
            cumulative /= cumulative[:, -1:]
            # row i of the block takes up [i, i + 1) of one increasing sequence, searched once for all draws
            cumulative += np.arange(block.size)[:, None]
            mine = np.concatenate([order[bounds[k] : bounds[k + 1]] for k in block])
            row = np.repeat(np.arange(block.size), np.diff(bounds)[block])
            place = np.searchsorted(cumulative.ravel(), row + level[mine], side="right")
            yes[mine] = first[row] + np.minimum(place - row * weights.shape[1], weights.shape[1] - 1)
        return self.usable[rows] - yes, yes


@dataclass(frozen=True)
class YesCounts:
    """The posterior over the count of yes when all ``n`` records are usable: weights of yes from ``low`` on."""

    n: int
    low: int
    weights: np.ndarray

    @property
    def n_pairs(self) -> int:
        """How many pairs of counts the window holds."""
        return self.weights.size

    def probabilities(self) -> dict[tuple[int, int], float]:
        """Return P(usable, yes | y) of every pair in the window."""
        shares = self.weights / self.weights.sum()
        return {(self.n, self.low + i): float(p) for i, p in enumerate(shares)}

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw (no, yes) counts from the posterior, independently."""
        yes = self.low + sample_index(self.weights, size, rng)
        return self.n - yes, yes


def draw(question: Question) -> Answer:
    """Draw from the exact posterior, independently."""
    prior, rng = question.prior, question.rng
    counts = bernoulli_counts(question.release, prior, question.usable)
    drawn = counts.sample(question.size, rng)
    no, yes = drawn.T if isinstance(drawn, np.ndarray) else drawn
    usable = counts.n if isinstance(counts, YesCounts) else no + yes
    a, b = float(prior.a), float(prior.b)
    p = _betas(a + yes, b + no, a + b + usable, rng)
    return Answer({"p": p}, table={"usable": no + yes, "yes": yes})


def bernoulli_counts(
    release: Release, prior: Beta, records: CountPrior
) -> BinaryCounts | YesCounts | CellCounts:
    """Return the posterior of the no and yes counts; ``records`` is the prior on how many are usable."""
    values, noise = release.totals.values, release.noise
    if release.records is None:
        alpha = np.array([prior.b, prior.a], dtype=float)
        usable = (values[2], noise[2]) if len(values) > 2 else None
        return cell_counts(alpha, np.array(values[:2]), noise[:2], records, usable)
    if len(values) == 1:
        return yes_counts(prior.a, prior.b, release.records, values[0], noise[0])
    counted = RecordPrior(0, release.records) if records.high is None else records
    return binary_counts(prior.a, prior.b, counted, (values[0], noise[0]), (values[1], noise[1]))


def yes_counts(a: float, b: float, n: int, y_z: int, noise: Noise) -> YesCounts:
    """Enumerate the counts of yes among ``n`` usable records, from the reading of z = 2 yes - n."""
    low, high = 0, n
    if n > _SHORT:

        def rough(c: np.ndarray) -> np.ndarray:
            return rough_log_rising(a, c) + rough_log_rising(b, n - c) + noise.log_mass(y_z + n - 2 * c)

        likely = [(y_z + n) / 2, n * a / (a + b)]
        low, high = locate(rough, 0, n, likely, finest=max(1.0, noise.sd / 8))
    if high - low > _LONGEST:
        raise too_wide()
    log_weights = log_rising(a, low, high) + log_rising(b, n - high, n - low)[::-1]
    log_weights += noise.log_mass(np.arange(y_z + n - 2 * low, y_z + n - 2 * high - 1, -2))
    return YesCounts(n, low, np.exp(log_weights - log_weights.max()))


def binary_counts(
    a: float, b: float, prior: CountPrior, read_z: tuple[int, Noise], read_usable: tuple[int, Noise]
) -> BinaryCounts:
    """Enumerate the counts of usable and of yes, from the readings of z and of the usable count.

    ``prior`` is that on the usable count, which must have an end.
    """
    least, n = prior.low, prior.high
    assert n is not None
    # the difference of yes and no is at most their sum; few counts can be gone through even if no noise goes that far
    if n > _SHORT and abs(read_z[0]) - max(read_usable[0], 0) > _FAR * (read_z[1].sd + read_usable[1].sd):
        raise OutOfReachError(
            "the two readings contradict each other by more than noise of their scale could explain."
        )
    (u_low, u_high), (z_low, z_high) = _windows(a, b, prior, *read_z, *read_usable)
    while True:
        counts = _enumerate(a, b, (u_low, u_high), (z_low, z_high), read_z, read_usable, prior)
        heavy = counts.heavy_edges()
        u_more, z_more = u_high - u_low + 1, z_high - z_low + 2
        wider = (
            max(least, u_low - u_more) if heavy[0] else u_low,
            min(n, u_high + u_more) if heavy[1] else u_high,
            max(-n, z_low - z_more) if heavy[2] else z_low,
            min(n, z_high + z_more) if heavy[3] else z_high,
        )
        # the windows came from a coarse grid; if an edge turns out to carry weight there was more beyond it
        if wider == (u_low, u_high, z_low, z_high):
            return counts
        u_low, u_high, z_low, z_high = wider


def _enumerate(
    a: float,
    b: float,
    u_window: tuple[int, int],
    z_window: tuple[int, int],
    read_z: tuple[int, Noise],
    read_usable: tuple[int, Noise],
    prior: CountPrior,
) -> BinaryCounts:
    """Make the tables over the two windows."""
    (u_low, u_high), (z_low, z_high), (y_z, noise_z) = u_window, z_window, read_z
    # at least one difference is possible, however far the readings contradict each other
    z_low, z_high = (min(max(z, -u_high), u_high) for z in (z_low, z_high))
    longest = max(u_high - u_low, z_high - z_low)
    if longest > _LONGEST or (u_high - u_low + 1) * (z_high - z_low + 1) / 2 > _MOST_CELLS:
        raise too_wide()
    usable = np.arange(u_low, u_high + 1)
    log_usable = read_usable[1].log_mass(read_usable[0] - usable) - log_rising(a + b, u_low, u_high)
    log_usable = log_usable + prior.log_mass(usable)
    # yes = (u + z) / 2 and no = (u - z) / 2 over the two windows
    yes_low, yes_high = (u_low + z_low) // 2, (u_high + z_high + 1) // 2
    no_low, no_high = (u_low - z_high) // 2, (u_high - z_low + 1) // 2
    tables = [
        _log_table(a, yes_low, yes_high),
        _log_table(b, no_low, no_high)[::-1],
        noise_z.log_mass(y_z - np.arange(z_low, z_high + 1)),
    ]
    tables = [table - table.max() for table in tables]
    as_logs = sum(-table[np.isfinite(table)].min() for table in tables) > _DEEPEST
    yes, no_backwards, noise = tables if as_logs else [np.exp(table) for table in tables]
    return BinaryCounts(usable, log_usable, yes, no_backwards, noise, yes_low, no_high, z_low, as_logs)


def _log_table(alpha: float, low: int, high: int) -> np.ndarray:
    """Return log g over [low, high], minus infinity below 0."""
    return np.concatenate([np.full(max(0, -low), -np.inf), log_rising(alpha, max(low, 0), high)])


def _windows(
    a: float, b: float, prior: CountPrior, y_z: int, noise_z: Noise, y_usable: int, noise_usable: Noise
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the ranges of u and of z that matter when u is uncertain, from nodes of (u, z)."""
    share = a / (a + b)
    least, n = prior.low, prior.high
    assert n is not None
    peaks = prior.nodes
    u = spread(least, n, [y_usable, abs(y_z)], finest=max(1.0, noise_usable.sd / 2), per_fold=2)
    u = np.union1d(u, peaks)
    likely = (2 * share - 1) * min(max(y_usable, 0), n)
    z = spread(-n, n, [y_z, likely], finest=max(1.0, noise_z.sd / 2), per_fold=2)
    size = np.inf
    while True:
        # a node with |z| > u stands for the nearest possible z, so that no row of u is without one
        near = np.clip(z, -u[:, None], u[:, None])
        height = (
            rough_log_rising(a, (u[:, None] + near) / 2)
            + rough_log_rising(b, (u[:, None] - near) / 2)
            + noise_z.log_mass(y_z - near)
            + (noise_usable.log_mass(y_usable - u) - rough_log_rising(a + b, u) + prior.log_mass(u))[:, None]
        )
        heavy = height >= height.max() - DEPTH
        spans = [_hull(u, u[heavy.any(axis=1)]), _hull(z, near[heavy])]
        area = (spans[0][1] - spans[0][0] + 1) * (spans[1][1] - spans[1][0] + 1)
        if area > 0.5 * size or area < 256**2:
            return spans[0], spans[1]
        size = area
        u, z = (np.unique(np.round(np.linspace(first, last, 65))) for first, last in spans)
        u = np.union1d(u, peaks[(peaks >= spans[0][0]) & (peaks <= spans[0][1])])


def _hull(nodes: np.ndarray, heavy: np.ndarray) -> tuple[int, int]:
    """Return the range of the heavy values, out to the nodes beyond them."""
    first = np.searchsorted(nodes, heavy.min(), side="left") - 1
    last = np.searchsorted(nodes, heavy.max(), side="right")
    return int(nodes[max(first, 0)]), int(nodes[min(last, nodes.size - 1)])


def _betas(a: np.ndarray, b: np.ndarray, total: np.ndarray | float, rng: np.random.Generator) -> np.ndarray:
    """Draw one Beta(a, b) variable for each pair; ``total`` is a + b, which may be one number for all.

    One round of Cheng's rejection from a log-logistic (1978, algorithm BB) accepts at least two in three with a handful
    of array operations, in less time than two gammas take; the others are drawn afresh. The log odds beyond those of
    the mean are x = s logit(u), and x is accepted with probability exp(a x) / (1 + share (e^x - 1))^total over
    4 u (1 - u), which small steps x keep accurate however large ``a`` is.
    """
    if min(a.min(), b.min()) <= 1:
        return dirichlet_columns(np.stack([b, a]), rng)[1]
    u, v = rng.random((2, a.size))
    against = 1.0 - u
    # in place from here on: arrays that stay in the cache are a twentieth of the time of ``infer``
    x = a * b
    x *= 2.0
    x -= total
    np.sqrt(np.divide(total - 2.0, x, out=x), out=x)
    v *= u
    v *= against
    v *= 4.0
    # a uniform of 0 has no logarithm; it is rejected, as minus infinity is not above itself
    with np.errstate(divide="ignore"):
        log_level = np.log(v, out=v)
        x *= np.log(np.divide(u, against, out=u), out=u)
    risen = np.expm1(x, out=u)
    out = a / total
    risen *= out
    x *= a
    x -= total * np.log1p(risen, out=against)
    accepted = x > log_level
    (rejected,) = np.logical_not(accepted, out=accepted).nonzero()
    out += risen
    risen += 1.0
    out /= risen
    out[rejected] = rng.beta(a[rejected], b[rejected])
    return out


EXACT = Engine("exact", reads_all, draw, any_noise=True)

r"""Messages up the tree: how well each count of a node explains the noisy counts at and below it.

A node with c records splits them between its children: the share of the left child is Beta(a_l, a_r), with a_l and
a_r in proportion to the children's bins and (a_l + a_r) / 2 one of a few concentrations, equally likely. Integrated
over the share,

    P(c_l | c) = h(c) g(c_l; a_l) g(c - c_l; a_r),    g(c; a) = Gamma(c + a) / (Gamma(a) c!),
                                                      h(c) = c! Gamma(a_l + a_r) / Gamma(c + a_l + a_r),

so that the message of a node is h times the convolution of its children's messages, each times g. Messages live on
the window of counts in which the noise's mass is within exp(-DEPTH) of its peak: their length depends on the noise,
not on n. The neglected tail has posterior mass of that order.

One concentration does not serve: 0.02 allows for atoms and for stretches without any record, as beyond the largest
value of a column in wide bounds; 1/4 and 2 for anything between; and 30 makes neighbors alike, which is what lets the
noise of many small counts average out. Nor does one set of them serve every column. A column of a few values (a scale,
a yes or no) has them in every part, and then small noisy counts are of empty bins: with one set for all, bins between
the atoms took records away from them, and the upper decile of such a column was covered in 80 of 100 releases of 200
records. Whole numbers are atoms too, at even distances, with much the same height from one to the next: from far they
are like any column. So a column is, with equal prior odds, of ``ANY``, of ``ATOMS`` or of ``STEPS``, and its own counts
say which.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.signal import fftconvolve
from scipy.special import gammaln

from discreet.errors import OutOfReachError
from discreet.inference.bounded_mean import CountPrior
from discreet.inference.histogram.tree import BinNode


@dataclass(frozen=True)
class Concentrations:
    """Half of a_l + a_r at a node, which are equally likely: of nodes of up to ``_NARROW`` bins, and of wider ones."""

    narrow: tuple[float, ...]
    wide: tuple[float, ...]

    def of(self, n_bins: int) -> np.ndarray:
        """Return those of a node of so many bins."""
        return np.array(self.narrow if n_bins <= _NARROW else self.wide)


# a column of any kind, one of a few values, and one of whole numbers
ANY = Concentrations((0.02, 0.25, 2.0, 30.0), (0.02, 0.25, 2.0, 30.0))
ATOMS = Concentrations((0.001, 0.25), (0.001, 0.25))
STEPS = Concentrations((0.001, 0.25), (0.25, 2.0, 30.0))
#: What a column can be, with equal prior odds.
KINDS = (ANY, ATOMS, STEPS)
# bins between which there may be one atom
_NARROW = 8
#: Log of what is neglected of the noise on a count.
DEPTH = 18.0
# products of windows above this are convolved by fast Fourier transform, which keeps 13 digits of the largest value
_DIRECT = 2**24
# counts whose gamma functions are tabulated
_TABLE = 2**15
# counts of all nodes together; each takes a hundred bytes
_MOST_COUNTS = 3 * 2**21
_CONTRADICTION = (
    "the counts of bins and of groups of bins contradict each other: hardly any table could give them."
)


@dataclass(frozen=True)
class Message:
    """Log likelihood of the counts ``low``, ``low + 1``, ... of one node."""

    low: int
    log_value: np.ndarray

    @property
    def high(self) -> int:
        """Largest count in the window."""
        return self.low + self.log_value.size - 1


@dataclass(frozen=True)
class Split:
    """How a node's count divides: per concentration, the children's weights and the node's log mass."""

    low: int
    left_low: int
    right_low: int
    left: tuple[np.ndarray, ...]
    right: tuple[np.ndarray, ...]
    log_mass: np.ndarray
    shape: tuple[np.ndarray, np.ndarray]


def upward(
    nodes: list[BinNode], counts: CountPrior, concentrations: Concentrations
) -> tuple[list[Message], list[Split | None]]:
    """Return the message of every node and the splits of those with children; the root's includes the prior of n."""
    messages: list[Message] = []
    splits: list[Split | None] = []
    top, laid = counts.high, 0
    bins = [_window(node, 0, top) for node in nodes if node.left is None]
    # the levels above take as much again, and what cannot be done is best refused at once
    _check(0, 0, 2 * sum(high - low + 1 for low, high in bins))
    for index, node in enumerate(nodes):
        root = index == len(nodes) - 1
        if node.left is None or node.right is None:
            low, high = _window(node, 0, top)
            laid += high - low + 1
            _check(low, high, laid)
            value, split = np.zeros(high - low + 1), None
        else:
            a, b = messages[node.left], messages[node.right]
            least, most = a.low + b.low, a.high + b.high if top is None else min(top, a.high + b.high)
            _check(least, most, laid)
            low, high = _window(node, least, most)
            low = max(low, counts.low) if root else low
            laid += high - low + 1
            _check(low, high, laid)
            split = _join(a, b, low, high, _shape(nodes[node.left], nodes[node.right], concentrations))
            value = np.logaddexp.reduce(split.log_mass, axis=0)
        count = np.arange(low, high + 1)
        for seen, noise in node.seen:
            value = value + noise.log_mass(float(seen) - count)
        if root:
            value = value + counts.log_mass(count.astype(float))
        if not np.isfinite(value.max()):
            raise OutOfReachError(_CONTRADICTION)
        messages.append(Message(low, value))
        splits.append(split)
    return messages, splits


def _check(low: int, high: int, laid: int) -> None:
    """Raise if no count is plausible, or if there are too many to be laid out."""
    if low > high:
        raise OutOfReachError(_CONTRADICTION)
    if laid > _MOST_COUNTS:
        raise OutOfReachError(
            "the noise on the counts is so wide that too many counts are possible.",
            hint="release fewer bins, or with a larger epsilon",
        )


def _shape(left: BinNode, right: BinNode, concentrations: Concentrations) -> tuple[np.ndarray, np.ndarray]:
    n_bins = left.n_bins + right.n_bins
    both, share = 2 * concentrations.of(n_bins), left.n_bins / n_bins
    return both * share, both * (1 - share)


def _window(node: BinNode, low: int, high: int | None) -> tuple[int, int]:
    """Return the counts that are plausible for a node's own noisy counts, inside [low, high]."""
    first, last = low, high
    for seen, noise in node.seen:
        reach = noise.reach(DEPTH)
        near = max(seen, low) if high is None else min(max(seen, low), high)
        first = max(first, int(np.floor(near - reach)))
        last = int(np.ceil(near + reach)) if last is None else min(last, int(np.ceil(near + reach)))
    if last is None:
        raise ValueError("the finest level must have one count for each bin")
    if first > last:  # two readings that exclude each other: what the children say
        return low, last if high is None else high
    return first, last


def _join(a: Message, b: Message, low: int, high: int, shape: tuple[np.ndarray, np.ndarray]) -> Split:
    count = np.arange(low, high + 1)
    left, right, rows = [], [], []
    for a_left, a_right in zip(*shape, strict=True):
        log_left = a.log_value + log_gamma_ratio(a.low, a.high, a_left)
        log_right = b.log_value + log_gamma_ratio(b.low, b.high, a_right)
        # an exponential tilt does not change the split of a sum, and keeps the weights within range
        tilt = _tilt(log_left, log_right)
        log_left = log_left - tilt * np.arange(log_left.size)
        log_right = log_right - tilt * np.arange(log_right.size)
        peak_left, peak_right = log_left.max(), log_right.max()
        left.append(np.exp(log_left - peak_left))
        right.append(np.exp(log_right - peak_right))
        total = _convolve(left[-1], right[-1])[low - a.low - b.low : high + 1 - a.low - b.low]
        with np.errstate(divide="ignore"):
            rows.append(
                np.log(total)
                + peak_left
                + peak_right
                + tilt * (count - a.low - b.low)
                - log_gamma_ratio(low, high, a_left + a_right)
                + gammaln(a_left + a_right)
                - gammaln(a_left)
                - gammaln(a_right)
                - np.log(shape[0].size)
            )
    return Split(low, a.low, b.low, tuple(left), tuple(right), np.stack(rows), shape)


def _tilt(log_left: np.ndarray, log_right: np.ndarray) -> float:
    # ends that are out of reach have no weight, and say nothing about the slope
    finite = [v[np.isfinite(v)] for v in (log_left, log_right)]
    spans = [(v[-1] - v[0], v.size - 1) for v in finite]
    length = sum(s[1] for s in spans)
    return float(sum(s[0] for s in spans) / length) if length else 0.0


def _convolve(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if left.size * right.size <= _DIRECT:
        return np.convolve(left, right)
    total = fftconvolve(left, right)
    return np.where(total > 1e-13 * total.max(), total, 0.0)


def log_gamma_ratio(low: int, high: int, a: float) -> np.ndarray:
    """Return log Gamma(c + a) / c! for c = low..high.

    Counts up to ``_TABLE`` are looked up; larger ones use the expansion of Tricomi and Erdelyi (1951), which does not
    cancel: with d = a - 1 and w = c + a/2 the ratio is w^d (1 - d (d^2 - 1) / (24 w^2) + O(w^-4)).
    """
    if high <= _TABLE:
        return _table(a)[low : high + 1]
    d = a - 1
    w = np.arange(max(low, _TABLE + 1), high + 1) + 0.5 * a
    large = d * np.log(w) + np.log1p(-d * (d * d - 1) / (24 * w * w))
    return large if low > _TABLE else np.concatenate([_table(a)[low:], large])


@lru_cache(maxsize=256)
def _table(a: float) -> np.ndarray:
    c = np.arange(_TABLE + 1.0)
    return gammaln(c + a) - gammaln(c + 1)

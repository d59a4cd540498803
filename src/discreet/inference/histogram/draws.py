"""Counts down the tree: independent draws of every bin's count and probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.inference.bounded_mean import CountPrior
from discreet.inference.histogram.messages import KINDS, Message, Split, upward
from discreet.inference.histogram.tree import BinNode, Level, build

# rows of conditional weights that are laid out at once
_BLOCK = 2**21
# possible counts that are laid out one by one; where there are more, in how many parts and rounds they are proposed
_FEW, _PARTS, _ROUNDS = 1024, 6, 16
# the steepest tilt, over all possible counts
_STEEPEST = 100.0


@dataclass(frozen=True)
class HistogramDraws:
    """Draws of the table's own counts and the population's probabilities, shape (n_draws, n_bins)."""

    counts: np.ndarray
    p: np.ndarray
    log_evidence: float


def draw_histogram(
    n_bins: int,
    levels: Sequence[Level],
    counts: CountPrior,
    n_draws: int,
    rng: np.random.Generator,
) -> HistogramDraws:
    """Return independent draws of bin counts and probabilities given noisy counts at one or more levels.

    ``levels`` are nested groupings of the bins, the finest with one count for each bin; the coarsest may be all bins
    together, which is the usable count. ``counts`` is the prior of the number of usable records.
    """
    nodes = build(n_bins, levels)
    kinds = []
    for concentrations in KINDS:
        messages, splits = upward(nodes, counts, concentrations)
        kinds.append((messages[-1], splits))
    evidence = np.array([np.logaddexp.reduce(root.log_value) for root, _ in kinds]) - np.log(len(kinds))
    whole = float(np.logaddexp.reduce(evidence))
    which = rng.choice(len(kinds), n_draws, p=np.exp(evidence - whole))
    out = HistogramDraws(np.empty((n_draws, n_bins), dtype=np.int64), np.empty((n_draws, n_bins)), whole)
    for kind, (root, splits) in enumerate(kinds):
        mine = np.flatnonzero(which == kind)
        if mine.size:
            out.counts[mine], out.p[mine] = _downward(nodes, root, splits, mine.size, rng)
    return out


def _downward(
    nodes: list[BinNode], root: Message, splits: list[Split | None], n_draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw counts and probabilities of all bins, from the root to the leaves."""
    weight = np.cumsum(np.exp(root.log_value - root.log_value.max()))
    at: list[np.ndarray | None] = [None] * len(nodes)
    share: list[np.ndarray | None] = [None] * len(nodes)
    at[-1] = root.low + np.searchsorted(weight, rng.random(n_draws) * weight[-1], side="right")
    share[-1] = np.ones(n_draws)
    n_bins = sum(node.left is None for node in nodes)
    counts, probabilities = np.empty((n_draws, n_bins), dtype=np.int64), np.empty((n_draws, n_bins))
    for index in range(len(nodes) - 1, -1, -1):
        node, split, count, p = nodes[index], splits[index], at[index], share[index]
        if count is None or p is None:
            raise AssertionError("parents come after their children")
        if split is None:
            counts[:, node.first], probabilities[:, node.first] = count, p
            continue
        left, theta = _split(split, count, rng)
        _place(nodes, node, at, left, count - left)
        _place(nodes, node, share, p * theta, p * (1 - theta))
        at[index] = share[index] = None
    return counts, probabilities


def _place(
    nodes: list[BinNode], node: BinNode, where: list[np.ndarray | None], left: np.ndarray, right: np.ndarray
) -> None:
    if node.left is not None and node.right is not None:
        where[node.left], where[node.right] = left, right


def _split(split: Split, count: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the left child's count and share of probability for each draw of the node's count."""
    log_mass = split.log_mass[:, count - split.low]
    mass = np.cumsum(np.exp(log_mass - log_mass.max(axis=0)), axis=0)
    which = (rng.random(count.size) * mass[-1] > mass).sum(axis=0)
    left = np.empty_like(count)
    for j in range(split.log_mass.shape[0]):
        chosen = np.flatnonzero(which == j)
        if chosen.size:
            left[chosen] = _left_counts(split, j, count[chosen], rng)
    theta = rng.beta(split.shape[0][which] + left, split.shape[1][which] + (count - left))
    return left, theta


def _left_counts(split: Split, j: int, count: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw left counts in proportion to left weight x right weight of the rest."""
    if split.left[j].size <= _FEW:
        return _from_all(split, j, count, rng)
    out = np.empty(count.size, dtype=np.int64)
    order = np.argsort(count, kind="stable")
    for part in np.array_split(order, min(_PARTS, order.size)):
        out[part], waiting = _proposed(split, j, count[part], rng)
        if waiting.size:
            out[part[waiting]] = _from_all(split, j, count[part[waiting]], rng)
    return out


def _proposed(
    split: Split, j: int, count: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw left counts by rejection, and return those that are still to be drawn after a few rounds.

    One child's count is proposed by its own weight and accepted by the other's, so that the work does not depend on how
    many counts are possible. An exponential tilt of both changes nothing, and makes them meet near these counts.
    """
    total = count - split.left_low - split.right_low
    left, right = _meeting(split.left[j], split.right[j], float(np.median(total)))
    # the share of proposals that are accepted is the same sum, divided by one of these
    leftward = left.sum() * right.max() <= right.sum() * left.max()
    one, other = (left, right) if leftward else (right, left)
    cumulative, top = np.cumsum(one), other.max()
    out, waiting = np.empty(count.size, dtype=np.int64), np.arange(count.size)
    for _ in range(_ROUNDS):
        at = np.searchsorted(cumulative, rng.random(waiting.size) * cumulative[-1], side="right")
        rest = total[waiting] - at
        possible = (rest >= 0) & (rest < other.size) & (at < one.size)
        weight = np.where(possible, other[np.where(possible, rest, 0)], 0.0)
        accept = rng.random(waiting.size) * top < weight
        out[waiting[accept]] = split.left_low + (at if leftward else rest)[accept]
        waiting = waiting[~accept]
        if not waiting.size:
            break
    return out, waiting


def _meeting(left: np.ndarray, right: np.ndarray, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Tilt both weights by one exponential so that their means add up to ``total``, nearly."""
    tilt, low, high = 0.0, -_STEEPEST / left.size, _STEEPEST / left.size
    coarse = [(np.arange(v.size)[:: v.size // 256 + 1], v[:: v.size // 256 + 1]) for v in (left, right)]
    for _ in range(12):
        tilt = 0.5 * (low + high)
        mean = 0.0
        for at, weight in coarse:
            tilted = weight * np.exp(tilt * (at - at[-1] * (tilt > 0)))
            mean += float(tilted @ at) / max(float(tilted.sum()), 1e-300)
        low, high = (tilt, high) if mean < total else (low, tilt)
    made = []
    for v in (left, right):
        tilted = v * np.exp(tilt * (np.arange(v.size) - (v.size - 1) * (tilt > 0)))
        made.append(tilted / tilted.max() if tilted.max() > 0 else v)
    # a tilt so steep that nothing is left of one of them serves nobody
    return (made[0], made[1]) if all(one.max() == 1 for one in made) else (left, right)


def _from_all(split: Split, j: int, count: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw left counts from the weights of all that are possible, for equal counts at once."""
    left, right = split.left[j], split.right[j]
    values, inverse = np.unique(count, return_inverse=True)
    # the right weights backwards, between zeros: row c of the windows holds the weight of c - i at column i
    padded = np.concatenate([np.zeros(left.size), right[::-1], np.zeros(left.size)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, left.size)
    start = left.size + right.size - 1 - (values - split.left_low - split.right_low)
    out = np.empty(count.size, dtype=np.int64)
    uniform = rng.random(count.size)
    block = max(1, _BLOCK // left.size)
    order = np.argsort(inverse, kind="stable")
    bounds = np.searchsorted(inverse[order], np.arange(0, values.size + block, block))
    for b, first in enumerate(range(0, values.size, block)):
        rows = np.cumsum(windows[start[first : first + block]] * left, axis=1)
        mine = order[bounds[b] : bounds[b + 1]]
        row = inverse[mine] - first
        # every row is scaled to end at 1 and shifted by its number, so that one search serves all
        rows /= rows[:, -1:]
        rows += np.arange(rows.shape[0])[:, None]
        place = np.searchsorted(rows.ravel(), uniform[mine] + row, side="right")
        out[mine] = np.clip(place - row * left.size, 0, left.size - 1)
    return split.left_low + out

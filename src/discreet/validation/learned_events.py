"""Events that tell two neighboring tables apart, learned from runs of a mechanism.

A *score* is high where the first table is likelier and low where the second is: the log-ratio of two histograms of one
number, their sum over all numbers (exact if those are independent), the log-ratio of whole outputs if there are few, a
quadratic classifier, and the same for the lowest bit of a number, which shows holes in floating-point outputs. Scores
are learned on a quarter of the runs, a second quarter says which score and which threshold to take, and the half that
is left is only counted (Bichsel et al. 2021, *DP-Sniper*; Jagielski et al. 2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.validation.outputs import Outputs
from discreet.validation.privacy_bounds import divergence_at_least

Score = Callable[[np.ndarray], np.ndarray]
#: What an event is chosen for: counts of the event under both tables, and how many runs, to what should be large.
Aim = Callable[[np.ndarray, np.ndarray, int], np.ndarray]

_MOST_BINS, _MOST_CUTS = 60, 240
# columns that a classifier takes, those that differ most
_MOST_COLUMNS, _MOST_PRODUCTS = 48, 8
_CELLS = (2, 4, 8, 16)


@dataclass(frozen=True)
class Event:
    """Outputs whose score is at least a threshold, or below it."""

    how: str
    score: Score
    cut: float
    above: bool

    def hits(self, side: np.ndarray) -> int:
        """Return how many outputs are in the event."""
        return int(np.sum((self.score(side) >= self.cut) == self.above))


@dataclass(frozen=True)
class Partition:
    """Cells of outputs by their score."""

    how: str
    score: Score
    cuts: np.ndarray

    def hits(self, side: np.ndarray) -> np.ndarray:
        """Return how many outputs are in each cell."""
        return self.counts(self.score(side))

    def counts(self, scores: np.ndarray) -> np.ndarray:
        """Return how many of these scores are in each cell."""
        return np.bincount(np.searchsorted(self.cuts, scores, side="right"), minlength=len(self.cuts) + 1)


@dataclass(frozen=True)
class Learned:
    """Scores from the first quarter of the runs, and what they are on the second."""

    scores: tuple[tuple[str, Score], ...]
    values: tuple[tuple[np.ndarray, np.ndarray], ...]

    def event(self, aim: Aim) -> Event:
        """Return the event that serves the aim best on the second quarter."""
        best, found = -np.inf, None
        for (how, score), (one, other) in zip(self.scores, self.values, strict=True):
            cuts = _thresholds(np.concatenate([one, other]))
            n = len(one)
            p, q = (n - np.searchsorted(np.sort(side), cuts, side="left") for side in (one, other))
            # an event may speak for either table
            for above, high, low in ((True, p, q), (False, n - q, n - p)):
                reached = aim(high, low, n)
                at = int(np.argmax(reached))
                if reached[at] > best:
                    best, found = float(reached[at]), Event(how, score, float(cuts[at]), above)
        assert found is not None
        return found

    def partition(self, bounds: dict[float, float], error: float) -> tuple[Partition, bool]:
        """Return the cells whose divergences come nearest to these bounds, by order, and whether tables are swapped."""
        best, found = -np.inf, None
        for (how, score), (one, other) in zip(self.scores, self.values, strict=True):
            for size in _CELLS:
                cuts = np.unique(np.quantile(np.concatenate([one, other]), np.arange(1, size) / size))
                cells = Partition(how, score, cuts)
                counts = [cells.counts(s) for s in (one, other)]
                for swapped in (False, True):
                    p, q = counts[::-1] if swapped else counts
                    share = max(
                        divergence_at_least(p, q, len(one), error=error, order=order) / bound
                        for order, bound in bounds.items()
                    )
                    if share > best:
                        best, found = share, (cells, swapped)
        assert found is not None
        return found


def learned(outputs: Outputs) -> Learned:
    """Learn scores from a quarter of the runs."""
    train, held = outputs.half(0, 0.25), outputs.half(0.25, 0.5)
    scores = tuple(_scores(outputs, *train))
    return Learned(scores, tuple((score(held[0]), score(held[1])) for _, score in scores))


def _thresholds(pooled: np.ndarray) -> np.ndarray:
    distinct = np.unique(pooled)
    if len(distinct) <= _MOST_CUTS:
        return distinct
    # finer at the ends, where events are rare
    ends = np.geomspace(2 / len(pooled), 0.5, _MOST_CUTS // 2)
    return np.unique(np.quantile(pooled, np.concatenate([ends, 1 - ends])))


def _scores(outputs: Outputs, one: np.ndarray, other: np.ndarray) -> Iterator[tuple[str, Score]]:
    """Return every score that can be learned from these runs."""
    varying = [at for at in range(one.shape[1]) if _varies(np.concatenate([one[:, at], other[:, at]]))]
    if not varying:
        yield "nothing", lambda side: np.zeros(len(side))
        return
    columns = {at: _histogram(one[:, at], other[:, at], is_label=outputs.is_label[at]) for at in varying}
    # those that differ most are worth a look of their own
    ranked = sorted(varying, key=lambda at: -_spread(columns[at], one[:, at], other[:, at]))
    for at in ranked[:_MOST_COLUMNS]:
        name = outputs.names[at] or "output"
        yield f"histogram of {name}", _of_column(at, columns[at])
        if not outputs.is_label[at] and not _whole(one[:, at], other[:, at]):
            bits = _histogram(_lowest_bit(one[:, at]), _lowest_bit(other[:, at]), is_label=True)
            yield f"lowest bit of {name}", _of_column(at, lambda values, bits=bits: bits(_lowest_bit(values)))
    if len(varying) > 1:
        chosen = ranked[: 10 * _MOST_COLUMNS]
        yield (
            "histograms of all numbers",
            lambda side: sum((columns[at](side[:, at]) for at in chosen), np.zeros(len(side))),
        )
        joint = _joint(one, other)
        if joint is not None:
            yield "histogram of whole outputs", joint
        yield "quadratic classifier", _classifier(one, other, ranked[:_MOST_COLUMNS])


def _varies(values: np.ndarray) -> bool:
    return bool(np.any(values != values[0])) and not np.isnan(values).all()


def _whole(one: np.ndarray, other: np.ndarray) -> bool:
    return all(bool(np.all(np.isnan(s) | (s == np.floor(s)))) for s in (one[:200], other[:200]))


def _of_column(at: int, score: Score) -> Score:
    return lambda side: score(side[:, at])


def _spread(score: Score, one: np.ndarray, other: np.ndarray) -> float:
    return float(score(one).mean() - score(other).mean())


def _histogram(one: np.ndarray, other: np.ndarray, *, is_label: bool) -> Score:
    """Return the smoothed log-ratio of two histograms: of values if there are few or they are labels, or of bins."""
    pooled = np.concatenate([one, other])
    pooled = pooled[~np.isnan(pooled)]
    distinct = np.unique(pooled)
    most = int(np.clip(len(one) ** 0.5 / 3, 6, _MOST_BINS))
    if is_label or len(distinct) <= 2 * most:
        edges = distinct
    else:
        edges = np.unique(np.quantile(pooled, np.arange(1, most) / most))
    if not len(edges):
        edges = np.zeros(1)

    def places(values: np.ndarray) -> np.ndarray:
        at = np.searchsorted(edges, values, side="right")
        return np.where(np.isnan(values), len(edges) + 1, at)

    counts = [np.bincount(places(side), minlength=len(edges) + 2).astype(float) for side in (one, other)]
    if edges is not distinct:
        # neighboring bins are alike
        counts = [np.append(_smooth(_smooth(each[:-1])), each[-1]) for each in counts]
    counts = [each + 0.5 for each in counts]
    ratio = np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())
    return lambda values: ratio[places(values)]


def _smooth(counts: np.ndarray) -> np.ndarray:
    wide = np.concatenate([counts[:1], counts, counts[-1:]])
    return (wide[:-2] + 2 * wide[1:-1] + wide[2:]) / 4


def output_classes(values: np.ndarray) -> Iterator[Score]:
    """Return ways to sort numbers into classes: by value, if values repeat, and by their lowest bit if not whole."""
    held = values[~np.isnan(values)]
    if len(np.unique(held)) <= len(values) / 8:
        yield lambda side: np.nan_to_num(side, nan=np.inf)
    if not _whole(values, values):
        yield _lowest_bit


def _lowest_bit(values: np.ndarray) -> np.ndarray:
    """Return the exponent of the lowest bit that is set: how fine a floating-point number is."""
    finite = np.where(np.isfinite(values), values, 0.0)
    mantissa, exponent = np.frexp(finite)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    low = (whole & -whole).astype(float)
    with np.errstate(divide="ignore"):
        return np.where(whole == 0, 2000.0, exponent - 53 + np.log2(np.maximum(low, 1.0)))


def _joint(one: np.ndarray, other: np.ndarray) -> Score | None:
    """Return the log-ratio of the histograms of whole outputs; None if there are too many of them."""

    def keys(side: np.ndarray) -> Iterator[bytes]:
        return (line.tobytes() for line in np.ascontiguousarray(side))

    first, second = Counter(keys(one)), Counter(keys(other))
    if len(first | second) > len(one) / 8:
        return None
    return lambda side: np.array([np.log((first[key] + 0.5) / (second[key] + 0.5)) for key in keys(side)])


def _classifier(one: np.ndarray, other: np.ndarray, columns: list[int]) -> Score:
    """Return the log-odds of a logistic regression on numbers, their absolute values, squares and products."""
    pooled = np.concatenate([one, other])[:, columns]
    center = np.nanmedian(pooled, axis=0)
    width = np.nanmedian(np.abs(pooled - center), axis=0)
    width = np.where(width > 0, width, np.maximum(np.nanstd(pooled, axis=0), 1e-300))
    pairs = [(i, j) for i in range(min(len(columns), _MOST_PRODUCTS)) for j in range(i)]

    def features(side: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            z = np.clip((side[:, columns] - center) / width, -6, 6)
        gone = np.isnan(z)
        z = np.where(gone, 0.0, z)
        products = [z[:, i] * z[:, j] for i, j in pairs]
        return np.column_stack([np.ones(len(z)), z, np.abs(z), z * z, gone, *products])

    x = features(np.concatenate([one, other]))
    y = np.concatenate([np.ones(len(one)), np.zeros(len(other))])
    beta = np.zeros(x.shape[1])
    for _ in range(8):
        eta = np.clip(x @ beta, -30, 30)
        p = 1 / (1 + np.exp(-eta))
        weight = np.maximum(p * (1 - p), 1e-6)
        hessian = (x * weight[:, None]).T @ x + 1e-3 * np.eye(len(beta))
        beta = beta + np.linalg.solve(hessian, x.T @ (y - p) - 1e-3 * beta)
    return lambda side: features(side) @ beta

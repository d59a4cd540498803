"""Lower bounds on a privacy loss from counts: how often an event was seen under each of two neighboring tables.

All bounds are Clopper and Pearson's (1934), so they hold for any number of runs. The event must have been chosen
without the runs that are counted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats


def share_at_least(hits: Any, runs: Any, error: float) -> np.ndarray:
    """Return the probability that an event has at least, wrong with probability ``error`` at most."""
    hits, runs = np.asarray(hits, dtype=float), np.asarray(runs, dtype=float)
    with np.errstate(invalid="ignore"):
        return np.where(hits > 0, stats.beta.ppf(error, hits, runs - hits + 1), 0.0)


def share_at_most(hits: Any, runs: Any, error: float) -> np.ndarray:
    """Return the probability that an event has at most, wrong with probability ``error`` at most."""
    hits, runs = np.asarray(hits, dtype=float), np.asarray(runs, dtype=float)
    with np.errstate(invalid="ignore"):
        return np.where(hits < runs, stats.beta.isf(error, hits + 1, runs - hits), 1.0)


def epsilon_at_least(
    hits: Any, other_hits: Any, runs: Any, *, error: float, delta: float = 0.0
) -> np.ndarray:
    """Return an epsilon that (epsilon, ``delta``)-privacy cannot be below, at least 0.

    The event has probability p under one table and q under the other, and p <= e^epsilon q + delta would have to hold.
    Half of ``error`` is for each of the two probabilities.
    """
    p, q = share_at_least(hits, runs, error / 2), share_at_most(other_hits, runs, error / 2)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(np.maximum(p - delta, 0.0)) - np.log(q), 0.0)


def delta_at_least(hits: Any, other_hits: Any, runs: Any, *, error: float, epsilon: float) -> np.ndarray:
    """Return a delta that (``epsilon``, delta)-privacy cannot be below, at least 0."""
    p, q = share_at_least(hits, runs, error / 2), share_at_most(other_hits, runs, error / 2)
    return np.maximum(p - np.exp(epsilon) * q, 0.0)


def divergence_at_least(
    hits: Sequence[int] | np.ndarray,
    other_hits: Sequence[int] | np.ndarray,
    runs: int,
    *,
    error: float,
    order: float,
) -> float:
    """Return what the Rényi divergence of this order cannot be below, from counts of the cells of a partition.

    Joining outputs to cells only lowers the divergence (data processing), and so does replacing each cell's
    probabilities by Clopper and Pearson's bounds, because p^a q^(1 - a) grows in p and falls in q for orders a > 1.
    ``error`` is divided among all bounds, so that they hold together, for every order at once.
    """
    each = error / (2 * len(hits))
    p, q = share_at_least(hits, runs, each), share_at_most(other_hits, runs, each)
    seen = p > 0
    logs = order * np.log(p[seen]) + (1 - order) * np.log(q[seen])
    total = float(np.logaddexp.reduce(logs)) if logs.size else -np.inf
    return max(total / (order - 1), 0.0)

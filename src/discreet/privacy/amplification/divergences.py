"""Divergences of distributions on finitely many points: the oracle every bound of this room is held against."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.checked import checked
from discreet.errors import UsageError
from discreet.privacy.amplification.differences import log_mean_exp


@checked
def hockey_stick_divergence(p: ArrayLike, q: ArrayLike, epsilon: float) -> np.ndarray:
    r"""Return D_{e^epsilon}(p || q) = sum_y max(0, p(y) - e^epsilon q(y)) along the last axis.

    A mechanism is (epsilon, delta)-DP if and only if this is at most delta for every ordered pair of neighbors. It is
    the total variation distance at epsilon = 0, and at infinity the mass of p where q has none.

    References
    ----------
    Geumlek (2020), section 6.2 and the footnote to theorem 15.
    """
    p, q = _masses(p, q)
    if not epsilon >= 0:
        raise UsageError(f"epsilon must not be negative, got epsilon={epsilon}.")
    # where q has no mass the product would be 0 * inf once e^epsilon overflows
    with np.errstate(over="ignore"):
        scaled = np.where(q > 0, np.exp(epsilon), 0.0) * np.where(q > 0, q, 1.0)
    # rounding can leave 1 + 2e-16 where the two have nothing in common
    return np.minimum(np.maximum(0.0, p - scaled).sum(axis=-1), 1.0)


@checked
def renyi_divergence(p: ArrayLike, q: ArrayLike, order: float) -> np.ndarray:
    """Return the Rényi divergence R_order(p || q) along the last axis, for an order from 1 (relative entropy) to inf.

    It is infinite where p has mass and q has none.

    References
    ----------
    Geumlek (2020), section 6.2. Van Erven and Harremoës (2014), Rényi divergence and Kullback-Leibler divergence.
    """
    p, q = _masses(p, q)
    if not order >= 1:
        raise UsageError(f"a Rényi order must be at least 1, got order={order}.")
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p), np.log(q)
    outside = np.any((p > 0) & (q == 0), axis=-1)
    # points without mass under p contribute nothing at any order; q = 0 there must not turn into inf - inf
    log_ratio = np.where(p > 0, log_p - np.where(q > 0, log_q, 0.0), -np.inf)
    if order == np.inf:
        value = log_ratio.max(axis=-1)
    elif order == 1:
        value = np.where(p > 0, p * np.where(p > 0, log_ratio, 0.0), 0.0).sum(axis=-1)
    else:
        value = log_mean_exp((order - 1) * log_ratio, p) / (order - 1)
    # rounding can leave -1e-17 where the two are equal
    return np.where(outside, np.inf, np.maximum(value, 0.0))


def _masses(p: ArrayLike, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays of masses, of one shape."""
    try:
        p, q = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(q, dtype=float))
    except ValueError:
        raise UsageError("p and q must have one number for each point, and for the same points.") from None
    if p.ndim == 0 or p.shape[-1] == 0 or not all(((m >= 0) & (m <= 2)).all() for m in (p, q)):
        raise UsageError("p and q must hold probabilities.")
    return p, q

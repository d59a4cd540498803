r"""The event that one beta, gamma or normal distribution makes e^epsilon times as likely as another does.

Rounding. Let the computed log-ratio be off by at most r, and E be the event on which it exceeds epsilon. Then H lies
between P(E) - e^epsilon Q(E) and that plus r P(log-ratio > epsilon - r). The distribution functions (Boost's, through
SciPy) have relative errors far below 1e-11. Both are added, so that ``high`` of a the result is at least H.

"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaln, expit, gammainc, gammaincc, gammaln, log_expit, ndtr

from discreet.errors import UsageError
from discreet.priors import Beta, Gamma, Normal, Prior

# Relative error of a distribution function, and of the terms of a log-ratio; both far above what float64 does.
_MASS_ROOM, _RATIO_ROOM = 1e-11, 1e-14
# Beyond these the distribution functions were not checked, and below them mass lies closer to 0 than a float.
_LARGEST, _LEAST = 1e7, 0.05
_HALVINGS = 64

#: Two arrays of the same shape.
Two = tuple[np.ndarray, np.ndarray]


class Distribution(NamedTuple):
    """Distributions exp(eta . T(u) - C(eta)) in an unbounded coordinate u; eta has two components on its last axis."""

    #: Ends of the coordinate: no mass is beyond them.
    ends: tuple[float, float]
    #: T(u).
    statistics: Callable[[np.ndarray], Two]
    #: Terms that add up to C(eta).
    partition: Callable[[np.ndarray], tuple[np.ndarray, ...]]
    #: Mass below u, and above.
    tails: Callable[[np.ndarray, np.ndarray], Two]


def _gamma_tails(u: np.ndarray, eta: np.ndarray) -> Two:
    scaled = eta[..., 1] * np.exp(u)
    return gammainc(eta[..., 0], scaled), gammaincc(eta[..., 0], scaled)


def _normal_tails(u: np.ndarray, eta: np.ndarray) -> Two:
    z = (u - eta[..., 0] / eta[..., 1]) * np.sqrt(eta[..., 1])
    return ndtr(z), ndtr(-z)


DISTRIBUTIONS: dict[type[Prior], Distribution] = {
    # in the logit
    Beta: Distribution(
        (-745.0, 745.0),
        lambda u: (log_expit(u), log_expit(-u)),
        lambda eta: (betaln(eta[..., 0], eta[..., 1]),),
        lambda u, eta: (
            betainc(eta[..., 0], eta[..., 1], expit(u)),
            betainc(eta[..., 1], eta[..., 0], expit(-u)),
        ),
    ),
    # in the logarithm
    Gamma: Distribution(
        (-745.0, 650.0),
        lambda u: (u, -np.exp(u)),
        lambda eta: (gammaln(eta[..., 0]), -eta[..., 0] * np.log(eta[..., 1])),
        _gamma_tails,
    ),
    # in standard deviations from the mean of P
    Normal: Distribution(
        (-40.0, 40.0),
        lambda u: (u, -u * u / 2),
        lambda eta: (eta[..., 0] ** 2 / (2 * eta[..., 1]), -np.log(eta[..., 1]) / 2),
        _normal_tails,
    ),
}


def bracket(distribution: Distribution, p: np.ndarray, q: np.ndarray, epsilon: float) -> Two:
    """Return two numbers with H_epsilon(P || Q) between them, for arrays of natural parameters."""
    if not epsilon >= 0:
        raise UsageError(f"epsilon must not be negative, got epsilon={epsilon}.")
    if distribution is DISTRIBUTIONS[Gamma]:
        # the unit of measurement does not matter
        unit = np.stack([np.ones_like(p[..., 1]), p[..., 1]], axis=-1)
        p, q = p / unit, q / unit
    both = np.concatenate([np.atleast_2d(p), np.atleast_2d(q)])
    # of a rate that counts in units of another one, any size up to the largest will do
    least = np.array([_LEAST, 1 / _LARGEST if distribution is DISTRIBUTIONS[Gamma] else _LEAST])
    if distribution is not DISTRIBUTIONS[Normal] and not (np.all(both >= least) and np.all(both <= _LARGEST)):
        raise UsageError(
            f"hyperparameters must be between {_LEAST:g} and {_LARGEST:g} for exact divergences."
        )
    mass, other, room, off = _event(distribution, p, q, epsilon)
    scale = math.exp(min(epsilon, 709.0))
    wider = _event(distribution, p, q, epsilon - off)[0]
    value = mass - scale * other
    room = room[0] + scale * room[1] + off * wider
    return np.clip(value - room, 0, 1), np.clip(value + room, 0, 1)


def _event(
    distribution: Distribution, p: np.ndarray, q: np.ndarray, level: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray, Two, np.ndarray]:
    """Return P(E) and Q(E), the room for errors in both, and that in the log-ratio, for E = {log-ratio > level}."""
    first, second = (p - q)[..., 0], (p - q)[..., 1]
    constants = [*distribution.partition(q), *(-term for term in distribution.partition(p))]
    shift, size = sum(constants), sum(np.abs(term) for term in constants)

    def ratio(u: np.ndarray) -> np.ndarray:
        one, two = distribution.statistics(u)
        return first * one + second * two + shift

    turn, rising = _shape(distribution, first, second)
    start, end = np.full_like(turn, distribution.ends[0]), np.full_like(turn, distribution.ends[1])
    left, left_off = _cross(ratio, start, turn, rising, level)
    right, right_off = _cross(ratio, turn, end, ~rising, level)
    off = np.maximum(left_off, right_off) + _RATIO_ROOM * size
    for u in (left, right):
        one, two = distribution.statistics(u)
        terms = _RATIO_ROOM * (np.abs(first * one) + np.abs(second * two))
        # at an end that is no crossing nothing hangs on the log-ratio
        off = off + np.where(np.abs(ratio(u) - level) < 1, terms, 0.0)
    (in_p, room_p), (in_q, room_q) = (_mass(distribution, eta, left, right, rising) for eta in (p, q))
    return in_p, in_q, (room_p, room_q), off


def _shape(distribution: Distribution, first: np.ndarray, second: np.ndarray) -> Two:
    """Return where the log-ratio turns, at the upper end if nowhere, and whether it rises on the left of that."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if distribution is DISTRIBUTIONS[Normal]:
            turn = np.where(second != 0, first / second, distribution.ends[1])
            rising = np.where(second != 0, second > 0, first > 0)
        else:
            turn = np.where(first * second > 0, np.log(first / second), distribution.ends[1])
            rising = np.where(first != 0, first > 0, second < 0)
    return np.clip(turn, *distribution.ends), rising


def _cross(
    ratio: Callable[[np.ndarray], np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
    rising: np.ndarray,
    level: float | np.ndarray,
) -> Two:
    """Return where a monotone log-ratio crosses the level between two points, and by how much it misses it there.

    Without a crossing it is the point beyond which everything, or nothing, is above the level.
    """
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = (ratio(middle) > level) == rising
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    missed = np.abs(ratio(high) - ratio(low))
    return (low + high) / 2, missed


def _mass(
    distribution: Distribution, eta: np.ndarray, left: np.ndarray, right: np.ndarray, inside: np.ndarray
) -> Two:
    """Return the mass between two points, or outside of them, and what rounding can make of it."""
    below_left, above_left = distribution.tails(left, eta)
    below_right, above_right = distribution.tails(right, eta)
    # of two differences that are equal, the one of smaller numbers loses fewer digits
    lower = below_right <= above_left
    between = np.where(lower, below_right - below_left, above_left - above_right)
    mass = np.where(inside, np.maximum(between, 0.0), below_left + above_right)
    size = np.where(inside, np.where(lower, below_right, above_left), mass)
    return mass, _MASS_ROOM * size

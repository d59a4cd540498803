r"""Rényi divergences of one step of Gaussian noise on a random sample of the records.

A sum over a secret sample gets Gaussian noise of standard deviation sigma times its sensitivity; q is the sampling
rate and a the order. Everything is computed here, from the papers, in log space, and rounded up: whether a file loads
or a ledger grants a charge depends on these numbers and on no other package.

Poisson sampling, add or remove (Mironov, Talwar and Zhang 2019). The divergence is log A / (a - 1) with

    A = E[((1 - q) + q L)^a],    L = exp((2 z - 1) / (2 sigma^2)),    z ~ N(0, sigma^2).

At an integer order A - 1 = sum over k >= 2 of C(a, k) (1 - q)^(a - k) q^k (exp(k (k - 1) / (2 sigma^2)) - 1), a sum of
positive terms (their section 3.3, with the binomial theorem's 1 taken away term by term, so that steps that cost next
to nothing lose no digits). At other orders the binomial series is taken where q L is below 1 - q and where it is above,
each with a normal tail probability. Beyond k = a both alternate in sign with falling terms, so that A lies between two
partial sums and the larger one is taken.

Samples of a fixed size, replace (Wang, Balle and Kasiviswanathan 2019, theorem 27):

    A - 1 <= sum over k >= 2 of C(a, k) q^k min(4 sqrt(D(2 floor(k/2)) D(2 ceil(k/2))), 2 F(k)),

where F(k) = exp(k (k - 1) / (2 sigma^2)) are the moments of the likelihood ratio and D(k), its central moments, are
their forward differences at 0. The differences cancel almost completely where there is much noise and are taken in
decimal arithmetic with as many digits as that costs. At k = 2 the minimum is that of 4 D(2) and 2 F(2).

Between integer orders log A is convex, and 0 at order 1.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, log, log1p

import numpy as np
from scipy.special import log_ndtr

# Logarithms, exponentials and normal tails of NumPy and SciPy are right to a few units in the last place. A term is the
# exponential of a sum of such logarithms: its relative error is below this times the sum of their sizes.
_UNIT = 32 * 2.0**-53
# The relative error of log_ndtr, with room.
_TAIL_UNIT = 1e-13
# Beyond this order differences are left out, as their share in the bound vanishes.
_LAST_DIFFERENCE = 256
# Where F(k) exceeds k F(k - 1) by this factor (as a logarithm), D(k) is F(k) in all digits of a float.
_NEGLIGIBLE = 40.0
_MOST_NOISE = 1e10
# The series at a fractional order ends where its terms are below this, or after so many of them.
_LOG_LAST_TERM, _MOST_TERMS, _CHUNK = -34.0, 2**17, 2**9


def poisson_divergence(rate: Fraction, sigma: float, order: float) -> float:
    """Return the Rényi divergence of a step on a Poisson sample, rounded up; exact but for rounding."""
    return _divergence(rate, sigma, order, _log_poisson)


def fixed_size_divergence(rate: Fraction, sigma: float, order: float) -> float:
    """Return a bound on the Rényi divergence of a step on a sample of a fixed size, rounded up."""
    return _divergence(rate, sigma, order, _log_fixed_size)


def _divergence(rate: Fraction, sigma: float, order: float, log_moment) -> float:
    # the sample is the index of a mixture, and a mixture is no further apart than its worst parts
    whole = float(np.nextafter(_half_square(sigma) * order * (1 + _UNIT), inf))
    if rate == 1 or not np.isfinite(whole):
        return whole
    below, above = floor(order), ceil(order)
    if below == above:
        found = log_moment(rate, sigma, below)
    else:
        low = log_moment(rate, sigma, below) if below > 1 else 0.0
        found = ((above - order) * low + (order - below) * log_moment(rate, sigma, above)) * (1 + _UNIT)
        if log_moment is _log_poisson:
            found = min(found, _log_poisson_series(rate, sigma, order))
    return min(whole, found / (order - 1) * (1 + _UNIT))


def _half_square(sigma: float) -> float:
    """Return 1 / (2 sigma^2), at least the smallest normal number."""
    with np.errstate(over="ignore", under="ignore"):
        return float(max(np.float64(0.5) / sigma / sigma, np.finfo(float).tiny))


def _log_shares(rate: Fraction) -> tuple[float, float]:
    """Return log q and log(1 - q), each right to a few units in its last place."""
    rest = 1 - rate
    if rate <= Fraction(1, 2):
        return log(float(rate)), log1p(-float(rate))
    return log1p(-float(rest)), log(float(rest))


@lru_cache(maxsize=64)
def _log_binomials(order: int) -> np.ndarray:
    """Return log C(order, k) for k = 2, ..., order, from exact integers."""
    found, value = [], order
    for k in range(2, order + 1):
        value = value * (order - k + 1) // k
        found.append(log(value))
    return np.array(found)


def _log1p_sum(logs: np.ndarray) -> float:
    """Return log(1 + sum of exponentials), rounded up."""
    top = float(logs.max())
    if top == -inf:
        return 0.0
    total = top + log(float(np.exp(logs - top).sum())) + _UNIT * (len(logs) + abs(top))
    return float(np.logaddexp(0.0, total)) * (1 + _UNIT)


@lru_cache(maxsize=1024)
def _log_poisson(rate: Fraction, sigma: float, order: int) -> float:
    """Return log A for Poisson samples at an integer order."""
    k = np.arange(2, order + 1)
    log_q, log_rest = _log_shares(rate)
    exponent = k * (k - 1.0) * _half_square(sigma)
    # log(e^x - 1), which is x where e^x overflows
    log_excess = np.where(exponent > 1, exponent, 0.0) + np.log(
        np.where(exponent > 1, -np.expm1(-exponent), np.expm1(np.minimum(exponent, 1)))
    )
    parts = [_log_binomials(order), k * log_q, (order - k) * log_rest, log_excess]
    room = _UNIT * (1 + exponent + sum(np.abs(part) for part in parts))
    return _log1p_sum(sum(parts) + room)


@lru_cache(maxsize=1024)
def _log_poisson_series(rate: Fraction, sigma: float, order: float) -> float:
    """Return log A for Poisson samples at an order that is no integer; infinite if the series ends nowhere."""
    log_q, log_rest = _log_shares(rate)
    # where q L = 1 - q
    edge = sigma * sigma * (log_rest - log_q) + 0.5
    if not np.isfinite(edge):
        return inf
    log_binomial, sign, top, total, room = 0.0, 1.0, -inf, 0.0, 0.0
    for start in range(0, _MOST_TERMS, _CHUNK):
        k = np.arange(start, start + _CHUNK, dtype=float)
        ratio = (order - k) / (k + 1)
        log_sizes = log_binomial + np.concatenate([[0.0], np.cumsum(np.log(np.abs(ratio)))])
        signs = sign * np.concatenate([[1.0], np.cumprod(np.sign(ratio))])
        log_binomial, sign = float(log_sizes[-1]), float(signs[-1])
        logs, slack = _tail_terms(order, k, (log_q, log_rest), sigma, edge)
        logs += log_sizes[:-1]
        # a running sum of logarithms is wrong by one rounding of its size for each of its terms
        slack += _UNIT * (k + 1) * (1 + np.abs(log_sizes[:-1]))
        new = max(top, float(logs.max()))
        if np.isfinite(top):
            total, room = total * np.exp(top - new), room * np.exp(top - new)
        top = new
        sizes = np.exp(logs - top)
        total += float((signs[:-1] * sizes).sum())
        room += float((sizes * slack).sum()) + _UNIT * float(sizes.sum())
        last = float(logs[:, -1].max())
        if k[-1] > order and last < _LOG_LAST_TERM + max(top, 0.0):
            # both series alternate by now: what is left of each is smaller than its last term
            total += float(sizes[:, -1].sum()) + room
            return max(0.0, top + log(total)) * (1 + _UNIT) + _UNIT if total > 0 else inf
    return inf


def _tail_terms(
    order: float, k: np.ndarray, log_shares: tuple[float, float], sigma: float, edge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the logs of the k-th terms of both series without their binomials, and bounds on their errors."""
    log_q, log_rest = log_shares
    # powers of the part with the sampled record, and on which side of the edge it is integrated
    power = np.stack([k, order - k])
    tail = np.stack([(edge - k) / sigma, (order - k - edge) / sigma])
    exponent = power * (power - 1) * _half_square(sigma)
    log_tail = log_ndtr(tail)
    parts = [power * log_q, (order - power) * log_rest, exponent]
    with np.errstate(over="ignore", invalid="ignore"):
        logs = sum(parts) + log_tail
        # the slope of log_ndtr is at most 1 - t below 0, and exp(-t^2 / 2) above
        slope = (1 - np.minimum(tail, 0)) * np.exp(-0.5 * np.maximum(tail, 0) ** 2)
        slack = _UNIT * (1 + sum(np.abs(part) for part in parts) + slope * (np.abs(tail) + abs(edge) / sigma))
        slack += _TAIL_UNIT * np.abs(log_tail)
    gone = ~np.isfinite(logs)
    return np.where(gone, -inf, logs), np.where(gone | ~np.isfinite(slack), 0.0, slack)


@lru_cache(maxsize=1024)
def _log_fixed_size(rate: Fraction, sigma: float, order: int) -> float:
    """Return a bound on log A for samples of a fixed size at an integer order."""
    k = np.arange(2, order + 1)
    log_q, _ = _log_shares(rate)
    log_moment = k * (k - 1.0) * _half_square(sigma)
    bounds = np.log(2) + log_moment
    last = order if order <= _LAST_DIFFERENCE else 2
    central = _log_central_moments(sigma, last)
    pairs = [central[2 * (i // 2)] / 2 + central[2 * ((i + 1) // 2)] / 2 for i in range(2, last + 1)]
    bounds[: len(pairs)] = np.minimum(bounds[: len(pairs)], np.log(4) + np.array(pairs))
    parts = [_log_binomials(order), k * log_q, bounds]
    room = _UNIT * (1 + log_moment + sum(np.abs(part) for part in parts))
    return _log1p_sum(sum(parts) + room)


@lru_cache(maxsize=256)
def _log_central_moments(sigma: float, order: int) -> dict[int, float]:
    """Return log D(k) for all even k up to ``order``, and the next one if it is odd.

    With w = exp(1 / sigma^2), D(k) = sum over j of (-1)^(k - j) C(k, j) w^(j (j - 1) / 2). It is also the sum of
    (w - 1)^edges over the graphs on k vertices of which none is isolated (F(k) is that over all graphs), hence at
    least (w - 1)^(k / 2) and at least F(k) - k F(k - 1).
    """
    # more noise only makes them smaller, and beyond any use takes thousands of digits
    sigma = min(sigma, _MOST_NOISE)
    inverse_square = 2 * _half_square(sigma)
    exact_inverse = 1 / Fraction(sigma) ** 2
    found: dict[int, float] = {}
    for k in range(2, order + 2, 2):
        log_moment = k * (k - 1) / 2 * inverse_square
        if (k - 1) * inverse_square > log(k) + _NEGLIGIBLE:
            found[k] = log_moment
            continue
        # the digits that cancel: from the largest moment and binomial down to the least that D(k) can be
        lost = log_moment + k * log(2) - k / 2 * min(0.0, log(inverse_square))
        context = Context(prec=40 + ceil(lost / log(10)), Emax=10**9, Emin=-(10**9))
        base = context.exp(
            context.divide(Decimal(exact_inverse.numerator), Decimal(exact_inverse.denominator))
        )
        total, binomial, moment, power = Decimal(0), 1, Decimal(1), Decimal(1)
        for j in range(k + 1):
            # moment = w^(j (j - 1) / 2) and power = w^j
            total = context.add(total, context.multiply(Decimal((-1) ** (k - j) * binomial), moment))
            moment, power = context.multiply(moment, power), context.multiply(power, base)
            binomial = binomial * (k - j) // (j + 1)
        found[k] = float(Context(prec=30, Emax=10**9, Emin=-(10**9)).ln(total))
    return found

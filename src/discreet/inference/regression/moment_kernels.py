r"""Compiled Hamiltonian moves over the moments of a table, given noisy sums.

A state is q = (mean m, then the rows of L), where the covariance matrix of the table is W = L L^T, with the logarithm
of L's diagonal: every q is a possible table, up to the bounds. The target last. Its log density is

    log noise(y - n M) + log prior(m, W) + sum_j (p - j + 1) log L_jj,        M = W + m m^T,  j = 0, ..., p - 1,

the last term being the Jacobian of W in L. Noise is independent, or Laplace noise that is thinned: minus its log
density is then the larger of what Laplace noise has and of the largest absolute value of ``forms``, linear in the
sums. Entries of M that repeat another one, or are 0, are tied to it within ``tie``. The prior is that of
:mod:`~discreet.inference.regression.moment_prior`.

The number of records, where it is not known, moves too: n' is one of draws from what is known of it, moments are
scaled by r = (n / n')^a, all D of them but mean squares of signs, which are 1, and the move is accepted by the density
and the Jacobian r^D. With a = 1 sums stay as they are, and any n' will do where the noise says most; then come near
ones with random a, because where the prior says most neither sums nor moments alone let n' be far.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import njit
from discreet.inference.regression.moment_prior import EDGE, ETA, LOG_SD, MEAN_SD, SOFT, SPREAD, explained

# moves of the number of records for one of the moments, and the logarithm of how much nearer than far the nearest is
_COUNT_MOVES, _NEAREST = 4, 6.0
_explained = njit(cache=True)(explained)


@njit(cache=True)
def largest_form(forms, residuals):
    """Return the largest absolute value of the linear forms, and which it is; ``forms`` are coordinates × forms."""
    values = np.zeros(forms.shape[1])
    # form after form would be a sum that waits for itself; coordinate by coordinate several are added at once
    for c in range(residuals.size):
        r = residuals[c]
        for f in range(values.size):
            values[f] += forms[c, f] * r
    most = 0
    for f in range(values.size):
        if abs(values[f]) > abs(values[most]):
            most = f
    return values[most], most


@njit(cache=True)
def _beyond(q, n, W, y, scale, yy, scales, forms, places):
    """Return the log density of noise that is thinned, its largest linear form and that form's sign.

    All are 0 where Laplace's density holds. ``places`` says which coordinate each sum is: of term j in (j, 0), of the
    product of j and k <= j in (j, k + 1); -1 for a product that repeats another one.
    """
    residuals = np.zeros(forms.shape[0])
    total = 0.0
    for j in range(y.size):
        r = y[j] - n * q[j]
        residuals[places[j, 0]] = r
        total += abs(r) / scale[j]
        for k in range(j + 1):
            at = places[j, k + 1]
            if at >= 0:
                r = yy[j, k] - n * (W[j, k] + q[j] * q[k])
                residuals[at] = r
                total += abs(r) / scales[j, k]
    value, most = largest_form(forms, residuals)
    if abs(value) <= total:
        return 0.0, 0, 0.0
    return -abs(value), most, math.copysign(1.0, value)


@njit(cache=True)
def log_density(q, g, n, y, scale, laplace, yy, scales, tied, other, tie, forms, places, low_rank, W, H):
    """Return the log density at q, and its gradient in g; -inf where it is impossible."""
    L = low_rank
    p = y.size
    d = p - 1
    at = p
    for j in range(p):
        for k in range(j):
            L[j, k] = q[at]
            at += 1
        if q[at] > 1.0 or q[at] < -16.0:
            return -np.inf
        L[j, j] = math.exp(q[at])
        at += 1
    for j in range(p):
        for k in range(j + 1):
            s = 0.0
            for m in range(k + 1):
                s += L[j, m] * L[k, m]
            W[j, k] = s
            W[k, j] = s
    lp = 0.0
    most, sign = 0, 0.0
    if forms.shape[1] > 0:
        lp, most, sign = _beyond(q, n, W, y, scale, yy, scales, forms, places)
    for j in range(p):
        r = (y[j] - n * q[j]) / scale[j]
        if sign != 0:
            g[j] = sign * n * forms[places[j, 0], most]
        elif laplace:
            lp -= abs(r)
            g[j] = n * math.copysign(1.0, r) / scale[j]
        else:
            lp -= 0.5 * r * r
            g[j] = n * r / scale[j]
        for k in range(p):
            H[j, k] = 0.0
    for j in range(p):
        for k in range(j + 1):
            value = W[j, k] + q[j] * q[k]
            if tied[j, k]:
                a, b = other[j, k, 0], other[j, k, 1]
                # what it repeats: -1 nothing, (0, 0) one, (0, b) the mean of b - 1, otherwise another product
                if a == 0:
                    value -= q[b - 1] if b > 0 else 1.0
                elif a > 0:
                    value -= W[a - 1, b - 1] + q[a - 1] * q[b - 1]
                r = -value / tie
                lp -= 0.5 * r * r
                gr = r / tie
                if a == 0 and b > 0:
                    g[b - 1] -= gr
                elif a > 0:
                    half = 0.5 * gr
                    H[a - 1, b - 1] -= half
                    H[b - 1, a - 1] -= half
            else:
                r = (yy[j, k] - n * value) / scales[j, k]
                if sign != 0:
                    gr = sign * n * forms[places[j, k + 1], most]
                elif laplace:
                    lp -= abs(r)
                    gr = n * math.copysign(1.0, r) / scales[j, k]
                else:
                    lp -= 0.5 * r * r
                    gr = n * r / scales[j, k]
            H[j, k] += 0.5 * gr
            H[k, j] += 0.5 * gr
    # H is now the derivative in the symmetric M: 2 H m is that in m, and 2 H L that in L
    for j in range(p):
        s = 0.0
        for k in range(p):
            s += H[j, k] * q[k]
        g[j] += 2 * s - q[j] / MEAN_SD**2
        lp -= 0.5 * (q[j] / MEAN_SD) ** 2
    for j in range(p):
        beyond = (W[j, j] + q[j] * q[j] - 1.0) / EDGE
        if beyond > 0.0:
            lp -= 0.5 * beyond * beyond
            g[j] -= 2 * beyond * q[j] / EDGE
            H[j, j] -= beyond / EDGE
    a, b = _explained(d)
    power = a - 0.5 * d
    for j in range(p):
        log_w = math.log(W[j, j])
        sd = 0.5 * log_w
        weight = ETA - 1.5 if j < d else b - 1.0
        lp += -0.5 * p * log_w - sd - 0.5 * ((sd - LOG_SD) / SPREAD) ** 2
        lp += weight * (2 * math.log(L[j, j]) - log_w) + (p - j + 1) * math.log(L[j, j])
        H[j, j] += (-0.5 * p - 0.5 - 0.5 * (sd - LOG_SD) / SPREAD**2 - weight) / W[j, j]
    square = 0.0
    for m in range(d):
        square += L[d, m] ** 2
    share = square / W[d, d]
    lp += power * math.log(share + SOFT)
    H[d, d] -= power * share / (share + SOFT) / W[d, d]
    at = p
    for j in range(p):
        for k in range(j + 1):
            s = 0.0
            for m in range(k, p):
                s += H[j, m] * L[m, k]
            s *= 2
            if k == j:
                weight = ETA - 1.5 if j < d else b - 1.0
                s = s * L[j, j] + 2 * weight + (p - j + 1)
            elif j == d:
                s += power * 2 * L[d, k] / W[d, d] / (share + SOFT)
            g[at] = s
            at += 1
    return lp


# Element by element: `out[:] = values` takes the compiler seconds, for an error about shapes.
@njit(cache=True)
def _copy(q, g, new_q, new_g):
    for a in range(q.size):
        new_q[a], new_g[a] = q[a], g[a]


@njit(cache=True)
def _jacobian(q, p):
    total = 0.0
    at = p
    for j in range(p):
        at += j
        total += (p - j + 1) * q[at]
        at += 1
    return total


@njit(cache=True)
def _is_one(tied, other, j, k):
    return j == k and tied[j, j] and other[j, j, 0] == 0 and other[j, j, 1] == 0


@njit(cache=True)
def _rescaled(q, r, p, L, W, tied, other, out):
    """Put the state whose sums are those of q for r times fewer records into ``out``; tell whether it exists.

    The mean square of a sign is 1 however many records there are.
    """
    at = p
    for j in range(p):
        for k in range(j):
            L[j, k] = q[at]
            at += 1
        L[j, j] = math.exp(q[at])
        at += 1
        out[j] = r * q[j]
    for j in range(p):
        for k in range(j + 1):
            s = 0.0
            for m in range(k + 1):
                s += L[j, m] * L[k, m]
            kept = 1.0 if _is_one(tied, other, j, k) else r
            W[j, k] = kept * s + (kept - r * r) * q[j] * q[k]
    at = p
    for j in range(p):
        for k in range(j + 1):
            s = W[j, k]
            for m in range(k):
                s -= L[j, m] * L[k, m]
            if k == j:
                if s <= 1e-14:
                    return False
                L[j, j] = math.sqrt(s)
                out[at] = 0.5 * math.log(s)
            else:
                L[j, k] = s / L[k, k]
                out[at] = L[j, k]
            at += 1
    return True


@njit(cache=True)
def _near(now, size, rng):
    """Return a place near another of ``size`` ones, which may be none of them; it is as likely as the way back."""
    reach = size * math.exp(-_NEAREST * rng.random())
    away = 1 + int(reach * rng.random())
    return now + away if rng.random() < 0.5 else now - away


@njit(cache=True)
def walk(
    q,
    n,
    counts,
    root,
    log_step,
    steps,
    adapt,
    n_warm,
    n_draws,
    rng,
    y,
    scale,
    laplace,
    yy,
    scales,
    tied,
    other,
    tie,
    forms,
    places,
):
    """Run a chain: return the states and counts after each of ``n_warm`` + ``n_draws`` moves, and what was accepted.

    ``root`` is a root of the covariance of the states, ``counts`` are draws of the number of records, sorted, of which
    the one nearest to ``n`` is the first; the step is adapted during the first ``n_warm`` moves if ``adapt``.
    """
    p, dim = y.size, q.size
    L, W, H = np.zeros((p, p)), np.zeros((p, p)), np.zeros((p, p))
    now = np.argmin(np.abs(counts - n))
    n = counts[now]
    q = q.copy()
    g, moved, slope = np.zeros(dim), np.zeros(dim), np.zeros(dim)
    lp = log_density(q, g, n, y, scale, laplace, yy, scales, tied, other, tie, forms, places, L, W, H)
    total = n_warm + n_draws
    states, records = np.zeros((total, dim)), np.zeros(total)
    accepted = 0.0
    # moments that a move of the number of records scales
    n_scaled = p + p * (p + 1) // 2
    for j in range(p):
        if _is_one(tied, other, j, j):
            n_scaled -= 1
    center, average, log_smooth = log_step + 0.5, 0.0, log_step
    turned = root.T.copy()
    for it in range(total):
        warming = adapt and it < n_warm
        step = math.exp(log_step if warming else log_smooth) * (0.8 + 0.4 * rng.random())
        count = max(1, min(steps, math.ceil(2.0 * (0.6 + 0.8 * rng.random()) / step)))
        v = rng.standard_normal(dim)
        before = lp - 0.5 * np.dot(v, v)
        _copy(q, g, moved, slope)
        v = v + 0.5 * step * np.dot(turned, slope)
        found = lp
        for s in range(count):
            moved = moved + step * np.dot(root, v)
            found = log_density(
                moved, slope, n, y, scale, laplace, yy, scales, tied, other, tie, forms, places, L, W, H
            )
            if not found > before - 1000.0:
                found = -np.inf
                break
            v = v + (step if s < count - 1 else 0.5 * step) * np.dot(turned, slope)
        chance = 0.0
        if found > -np.inf:
            chance = math.exp(min(0.0, found - 0.5 * np.dot(v, v) - before))
            if rng.random() < chance:
                _copy(moved, slope, q, g)
                lp = found
        for move in range(_COUNT_MOVES if counts.size > 1 else 0):
            place = rng.integers(0, counts.size) if move == 0 else _near(now, counts.size, rng)
            if not 0 <= place < counts.size:
                continue
            r = (n / counts[place]) ** (1.0 if move == 0 else rng.random())
            if not _rescaled(q, r, p, L, W, tied, other, moved):
                continue
            found = log_density(
                moved,
                slope,
                counts[place],
                y,
                scale,
                laplace,
                yy,
                scales,
                tied,
                other,
                tie,
                forms,
                places,
                L,
                W,
                H,
            )
            if found > -np.inf:
                ratio = found - _jacobian(moved, p) - lp + _jacobian(q, p) + n_scaled * math.log(r)
                if math.log(rng.random()) < ratio:
                    _copy(moved, slope, q, g)
                    lp, n, now = found, counts[place], place
        if warming:
            # dual averaging (Hoffman and Gelman 2014, section 3.2)
            m = it + 1.0
            average += (0.8 - chance - average) / (m + 10)
            log_step = min(center - math.sqrt(m) / 0.05 * average, 0.5)
            weight = m**-0.75
            log_smooth = weight * log_step + (1 - weight) * log_smooth
        else:
            accepted += chance / max(total - (n_warm if adapt else 0), 1)
        records[it] = n
        for a in range(dim):
            states[it, a] = q[a]
    return states, records, accepted, log_smooth

r"""Compiled moves over the latent records of a regression: the reference that the collapsed sampler is compared with.

A record is z = mu + sqrt(t) L e with e standard normal, but the target's own e times sqrt(s), and t and s gamma of
mean 1 and variances c, the excesses of the kurtosis' ratio: what
:mod:`~discreet.inference.regression.moment_population` stands for. The chain holds every record, and its sums; its
target is noise(y - sums) × N(e) × gamma(t) × gamma(s) × prior. A sweep

1. moves e, t and s of each record in turn, so that their own distribution is kept, and accepts by the noise;
2. adds or removes a record, where their number is not known;
3. moves each entry of (mu, L) with the records held fixed, and again with all e, t and s held fixed;
4. moves each c given t or s.

References
----------
Ju, Awan, Gong, Rao (2022), "Data augmentation MCMC for Bayesian inference from privatized data", NeurIPS 35.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import njit
from discreet.inference.regression.moment_kernels import largest_form, log_density
from discreet.inference.regression.moment_prior import (
    EXCESS,
    EXCESS_SPREAD,
    expected_excess,
    expected_tail,
)

_AIM, _SINGLE = 0.3, 0.44
# a scale is not so small that its logarithm is none
_LEAST_SCALE = 1e-8

_expected_tail = njit(cache=True)(expected_tail)
_expected_excess = njit(cache=True)(expected_excess)


@njit(cache=True)
def _log_prior(q, slope, y, scale, yy, scales, other, places, work):
    """Return the log prior of a state, up to a constant: its density without records, ties and linear forms."""
    none, no_forms = np.zeros((y.size, y.size), dtype=np.bool_), np.zeros((1, 0))
    return log_density(
        q,
        slope,
        0.0,
        y,
        scale,
        True,
        yy,
        scales,
        none,
        other,
        1.0,
        no_forms,
        places,
        work[0],
        work[1],
        work[2],
    )


@njit(cache=True)
def _log_noise(sums, products, y, scale, laplace, yy, scales, forms, places):
    total = 0.0
    residuals = np.zeros(forms.shape[0])
    for j in range(y.size):
        r = (y[j] - sums[j]) / scale[j]
        total -= abs(r) if laplace else 0.5 * r * r
        residuals[places[j, 0]] = y[j] - sums[j]
        for k in range(j + 1):
            r = (yy[j, k] - products[j, k]) / scales[j, k]
            total -= abs(r) if laplace else 0.5 * r * r
            residuals[places[j, k + 1]] = yy[j, k] - products[j, k]
    return min(total, -abs(largest_form(forms, residuals)[0])) if forms.shape[1] > 0 else total


@njit(cache=True)
def _add(sums, products, z, sign):
    for j in range(z.size):
        sums[j] += sign * z[j]
        for k in range(j + 1):
            products[j, k] += sign * z[j] * z[k]


# Elements are copied one by one: `out[:] = values` takes the compiler seconds, for an error about shapes.
@njit(cache=True)
def _copy(sums, products, new_sums, new_products):
    for j in range(sums.size):
        new_sums[j] = sums[j]
        for k in range(sums.size):
            new_products[j, k] = products[j, k]


@njit(cache=True)
def _copy_rows(n, rows, out):
    for i in range(n):
        for j in range(rows.shape[1]):
            out[i, j] = rows[i, j]


@njit(cache=True)
def _record(q, e, t, z):
    """Put the record of e and its two scales t into z."""
    p = e.size
    at = p
    for j in range(p):
        s = 0.0
        for k in range(j):
            s += q[at] * e[k]
            at += 1
        s += math.exp(q[at]) * e[j] * (math.sqrt(t[1]) if j == p - 1 else 1.0)
        at += 1
        z[j] = q[j] + math.sqrt(t[0]) * s


@njit(cache=True)
def _standardized(q, z, t, e):
    """Put e of the record z into e, and return the log of the density of z, up to a constant."""
    p = z.size
    at, total = p, 0.0
    for j in range(p):
        s = (z[j] - q[j]) / math.sqrt(t[0])
        for k in range(j):
            s -= q[at] * e[k]
            at += 1
        e[j] = s * math.exp(-q[at]) / (math.sqrt(t[1]) if j == p - 1 else 1.0)
        total -= q[at] + 0.5 * e[j] ** 2
        at += 1
    return total


@njit(cache=True)
def _log_gamma_density(t, c):
    """Return the log density of a gamma variable with mean 1 and variance c; of the least, all below it together."""
    if t <= _LEAST_SCALE:
        return math.log(_LEAST_SCALE / c) / c - math.lgamma(1 / c + 1)
    return (1 / c - 1) * math.log(t) - t / c - math.lgamma(1 / c) - math.log(c) / c


@njit(cache=True)
def _towards(q, p, own):
    """Return what :func:`~discreet.inference.regression.moment_prior.towards` does, of a state; ``own`` is W_yy."""
    most, at, last = -1.0, p, q.size - p
    for j in range(p - 1):
        # the row of L of feature j beside the target's
        square = math.exp(q[at + j])
        product, square = square * q[last + j], square * square
        for k in range(j):
            product += q[at + k] * q[last + k]
            square += q[at + k] ** 2
        most = max(most, product / math.sqrt(square * own) * q[j] * q[p - 1])
        at += j + 1
    return most


@njit(cache=True)
def _log_excess_prior(q, p, k, c):
    """Return the log prior density of log c, of all records' scales (0) or of the target's own (1), for a state."""
    own = math.exp(q[q.size - 1]) ** 2
    for a in range(q.size - p, q.size - 1):
        own += q[a] ** 2
    if k == 1:
        middle, spread = _expected_tail(q[p - 1], own), EXCESS_SPREAD
    else:
        middle, spread = _expected_excess(_towards(q, p, own))
    return -0.5 * (math.log(c / middle) / spread) ** 2 - math.log(spread)


@njit(cache=True)
def _scale(c, rng):
    return max(rng.gamma(1 / c, c), _LEAST_SCALE)


@njit(cache=True)
def latent_walk(
    q,
    u,
    chances,
    least,
    n_warm,
    n_draws,
    thin,
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
    """Run a chain over u records; return draws of (mu, L), numbers of records, and shares of accepted moves.

    ``chances`` are log weights of the numbers of records ``least``, ``least`` + 1, ....
    """
    p, dim, most = y.size, q.size, least + chances.size - 1
    work = np.zeros((3, p, p))
    slope = np.zeros(dim)
    q = q.copy()
    c = np.full(2, EXCESS)
    e, t, z = rng.standard_normal((most, p)), np.ones((most, 2)), np.zeros((most, p))
    sums, products = np.zeros(p), np.zeros((p, p))
    for i in range(u):
        _record(q, e[i], t[i], z[i])
        _add(sums, products, z[i], 1.0)
    moved, new_e, new_z = np.zeros(p), np.zeros((most, p)), np.zeros((most, p))
    new_sums, new_products = np.zeros(p), np.zeros((p, p))
    noise = _log_noise(sums, products, y, scale, laplace, yy, scales, forms, places)
    prior = _log_prior(q, slope, y, scale, yy, scales, other, places, work)
    prior += _log_excess_prior(q, p, 0, c[0]) + _log_excess_prior(q, p, 1, c[1])
    turn, other_t, log_steps = 0.5, np.ones(2), np.full((2, dim), math.log(0.1))
    draws, numbers = np.zeros((n_draws, dim)), np.zeros(n_draws)
    accepted = np.zeros(3)
    for sweep in range(n_warm + n_draws * thin):
        rate = 0.0 if sweep >= n_warm else (sweep + 10.0) ** -0.6
        share = 0.0
        for i in range(u):
            for k in range(2):
                other_t[k] = _scale(c[k], rng) if rng.random() < 0.5 else t[i, k]
            for j in range(p):
                moved[j] = math.sqrt(1 - turn * turn) * e[i, j] + turn * rng.standard_normal()
            _record(q, moved, other_t, new_z[i])
            _copy(sums, products, new_sums, new_products)
            _add(new_sums, new_products, z[i], -1.0)
            _add(new_sums, new_products, new_z[i], 1.0)
            found = _log_noise(new_sums, new_products, y, scale, laplace, yy, scales, forms, places)
            chance = math.exp(min(0.0, found - noise))
            share += chance / u
            if rng.random() < chance:
                for k in range(2):
                    t[i, k] = other_t[k]
                for j in range(p):
                    e[i, j], z[i, j] = moved[j], new_z[i, j]
                _copy(new_sums, new_products, sums, products)
                noise = found
        turn = min(max(turn * math.exp(rate * (share - _AIM)), 0.01), 1.0)
        if chances.size > 1:
            grow = rng.random() < 0.5
            new_u = u + 1 if grow else u - 1
            if least <= new_u <= most:
                at = u if grow else rng.integers(0, u)
                if grow:
                    for k in range(2):
                        t[at, k] = _scale(c[k], rng)
                    for j in range(p):
                        e[at, j] = rng.standard_normal()
                    _record(q, e[at], t[at], z[at])
                _copy(sums, products, new_sums, new_products)
                _add(new_sums, new_products, z[at], 1.0 if grow else -1.0)
                found = _log_noise(new_sums, new_products, y, scale, laplace, yy, scales, forms, places)
                if math.log(rng.random()) < found - noise + chances[new_u - least] - chances[u - least]:
                    if not grow:
                        for k in range(2):
                            t[at, k] = t[u - 1, k]
                        for j in range(p):
                            e[at, j], z[at, j] = e[u - 1, j], z[u - 1, j]
                    _copy(new_sums, new_products, sums, products)
                    noise, u = found, new_u
        for held in range(2):
            # 0: records are held fixed; 1: e and t are
            density = 0.0
            if held == 0:
                for i in range(u):
                    density += _standardized(q, z[i], t[i], e[i])
            for a in range(dim):
                before = q[a]
                q[a] = before + math.exp(log_steps[held, a]) * rng.standard_normal()
                new_prior = _log_prior(q, slope, y, scale, yy, scales, other, places, work)
                new_prior += _log_excess_prior(q, p, 0, c[0]) + _log_excess_prior(q, p, 1, c[1])
                chance, found, new_density = 0.0, noise, 0.0
                if new_prior > -np.inf and held == 0:
                    for i in range(u):
                        new_density += _standardized(q, z[i], t[i], new_e[i])
                    chance = math.exp(min(0.0, new_prior - prior + new_density - density))
                elif new_prior > -np.inf:
                    new_sums[:] = 0.0
                    new_products[:] = 0.0
                    for i in range(u):
                        _record(q, e[i], t[i], new_z[i])
                        _add(new_sums, new_products, new_z[i], 1.0)
                    found = _log_noise(new_sums, new_products, y, scale, laplace, yy, scales, forms, places)
                    chance = math.exp(min(0.0, new_prior - prior + found - noise))
                accepted[held] += chance / dim
                log_steps[held, a] += rate * (chance - _SINGLE)
                if rng.random() >= chance:
                    q[a] = before
                    continue
                prior = new_prior
                if held == 0:
                    density = new_density
                    _copy_rows(u, new_e, e)
                else:
                    _copy_rows(u, new_z, z)
                    _copy(new_sums, new_products, sums, products)
                    noise = found
        for k in range(2):
            new_c = c[k] * math.exp(0.5 * rng.standard_normal())
            gained = _log_excess_prior(q, p, k, new_c) - _log_excess_prior(q, p, k, c[k])
            ratio = gained
            for i in range(u):
                ratio += _log_gamma_density(t[i, k], new_c) - _log_gamma_density(t[i, k], c[k])
            if math.log(rng.random()) < ratio:
                c[k] = new_c
                prior += gained
                accepted[2] += 0.5
        if sweep >= n_warm and (sweep - n_warm) % thin == thin - 1:
            at = (sweep - n_warm) // thin
            numbers[at] = u
            for a in range(dim):
                draws[at, a] = q[a]
    return draws, numbers, accepted / (n_warm + n_draws * thin)

"""Noise that turns a noisy integer into one with more noise, distributed as if it had been drawn so at once.

A release for epsilon can be turned into one for a smaller epsilon without the rows. For that the noise that is
added must complete the noise that is there:

**Discrete Laplace.** With p = exp(-1/b), the characteristic function of discrete Laplace noise of scale b is
(1 - p)^2 / |1 - p e^(it)|^2. The quotient of those for b_2 > b_1 is

    w + (1 - w) (1 - p_2)^2 / |1 - p_2 e^(it)|^2,    w = (p_1 / p_2) ((1 - p_2) / (1 - p_1))^2,

because |1 - p_1 e^(it)|^2 = (p_1 / p_2) |1 - p_2 e^(it)|^2 + (1 - p_1 / p_2)(1 - p_1 p_2). So one adds 0 with
probability w, and discrete Laplace noise of scale b_2 otherwise: the sum is discrete Laplace of scale b_2, exactly.

**Discrete Gaussian.** The sum of discrete Gaussians with variance parameters s_1 and s_2 is none, but with v = s_1 s_2
/ (s_1 + s_2) its mass at z is that of the one with s_1 + s_2 times a constant times a sum over the shifted integers,
which by Poisson summation is 1 + 2 sum_k exp(-2 pi^2 v k^2) cos(2 pi k c) for some c. Both are distributions, so their
log-ratio is at most :func:`gaussian_gap`, everywhere; :func:`certified_rho` and :func:`certified_approx` say what that
costs.

References
----------
Geumlek (2020), chapter 6: adding noise to what was released amplifies its privacy. Kairouz, Liu and Steinke (2021), The
distributed discrete Gaussian mechanism, theorem 9: the same comparison with other constants.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

#: Bits of the coin that decides whether discrete Laplace noise is added.
COIN_BITS = 256
# digits of the probability, far beyond those of the coin
_DIGITS = 160


def zero_probability(scale: Fraction, wider: Fraction) -> Fraction:
    """Return the probability of adding 0 to discrete Laplace noise, rounded down to :data:`COIN_BITS` bits.

    Privacy
    -------
    Rounded down, the sum is a mixture of discrete Laplace noise of the ``wider`` scale b_2 (nearly always) and of the
    noise that was there plus another of scale b_2. Each changes its mass by at most a factor exp(1/b_2) from one
    integer to the next, so their mixture does.
    """
    if wider <= scale:
        raise ValueError("the wider scale is not wider")
    with localcontext(prec=_DIGITS):
        one, two = (_ratio(each) for each in (scale, wider))
        exact = one / two * ((1 - two) / (1 - one)) ** 2
        # differences of ratios near 1 lose digits: as many as scales have, and these have at most 20 before the point
        below = exact * (1 - Decimal(10) ** (40 - _DIGITS))
        return Fraction(max(0, int(below * 2**COIN_BITS)), 2**COIN_BITS)


def _ratio(scale: Fraction) -> Decimal:
    """Return exp(-1 / scale), the ratio of the masses of two neighboring integers."""
    return (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()


def gaussian_gap(sigma: float, added: float) -> float:
    """Return how far log-masses of the sum of two discrete Gaussians can be from those of one with both variances."""
    v = 1 / (1 / sigma**2 + 1 / added**2)
    # the sum over k >= 1 of exp(-2 pi^2 v k^2) is below twice its first term where that is below 1/2
    ripple = 4 * math.exp(-2 * math.pi**2 * v)
    return math.inf if ripple >= 1 else math.log1p(ripple) - math.log1p(-ripple)


def certified_rho(rho: float, gap: float) -> float:
    """Return a rho' so that noise within ``gap`` of a rho-zCDP mechanism's, in log-mass, is rho'-zCDP.

    Privacy
    -------
    Log-masses within t on both sides give D_a <= a rho + t (2a - 1) / (a - 1). For a >= 1 + s that is at most
    a (rho + t (2 + 1/s)); for smaller a, D_a <= D_(1+s) <= (1 + s) rho + t (2 + 1/s). Both are at most a rho' with
    rho' = (1 + s) rho + t (2 + 1/s); s = sqrt(t / rho) is nearly the best.
    """
    if gap == 0:
        return rho
    s = math.sqrt(gap / rho)
    return (1 + s) * rho + gap * (2 + 1 / s)


def certified_approx(epsilon: float, delta: float, gap: float) -> tuple[float, float]:
    """Return what noise within ``gap`` of an (epsilon, delta) mechanism's, in log-mass, guarantees.

    Privacy
    -------
    P'(S) - e^(epsilon + 2t) Q'(S) <= e^t (P(S) - e^epsilon Q(S)) <= e^t delta.
    """
    return epsilon + 2 * gap, delta * math.exp(gap)

"""Tight composition: the distribution of the summed privacy loss, through dp-accounting (an extra).

Only reports are made of it. Whether a file loads or a ledger grants a charge must not depend on an extra, and never
comes here.

The worst mechanism of an epsilon is randomized response, whose privacy loss is +-epsilon. Losses of independent
mechanisms add, so their distributions convolve, and the hockey-stick divergence of the result,
E[max(0, 1 - e^(epsilon - loss))], is the exact delta. On a grid of losses a mass between two points is split over both
such that E[e^(-loss)] is kept: the original pair of distributions is then a function of the new one, which is therefore
worse. The split is exact where the losses are multiples of the step, which is chosen so whenever that is possible.

Parts that are known only by a Rényi curve are taken together, given everything else: their hockey-stick curves are
convex in e^epsilon, and so is the largest of them, which lies below the bound of
:meth:`~discreet.privacy.curves.RenyiCurve.log_delta`. Joining that bound's values on the grid by straight lines in
e^epsilon keeps it above every convex curve below it, and is the curve of a loss distribution ("connect the dots") that
composes like the others.

References
----------
Kairouz, Oh and Viswanath (2015), The composition theorem for differential privacy. Doroshenko, Ghazi, Kamath, Kumar
and Manurangsi (2022), Connect the dots: tighter discrete approximations of privacy loss distributions. Zhu, Dong and
Wang (2022), Optimal accounting of differential privacy via characteristic function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import floor, gcd, lcm
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.curves import RenyiCurve

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# Half the number of grid points, and the largest total loss for which e^loss is a float.
_HALF_GRID = 2**14
_LARGEST_LOSS = 600.0
# dp-accounting convolves by Fourier transforms, whose error is a few 1e-16 per convolution, measured below 1e-14 over
# all tails, and raises transforms to powers, which multiplies the error of each: measured at 4e-17 times the power.
# These are what each convolution and each response are charged; where the sum is not small beside delta, other methods
# are used.
_FOURIER_ERROR = 1e-13
_POWER_ERROR = 1e-15


def composed_epsilon(epsilons: Sequence[Fraction], rest: RenyiCurve | None, delta: float) -> float | None:
    """Return the epsilon at ``delta`` of pure guarantees and a Rényi curve together, or None if it is not reliable."""
    counts = Counter(epsilons)
    error = _FOURIER_ERROR * (len(counts) + 2) + _POWER_ERROR * len(epsilons)
    if delta < 20 * error:
        return None
    # mass of the rest beyond this loss counts as failed
    reach = 0.0 if rest is None else rest.epsilon(1e-4 * delta)
    total = sum(epsilons, Fraction(0))
    if float(total) + reach > _LARGEST_LOSS:
        return None
    step = _step(list(counts), total + Fraction(reach))
    pieces = [response_losses(epsilon, step, count) for epsilon, count in counts.items()]
    if rest is not None:
        pieces.append(curve_losses(rest, reach, float(step)))
    composed = pieces[0]
    for piece in pieces[1:]:
        composed = composed.compose(piece)
    epsilon = float(composed.get_epsilon_for_delta(delta - error))
    return epsilon if np.isfinite(epsilon) else None


def response_losses(epsilon: Fraction, step: Fraction, count: int = 1) -> PrivacyLossDistribution:
    """Return the loss of ``count`` randomized responses, its two masses split over grid points if they fall between."""
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    masses: Counter[int] = Counter()
    for loss in (epsilon, -epsilon):
        mass = float(1 / (1 + np.exp(-float(loss))))
        below = floor(loss / step)
        above = mass * float(np.expm1(-float(loss - below * step)) / np.expm1(-float(step)))
        masses[below] += mass - above  # pyright: ignore[reportArgumentType]
        masses[below + 1] += above  # pyright: ignore[reportArgumentType]
    kept = {place: mass for place, mass in masses.items() if mass > 0}
    one = PrivacyLossDistribution.create_from_rounded_probability(kept, 0.0, float(step))
    return one.self_compose(count) if count > 1 else one


def curve_losses(rest: RenyiCurve, reach: float, step: float) -> PrivacyLossDistribution:
    """Return the loss distribution behind the delta(epsilon) that a Rényi curve allows, on [-reach, reach]."""
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots_fixed_gap
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    half = max(int(np.ceil(reach / step)), 1)
    epsilons = step * np.arange(half + 1)
    delta = np.exp(rest.log_delta(epsilons))
    # below 0 by exchanging the two distributions: H(-e) = 1 - exp(-e) + exp(-e) H(e)
    mirrored = -np.expm1(-epsilons[:0:-1]) + np.exp(-epsilons[:0:-1]) * delta[:0:-1]
    deltas = np.minimum.accumulate(np.concatenate([mirrored, delta]))
    return PrivacyLossDistribution(create_pmf_pessimistic_connect_dots_fixed_gap(step, -half, half, deltas))


def _step(epsilons: list[Fraction], reach: Fraction) -> Fraction:
    """Return a grid step that divides all ``epsilons`` if they allow it, for about 2^14 steps up to ``reach``."""
    coarse = reach / _HALF_GRID
    common = lcm(*(e.denominator for e in epsilons))
    divisor = Fraction(gcd(*(int(e * common) for e in epsilons)), common)
    if 4 * divisor < coarse:
        return coarse
    return divisor / max(1, round(divisor / coarse))

r"""Exact integer noise with density exp(-M(k)), M the larger of a weighted L1 norm and of linear forms.

Independent discrete Laplace noise has density exp(-L(k)), L(k) = sum_j |k_j| / b_j. A draw k of it is kept with
probability exp(-(M(k) - L(k))), which is at most 1 because M is at least L; the first that is kept has the density
exp(-M(k)). How many are thrown away depends on the noise alone.

The exponent is rational, so the coin is exact (Canonne, Kamath and Steinke 2020, algorithm 1). Most draws fail one of
the first tosses of exp(-1), of which a float says how many there are at least: float64 is off by less than 1e-9 there,
and 1e-6 is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.privacy import DiscreteLaplace

if TYPE_CHECKING:
    from discreet.samplers.secure import RandomSource

# proposals that are drawn at once
_BLOCK = 512
_SLACK = 1e-6


def thinned_noise(
    scales: Sequence[Fraction],
    forms: np.ndarray,
    reaches: Sequence[Fraction],
    times: int,
    source: RandomSource,
) -> list[tuple[int, ...]]:
    """Draw integer vectors with density exp(-max(sum_j |k_j| / scales_j, max_f forms_f · k / reaches_f)).

    ``scales`` are exact floats, ``reaches`` are in the same units: integers k.

    Privacy
    -------
    Theorem: the density at k and at k + d differ by a factor of at most exp(M(d)), because M is a norm: the K-norm
    mechanism (Hardt and Talwar 2010) on integers. No floating-point number decides what is drawn.
    """
    distributions = [DiscreteLaplace(float(scale)) for scale in scales]
    widths = np.array([one.scale for one in distributions])
    slopes = forms / np.array([float(reach) for reach in reaches])[:, None]
    found: list[tuple[int, ...]] = []
    while len(found) < times:
        proposed = np.stack([source.batch(one, _BLOCK) for one in distributions], axis=1)
        beyond = (proposed @ slopes.T).max(axis=1) - (np.abs(proposed) / widths).sum(axis=1)
        for k, excess in zip(proposed, beyond, strict=True):
            # as many tosses of exp(-1) as there are in any case, and then the rest of the exponent
            sure = max(floor(excess - _SLACK), 0)
            if all(_is_kept(Fraction(1), source) for _ in range(sure)) and _is_kept(
                excess_of(k, scales, forms, reaches) - sure, source
            ):
                found.append(tuple(int(value) for value in k))
                if len(found) == times:
                    break
    return found


def excess_of(
    k: Sequence[int] | np.ndarray, scales: Sequence[Fraction], forms: np.ndarray, reaches: Sequence[Fraction]
) -> Fraction:
    """Return M(k) - L(k), exactly."""
    whole = [int(value) for value in k]
    l1 = sum((abs(value) / scale for value, scale in zip(whole, scales, strict=True)), Fraction(0))
    values: Any = forms.astype(object) @ np.array(whole, dtype=object)
    most = max(Fraction(int(value)) / reach for value, reach in zip(values, reaches, strict=True))
    return max(most - l1, Fraction(0))


def _is_kept(exponent: Fraction, source: RandomSource) -> bool:
    """Be true with probability exp(-exponent), exactly."""
    while exponent > 1:
        if not _is_kept(Fraction(1), source):
            return False
        exponent -= 1
    tosses = 1
    while source.coin(exponent / tosses):
        tosses += 1
    return tosses % 2 == 1

r"""Publishing labels that nobody declared: noise on the number of people of each, and a threshold.

Of every label that somebody has, the number n of people with it gets discrete Laplace noise of scale b, and the label
is published, with its noisy number, if that is at least T. Labels that nobody has are never looked at. A person has at
most g labels. Noise is drawn by OpenDP; mechanism and proof are our own form of what Korolova et al. (2009) do.

Privacy
-------
Neighbors: a person with all rows. Let a = e^(-1/b), and p = P[Z >= T - 1] = a^(T-1) / (1 + a) for T >= 2, the chance
that a label which one person alone has is published. **Theorem.** With b >= g / epsilon under ``add_remove``, and
b >= 2 g / epsilon under ``replace``, g p <= delta and p <= 1 - a, the published labels and numbers are
(epsilon, delta)-DP.

*Proof.* Let x and x' be neighbors. Call a label *old* if only x has it, *new* if only x' has it, *common* otherwise.
All people who have an old label in x are the one who leaves, so its number is 1; likewise for new ones. There are
m_o old and m_n new labels, m_n <= g; and the numbers of common labels move by at most c - m_o - m_n in L1, where c = g
under ``add_remove`` and 2 g under ``replace``. Noise is independent, so the output is that of common labels and,
independently, that of the others. Let S be a set of outputs, S_0 those of S without an old or new label, and C(S_0),
C'(S_0) the probabilities that common labels alone give such an output. Then

    P'[S] <= P'[some new label is published] + (1 - p)^m_n C'(S_0)
          <= m_n p + e^((c - m_o - m_n) / b) C(S_0),
    P[S]  >= (1 - p)^m_o C(S_0) >= e^(-m_o / b) C(S_0),

because 1 - p >= a = e^(-1/b). Together P'[S] <= g p + e^((c - m_n) / b) P[S] <= delta + e^epsilon P[S]. The other
direction is the same with old and new exchanged. So under ``replace`` the person who leaves costs noise, as the one who
comes does, and delta pays for the labels of one of them at a time, in either direction.

For a person who comes with g labels of their own the extra probability is 1 - (1 - p)^g, so delta cannot be less than
that: the union bound g p is all that is given away, besides T being whole.

References
----------
Korolova, Kenthapadi, Mishra and Ntoulas (2009), Releasing search queries and clicks privately.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.domain.declarations import Neighbors
from discreet.privacy.rounding import exp_down, exp_up
from discreet.rational import float_up

# e^-200 is far below any delta, and what a forged file asks for must not take long
_FAR = Fraction(200)


def selection_scale(epsilon: Fraction, max_labels: int, neighbors: Neighbors) -> Fraction:
    """Return the least noise scale on numbers of people that the theorem asks for, rounded up to a float."""
    moved = max_labels * (2 if neighbors == "replace" else 1)
    return Fraction(float_up(moved / epsilon))


def is_high_enough(threshold: int, scale: Fraction, max_labels: int, delta: Fraction) -> bool:
    """Tell, by bounds that are rounded the safe way, whether the theorem holds with this threshold."""
    if threshold < 2 or scale <= 0:
        return False
    p = _power_up((threshold - 1) / scale) / (1 + _power_down(1 / scale))
    return max_labels * p <= delta and p <= 1 - _power_up(1 / scale)


def least_threshold(scale: Fraction, max_labels: int, delta: Fraction) -> int:
    """Return the least threshold with which the theorem holds."""
    b = float(scale)
    # p <= 1 - a where a^(T-1) <= 1 - a^2
    own = math.log(max_labels) - math.log(delta.numerator) + math.log(delta.denominator)
    needed = max(own - math.log1p(math.exp(-1 / b)), -math.log(-math.expm1(-2 / b)))
    threshold = max(2, math.floor(1 + b * needed) - 1)
    while not is_high_enough(threshold, scale, max_labels, delta):
        threshold += 1
    return threshold


def _power_up(exponent: Fraction) -> Fraction:
    """Return a number that is at least e^-exponent, which no delta tells from e^-200 beyond that."""
    found = exp_up(-min(exponent, _FAR))
    assert found is not None
    return found


def _power_down(exponent: Fraction) -> Fraction:
    """Return a number that is at most e^-exponent."""
    return exp_down(-exponent) if exponent < _FAR else Fraction(0)

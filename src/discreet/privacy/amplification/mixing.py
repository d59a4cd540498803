"""Amplification by uniform mixing: what a guarantee becomes after a kernel that forgets.

M is (epsilon, delta)-DP, K a Markov kernel that does not look at the records. Post-processing says that K after M is
no less private; these results say how much more private it is. Neighbors and unit stay those of M.

References
----------
Geumlek (2020), theorem 15, proved as theorems 16 to 19. Balle, Barthe, Gaboardi and Geumlek (2019).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.arguments import not_negative
from discreet.checked import checked
from discreet.errors import UsageError
from discreet.privacy.amplification.checks import fraction
from discreet.privacy.amplification.mixing_coefficients import MarkovKernel
from discreet.privacy.guarantees import ApproxDP, PureDP, pure_or_approx
from discreet.privacy.rounding import float_result_up

# Kernels are wrong by less than this, relatively, and so are levels; one next to 0 is also rounded in absolute terms.
_ULPS, _LEVEL_ROOM = 1e-15, 1e-12
# So large that its product with the least delta is not rounded to 0.
_LEAST_COEFFICIENT = 1e-200
# No smaller delta can be stated; a larger one is also true.
_LEAST_DELTA = 1e-30
# e^700 is a float.
_LARGE = 700.0

Condition = Literal["dobrushin", "hockey_stick", "doeblin", "ultra_mixing", "pure_ultra_mixing"]


@dataclass(frozen=True)
class Amplified:
    """What one mixing condition with coefficient ``gamma`` makes of a guarantee."""

    condition: Condition
    gamma: float
    epsilon: float
    delta: float


@checked
def after_dobrushin(epsilon: float, delta: float, gamma: float) -> tuple[float, float]:
    """Return (epsilon, gamma delta), for a gamma-Dobrushin kernel.

    Tight: attained by the kernel that erases its input with probability 1 - gamma.

    References
    ----------
    Geumlek (2020), theorem 15 (1) and theorem 16. Any neighbors; nothing else is assumed of M.
    """
    epsilon, delta, gamma = _read(epsilon, delta, gamma)
    return epsilon, gamma * delta


@checked
def hockey_stick_level(epsilon: float, delta: float) -> float:
    """Return log(1 + (e^epsilon - 1) / delta), the level at which :func:`after_hockey_stick` wants its coefficient.

    Infinite for delta = 0: there the coefficient is the mass that one K(x) puts where another has none.

    References
    ----------
    Geumlek (2020), theorem 15 (2) and its footnote.
    """
    epsilon, delta, _ = _read(epsilon, delta, 0.0)
    if epsilon == 0:
        return 0.0
    if delta == 0:
        return np.inf
    # log(1 + u) for log u = epsilon + log(1 - e^-epsilon) - log(delta), which may be too large to exponentiate
    return float(np.logaddexp(0.0, epsilon + np.log(-np.expm1(-epsilon)) - np.log(delta)))


@checked
def after_hockey_stick(epsilon: float, delta: float, gamma: float) -> tuple[float, float]:
    """Return (epsilon, gamma delta), for a (gamma, level)-Dobrushin kernel, level = :func:`hockey_stick_level`.

    Never worse than :func:`after_dobrushin`, because the coefficient falls with its level. Tight for every kernel: if
    the worst inputs are a and b, then mu = (1 - delta) omega + delta [a] and nu = s omega + (1 - s) [b] with
    s = (1 - delta) e^-epsilon attain it for any omega, as an ordered pair.

    References
    ----------
    Geumlek (2020), theorem 15 (2) and theorem 17, whose last line should end in D_{e^epsilon}(mu || nu). Any neighbors.
    """
    return after_dobrushin(epsilon, delta, gamma)


@checked
def after_doeblin(epsilon: float, delta: float, gamma: float) -> tuple[float, float]:
    """Return (epsilon', gamma (1 - e^(epsilon' - epsilon) (1 - delta))), epsilon' = log(1 + gamma (e^epsilon - 1)).

    Epsilon always improves, delta only if gamma <= delta e^epsilon / ((1 - delta) (e^epsilon - 1)): a pure guarantee
    comes out as an approximate one. Tight for one ordered pair of distributions with D_{e^epsilon}(mu || nu) <= delta;
    a mechanism that keeps the bound in both directions does slightly better than this.

    References
    ----------
    Geumlek (2020), theorem 15 (3), theorem 18 and the remark after theorem 15. Any neighbors.
    """
    epsilon, delta, gamma = _read(epsilon, delta, gamma)
    amplified = _subsampled(epsilon, gamma)
    # 1 - b (1 - delta) with b = e^(epsilon' - epsilon) = 1 - (1 - gamma)(1 - e^-epsilon), without cancellation
    lost = (1 - gamma) * -np.expm1(-epsilon)
    return amplified, float(gamma * (lost + delta * (1 - lost)))


@checked
def after_ultra_mixing(epsilon: float, delta: float, gamma: float) -> tuple[float, float]:
    """Return (epsilon', gamma delta e^(epsilon' - epsilon)), epsilon' = log(1 + gamma (e^epsilon - 1)).

    References
    ----------
    Geumlek (2020), theorem 15 (4) and theorem 19; gamma is 1 less the least ratio over *all* pairs of inputs. Any
    neighbors.
    """
    epsilon, delta, gamma = _read(epsilon, delta, gamma)
    lost = (1 - gamma) * -np.expm1(-epsilon)
    return _subsampled(epsilon, gamma), float(gamma * delta * (1 - lost))


@checked
def after_pure_ultra_mixing(epsilon: float, gamma: float) -> float:
    r"""Return log((1 + e^(epsilon + e)) / (e^epsilon + e^e)), e = -log(1 - gamma): a pure guarantee after ultra-mixing.

    Never above epsilon, nor above e, nor above :func:`after_ultra_mixing`, and the least that holds: randomized
    response at epsilon followed by randomized response at e attains it.

    Notes
    -----
    The density k(x, y) of K at a given output y lies in [m, m e^e] as x varies. The ratio of its means under mu = M(D)
    and nu = M(D') is largest if k takes only these two values, on a set A and off it, and is then

        (1 + c mu(A)) / (1 + c nu(A)),    c = e^e - 1.

    Since mu(A) <= e^epsilon nu(A) and 1 - mu(A) >= e^-epsilon (1 - nu(A)), this grows with nu(A) up to 1 / (1 +
    e^epsilon), where both hold with equality, and falls beyond. Both directions of the guarantee are used, as any
    neighbor relation gives them.
    """
    epsilon, _, gamma = _read(epsilon, 0.0, gamma)
    if gamma == 1:
        return epsilon
    own = -np.log1p(-gamma)
    least = min(epsilon, own)
    if least < 1:
        # the same number, as tanh(value / 2) = tanh(epsilon / 2) tanh(e / 2): exact for small budgets
        value = 2 * np.arctanh(np.tanh(epsilon / 2) * np.tanh(own / 2))
    else:
        value = least + np.log1p(np.exp(-epsilon - own)) - np.log1p(np.exp(-abs(epsilon - own)))
    return float(min(value, least))


@checked
def amplifications(epsilon: float, delta: float, kernel: MarkovKernel) -> dict[Condition, Amplified]:
    """Return what each condition makes of (epsilon, delta)-DP after ``kernel``, by name; none includes all others.

    Coefficients are rounded up, and the level of the hockey stick down: a condition that holds for a coefficient holds
    for every larger one, and what follows from that is a guarantee, however close to 0 or 1 it is.

    References
    ----------
    Geumlek (2020), theorem 15; ``pure_ultra_mixing``, for delta = 0 only, is :func:`after_pure_ultra_mixing`.
    """
    level = max(0.0, hockey_stick_level(epsilon, delta) * (1 - _LEVEL_ROOM) - _LEVEL_ROOM)
    ways: dict[Condition, tuple[Callable[[float, float, float], tuple[float, float]], float]] = {
        "dobrushin": (after_dobrushin, kernel.dobrushin()),
        "hockey_stick": (after_hockey_stick, kernel.dobrushin(level)),
        "doeblin": (after_doeblin, kernel.doeblin()),
        "ultra_mixing": (after_ultra_mixing, kernel.ultra_mixing()),
    }
    found: dict[Condition, Amplified] = {}
    for name, (rule, coefficient) in ways.items():
        gamma = _raised(coefficient)
        found[name] = Amplified(name, gamma, *rule(epsilon, delta, gamma))
    if delta == 0:
        gamma = found["ultra_mixing"].gamma
        value = after_pure_ultra_mixing(epsilon, gamma)
        found["pure_ultra_mixing"] = Amplified("pure_ultra_mixing", gamma, value, 0.0)
    return found


@checked
def after_kernel(
    guarantee: PureDP | ApproxDP, kernel: MarkovKernel, condition: Condition
) -> PureDP | ApproxDP:
    """Return the guarantee of a mechanism whose output goes through ``kernel`` and is then forgotten.

    Privacy
    -------
    Neighbors and unit are those of ``guarantee``. Holds only if the output before the kernel is never published, and if
    the kernel sees nothing but that output.

    References
    ----------
    Geumlek (2020), theorem 15.
    """
    found = amplifications(float(guarantee.epsilon), float(guarantee.budgets().get("delta", 0)), kernel)
    if condition not in found:
        raise UsageError(f"condition must be one of {', '.join(found)}, got condition={condition!r}.")
    stated = found[condition]
    delta = stated.delta and max(stated.delta * (1 + 1e-10), _LEAST_DELTA)
    return pure_or_approx(float_result_up(stated.epsilon), delta, **guarantee.about)


def _subsampled(epsilon: float, gamma: float) -> float:
    """Return log(1 + gamma (e^epsilon - 1)), the form of amplification by subsampling, for any finite epsilon."""
    # log1p keeps small values exact; epsilon + log(e^-epsilon + gamma (1 - e^-epsilon)) does not overflow
    if epsilon > _LARGE and gamma > 0:
        return float(epsilon + np.log(np.exp(-epsilon) - gamma * np.expm1(-epsilon)))
    return float(np.log1p(gamma * np.expm1(epsilon))) if gamma > 0 else 0.0


def _raised(gamma: float) -> float:
    """Return a coefficient that is certainly not too small; 0 stays 0, and means that the kernel forgets everything."""
    return 0.0 if gamma == 0 else min(max(gamma * (1 + _ULPS), _LEAST_COEFFICIENT), 1.0)


def _read(epsilon: float, delta: float, gamma: float) -> tuple[float, float, float]:
    return not_negative(epsilon, "epsilon"), fraction(delta, "delta"), fraction(gamma, "gamma")

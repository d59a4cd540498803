"""Amplification by iteration: a difference made early is blurred by all the noise that follows.

Step k maps x to the projection onto a convex set of psi_k(x) + N(0, sigma_k^2 I), with psi_k L_k-Lipschitz. Two
distributions start a distance apart and go through the same steps. Part of the distance is hidden by the noise of each
step, at a price that depends on how much the maps up to there have stretched it.

References
----------
Geumlek (2020), section 6.4.1. Feldman, Mironov, Talwar and Thakurta (2018), Privacy amplification by iteration.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from discreet.arguments import not_negative, positive, whole
from discreet.checked import checked
from discreet.errors import UsageError


@checked
def path_rho(hidden: ArrayLike, lipschitz: ArrayLike, sigma: ArrayLike) -> float:
    r"""Bound the Rényi divergence after noisy iteration, for a given split of the distance over the steps.

    It is at most order times the returned rho = sum_k (A_k hidden_k / sigma_k)^2 / 2, A_k = L_1 ... L_k.

    Parameters
    ----------
    hidden
        Part of the distance that the noise of step k hides. In the notation of equation (6.4), where a path mu_0, ...,
        mu_r leads from mu to nu, ``hidden[k - 1]`` is the distance of mu_{r-k+1} and mu_{r-k}; any split of the
        infinity-Wasserstein distance of mu and nu belongs to a path.
    lipschitz, sigma
        Of the steps in turn; one number stands for all.

    References
    ----------
    Geumlek (2020), theorem 21, equation (6.4) with a constant L_k of its own for each step: its induction uses the
    constant of one step at a time. Holds for any L_k. Neighbors: those whose distributions before the first step are
    that far apart.
    """
    parts = np.atleast_1d(np.asarray(hidden, dtype=float))
    log_stretch, log_sigma = _steps(lipschitz, sigma, parts.size)
    if not (np.all(np.isfinite(parts)) and np.all(parts >= 0)):
        raise UsageError("the hidden parts must be finite and not negative.")
    return float(0.5 * np.sum((parts * np.exp(log_stretch - log_sigma)) ** 2))


@checked
def best_split(
    distance: float, lipschitz: ArrayLike, sigma: ArrayLike, n_steps: int | None = None
) -> np.ndarray:
    """Return the parts of ``distance`` that the steps should hide, in proportion to sigma_k^2 / A_k^2.

    References
    ----------
    Minimizes :func:`path_rho` over all splits (Cauchy-Schwarz). For equal steps the parts are in proportion to L^(-2k);
    the proof of equation (6.5) in Geumlek (2020) takes L^(-k).
    """
    positive(distance, "distance")
    log_stretch, log_sigma = _steps(lipschitz, sigma, n_steps)
    log_weight = 2 * (log_sigma - log_stretch)
    if np.any(log_weight == np.inf):
        # a constant map hides everything
        return distance * np.eye(log_weight.size)[int(np.argmax(log_weight))]
    return distance * np.exp(log_weight - logsumexp(log_weight))


@checked
def iteration_rho(
    distance: float, lipschitz: ArrayLike, sigma: ArrayLike, n_steps: int | None = None
) -> float:
    r"""Bound the Rényi divergence after noisy iteration: at most order times the returned rho, the best there is.

    rho = distance^2 / (2 sum_k sigma_k^2 / A_k^2), A_k = L_1 ... L_k. For r equal steps that is

        distance^2 L^(2r) (1 - L^2) / (2 sigma^2 (1 - L^(2r))),    distance^2 / (2 r sigma^2) at L = 1.

    Tight: exact for scaled isometries psi_k without projection, from two fixed points. Each sigma_k / A_k is the noise
    of step k carried back to the start, so steps add up as variances do.

    Parameters
    ----------
    distance
        Infinity-Wasserstein distance of the two distributions before the first step.
    lipschitz, sigma
        Of the steps in turn; one number stands for all.
    n_steps
        Number of steps, if both are single numbers.

    References
    ----------
    Geumlek (2020), theorem 21: :func:`path_rho` at its best split. Equation (6.5), distance^2 L^(r+1) / (2 r sigma^2),
    is the same bound at another split; valid, and larger unless r = 1 or L = 1. Neighbors: those whose distributions
    before the first step are that far apart.
    """
    positive(distance, "distance")
    log_stretch, log_sigma = _steps(lipschitz, sigma, n_steps)
    return float(0.5 * np.exp(2 * np.log(distance) - logsumexp(2 * (log_sigma - log_stretch))))


@checked
def gradient_step_lipschitz(step_size: float, smoothness: float, strong_convexity: float) -> float:
    """Return the Lipschitz constant of x - step_size * gradient, for a smooth and strongly convex loss.

    max(1 - step_size * strong_convexity, step_size * smoothness - 1): the slopes of the map lie between one minus the
    step times each of the two. For step_size <= 2 / (smoothness + strong_convexity) it is the first, and never above
    the sqrt(1 - 2 step_size b r / (b + r)) of lemma 7; for larger steps lemma 7 does not apply, and this may exceed 1.

    References
    ----------
    Geumlek (2020), lemma 7, sharpened. ``strong_convexity=0`` is a convex loss.
    """
    eta, beta = positive(step_size, "step_size"), positive(smoothness, "smoothness")
    rho = not_negative(strong_convexity, "strong_convexity")
    if rho > beta:
        raise UsageError("strong_convexity must not exceed smoothness.")
    return float(max(1 - eta * rho, eta * beta - 1, 0.0))


def _steps(lipschitz: ArrayLike, sigma: ArrayLike, n_steps: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each step, the log of the stretch up to there and of the noise."""
    factors, sigmas = np.asarray(lipschitz, dtype=float), np.asarray(sigma, dtype=float)
    shape = () if n_steps is None else (whole(n_steps, "n_steps"),)
    try:
        shape = np.broadcast_shapes(shape, factors.shape, sigmas.shape)
    except ValueError:
        raise UsageError("lipschitz, sigma and the number of steps do not match.") from None
    if len(shape) > 1 or 0 in shape:
        raise UsageError("lipschitz and sigma must be numbers or lists, one entry for each step.")
    if not (np.all(np.isfinite(factors)) and np.all(factors >= 0)):
        raise UsageError("Lipschitz constants must be finite and not negative.")
    if not (np.all(np.isfinite(sigmas)) and np.all(sigmas > 0)):
        raise UsageError("sigma must be positive and finite.")
    shape = shape or (1,)
    with np.errstate(divide="ignore"):
        log_stretch = np.cumsum(np.log(np.broadcast_to(factors, shape)))
    return log_stretch, np.log(np.broadcast_to(sigmas, shape))

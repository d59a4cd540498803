"""Amplification by iteration: a difference made early is blurred by all the noise that follows.

Step k maps x to the projection onto a convex set of psi_k(x) + N(0, sigma_k^2 I), with psi_k L_k-Lipschitz. Two laws
start a distance apart and go through the same steps. Part of the distance is hidden by the noise of each step, at a
price that depends on how much the maps up to there have stretched it.

References
----------
Geumlek (2020), section 6.4.1. Feldman, Mironov, Talwar and Thakurta (2018), Privacy amplification by iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from discreet.errors import UsageError
from discreet.privacy.amplification.checks import at_least_zero, count, finite_orders, positive
from discreet.privacy.amplification.differences import log_mean_exp
from discreet.privacy.amplification.statements import concentrated, curve
from discreet.privacy.guarantees import ZeroConcentratedDP
from discreet.privacy.renyi import RenyiDP


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
    constant of one step at a time. Holds for any L_k. Neighbors: those whose laws before the first step are that far
    apart.
    """
    parts = np.atleast_1d(np.asarray(hidden, dtype=float))
    log_stretch, log_sigma = _steps(lipschitz, sigma, parts.size)
    if not (np.all(np.isfinite(parts)) and np.all(parts >= 0)):
        raise UsageError("the hidden parts must be finite and not negative.")
    return float(0.5 * np.sum((parts * np.exp(log_stretch - log_sigma)) ** 2))


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
        Infinity-Wasserstein distance of the two laws before the first step.
    lipschitz, sigma
        Of the steps in turn; one number stands for all.
    n_steps
        Number of steps, if both are single numbers.

    References
    ----------
    Geumlek (2020), theorem 21: :func:`path_rho` at its best split. Equation (6.5), distance^2 L^(r+1) / (2 r sigma^2),
    is the same bound at another split; valid, and larger unless r = 1 or L = 1. Neighbors: those whose laws before the
    first step are that far apart.
    """
    positive(distance, "distance")
    log_stretch, log_sigma = _steps(lipschitz, sigma, n_steps)
    return float(0.5 * np.exp(2 * np.log(distance) - logsumexp(2 * (log_sigma - log_stretch))))


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
    rho = at_least_zero(strong_convexity, "strong_convexity")
    if rho > beta:
        raise UsageError("strong_convexity must not exceed smoothness.")
    return float(max(1 - eta * rho, eta * beta - 1, 0.0))


@dataclass(frozen=True)
class NoisySGD:
    r"""One pass of noisy projected stochastic gradient descent, of which only the last iterate is published.

    x_i = projection of x_{i-1} - step_size (gradient of loss(x_{i-1}, z_i) + N(0, sigma^2 I)) onto a convex set, i =
    1, ..., n; x_0 does not depend on the records. (The body of the loop is missing in the printed algorithm; the noise
    in x has standard deviation step_size * sigma.)

    Parameters
    ----------
    n_records
        Number of records, public; each is used once.
    gradient_bound
        C: the loss is C-Lipschitz in x on the set, for every record. It is enough that the gradients of two records at
        one point are never further than 2 C apart.
    smoothness, strong_convexity
        Of the loss in x on the set, for every record. No strong convexity: 0.
    step_size, sigma
        Of the algorithm.

    Privacy
    -------
    Neighbors: ``replace``. The order of the records matters: see :meth:`rhos` (each place, in an order that may be
    public), :meth:`rho` (everybody, in such an order) and :meth:`shuffled_epsilons` (everybody, in a secret random
    order).

    References
    ----------
    Geumlek (2020), algorithm 5 and theorem 22.
    """

    n_records: int
    gradient_bound: float
    smoothness: float
    strong_convexity: float
    step_size: float
    sigma: float

    def __post_init__(self) -> None:
        count(self.n_records, "n_records")
        positive(self.gradient_bound, "gradient_bound")
        positive(self.sigma, "sigma")
        _ = self.lipschitz  # checks the other three

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of a gradient step."""
        return gradient_step_lipschitz(self.step_size, self.smoothness, self.strong_convexity)

    def rhos(self) -> np.ndarray:
        r"""Return rho_i for each place i in the order: the Rényi divergence at index i is at most order * rho_i.

        rho_i = (2 C^2 / sigma^2) / sum_{j=0}^{r} L^(-2j), r = n - i steps to come. The order of the records may be
        public.

        Notes
        -----
        Given x_{i-1}, the two gradient steps end at most 2 C step_size apart; by quasi-convexity of the Rényi
        divergence the worst x_{i-1} bounds the mixture. From there on it is :func:`iteration_rho`, the first step
        being the noise of step i itself on the identity map. Theorem 22 of Geumlek (2020) spends that noise on nothing
        and uses (6.5): (2 C^2 / ((n - i) sigma^2)) (1 - 2 step_size b r / (b + r))^((n - i + 1) / 2), valid and
        larger.
        """
        with np.errstate(divide="ignore"):
            log_terms = np.full(self.n_records, -2 * np.log(self.lipschitz))
        log_terms[0] = 0.0
        log_sums = np.logaddexp.accumulate(np.cumsum(log_terms))
        return 2 * (self.gradient_bound / self.sigma) ** 2 * np.exp(-log_sums[::-1])

    def rho(self) -> float:
        """Return rho for everybody if the order may be known: the last record's, 2 C^2 / sigma^2, not amplified.

        References
        ----------
        Geumlek (2020), theorem 22, which is a statement about one index; the guarantee for all is the largest.
        """
        return float(self.rhos().max())

    def shuffled_epsilons(self, order: ArrayLike) -> np.ndarray:
        r"""Return the Rényi curve for everybody if the records are shuffled uniformly and the permutation stays secret.

        log((1/n) sum_i e^((a - 1) a rho_i)) / (a - 1) at order a: the law of the output is the mean over the record's
        place, and e^((a - 1) R_a) is jointly convex. The arithmetic mean of a rho_i is *not* a valid bound.

        References
        ----------
        Geumlek (2020), theorem 22, averaged with care; Feldman, Mironov, Talwar and Thakurta (2018).
        """
        return shuffled_epsilons(order, self.rhos())

    def guarantee(self, *, unit: str | None = None) -> ZeroConcentratedDP:
        """Return what holds for everybody if the order may be known (:meth:`rho`)."""
        return concentrated(self.rho(), unit=unit)

    def shuffled_guarantee(self, orders: ArrayLike, *, unit: str | None = None) -> RenyiDP:
        """Return what holds for everybody if the order is random and secret (:meth:`shuffled_epsilons`)."""
        return curve(orders, self.shuffled_epsilons(orders), unit=unit)


def shuffled_epsilons(order: ArrayLike, rhos: ArrayLike) -> np.ndarray:
    """Return the Rényi curve of a mechanism that is order * rho_i at place i, for a record at a secret uniform place.

    References
    ----------
    Joint convexity of e^((a - 1) R_a); attained if outputs for different places can be told apart. Neighbors:
    ``replace``.
    """
    a, places = finite_orders(order), np.atleast_1d(np.asarray(rhos, dtype=float))
    if places.ndim != 1 or not np.all(places >= 0):
        raise UsageError("rhos must be a list of numbers that are not negative.")
    # one order at a time: orders times records may not fit in memory
    values = [log_mean_exp((b - 1) * b * places) / (b - 1) for b in a.ravel()]
    return np.maximum(np.reshape(values, a.shape), 0.0)


def _steps(lipschitz: ArrayLike, sigma: ArrayLike, n_steps: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each step, the log of the stretch up to there and of the noise."""
    factors, sigmas = np.asarray(lipschitz, dtype=float), np.asarray(sigma, dtype=float)
    shape = () if n_steps is None else (count(n_steps, "n_steps"),)
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

"""Noisy projected gradient descent, of which only the last iterate is published: what each place in the pass costs.

References
----------
Geumlek (2020), section 6.4.1. Feldman, Mironov, Talwar and Thakurta (2018), Privacy amplification by iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import not_negative, positive, whole
from discreet.checked import checked
from discreet.errors import UsageError
from discreet.privacy.amplification.checks import finite_orders
from discreet.privacy.amplification.differences import log_mean_exp
from discreet.privacy.amplification.iteration import gradient_step_lipschitz
from discreet.privacy.amplification.statements import concentrated, curve
from discreet.privacy.gaussian import rho_for_approx
from discreet.privacy.guarantees import ZeroConcentratedDP
from discreet.privacy.renyi import RenyiDP
from discreet.rational import float_down, plain

# What the stated noise is rounded up by, which dwarfs the rounding of the sums here.
_UP = 1 + 1e-9
#: Rényi orders at which a descent in a secret order is accounted for, unless its budget needs higher ones.
SECRET_ORDERS = (2, 4, 8, 16, 32)
# Above, nothing is left of what a secret order gains, and the orders' own formulas run out of digits.
_HIGHEST = 1 << 20
# Bisections of sigma and of rho: to nine digits.
_HALVINGS = 30


@dataclass(frozen=True)
class SGDCost:
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
    extra_steps, extra_lipschitz
        Steps after the pass that read none of the records, and the Lipschitz constant of each before its noise. By
        default that of a gradient step, as on public records whose loss has the same constants; 1 for steps that do
        nothing but add noise and project. They hide everybody, the last record included.

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
    extra_steps: int = 0
    extra_lipschitz: float | None = None

    def __post_init__(self) -> None:
        whole(self.n_records, "n_records")
        whole(self.extra_steps, "extra_steps", least=0)
        if self.extra_lipschitz is not None:
            not_negative(self.extra_lipschitz, "extra_lipschitz")
        positive(self.gradient_bound, "gradient_bound")
        positive(self.sigma, "sigma")
        _ = self.lipschitz  # checks the other three

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of a gradient step."""
        return gradient_step_lipschitz(self.step_size, self.smoothness, self.strong_convexity)

    def rhos(self) -> np.ndarray:
        r"""Return rho_i for each place i in the order: the Rényi divergence at index i is at most order * rho_i.

        rho_i = (2 C^2 / sigma^2) / (sum_{j=0}^{r} L^(-2j) + L^(-2r) sum_{k=1}^{m} E^(-2k)), with r = n - i steps of
        the pass and m extra ones of constant E to come. The order of the records may be public.

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
        log_stretch = np.cumsum(log_terms)
        log_sums = np.logaddexp.accumulate(log_stretch)
        if self.extra_steps:
            log_sums = np.logaddexp(log_sums, log_stretch + self._log_extra())
        return 2 * (self.gradient_bound / self.sigma) ** 2 * np.exp(-log_sums[::-1])

    def _log_extra(self) -> float:
        """Return the log of the sum of E^(-2k) over the extra steps."""
        each = self.lipschitz if self.extra_lipschitz is None else self.extra_lipschitz
        with np.errstate(divide="ignore"):
            rate = -2 * np.log(each)
        if rate == 0 or not np.isfinite(rate):
            return float(rate + np.log(self.extra_steps))
        # a geometric series, from its larger end
        few, m = abs(rate), self.extra_steps
        return float(max(m * rate, rate) + np.log(-np.expm1(-m * few)) - np.log(-np.expm1(-few)))

    def rho(self) -> float:
        """Return rho for everybody if the order may be known: the last record's.

        Without extra steps that is 2 C^2 / sigma^2, not amplified at all.

        References
        ----------
        Geumlek (2020), theorem 22, which is a statement about one index; the guarantee for all is the largest.
        """
        if self.lipschitz <= 1:
            hidden = np.logaddexp(0.0, self._log_extra()) if self.extra_steps else 0.0
            return float(2 * (self.gradient_bound / self.sigma) ** 2 * np.exp(-hidden))
        return float(self.rhos().max())

    @checked
    def shuffled_epsilons(self, order: ArrayLike) -> np.ndarray:
        r"""Return the Rényi curve for everybody if the records are shuffled uniformly and the permutation stays secret.

        log((1/n) sum_i e^((a - 1) a rho_i)) / (a - 1) at order a: the distribution of the output is the mean over the
        record's place, and e^((a - 1) R_a) is jointly convex. The arithmetic mean of a rho_i is *not* a valid bound.

        References
        ----------
        Geumlek (2020), theorem 22, averaged with care; Feldman, Mironov, Talwar and Thakurta (2018).
        """
        return shuffled_epsilons(order, self.rhos())

    @checked
    def guarantee_at(self, index: int, *, unit: str | None = None) -> ZeroConcentratedDP:
        """Return what holds for the record at place ``index``, from 1 to n, in an order that may be known."""
        if not 1 <= whole(index, "index") <= self.n_records:
            raise UsageError(f"index must be from 1 to {self.n_records}, got index={index}.")
        return concentrated(float(self.rhos()[index - 1]), unit=unit)

    @checked
    def guarantee(self, *, unit: str | None = None) -> ZeroConcentratedDP:
        """Return what holds for everybody if the order may be known (:meth:`rho`)."""
        return concentrated(self.rho(), unit=unit)

    @checked
    def shuffled_guarantee(self, orders: ArrayLike, *, unit: str | None = None) -> RenyiDP:
        """Return what holds for everybody if the order is random and secret (:meth:`shuffled_epsilons`)."""
        return curve(orders, self.shuffled_epsilons(orders), unit=unit)

    @checked
    def with_least_noise(self, rho: float, orders: ArrayLike | None = None) -> SGDCost:
        """Return the same descent with the least noise, rounded up, that is worth ``rho`` to everybody.

        With ``orders``, in a secret random order: the Rényi divergence of each of them is at most order * rho.
        """
        positive(rho, "rho")
        # rho() falls with the square of sigma
        known = replace(self, sigma=self.sigma * float(np.sqrt(self.rho() / rho)) * _UP)
        if orders is None:
            return known
        allowed = rho * finite_orders(orders)
        low, high = 0.0, known.sigma
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            costs = replace(self, sigma=middle).shuffled_epsilons(orders)
            low, high = (low, middle) if np.all(costs <= allowed) else (middle, high)
        return replace(self, sigma=high * _UP)


@checked
def shuffled_epsilons(order: ArrayLike, rhos: ArrayLike) -> np.ndarray:
    """Return the Rényi curve of a mechanism that is order * rho_i at place i, for a record at a secret uniform place.

    References
    ----------
    Joint convexity of e^((a - 1) R_a); attained if outputs for different places can be told apart. Neighbors:
    ``replace``.
    """
    a, places = finite_orders(order), np.atleast_1d(np.asarray(rhos, dtype=float))
    if places.ndim != 1 or not places.size or not np.all((places >= 0) & np.isfinite(places)):
        raise UsageError("rhos must be a list of numbers that are not negative.")
    # one order at a time: orders times records may not fit in memory
    values = [log_mean_exp((b - 1) * b * places) / (b - 1) for b in a.ravel()]
    return np.maximum(np.reshape(values, a.shape), 0.0)


def secret_orders(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """Return powers of two up to an order that can say so small an epsilon at this delta.

    At order a a divergence of nothing is worth about log(1 / delta) / (a - 1), of which half of epsilon may be made.
    """
    orders: list[int] = list(SECRET_ORDERS)
    while orders[-1] < _HIGHEST and log(1 / delta) / (orders[-1] - 1) > epsilon / 2:
        orders.append(2 * orders[-1])
    return tuple(orders)


def rho_at_orders(epsilon: Fraction, delta: Fraction, orders: Sequence[Fraction]) -> Fraction:
    """Return the largest rho, rounded down, such that a divergence of a rho at each of these orders a is enough.

    Enough for (epsilon, delta). A zero-concentrated guarantee holds at all orders, and the same rho there is worth
    more: with few orders, or low ones, the epsilon that follows from its conversion would be exceeded.
    """

    def enough(rho: float) -> bool:
        curve = RenyiDP(orders, [a * Fraction(rho) for a in orders])
        return curve.to_approx(delta).epsilon <= epsilon

    high = rho_for_approx(float_down(epsilon), float_down(delta))
    if enough(high):
        return Fraction(high)
    low = high * 2.0**-_HALVINGS
    if not enough(low):
        raise UsageError(
            f"Rényi orders up to {plain(max(orders))} cannot say epsilon={plain(epsilon)} at delta={plain(delta)}.",
            hint="give higher orders, or leave them out",
        )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return Fraction(low)

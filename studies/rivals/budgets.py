"""Equal privacy: every mechanism is (epsilon, delta)-DP under ``replace``, with the same epsilon and delta.

Pure mechanisms get epsilon itself, and promise more than was asked: their delta is zero. Gaussian noise has a
calibration of its own. A Rényi guarantee of one order is converted by the library; which order leaves the posterior
most of its data (or the least of the prior) follows from the budget, the prior and the number of records, all public.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

import discreet as dc
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.mechanisms.base import Mechanism
from discreet.privacy import RenyiDP
from discreet.privacy.costs.posterior_neighbors import NeighboringPosteriors

from .models import MODELS

DELTA = Fraction(1, 10**6)
#: Orders to choose from, for each epsilon. Below the smallest the conversion alone costs more than epsilon.
ORDERS = {"1": (13, 14, 16, 20, 24, 32, 64), "0.1": (96, 104, 112, 128, 160, 192, 256)}
#: What is left of epsilon for rounding errors of the conversion, which rounds up.
_ROUNDING = Fraction(1, 10**9)

Mode = Literal["direct", "diffused", "concentrated"]


@dataclass(frozen=True)
class RenyiBudget:
    """A Rényi guarantee that converts to (epsilon, DELTA), and the r or m that it allows; 1 is the posterior itself."""

    order: int
    epsilon: Fraction
    weight: float


def renyi_epsilon(epsilon: str, order: int) -> Fraction | None:
    """Return the largest Rényi epsilon at this order that the library converts to (epsilon, DELTA), if there is one."""
    target = Fraction(epsilon)
    try_with = target / 2
    # the conversion adds a number that depends on order and delta alone
    added = RenyiDP([order], [try_with]).to_approx(DELTA).epsilon - try_with
    left = target - added - _ROUNDING
    if left <= 0:
        return None
    assert RenyiDP([order], [left]).to_approx(DELTA).epsilon <= target
    return left


def best_budget(model: str, n_records: int, epsilon: str, mode: Mode, samples: int) -> RenyiBudget | None:
    """Return the budget with which a mode changes the posterior least; None if the posterior itself costs too much."""
    this = MODELS[model]
    bounds = this.family.parse_bounds(this.bounds)
    near = NeighboringPosteriors(this.family, this.prior, n_records, bounds)
    best: RenyiBudget | None = None
    for order in ORDERS[epsilon]:
        budget = renyi_epsilon(epsilon, order)
        if budget is None:
            continue
        try:
            weight = _weight(near, order, float(budget) / samples, mode)
        except UsageError:
            continue
        if weight > (best.weight if best else 0):
            best = RenyiBudget(order, budget, weight)
        if weight >= 1:
            break
    return best


def _weight(near: NeighboringPosteriors, order: int, each: float, mode: Mode) -> float:
    if mode == "direct":
        return float(near.allows(order, each))
    return near.find_r(order, each) if mode == "diffused" else near.find_m(order, each)


def mechanism_for(model: str, epsilon: str, method: str, renyi: RenyiBudget | None) -> Mechanism:
    """Return the mechanism of a method."""
    this = MODELS[model]
    name, _, samples = method.partition(" ")
    if name == "laplace":
        return dc.mechanisms.Laplace(epsilon)
    if name == "gaussian":
        return dc.mechanisms.Gaussian(epsilon=epsilon, delta=DELTA)
    if name == "ops":
        return dc.mechanisms.PosteriorSampling(
            this.prior, epsilon=epsilon, samples=int(samples), support=this.support
        )
    assert renyi is not None
    return dc.mechanisms.RenyiPosterior(
        this.prior,
        order=renyi.order,
        epsilon=renyi.epsilon,
        mode=name,  # pyright: ignore[reportArgumentType]
        samples=int(samples),
    )


@cache
def temperature(model: str, epsilon: str, samples: int) -> float:
    """Return the temperature that posterior sampling needs, which does not depend on the number of records."""
    this = MODELS[model]
    mechanism = mechanism_for(model, epsilon, f"ops {samples}", None)
    assert mechanism.every_record
    domain = Domain(this.family.parse_bounds(this.bounds), this.family.labels, "clip", "none")
    return float(mechanism.plan(this.family, domain, 1).parameters["temperature"])

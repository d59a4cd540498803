"""Amplified numbers as guarantees: rounded up by more than floating point can be wrong, with their neighbors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.checked import checked
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.privacy.guarantees import ZeroConcentratedDP
from discreet.privacy.renyi import RenyiDP
from discreet.privacy.rounding import float_result_up


@checked
def concentrated(
    rho: float, *, neighbors: Neighbors = "replace", unit: str | None = None
) -> ZeroConcentratedDP:
    """State that the Rényi divergence of every order is at most order * rho."""
    return ZeroConcentratedDP(float_result_up(rho), neighbors=neighbors, unit=unit)


@checked
def curve(
    orders: ArrayLike, epsilons: ArrayLike, *, neighbors: Neighbors = "replace", unit: str | None = None
) -> RenyiDP:
    """State bounds on the Rényi divergences of some finite orders."""
    a, bounds = (np.atleast_1d(np.asarray(values, dtype=float)) for values in (orders, epsilons))
    if a.ndim != 1 or bounds.ndim != 1:
        raise UsageError("orders and epsilons must be lists of numbers.")
    if not (np.all(np.isfinite(a)) and np.all(np.isfinite(bounds))):
        raise UsageError("a Rényi curve is stated at finite orders and bounds.")
    return RenyiDP(a.tolist(), [float_result_up(e) for e in bounds], neighbors=neighbors, unit=unit)

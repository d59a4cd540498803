"""What a mechanism claims, as numbers that an audit can prove wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import UsageError
from discreet.privacy import ApproxDP, Guarantee, PureDP, RenyiDP, ZeroConcentratedDP
from discreet.privacy.guarantees import failure_probability

#: Orders at which concentrated privacy is tested.
ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
#: The delta at which promises without one of their own are turned into an epsilon.
_DELTA = 1e-3


@dataclass(frozen=True)
class Claim:
    """An epsilon at a delta, and bounds on Rényi divergences by order; None and empty where nothing is claimed."""

    words: str
    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    renyi: Mapping[float, float] = field(default_factory=dict)

    @property
    def parts(self) -> int:
        """How many tests there are to divide the error rate among."""
        return 1 + bool(self.renyi)

    @classmethod
    def of(cls, guarantee: Guarantee) -> Claim:
        """Return what a guarantee says about neighboring tables."""
        words, promised = guarantee.describe(), guarantee.to_neighbors()
        budgets = {name: float(value) for name, value in promised.budgets().items()}
        if set(budgets) <= {"epsilon", "delta"} and promised.kind in ("pure", "approx"):
            return cls(words, budgets["epsilon"], budgets.get("delta", 0.0))
        rho, curve = None, {}
        if isinstance(promised, ZeroConcentratedDP):
            rho = budgets["rho"]
            curve = {order: order * rho for order in ORDERS}
        elif isinstance(promised, RenyiDP):
            curve = dict(zip(map(float, promised.orders), map(float, promised.epsilons), strict=True))
        return cls(words, float(promised.to_approx(_DELTA).epsilon), _DELTA, rho, curve)

    @classmethod
    def read(cls, epsilon: Any, delta: Any, rho: Any) -> Claim:
        """Read what the caller claims of a function; nothing at all if there is nothing to prove wrong."""
        if rho is not None:
            if epsilon is not None or delta is not None:
                raise UsageError("claim either rho, or epsilon, or epsilon with delta.")
            return cls.of(ZeroConcentratedDP(rho))
        if epsilon is None:
            return cls(
                "nothing is claimed", None, 0.0 if delta is None else float(failure_probability(delta))
            )
        return cls.of(PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta))

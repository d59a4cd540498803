"""What a release promises, as frozen records.

A guarantee says nothing without its neighbor relation, so each carries one. ``replace``: the two tables have the
same number of records and differ in one; the number itself is public. ``add_remove``: one table has one record more;
the number is protected too. Budgets are exact rationals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, get_args

from discreet.errors import UsageError
from discreet.families.shapes import Neighbors
from discreet.rational import Number, exact, plain

# Smaller than any meaning it could have, and than what sums in float64 can vouch for.
_LEAST_DELTA = Fraction(1, 10**30)


def positive_budget(value: Number, name: str) -> Fraction:
    """Read a privacy budget, or explain that it must be positive and finite."""
    budget = exact(value, name)
    if budget <= 0:
        raise UsageError(f"{name} must be positive, got {name}={value}.")
    return budget


def failure_probability(value: Number) -> Fraction:
    """Read delta, or explain that it must lie strictly between 0 and 1."""
    delta = exact(value, "delta")
    if not 0 < delta < 1:
        raise UsageError(f"delta must be between 0 and 1, both excluded, got delta={value}.")
    if delta < _LEAST_DELTA:
        raise UsageError(
            f"delta must be at least 1e-30, got delta={value}.", hint="use pure differential privacy"
        )
    return delta


def check_neighbors(neighbors: str) -> None:
    """Raise unless ``neighbors`` names a neighbor relation."""
    if neighbors not in get_args(Neighbors):
        raise UsageError(f"neighbors must be 'replace' or 'add_remove', got neighbors={neighbors!r}.")


@dataclass(frozen=True)
class Guarantee(ABC):
    """A bound on how much one record can change the law of a release."""

    #: Name in release files.
    kind: ClassVar[str]

    @abstractmethod
    def budgets(self) -> dict[str, Fraction]:
        """Return the budget's numbers by name, as a release file holds them."""

    @abstractmethod
    def describe(self) -> str:
        """Return the guarantee in a few words with its numbers."""


@dataclass(frozen=True)
class PureDP(Guarantee):
    """For every event E and neighbors x, x': P[M(x) in E] <= e^epsilon P[M(x') in E]."""

    kind: ClassVar[str] = "pure"
    epsilon: Fraction
    neighbors: Neighbors = field(default="replace", kw_only=True)
    unit: str | None = field(default=None, kw_only=True)

    def __init__(self, epsilon: Number, *, neighbors: Neighbors = "replace", unit: str | None = None) -> None:
        check_neighbors(neighbors)
        _set(self, epsilon=positive_budget(epsilon, "epsilon"), neighbors=neighbors, unit=unit)

    def budgets(self) -> dict[str, Fraction]:
        return {"epsilon": self.epsilon}

    def describe(self) -> str:
        return f"pure differential privacy with epsilon = {plain(self.epsilon)}"


@dataclass(frozen=True)
class ApproxDP(Guarantee):
    """For every event E and neighbors x, x': P[M(x) in E] <= e^epsilon P[M(x') in E] + delta."""

    kind: ClassVar[str] = "approx"
    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors = field(default="replace", kw_only=True)
    unit: str | None = field(default=None, kw_only=True)

    def __init__(
        self, epsilon: Number, delta: Number, *, neighbors: Neighbors = "replace", unit: str | None = None
    ) -> None:
        check_neighbors(neighbors)
        _set(
            self,
            epsilon=positive_budget(epsilon, "epsilon"),
            delta=failure_probability(delta),
            neighbors=neighbors,
            unit=unit,
        )

    def budgets(self) -> dict[str, Fraction]:
        return {"epsilon": self.epsilon, "delta": self.delta}

    def describe(self) -> str:
        return (
            f"approximate differential privacy with epsilon = {plain(self.epsilon)} "
            f"and delta = {plain(self.delta)}"
        )


@dataclass(frozen=True)
class ZeroConcentratedDP(Guarantee):
    """For every order a > 1 and neighbors x, x': the Rényi divergence D_a(M(x) || M(x')) is at most a rho."""

    kind: ClassVar[str] = "zero_concentrated"
    rho: Fraction
    neighbors: Neighbors = field(default="replace", kw_only=True)
    unit: str | None = field(default=None, kw_only=True)

    def __init__(self, rho: Number, *, neighbors: Neighbors = "replace", unit: str | None = None) -> None:
        check_neighbors(neighbors)
        _set(self, rho=positive_budget(rho, "rho"), neighbors=neighbors, unit=unit)

    def budgets(self) -> dict[str, Fraction]:
        return {"rho": self.rho}

    def describe(self) -> str:
        return f"zero-concentrated differential privacy with rho = {plain(self.rho)}"


def _set(record: Guarantee, **values: object) -> None:
    """Fill a frozen record from its own ``__init__``, which takes any number and stores exact ones."""
    for name, value in values.items():
        object.__setattr__(record, name, value)

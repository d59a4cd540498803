"""What a release promises, as frozen records.

A guarantee says nothing without its neighbor relation, so each carries one. ``replace``: the two tables have the
same number of records and differ in one; the number itself is public. ``add_remove``: one table has one record more;
the number is protected too. Budgets are exact rationals.

A guarantee that was composed of others remembers them in ``parts``. They do not change what it says, and two
guarantees that say the same are equal; but a conversion that starts from the parts can be much tighter than one that
starts from their sum.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from discreet.arguments import Constructed, fill, one_of, refilled
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.privacy.rounding import exp_up
from discreet.rational import Number, exact, plain

if TYPE_CHECKING:
    from discreet.privacy.conversion import Conversion
    from discreet.privacy.renyi import RenyiDP

# Smaller than any meaning it could have, and than what sums in float64 can vouch for.
_LEAST_DELTA = Fraction(1, 10**30)


def positive_budget(value: Number, name: str) -> Fraction:
    """Read a privacy budget, or explain that it must be positive and finite."""
    budget = exact(value, name)
    if budget <= 0:
        raise UsageError(f"{name} must be positive, got {name}={value}.", hint=f"for example {name}=0.5")
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
    one_of(neighbors, "neighbors", Neighbors)


@dataclass(frozen=True)
class Guarantee(metaclass=Constructed):
    """A bound on how much one record can change the distribution of a release."""

    #: Name in release files.
    kind: ClassVar[str]
    _: KW_ONLY
    neighbors: Neighbors = "replace"
    unit: str | None = None
    #: The guarantees that this one was composed of; empty if it was not composed.
    parts: tuple[Guarantee, ...] = field(default=(), compare=False, repr=False)

    def __repr__(self) -> str:
        # its own numbers before whom they are about
        shown = sorted((one for one in fields(self) if one.repr), key=lambda one: bool(one.kw_only))
        given = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in shown)
        return f"{type(self).__name__}({given})"

    @property
    def about(self) -> dict[str, Any]:
        """Whom it protects, as constructors take it: the neighbor relation and the unit."""
        return {"neighbors": self.neighbors, "unit": self.unit}

    @abstractmethod
    def budgets(self) -> dict[str, Fraction]:
        """Return the budget's numbers by name."""

    @abstractmethod
    def describe(self) -> str:
        """Return the guarantee in a few words with its numbers."""

    def to_approx(self, delta: Number) -> Conversion:
        """Return the smallest epsilon that is known to go with this ``delta``, and the method that gave it."""
        from discreet.privacy.conversion import best_approx

        return best_approx(self.parts or (self,), delta)

    def to_renyi(self, orders: Sequence[Number]) -> RenyiDP:
        """Return the best known bounds on the Rényi divergences of these orders."""
        from discreet.privacy.renyi import renyi_of

        return renyi_of(self.parts or (self,), orders)

    def for_unit(self, unit: str | None) -> Self:
        """Return the same promise for another unit: a person, whose rows are one record, instead of a record."""
        if unit is not None and not isinstance(unit, str):
            raise UsageError(f"unit must be the name of a column, got {type(unit).__name__:.40}.")
        return refilled(self, unit=unit, parts=tuple(part.for_unit(unit) for part in self.parts))

    def restated(self, neighbors: Neighbors) -> Self:
        """Return the same amounts for another neighbor relation; whoever restates them has to show that they hold."""
        check_neighbors(neighbors)
        return refilled(
            self, neighbors=neighbors, parts=tuple(part.restated(neighbors) for part in self.parts)
        )

    def to_neighbors(self) -> Guarantee:
        """Return what it says about neighbors: the guarantee itself, unless it is about distances."""
        return self

    def to_replace(self) -> Guarantee:
        """Return what a guarantee for ``add_remove`` says about ``replace``: the record leaves, another comes.

        There is no way back: under ``replace`` the number of records is not protected at all.
        """
        if self.neighbors == "replace":
            return self
        if self.parts:
            from discreet.privacy.composition import compose

            return compose(*(part.to_replace() for part in self.parts))
        return self._two_steps()

    def _two_steps(self) -> Guarantee:
        """Return what this guarantee for one step says about two, for ``replace``."""
        raise UsageError(f"{self.describe()} has no known form for neighbors='replace'.")


@dataclass(frozen=True, repr=False)
class PureDP(Guarantee):
    """For every event E and neighbors x, x': P[M(x) in E] <= e^epsilon P[M(x') in E]."""

    kind = "pure"
    epsilon: Fraction

    def __init__(self, epsilon: Number, *, neighbors: Neighbors = "replace", unit: str | None = None) -> None:
        check_neighbors(neighbors)
        fill(self, epsilon=positive_budget(epsilon, "epsilon"), neighbors=neighbors, unit=unit)

    def budgets(self) -> dict[str, Fraction]:
        return {"epsilon": self.epsilon}

    def describe(self) -> str:
        return f"pure differential privacy with epsilon = {plain(self.epsilon)}"

    def _two_steps(self) -> PureDP:
        return PureDP(2 * self.epsilon, unit=self.unit)


@dataclass(frozen=True, repr=False)
class ApproxDP(Guarantee):
    """For every event E and neighbors x, x': P[M(x) in E] <= e^epsilon P[M(x') in E] + delta."""

    kind = "approx"
    epsilon: Fraction
    delta: Fraction

    def __init__(
        self, epsilon: Number, delta: Number, *, neighbors: Neighbors = "replace", unit: str | None = None
    ) -> None:
        check_neighbors(neighbors)
        fill(
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

    def _two_steps(self) -> ApproxDP:
        # P(E) <= e^epsilon (e^epsilon R(E) + delta) + delta
        factor = exp_up(self.epsilon)
        delta = None if factor is None else (1 + factor) * self.delta
        return ApproxDP(2 * self.epsilon, meaningful(delta), unit=self.unit)


@dataclass(frozen=True, repr=False)
class ZeroConcentratedDP(Guarantee):
    """For every order a > 1 and neighbors x, x': the Rényi divergence D_a(M(x) || M(x')) is at most a rho."""

    kind = "zero_concentrated"
    rho: Fraction

    def __init__(self, rho: Number, *, neighbors: Neighbors = "replace", unit: str | None = None) -> None:
        check_neighbors(neighbors)
        fill(self, rho=positive_budget(rho, "rho"), neighbors=neighbors, unit=unit)

    def budgets(self) -> dict[str, Fraction]:
        return {"rho": self.rho}

    def describe(self) -> str:
        return f"zero-concentrated differential privacy with rho = {plain(self.rho)}"

    def _two_steps(self) -> ZeroConcentratedDP:
        # Bun and Steinke (2016), proposition 1.9: k steps cost k^2 rho
        return ZeroConcentratedDP(4 * self.rho, unit=self.unit)


@dataclass(frozen=True, repr=False)
class Unstated(Guarantee):
    """No guarantee that anybody stated: of numbers that somebody else published, and nothing is known of more."""

    kind = "unstated"

    def __init__(self, *, neighbors: Neighbors = "replace", unit: str | None = None) -> None:
        check_neighbors(neighbors)
        fill(self, neighbors=neighbors, unit=unit)

    def budgets(self) -> dict[str, Fraction]:
        return {}

    def describe(self) -> str:
        return "no stated guarantee"


def meaningful(delta: Fraction | None) -> Fraction:
    """Return ``delta``, or raise if it is so large that the guarantee would say nothing."""
    if delta is None or delta >= 1:
        raise UsageError("the resulting delta is not below 1, so nothing is promised.")
    return delta


def pure_or_approx(epsilon: Number, delta: Number | None, **about: Any) -> PureDP | ApproxDP:
    """Return (epsilon, delta)-DP, which is pure if there is no delta."""
    return ApproxDP(epsilon, delta, **about) if delta else PureDP(epsilon, **about)

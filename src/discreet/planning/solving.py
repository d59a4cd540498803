"""The budget that a wanted width needs: the mechanism under any budget, and a search over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet.curator.publish import choose_mechanism
from discreet.errors import UsageError
from discreet.mechanisms.base import Mechanism
from discreet.planning.simulated_tables import Tables, Width
from discreet.rational import Number

#: A budget that stands for no noise.
ENDLESS = 1e6
#: Simulated tables that a search begins with.
FEW = 4
# A solved width may be off by so much; twice that where chains read the tables.
_CLOSE = 0.005
_STEPS = 8
_FIRST_RECORDS, _MOST_RECORDS = 1000, 10**9


class _HasWidth(Protocol):
    @property
    def width(self) -> float: ...


_Planned = TypeVar("_Planned", bound=_HasWidth)


@dataclass(frozen=True)
class Budget:
    """Which of the budgets of a mechanism is varied, and the mechanism at any value of it."""

    mechanism: str
    varied: str
    delta: Number | None = None

    def at(self, value: float) -> Mechanism:
        """Return the mechanism with this much of the varied budget."""
        budget: dict[str, Any] = {"epsilon": None, "rho": None, "delta": self.delta}
        return choose_mechanism(self.mechanism, **(budget | {self.varied: value}))

    def nothing(self, n: int) -> float:
        """Return a budget that stands for nothing but noise: a thousand times what ``n`` records can add up to."""
        return (1e-3 / n) ** (2 if self.varied == "rho" else 1)


def solve(
    tables: Tables, budget: Budget, wanted: float, floor: float, ceiling: float, n: int
) -> tuple[float, Width]:
    """Return the budget under which the mean width is the wanted one, and what is expected under it.

    Variances add up, up to what the prior allows: (w² - floor²) / (ceiling² - w²) is about inversely proportional to
    epsilon squared, or to rho. So a few secant steps on logarithms lead there, with few tables at first.
    """
    if wanted <= floor * (1 + _CLOSE):
        needed = n * (floor / wanted) ** 2 * 1.2
        raise UsageError(
            f"a width of {wanted:g} cannot be reached with {n:,} records: without any noise it is {floor:.3g}.",
            hint=f"about {needed:,.0f} records would do, or a width above {floor:.3g}",
        )
    if wanted >= ceiling * (1 - _CLOSE):
        raise UsageError(
            f"a width of {wanted:g} needs no data: the prior alone has {ceiling:.3g}.", hint="ask for less"
        )

    def off(width: float) -> float:
        inside = min(max(width, floor * (1 + _CLOSE / 4)), ceiling * (1 - _CLOSE / 4))
        return float(np.log((inside**2 - floor**2) / (ceiling**2 - inside**2)))

    slope = -1.0 if budget.varied == "rho" else -2.0
    close = _CLOSE * (2 if tables.chains else 1)
    guess, found = 0.0, None
    for most in (FEW, None):
        low, high, seen = np.log(budget.nothing(n)), np.log(ENDLESS), []
        for _ in range(_STEPS):
            found = tables.width(budget.at(float(np.exp(guess))), most)
            if abs(np.log(found.width / wanted)) < close:
                break
            low, high = (guess, high) if found.width > wanted else (low, guess)
            seen.append((guess, off(found.width) - off(wanted)))
            guess = _next(seen, low, high, slope)
    assert found is not None
    return float(np.exp(guess)), found


def _next(seen: list[tuple[float, float]], low: float, high: float, slope: float) -> float:
    """Return the next guess of a log budget: a secant step, or the middle of the bracket if it leads outside."""
    (x, y) = seen[-1]
    if len(seen) > 1 and seen[-2][0] != x:
        steep = (y - seen[-2][1]) / (x - seen[-2][0])
        # chance may make two widths alike that are not
        slope = min(max(steep, 3 * slope), slope / 3)
    guess = x - y / slope
    return guess if low < guess < high else (low + high) / 2


def solve_records(planned: Callable[[int], _Planned], wanted: float) -> _Planned:
    """Return the plan for the least number of records, about, with which the given budget buys the wanted width."""
    guess, seen = _FIRST_RECORDS, []
    found = planned(guess)
    for _ in range(2 * _STEPS):
        off = float(np.log(found.width / wanted))
        if abs(off) < 2 * _CLOSE or (guess == 2 and off < 0):
            return found
        seen.append((float(np.log(guess)), off))
        # a width falls with the root of the number of records, or with that number where noise is most of it
        steep = (off - seen[-2][1]) / (seen[-1][0] - seen[-2][0]) if len(seen) > 1 else -0.7
        step = -off / min(max(steep, -1.2), -0.35)
        guess = int(np.clip(round(guess * np.exp(np.clip(step, -5, 5))), 2, _MOST_RECORDS))
        if np.log(guess) == seen[-1][0]:
            break
        found = planned(guess)
    if found.width > wanted * (1 + 4 * _CLOSE):
        raise UsageError(
            f"a width of {wanted:g} cannot be reached with {_MOST_RECORDS:,} records at this budget.",
            hint=f"it is {found.width:.3g} then",
        )
    return found

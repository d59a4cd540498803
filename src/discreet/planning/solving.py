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

#: A budget that stands for no noise; under larger ones chains hardly move.
ENDLESS = 1e3
# A solved width may be off by so much; where chains read the tables, by so much as chance makes them differ.
_CLOSE, _CLOSE_OF_CHAINS = 0.005, 0.02
_STEPS = 8
_STEP_LENGTHS = np.linspace(-12.0, 12.0, 961)
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
    tables: Tables, budget: Budget, wanted: float, floors: Width, ceiling: float, n: int
) -> tuple[float, Width]:
    """Return the budget under which the mean width is the wanted one, and what is expected under it.

    Variances add up, up to what the prior allows: of each table (w² - floor²) / (ceiling² - w²) is about inversely
    proportional to epsilon squared, or to rho. So widths of all tables under one budget predict them under any other,
    and a few steps lead to the wanted mean.
    """
    floor = floors.width
    if wanted <= floor * (1 + _CLOSE):
        needed = n * (floor / wanted) ** 2 * 1.2
        allowed = tables.model.allowance_in_words
        more = f"{allowed};" if allowed else f"about {needed:,.0f} records would do,"
        raise UsageError(
            f"a width of {wanted:g} cannot be reached with {n:,} records: without any noise it is {floor:.3g}.",
            hint=f"{more} or a width above {floor:.3g}",
        )
    if wanted >= ceiling * (1 - _CLOSE):
        raise UsageError(
            f"a width of {wanted:g} needs no data: the prior alone has {ceiling:.3g}.", hint="ask for less"
        )
    power = -1.0 if budget.varied == "rho" else -2.0
    close = _CLOSE_OF_CHAINS if tables.chains else _CLOSE
    low, high = float(np.log(budget.nothing(n))), float(np.log(ENDLESS))
    between: dict[bool, tuple[float, float]] = {}
    before = False
    # noise is about as large as what is left to chance at epsilon = 8 / sqrt(n), or rho = 32 / n
    guess = 2 / -power * np.log(8 / np.sqrt(n)) - np.log(2) * (power == -1.0)
    guess = min(max(guess + np.log((wanted / floor) ** 2 - 1) / power, low), high)
    found = tables.width(budget.at(float(np.exp(guess))))
    for _ in range(_STEPS):
        if abs(np.log(found.width / wanted)) < close:
            break
        too_wide = found.width > wanted
        low, high = (guess, high) if too_wide else (low, guess)
        if len(between) == 2 and too_wide == before:
            # an end that stays counts half as much, or the other one would hardly move
            off, there = between[not too_wide]
            between[not too_wide] = off / 2, there
        before = too_wide
        between[too_wide] = _log_odds(found.width, floor, ceiling) - _log_odds(wanted, floor, ceiling), guess
        if len(between) == 2:
            (above, narrow), (below, wide) = between[True], between[False]
            guess = (narrow * -below + wide * above) / (above - below)
        else:
            each = floors.widths if floors.widths.size == found.widths.size else floor
            each = np.minimum(np.broadcast_to(each, found.widths.shape), 0.99 * ceiling)
            guess += _step(found.widths, each, ceiling, wanted, power)
            guess = guess if low < guess < high else (low + high) / 2
        found = tables.width(budget.at(float(np.exp(guess))))
    return float(np.exp(guess)), found


def _log_odds(width: float, floor: float, ceiling: float) -> float:
    """Return the log of what falls about with a power of the budget: noise's part of the variance over the rest."""
    inside = min(max(width, floor * (1 + _CLOSE / 4)), ceiling * (1 - _CLOSE / 4))
    return float(np.log((inside**2 - floor**2) / (ceiling**2 - inside**2)))


def _step(widths: np.ndarray, floors: np.ndarray, ceiling: float, wanted: float, power: float) -> float:
    """Return how far the log budget is from where the mean width is the wanted one, by what these widths predict."""
    inside = np.clip(widths, floors * (1 + _CLOSE), ceiling * (1 - _CLOSE / 4))
    odds = (inside**2 - floors**2) / (ceiling**2 - inside**2)
    there = np.exp(power * _STEP_LENGTHS)[:, None] * odds
    predicted = np.sqrt((floors**2 + ceiling**2 * there) / (1 + there)).mean(axis=1)
    # by chance a width may be below its floor
    target = wanted * inside.mean() / widths.mean()
    return float(np.interp(-target, -predicted, _STEP_LENGTHS))


def solve_records(planned: Callable[[int], _Planned], wanted: float, allowance: str = "") -> _Planned:
    """Return the plan for the least number of records, about, with which the given budget buys the wanted width.

    ``allowance`` says what no number of records narrows.
    """
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
            hint=f"it is {found.width:.3g} then" + f"; {allowance}" * bool(allowance),
        )
    return found

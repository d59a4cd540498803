"""The search for a budget, on widths that fall at once, as where a prior lets go all of a sudden."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.planning.simulated_tables import Width
from discreet.planning.solving import Budget, solve

FLOOR, CEILING = 0.036, 1.4


class Sudden:
    """Tables whose width is the prior's up to a budget and hardly more than the floor beyond it."""

    chains = False
    model = SimpleNamespace(allowance_in_words="")

    def __init__(self, at: float, power: float) -> None:
        self.at, self.power = at, power

    def width(self, mechanism: Any) -> Width:
        ratio = (float(mechanism.epsilon) / self.at) ** self.power
        return Width(np.full(40, FLOOR + (CEILING - FLOOR) / (1 + ratio)), np.full(40, 0.1))


@pytest.mark.parametrize("power", [2.0, 4.0, 8.0])
@pytest.mark.parametrize("wanted", [0.05, 0.045, 0.2])
def test_a_width_that_falls_at_once_is_met(power: float, wanted: float) -> None:
    tables: Any = Sudden(1.0, power)
    floors = Width(np.full(40, FLOOR), np.full(40, 0.1))
    _, found = solve(tables, Budget("laplace", "epsilon"), wanted, floors, CEILING, 2000)
    assert found.width == pytest.approx(wanted, rel=0.06)

"""Ready utilities for ``posterior.respond``: what a response is worth, for each value of the parameters.

Any function ``f(draws, candidate)`` that gives a number for each draw is a utility too.
"""

from discreet.decisions.base import Utility
from discreet.decisions.decisions import DecisionTable, ZeroOne
from discreet.decisions.loss_functions import AbsoluteError, IntervalScore, SquaredError

__all__ = ["AbsoluteError", "DecisionTable", "IntervalScore", "SquaredError", "Utility", "ZeroOne"]

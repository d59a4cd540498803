"""BOTH SIDES: does the whole path, from rows to posterior, do what it says? Only simulated rows are ever read here."""

from discreet.diagnostics.calibration import calibrate
from discreet.diagnostics.distinguishability import distinguish
from discreet.diagnostics.greedy import GreedyPath, adversary
from discreet.diagnostics.looks import Distinguishability
from discreet.diagnostics.mmd import Discrepancy, discrepancy
from discreet.diagnostics.result import Calibration

__all__ = [
    "Calibration",
    "Discrepancy",
    "Distinguishability",
    "GreedyPath",
    "adversary",
    "calibrate",
    "discrepancy",
    "distinguish",
]

"""BOTH SIDES: does the whole path, from rows to posterior, do what it says? Only simulated rows are ever read here."""

from discreet.validation.audit import audit
from discreet.validation.audit_result import Audit
from discreet.validation.calibration import calibrate
from discreet.validation.distinguishability import distinguish
from discreet.validation.draw_counts import Distinguishability
from discreet.validation.greedy import GreedyPath, adversary
from discreet.validation.mmd import Discrepancy, discrepancy
from discreet.validation.number_of_states import StateComparison, compare_states
from discreet.validation.result import Calibration

__all__ = [
    "Audit",
    "Calibration",
    "Discrepancy",
    "Distinguishability",
    "GreedyPath",
    "StateComparison",
    "adversary",
    "audit",
    "calibrate",
    "compare_states",
    "discrepancy",
    "distinguish",
]

"""The door between the two sides: a small, self-describing, versioned file."""

from discreet.artifact.bounds_choice import BoundsChoice
from discreet.artifact.fit_check import FitCheck
from discreet.artifact.group_selection import GroupSelection
from discreet.artifact.records.base import Record, SamplingRecord
from discreet.artifact.records.noise import NoiseRecord
from discreet.artifact.release import Release, Statistics
from discreet.artifact.samples import Samples
from discreet.artifact.stamp import LedgerStamp

__all__ = [
    "BoundsChoice",
    "FitCheck",
    "GroupSelection",
    "LedgerStamp",
    "NoiseRecord",
    "Record",
    "Release",
    "Samples",
    "SamplingRecord",
    "Statistics",
]

"""The door between the two sides: a small, self-describing, versioned file."""

from discreet.artifact.choice import BoundsChoice
from discreet.artifact.release import NoiseRecord, Release, Statistics
from discreet.artifact.samples import Samples, SamplingRecord
from discreet.artifact.stamp import LedgerStamp

__all__ = ["BoundsChoice", "LedgerStamp", "NoiseRecord", "Release", "Samples", "SamplingRecord", "Statistics"]

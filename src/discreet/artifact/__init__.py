"""The door between the two sides: a small, self-describing, versioned file."""

from discreet.artifact.choice import BoundsChoice
from discreet.artifact.release import NoiseRecord, Release, Statistics

__all__ = ["BoundsChoice", "NoiseRecord", "Release", "Statistics"]

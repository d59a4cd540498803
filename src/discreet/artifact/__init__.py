"""The door between the two sides: a small, self-describing, versioned file."""

from discreet.artifact.release import NoiseRecord, Release, Statistics

__all__ = ["NoiseRecord", "Release", "Statistics"]

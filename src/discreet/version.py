"""The version of the package, where both sides of the wall can read it."""

__version__ = "0.1.0"

"""Synthetic data to try things on. No person is behind any line of it."""

from __future__ import annotations

from pathlib import Path


def clinic_survey() -> Path:
    """Return the path of a survey of 2,500 invented patients of a clinic, as CSV.

    ``smoker`` (yes, no) and ``health`` (excellent, good, fair, poor) have blanks and other non-answers;
    ``systolic_bp`` has blanks and a few mistyped values; ``age``, ``sex``, ``visits`` and ``waiting_days`` are
    complete.
    """
    return Path(__file__).parent / "clinic_survey.csv"

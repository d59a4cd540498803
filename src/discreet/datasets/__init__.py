"""Tables to try things on: one invented, and three real ones that may be passed on.

The real tables are old, public and without names. They are as their sources published them, with columns renamed;
``LICENSES.md`` beside them says where each comes from and on what terms it may be passed on.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["clinic_survey", "election_survey", "household_food", "travel_mode"]


def clinic_survey() -> Path:
    """Return the path of a survey of 2,500 invented patients of a clinic, as CSV.

    ``smoker`` (yes, no) and ``health`` (excellent, good, fair, poor) have blanks and other non-answers;
    ``systolic_bp`` has blanks and a few mistyped values; ``age``, ``sex``, ``visits`` and ``waiting_days`` are
    complete. No person is behind any line of it.
    """
    return _bundled("clinic_survey")


def election_survey() -> Path:
    """Return the path of 944 interviews of the American National Election Study of 1996, as CSV; public domain.

    ``vote`` (0 Clinton, 1 Dole), ``party`` (0 strong Democrat to 6 strong Republican), ``self_left_right``,
    ``clinton_left_right`` and ``dole_left_right`` (1 extremely liberal to 7 extremely conservative), ``age``,
    ``education`` (1 to 7), ``income`` (24 classes), ``tv_news_days`` a week, and ``population_thousands`` of the place.
    """
    return _bundled("election_survey")


def household_food() -> Path:
    """Return the path of Engel's 235 Belgian working-class households of 1857, as CSV; public domain.

    ``income`` and ``food``, the yearly income and what was spent on food, in Belgian francs.
    """
    return _bundled("household_food")


def travel_mode() -> Path:
    """Return the path of 210 travelers between Sydney, Canberra and Melbourne, as CSV; public domain.

    Four rows for each ``traveler``, one for each ``mode`` (air, train, bus, car): whether it was ``chosen``, its
    ``terminal_minutes`` of waiting, ``cost``, ``vehicle_minutes`` and ``generalized_cost``; and the traveler's
    ``household_income`` (thousands) and ``party_size``. A table of several rows per person.
    """
    return _bundled("travel_mode")


def _bundled(name: str) -> Path:
    return Path(__file__).parent / f"{name}.csv"

"""The picture of a ledger."""

from __future__ import annotations

from datetime import UTC, datetime

import matplotlib.dates as dates
import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.ledger.history import Step
from discreet.reporting.spending import plot_spending

OPENED = "2026-03-01T10:00:00.000+00:00"
NOW = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)


def step(time: str, share: float) -> Step:
    return Step(1, time, "clinic", None, None, "epsilon = 1", None, {}, share, released=True)


def test_the_line_runs_from_the_opening_to_now() -> None:
    steps = [step("2026-03-01T10:05:00.000+00:00", 0.2), step("2026-03-01T10:10:00.000+00:00", 0.7)]
    figure = plot_spending(steps, {"clinic": dc.PureDP(1)}, opened={"clinic": OPENED}, now=NOW)
    line = figure.axes[0].lines[1]
    first, last = (dates.num2date(x) for x in np.asarray(line.get_xdata(orig=False))[[0, -1]])
    assert (first, last) == (datetime.fromisoformat(OPENED), NOW)
    assert list(np.asarray(line.get_ydata())) == pytest.approx([0, 20, 70, 70])
    # half an hour fills the axis
    left, right = figure.axes[0].get_xlim()
    assert (right - left) * 24 * 60 == pytest.approx(30, rel=0.1)


def test_a_data_set_without_charges_is_a_line_at_nothing() -> None:
    figure = plot_spending([], {"clinic": dc.PureDP(1)}, opened={"clinic": OPENED}, now=NOW)
    assert list(np.asarray(figure.axes[0].lines[1].get_ydata())) == [0, 0]
    with pytest.raises(UsageError, match="no data set"):
        plot_spending([], {})

"""Pictures say what they show, and show what the mechanisms do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.profiles import OneBitCluster, ProfileGraph
from discreet.profiles.plots import plot_costs, plot_flips, plot_spread
from tests.profiles.cases import CHAIN

BITS = ProfileGraph.chain({"low": 0.1, "middle": 0.4, "high": 0.9})


def test_flips_rise_with_the_difference_and_stay_below_randomized_response(tmp_path: Path) -> None:
    figure = plot_flips(BITS, (0.5,), path=tmp_path / "flips.png")
    (axes,) = figure.axes
    y = np.asarray(axes.lines[0].get_ydata(), dtype=float)
    assert (np.diff(y) >= 0).all()
    assert (y <= 1 / (1 + np.exp(0.5)) + 1e-12).all()
    # the curve, the baseline, and a point for each edge
    assert len(axes.lines) == 2 + len(BITS.edges)
    assert (tmp_path / "flips.png").stat().st_size > 10_000
    with pytest.raises(UsageError, match="two categories"):
        plot_flips(ProfileGraph.chain(CHAIN))


def test_spread_has_a_line_for_each_profile_and_names_it() -> None:
    figure = plot_spread(BITS, epsilons=(0.1, 2.0), mark=0.5)
    left, right = figure.axes
    assert len(right.lines) == 2 * 3 + 1
    assert {text.get_text() for text in right.texts} >= {"low", "middle", "high"}
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in left.lines[0:6:2]]
    assert ends == sorted(ends)
    assert "hides the profile" in {text.get_text() for text in right.texts}


def test_a_mechanism_and_a_category_can_be_chosen() -> None:
    figure = plot_spread(BITS, OneBitCluster(), category=0, epsilons=(0.1, 2.0))
    assert "OneBitCluster" in figure.axes[1].get_title(loc="left")
    with pytest.raises(UsageError, match="no category"):
        plot_spread(BITS, category="x")
    with pytest.raises(UsageError, match="two budgets"):
        plot_spread(BITS, epsilons=(1,))


def test_costs_fall_to_zero_where_nothing_must_be_hidden() -> None:
    figure = plot_costs(ProfileGraph.chain(CHAIN), epsilons=(0.2, 1.0, 3.0))
    baseline, smooth = figure.axes
    for one, other in zip(baseline.lines, smooth.lines, strict=True):
        costs, without = (np.asarray(line.get_ydata(), dtype=float) for line in (other, one))
        assert (costs <= without + 1e-9).all()
        assert costs[-1] < 1e-9 < without[-1]


def test_many_profiles_get_shades_and_no_names() -> None:
    graph = ProfileGraph.chain({f"p{i}": i / 20 for i in range(21)})
    figure = plot_spread(graph, epsilons=(0.2, 1.0))
    assert not any(
        text.get_text().startswith("p") and text.get_text()[1:].isdigit() for text in figure.axes[1].texts
    )

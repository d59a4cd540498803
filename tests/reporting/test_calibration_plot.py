"""The picture of a calibration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from discreet.errors import UsageError
from discreet.reporting import plot_calibration
from discreet.reporting.style import ACCENT, PALETTE
from discreet.validation.bands import simultaneous_band
from tests.reporting.test_plots import texts


def draw(ranks: dict[str, np.ndarray], **options):
    band = simultaneous_band(len(next(iter(ranks.values()))))
    return plot_calibration(ranks, points=band.points, low=band.low, high=band.high, **options)


def test_one_row_for_each_parameter(tmp_path: Path) -> None:
    even = (np.arange(300) + 0.5) / 300
    figure = draw(
        {"p[$a$]": even, "p[b]": even},
        notes=["what was simulated"],
        warning="look here",
        words={"p[b]": "KS 0.002"},
        path=tmp_path / "plot.png",
    )
    assert len(figure.axes) == 4
    words = texts(figure)
    for part in ("p[$a$]", "p[b]", "KS 0.002", "what was simulated", "look here", "95% of calibrated curves"):
        assert part in words
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_the_curve_is_the_distribution_function_minus_the_diagonal() -> None:
    figure = draw({"p": np.array([0.5, 0.2, 0.9, 0.6])})
    line = figure.axes[0].lines[-1]
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert x == pytest.approx([0, 0.2, 0.2, 0.5, 0.5, 0.6, 0.6, 0.9, 0.9, 1])
    assert y + x == pytest.approx([0, 0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1, 1])


def test_what_leaves_the_band_stands_out(rng: np.random.Generator) -> None:
    for ranks, hue in (((np.arange(500) + 0.5) / 500, PALETTE[0]), (rng.beta(0.4, 0.4, 500), ACCENT)):
        left, right = draw({"p": ranks}).axes
        assert left.lines[-1].get_color() == hue
        bars = [patch for patch in right.patches if patch.get_height() > 0]  # pyright: ignore
        assert to_rgba(hue, 0.75) in {bar.get_facecolor() for bar in bars}


def test_counts_are_whole_and_bars_cover_their_mean() -> None:
    for n in (3, 20, 50):
        right = draw({"p": (np.arange(n) + 0.5) / n}).axes[1]
        ticks = right.get_yticks()
        assert ticks == pytest.approx(np.round(ticks))
        assert all(bar.get_zorder() > right.lines[0].get_zorder() for bar in right.patches)


def test_the_first_few_parameters_are_shown_unless_more_are_asked_for() -> None:
    ranks = {f"p[{i}]": (np.arange(50) + 0.5) / 50 for i in range(9)}
    figure = draw(ranks)
    assert len(figure.axes) == 12
    assert "first 6 of 9 parameters" in texts(figure)
    assert len(draw(ranks, most_parameters=None).axes) == 18
    with pytest.raises(UsageError, match="most_parameters=0"):
        draw(ranks, most_parameters=0)
    with pytest.raises(UsageError, match="at least one"):
        plot_calibration({}, points=np.array([]), low=np.array([]), high=np.array([]))

"""The pictures of adversaries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.reporting import plot_adversary, plot_distinguishability
from tests.reporting.test_plots import texts

COIN = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=5, support=(0.1, 0.9), cells=64)


def test_the_best_test_is_drawn_above_its_limit(tmp_path: Path) -> None:
    found = dc.validation.distinguish(
        [0, 0, 0], [0, 1, 1], dc.Bernoulli(), mechanism=COIN, draws=[1, 3, 9], trials=20, rng=0
    )
    figure = found.plot(tmp_path / "told.png", title="Three records")
    limit, best = (line.get_xydata() for line in figure.axes[0].lines[:2])
    assert limit[0] == pytest.approx([1, found.by_draws[0].error_limit])  # pyright: ignore[reportIndexIssue]
    assert best == pytest.approx(np.array([[look.n_draws, look.best.error] for look in found.by_draws]))  # pyright: ignore[reportOptionalMemberAccess]
    assert figure.axes[0].get_xscale() == "log"
    for words in (
        "Three records",
        "best test",
        "no test gets below",
        "simulated",
        found.verdict.split(";")[0],
    ):
        assert words in texts(figure)
    assert (tmp_path / "told.png").read_bytes().startswith(b"\x89PNG")


def test_a_guarantee_has_only_a_limit() -> None:
    shown = texts(dc.validation.distinguish(dc.PureDP(1), draws=[1]).plot())
    assert "no test gets below" in shown
    assert "best test" not in shown


def test_the_path_is_drawn_below_the_worst_case(tmp_path: Path) -> None:
    path = dc.validation.adversary(dc.Bernoulli(), mechanism=COIN, records=30)
    figure = path.plot(tmp_path / "path.svg")
    worst, drawn = (np.asarray(line.get_ydata()) for line in figure.axes[0].lines[:2])
    assert worst == pytest.approx([path.worst, path.worst])
    assert drawn == pytest.approx(path.epsilon)
    assert "records" in texts(figure)
    assert (tmp_path / "path.svg").stat().st_size > 1000
    assert dc.validation.adversary(dc.Bernoulli(), mechanism=COIN, records=1).plot().axes


def test_there_must_be_something_to_draw() -> None:
    found = dc.validation.distinguish(dc.PureDP(1), draws=[1])
    with pytest.raises(UsageError):
        plot_distinguishability([], found.limit)
    with pytest.raises(UsageError):
        plot_adversary(np.array([]), np.array([]), 1.0)


def test_the_pictures_of_the_documentation_can_be_drawn() -> None:
    from scripts import make_adversary_pictures

    for name in ("distinguish.png", "adversary.png"):
        assert (make_adversary_pictures.FOLDER / name).stat().st_size > 10_000

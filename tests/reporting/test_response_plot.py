"""The picture of a response."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.decisions.utilities import DecisionTable, IntervalScore, SquaredError, ZeroOne
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior
from discreet.reporting import plot_response
from tests.reporting.test_plots import texts

EXACT = Diagnostics("exact", independent=True)


@pytest.fixture
def posterior(rng: np.random.Generator) -> Posterior:
    return Posterior({"p": rng.beta(30, 70, 400)}, EXACT, about="which data")


def test_numbers_are_drawn_along_an_axis(posterior: Posterior, tmp_path: Path) -> None:
    grid = np.array([0.4, 0.2, 0.3])
    response = posterior.respond(SquaredError("p", within=(0, 1)), grid)
    figure = response.plot(tmp_path / "answer.png")
    (axes,) = figure.axes
    assert axes.lines[0].get_xydata()[:, 0] == pytest.approx([0.2, 0.3, 0.4])  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue]
    assert axes.lines[0].get_xydata()[:, 1] == pytest.approx(response.utilities[[1, 2, 0]])  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue]
    # error bars reach 1.96 standard errors to either side
    (bars,) = axes.containers
    heights = [segment[:, 1].tolist() for segment in bars[2][0].get_segments()]
    reach = 1.96 * response.standard_errors[[1, 2, 0]]
    assert np.diff(heights, axis=1)[:, 0] == pytest.approx(2 * reach, rel=1e-9)
    for words in (
        "Estimate of p (squared error): 0.3",
        "which data",
        "400 independent draws",
        "95% Monte Carlo intervals",
        "minus expected squared error",
        "loses at most",
    ):
        assert words in texts(figure)
    assert (tmp_path / "answer.png").read_bytes().startswith(b"\x89PNG")


def test_many_numbers_are_a_curve(posterior: Posterior) -> None:
    (axes,) = posterior.respond(SquaredError("p"), np.linspace(0, 1, 301)).plot().axes
    assert len(axes.lines[0].get_xdata()) == 301  # pyright: ignore[reportArgumentType]
    assert not axes.containers


def test_everything_else_is_rows_with_the_best_first(posterior: Posterior) -> None:
    table = DecisionTable({"low": "p < 0.3", "high": "p >= 0.3"}, ["$a$", "b"], [[0, 1], [0, 1]])
    (axes,) = posterior.respond(table).plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "$a$"]
    (axes,) = posterior.respond(ZeroOne("p > 0.9")).plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["no", "yes"]
    pairs = [(low, 0.5) for low in np.linspace(0, 0.5, 60)]
    figure = posterior.respond(IntervalScore("p"), pairs).plot()
    assert len(figure.axes[0].get_yticklabels()) == 40
    assert "best 40 of 60 candidates" in texts(figure)
    everything = posterior.respond(IntervalScore("p"), pairs).plot(most_candidates=None)
    assert len(everything.axes[0].get_yticklabels()) == 60


def test_one_draw_and_one_answer_can_be_drawn(posterior: Posterior) -> None:
    single = Posterior({"p": np.array([0.3])}, EXACT).respond(SquaredError("p"), [0.1, 0.2])
    assert "too few draws for standard errors" in texts(single.plot())
    alone = posterior.respond(SquaredError("p")).plot()
    assert len(alone.axes[0].get_yticklabels()) == 1


def test_the_naive_engine_is_marked(posterior: Posterior) -> None:
    naive = Posterior(posterior.draws, Diagnostics("naive", "noise ignored", independent=True))
    assert "ignores the privacy noise" in texts(naive.respond(ZeroOne("p > 0.3")).plot())


def test_how_many_rows_must_be_positive(posterior: Posterior) -> None:
    with pytest.raises(UsageError, match="most_candidates=0"):
        plot_response(posterior.respond(ZeroOne("p > 0.3")), most_candidates=0)

"""Pictures of hidden Markov models say what the draws say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior
from discreet.inference.posterior import Posterior as ModelPosterior
from discreet.inference.summary import LabelRow
from discreet.models import HiddenMarkov
from discreet.reporting import plot_comparison, plot_emissions, plot_states
from tests.reporting.test_plots import texts


@pytest.fixture
def posterior(rng: np.random.Generator) -> ModelPosterior:
    model = HiddenMarkov(
        2,
        chain={"place": ["a$1$", "b"]},
        time={"month": [str(t) for t in range(12)]},
        features={"cause": [f"cause {j}" for j in range(14)], "harm": ["no", "yes"]},
    )
    states = np.ones((20, 2, 12), dtype=int)
    states[:, :, 6:] = 2
    states[:10, 1, 6] = 1
    draws = {
        "cause": rng.dirichlet(np.arange(1, 15), (20, 2)),
        "harm": rng.dirichlet([8, 2], (20, 2)),
        "transition": rng.dirichlet(np.ones(2), (20, 3)),
        "states": states,
    }
    return ModelPosterior(draws, Diagnostics("gibbs"), labels=model.axis_labels(), model=model)


def test_states(posterior: ModelPosterior, tmp_path: Path) -> None:
    figure = plot_states(posterior, path=tmp_path / "states.png")
    assert (tmp_path / "states.png").stat().st_size > 5000
    shown = texts(figure).splitlines()
    assert {"a$1$", "b"} <= set(shown)
    image = figure.axes[0].images[0].get_array()
    # undecided cells are white, the others have the color of their state
    assert np.allclose(image[1, 6], 1)  # pyright: ignore[reportOptionalSubscript]
    assert not np.allclose(image[0, 0], image[0, 11])  # pyright: ignore[reportOptionalSubscript]
    assert np.allclose(image[0, 0], image[1, 0])  # pyright: ignore[reportOptionalSubscript]


def test_emissions(posterior: ModelPosterior, tmp_path: Path) -> None:
    figure = plot_emissions(posterior, path=tmp_path / "emissions.png")
    shown = texts(figure)
    assert "the 10 most frequent labels" in shown
    assert "cause 13" in shown
    assert "cause 0" not in shown
    assert "harm = yes" in shown
    bars = [bar.get_width() for bar in figure.axes[1].patches]  # pyright: ignore[reportAttributeAccessIssue]
    assert bars == pytest.approx([posterior.draws["harm"][:, 0, 1].mean()])


def test_a_posterior_draws_its_states_and_emissions(posterior: ModelPosterior, tmp_path: Path) -> None:
    """One picture of labels as labels: no state has a median, and no cell a panel of its own."""
    figure = posterior.plot(tmp_path / "model.png")
    assert (tmp_path / "model.png").stat().st_size > 5000
    shown = texts(figure)
    assert "median" not in shown
    assert "States" not in shown
    assert {"a$1$", "b", "State 1", "State 2", "harm = yes"} <= set(shown.splitlines())
    # the states above, and for each of the two states a panel of causes and one of harm
    assert len(figure.axes) == 5
    assert np.allclose(figure.axes[0].images[0].get_array()[1, 6], 1)  # pyright: ignore[reportOptionalSubscript]
    assert "90% interval" in texts(posterior.plot(prob=0.9))
    with pytest.raises(UsageError, match="prob must be between 0 and 1"):
        posterior.plot(prob=2)


def test_one_state_of_one_cell_is_drawn_as_shares(posterior: ModelPosterior) -> None:
    figure = posterior.plot(parameters=["states[b, 6]", "harm"])
    assert [bar.get_width() for bar in figure.axes[0].patches] == pytest.approx([0.5, 0.5])  # pyright: ignore[reportAttributeAccessIssue]
    assert "most probable 1, probability 0.500" in texts(figure)
    with pytest.raises(UsageError, match="is a label"):
        plot_comparison({"one": posterior}, "states[b, 6]")


def test_labels_are_summarized_as_labels(posterior: ModelPosterior) -> None:
    summary = posterior.summary()
    assert not [row for row in summary.rows if row.name.startswith("states")]
    assert len(summary.labels) == 24
    assert summary["states[b, 6]"] == LabelRow("states[b, 6]", "1", 0.5)
    assert summary["states[b, 7]"] == LabelRow("states[b, 7]", "2", 1.0)
    assert summary.to_dict()["labels"][-1] == {"name": "states[b, 11]", "label": "2", "probability": 1.0}
    printed = [line.split() for line in str(summary).splitlines()]
    assert ["states[b,", "7]", "2", "1.000"] in printed
    # a state that never changes is no sign of chains that do not agree
    assert "states" not in posterior.diagnostics.r_hat
    assert "nan" not in str(summary)


def test_of_many_states_the_most_frequent_are_drawn(rng: np.random.Generator) -> None:
    model = HiddenMarkov(30, time={"t": [str(t) for t in range(40)]}, features={"x": ["a", "b", "c"]})
    draws = {
        "x": rng.dirichlet(np.ones(3), (9, 30)),
        "transition": rng.dirichlet(np.ones(30), (9, 31)),
        "states": rng.integers(1, 31, size=(9, 1, 40)),
    }
    posterior = ModelPosterior(draws, Diagnostics("naive"), labels=model.axis_labels(), model=model)
    figure = posterior.plot()
    assert len(figure.axes) == 13
    assert "the 12 most frequent of 30 states" in texts(figure)
    assert "naive: ignores the privacy noise" in texts(figure)


def test_other_posteriors_are_refused() -> None:
    with pytest.raises(UsageError, match="hidden Markov"):
        plot_states(Posterior({"p": np.linspace(0, 1, 9)}, Diagnostics("exact")))

"""Pictures of hidden Markov models say what the draws say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior
from discreet.inference.posterior import Posterior as ModelPosterior
from discreet.models import HiddenMarkov
from discreet.reporting import plot_emissions, plot_states
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
    assert np.allclose(image[1, 6], 1)
    assert not np.allclose(image[0, 0], image[0, 11])
    assert np.allclose(image[0, 0], image[1, 0])


def test_emissions(posterior: ModelPosterior, tmp_path: Path) -> None:
    figure = plot_emissions(posterior, path=tmp_path / "emissions.png")
    shown = texts(figure)
    assert "the 10 most frequent labels" in shown
    assert "cause 13" in shown
    assert "cause 0" not in shown
    assert "harm = yes" in shown
    bars = [bar.get_width() for bar in figure.axes[1].patches]
    assert bars == pytest.approx([posterior.draws["harm"][:, 0, 1].mean()])


def test_other_posteriors_are_refused() -> None:
    with pytest.raises(UsageError, match="hidden Markov"):
        plot_states(Posterior({"p": np.linspace(0, 1, 9)}, Diagnostics("exact")))

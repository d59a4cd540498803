"""The picture of a Bayesian network: where boxes and lines are, and what they say."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

import discreet as dc
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior as ModelPosterior
from discreet.models.discrete import DiscreteModel
from discreet.reporting import plot_network
from discreet.reporting.layers import Spacing, lay_out

EXACT = Diagnostics("gibbs", independent=False)
MODEL = dc.models.BayesianNetwork(
    [("sex", "smoker"), ("sex", "health"), ("smoker", "health")],
    {"sex": ["f", "m"], "smoker": ["no", "yes"], "health": ["poor", "good", "$x^2$"]},
)


def made_up(model: DiscreteModel, rng: np.random.Generator, how: Diagnostics = EXACT) -> ModelPosterior:
    draws = {
        one.child.name: rng.dirichlet(np.full(one.child.n_labels, 4.0), size=(200, *one.shape[:-1]))
        for one in model.conditionals()
    }
    return ModelPosterior(draws, how, labels=model.axis_labels(), about="made up", model=model)


def words(figure: Figure) -> list[str]:
    figure.draw_without_rendering()
    return [t.get_text() for t in figure.findobj(Text) if isinstance(t, Text) and t.get_text()]


def test_every_probability_is_there(rng: np.random.Generator, tmp_path: Path) -> None:
    posterior = made_up(MODEL, rng)
    figure = posterior.plot(tmp_path / "network.png")
    assert (tmp_path / "network.png").stat().st_size > 10_000
    said = words(figure)
    for one in ("sex", "P(m)", "P(yes | sex)", "P(label | sex, smoker)", "m, yes", "$x^2$", "made up"):
        assert one in said
    mean = posterior.mean()
    shown = [mean["sex"][1], *mean["smoker"][:, 1], *mean["health"].ravel()]
    assert sorted(f"{value:.2f}" for value in shown) == sorted(s for s in said if s[:2] in ("0.", "1."))
    # of lines, each is 90% of its draws: the first is that of men
    low, high = np.quantile(posterior.draws["sex"][:, 1], [0.05, 0.95])
    lengths = [
        np.ptp(one.get_segments()[0][:, 0])
        for one in figure.findobj(LineCollection)
        if isinstance(one, LineCollection)
    ]
    assert min(abs(length - 1.15 * (high - low)) for length in lengths) < 1e-9
    assert len(lengths) == len(shown)


def test_a_naive_reading_says_so_and_long_tables_are_cut(rng: np.random.Generator) -> None:
    model = dc.models.BayesianNetwork([("a", "b"), ("c", "b")], {"a": 4, "c": 3, "b": 3})
    said = words(plot_network(made_up(model, rng, Diagnostics("naive", independent=True))))
    assert "naive: ignores the privacy noise" in said
    assert "and 18 more" in said


def test_what_cannot_be_drawn_is_refused(rng: np.random.Generator) -> None:
    bayes = dc.models.NaiveBayes({"c": 2}, {"x": 2})
    with pytest.raises(UsageError, match="Bayesian network"):
        plot_network(made_up(bayes, rng))
    with pytest.raises(UsageError, match="prob must be between 0 and 1"):
        plot_network(made_up(MODEL, rng), prob=2)
    with pytest.raises(UsageError, match="cannot draw to"):
        made_up(MODEL, rng).plot("network.doc")


def test_tables_are_drawn_row_by_row(rng: np.random.Generator) -> None:
    """By default for other models, and for a network's tables that are asked for."""
    bayes = dc.models.NaiveBayes({"c": ["a", "b"]}, {"x": ["u", "v, w", "z"]})
    said = words(made_up(bayes, rng).plot())
    for one in ("x[a]\n", "x[b]\n", "v, w", "z"):
        assert one in said
    said = words(made_up(MODEL, rng).plot(parameters=["health"]))
    assert [s for s in said if s.startswith("health")] == [
        f"health[{r}]\n" for r in ("f, no", "f, yes", "m, no", "m, yes")
    ]


def test_boxes_and_lines_do_not_meet(rng: np.random.Generator) -> None:
    """Random graphs: boxes are apart, children are below their parents, and straight pieces of lines cross no box."""
    for _ in range(40):
        n = int(rng.integers(1, 13))
        names = [f"x{i}" for i in range(n)]
        edges = [pair for pair in combinations(names, 2) if rng.random() < 0.25]
        sizes = {name: (float(rng.uniform(1, 3)), float(rng.uniform(0.5, 3))) for name in names}
        drawing = lay_out(sizes, edges, Spacing())
        for (a, b, c, d), (e, f, g, h) in combinations(drawing.boxes.values(), 2):
            assert a + c < e or e + g < a or b + d < f or f + h < b
        for left, top, width, height in drawing.boxes.values():
            assert left >= -1e-9
            assert left + width <= drawing.width + 1e-9
            assert top + height <= drawing.height + 1e-9
        for (parent, child), points in drawing.lines.items():
            above, below = drawing.boxes[parent], drawing.boxes[child]
            assert above[1] + above[3] < below[1]
            assert points[0][1] == pytest.approx(above[1] + above[3])
            assert points[-1][1] == pytest.approx(below[1])
            for (x, y), (u, v) in pairwise(points):
                assert v >= y
                for left, top, width, height in drawing.boxes.values():
                    inside = left < max(x, u) and min(x, u) < left + width
                    assert not inside or v <= top + 1e-9 or y >= top + height - 1e-9

"""A Bayesian network as a picture: the graph, and in each box the column's probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from discreet.arguments import FilePath
from discreet.inference.summary import tails
from discreet.models import BayesianNetwork
from discreet.models.discrete import Conditional
from discreet.reporting.layers import Drawing, Spacing, lay_out
from discreet.reporting.pictures import model_of
from discreet.reporting.style import (
    HAIRLINE,
    INK,
    QUIET,
    Figure,
    finish,
    look_of,
    new_figure,
    shorten,
)

# Inches: a box's head and foot, one line of it, and the widths of its bars, of the figures beside them and of a letter.
_HEAD, _FOOT, _LINE = 0.52, 0.12, 0.2
_BARS, _FIGURES, _LETTER, _PAD = 1.15, 0.42, 0.073, 0.12
_LONGEST = 18
# Lines of a box; a longer table is cut, and its box says so.
_MOST_LINES = 18
_MARGIN = 0.2


def plot_network(
    posterior: Any,
    path: FilePath | None = None,
    *,
    prob: float = 0.9,
    title: str | None = None,
) -> Figure:
    """Draw the graph of a Bayesian network with the posterior of every conditional probability.

    Each column is a box below its parents. A bar is a posterior mean, the line on it a central interval. Of a column
    with two labels the probability of the second is drawn, of others all.

    Parameters
    ----------
    posterior
        What ``dc.infer`` returned for a Bayesian network.
    path
        Where to write the picture (.png, .svg or .pdf), if anywhere.
    prob
        Probability of the intervals.
    title
        Heading.
    """
    model = model_of(posterior, BayesianNetwork, "this picture is for the posterior of a Bayesian network")
    posterior.summary(prob)  # refuses a bad prob before anything is drawn
    boxes = {
        one.child.name: _Box.of(one, posterior.draws[one.child.name], prob) for one in model.conditionals()
    }
    drawing = lay_out({name: box.size for name, box in boxes.items()}, model.edges, Spacing())
    hue, warning = look_of(posterior.diagnostics.engine)
    width = max(drawing.width + 2 * _MARGIN, 5.9)
    notes = [posterior.about, f"Posterior mean and {100 * prob:.4g}% interval of each probability."]
    heading = title or "Bayesian network"
    figure = new_figure(width, drawing.height + 2 * _MARGIN, heading, notes, warning)
    _draw(figure, drawing, boxes, hue)
    return finish(figure, path)


@dataclass(frozen=True)
class _Box:
    """What one box says: its lines, each with the parents' labels, the column's own label, and three numbers."""

    name: str
    words: str
    lines: list[tuple[str, str]]
    numbers: np.ndarray
    left_out: int

    @classmethod
    def of(cls, one: Conditional, draws: np.ndarray, prob: float) -> _Box:
        labels = one.child.labels
        shown = [1] if len(labels) == 2 else list(range(len(labels)))
        what = shorten(labels[1], _LONGEST) if len(labels) == 2 else "label"
        given = ", ".join(shorten(parent.name, _LONGEST) for parent in one.parents)
        lines, at = [], []
        for parents in product(*(range(parent.n_labels) for parent in one.parents)):
            group = ", ".join(
                shorten(parent.labels[i], _LONGEST) for parent, i in zip(one.parents, parents, strict=True)
            )
            for place, label in enumerate(shown):
                own = shorten(labels[label], _LONGEST) if len(shown) > 1 or not parents else ""
                # a group of lines is named once
                lines.append((group if place == 0 else "", own))
                at.append((*parents, label))
        kept = at[:_MOST_LINES]
        values = np.stack([draws[(slice(None), *index)] for index in kept], axis=1)
        low, high = np.quantile(values, tails(prob), axis=0)
        return cls(
            shorten(one.child.name, 2 * _LONGEST),
            f"P({what} | {given})" if given else f"P({what})",
            lines[: len(kept)],
            np.stack([values.mean(axis=0), low, high], axis=1),
            len(at) - len(kept),
        )

    @property
    def gutters(self) -> tuple[float, float]:
        """Inches that the names of groups and of labels take."""
        longest = [max(len(line[i]) for line in self.lines) for i in (0, 1)]
        return tuple(_LETTER * n + (0.08 if n else 0.0) for n in longest)  # pyright: ignore[reportReturnType]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        words = _LETTER * max(len(self.words), 1.25 * len(self.name)) + 2 * _PAD
        height = _HEAD + _LINE * (len(self.lines) + (self.left_out > 0)) + _FOOT
        return max(sum(self.gutters) + _BARS + _FIGURES + 2 * _PAD, words), height


def _draw(figure: Figure, drawing: Drawing, boxes: dict[str, _Box], hue: str) -> None:
    """Draw everything on one plain surface, whose units are inches, downwards."""
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
    from matplotlib.path import Path

    width, height = figure.get_size_inches()
    # the one panel is placed by hand
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, (drawing.height + 2 * _MARGIN) / height))
    axes.set_axis_off()
    axes.set_xlim(-(width - drawing.width) / 2, (width + drawing.width) / 2)
    axes.set_ylim(drawing.height + _MARGIN, -_MARGIN)
    for points in drawing.lines.values():
        axes.add_patch(
            FancyArrowPatch(
                path=Path(*_curve(points)),
                arrowstyle="-|>,head_length=5,head_width=2.6",
                color=QUIET,
                linewidth=1.1,
            )
        )
    for name, (left, top, wide, high) in drawing.boxes.items():
        box = boxes[name]
        axes.add_patch(
            FancyBboxPatch(
                (left, top),
                wide,
                high,
                boxstyle="round,pad=0,rounding_size=0.06",
                facecolor="white",
                edgecolor=HAIRLINE,
                linewidth=1.2,
            )
        )
        text = {"va": "center_baseline", "parse_math": False}
        x = left + _PAD
        axes.text(x, top + 0.18, box.name, color=INK, fontsize=10.5, fontweight="bold", **text)
        axes.text(x, top + 0.37, box.words, color=QUIET, fontsize=8.5, **text)
        group, label = box.gutters
        zero = left + wide - _PAD - _FIGURES - _BARS
        for row, ((parents, own), (mean, low, upper)) in enumerate(zip(box.lines, box.numbers, strict=True)):
            y = top + _HEAD + _LINE * (row + 0.5)
            axes.text(zero - label - group, y, parents, color=INK, fontsize=8.5, **text)
            axes.text(zero - 0.06, y, own, color=INK, fontsize=8.5, ha="right", **text)
            axes.fill_between(
                [zero, zero + _BARS], y - 0.065, y + 0.065, color=HAIRLINE, alpha=0.45, linewidth=0
            )
            axes.fill_between(
                [zero, zero + _BARS * mean], y - 0.065, y + 0.065, color=hue, alpha=0.55, linewidth=0
            )
            axes.hlines(y, zero + _BARS * low, zero + _BARS * upper, color=hue, linewidth=1.6)
            axes.text(left + wide - _PAD, y, f"{mean:.2f}", color=INK, fontsize=8.5, ha="right", **text)
        if box.left_out:
            y = top + _HEAD + _LINE * (len(box.lines) + 0.5)
            axes.text(x, y, f"and {box.left_out} more", color=QUIET, fontsize=8.5, **text)


def _curve(points: list[tuple[float, float]]) -> tuple[list[tuple[float, float]], list[int]]:
    """Return a path that leaves and enters boxes straight, and bends in between."""
    from matplotlib.path import Path

    path, codes = [points[0]], [int(Path.MOVETO)]
    for (x, y), (u, v) in pairwise(points):
        if x == u:
            path.append((u, v))
            codes.append(int(Path.LINETO))
        else:
            path += [(x, (y + v) / 2), (u, (y + v) / 2), (u, v)]
            codes += [int(Path.CURVE4)] * 3
    return path, codes

"""The picture of a plan: expected width against the budget."""

from __future__ import annotations

from itertools import cycle
from typing import Any

from discreet.arguments import FilePath
from discreet.reporting.style import (
    ACCENT,
    HAIRLINE,
    INK,
    PALETTE,
    QUIET,
    Axes,
    Figure,
    finish,
    new_figure,
)


def plot_plan(plan: Any, *, path: FilePath | None = None) -> Figure:
    """Draw the expected width against the budget, on logarithmic axes; floor, ceiling and wanted width as lines."""
    notes = [
        f"mean width of the {100 * plan.prob:g}% interval of {plan.parameter} over simulated releases",
        f"expected of the table: {plan.expects}",
    ]
    title = f"What {plan.budget.varied} buys: {plan.model}, {plan.n:,} records"
    figure = new_figure(7.2, 3.9, title, notes)
    axes = figure.add_subplot()
    budgets, widths = plan.curve(13)
    _axes(axes, plan.budget.varied)
    axes.plot(budgets, widths, color=PALETTE[0], linewidth=2)
    for height, words in ((plan.floor, "without noise"), (plan.ceiling, "nothing but noise")):
        axes.axhline(height, color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.annotate(
            f"{words}: {height:.3g}", (budgets[0], height), (2, 3), textcoords="offset points",
            color=QUIET, fontsize=9,
        )  # fmt: skip
    axes.plot([plan.spent], [plan.width], "o", color=ACCENT, markersize=7)
    axes.annotate(
        f"{plan.budget.varied} = {plan.spent:.3g}: width {plan.width:.3g}", (plan.spent, plan.width), (8, 8),
        textcoords="offset points", color=ACCENT, fontsize=10, fontweight="bold",
    )  # fmt: skip
    axes.set_ylim(plan.floor / 1.3, plan.ceiling * 1.4)
    return finish(figure, path)


def plot_division(division: Any, *, path: FilePath | None = None) -> Figure:
    """Draw the width of every question against its budget, as shares of what they are without data."""
    plans = division.plans
    varied = next(iter(plans.values())).budget.varied
    title = f"A budget for {len(plans)} questions: {varied} = {division.total:.3g} in all"
    note = "width of each interval, as a share of what it is without data; points show the division"
    figure = new_figure(7.2, 4.2, title, [note])
    axes = figure.add_subplot()
    _axes(axes, varied)
    for hue, (name, one) in zip(cycle(PALETTE), plans.items(), strict=False):
        budgets, widths = one.curve(9)
        axes.plot(budgets, widths / one.ceiling, color=hue, linewidth=1.6, alpha=0.8)
        axes.plot([one.spent], [one.width / one.ceiling], "o", color=hue, markersize=7)
        axes.annotate(
            name, (one.spent, one.width / one.ceiling), (7, 5), textcoords="offset points", color=hue,
            fontsize=10, fontweight="bold", parse_math=False,
        )  # fmt: skip
    return finish(figure, path)


def _axes(axes: Axes, varied: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(color=HAIRLINE, linewidth=0.6, which="major")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel(varied, color=INK)
    axes.set_ylabel("width", color=INK)
    axes.tick_params(colors=QUIET, labelsize=9)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(lambda value, _: "")

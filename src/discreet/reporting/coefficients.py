"""A regression's coefficients as a picture: a row and an interval for each, on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath
from discreet.errors import UsageError
from discreet.models.regression import Regression, bounds_of
from discreet.reporting.pictures import model_of
from discreet.reporting.plots import plot_posterior
from discreet.reporting.style import (
    HAIRLINE,
    QUIET,
    Figure,
    common_decimals,
    draw_intervals,
    finish,
    levels_of,
    look_of,
    name_axis,
    name_rows,
    new_figure,
    shorten,
    span,
)
from discreet.reporting.subplots import beside

if TYPE_CHECKING:
    from discreet.inference.posterior import Posterior

_ROW = 0.34


def plot_coefficients(
    posterior: Posterior,
    *,
    path: FilePath | None = None,
    prob: float = 0.95,
    title: str | None = None,
    **options: Any,
) -> Figure:
    """Draw each coefficient as a row: the median, and intervals of the middle half and of ``prob``.

    Coefficients have different units, so a row is what the target, its log-odds or the log of its mean changes by when
    the term goes over the range of its columns; the interval of the coefficient itself is written beside it. Weights
    that were fitted by gradients are drawn as densities.
    """
    model = model_of(posterior, Regression, "coefficients are drawn of a regression")
    if "coefficients" not in posterior.draws:
        return plot_posterior(posterior, path=path, prob=prob, title=title, **options)
    if options:
        raise UsageError(
            f"a picture of coefficients takes no {next(iter(options))!r:.40}.",
            hint="parameters=['residual_sd'] draws the density of what it names",
        )
    found = np.quantile(posterior.draws["coefficients"], levels_of(prob), axis=0).T
    width = np.ones(len(found))
    for at, term in enumerate(model.design.terms[:-1]):
        for name, power in term.powers:
            low, high = map(float, bounds_of(model.design.by_name[name]))
            width[at] *= (high - low) ** power
    hue, warning = look_of(posterior.diagnostics.engine)
    note = f"median, 50% and {100 * prob:.4g}% intervals of the change over the range of each term; coefficients beside"
    heading = title or f"{model.question} of {model.explained}"
    figure = new_figure(8.2, _ROW * len(found) + 0.9, heading, [posterior.about, note], warning)
    axes = figure.add_subplot()
    at = np.arange(len(found), dtype=float)
    axes.axvline(0, color=QUIET, linewidth=0.8)
    draw_intervals(axes, at, found * width[:, None], hue)
    name_rows(axes, [shorten(name) for name in model.weight_names[1:]])
    axes.grid(axis="y", color=HAIRLINE, linewidth=0.4)
    for row, (low, *_, high), term in zip(at, found, model.design.terms, strict=False):
        # labels have no unit
        unit = " per unit" if term.powers else ""
        beside(axes, row, f"{span(low, high, common_decimals([high - low]))}{unit}", QUIET)
    own = model.outcome == model.target.name
    name_axis(axes, f"change of {model.outcome}", posterior.units.of("mean") if own else "")
    return finish(figure, path)

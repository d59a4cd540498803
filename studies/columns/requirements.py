"""What is asked of intervals on real columns, as claims that can fail, and the tables that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from common.claim import Claim
from scipy.stats import binom

from columns.histogram_cells import BINS, HistogramCell
from columns.mean_cells import MeanCell
from columns.rivals import WAYS, RivalCell
from columns.simulate import Setting
from columns.sweep import Sweep

ALARM = 1e-3

# a light-tailed column pays for tails that one column in ten has: their sds were covered in 78% of releases when no
# column was above 2.5
_OVER_FLOOR = 2.75


def _by_setting(cells: Iterable[Any]) -> list[tuple[Setting, list[Any]]]:
    return [(setting, list(some)) for setting, some in groupby(cells, key=lambda cell: cell.setting)]


def simulated_again(cells: Sequence[Any]) -> list[Any]:
    """Return the cells that came out worst at first and were simulated more than the others."""
    few = min(cell.trials for cell in cells)
    return [cell for cell in cells if cell.trials > few] or list(cells)


def least(cells: Sequence[Any], share: Callable[[Any], float], floor: float) -> tuple[str, bool]:
    """Return the least share observed, in words, and whether no cell is below ``floor`` by a binomial test."""
    below = [
        cell
        for cell in cells
        if binom.cdf(round(share(cell) * cell.trials), cell.trials, floor) < ALARM / len(cells)
    ]
    decided = simulated_again(cells)
    worst = min(decided, key=share)
    words = (
        f"least {share(worst):.3f} of {worst.trials} releases, of {len(decided)} cells that were simulated most "
        f"({worst.column}; {worst.setting})"
    )
    if below:
        words += (
            f"; below: {', '.join(f'{cell.column} {share(cell):.3f} ({cell.setting})' for cell in below[:5])}"
        )
    return words, not below


def _on_average(cells: Sequence[Any], share: float, floor: float) -> bool:
    """Tell whether a share over all releases is not below ``floor`` by a binomial test."""
    # cells that were simulated again count as much as any other
    trials = min(cell.trials for cell in cells) * len(cells)
    return bool(binom.cdf(round(share * trials), trials, floor) >= ALARM)


def _average(cells: Sequence[Any], share: Callable[[Any], float]) -> tuple[float, float]:
    """Return the mean over all cells, and the least mean over the columns of a setting."""
    return (
        float(np.mean([share(cell) for cell in cells])),
        min(float(np.mean([share(cell) for cell in some])) for _, some in _by_setting(cells)),
    )


def mean_claims(cells: Sequence[MeanCell], floor: float, what: str) -> list[Claim]:
    """Coverage of the mean and the sd."""
    covers, covers_sd = (lambda cell: cell.mean), (lambda cell: cell.sd)
    average, lowest = _average(cells, covers)
    sd_average, sd_lowest = _average(cells, covers_sd)
    words, holds = least(cells, covers, floor)
    sd_words, sd_holds = least(cells, covers_sd, 0.87)
    return [
        Claim(
            what,
            "95% intervals of the mean cover at least 94% on average",
            average >= 0.94,
            f"{average:.3f} (settings: {lowest:.3f} at least)",
        ),
        Claim(what, f"in no cell below {floor:.0%}, by a binomial test at {ALARM:g} over all", holds, words),
        Claim(
            what,
            "those of the sd at least 95% on average",
            sd_average >= 0.95,
            f"{sd_average:.3f} (settings: {sd_lowest:.3f} at least)",
        ),
        Claim(what, "and in no cell below 87%, by the same test", sd_holds, sd_words),
    ]


def width_claims(cells: Sequence[MeanCell], what: str) -> list[Claim]:
    """Widths of the mean's and the sd's interval, beside those of somebody who sees the rows."""
    claims = []
    for setting, some in _by_setting(cells):
        width = np.array([cell.width for cell in some])
        source = f"{what}, {setting.neighbors}"
        shown = f"median {np.median(width):.3f}, at most {width.max():.2f}"
        if setting.has_limited_width:
            text = "n = 10,000, epsilon = 1: median width at most 1.03, all at most 1.15 of the t-interval"
            claims.append(Claim(source, text, np.median(width) <= 1.03 and width.max() <= 1.15, shown))
            claims += sd_width_claims(some, source)
        if (setting.n, setting.epsilon, setting.noise) == (1000, 1.0, "laplace"):
            text = "n = 1,000, epsilon = 1: width at most 1.25 of the t-interval in the median column"
            claims.append(Claim(source, text, np.median(width) <= 1.25, shown))
    return claims


def sd_width_claims(cells: Sequence[MeanCell], source: str) -> list[Claim]:
    """Widths of the sd's interval: beside the non-private one, and beside what the noise allows."""
    width, floor = (np.array([getattr(cell, name) for cell in cells]) for name in ("sd_width", "sd_floor"))
    widest, over = cells[int(width.argmax())], width / floor
    wide = [cell.column for cell in cells if cell.sd_width > 2.5]
    return [
        Claim(
            source,
            "n = 10,000, epsilon = 1: the sd's interval at most 2.5 of the non-private one (median column)",
            np.median(width) <= 2.5,
            f"median {np.median(width):.2f}, at most {width.max():.2f} ({widest.column}, where noise alone makes "
            f"{widest.sd_floor:.2f}); above 2.5: {', '.join(wide) or 'none'}",
        ),
        Claim(
            source,
            f"and at most {_OVER_FLOOR} of what the noise leaves to somebody who knows its tails, in every column",
            over.max() <= _OVER_FLOOR,
            f"median {np.median(over):.2f}, at most {over.max():.2f} ({cells[int(over.argmax())].column})",
        ),
    ]


def histogram_claims(cells: Sequence[HistogramCell], what: str) -> list[Claim]:
    """Quantiles, rounded outward, and the simultaneous band."""
    claims = []
    for setting, some in _by_setting(cells):
        covered = np.array([cell.quantiles for cell in some])
        bands = np.array([cell.band for cell in some])
        source = f"{what}, n = {setting.n:,}"
        words, holds = least(some, lambda cell: min(cell.quantiles), 0.9)
        worst = some[int(bands.argmin())]
        claims += [
            Claim(
                source,
                "outward quantiles cover at least 97% on average",
                covered.mean() >= 0.97,
                f"{covered.mean():.3f}",
            ),
            Claim(source, "and no quantile of a column less than 90%, by a binomial test", holds, words),
            Claim(
                source,
                "the band holds the distribution function at least 93% on average",
                _on_average(some, float(bands.mean()), 0.93),
                f"{bands.mean():.3f}, least {bands.min():.2f} ({worst.column})",
            ),
        ]
        if setting.n == 1000:
            # a quantile cannot be rounded outward to less than one bin
            ratio = np.array([cell.width / max(cell.rival, 1 / BINS) for cell in some])
            text = "quantile intervals at most 1.5 of the exponential mechanism's spread in the median column"
            shown = f"median {np.median(ratio):.2f}, at most {ratio.max():.2f}"
            claims.append(Claim(source, text, np.median(ratio) <= 1.5, shown))
    return claims


def rival_claims(cells: Sequence[RivalCell]) -> list[Claim]:
    """Others in four settings: one must fall short where `Mean` does not, or the test has no power.

    Which one depends: a naive reading does where noise is large, OpenDP's error bars, which are of the noise alone,
    where it is small, and `Normal()` on columns that are not normal.
    """
    claims = []
    for setting, some in _by_setting(cells):
        held = {way: float(np.mean([cell.held[way] for cell in some])) for way in WAYS}
        trials = sum(cell.trials for cell in some)
        claims.append(
            Claim(
                f"others, {setting}",
                "Mean covers at least 92% by a binomial test, while one of Normal(), the naive reading and OpenDP's "
                "mean with its own error bars covers less than 75%",
                float(binom.cdf(round(held["Mean"] * trials), trials, 0.92)) >= ALARM / 4
                and min(held.values()) < 0.75,
                ", ".join(f"{way} {held[way]:.2f}" for way in WAYS),
            )
        )
    return claims


def claims_of(found: Sweep) -> list[Claim]:
    """Return all claims."""
    return [
        *mean_claims(found.complete, 0.92, "Mean"),
        *mean_claims(found.lacking, 0.89, "Mean, 5% missing"),
        *width_claims(found.complete, "Mean"),
        *histogram_claims(found.histograms, "Histogram(64)"),
        *rival_claims(found.rivals),
        *mean_claims(found.afterwards, 0.92, "Mean, held out"),
        *width_claims(found.afterwards, "Mean, held out"),
        *histogram_claims(found.afterwards_histograms, "Histogram(64), held out"),
    ]


def mean_table(cells: Sequence[MeanCell]) -> str:
    """Return a Markdown table, a line for each setting: average and least over the columns."""
    lines = [
        "| n | epsilon | noise | relation | mean covers (least) | sd covers (least) | width (most) | sd width (most) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for setting, some in _by_setting(cells):
        mean, sd, width, sd_width = (
            np.array([getattr(cell, name) for cell in some]) for name in ("mean", "sd", "width", "sd_width")
        )
        lines.append(
            f"| {setting.n:,} | {setting.epsilon:g} | {setting.noise} | {setting.neighbors} "
            f"| {mean.mean():.3f} ({mean.min():.2f}) | {sd.mean():.3f} ({sd.min():.2f}) "
            f"| {np.median(width):.2f} ({width.max():.2f}) | {np.median(sd_width):.2f} ({sd_width.max():.2f}) |"
        )
    return "\n".join(lines)


def histogram_table(cells: Sequence[HistogramCell]) -> str:
    """Return a Markdown table, a line for each size: average and least over the columns."""
    lines = [
        "| n | quantiles cover (least) | band covers (least) | width of quantiles | mean width of the band |",
        "|---|---|---|---|---|",
    ]
    for setting, some in _by_setting(cells):
        covered, bands = np.array([cell.quantiles for cell in some]), np.array([cell.band for cell in some])
        width = np.median([cell.width / max(cell.rival, 1 / BINS) for cell in some])
        lines.append(
            f"| {setting.n:,} | {covered.mean():.3f} ({covered.min():.2f}) | {bands.mean():.3f} ({bands.min():.2f}) "
            f"| {width:.2f} | {np.mean([cell.band_width for cell in some]):.3f} |"
        )
    return "\n".join(lines)


def rival_table(cells: Sequence[RivalCell]) -> str:
    """Return a Markdown table, a line for each setting: how often each way's intervals held the mean."""
    lines = [f"| n | epsilon | {' | '.join(WAYS)} |", "|---|---|" + "---|" * len(WAYS)]
    for setting, some in _by_setting(cells):
        held = [f"{np.mean([cell.held[way] for cell in some]):.2f}" for way in WAYS]
        lines.append(f"| {setting.n:,} | {setting.epsilon:g} | {' | '.join(held)} |")
    return "\n".join(lines)


def decided_table(cells: Sequence[MeanCell]) -> str:
    """Return a Markdown table of the cells that came out worst at first, the worst first."""
    lines = ["| column | setting | releases | mean covers | sd covers |", "|---|---|---|---|---|"]
    for cell in sorted(simulated_again(cells), key=lambda cell: min(cell.mean, cell.sd)):
        lines.append(
            f"| {cell.column} | {cell.setting} | {cell.trials:,} | {cell.mean:.3f} | {cell.sd:.3f} |"
        )
    return "\n".join(lines)


def column_table(cells: Sequence[MeanCell]) -> str:
    """Return a Markdown table, a line for each column: average and least over the settings."""
    lines = ["| column | mean covers (least) | sd covers (least) |", "|---|---|---|"]
    for name in dict.fromkeys(cell.column for cell in cells):
        some = [cell for cell in cells if cell.column == name]
        mean, sd = np.array([cell.mean for cell in some]), np.array([cell.sd for cell in some])
        lines.append(f"| {name} | {mean.mean():.3f} ({mean.min():.2f}) | {sd.mean():.3f} ({sd.min():.2f}) |")
    return "\n".join(lines)

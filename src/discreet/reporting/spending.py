"""The picture of a ledger: how much of each budget was gone, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from discreet.arguments import FilePath
from discreet.errors import UsageError
from discreet.reporting.style import (
    ACCENT,
    PALETTE,
    Figure,
    finish,
    measure,
    new_figure,
    title_panel,
)

if TYPE_CHECKING:
    from discreet.ledger.history import Step
    from discreet.privacy import Guarantee

_MOST_PANELS = 12


def plot_spending(
    steps: Sequence[Step],
    budgets: Mapping[str, Guarantee],
    *,
    opened: Mapping[str, str] | None = None,
    now: datetime | None = None,
    path: FilePath | None = None,
    title: str = "Budget spent",
) -> Figure:
    """Draw, for each data set, the share of its budget that was gone at every moment since it was opened.

    Parameters
    ----------
    steps
        The charges, from :func:`discreet.ledger.history.history`.
    budgets
        The budget of each data set.
    opened
        When each data set was opened, where its line begins; with its first charge if that is not known.
    now
        Where the lines end; the present moment if left out.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    title
        Heading.
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    if not budgets:
        raise UsageError("the ledger has no data set to draw.")
    shown = list(budgets)[:_MOST_PANELS]
    notes = ["share of the budget that is gone, from the opening of the data set to now"]
    if len(shown) < len(budgets):
        notes.append(f"first {len(shown)} of {len(budgets)} data sets")
    figure = new_figure(8.6, 1.9 * len(shown), title, notes, gap=0.1)
    panels = figure.subplots(len(shown), 1, squeeze=False, sharex=True)[:, 0]
    end = now or datetime.now(UTC)
    moments = [end]
    for axes, dataset in zip(panels, shown, strict=True):
        own = [step for step in steps if step.dataset == dataset]
        times = [datetime.fromisoformat(step.time) for step in own]
        shares = [100 * step.share for step in own]
        known = (opened or {}).get(dataset)
        begin = min(times, default=end) if known is None else datetime.fromisoformat(known)
        moments += [begin, *times]
        axes.axhline(100, color=ACCENT, linewidth=1.0)
        levels = [0, *shares]
        axes.step([begin, *times, end], [*levels, levels[-1]], where="post", color=PALETTE[0], linewidth=1.8)
        axes.plot(times, shares, "o", color=PALETTE[0], markersize=3.4)
        measure(axes)
        axes.set_ylim(0, 108)
        axes.set_yticks([0, 50, 100], ["0", "50", "100%"])
        title_panel(axes, dataset, budgets[dataset].describe())
    # room at both ends, also where nothing happened yet
    room = max((max(moments) - min(moments)) * 0.03, timedelta(seconds=1))
    panels[0].set_xlim(min(moments) - room, max(moments) + room)  # pyright: ignore[reportArgumentType]
    # labels say only what changes from tick to tick, and the rest once
    locator = AutoDateLocator(minticks=3, maxticks=7)
    panels[0].xaxis.set_major_locator(locator)
    panels[0].xaxis.set_major_formatter(ConciseDateFormatter(locator))
    figure.autofmt_xdate(rotation=0, ha="center")
    return finish(figure, path)

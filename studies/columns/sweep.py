"""Which cells are simulated, how often, and by how many processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pool
from typing import Any

from columns.histogram_cells import HistogramCell, histogram_cell
from columns.mean_cells import MeanCell, mean_cell
from columns.populations import columns, held_out
from columns.rivals import SETTINGS as RIVAL_SETTINGS
from columns.rivals import RivalCell, rival_cell
from columns.simulate import Setting

SIZES, BUDGETS = (50, 200, 1000, 10_000), (0.1, 0.3, 1.0)
#: Every setting for `Mean`, on complete columns and with 5% missing values.
COMPLETE = tuple(
    Setting(n, epsilon, noise, neighbors)
    for n in SIZES
    for epsilon in BUDGETS
    for noise in ("laplace", "gaussian")
    for neighbors in ("replace", "add_remove")
)
LACKING = tuple(replace(setting, share=0.05) for setting in COMPLETE)
HISTOGRAMS = tuple(Setting(n, 1.0) for n in (200, 1000, 10_000))
#: Settings in which columns are looked at that nothing was chosen on.
AFTERWARDS = tuple(Setting(n, epsilon) for n in SIZES for epsilon in BUDGETS)
# rivals take half a second a release, so they see every third column
_EVERY = 3
# cells whose width is held against a limit are simulated at least so often
_WIDTHS = 200


@dataclass(frozen=True)
class Effort:
    """How many releases are simulated in each kind of cell."""

    complete: int
    lacking: int
    worst: int
    worst_lacking: int
    decisive: int
    histogram: int
    rival: int
    afterwards: int
    afterwards_histogram: int


#: A fixed subset of twenty minutes on two cores, and the table that is in the documentation.
CHECK = Effort(16, 8, 20, 8, 1000, 16, 8, 12, 12)
FULL = Effort(60, 30, 60, 30, 1000, 60, 20, 60, 30)
#: A first look, of some minutes: cells are decided by 300 releases.
QUICK = Effort(4, 2, 8, 4, 300, 5, 2, 4, 3)


@dataclass(frozen=True)
class Job:
    """One cell to be simulated: which function, which column of which list, which setting, how often."""

    kind: str
    of: str
    column: int
    setting: Setting
    trials: int
    seed: int

    def run(self) -> Any:
        """Simulate the cell."""
        found = (columns() if self.of == "chosen" else held_out())[self.column]
        where = self.setting
        seed = [
            self.seed,
            self.column,
            where.n,
            round(1000 * where.epsilon),
            int(where.noise == "laplace"),
            int(where.neighbors == "replace"),
            round(100 * where.share),
        ]
        return _KINDS[self.kind](found, where, self.trials, seed)


_KINDS: dict[str, Callable[..., Any]] = {
    "mean": mean_cell,
    "histogram": histogram_cell,
    "rival": rival_cell,
}


@dataclass(frozen=True)
class Sweep:
    """All cells: of `Mean` in every setting, the worst of them again, of `Histogram`, of rivals, of other columns."""

    complete: list[MeanCell]
    lacking: list[MeanCell]
    histograms: list[HistogramCell]
    rivals: list[RivalCell]
    afterwards: list[MeanCell]
    afterwards_histograms: list[HistogramCell]


def _has_limit(kind: str, of: str, setting: Setting) -> bool:
    """Tell whether the widths of single columns are limited here, so that they must be known."""
    narrow = (setting.n, setting.epsilon, setting.noise, setting.share) == (10_000, 1.0, "laplace", 0.0)
    return kind == "mean" and of == "chosen" and narrow


def sweep(effort: Effort, seed: int, workers: int, say: Callable[[str], None]) -> Sweep:
    """Simulate every cell a little, and those that come out worst much more, with new random numbers."""
    chosen, others = range(len(columns())), range(len(held_out()))

    def jobs(kind: str, settings: Sequence[Setting], trials: int, of: str = "chosen") -> list[Job]:
        places = chosen if of == "chosen" else others
        places = places[::_EVERY] if kind == "rival" else places
        return [
            Job(
                kind, of, at, setting, max(trials, _WIDTHS) if _has_limit(kind, of, setting) else trials, seed
            )
            for setting in settings
            for at in places
        ]

    with Pool(workers) as pool:

        def run(name: str, asked: list[Job]) -> list[Any]:
            done = []
            for i, cell in enumerate(pool.imap(Job.run, asked, chunksize=4)):
                done.append(cell)
                if (i + 1) % 100 == 0 or i + 1 == len(asked):
                    say(f"{name}: {i + 1} of {len(asked)} cells")
            return done

        def decided(name: str, settings: Sequence[Setting], trials: int, worst: int) -> list[MeanCell]:
            asked = jobs("mean", settings, trials)
            cells: list[MeanCell] = run(name, asked)
            by_mean = sorted(range(len(cells)), key=lambda i: (cells[i].mean, cells[i].sd))[:worst]
            by_sd = sorted(range(len(cells)), key=lambda i: (cells[i].sd, cells[i].mean))[: worst // 2]
            order = sorted({*by_mean, *by_sd})
            again = [replace(asked[i], trials=effort.decisive, seed=seed + 1) for i in order]
            for i, cell in zip(order, run(f"{name}, the worst again", again), strict=True):
                cells[i] = cell
                say(f"{cell.column}, {cell.setting}: mean {cell.mean:.3f}, sd {cell.sd:.3f}")
            return cells

        return Sweep(
            decided("Mean", COMPLETE, effort.complete, effort.worst),
            decided("Mean, 5% missing", LACKING, effort.lacking, effort.worst_lacking),
            run("Histogram", jobs("histogram", HISTOGRAMS, effort.histogram)),
            run("others", jobs("rival", RIVAL_SETTINGS, effort.rival)),
            run("held out, Mean", jobs("mean", AFTERWARDS, effort.afterwards, "held out")),
            run(
                "held out, Histogram",
                jobs("histogram", HISTOGRAMS, effort.afterwards_histogram, "held out"),
            ),
        )

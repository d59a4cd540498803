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
# rivals see every third column
_EVERY = 3


@dataclass(frozen=True)
class Effort:
    """How many releases are simulated in each kind of cell, and in those that come out worst.

    The ``worst`` cells of each kind are simulated ``first`` more times, and if they still come out below 93.5%,
    ``decisive`` times in all; in the same way ``widest`` cells whose width has a limit.
    """

    complete: int
    lacking: int
    afterwards: int
    histogram: int
    afterwards_histogram: int
    rival: int
    worst: int
    widest: int
    first: int
    decisive: int


#: A fixed subset of some ten minutes on two free cores, and the table that is in the documentation.
CHECK = Effort(8, 4, 8, 6, 8, 24, 12, 4, 250, 1000)
FULL = Effort(60, 30, 60, 60, 60, 80, 40, 8, 1000, 1000)
#: A first look, of some minutes.
QUICK = Effort(4, 2, 4, 4, 4, 16, 4, 2, 100, 300)
# histograms, which take longer, are simulated so much less
_SLOWER = 5
# cells that come out above this are not simulated again
_CLEAR = 0.935


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


def sweep(effort: Effort, seed: int, workers: int, say: Callable[[str], None]) -> Sweep:
    """Simulate every cell a little, and those that come out worst much more, with new random numbers."""
    with Pool(workers) as pool:

        def run(name: str, asked: list[Job]) -> list[Any]:
            done = []
            for i, cell in enumerate(pool.imap(Job.run, asked, chunksize=2)):
                done.append(cell)
                if (i + 1) % 100 == 0 or i + 1 == len(asked):
                    say(f"{name}: {i + 1} of {len(asked)} cells")
            return done

        def again(
            name: str, asked: list[Job], cells: list[Any], which: Sequence[int], slower: int = 1
        ) -> None:
            """Simulate some cells more, and those that are still short most of all; the last word counts."""
            order = sorted(set(which))
            for step, trials in enumerate((effort.first, effort.decisive)):
                jobs = [replace(asked[i], trials=trials // slower, seed=seed + 1 + step) for i in order]
                for i, cell in zip(
                    order, run(f"{name}, the worst {trials // slower} times", jobs), strict=True
                ):
                    cells[i] = cell
                    say(f"{cell.column}, {cell.setting}: {', '.join(f'{v:.3f}' for v in cell.shares)}")
                order = [i for i in order if min(cells[i].shares) < _CLEAR]

        def means(name: str, settings: Sequence[Setting], trials: int, of: str = "chosen") -> list[MeanCell]:
            asked = _jobs("mean", settings, trials, seed, of)
            cells: list[MeanCell] = run(name, asked)
            places = range(len(cells))
            by_mean = sorted(places, key=lambda i: (cells[i].mean, cells[i].sd))[: effort.worst]
            by_sd = sorted(places, key=lambda i: (cells[i].sd, cells[i].mean))[: effort.worst // 2]
            limited = [i for i in places if cells[i].setting.has_limited_width]
            by_width = sorted(limited, key=lambda i: -cells[i].width)[: effort.widest]
            again(name, asked, cells, [*by_mean, *by_sd, *by_width])
            return cells

        def histograms(name: str, trials: int, of: str = "chosen") -> list[HistogramCell]:
            asked = _jobs("histogram", HISTOGRAMS, trials, seed, of)
            cells: list[HistogramCell] = run(name, asked)
            worst = sorted(range(len(cells)), key=lambda i: min(cells[i].shares))[: effort.worst // 4]
            again(name, asked, cells, worst, _SLOWER)
            return cells

        return Sweep(
            means("Mean", COMPLETE, effort.complete),
            means("Mean, 5% missing", LACKING, effort.lacking),
            histograms("Histogram", effort.histogram),
            run("others", _jobs("rival", RIVAL_SETTINGS, effort.rival, seed)),
            means("held out, Mean", AFTERWARDS, effort.afterwards, "held out"),
            histograms("held out, Histogram", effort.afterwards_histogram, "held out"),
        )


def _jobs(kind: str, settings: Sequence[Setting], trials: int, seed: int, of: str = "chosen") -> list[Job]:
    places = range(len(columns() if of == "chosen" else held_out()))
    places = places[::_EVERY] if kind == "rival" else places
    return [Job(kind, of, at, setting, trials, seed) for setting in settings for at in places]

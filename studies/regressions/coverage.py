"""How often 95% intervals hold the population's coefficients, and how wide they are beside least squares'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import discreet as dc
from discreet.curator.publish import choose_mechanism, sample_with
from discreet.mechanisms.base import Mechanism
from discreet.samplers.secure import RandomSource

from .drawn import drawn
from .floor import floor
from .populations import Table, held_out, least_squares, nearly_explained, tables

BUDGETS: dict[str, Callable[[Any], Mechanism]] = {
    "epsilon = 1": lambda model: choose_mechanism(model.noise("replace"), 1, None, None),
    "rho = 0.05": lambda _: dc.mechanisms.Gaussian(rho="0.05"),
}
PARTS: dict[str, Callable[[], tuple[Table, ...]]] = {
    "chosen": tables,
    "held out": held_out,
    "nearly explained": nearly_explained,
    "drawn": drawn,
}
#: Parts whose tables are read with their first features, as many as are asked for; the others with all they have.
NAMED = ("chosen", "held out")
# shares after the first resamples from which on a cell needs no more of them, also with ten features
_CLEAR, _CLEAR_OF_MANY = 0.915, 0.9


@dataclass(frozen=True)
class Cell:
    """One setting: a table of a part, its first d features, a sample size and a budget."""

    table: str
    d: int
    n: int
    budget: str
    part: str = "chosen"
    close: bool = False


@dataclass(frozen=True)
class Found:
    """What was counted in a cell: for intercept, slopes and residual sd, in this order."""

    cell: Cell
    trials: int
    hits: np.ndarray
    naive_hits: np.ndarray
    ratio: np.ndarray
    floor: np.ndarray
    dominated: float

    @property
    def share(self) -> np.ndarray:
        """The share of intervals that hold."""
        return self.hits / self.trials

    def joined(self, other: Found) -> Found:
        """Return what was counted in both."""
        trials = self.trials + other.trials
        mine, yours = self.trials / trials, other.trials / trials
        return Found(
            self.cell,
            trials,
            self.hits + other.hits,
            self.naive_hits + other.naive_hits,
            mine * self.ratio + yours * other.ratio,
            self.floor,
            mine * self.dominated + yours * other.dominated,
        )


def cells(ds: tuple[int, ...], ns: tuple[int, ...], part: str, *, close: bool = False) -> list[Cell]:
    """Return every cell of a part's tables; with ``close``, with bounds right beside the columns' ends."""
    return [
        Cell(table.name, d, n, budget, part, close)
        for table in PARTS[part]()
        for d in (ds if part in NAMED else (len(table.columns) - 1,))
        if table.first(d) is not None
        for n in ns
        for budget in BUDGETS
    ]


def run(cell: Cell, trials: int, seed: int, first: int) -> Found:
    """Resample, release and read one cell: ``first`` times, and if a share is then not clearly enough all the rest."""
    found = _run(cell, min(first, trials), [seed])
    if trials <= first or found.share.min() >= (_CLEAR_OF_MANY if cell.d >= 10 else _CLEAR):
        return found
    return found.joined(_run(cell, trials - first, [seed, 1]))


def _run(cell: Cell, trials: int, seed: list[int]) -> Found:
    table = next(t for t in PARTS[cell.part]() if t.name == cell.table).first(cell.d)
    assert table is not None
    if cell.close:
        table = table.bounded_closely()
    rng = np.random.default_rng([*seed, cell.d, cell.n, *cell.table.encode(), *cell.budget.encode()])
    hits = np.zeros(cell.d + 2)
    naive = np.zeros(cell.d + 2)
    ratios, dominated = [], []
    for _ in range(trials):
        at, rows = table.sample(cell.n, rng)
        mechanism = BUDGETS[cell.budget](table.model)
        release = sample_with(RandomSource.seeded(rng), rows, table.model, mechanism)
        posterior = dc.infer(release, rng=rng, draws=2000, chains=2)
        low, high = _ends(posterior)
        hits += (low <= table.truth) & (table.truth <= high)
        ends = _ends(dc.infer(release, engine="naive", rng=rng, draws=400, chains=1))
        naive += (ends[0] <= table.truth) & (table.truth <= ends[1])
        errors = least_squares(table.clipped[at])[1]
        ratios.append((high - low)[1:-1] / (2 * 1.96 * errors[1:]))
        dominated.append(any("noise dominates" in said for said in posterior.diagnostics.warnings))
    least = floor(table, cell.n, BUDGETS[cell.budget](table.model))
    # widths are judged where the table speaks, if it does in any resample
    spoken = np.array(ratios)[~np.array(dominated) | np.all(dominated)]
    return Found(cell, trials, hits, naive, np.median(spoken, axis=0), least, float(np.mean(dominated)))


def run_all(wanted: list[Cell], trials: int, seed: int, workers: int, first: int) -> Iterator[Found]:
    """Run cells side by side, and yield them as they come."""
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(partial(run, trials=trials, seed=seed, first=first), wanted)


def _ends(posterior: Any) -> tuple[np.ndarray, np.ndarray]:
    draws = posterior.draws
    every = np.column_stack([draws["intercept"], draws["coefficients"], draws["residual_sd"]])
    low, high = np.quantile(every, [0.025, 0.975], axis=0)
    return low, high

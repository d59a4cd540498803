"""Which mechanism should release a posterior? All of them side by side, at equal privacy.

    python studies/head_to_head.py [--quick] [--trials 200] [--out studies/results] [--json] [--check] [--workers 2]

Every mechanism is (epsilon, 10^-6)-DP under ``replace`` neighbors, epsilon 0.1 or 1, n from 10 to 100,000. In every
cell of that grid a parameter is drawn from the prior and data from the model, and they are released by

Laplace, exact and naive
    Noisy statistics, read with the noise in the model, or at their word.
Gaussian, exact
    The same with Gaussian noise.
OPS
    One or 100 samples of the tempered posterior, on a truncated parameter set.
direct, diffused, concentrated
    One or 100 samples with a Rényi guarantee, which is converted to epsilon and delta by the library; the order is
    chosen among a few, from public facts.
non-private
    The posterior of the data themselves.

Measured: L1 error of the posterior mean (of the sample, where there is one), how much log-likelihood a held-out record
loses under the posterior predictive distribution, and coverage of the central 95% interval, which a single sample
does not have.

Writes the picture, the report and the numbers: ``head_to_head.png``, ``.txt`` and ``.json``. ``--check`` exits with 1
if a claim does not hold.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from common.claim import Claim
from common.report import arguments_of
from common.report import report as reported
from common.report import write as written
from rivals.budgets import DELTA, RenyiBudget, best_budget
from rivals.cells import Cell, Job, Key
from rivals.claims import check_claims
from rivals.figure import draw_figure
from rivals.models import MODELS
from rivals.replicate import METHODS, RENYI, Reading
from rivals.table import table

SEED = 41
NAME = "head_to_head"
# One process keeps one core busy; linear algebra on all cores in each would make them wait for one another.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# Replicates handed to a process at a time.
_PORTION = 10
Done = Callable[[int], None]


@dataclass(frozen=True)
class Plan:
    """How much to run."""

    trials: int
    n_records: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000)
    epsilons: tuple[str, ...] = ("0.1", "1")
    models: tuple[str, ...] = tuple(MODELS)

    @property
    def keys(self) -> list[Key]:
        """The cells of the grid."""
        return [Key(m, n, e) for m in self.models for e in self.epsilons for n in self.n_records]

    def describe(self) -> str:
        """Say in one line how much was run, and at which privacy."""
        return (
            f"{self.trials} replicates in each of {len(self.keys)} cells; every mechanism is "
            f"(ε, {float(DELTA):g})-DP under replace neighbors".replace("1e-06", "10⁻⁶")
        )

    def jobs(self, key: Key, renyi: Mapping[str, RenyiBudget]) -> list[Job]:
        """Split a cell into portions."""
        starts = range(0, self.trials, _PORTION)
        budgets = tuple(renyi.items())
        return [
            Job(key, i, min(i + _PORTION, self.trials), methods_for(key.model), SEED, budgets) for i in starts
        ]


FULL = Plan(trials=200)
QUICK = Plan(trials=40, n_records=(10, 1000, 100_000), models=("Bernoulli", "Categorical(5)"))


def methods_for(model: str) -> tuple[str, ...]:
    """Return the methods that are compared; waiting times are for noise against OPS."""
    return tuple(m for m in METHODS if model != "Exponential" or m not in RENYI)


def renyi_budgets(key: Key) -> dict[str, RenyiBudget]:
    """Return the Rényi budget of each method that can keep it, from public facts."""
    found = {}
    for method in methods_for(key.model):
        if method in RENYI:
            mode, samples = method.split()
            found[method] = best_budget(key.model, key.n_records, key.epsilon, mode, int(samples))  # pyright: ignore[reportArgumentType]
    return {method: budget for method, budget in found.items() if budget is not None}


def run(plan: Plan, workers: int, done: Done = lambda n: None) -> list[Cell]:
    """Run the study; the result does not depend on the number of processes."""
    for variable in _ONE_THREAD:
        os.environ.setdefault(variable, "1")
    budgets = {key: renyi_budgets(key) for key in plan.keys}
    jobs = [job for key in plan.keys for job in plan.jobs(key, budgets[key])]
    parts: dict[Key, dict[int, list[dict[str, Reading]]]] = {}
    for job, found in _finished(jobs, workers):
        parts.setdefault(job.key, {})[job.first] = found
        done(len(found))
    return [
        Cell.of(key, [each for _, part in sorted(parts[key].items()) for each in part], budgets[key])
        for key in plan.keys
    ]


def _finished(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, list[dict[str, Reading]]]]:
    if workers == 1:
        for job in jobs:
            yield job, job.run()
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        futures = {pool.submit(Job.run, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def report(plan: Plan, cells: Sequence[Cell], claims: Sequence[Claim]) -> str:
    """Return the table, then the claims and how many of them hold."""
    lines = [plan.describe() + ".", *table(cells), "", *reported(claims).splitlines()]
    return "\n".join(line.rstrip() for line in lines)


def to_dict(plan: Plan, cells: Sequence[Cell], claims: Sequence[Claim]) -> dict[str, Any]:
    """Return plain numbers: the settings, the claims and every entry of the table."""
    return {
        "schema": f"discreet/study-{NAME}/1",
        "settings": {**asdict(plan), "delta": float(DELTA), "seed": SEED},
        "claims": [asdict(claim) for claim in claims],
        "cells": [cell.to_dict() for cell in cells],
    }


def write(folder: Path, plan: Plan, cells: Sequence[Cell], claims: Sequence[Claim]) -> dict[str, str]:
    """Write the picture, the report and the numbers; return the latter two by the ending of their file."""
    text = written(folder, NAME, report(plan, cells, claims), to_dict(plan, cells, claims))
    draw_figure(cells, note=plan.describe(), path=folder / f"{NAME}.png")
    return text


@contextmanager
def _progress(total: int) -> Iterator[Done]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("replicates"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda n: bar.update(task, advance=n)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = arguments_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="two models, three sizes, few replicates")
    parser.add_argument("--trials", type=int, help="replicates in each cell of the grid")
    parser.add_argument("--workers", type=int, default=2, help="processes (the result does not depend on it)")
    options = parser.parse_args(arguments)
    if options.workers < 1 or (options.trials is not None and options.trials < 10):
        parser.error("--workers must be at least 1 and --trials at least 10")
    plan = QUICK if options.quick else FULL
    if options.trials is not None:
        plan = replace(plan, trials=options.trials)
    start = time.perf_counter()
    with _progress(plan.trials * len(plan.keys)) as done:
        cells = run(plan, options.workers, done)
    claims = check_claims(cells)
    text = write(options.out, plan, cells, claims)
    print(text["json"] if options.json else text["txt"])
    if not options.json:
        print(f"{time.perf_counter() - start:,.0f} s; the picture and the numbers are in {options.out}")
    return int(options.check and not all(claim.holds for claim in claims))


if __name__ == "__main__":
    sys.exit(main())

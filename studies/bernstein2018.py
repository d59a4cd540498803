"""Redraw figure 1 of Bernstein and Sheldon (2018) and check, claim by claim, what the paper says about it.

    python studies/bernstein2018.py [--quick] [--trials 800] [--out studies/results] [--json] [--check]

Binomial, multinomial and exponential models, n from 10 to 100,000, epsilon 0.01 and 0.1. In every cell of that grid a
parameter is drawn from the prior, data from the model, and a private release is made, many times over. Read by:

exact, Gibbs
    ``dc.infer`` with these engines.
Gibbs of the paper
    Algorithms 1 to 3 of the paper with their misprints mended; slower, so it gets fewer replicates.
naive
    The noise ignored. For the exponential model it sees the noisy sum of all records, redacted or not, as in the paper.
OPS
    100 samples of the tempered posterior of a truncated parameter, at epsilon / 100 each (binomial only). A closed-form
    stand-in for a posterior-sampling mechanism.
non-private
    The conjugate posterior of the data themselves.

(a) Calibration: is the rank of the true parameter uniform? Kolmogorov-Smirnov statistic against n. (b) Its empirical
distribution function at n = 1,000, epsilon = 0.01. (c) Utility: unbiased squared MMD between a method's posterior and
the non-private one, standard normal kernel, against n.

Writes the picture, the report and the numbers: ``bernstein2018.png``, ``.txt`` and ``.json``. ``--check`` exits with 1
if a claim about this library's engines or a baseline does not hold; what is found about the paper's own sampler is
printed and does not count.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bernstein import calibration, utility
from bernstein.cells import Cell, Job, Key, gather
from bernstein.claim import CURVES, SLACK, Claim
from bernstein.figure import draw_figure
from bernstein.methods import METHODS, MODELS

RESULTS = Path(__file__).parent / "results"
SEED = 2018
# One process keeps one core busy; linear algebra on all cores in each would make them wait for one another.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# Replicates handed to a process at a time.
_PORTION = 5


@dataclass(frozen=True)
class Plan:
    """How much to run."""

    trials: int
    #: Replicates whose MMD is computed, and replicates that the paper's sampler gets.
    n_utility: int
    n_plain: int
    n_records: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000)
    epsilons: tuple[float, ...] = (0.01, 0.1)
    methods: tuple[str, ...] = tuple(METHODS)
    models: tuple[str, ...] = tuple(MODELS)

    @property
    def keys(self) -> list[Key]:
        """The cells of the grid."""
        return [Key(m, n, e) for m in self.models for e in self.epsilons for n in self.n_records]

    def describe(self) -> str:
        """Say in one line how much was run."""
        words = (
            f"{self.trials} replicates in each of {len(self.keys)} cells, {self.n_utility} of them for MMD"
        )
        return words + (f", {self.n_plain} for the paper's Gibbs" if "plain" in self.methods else "")

    def jobs(self, key: Key) -> list[Job]:
        """Split a cell into portions."""
        whole = Job(
            key, 0, self.trials, self.methods, SEED, self.n_utility, limits=(("plain", self.n_plain),)
        )
        return _portions(whole)

    def second_look(self, key: Key, methods: tuple[str, ...]) -> list[Job]:
        """Return portions of fresh replicates for some methods and the naive one, all of them with MMD."""
        last = self.n_plain if methods == ("plain",) else self.trials
        limits = (("plain", self.n_plain),)
        return _portions(Job(key, 0, last, (*methods, "naive"), SEED, last, limits, stage=1))


FULL = Plan(trials=800, n_utility=400, n_plain=40)
QUICK = Plan(
    trials=100,
    n_utility=40,
    n_plain=0,
    n_records=(100, 1000, 100_000),
    methods=tuple(m for m in METHODS if m != "plain"),
)


def run(plan: Plan, workers: int, done: Callable[[int], None] = lambda n: None) -> list[Cell]:
    """Run the study, and look again where a noise-aware posterior seems worse than the naive one."""
    with _runner(workers) as work:
        found = work([job for key in plan.keys for job in plan.jobs(key)], done)
        cells = [Cell.of(key, found[key]) for key in plan.keys]
        doubtful = utility.suspects(cells)
        again = work(
            [job for cell, methods in doubtful.items() for job in plan.second_look(cell.key, methods)], done
        )
    for cell in doubtful:
        cell.again = gather(again[cell.key])
    return cells


def _portions(job: Job) -> list[Job]:
    starts = range(job.first, job.last, _PORTION)
    return [replace(job, first=i, last=min(i + _PORTION, job.last)) for i in starts]


_Work = Callable[[Sequence[Job], Callable[[int], None]], dict[Key, list[Any]]]


@contextmanager
def _runner(workers: int) -> Iterator[_Work]:
    """Offer a function that runs jobs here or in other processes; the result is the same."""
    for variable in _ONE_THREAD:
        os.environ.setdefault(variable, "1")
    pool = None if workers == 1 else ProcessPoolExecutor(workers, mp_context=get_context("spawn"))

    def work(jobs: Sequence[Job], done: Callable[[int], None]) -> dict[Key, list[Any]]:
        parts: dict[Key, dict[int, list[Any]]] = {}
        if pool is None:
            finished = ((job, job.run()) for job in jobs)
        else:
            futures = {pool.submit(Job.run, job): job for job in jobs}
            finished = ((futures[future], future.result()) for future in as_completed(futures))
        for job, found in finished:
            parts.setdefault(job.key, {})[job.first] = found
            done(len(found))
        return {key: [r for _, part in sorted(mine.items()) for r in part] for key, mine in parts.items()}

    try:
        yield work
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def check_claims(cells: Sequence[Cell]) -> list[Claim]:
    """Check every claim that these cells can decide."""
    return [claim for check in (*calibration.CHECKS, *utility.CHECKS) for claim in check(cells)]


def to_dict(plan: Plan, cells: Sequence[Cell], claims: Sequence[Claim], seconds: float) -> dict[str, Any]:
    """Return plain numbers: the settings, the claims and every point of the figure."""
    return {
        "schema": "discreet/study-bernstein2018/1",
        "settings": {**asdict(plan), "seed": SEED},
        "seconds": round(seconds),
        "claims": [asdict(claim) for claim in claims],
        "cells": [cell.to_dict(curves=(cell.key.n_records, cell.key.epsilon) == CURVES) for cell in cells],
    }


def report(plan: Plan, cells: Sequence[Cell], claims: Sequence[Claim]) -> str:
    """Return tables of KS and MMD in every cell, then the claims and how many of them hold."""
    methods = [m for m in METHODS if any(m in c.series for c in cells)]
    shown = [m for m in methods if m not in ("ops", "non-private")]
    lines = [
        plan.describe(),
        "",
        "KS statistic of the ranks of the truth (first parameter); * p-value below 0.001",
        *_table(cells, methods, _calibration),
        "",
        f"10^6 squared MMD to the non-private posterior; + above naive by more than {SLACK:g} standard errors",
        *_table(cells, shown, _utility),
        "",
    ]
    for claim in claims:
        lines += [
            f"{'pass' if claim.holds else 'FAIL'}  {claim.source:<10} {claim.text}",
            f"{'':17}{claim.measured}",
        ]
    for name, paper_only in (
        ("of our engines and the baselines", False),
        ("of the paper's own sampler", True),
    ):
        group = [claim for claim in claims if claim.paper_only is paper_only]
        if group:
            lines.append(f"{sum(claim.holds for claim in group)} of {len(group)} claims {name} hold")
    return "\n".join(line.rstrip() for line in lines)


def _table(cells: Sequence[Cell], methods: Sequence[str], text: Callable[[Cell, str], str]) -> Iterator[str]:
    names = "".join(f"{METHODS[m].replace(' of the', ','):>14}" for m in methods)
    yield f"  {'':<13}{'n':>9}{'ε':>7}{'noise':>9}{names}"
    for cell in cells:
        key = cell.key
        line = f"  {key.model:<13}{key.n_records:>9,}{key.epsilon:>7g}{key.noise_ratio:>8.2g}x"
        yield line + "".join(f"{text(cell, m) if m in cell.series else '':>14}" for m in methods)


def _calibration(cell: Cell, method: str) -> str:
    test = cell.series[method].test()
    return f"{test.ks:.3f}{'*' if test.p_value < 0.001 else ' '}"


def _utility(cell: Cell, method: str) -> str:
    mean, _ = cell.series[method].utility
    mark = " "
    if method != "naive" and "naive" in cell.series:
        gap, error = cell.worse(method, "naive")
        mark = "+" if gap > SLACK * error else " "
    return f"{1e6 * mean:,.4g}{mark}"


def write(
    folder: Path, plan: Plan, cells: Sequence[Cell], claims: Sequence[Claim], seconds: float
) -> dict[str, str]:
    """Write the picture, the report and the numbers; return the latter two by the ending of their file."""
    folder.mkdir(parents=True, exist_ok=True)
    text = {
        "txt": report(plan, cells, claims),
        "json": json.dumps(to_dict(plan, cells, claims, seconds), indent=1, ensure_ascii=False),
    }
    for ending, content in text.items():
        (folder / f"bernstein2018.{ending}").write_text(content + "\n", encoding="utf-8")
    draw_figure(cells, note=plan.describe(), path=folder / "bernstein2018.png")
    return text


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("replicates"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def done(n: int) -> None:
            bar.update(task, advance=n)
            if bar.tasks[0].completed > (bar.tasks[0].total or 0):
                # a second look at doubtful cells was not part of the plan
                bar.update(task, total=bar.tasks[0].completed)

        yield done


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="three sizes, few replicates, without the paper's sampler"
    )
    parser.add_argument("--trials", type=int, help="replicates in each cell of the grid")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the picture and the numbers")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a claim about our engines fails")
    parser.add_argument("--workers", type=int, default=2, help="processes (the result does not depend on it)")
    options = parser.parse_args(arguments)
    if options.workers < 1 or (options.trials is not None and options.trials < 10):
        parser.error("--workers must be at least 1 and --trials at least 10")
    plan = QUICK if options.quick else FULL
    if options.trials is not None:
        share = options.trials / plan.trials
        plan = replace(
            plan,
            trials=options.trials,
            n_utility=math.ceil(share * plan.n_utility),
            n_plain=math.ceil(share * plan.n_plain),
        )
    start = time.perf_counter()
    with _progress(plan.trials * len(plan.keys)) as done:
        cells = run(plan, options.workers, done)
    seconds = time.perf_counter() - start
    claims = check_claims(cells)
    text = write(options.out, plan, cells, claims, seconds)
    print(text["json"] if options.json else text["txt"])
    if not options.json:
        print(f"{seconds:,.0f} s; the picture and the numbers are in {options.out}")
    return int(options.check and not all(claim.holds for claim in claims if not claim.paper_only))


if __name__ == "__main__":
    sys.exit(main())

"""Trials on several cores.

Workers are plain interpreters that are told what to import. ``multiprocessing`` would run the caller's script again in
each of them, and a script may hold a release, which costs budget each time.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from math import ceil
from threading import Lock
from typing import Any, BinaryIO

import numpy as np

from discreet.errors import DiscreetError
from discreet.validation.simulation import Setting, Trial, run_trial

# What a worker runs: it looks for modules where its parent does, and then serves.
_PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from discreet.validation.workers import serve; serve()"
)
# One worker keeps one core busy; linear algebra on all cores in every worker would make them wait for one another.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# Seconds of work handed out at a time: often enough for a progress bar, seldom enough for pipes not to matter.
_PORTION = 0.3


class NotPortableError(Exception):
    """Another process cannot build the setting, because a class of it lives in a script or a function."""


def available_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_in_workers(
    setting: Setting,
    seeds: Sequence[np.random.SeedSequence],
    n_workers: int,
    seconds_each: float,
    done: Callable[[int], None],
) -> list[Trial]:
    """Run a trial for each seed and return them in the order of the seeds.

    Parameters
    ----------
    setting, seeds
        What to run.
    n_workers
        How many processes to start.
    seconds_each
        About how long a trial takes, for handing out suitable portions.
    done
        Called with the number of trials that have just been finished.

    Raises
    ------
    NotPortableError
        If the setting cannot be handed to another process; nothing has been run then.
    """
    try:
        job = pickle.dumps(setting)
    except Exception:
        raise NotPortableError from None
    portion = max(1, min(ceil(_PORTION / max(seconds_each, 1e-6)), ceil(len(seeds) / (4 * n_workers))))
    portions = iter([range(i, min(i + portion, len(seeds))) for i in range(0, len(seeds), portion)])
    lock = Lock()
    out: list[Trial | None] = [None] * len(seeds)

    def work(worker: subprocess.Popen[bytes]) -> None:
        while True:
            with lock:
                part = next(portions, None)
            if part is None:
                return
            _send(worker, [seeds[i] for i in part])
            for i, trial in zip(part, _receive(worker), strict=True):
                out[i] = trial
            with lock:
                done(len(part))

    with _workers(min(n_workers, ceil(len(seeds) / portion))) as workers:
        for worker in workers:
            _send(worker, sys.path)
            _send(worker, job)
        for worker in workers:
            _receive(worker)
        with ThreadPoolExecutor(len(workers)) as threads:
            running = [threads.submit(work, worker) for worker in workers]
            try:
                for thread in wait(running, return_when=FIRST_EXCEPTION).done:
                    thread.result()
            except BaseException:
                # the others wait for answers that nobody needs any more
                _stop(workers)
                raise
    return [trial for trial in out if trial is not None]


def serve() -> None:
    """Be a worker: read a setting, then seeds, and answer with trials, until there is nothing more to read."""
    # the parent ends its workers; a Ctrl-C in the terminal reaches both
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked = sys.stdin.buffer
    # whatever a user's family prints must not end up among the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        setting = pickle.loads(pickle.load(asked))
    except Exception:
        _answer(answers, NotPortableError())
        return
    _answer(answers, None)
    while True:
        try:
            seeds = pickle.load(asked)
        except EOFError:
            return
        try:
            _answer(answers, [run_trial(setting, seed) for seed in seeds])
        except Exception as problem:
            _answer(answers, problem)


def _answer(stream: BinaryIO, content: Any) -> None:
    """Write an answer or an exception, which is put in words if it does not travel."""
    try:
        data = pickle.dumps(content)
        if isinstance(content, Exception):
            pickle.loads(data)
    except Exception:
        told = "".join(traceback.format_exception(content))
        data = pickle.dumps(RuntimeError(f"a trial failed in a worker process\n{told}"))
    stream.write(data)
    stream.flush()


def _send(worker: subprocess.Popen[bytes], content: Any) -> None:
    assert worker.stdin is not None
    with suppress(BrokenPipeError):  # reading its answer will tell
        pickle.dump(content, worker.stdin)
        worker.stdin.flush()


def _receive(worker: subprocess.Popen[bytes]) -> Any:
    assert worker.stdout is not None
    try:
        content = pickle.load(worker.stdout)
    except (EOFError, pickle.UnpicklingError):
        raise DiscreetError("a worker process ended early.", hint="try again with workers=1") from None
    if isinstance(content, Exception):
        raise content
    return content


@contextmanager
def _workers(number: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start workers, and end them whatever happens."""
    environment = {**dict.fromkeys(_ONE_THREAD, "1"), **os.environ}
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(number):
            started.append(
                subprocess.Popen(
                    [sys.executable, "-c", _PROGRAM],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=environment,
                )
            )
        yield started
    finally:
        _stop(started)
        for worker in started:
            worker.wait()
            for stream in (worker.stdin, worker.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()


def _stop(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        worker.kill()

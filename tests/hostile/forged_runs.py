"""Runs forged files through a reused worker process, with limits of time and memory."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: Limits for one file: processor time of a verb, resident memory of the worker, of which the libraries take 0.3.
MOST_SECONDS, MOST_GIGABYTES = 20.0, 1.0
# The clock on the wall, for a busy machine: what waits instead of working is caught here.
_PATIENCE = float(os.environ.get("FORGED_PATIENCE", "120"))
# So that processor time is what a file costs.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class Worker:
    """A worker process; it is started again after a file that it did not survive."""

    def __init__(self, planted: str | None = None, patience: float = _PATIENCE) -> None:
        self._planted, self._patience = planted, patience
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "tests.hostile.forged_worker",
            *([self._planted] if self._planted else []),
        ]
        paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "MPLBACKEND": "Agg",
            **_ONE_THREAD,
        }
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=environment,
        )
        self._process = process
        assert self._line(300) == "ready"
        return process

    def _line(self, patience: float) -> str | None:
        """Return the next line, or None if it does not come in time or never will."""
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], patience)
        line = self._process.stdout.readline() if ready else b""
        return line.decode().rstrip("\n") or None

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Have a file examined; what the worker does not survive in time is a failure."""
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        line = self._line(self._patience)
        if line is None:
            try:
                died = process.wait(1) is not None
            except subprocess.TimeoutExpired:
                died = False
            self.stop()
            return {
                "verbs": {},
                "failure": "the worker died" if died else "hang",
                "gigabytes": 0.0,
                "kind": "",
                "base": "",
                "how": "",
            }
        answer = json.loads(line)
        for verb, one in answer["verbs"].items():
            if answer["failure"] is None and one["seconds"] > MOST_SECONDS:
                answer["failure"] = f"slow: {verb} took {one['seconds']:.0f} s"
        if answer["gigabytes"] > MOST_GIGABYTES:
            answer["failure"] = answer["failure"] or f"greedy: {answer['gigabytes']:.1f} GB"
            self.stop()
        return answer


@dataclass
class Tally:
    """What became of many files."""

    files: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, tuple[float, int]] = field(default_factory=dict)
    gigabytes: float = 0.0
    failures: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, number: int, answer: dict[str, Any]) -> None:
        self.files += 1
        self.gigabytes = max(self.gigabytes, answer["gigabytes"])
        for verb, one in answer["verbs"].items():
            self.outcomes[f"{verb} {one['outcome']}"] += 1
            self.slowest[verb] = max(self.slowest.get(verb, (0.0, 0)), (one["seconds"], number))
        if answer["failure"]:
            self.failures.append(
                (number, f"{answer['kind']} {answer['base']} {answer['how']}", answer["failure"])
            )

    def __str__(self) -> str:
        slow = ", ".join(
            f"{verb} {seconds:.1f} s (file {number})" for verb, (seconds, number) in self.slowest.items()
        )
        lines = [f"{self.files} files; slowest: {slow}; most memory {self.gigabytes:.2f} GB"]
        lines += [f"  {count:6d}  {outcome}" for outcome, count in sorted(self.outcomes.items())]
        lines += [f"  FAILED {number}: {what}: {why}" for number, what, why in self.failures[:40]]
        return "\n".join(lines)


def run(seed: int, numbers: range, *, command: int = 0, progress: float = 0.0) -> Tally:
    """Run the forged files of a seed; every ``command``-th release goes through the command line."""
    tally, said = Tally(), time.monotonic()
    with Worker() as worker:
        for number in numbers:
            tally.add(number, worker.ask(seed=seed, number=number, command=command))
            if progress and time.monotonic() - said > progress:
                said = time.monotonic()
                print(f"[seed {seed}] {tally}", flush=True)
    return tally


if __name__ == "__main__":
    # python -m tests.hostile.forged_runs SEED FIRST LAST: the same, by hand
    seed, first, last = map(int, sys.argv[1:4])
    print(run(seed, range(first, last), command=20, progress=60.0))

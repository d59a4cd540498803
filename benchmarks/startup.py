"""How long ``discreet --help`` takes next to a bare typer program's ``--help``, and ``discreet demo`` from cold.

    python benchmarks/startup.py [--check] [--rounds 21]

Both run as fresh processes, alternately, so that a busy machine slows both alike; medians are compared. ``--check``
exits with 1 if the ratio is above 1.3, or if the demo, with matplotlib's font cache still to be built, takes over 15
seconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 1.3
DEMO_LIMIT_SECONDS = 15.0

BARE = """
import typer

app = typer.Typer()


@app.command()
def hello(name: str = "world") -> None:
    "Say hello."
    print(name)


@app.command()
def goodbye(name: str = "world") -> None:
    "Say goodbye."
    print(name)


app()
"""

OURS = "from discreet.cli import main; main()"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if the ratio is above the limit")
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # both as files, as an installed program would be
        programs = {"bare typer": Path(folder, "bare.py"), "discreet": Path(folder, "ours.py")}
        programs["bare typer"].write_text(BARE)
        programs["discreet"].write_text(OURS)
        for program in programs.values():
            _seconds(program)
        times = {name: [] for name in programs}
        for _ in range(options.rounds):
            for name, program in programs.items():
                times[name].append(_seconds(program))
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, median in medians.items():
        print(f"{name:<12} --help {1000 * median:7.1f} ms (median of {options.rounds})")
    ratio = medians["discreet"] / medians["bare typer"]
    print(f"ratio        {ratio:.2f} (limit {LIMIT})")
    with tempfile.TemporaryDirectory() as folder:
        demo = _demo_seconds(Path(folder))
    print(f"demo         {demo:.1f} s, font cache included (limit {DEMO_LIMIT_SECONDS:.0f})")
    return int(options.check and (ratio > LIMIT or demo > DEMO_LIMIT_SECONDS))


def _seconds(program: Path) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, str(program), "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def _demo_seconds(folder: Path) -> float:
    command = [sys.executable, "-c", OURS, "demo", "-o", str(folder / "demo")]
    start = time.perf_counter()
    environment = {**os.environ, "MPLCONFIGDIR": str(folder / "fonts")}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())

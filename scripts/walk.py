"""How far a reader has to walk to follow one call: functions called, files touched, crossings between files.

    python scripts/walk.py            the table
    python scripts/walk.py --json     the same, for programs
    python scripts/walk.py --check    exit 1 if a call exceeds its limits
    python scripts/walk.py --list gibbs    the crossings of the calls whose name has this word in it

Four calls are profiled, each once and warm: a first call has loaded and compiled what there is to load, and ``infer``
gets a release that is loaded already. Within the package,

- *functions* counts the distinct functions that are called (comprehensions and lambdas are part of the function that
  they stand in),
- *files* the distinct files that these functions are in,
- *crossings* the functions whose first call comes from another file of the package: how often a reader who follows the
  call, and looks up each function when it is first met, has to open another file.

The release draws noise from the operating system, so its count of functions may change by a few between runs.
Only public names are used, so that the script outlives any renaming of files.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import discreet as dc

PACKAGE = str(Path(dc.__file__).parent)


@dataclass(frozen=True)
class Walk:
    """One profiled call."""

    call: str
    functions: int
    files: int
    crossings: int
    steps: tuple[str, ...] = ()


#: At most so many files and crossings: what the calls take today, so that no way becomes longer unnoticed; the release
#: takes one or two more where the rows are read in a thread of the engine's. Aimed at were (12, 25), (9, 15), (14, 28)
#: and (14, 28): docs/developer/following-a-call.md says which crossings are worth their price.
LIMITS = {
    "release of a Normal from CSV": (19, 36),
    "infer, Bernoulli, exact": (9, 16),
    "infer, Normal, gibbs": (14, 29),
    "infer, naive Bayes": (14, 34),
}


class Profile:
    """Collects the functions of the package that are called, and how many of them from another file."""

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()
        self.crossings: list[str] = []

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code in self.functions or not _is_ours(code):
            return
        self.functions.add(code)
        caller = frame.f_back
        while caller is not None and not _is_ours(caller.f_code):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            self.crossings.append(f"{_place(caller.f_code)} -> {_place(code)}")


def _is_ours(code: CodeType) -> bool:
    """Tell whether code is a function of the package, and neither a module nor a comprehension or lambda."""
    return code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<")


def _place(code: CodeType) -> str:
    """Return the file, within the package, and the name of a function."""
    return f"{Path(code.co_filename).relative_to(PACKAGE)}:{code.co_qualname}"


def walk(name: str, call: Callable[[], object]) -> Walk:
    """Profile the second run of a call."""
    call()
    profile = Profile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    files = {code.co_filename for code in profile.functions}
    return Walk(name, len(profile.functions), len(files), len(profile.crossings), tuple(profile.crossings))


def calls(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the four calls, on rows drawn with a fixed seed and on releases of them."""
    rng = np.random.default_rng(20261116)
    rows = folder / "rows.csv"
    with rows.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["smoker", "pressure", "ward", "sex"])
        for _ in range(1000):
            smoker = int(rng.random() < 0.3)
            ward, sex = rng.choice(["a", "b", "c"]), rng.choice(["f", "m"])
            writer.writerow([smoker, round(rng.normal(120, 15), 1), ward, sex])
    numbers: dict[str, Any] = {"column": "pressure", "bounds": (60, 200), "epsilon": 1}
    model = dc.models.NaiveBayes({"ward": ["a", "b", "c"]}, {"sex": ["f", "m"], "smoker": ["0", "1"]})
    bernoulli = dc.release(rows, dc.Bernoulli(), column="smoker", epsilon=1)
    normal = dc.release(rows, dc.Normal(), **numbers)
    naive_bayes = dc.release(rows, model, epsilon=1)
    prior = dc.priors.NormalInverseGamma(120, 1, 2, 225)
    return {
        "release of a Normal from CSV": lambda: dc.release(rows, dc.Normal(), **numbers),
        "infer, Bernoulli, exact": lambda: dc.infer(bernoulli, rng=0),
        "infer, Normal, gibbs": lambda: dc.infer(normal, prior=prior, engine="gibbs", rng=0),
        "infer, naive Bayes": lambda: dc.infer(naive_bayes, rng=0),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="How far a reader has to walk to follow one call.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 if a call exceeds its limits")
    parser.add_argument(
        "--list", metavar="WORD", help="list the crossings of the calls with this word in their name"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        walks = [walk(name, call) for name, call in calls(Path(folder)).items()]
    if options.json:
        print(json.dumps([asdict(each) for each in walks], indent=2))
    elif options.list:
        for each in walks:
            if options.list.lower() in each.call.lower():
                print(
                    f"{each.call}: {each.files} files, {each.crossings} crossings",
                    *each.steps,
                    sep="\n  ",
                )
    else:
        print("| call | functions | files | crossings |\n|---|---|---|---|")
        for each in walks:
            print(f"| {each.call} | {each.functions} | {each.files} | {each.crossings} |")
    long = [
        each for each in walks if each.files > LIMITS[each.call][0] or each.crossings > LIMITS[each.call][1]
    ]
    if options.check:
        for each in long:
            files, crossings = LIMITS[each.call]
            print(f"{each.call}: at most {files} files and {crossings} crossings.", file=sys.stderr)
    return int(options.check and bool(long))


if __name__ == "__main__":
    sys.exit(main())

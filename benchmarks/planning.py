"""How long a plan takes: of models with one parameter, and of groups.

    python benchmarks/planning.py [--check] [--json]

Every model is planned for a budget and for a wanted width, with rough public values and without; the seconds are of
the processor, on a free machine those of the wall. Engines are loaded and compiled before. ``--check`` exits with 1 if
a plan of a model with one parameter takes two seconds or more, or one of groups ten.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import discreet as dc

ONE, GROUPS = 2.0, 10.0
WIDE = {"bounds": (0, 100)}
CASES: dict[str, tuple[Any, dict[str, Any], dict[str, Any], float]] = {
    "Bernoulli": (dc.Bernoulli(), {"n": 1000}, {"p": 0.3}, ONE),
    "Mean": (dc.Mean(), {"n": 1000, **WIDE}, {"mean": 30, "sd": 12}, ONE),
    "Poisson": (dc.Poisson(), {"n": 1000, "bounds": (0, 20)}, {"rate": 3}, ONE),
    "Exponential": (dc.Exponential(), {"n": 1000, **WIDE}, {"rate": 0.1}, ONE),
    "Geometric": (dc.Geometric(), {"n": 1000, "bounds": (0, 40)}, {"p": 0.2}, ONE),
    "Bernoulli, 12 groups": (dc.Bernoulli(), {"n": 6000, "groups": 12}, {"p": 0.3}, GROUPS),
    "Mean, 12 groups": (dc.Mean(), {"n": 6000, "groups": 12, **WIDE}, {"mean": 30, "sd": 12}, GROUPS),
}


def seconds_of(model: Any, asked: dict[str, Any]) -> tuple[dict[str, float], float]:
    """Return the seconds of a plan for a budget and of one for a wanted width."""
    start = time.process_time()
    found = dc.plan(model, epsilon=0.5, **asked)
    middle = time.process_time()
    dc.plan(model, width=min(1.3 * found.width, (found.width + found.ceiling) / 2), **asked)
    return {"budget": middle - start, "width": time.process_time() - middle}, found.width


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a plan takes too long")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name, (model, asked, public, most) in CASES.items():
        dc.plan(model, epsilon=0.5, **asked, public=public)
        known, _ = seconds_of(model, {**asked, "public": public})
        unknown, _ = seconds_of(model, asked)
        found[name] = {"known": known, "unknown": unknown, "most": most}
        if not options.json:
            times = [*known.values(), *unknown.values()]
            print(
                f"{name:22}" + "".join(f"{one:8.2f} s" for one in times) + f"   at most {most:g} s",
                flush=True,
            )
    if options.json:
        print(json.dumps({"schema": "discreet/benchmark-planning/1", "seconds": found}, indent=1))
    slow = [
        name
        for name, one in found.items()
        if max(*one["known"].values(), *one["unknown"].values()) >= one["most"]
    ]
    if slow:
        print(f"too slow: {', '.join(slow)}", file=sys.stderr)
    return int(options.check and bool(slow))


if __name__ == "__main__":
    sys.exit(main())

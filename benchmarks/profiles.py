"""How long profile-based privacy takes at scale: a chain of 200 profiles over 20 categories, and a million reports.

    python benchmarks/profiles.py [--check] [--json]

Beside it, in the same run, K-ary randomized response on the same graph: what is left is the linear program's.
``--check`` exits with 1 if fitting takes 30 seconds or a gigabyte, or if a million reports take 2 seconds.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time

import numpy as np

from discreet.profiles import KRandomizedResponse, ProfileGraph, SmoothCategorical

PROFILES, CATEGORIES, EPSILON, REPORTS = 200, 20, 0.5, 1_000_000
MOST_FIT_SECONDS, MOST_MEGABYTES, MOST_REPORT_SECONDS = 30.0, 1000.0, 2.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    distributions = rng.dirichlet(np.full(CATEGORIES, 2.0), PROFILES)
    graph = ProfileGraph.chain({f"user {i}": distribution for i, distribution in enumerate(distributions)})

    start = time.perf_counter()
    baseline = KRandomizedResponse().fit(graph, EPSILON)
    baseline_seconds = time.perf_counter() - start
    start = time.perf_counter()
    fitted = SmoothCategorical().fit(graph, EPSILON)
    fit_seconds = time.perf_counter() - start
    # kilobytes on Linux; the peak of the whole process, Python and SciPy included
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    values = rng.integers(0, CATEGORIES, REPORTS)
    who = np.array(graph.profiles)[rng.integers(0, PROFILES, REPORTS)]
    start = time.perf_counter()
    fitted.privatize_many(values, who)
    report_seconds = time.perf_counter() - start

    figures = {
        "fit_seconds": fit_seconds,
        "peak_megabytes": megabytes,
        "baseline_fit_seconds": baseline_seconds,
        "reports": REPORTS,
        "report_seconds": report_seconds,
        "largest_corruption": fitted.largest_corruption,
        "baseline_largest_corruption": baseline.largest_corruption,
        "honored": fitted.audit().honors(EPSILON),
        "limits": [MOST_FIT_SECONDS, MOST_MEGABYTES, MOST_REPORT_SECONDS],
    }
    figures["passed"] = bool(
        fit_seconds < MOST_FIT_SECONDS
        and megabytes < MOST_MEGABYTES
        and report_seconds < MOST_REPORT_SECONDS
        and figures["honored"]
    )
    if asked.json:
        print(json.dumps(figures))
    else:
        print(
            f"chain of {PROFILES} profiles over {CATEGORIES} categories, epsilon = {EPSILON:g}: fitted in "
            f"{fit_seconds:.1f} s (limit {MOST_FIT_SECONDS:g} s), peak memory {megabytes:.0f} MB "
            f"(limit {MOST_MEGABYTES:g} MB); randomized response {baseline_seconds:.2f} s\n"
            f"{REPORTS:,} reports in {report_seconds:.2f} s (limit {MOST_REPORT_SECONDS:g} s)\n"
            f"expected corruption {fitted.corruption.mean():.3f}, randomized response "
            f"{baseline.corruption.mean():.3f}: {'met' if figures['passed'] else 'MISSED'}"
        )
    return 1 if asked.check and not figures["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())

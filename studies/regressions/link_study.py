"""A study of regressions with a link: every table, size, budget and route, and what is claimed of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from common.claim import Claim
from common.report import arguments_of, finished, report, to_dict, write
from scipy import stats

from . import odds

_FALSE_ALARM = 1e-3
#: Tables by part, and the routes that they go.
Parts = Mapping[str, tuple[Callable[[], Sequence[odds.Population]], tuple[str, ...]]]


def run_study(name: str, about: str | None, parts: Parts) -> int:
    """Print the claims and a line for each cell."""
    parser = arguments_of(about)
    parser.add_argument("--trials", type=int, default=200, help="resamples of each cell")
    parser.add_argument("--n", default="2000,20000", help="numbers of records")
    parser.add_argument("--part", default=",".join(parts), help="which tables")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found: list[tuple[str, odds.Held]] = []
    for part in options.part.split(","):
        populations, routes = parts[part]
        for population in populations():
            for n in map(int, options.n.split(",")):
                for budget in odds.BUDGETS:
                    for route in routes:
                        one = odds.run(population, n, budget, route, options.trials, options.seed)
                        found.append((part, one))
                        print(one.line(), file=sys.stderr, flush=True)
    claims = claims_of(found)
    cells = [
        {"part": part, **vars(one), "hits": one.hits.tolist(), "naive_hits": one.naive_hits.tolist()}
        | {"ratio": one.ratio.tolist()}
        for part, one in found
    ]
    settings = {"trials": options.trials, "seed": options.seed}
    numbers = {**to_dict(name, settings, [], claims), "cells": cells}
    lines = [one.line() for _, one in found]
    contents = write(options.out, name, "\n".join([report(claims), "", *lines]), numbers)
    return finished(options, contents, claims)


def claims_of(found: list[tuple[str, odds.Held]]) -> list[Claim]:
    """Return what is claimed of each route."""
    claims = []
    n_tests = sum(len(one.hits) for _, one in found)
    kinds = sorted({(part == "labels", one.route) for part, one in found})
    for labels, route in kinds:
        mine = [one for part, one in found if (part == "labels", one.route) == (labels, route)]
        name = "one table of labels" if labels else f"numbers, {route} release{'s' if route == 'two' else ''}"
        p_values = [stats.binom.cdf(hits, one.trials, 0.90) for one in mine for hits in one.hits]
        least = min(mine, key=lambda one: one.share.min())
        claims.append(
            Claim(
                name,
                "95% intervals hold at least 90% of the time, each coefficient of each table",
                bool(min(p_values) > _FALSE_ALARM / n_tests),
                f"least share {least.share.min():.3f} ({least.table}, n = {least.n}, {least.budget}), least p-value "
                f"{min(p_values):.2g} of {n_tests}",
            )
        )
    return claims

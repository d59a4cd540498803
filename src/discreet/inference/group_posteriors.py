"""The posteriors of all groups of a table, and what is asked of several groups: differences, ranks, margins."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import one_of, text
from discreet.domain.columns import Labels
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior
from discreet.inference.posteriors import Posteriors, draws_by_name
from discreet.inference.summary import decimals_for, tails

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

# Groups named in a warning about several of them, or in a hint.
_FEW = 3
_SOME = 8
_NUMBER = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Posterior):
    """The posterior of the difference between two groups, or of their ratio, for every parameter."""

    _: KW_ONLY
    one: str = ""
    other: str = ""
    by: str = "difference"

    @property
    def probability_higher(self) -> dict[str, Any]:
        """The probability that the first group has the higher value of each parameter."""
        level = 0.0 if self.by == "difference" else 1.0
        found = {name: np.mean(x > level, axis=0) for name, x in self.draws.items()}
        return {name: float(p) if p.ndim == 0 else p for name, p in found.items()}

    def __str__(self) -> str:
        """Return a line for each number: its median, its interval, and how probable it is that the first is higher."""
        sign = "minus" if self.by == "difference" else "over"
        level = 0.0 if self.by == "difference" else 1.0
        lines = [f"{self.one} {sign} {self.other}"]
        for full, x in self.scalars().items():
            low, middle, high = np.quantile(x, [0.025, 0.5, 0.975])
            d = decimals_for(high - low)
            lines.append(
                f"  {full}: {middle:.{d}f} (95% interval {low:.{d}f} to {high:.{d}f}); {self.one} is higher with "
                f"probability {_shown_share(float(np.mean(x > level)), x.size)}"
            )
        return "\n".join(lines)

    __repr__ = __str__


def _shown_share(share: float, n: int) -> str:
    """Print a share of draws; none or all of them are no certainty."""
    if share == 0:
        return f"below {1 / n:.2g}"
    return f"above {1 - 1 / n:.5g}" if share == 1 else f"{share:.3f}"


@dataclass(frozen=True)
class Rank:
    """The place of one group among all, from the highest value, 1, on: its mean, an interval, and two chances."""

    mean: float
    low: int
    high: int
    highest: float
    lowest: float


class GroupPosteriors(Posteriors):
    """The posteriors of all groups of a table, by the names of the groups.

    Groups of two columns go by both labels: ``posterior["north, f"]``, or ``posterior["north", "f"]``. Draws of two
    groups can be compared one by one: without pooling the groups are independent of each other given the release, and
    with pooling draw k of every group has draw k of what the groups have in common, ``population``.

    Parameters
    ----------
    posteriors
        The posteriors by group, with equally many draws.
    by
        The columns that make the groups, the last one changing fastest.
    population
        Of a pooled posterior: the mean and the standard deviation of the parameter over groups.
    apart
        Of a pooled posterior: what each group says for itself, to show how far it was drawn towards the others.
    seed
        For what is drawn when a margin is asked for.
    """

    def __init__(
        self,
        posteriors: Mapping[str, Posterior],
        *,
        by: Sequence[Labels] = (),
        about: str | None = None,
        population: Posterior | None = None,
        apart: GroupPosteriors | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(posteriors)
        self.by, self.about, self.seed = tuple(by), about, seed
        self.population, self.apart = population, apart

    def __getitem__(self, group: str | tuple[str, ...]) -> Posterior:
        name = self._name(group)
        if name not in self:
            some = ", ".join(list(self)[:_SOME])
            raise UsageError(
                f"there is no group {name!r:.60}.",
                hint=f"the groups are {some}{' …' * (len(self) > _SOME)}",
            )
        return super().__getitem__(name)

    @staticmethod
    def _name(group: str | tuple[str, ...]) -> str:
        return ", ".join(group) if isinstance(group, tuple) else group

    # -- several groups -------------------------------------------------------------------------------

    def compare(
        self, one: str | tuple[str, ...], other: str | tuple[str, ...], *, by: str = "difference"
    ) -> Comparison:
        """Return the posterior of the difference between two groups, or of their ratio, for every parameter.

        Printed, it says how probable it is that the first is higher, and so does its ``probability_higher``.
        """
        one_of(by, "by", ("difference", "ratio"))
        a, b = self[one], self[other]
        combine = np.subtract if by == "difference" else np.divide
        with np.errstate(all="ignore"):
            draws = {name: combine(a.draws[name], b.draws[name]) for name in a.draws}
        names = self._name(one), self._name(other)
        return Comparison(
            draws,
            a.how,
            n_chains=a.n_chains,
            labels=a.labels,
            about=f"{names[0]} {'minus' if by == 'difference' else 'over'} {names[1]}",
            one=names[0],
            other=names[1],
            by=by,
        )

    @property
    def main_parameters(self) -> tuple[str, ...]:
        """What groups are compared by where nothing is said: the first parameter, of a regression its coefficients."""
        first = next(iter(self.values()))
        main = "" if first.model is None else first.model.main_draws
        if main not in first.draws:
            return (next(iter(first.draws)),)
        return tuple(name for name in first.scalars() if name.startswith(f"{main}["))

    def parameter_named(self, parameter: str | None) -> str:
        """Return the full name of a parameter that is one number; a coefficient also goes by its term, ``"age"``."""
        every = next(iter(self.values())).scalars()
        if parameter is None:
            return self.main_parameters[0]
        name = text(parameter, "parameter")
        ending = [full for full in self.main_parameters if full.endswith(f"[{name}]")]
        if name in every or not ending:
            return name
        return ending[0]

    def stacked(self, parameter: str | None = None) -> np.ndarray:
        """Return the draws of a parameter that is one number, groups × draws; of the first one by default.

        Of a regression the first coefficient, or a coefficient by its term: ``stacked("age")``.
        """
        name, known = self.parameter_named(parameter), list(next(iter(self.values())).scalars())
        if name not in known:
            raise UsageError(
                f"{name!r:.60} is no parameter that is one number.",
                hint=f"there are {', '.join(known[:_SOME])}{' …' * (len(known) > _SOME)}",
            )
        every = (one.draws if name in one.draws else one.scalars() for one in self.values())
        return np.stack([each[name] for each in every])

    def center(self, parameter: str | None = None) -> np.ndarray | None:
        """Return draws of the mean over groups of a pooled parameter, None if it is not pooled."""
        if self.population is None:
            return None
        every, name = self.population.scalars(), self.parameter_named(parameter)
        return every.get(name, every.get("mean") if name == self.main_parameters[0] else None)

    def probability_highest(self, parameter: str | None = None) -> dict[str, float]:
        """Return the probability that each group has the highest value of a parameter that is one number."""
        every = self.stacked(parameter)
        wins = np.bincount(every.argmax(axis=0), minlength=len(self)) / every.shape[1]
        return dict(zip(self, wins.tolist(), strict=True))

    def ranks(self, parameter: str | None = None, prob: float = 0.95) -> dict[str, Rank]:
        """Return where each group stands among all, from the highest value of a parameter on, with an interval."""
        every = self.stacked(parameter)
        place = np.empty(every.shape, dtype=np.int32)
        order = (-every).argsort(axis=0, kind="stable")
        np.put_along_axis(place, order, np.arange(1, len(self) + 1, dtype=np.int32)[:, None], axis=0)
        low, high = np.quantile(place, tails(prob), axis=1, method="nearest")
        shares = [(place == end).mean(axis=1) for end in (1, len(self))]
        return {
            name: Rank(float(mean), int(a), int(b), float(first), float(last))
            for name, mean, a, b, first, last in zip(
                self, place.mean(axis=1), low, high, *shares, strict=True
            )
        }

    # -- the table itself, and its margins ------------------------------------------------------------

    @property
    def table(self) -> GroupPosteriors:
        """The latent totals of the very table that was released, group by group; they add up draw by draw."""
        own = {name: one.table for name, one in self.items() if one.table is not None}
        if len(own) < len(self):
            raise UsageError("the engine that read these groups keeps no totals of the table itself.")
        return GroupPosteriors(own, by=self.by, about=self.about, seed=self.seed)

    def margin(self, *columns: str) -> GroupPosteriors:
        """Return the posteriors of the groups that some of the columns make, over all labels of the others.

        Totals of the table add up draw by draw, so every margin agrees with every other. A mean or a share of the
        population is the average of those of its groups, weighted by how large the groups are in the population; that
        is drawn once for all margins. Without a column: the whole table, as one group.
        """
        from discreet.inference.margins import margin_of

        return margin_of(self, columns)

    # -- summaries and pictures -----------------------------------------------------------------------

    def together(self) -> Posterior:
        """Return one posterior with all draws, named by group and parameter, such as ``north.p``."""
        every = dict(self) if self.population is None else {"population": self.population, **self}
        first = next(iter(self.values()))
        draws, labels = draws_by_name(every)
        return Posterior(
            draws,
            self._diagnosed,
            n_chains=first.n_chains,
            labels=labels,
            about=self.about or ", ".join(list(self)[:_SOME]),
            question=first.question,
            units=first.units,
        )

    def _diagnosed(self) -> Diagnostics:
        """Say how the groups were read; of warnings that begin alike, but for numbers, the first, and how many."""
        every = {name: one.diagnostics for name, one in self.items()}
        first = next(iter(every.values()))
        alike: dict[str, list[tuple[str, str]]] = {}
        for name, each in every.items():
            for said in each.warnings:
                alike.setdefault(_kind(said), []).append((name, said))
        warnings = {kind: _joined(found, len(self)) for kind, found in alike.items()}
        heads = Counter(_kind(each.headline) for each in every.values() if each.headline).most_common(1)
        return replace(
            first,
            headline=warnings[heads[0][0]] if heads else "",
            approximation="; ".join(dict.fromkeys(each.approximation for each in every.values())),
            engine=" and ".join(dict.fromkeys(each.engine for each in every.values())),
            warnings=tuple(warnings.values()),
            independent=all(each.independent for each in every.values()),
            chains={},
        )

    def to_pandas(self) -> DataFrame:
        """Return the draws as a tidy data frame: one row for each scalar of each draw of each group.

        Columns are ``group``, the columns that make the groups if they are two or more, ``parameter``, ``chain``,
        ``draw`` and ``value``.
        """
        from discreet.inference.exports import tidy_groups

        return tidy_groups(self)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw a forest plot: an interval for each group; pooled, also what each group says for itself.

        Of regressions it has a panel for each coefficient.

        ``options`` go to :func:`discreet.reporting.plot_groups`. Groups of which no parameter is one number are drawn
        by the densities of all of them.
        """
        from discreet.reporting.forest import plot_groups

        first = next(iter(self.values()))
        if "parameter" not in options and self.main_parameters[0] not in first.scalars():
            return super().plot(path, **options)
        return plot_groups(self, path=path, **options)

    @cached_property
    def shrinkage(self) -> dict[str, float]:
        """How far pooling drew each group's mean towards that of the population: 0 not at all, 1 all the way."""
        return self.shrinkage_of(None)

    def shrinkage_of(self, parameter: str | None) -> dict[str, float]:
        """Return the same for a parameter: of a regression ``"age"``, its first coefficient by default."""
        drawn_to = self.center(parameter)
        if drawn_to is None or self.apart is None:
            raise UsageError("only a pooled posterior has shrinkage.", hint="dc.infer(release, pool=True)")
        center = float(np.median(drawn_to))
        pooled, alone = (np.median(one.stacked(parameter), axis=1) for one in (self, self.apart))
        with np.errstate(all="ignore"):
            drawn = 1 - (pooled - center) / (alone - center)
        return {name: float(s) if math.isfinite(s) else math.nan for name, s in zip(self, drawn, strict=True)}

    def _repr_html_(self) -> str:
        return self.summary().to_html(self.about)

    def __repr__(self) -> str:
        parameter = self.main_parameters[0]
        return f"<{len(self):,} groups: {parameter} of {', '.join(list(self)[:_SOME])}{' …' * (len(self) > _SOME)}>"


def _joined(found: Sequence[tuple[str, str]], n_groups: int) -> str:
    """Return one sentence for a warning about one group, or about several."""
    names = list(dict.fromkeys(name for name, _ in found))
    if len(names) == 1:
        return f"{names[0]}: {found[0][1]}"
    some = ", ".join(names[:_FEW]) + " …" * (len(names) > _FEW)
    how_many = f"{len(names):,} of {n_groups:,}"
    if len(names) == n_groups:
        how_many = "both" if n_groups == 2 else f"all {n_groups:,}"
    return f"{how_many} groups ({some}), such as {names[0]}: {found[0][1]}"


def _kind(said: str) -> str:
    """Return how a warning begins, without its numbers."""
    return _NUMBER.sub("#", said).partition(":")[0]

"""Posteriors of several releases, by name, with one summary and one picture."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import one_of, text
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior
from discreet.inference.summary import Summary
from discreet.inference.units import UNNAMED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Posteriors(dict[str, Posterior]):
    """A dictionary of posteriors by the names of their releases, as :func:`discreet.infer` gives for several."""

    def together(self) -> Posterior:
        """Return one posterior with all draws, named by release and parameter, such as ``age.mean``.

        Releases are read one by one, so draws of different releases say nothing about how they hang together.
        """
        if len({(one.n_draws, one.n_chains) for one in self.values()}) > 1:
            raise UsageError(
                "these posteriors have different numbers of draws, as released samples do.",
                hint="look at them one by one",
            )
        draws = {f"{name}.{key}": x for name, one in self.items() for key, x in one.draws.items()}
        labels = {
            f"{name}.{key}": words
            for name, one in self.items()
            for key, words in (one.labels or {}).items()
            if key in one.draws
        }
        every = {name: one.diagnostics for name, one in self.items()}
        how = Diagnostics(
            " and ".join(dict.fromkeys(each.engine for each in every.values())),
            "; ".join(dict.fromkeys(each.approximation_in_words for each in every.values())),
            "; ".join(f"{name}: {each.reason}" for name, each in every.items()),
            tuple(f"{name}: {said}" for name, each in every.items() for said in each.warnings),
            independent=all(each.independent for each in every.values()),
        )
        chains = next((one.n_chains for one in self.values()), 1)
        questions = {one.question for one in self.values()}
        units = {one.units for one in self.values()}
        return Posterior(
            draws,
            how,
            n_chains=chains,
            labels=labels,
            about=", ".join(self),
            question=questions.pop() if len(questions) == 1 else None,
            units=units.pop() if len(units) == 1 else UNNAMED,
        )

    @property
    def diagnostics(self) -> Diagnostics:
        """How all of them were drawn, with the warnings of each under its name."""
        return self.together().diagnostics

    def summary(self, prob: float = 0.95) -> Summary:
        """Return one table with the rows of all posteriors."""
        return self.together().summary(prob)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw the densities of all posteriors; also write them to ``path`` if one is given."""
        return self.together().plot(path, **options)

    def _repr_html_(self) -> str:
        return self.summary().to_html(", ".join(self))


class GroupPosteriors(Posteriors):
    """The posteriors of all groups of a table, by the names of the groups.

    Groups of two columns go by both labels: ``posterior["north, f"]``, or ``posterior["north", "f"]``. What the groups'
    parameters are is independent of each other given the release, so draws of two groups can be compared one by one.
    """

    def __getitem__(self, group: str | tuple[str, ...]) -> Posterior:
        name = ", ".join(group) if isinstance(group, tuple) else group
        if name not in self:
            some = ", ".join(list(self)[:8])
            raise UsageError(
                f"there is no group {name!r:.60}.", hint=f"the groups are {some}{' …' * (len(self) > 8)}"
            )
        return super().__getitem__(name)

    def compare(
        self, one: str | tuple[str, ...], other: str | tuple[str, ...], *, by: str = "difference"
    ) -> Posterior:
        """Return the posterior of the difference between two groups, or of their ratio, for every parameter.

        ``(compare("north", "south").draws["p"] > 0).mean()`` is the probability that north is higher.
        """
        one_of(by, "by", ("difference", "ratio"))
        a, b = self[one], self[other]
        combine = np.subtract if by == "difference" else np.divide
        with np.errstate(all="ignore"):
            draws = {name: combine(a.draws[name], b.draws[name]) for name in a.draws}
        sign = "minus" if by == "difference" else "over"
        return Posterior(
            draws, a.diagnostics, n_chains=a.n_chains, labels=a.labels, about=f"{one} {sign} {other}"
        )

    def probability_highest(self, parameter: str | None = None) -> dict[str, float]:
        """Return the probability that each group has the highest value of a parameter that is one number."""
        first = next(iter(self.values()))
        name = next(iter(first.draws)) if parameter is None else text(parameter, "parameter")
        if name not in first.draws or first.draws[name].ndim != 1:
            raise UsageError(
                f"{name!r:.60} is no parameter that is one number.",
                hint=f"the draws are {', '.join(first.draws)}",
            )
        every = np.stack([one.draws[name] for one in self.values()])
        wins = np.bincount(every.argmax(axis=0), minlength=len(self)) / every.shape[1]
        return dict(zip(self, wins.tolist(), strict=True))

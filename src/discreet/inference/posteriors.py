"""Posteriors of several releases, by name, with one summary and one picture."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

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
        draws, labels = draws_by_name(self)
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


def draws_by_name(posteriors: Mapping[str, Posterior]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the draws of several posteriors as those of one, named such as ``age.mean``, and their labels."""
    draws = {f"{name}.{key}": x for name, one in posteriors.items() for key, x in one.draws.items()}
    labels = {
        f"{name}.{key}": words
        for name, one in posteriors.items()
        for key, words in (one.labels or {}).items()
        if key in one.draws
    }
    return draws, labels

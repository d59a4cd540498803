"""What a hidden Markov model expects of the time steps after the last declared one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import generator, one_of, probability, whole
from discreet.extras import needed_for
from discreet.inference.posterior import Posterior
from discreet.inference.summary import tails
from discreet.models.hidden_markov import HiddenMarkov

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

# Steps, and entries of a cell, that a forecast may have; numbers that it may hold, 0.8 GB.
_MOST_STEPS, _MOST_ENTRIES, _MOST_NUMBERS = 1000, 10**9, 10**8


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """States, shares of labels and counts of the steps ahead, one path for each draw of the posterior.

    Parameters
    ----------
    posterior
        What it was made from.
    probabilities
        The probability of each state: sequence, step, state.
    paths
        Drawn states, numbered from 1: draw, sequence, step.
    counts
        Drawn counts by feature, if a number of entries was given: draw, sequence, step, label.
    entries
        That number.
    """

    posterior: Posterior
    probabilities: np.ndarray
    paths: np.ndarray
    counts: Mapping[str, np.ndarray] = field(default_factory=dict)
    entries: int | None = None

    @property
    def model(self) -> HiddenMarkov:
        """The model behind it."""
        return _model_of(self.posterior)

    @property
    def ahead(self) -> int:
        """How many steps."""
        return self.paths.shape[2]

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the steps: "+1" is the one after the last declared time."""
        return tuple(f"+{step + 1}" for step in range(self.ahead))

    def shares(self, feature: str) -> np.ndarray:
        """Return draws of the probability of each of a feature's labels: draw, sequence, step, label."""
        p = self.posterior.draws[self._named(feature)]
        return p[np.arange(len(p))[:, None, None], self.paths - 1]

    def interval(self, feature: str, prob: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of intervals for counts (shares, if no number of entries was given): sequence, step, label.

        An interval holds what will be with this probability, the state of each step included.
        """
        drawn = self.shares(feature) if self.entries is None else self.counts[self._named(feature)]
        low, high = np.quantile(drawn, tails(probability(prob, "prob")), axis=0)
        return low, high

    def _named(self, feature: str) -> str:
        return one_of(feature, "feature", tuple(each.name for each in self.model.features))

    def to_pandas(self, prob: float = 0.95) -> DataFrame:
        """Return a tidy data frame: one row for each sequence, step and label, or state."""
        with needed_for("to_pandas"):
            import pandas as pd

        return pd.DataFrame(self.rows(prob))

    def rows(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return one dictionary for each sequence, step and state, then for each of their labels."""
        found = []
        for s, sequence in enumerate(self.model.sequence_labels):
            for t, step in enumerate(self.steps):
                place = {"sequence": sequence, "step": step}
                found += [
                    {**place, "of": "state", "label": str(k + 1), "mean": float(p), "low": None, "high": None}
                    for k, p in enumerate(self.probabilities[s, t])
                ]
        for feature in self.model.features:
            drawn = self.shares(feature.name) if self.entries is None else self.counts[feature.name]
            mean, (low, high) = drawn.mean(axis=0), self.interval(feature.name, prob)
            for (s, t, j), value in np.ndenumerate(mean):
                ends = {"low": float(low[s, t, j]), "high": float(high[s, t, j])}
                place = {"sequence": self.model.sequence_labels[s], "step": self.steps[t]}
                label = feature.labels[j]
                found.append({**place, "of": feature.name, "label": label, "mean": float(value), **ends})
        return found

    def to_dict(self, prob: float = 0.95) -> dict[str, Any]:
        """Return plain numbers and strings."""
        numbers = {"ahead": self.ahead, "entries": self.entries, "prob": prob}
        return {**numbers, "n_draws": len(self.paths), "rows": self.rows(prob)}

    def summary(self, prob: float = 0.95) -> str:
        """Return a table of states, and of labels with their intervals, as text."""
        what = "share of entries" if self.entries is None else f"entries of {self.entries}"
        lines = [f"{'':<34} {'mean':>8}   {100 * prob:.4g}% interval"]
        for row in self.rows(prob):
            name = f"{row['sequence']} {row['step']} {row['of']} {row['label']}"
            if row["low"] is None:
                lines.append(f"{name:<34.34} {row['mean']:>8.3f}")
                continue
            form = ".3f" if self.entries is None else ".0f"
            ends = f"{row['low']:{form}} to {row['high']:{form}}"
            lines.append(f"{name:<34.34} {row['mean']:>8{form}}   {ends}")
        about = f"State: probability. Labels: {what}, the hidden state of each step included."
        return "\n".join([*lines, about])

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        sequence: str | None = None,
        prob: float = 0.95,
        title: str | None = None,
    ) -> Figure:
        """Draw states and shares of one sequence, declared times and forecast; the first one if none is named."""
        from discreet.reporting.forecast import plot_forecast

        return plot_forecast(self, path, sequence=sequence, prob=prob, title=title)

    def __repr__(self) -> str:
        n = len(self.model.sequence_labels)
        return f"<Forecast of {self.ahead} steps of {n} sequences from {len(self.paths)} draws>"


def forecast(
    posterior: Posterior, ahead: int = 1, *, entries: int | None = None, rng: Any = None
) -> Forecast:
    """Return what is to be expected in the next steps: one path of states, and counts, for each draw."""
    model = _model_of(posterior)
    ahead = whole(ahead, "ahead", most=_MOST_STEPS)
    if entries is not None:
        entries = whole(entries, "entries", most=_MOST_ENTRIES)
    rng = generator(rng)
    draws = posterior.draws
    n_labels = sum(feature.n_labels for feature in model.features)
    size = posterior.n_draws * model.n_sequences * ahead * max(model.states, n_labels)
    whole(size, "draws times sequences times steps times labels", most=_MOST_NUMBERS)
    moves = draws["transition"][:, : model.states]
    p = (draws["states"][:, :, -1, None] == np.arange(1, model.states + 1)).astype(float)
    state = draws["states"][:, :, -1] - 1
    each = np.arange(posterior.n_draws)[:, None]
    probabilities, paths = [], []
    for _ in range(ahead):
        p = np.einsum("dsi,dij->dsj", p, moves)
        probabilities.append(p.mean(axis=0))
        # by inversion: the next state of each sequence given its drawn one
        below = np.cumsum(moves[each, state], axis=-1)
        u = rng.random((*state.shape, 1)) * below[..., -1:]
        state = (u >= below[..., :-1]).sum(axis=-1)
        paths.append(state + 1)
    found = Forecast(posterior, np.stack(probabilities, axis=1), np.stack(paths, axis=2))
    if entries is None:
        return found
    shares = {feature.name: found.shares(feature.name) for feature in model.features}
    counts = {
        name: rng.multinomial(entries, each / each.sum(axis=-1, keepdims=True))
        for name, each in shares.items()
    }
    return Forecast(posterior, found.probabilities, found.paths, counts, entries)


def _model_of(posterior: Posterior) -> HiddenMarkov:
    from discreet.inference.row_questions import model_of

    return model_of(posterior).require(HiddenMarkov, "forecasts are made by hidden Markov models")

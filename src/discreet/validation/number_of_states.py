"""How many hidden states? One release read with several numbers of them, each scored on cells that it did not see.

The noisy counts in a release do not depend on the number of states, so reading them again costs no budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath, generator, listed, whole
from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.inference.analyst import infer
from discreet.models import HiddenMarkov

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The share of cells that is held out where the model declares none, and how many at least.
_SHARE, _LEAST = 0.1, 2
_MOST_NUMBERS = 20


@dataclass(frozen=True, repr=False)
class StateComparison:
    """Log scores of held-out noisy counts, for each number of states.

    Parameters
    ----------
    states
        Numbers of states, as asked.
    scores
        Log score of every held-out cell: numbers of states by cells. Higher is better; only differences between
        numbers of states mean something.
    cells
        Sequence and time of the cells.
    warnings
        What readings warned of.
    """

    states: tuple[int, ...]
    scores: np.ndarray = field(compare=False)
    cells: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()

    @property
    def means(self) -> np.ndarray:
        """The mean score of a cell, for each number of states."""
        return self.scores.mean(axis=1)

    @property
    def best(self) -> int:
        """The number of states with the highest mean score."""
        return self.states[int(np.argmax(self.means))]

    @property
    def chosen(self) -> int:
        """The smallest number of states whose score is within a standard error of the best one's."""
        lags, errors = self.lags()
        return min(k for k, lag, error in zip(self.states, lags, errors, strict=True) if lag <= error)

    def lags(self) -> tuple[np.ndarray, np.ndarray]:
        """Return how far each falls short of the best, a cell, and the standard error of that difference."""
        apart = self.scores[int(np.argmax(self.means))] - self.scores
        return apart.mean(axis=1), apart.std(axis=1, ddof=1) / np.sqrt(apart.shape[1])

    def summary(self) -> str:
        """Return a table as text."""
        lags, errors = self.lags()
        lines = ["states   score of a cell   short of the best   standard error"]
        for k, mean, lag, error in zip(self.states, self.means, lags, errors, strict=True):
            lines.append(f"{k:>6}   {mean:>15.3f}   {lag:>17.3f}   {error:>14.3f}")
        lines.append(
            f"{len(self.cells)} held-out cells. The smallest number of states within a standard error of the best: "
            f"{self.chosen}."
        )
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        lags, errors = self.lags()
        rows = [
            {"states": k, "score": float(mean), "short_of_best": float(lag), "standard_error": float(error)}
            for k, mean, lag, error in zip(self.states, self.means, lags, errors, strict=True)
        ]
        cells = [list(cell) for cell in self.cells]
        found = {"comparison": rows, "best": self.best, "chosen": self.chosen}
        return {**found, "held_out": cells, "warnings": list(self.warnings)}

    def plot(self, path: FilePath | None = None) -> Figure:
        """Draw how far each number of states falls short of the best, with standard errors."""
        from discreet.reporting.states import plot_state_numbers

        return plot_state_numbers(self, path)

    def __repr__(self) -> str:
        return f"<{', '.join(map(str, self.states))} states compared: best {self.best}, chosen {self.chosen}>"


def compare_states(
    release: Release | str | Path,
    states: Sequence[int] = (1, 2, 3, 4),
    *,
    held_out: Any = None,
    prior: Any = None,
    draws: int = 400,
    chains: int = 4,
    rng: Any = None,
) -> StateComparison:
    """Return how well hidden Markov models with several numbers of states predict noisy counts that they did not see.

    Each reads the release without the held-out cells and is scored by the density of those cells' noisy counts, in
    which the public noise has its part. All of it reads the release alone, so it costs no budget.

    Parameters
    ----------
    release
        Noisy counts of a :class:`~discreet.models.HiddenMarkov`, or their file.
    states
        Numbers of states, 20 of them at most.
    held_out
        Cells to hold out, as the model takes them: times, or times by sequence. Without it those that the model
        declares and, if it declares none, a tenth of all cells at random.
    prior, draws, chains, rng
        As for :func:`discreet.infer`.

    References
    ----------
    Foulds et al. (2016), section 5 and Figure 6, where held-out cells are true counts.
    """
    rng = generator(rng)
    release = release if isinstance(release, Release) else Release.load(release)
    model = release.model.require(
        HiddenMarkov, "numbers of hidden states are compared in hidden Markov models"
    )
    if release.samples is not None:
        raise UsageError("this release holds samples, and held-out cells are scored on noisy counts.")
    asked = [
        whole(one, "states") for one in listed(states, "states", "numbers of states", most=_MOST_NUMBERS)
    ]
    if not asked:
        raise UsageError("states must hold a number of states.", hint="for example states=[1, 2, 3]")
    if held_out is None and not model.held_out:
        held_out = _some_cells(model, rng)
    models = [model.revised(states=k, held_out=held_out) for k in asked]
    if len(models[0].held_out) < _LEAST:
        raise UsageError(f"hold out {_LEAST} cells or more: one has no standard error.")
    from discreet.inference.models.hidden_markov.held_out import reading_scores

    cells = np.array([s * model.time.n_labels + t for s, t in models[0].held_out])
    scores, warnings = [], []
    for one in models:
        reading = replace(release, model=one)
        posterior = infer(reading, prior=prior, draws=draws, chains=chains, rng=rng)
        scores.append(reading_scores(reading, posterior, cells))
        warnings += [
            f"with {one.states} state{'s' * (one.states > 1)}, {text}"
            for text in posterior.diagnostics.warnings
            if text.startswith("chains")
        ]
    places = tuple((model.sequence_labels[s], model.time.labels[t]) for s, t in models[0].held_out)
    return StateComparison(tuple(asked), np.stack(scores), places, tuple(warnings))


def _some_cells(model: HiddenMarkov, rng: np.random.Generator) -> dict[str, list[str]]:
    """Choose a tenth of all cells at random, by sequence."""
    length = model.time.n_labels
    n_cells = model.n_sequences * length
    size = min(max(round(_SHARE * n_cells), _LEAST), n_cells - 1)
    found: dict[str, list[str]] = {}
    for cell in np.sort(rng.choice(n_cells, size, replace=False)):
        found.setdefault(model.sequence_labels[cell // length], []).append(model.time.labels[cell % length])
    return found

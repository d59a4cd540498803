"""Markov chains of which a record is a whole trajectory: one row, with the state at every time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arguments import listed, shown
from discreet.domain.columns import Labels, are_texts
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.models.base import Draws
from discreet.models.markov import INITIAL, TRANSITION, ChainModel

_MOST_TIMES = 10_000
_PARTS = {"times", "states"}
_EXAMPLE = 'for example dc.models.Trajectories(["january", "february", "march"], ["free", "outbreak"])'


@dataclass(frozen=True, init=False)
class Trajectories(ChainModel):
    """A Markov chain over a finite set of states; every row of the table is one trajectory of it.

    Parameters
    ----------
    times
        The columns that hold the state at each time, in order; at least two.
    states
        The states, which all of these columns share: labels, or how many.

    Notes
    -----
    Draws: ``initial``, the probabilities of the state at the first time, and ``transition`` (from, to). Released by
    :class:`~discreet.mechanisms.TablePosterior`. Where a row is one *entry* of a sequence, and an entry is what is
    protected, the model is :class:`~discreet.models.markov.MarkovChain`.

    Privacy
    -------
    A record is a row, and so a whole trajectory of T states. It has T factors, one for the first state and one for each
    step. Replaced by another trajectory, it changes the log-likelihood by T terms log theta less T others, each between
    log least and log(1 - (m - 1) least) for m states: over a range of 2 T log((1 - (m - 1) least) / least). This is
    attained, by a trajectory that stays in one state against one that stays in another. The constant that Dimitrakakis
    et al. print for Markov chains, 4 log(1 / least), is for one entry.

    References
    ----------
    Dimitrakakis, Nelson, Zhang, Mitrokotsa and Rubinstein (2017), section 5.6 and lemma 24.
    """

    name: ClassVar[str] = "trajectories"
    columns: tuple[Labels, ...]  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, times: Sequence[str], states: Any) -> None:
        names = listed(times, "times", "the columns with the state at each time, in order", most=_MOST_TIMES)
        if len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise UsageError(
                f"times must be at least two names of columns, got {shown(times)}.", hint=_EXAMPLE
            )
        if len(set(names)) < len(names):
            raise UsageError("a column is named twice among the times.", hint=_EXAMPLE)
        columns = tuple(Labels(name, states) for name in names)
        if columns[0].n_labels < 2:
            raise UsageError("states must be at least two.", hint=_EXAMPLE)
        object.__setattr__(self, "columns", columns)

    @property
    def states(self) -> tuple[str, ...]:
        """The states, in the order of the draws."""
        return self.columns[0].labels

    @property
    def state(self) -> Labels:
        """The column of the first time, whose states all have."""
        return self.columns[0]

    def record_range(self, least: Fraction, simplex_range: Callable[[int, Fraction], Fraction]) -> Fraction:
        """Return the range of the log-likelihood when one trajectory is replaced: that of one label for each time."""
        return len(self.columns) * simplex_range(len(self.states), least)

    def counts(self, codes: np.ndarray) -> dict[str, np.ndarray]:
        """Count first states and steps of complete trajectories."""
        k, path = len(self.states), np.asarray(codes, dtype=np.int64)
        steps = np.bincount((path[:, :-1] * k + path[:, 1:]).ravel(), minlength=k * k)
        return {INITIAL: np.bincount(path[:, 0], minlength=k), TRANSITION: steps.reshape(k, k)}

    def assumptions(self, domain: Domain) -> list[str]:
        whole = "a record is a whole trajectory, the states at all of these times together"
        return [*super().assumptions(domain), whole]

    def constants(self) -> dict[str, Any]:
        return {"times": list(self.column_names), "states": list(self.states)}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if set(constants) != _PARTS or not all(isinstance(constants[part], list) for part in _PARTS):
            raise ValueError("trajectories have times and states")
        if not are_texts(constants["states"]):
            raise ValueError("a state is no text")
        return cls(constants["times"], constants["states"])

    def row_log_density(
        self, draws: Draws, codes: np.ndarray, values: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the log-probability of every row for every draw; states that are missing are summed over."""
        k, path = len(self.states), np.asarray(codes)
        with np.errstate(divide="ignore"):
            moves = np.log(draws[TRANSITION])
            # where a state is known, all others are impossible
            known = np.log(np.vstack([np.eye(k), np.ones(k)]))
            reached = np.log(draws[INITIAL])[:, None, :] + known[path[:, 0]]
            for column in path.T[1:]:
                into = np.logaddexp.reduce(reached[..., None] + moves[:, None], axis=2)
                reached = into + known[column]
        return np.logaddexp.reduce(reached, axis=2)

"""A Markov chain over labels, seen in many sequences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.domain.columns import Column, Labels, decode_columns, encode_columns, only_labels, read_columns
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.models.base import AxisLabels, Model
from discreet.models.discrete import TableModel, concentration, priors_by_name
from discreet.models.layout import UNIT, Layout
from discreet.models.tables import check_cells

#: Draws: the distribution of the first state, and that of the next state given the present one.
INITIAL, TRANSITION = "initial", "transition"
# sequences times points in time that are laid out at once
_MOST_PLACES = 10**8
_EXAMPLE = (
    'dc.models.MarkovChain({"ward": ["a", "b"]}, {"month": range(1, 13)}, {"status": ["free", "outbreak"]})'
)


class ChainModel(TableModel):
    """States that follow one another: the first one has a distribution, and the next one given each."""

    @property
    @abstractmethod
    def state(self) -> Labels:
        """A column of states."""

    @property
    def draw_names(self) -> tuple[str, ...]:
        return (INITIAL, TRANSITION)

    def axis_labels(self, columns: Sequence[str] = ()) -> AxisLabels:
        """Return the labels along each axis of each draw, for tables and plots."""
        return {INITIAL: (self.state.labels,), TRANSITION: (self.state.labels, self.state.labels)}

    def row_shapes(self) -> dict[str, tuple[int, ...]]:
        k = self.state.n_labels
        return {INITIAL: (k,), TRANSITION: (k, k)}

    def concentrations(self, prior: Any = None) -> dict[str, np.ndarray]:
        """Return the Dirichlet parameters of the first state and of every row.

        ``prior`` is one positive number (1 by default), or a dictionary with a number, or one for each state, for
        ``initial`` and ``transition``.
        """
        given = priors_by_name(prior, self.draw_names, "a chain of states has initial and transition")
        return {name: concentration(one, self.state) for name, one in given.items()}


@dataclass(frozen=True)
class MarkovChain(ChainModel):
    """States that follow one another in time, in several sequences.

    A record is one row: in this sequence, at this time, the state was that.

    Parameters
    ----------
    sequence, time, state
        A column each, declared by name with its labels. The labels of ``time`` are in order, and a step is from one of
        them to the next.

    Notes
    -----
    Parameters: ``initial``, the probabilities of the state at the first time, and ``transition``, a row for each state
    with the probabilities of the next one; each row has a Dirichlet prior. Released: how often each state was first,
    and how often each followed each.

    A place, which is a sequence at a time, holds a state if exactly one record puts a declared state there. A step is
    counted if both its places hold one. So a record counts at most twice: in the step that leads to its place (or as a
    first state) and in the step that leaves it.

    References
    ----------
    Dimitrakakis, Nelson, Zhang, Mitrokotsa and Rubinstein (2017), section 5.6, whose constant for a Markov model is for
    one entry of one sequence, as here; a whole sequence of T entries is T times as much.
    """

    name: ClassVar[str] = "markov_chain"
    no_unit: ClassVar[str] = (
        "a record is one entry of a sequence, and entries of one person lie in several steps of several sequences"
    )
    summary: ClassVar[str] = "transitions"
    engines: ClassVar[str] = "markov_chain"
    unit_rules = Model.unit_rules  # pyright: ignore[reportIncompatibleMethodOverride]
    columns: tuple[Column, ...]

    def __init__(self, sequence: Any, time: Any, state: Any) -> None:
        declared: list[Column] = []
        for what, given in {"sequence": sequence, "time": time, "state": state}.items():
            if isinstance(given, Labels):
                declared.append(given)
            elif isinstance(given, Mapping) and len(given) == 1:
                declared += read_columns(_listed(given), least_labels=1)
            else:
                raise UsageError(
                    f"{what} must be one column with its labels, by name.", hint=f"for example {_EXAMPLE}"
                )
        # one sequence, or one point in time, is a chain as well; one state is none
        columns = only_labels(read_columns(declared, least_labels=1), "a Markov chain")
        read_columns(columns[2:])
        if columns[0].n_labels * columns[1].n_labels > _MOST_PLACES:
            raise UsageError(f"a Markov chain has at most {_MOST_PLACES:,} sequences times points in time.")
        object.__setattr__(self, "columns", columns)

    @property
    def state(self) -> Labels:
        """The column of states."""
        return self.label_columns[2]

    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        """Return the released vector: first states, then steps, row after row.

        A record that is added fills a place or, if that holds a state already, empties it: at most two counts change,
        all up or all down. Replaced, it leaves one place and comes to another: at most four changes. They can all be in
        one cell (a state that stays the same), so the L2 sensitivity is as large as the L1 sensitivity.
        """
        states, k = self.state.labels, self.state.n_labels
        check_cells(self.name, k + k * k)
        names = [f"first {one}" for one in states] + [f"{one} -> {two}" for one in states for two in states]
        changed = Fraction(4 if neighbors == "replace" else 2)
        size = k + k * k
        return Layout(tuple(names), (), (UNIT,) * size, (UNIT,) * size, None, None, changed, changed)

    def record_range(self, least: Fraction, simplex_range: Callable[[int, Fraction], Fraction]) -> Fraction:
        """Return the range of the log-likelihood when one entry is replaced: twice that of one label.

        Four counts change by one, at most (:meth:`layout`), and so the log-likelihood by four terms log theta, each
        between log least and log(1 - (k - 1) least). The range of one label is two such terms. It is attained: two
        steps that stay in one state against two that stay in another.
        """
        return 2 * simplex_range(self.state.n_labels, least)

    def counts(self, codes: np.ndarray) -> dict[str, np.ndarray]:
        """Count first states and steps; a place that several records claim holds no state."""
        sequences, times, _ = (column.n_labels for column in self.label_columns)
        places = codes[:, 0].astype(np.int64) * times + codes[:, 1]
        claimed = np.bincount(places, minlength=sequences * times)
        state_of = np.zeros(sequences * times, dtype=np.int64)
        state_of[places] = codes[:, 2]
        return self.steps_between(claimed == 1, state_of)

    def steps_between(self, held: np.ndarray, state_of: np.ndarray) -> dict[str, np.ndarray]:
        """Count first states and steps of places, given which of them hold a state, and that state."""
        sequences, times, states = (column.n_labels for column in self.label_columns)
        # a state beyond the last stands for an empty place
        path = np.where(held, state_of, states).reshape(sequences, times).astype(np.int64)
        first = np.bincount(path[:, 0], minlength=states + 1)[:states]
        steps = np.bincount((path[:, :-1] * (states + 1) + path[:, 1:]).ravel(), minlength=(states + 1) ** 2)
        return {INITIAL: first, TRANSITION: steps.reshape(states + 1, states + 1)[:states, :states]}

    def missing_in_words(self, neighbors: Neighbors) -> str:
        return (
            "records with missing or undeclared values were left out, and so were all records of a sequence at a time "
            "that has more than one"
        )

    def constants(self) -> dict[str, Any]:
        return {"columns": encode_columns(self.columns)}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if set(constants) != {"columns"}:
            raise ValueError("a Markov chain has columns")
        columns = decode_columns(constants["columns"], least_labels=1)
        if len(columns) != 3:
            raise ValueError("a Markov chain has three columns")
        return cls(*columns)


def _listed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Write out a range of whole numbers as labels."""
    return {name: list(map(str, one)) if isinstance(one, range) else one for name, one in given.items()}

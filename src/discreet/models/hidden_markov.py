"""Hidden Markov models of log entries: many entries in every cell of sequence and time, several labels each.

Every sequence is in one of K hidden states at each time step. An entry at that place has D labels, drawn independently
of one another given the state (naive Bayes), and of other entries. Foulds et al. (2016), section 5 and supplement E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.arguments import fill, listed, shown, whole
from discreet.domain.columns import (
    Column,
    Labels,
    are_texts,
    decode_columns,
    encode_columns,
    only_labels,
    read_columns,
)
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.models.base import AxisLabels, Draws, Model
from discreet.models.gibbs_model import GibbsModel
from discreet.models.tables import Table
from discreet.rational import exact, text

# draws that are not a feature's; a file cannot ask for a million states
_OWN_DRAWS = ("transition", "states")
_MOST_STATES = 1000
_PARTS = ("states", "chain", "time", "features", "split")
_HELD_OUT = "held_out"


@dataclass(frozen=True)
class Concentrations:
    """Symmetric Dirichlet priors: of every row of transition probabilities, and of every emission."""

    transition: float = 1.0
    emission: float = 1.0


@dataclass(frozen=True, init=False)
class HiddenMarkov(GibbsModel):
    """A hidden Markov model with K states, one sequence for each label of a column, and D labels in every entry.

    Released is one table of counts for each feature, crossed with sequence and time. What a record with a missing or
    undeclared sequence, time or label becomes is the release's ``missing`` policy.

    Parameters
    ----------
    states
        Number of hidden states.
    chain
        The column that says which sequence an entry belongs to, with its labels: ``{"region": ["north", "south"]}``.
        Left out, there is one sequence.
    time
        The column that says when, with its labels **in order**: ``{"month": ["2004-01", "2004-02"]}``.
    features
        Columns of labels: ``{"type": ["attack", "accident"], "casualties": ["no", "yes"]}``.
    split
        Shares of the privacy budget by feature, such as ``{"type": 2, "casualties": 1}``; equal if left out. Only
        their ratios matter.
    held_out
        Cells that ``infer`` does not learn from, to see how well it predicts them: times, ``["2004-12"]``, which are
        left out of every sequence, or times by sequence, ``{"north": ["2004-11", "2004-12"]}``. Their noisy counts are
        in the release like all others.

    Draws are, under the name of each feature, its probabilities (state, label); ``transition`` (from, to; the last row
    is where sequences start); and ``states`` (sequence, time), numbered from 1, the most frequent state.

    Privacy
    -------
    A record is in one cell of each of the D tables. Replaced by another, which may be in another sequence and at
    another time, it changes at most two cells of each by one: with equal shares the joint L1 sensitivity is 2 D under
    ``replace`` and D under ``add_remove``. Noise of scale 2 D / epsilon on every cell is also what giving each feature
    epsilon / D, and noise of scale 2 / (epsilon / D), comes to; unequal shares epsilon_d give scale 2 / epsilon_d, and
    epsilon is their sum (Foulds et al. 2016, supplement E.1). Labels of sequences and times are declarations: to leave
    out sequences or times because they turned out empty would read the data outside the budget. Which cells are held
    out changes nothing of what is released.
    """

    name: ClassVar[str] = "hidden_markov"
    no_unit: ClassVar[str] = (
        "a record is one entry of a log, and entries of one person lie at several times of several sequences"
    )
    engines: ClassVar[str] = "hidden_markov"
    chain_name: ClassVar[str] = "hidden_markov"
    picture: ClassVar[str] = "states"
    unit_rules = Model.unit_rules  # pyright: ignore[reportIncompatibleMethodOverride]
    states: int
    chain: Labels | None
    time: Labels
    features: tuple[Labels, ...]
    split: tuple[Fraction, ...]
    #: Cells that are not learned from: sequence and time, counted from 0.
    held_out: tuple[tuple[int, int], ...]

    def __init__(
        self,
        states: int,
        *,
        time: Mapping[str, Any] | Labels,
        features: Mapping[str, Any] | Sequence[Labels],
        chain: Mapping[str, Any] | Labels | None = None,
        split: Mapping[str, Any] | None = None,
        held_out: Mapping[str, Sequence[str]] | Sequence[str] = (),
    ) -> None:
        declared = only_labels(read_columns(features), self.name)
        fill(
            self,
            chain=None if chain is None else _one(chain, "chain"),
            time=_one(time, "time"),
            features=declared,
            split=_read_split(split, declared),
        )
        for column in read_columns(self.columns):  # no name twice
            if column.name in _OWN_DRAWS:
                raise UsageError(f"a column may not be called {column.name!r}: draws have that name.")
        _check_states(states, self.n_sequences * self.time.n_labels)
        fill(self, states=int(states), held_out=self._read_held_out(held_out))

    @property
    def columns(self) -> tuple[Column, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The declared columns: sequence, if there are several, time, features."""
        return (*self._place, *self.features)

    @property
    def optional_columns(self) -> tuple[str, ...]:
        """Rows to be weighed may lack features, which then say nothing."""
        return tuple(feature.name for feature in self.features)

    @property
    def _place(self) -> tuple[Labels, ...]:
        return (self.time,) if self.chain is None else (self.chain, self.time)

    @property
    def n_sequences(self) -> int:
        """How many sequences there are."""
        return 1 if self.chain is None else self.chain.n_labels

    @property
    def n_states(self) -> int:
        return self.states

    @property
    def emitted(self) -> tuple[Labels, ...]:
        return self.features

    def state_probabilities(self) -> dict[str, tuple[int, ...]]:
        return {"transition": (self.states + 1, self.states)}

    def state_paths(self) -> dict[str, tuple[int, ...]]:
        return {"states": (self.n_sequences, self.time.n_labels)}

    @property
    def draw_names(self) -> tuple[str, ...]:
        return (*(feature.name for feature in self.features), *_OWN_DRAWS)

    @property
    def draw_categories(self) -> dict[str, tuple[str, ...]]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return {"states": tuple(str(state + 1) for state in range(self.states))}

    def constants(self) -> dict[str, Any]:
        return {
            "states": self.states,
            "chain": None if self.chain is None else encode_columns([self.chain])[0],
            "time": encode_columns([self.time])[0],
            "features": encode_columns(self.features),
            "split": [text(share) for share in self.split],
            **({_HELD_OUT: self._held_out_labels()} if self.held_out else {}),
        }

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> HiddenMarkov:
        if set(constants) - {_HELD_OUT} != set(_PARTS):
            raise ValueError(f"a hidden Markov model has {', '.join(_PARTS)}, and nothing else")
        features = only_labels(decode_columns(constants["features"]), cls.name)
        shares = constants["split"]
        if not isinstance(shares, list) or len(shares) != len(features):
            raise ValueError("there is not one share of the budget for each feature")
        if not are_texts(shares):
            raise ValueError("a share of the budget is not a number in text")
        place = {
            part: only_labels(decode_columns([constants[part]]), cls.name)[0]
            for part in ("chain", "time")
            if part == "time" or constants[part] is not None
        }
        split = {feature.name: share for feature, share in zip(features, shares, strict=True)}
        held_out = constants.get(_HELD_OUT, {})
        if not isinstance(held_out, Mapping) or (_HELD_OUT in constants and not held_out):
            raise ValueError("cells that are held out are not given by sequence")
        return cls(constants["states"], **place, features=features, split=split, held_out=held_out)

    def revised(self, *, states: int | None = None, held_out: Any = None) -> HiddenMarkov:
        """Return the model with another number of states or other cells held out: of one release, another reading."""
        return HiddenMarkov(
            self.states if states is None else states,
            chain=self.chain,
            time=self.time,
            features=self.features,
            split={feature.name: share for feature, share in zip(self.features, self.split, strict=True)},
            held_out=self._held_out_labels() if held_out is None else held_out,
        )

    @property
    def sequence_labels(self) -> tuple[str, ...]:
        """Names of the sequences; a single one is called "all"."""
        return ("all",) if self.chain is None else self.chain.labels

    def _held_out_labels(self) -> dict[str, list[str]]:
        """Return the times that are held out of each sequence, by their labels."""
        found: dict[str, list[str]] = {}
        for sequence, time in self.held_out:
            found.setdefault(self.sequence_labels[sequence], []).append(self.time.labels[time])
        return found

    def _read_held_out(self, given: Any) -> tuple[tuple[int, int], ...]:
        """Read which cells are held out: positions of sequence and time, each cell once, in order."""
        times = given if isinstance(given, Mapping) else dict.fromkeys(self.sequence_labels, given)
        cells = set()
        for sequence in listed(times, _HELD_OUT, "times, or times by sequence"):
            if not isinstance(sequence, str) or sequence not in self.sequence_labels:
                raise UsageError(
                    f"held_out names sequence {shown(sequence)}, which is not declared.",
                    hint=f"the sequences: {', '.join(self.sequence_labels):.200}",
                )
            at = self.sequence_labels.index(sequence)
            some = listed(times[sequence], _HELD_OUT, "times, or times by sequence")
            cells |= {(at, self._position(time)) for time in some}
        if len(cells) >= self.n_sequences * self.time.n_labels:
            raise UsageError("held_out leaves no cell to learn from.")
        return tuple(sorted(cells))

    def _position(self, time: Any) -> int:
        if not isinstance(time, str) or time not in self.time.labels:
            raise UsageError(f"held_out names time {shown(time)}, which is not declared.")
        return self.time.labels.index(time)

    def tables(self) -> tuple[Table, ...]:
        # with equal shares every width is 1
        return tuple(
            Table((*self._place, feature), 1 / (len(self.features) * share))
            for feature, share in zip(self.features, self.split, strict=True)
        )

    def axis_labels(self, columns: Sequence[str] = ()) -> AxisLabels:
        """Return the labels along the axes of each draw; states are numbered from 1."""
        numbers = self.draw_categories["states"]
        return {
            **{feature.name: (numbers, feature.labels) for feature in self.features},
            "transition": ((*numbers, "start"), numbers),
            "states": (self.sequence_labels, self.time.labels),
        }

    def read_prior(self, prior: Any, domain: Domain | None = None) -> Concentrations:
        """Read ``infer(prior=...)``: None, one number for both, or by name: ``{"transition": 1, "emission": 0.5}``."""
        known = ("transition", "emission")
        if prior is None:
            return Concentrations()
        if isinstance(prior, int | float):
            prior = dict.fromkeys(known, prior)
        if not isinstance(prior, Mapping) or not set(prior) <= set(known):
            raise UsageError(
                "the prior of a hidden Markov model is the concentrations of its Dirichlet distributions.",
                hint='for example prior={"transition": 1, "emission": 0.5}',
            )
        for name, value in prior.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-3 <= value <= 1e6:
                raise UsageError(
                    f"the concentration of {name} must lie between 0.001 and 1e6, got {shown(value)}."
                )
        return Concentrations(**{name: float(value) for name, value in prior.items()})

    def later(self, codes: np.ndarray, ahead: int) -> np.ndarray:
        """Return codes in which times that are not declared lie ``ahead`` steps after the last declared one."""
        at, n_times = len(self._place) - 1, self.time.n_labels
        moved = codes.copy()
        moved[:, at] = np.where(codes[:, at] < n_times, codes[:, at], n_times + ahead)
        return moved

    def row_log_density(self, draws: Draws, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the log-probability of rows' labels given their place, draws by rows.

        ``codes`` are the positions of the labels of all columns; a missing label adds nothing. At a declared place the
        state is the draw's. Elsewhere it is summed over, with the probabilities that the draw gives it:

        * another sequence starts and moves as all do;
        * a time that is not known is any of the declared ones, each as likely as the others;
        * a code of the time that is k above the number of times (see :meth:`later`) is k steps after the last one.
        """
        at = len(self._place) - 1
        time = codes[:, at]
        chain = np.zeros_like(time) if self.chain is None else codes[:, 0]
        placed = (chain < self.n_sequences) & (time < self.time.n_labels)
        states = draws["states"][:, np.where(placed, chain, 0), np.where(placed, time, 0)] - 1
        total = self._log_emission(draws, states, codes)
        for place in np.unique(np.stack([chain, time])[:, ~placed], axis=1).T:
            rows = np.flatnonzero((chain == place[0]) & (time == place[1]))
            weights = np.log(np.maximum(self._state_probabilities(draws, *place.tolist()), 1e-300))
            summed = np.full((len(states), len(rows)), -np.inf)
            for k, weight in enumerate(weights.T):
                given = self._log_emission(draws, np.full((len(states), len(rows)), k), codes[rows])
                summed = np.logaddexp(summed, weight[:, None] + given)
            total[:, rows] = summed
        return total

    def _log_emission(self, draws: Draws, states: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the log-probability of rows' labels given the state that each draw gives each row."""
        each = np.arange(len(states))[:, None]
        total = np.zeros(states.shape)
        for feature, code in zip(self.features, codes[:, len(self._place) :].T, strict=True):
            known = np.flatnonzero(code < feature.n_labels)
            p = draws[feature.name][each, states[:, known], code[known]]
            total[:, known] += np.log(np.maximum(p, 1e-300))
        return total

    def _state_probabilities(self, draws: Draws, chain: int, time: int) -> np.ndarray:
        """Return P(state) in each draw at a place that is not declared: draws by states."""
        n_times, drawn, moves = self.time.n_labels, draws["states"], draws["transition"][:, : self.states]
        if chain < self.n_sequences:
            paths = (drawn[:, chain, :, None] == np.arange(1, self.states + 1)).astype(float)
            known = paths.swapaxes(0, 1)
        else:
            steps = [draws["transition"][:, self.states]]
            for _ in range(n_times - 1):
                steps.append(_moved(steps[-1], moves))
            known = np.stack(steps)
        if time < n_times:
            return known[time]
        if time == n_times:
            return known.mean(axis=0)
        return _moved(known[-1], np.linalg.matrix_power(moves, time - n_times))


def _moved(p: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return the distributions of states after a step, draw by draw."""
    return np.einsum("di,dij->dj", p, moves)


def _one(column: Mapping[str, Any] | Labels, part: str) -> Labels:
    """Read the declaration of one column of labels."""
    if isinstance(column, Labels):
        return column
    read = read_columns(column)
    if len(read) != 1:
        raise UsageError(
            f"{part} is one column, got {len(read)}.",
            hint=f'for example {part}={{"region": ["north", "south"]}}',
        )
    return only_labels(read, HiddenMarkov.name)[0]


def _check_states(states: Any, n_cells: int) -> None:
    if whole(states, "states") > min(n_cells, _MOST_STATES):
        most = f"{n_cells} cells of sequence and time" if n_cells < _MOST_STATES else f"{_MOST_STATES} states"
        raise UsageError(f"states={states} is more than there can be: there are at most {most}.")


def _read_split(split: Mapping[str, Any] | None, features: tuple[Labels, ...]) -> tuple[Fraction, ...]:
    """Return each feature's share of the budget, in all 1."""
    names = [feature.name for feature in features]
    if split is None:
        return (Fraction(1, len(names)),) * len(names)
    if not isinstance(split, Mapping) or set(split) != set(names):
        raise UsageError(
            "split must name every feature, and nothing else.", hint=f"the features: {', '.join(names)}"
        )
    shares = [exact(split[name], f"the share of {name!r:.60}") for name in names]
    if any(share <= 0 for share in shares):
        raise UsageError("the shares of the budget must be positive.")
    return tuple(share / sum(shares) for share in shares)

"""Utilities of decisions: being right about an event, and tables of states and actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import fill, numbers
from discreet.decisions.base import (
    Draws,
    Event,
    Utility,
    called,
    comparison,
    listed,
    read_event,
)
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.inference.posterior import Posterior


@dataclass(frozen=True)
class ZeroOne(Utility):
    """1 for being right about an event, 0 for being wrong; the responses are ``True`` and ``False``.

    The expected utility of ``True`` is the posterior probability of the event.

    Parameters
    ----------
    event
        A parameter compared with a number (``"p > 0.5"``, ``"1 <= rate < 2"``), or a function of the draws that gives
        True or False for each.
    """

    event: Event

    measure = ("chance of being right", 1)

    def __post_init__(self) -> None:
        if isinstance(self.event, str):
            comparison(self.event)

    def read(self, posterior: Posterior) -> np.ndarray:
        return read_event(self.event, posterior)

    def accept(self, candidates: Any) -> list[Any]:
        made = listed(candidates)
        if not all(isinstance(one, bool | np.bool_) for one in made):
            raise UsageError("the candidates about an event are True and False.")
        return [bool(one) for one in made]

    def score(self, read: np.ndarray, candidates: Sequence[bool]) -> np.ndarray:
        return (read == np.array(candidates)[:, None]).astype(float)

    def bounds(self, candidates: Any) -> tuple[float, float]:
        return 0.0, 1.0

    def responses(self) -> tuple[bool, bool]:
        return True, False

    def __str__(self) -> str:
        return f"whether {called(self.event, 'an event holds')}"


@dataclass(frozen=True, eq=False)
class DecisionTable(Utility):
    """What each action is worth in each state of the world; the responses are the actions.

    Parameters
    ----------
    states
        The states by name, each an event as for :class:`ZeroOne`; every draw must be in exactly one. Or a function of
        the draws that gives the number of the state, from 0 on, for each.
    actions
        Names of the actions.
    table
        A row for each state, a column for each action.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Posterior
    >>> from discreet.inference import Diagnostics
    >>> posterior = Posterior({"p": np.array([0.05, 0.2, 0.3])}, Diagnostics("exact", independent=True))
    >>> screening = DecisionTable({"rare": "p < 0.1", "common": "p >= 0.1"}, ["wait", "screen"], [[1, 0.5], [0, 0.9]])
    >>> posterior.respond(screening).candidate
    'screen'
    """

    states: Mapping[str, Event] | Callable[[Draws], Any]
    actions: Sequence[Any]
    table: Any
    _payoffs: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        actions = tuple(listed(self.actions))
        try:
            repeated = any(action in actions[:place] for place, action in enumerate(actions))
        except Exception:  # whatever a caller's object raises
            raise UsageError("actions must be names that can be compared.") from None
        if repeated:
            raise UsageError("each action must be named once.")
        try:
            payoffs = numbers(self.table, "table", finite=False).copy()
        except UsageError:
            raise UsageError("the decision table must hold numbers, in rows of equal length.") from None
        if isinstance(self.states, Mapping):
            for event in self.states.values():
                if isinstance(event, str):
                    comparison(event)
        elif not callable(self.states):
            raise UsageError("states must be events by name, or a function of the draws.")
        rows = len(self.states) if isinstance(self.states, Mapping) else len(payoffs) if payoffs.ndim else 0
        if not rows or payoffs.shape != (rows, len(actions)):
            raise UsageError(
                "the decision table needs a row for each state and a column for each action, "
                f"got shape {payoffs.shape} for {len(actions)} actions"
                + (f" and {rows} states." if isinstance(self.states, Mapping) else ".")
            )
        if not np.isfinite(payoffs).all():
            raise UsageError("the decision table must hold finite numbers.")
        payoffs.flags.writeable = False
        fill(self, actions=actions, _payoffs=payoffs)

    def read(self, posterior: Posterior) -> np.ndarray:
        n_states = len(self._payoffs)
        if isinstance(self.states, Mapping):
            held = np.stack([read_event(event, posterior) for event in self.states.values()])
            astray = int((held.sum(axis=0) != 1).sum())
            if astray:
                raise UsageError(
                    f"{astray} of the {posterior.n_draws} draws are in no state or in several.",
                    hint="every value of the parameters must be in exactly one state",
                )
            return held.argmax(axis=0)
        numbers = np.asarray(self.states(posterior.draws))
        whole = numbers.shape == (posterior.n_draws,) and np.issubdtype(numbers.dtype, np.integer)
        if not whole or numbers.min() < 0 or numbers.max() >= n_states:
            raise UsageError(
                f"states must give a whole number from 0 to {n_states - 1} for each of the "
                f"{posterior.n_draws} draws."
            )
        return numbers

    def accept(self, candidates: Any) -> list[Any]:
        made = listed(candidates)
        unknown = [one for one in made if one not in self.actions]
        if unknown:
            raise UsageError(
                f"the decision table has no action {unknown[0]!r}.",
                hint=f"choose from {', '.join(map(str, self.actions))}",
            )
        return made

    def score(self, read: np.ndarray, candidates: Sequence[Any]) -> np.ndarray:
        columns = [self.actions.index(one) for one in candidates]
        return self._payoffs.T[columns][:, read]

    def bounds(self, candidates: Sequence[Any]) -> tuple[float, float]:
        offered = self._payoffs[:, [self.actions.index(one) for one in candidates]]
        return float(offered.min()), float(offered.max())

    def responses(self) -> Sequence[Any]:
        return list(self.actions)

    def __str__(self) -> str:
        return f"decision among {', '.join(map(str, self.actions))}"

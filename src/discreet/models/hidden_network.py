"""A Bayesian network some of whose columns nobody has seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arguments import fill
from discreet.domain.columns import Column, Labels, decode_columns, encode_columns, only_labels, read_columns
from discreet.errors import UsageError
from discreet.models.base import AxisLabels, Draws
from discreet.models.discrete import Conditional
from discreet.models.gibbs_model import GibbsModel
from discreet.models.network import BayesianNetwork

# combinations of hidden labels, which are weighed for every record
_MOST_COMBINATIONS = 1000
_PARTS = {"edges", "columns", "hidden"}


@dataclass(frozen=True, init=False)
class HiddenNetwork(GibbsModel):
    """Columns of labels in a Bayesian network, with further columns in it that no record has a value of.

    Parameters
    ----------
    edges
        Pairs (parent, child) of names, of columns and hidden columns, or a ``networkx.DiGraph``.
    columns
        The labels of the columns that records have, by name: ``{"cough": ["no", "yes"], "fever": ["no", "yes"]}``.
    hidden
        The columns that they do not have, with labels that you choose, or how many: ``{"disease": 2}``.

    Notes
    -----
    The draws are named after all columns, hidden ones among them: draws first, then one axis for each parent (columns
    before hidden columns, each in the order of their declaration), then the column's own labels. Which label of a
    hidden column stands for what is not known: a distribution is the same if they change places.

    A network whose only hidden column is the parent of all others is a :class:`~discreet.models.mixture.Mixture`.

    Read by :class:`~discreet.mechanisms.PrivateGibbs`, which draws the hidden labels of every record.

    Privacy
    -------
    :mod:`discreet.privacy.costs.gibbs_costs` says what a sweep costs. A table that records have part in, as the child
    or as a parent, has a least probability, and its likelihood is tempered; a table of hidden columns alone has
    neither.
    """

    name: ClassVar[str] = "hidden_network"
    chain_name: ClassVar[str] = "hidden_network"
    state_per_record: ClassVar[bool] = True
    edges: tuple[tuple[str, str], ...]
    columns: tuple[Labels, ...]  # pyright: ignore[reportIncompatibleVariableOverride]
    hidden: tuple[Labels, ...]
    _network: BayesianNetwork = field(compare=False, repr=False)

    def __init__(
        self,
        edges: Any,
        columns: Mapping[str, Any] | Iterable[Column],
        hidden: Mapping[str, Any] | Iterable[Column],
    ) -> None:
        seen = only_labels(read_columns(columns), "a network")
        unseen = only_labels(read_columns(hidden), "a network")
        network = BayesianNetwork(edges, (*seen, *unseen))
        joined = {end for pair in network.edges for end in pair}
        for column in unseen:
            if column.name not in joined:
                raise UsageError(f"no edge joins the hidden column {column.name!r:.60} to another.")
        for column in (*seen, *unseen):
            if column.n_labels < 2:
                raise UsageError(f"column {column.name!r:.60} has one label only, and nothing to learn.")
        if prod(column.n_labels for column in unseen) > _MOST_COMBINATIONS:
            raise UsageError(
                f"hidden columns may have {_MOST_COMBINATIONS} combinations of labels at most.",
                hint="take fewer labels, or fewer hidden columns",
            )
        fill(self, edges=network.edges, columns=seen, hidden=unseen, _network=network)
        if not any(self.reads_a_record(one) and self.is_hidden(one) for one in self.conditionals()):
            raise UsageError("no edge joins a hidden column to one that records have.")

    def conditionals(self) -> tuple[Conditional, ...]:
        """Return one conditional for each column, those that records have first."""
        return self._network.conditionals()

    def reads_a_record(self, one: Conditional) -> bool:
        """Tell whether a record has a value of the child or of a parent."""
        return any(column in self.columns for column in (*one.parents, one.child))

    def is_hidden(self, one: Conditional) -> bool:
        """Tell whether the child or a parent is hidden."""
        return any(column in self.hidden for column in (*one.parents, one.child))

    def combinations(self) -> np.ndarray:
        """Return all combinations of hidden labels, as positions: one row for each."""
        return np.array(list(product(*(range(column.n_labels) for column in self.hidden))), dtype=np.int64)

    @property
    def draw_names(self) -> tuple[str, ...]:
        return self._network.draw_names

    @property
    def n_states(self) -> int:
        return prod(column.n_labels for column in self.hidden)

    @property
    def emitted(self) -> tuple[Labels, ...]:
        return tuple(one.child for one in self.conditionals() if self.reads_a_record(one))

    def label_shapes(self) -> dict[str, tuple[int, ...]]:
        return {one.child.name: one.shape for one in self.conditionals() if self.reads_a_record(one)}

    @property
    def without_states(self) -> tuple[str, ...]:
        return tuple(one.child.name for one in self.conditionals() if not self.is_hidden(one))

    def state_probabilities(self) -> dict[str, tuple[int, ...]]:
        return {one.child.name: one.shape for one in self.conditionals() if not self.reads_a_record(one)}

    def axis_labels(self, columns: Sequence[str] = ()) -> AxisLabels:
        """Return the labels along each axis of each draw, for tables and plots."""
        return self._network.axis_labels()

    def constants(self) -> dict[str, Any]:
        return {
            "edges": [list(pair) for pair in self.edges],
            "columns": encode_columns(self.columns),
            "hidden": encode_columns(self.hidden),
        }

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if set(constants) != _PARTS or not isinstance(constants["edges"], list):
            raise ValueError("a network with hidden columns has edges, columns and hidden")
        return cls(
            [tuple(pair) if isinstance(pair, list) else pair for pair in constants["edges"]],
            decode_columns(constants["columns"]),
            decode_columns(constants["hidden"]),
        )

    def row_log_density(
        self, draws: Draws, codes: np.ndarray, values: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the log-probability of every row for every draw: hidden labels are summed over, draws by rows."""
        total = np.full((len(next(iter(draws.values()))), len(codes)), -np.inf)
        rows = np.asarray(codes)
        for labels in self.combinations():
            whole = np.concatenate([rows, np.broadcast_to(labels, (len(rows), len(labels)))], axis=1)
            total = np.logaddexp(total, self._network.row_log_density(draws, whole, np.empty((len(rows), 0))))
        return total

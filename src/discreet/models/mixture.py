"""A finite mixture: every record belongs to one of several components, and its columns are independent given which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from discreet.arguments import fill, whole
from discreet.domain.columns import Column, Labels, decode_columns, encode_columns, only_labels, read_columns
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.models.base import AxisLabels, Draws
from discreet.models.discrete import priors_by_name
from discreet.models.gibbs_model import GibbsModel
from discreet.models.tables import Table
from discreet.rational import exact

#: Name of the draws of the components' weights.
WEIGHTS = "weights"
_MOST_COMPONENTS = 1000
# Beyond this a prior outweighs any data there is.
_HEAVIEST = 1e12


@dataclass(frozen=True)
class Mixture(GibbsModel):
    r"""A mixture of ``components`` products of categorical distributions over labelled columns.

    With one column it is the plain finite mixture; with several, the clustering model in which a record belongs wholly
    to one cluster (no admixture).

    ============  ====================================================================================
    likelihood    P[x] = sum_k weights_k prod_d p_{k,d}(x_d)
    parameters    ``weights`` (components), and under each column's name p_{k,d} (components x labels)
    statistics    the counts of all combinations of labels: one table of all columns
    ============  ====================================================================================

    Parameters
    ----------
    components
        How many components, at least 1. They have no names of their own: a distribution is the same if they change
        places.
    columns
        Labelled columns: ``{"sex": ["f", "m"], "smoker": ["no", "yes"]}``.
    """

    name: ClassVar[str] = "mixture"
    engines: ClassVar[str] = "mixture"
    chain_name: ClassVar[str] = "mixture"
    state_per_record: ClassVar[bool] = True
    components: int
    columns: tuple[Labels, ...]  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, components: int, columns: Mapping[str, Any] | Iterable[Column]) -> None:
        components = whole(components, "components", most=_MOST_COMPONENTS)
        read = only_labels(read_columns(columns), self.name)
        for column in read:
            if column.name == WEIGHTS:
                raise UsageError(
                    f"a column of a mixture cannot be called {WEIGHTS!r}: that is the name of a parameter."
                )
            if column.n_labels < 2:
                raise UsageError(f"column {column.name!r:.60} has one label only, and nothing to learn.")
        fill(self, components=int(components), columns=read)

    @property
    def draw_names(self) -> tuple[str, ...]:
        return (WEIGHTS, *self.column_names)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many labels each column has."""
        return tuple(column.n_labels for column in self.columns)

    @property
    def n_states(self) -> int:
        return self.components

    @property
    def emitted(self) -> tuple[Labels, ...]:
        return self.columns

    def state_probabilities(self) -> dict[str, tuple[int, ...]]:
        return {WEIGHTS: (self.components,)}

    def axis_labels(self, columns: Sequence[str] = ()) -> AxisLabels:
        """Return the labels along each axis of each draw, for tables and plots."""
        numbered = tuple(str(k + 1) for k in range(self.components))
        return {WEIGHTS: (numbered,), **{column.name: (numbered, column.labels) for column in self.columns}}

    def read_prior(self, prior: Any, domain: Domain) -> Any:
        return self.concentrations(prior)

    def concentrations(self, prior: Any = None) -> dict[str, float]:
        """Return the Dirichlet parameter of the weights and of every column's labels.

        ``prior`` is one positive number for all of them (1 by default; it may be text), or a dictionary by name:
        ``"weights"`` or a column. Names that it leaves out get 1.
        """
        given = priors_by_name(prior, self.draw_names, "the mixture has no such parameter")
        read = {name: float(exact(value, "prior")) for name, value in given.items()}
        if not all(0 < value < _HEAVIEST for value in read.values()):
            raise UsageError(f"a prior of a mixture must be positive and below {_HEAVIEST:g}.")
        return read

    def constants(self) -> dict[str, Any]:
        return {"components": self.components, "columns": encode_columns(self.columns)}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if set(constants) != {"components", "columns"}:
            raise ValueError("a mixture has components and columns")
        return cls(constants["components"], decode_columns(constants["columns"]))

    def tables(self) -> tuple[Table, ...]:
        """Return the table of all columns: given the counts of its cells, nothing else of the records matters."""
        return (Table(self.columns),)

    def row_log_density(
        self, draws: Draws, codes: np.ndarray, values: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the log-probability of every row for every draw of the parameters: draws by rows.

        ``codes`` are positions of labels, one row for each record; one beyond the last label is missing and counts for
        nothing. ``values`` are of numeric columns, of which there are none.
        """
        with np.errstate(divide="ignore"):
            total = np.log(draws[WEIGHTS])[:, :, None]
            for column, code in zip(self.columns, np.asarray(codes).T, strict=True):
                log_table = np.log(draws[column.name])
                padded = np.concatenate([log_table, np.zeros((*log_table.shape[:-1], 1))], axis=-1)
                total = total + padded[:, :, code]
        return np.asarray(logsumexp(total, axis=1))

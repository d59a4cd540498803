"""Models of labels whose likelihood is a product of conditional probability tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.domain.columns import Labels
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.models.base import AxisLabels, Draws
from discreet.models.column_model import ColumnModel
from discreet.rational import exact

# beyond this a prior outweighs any data there is
_HEAVIEST = 1e12


@dataclass(frozen=True)
class Conditional:
    """The probabilities of one column's labels, one distribution for each combination of its parents' labels."""

    child: Labels
    parents: tuple[Labels, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the parents' axes, then of the child's."""
        return (*(parent.n_labels for parent in self.parents), self.child.n_labels)


class TableModel(ColumnModel):
    """A model of labels whose parameters are rows of probabilities, of which posterior samples can be released."""

    @abstractmethod
    def row_shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Return the shape of each draw by name, in order; its last axis sums to 1."""

    @abstractmethod
    def record_range(self, least: Fraction, simplex_range: Callable[[int, Fraction], Fraction]) -> Fraction:
        """Return how far one replaced record can move the log-likelihood, where no probability is below ``least``.

        ``simplex_range`` is that of one label drawn from one distribution with so many labels.
        """

    def read_prior(self, prior: Any, domain: Domain) -> Any:
        return self.concentrations(prior)

    @abstractmethod
    def concentrations(self, prior: Any = None) -> dict[str, np.ndarray]:
        """Return the Dirichlet parameters of the rows by name."""

    @abstractmethod
    def counts(self, codes: np.ndarray) -> dict[str, np.ndarray]:
        """Count complete records: for each draw, how often each of its entries was met."""


class DiscreteModel(TableModel):
    """A model of labels: p(record | theta) is a product with one factor for each column.

    The draws are named after the columns: ``draws[column]`` has the draws first, then one axis for each parent, then
    the column's own labels.
    """

    @abstractmethod
    def conditionals(self) -> tuple[Conditional, ...]:
        """Return one conditional for each column, in the order of the draws."""

    @property
    def draw_names(self) -> tuple[str, ...]:
        return tuple(one.child.name for one in self.conditionals())

    def row_shapes(self) -> dict[str, tuple[int, ...]]:
        return {one.child.name: one.shape for one in self.conditionals()}

    def record_range(self, least: Fraction, simplex_range: Callable[[int, Fraction], Fraction]) -> Fraction:
        # a factor for each column, and the extremes of all are attained together
        return sum((simplex_range(one.child.n_labels, least) for one in self.conditionals()), Fraction(0))

    def axis_labels(self, columns: Sequence[str] = ()) -> AxisLabels:
        """Return the labels along each axis of each draw, for tables and plots."""
        return {
            one.child.name: (*(parent.labels for parent in one.parents), one.child.labels)
            for one in self.conditionals()
        }

    def concentrations(self, prior: Any = None) -> dict[str, np.ndarray]:
        """Return the Dirichlet parameters of every column's distributions, the same whatever the parents.

        ``prior`` is one positive number for all labels of all columns (1 by default; it may be text), or a dictionary
        by column: a number, or one for each label. Columns that it does not name get 1.
        """
        if prior is None:
            return {one.child.name: np.ones(one.child.n_labels) for one in self.conditionals()}
        given = priors_by_name(prior, self.draw_names, "the model has no such column")
        return {
            one.child.name: concentration(given[one.child.name], one.child) for one in self.conditionals()
        }

    def counts(self, codes: np.ndarray) -> dict[str, np.ndarray]:
        """Count complete records: for each column, how often each of its labels meets each of its parents'."""
        columns = self.label_columns
        out = {}
        for one in self.conditionals():
            at = [codes[:, columns.index(column)] for column in (*one.parents, one.child)]
            flat = np.ravel_multi_index(at, one.shape) if len(codes) else np.empty(0, dtype=np.int64)
            out[one.child.name] = np.bincount(flat, minlength=int(np.prod(one.shape))).reshape(one.shape)
        return out

    def sample_rows(self, theta: Draws, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw complete records given one parameter value, as a dictionary of columns; parents before children."""
        codes: dict[str, np.ndarray] = {}
        for one in self.ordered():
            p = np.asarray(theta[one.child.name], dtype=float)[tuple(codes[c.name] for c in one.parents)]
            cumulative = np.cumsum(np.broadcast_to(p, (size, one.child.n_labels)), axis=1)
            level = rng.random(size)[:, None] * cumulative[:, -1:]
            codes[one.child.name] = np.minimum((cumulative <= level).sum(axis=1), one.child.n_labels - 1)
        return {column.name: np.array(column.labels)[codes[column.name]] for column in self.label_columns}

    def ordered(self) -> tuple[Conditional, ...]:
        """Return the conditionals with parents before children."""
        left, done, out = list(self.conditionals()), set(), []
        while left:
            ready = [one for one in left if all(parent.name in done for parent in one.parents)]
            if not ready:
                raise UsageError(f"the columns of {self.name} depend on each other in a circle.")
            out += ready
            done |= {one.child.name for one in ready}
            left = [one for one in left if one.child.name not in done]
        return tuple(out)

    def row_log_density(self, draws: Draws, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        columns = self.label_columns
        sizes = np.array([column.n_labels for column in columns])
        inner = {parent.name for one in self.conditionals() for parent in one.parents}
        if any(column.name in inner and (codes[:, i] == sizes[i]).any() for i, column in enumerate(columns)):
            raise UsageError("rows must not miss a column that others depend on.")
        total = np.zeros((len(next(iter(draws.values()))), len(codes)))
        for one in self.conditionals():
            mine = codes[:, columns.index(one.child)]
            known = mine < one.child.n_labels
            parents = [codes[known, columns.index(parent)] for parent in one.parents]
            with np.errstate(divide="ignore"):
                total[:, known] += np.log(draws[one.child.name][(slice(None), *parents, mine[known])])
        return total


def priors_by_name(prior: Any, names: Sequence[str], otherwise: str) -> dict[str, Any]:
    """Return what an analyst gives for each name, in a dictionary or the same for all; 1 where nothing is given."""
    given = prior if isinstance(prior, Mapping) else dict.fromkeys(names, 1 if prior is None else prior)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise UsageError(f"the prior names {unknown[0]!r:.60}, and {otherwise}.")
    return {name: given.get(name, 1) for name in names}


def concentration(given: Any, column: Labels) -> np.ndarray:
    """Read the Dirichlet parameters of a column's labels: one positive number for all, or one for each."""
    several = isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim == 1)
    values: list[Any] = list(given) if several else [given] * column.n_labels
    if len(values) != column.n_labels:
        raise UsageError(
            f"the prior of column {column.name!r:.60} has {len(values)} entries for {column.n_labels} labels."
        )
    alpha = np.array([float(exact(value, "prior")) for value in values])
    if not ((alpha > 0) & (alpha < _HEAVIEST)).all():
        raise UsageError(f"a prior must be positive and below {_HEAVIEST:g}, in column {column.name!r:.60}.")
    return alpha

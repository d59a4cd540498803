"""A Bayesian network over columns of labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from discreet.arguments import fill, listed, text
from discreet.domain.columns import Column, Labels, decode_columns, encode_columns, only_labels, read_columns
from discreet.errors import UsageError
from discreet.models.discrete import Conditional, DiscreteModel
from discreet.models.tables import Table

_EXAMPLE = '[("smoker", "cough")]'


@dataclass(frozen=True)
class BayesianNetwork(DiscreteModel):
    """Columns of labels, each of which depends on those that an edge comes from.

    Parameters
    ----------
    edges
        Pairs (parent, child) of column names, or a ``networkx.DiGraph`` whose nodes are columns. Columns without edges
        are independent of all.
    columns
        The labels of each column, by name: ``{"smoker": ["no", "yes"], "cough": ["no", "yes"]}``.

    Notes
    -----
    Parameters: for each column its labels' probabilities, one distribution for each combination of its parents' labels,
    with a Dirichlet prior. The draws are named after the columns: draws first, then one axis for each parent (in the
    order in which columns are declared), then the column's own labels. Released: for each column the counts of its
    labels crossed with its parents'. A record is in one cell of each of these tables, so with D columns the joint L1
    sensitivity is 2D under ``replace`` and D under ``add_remove``.

    References
    ----------
    Dimitrakakis, Nelson, Zhang, Mitrokotsa and Rubinstein (2017), section 5.6 and lemma 24.
    """

    name: ClassVar[str] = "bayesian_network"
    engines: ClassVar[str] = "network"
    picture: ClassVar[str] = "network"
    edges: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]

    def __init__(self, edges: Any, columns: Mapping[str, Any] | Iterable[Column]) -> None:
        declared = only_labels(read_columns(columns), "a network")
        pairs = _read_edges(edges)
        names = [column.name for column in declared]
        for pair in pairs:
            for end in pair:
                if end not in names:
                    raise UsageError(f"the edge {pair[0]!r:.40} -> {pair[1]!r:.40} names no declared column.",
                                     hint=f"declare {end!r:.40} in columns")  # fmt: skip
        for node in getattr(edges, "nodes", ()):
            if node not in names:
                raise UsageError(f"the node {node!r:.40} of the graph is no declared column.")
        if len(set(pairs)) != len(pairs):
            raise UsageError("an edge is given twice.")
        fill(self, edges=pairs, columns=declared)
        _check_acyclic(pairs)

    def parents(self, column: str) -> tuple[Labels, ...]:
        """Return the parents of a column, in the order in which columns are declared."""
        text(column, "column")
        above = {parent for parent, child in self.edges if child == column}
        return tuple(one for one in self.label_columns if one.name in above)

    def conditionals(self) -> tuple[Conditional, ...]:
        return tuple(Conditional(column, self.parents(column.name)) for column in self.label_columns)

    def tables(self) -> tuple[Table, ...]:
        return tuple(Table((*one.parents, one.child)) for one in self.conditionals())

    def constants(self) -> dict[str, Any]:
        return {"edges": [list(pair) for pair in self.edges], "columns": encode_columns(self.columns)}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if set(constants) != {"edges", "columns"} or not isinstance(constants["edges"], list):
            raise ValueError("a network has edges and columns")
        return cls([tuple(pair) if isinstance(pair, list) else pair for pair in constants["edges"]],
                   decode_columns(constants["columns"]))  # fmt: skip


def _read_edges(edges: Any) -> tuple[tuple[str, str], ...]:
    """Read pairs of names, or the edges of a graph that has a method for them."""
    # a networkx graph offers its edges as a view; anything else is a list of pairs
    if not getattr(edges, "is_directed", lambda: True)():
        raise UsageError(
            "the graph must be directed, from parents to children.", hint="give a networkx.DiGraph"
        )
    if getattr(edges, "is_multigraph", lambda: False)():
        raise UsageError(
            "the graph must not have several edges between two columns.", hint="give a networkx.DiGraph"
        )
    given = edges.edges if hasattr(edges, "edges") else edges
    pairs = listed(given, "edges", f"pairs of column names, parent first, such as {_EXAMPLE}")
    read = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(x, str) for x in pair):
            raise UsageError(
                "edges must be pairs of column names, parent first.", hint=f"for example {_EXAMPLE}"
            )
        read.append((pair[0], pair[1]))
    return tuple(read)


def _check_acyclic(edges: tuple[tuple[str, str], ...]) -> None:
    """Raise if some column depends on itself: take away columns without parents until none is left."""
    left = set(edges)
    while left:
        children = {child for _, child in left}
        ahead = {pair for pair in left if pair[0] not in children}
        if not ahead:
            around = " -> ".join(repr(name)[:40] for name in _cycle(left))
            raise UsageError(f"the graph has a cycle: {around}.", hint="a column cannot depend on itself")
        left -= ahead


def _cycle(edges: set[tuple[str, str]]) -> list[str]:
    """Return one cycle of a graph in which every column has a parent."""
    parent = {child: above for above, child in sorted(edges)}
    path = [min(child for _, child in edges)]
    while path.count(path[-1]) < 2:
        path.append(parent[path[-1]])
    return path[path.index(path[-1]) :][::-1]

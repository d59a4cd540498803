"""What a mechanism really costs on a graph: every edge measured in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import instance
from discreet.errors import UsageError
from discreet.privacy.rounding import log_up
from discreet.profiles.exact import Outputs
from discreet.profiles.given import read_distribution
from discreet.profiles.graph import Name, ProfileGraph
from discreet.rational import float_up

if TYPE_CHECKING:
    from discreet.profiles.base import FittedMechanism


@dataclass(frozen=True)
class EdgeLoss:
    """The privacy loss of one edge: between which profiles, in which report, and how much.

    Parameters
    ----------
    likelier, other
        The report is e^epsilon times as likely from ``likelier`` as from ``other``.
    report
        The category that tells most.
    ratio
        e^epsilon, exactly; None if ``other`` never gives the report.
    """

    likelier: Name
    other: Name
    report: Name
    ratio: Fraction | None

    @property
    def epsilon(self) -> float:
        """The loss, rounded up; infinite if the report gives the profile away."""
        if self.ratio is None:
            return math.inf
        return 0.0 if self.ratio <= 1 else float_up(log_up(self.ratio))


@dataclass(frozen=True)
class Audit:
    """Every edge of a graph, the worst first."""

    edges: tuple[EdgeLoss, ...]

    @property
    def worst(self) -> EdgeLoss | None:
        """The edge with the largest loss; None if the graph has no edges."""
        return self.edges[0] if self.edges else None

    @property
    def epsilon(self) -> float:
        """The smallest epsilon that every edge honors, rounded up in its 12th digit; 0 without edges."""
        return self.worst.epsilon if self.worst else 0.0

    def honors(self, epsilon: Any) -> bool:
        """Tell whether every edge honors a budget, exactly: against a rational that is at most e^epsilon."""
        from discreet.profiles.exact import growth_of, read_epsilon

        growth = growth_of(read_epsilon(epsilon))
        return all(edge.ratio is not None and edge.ratio <= growth for edge in self.edges)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts; an infinite loss is None."""
        return {
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "edges": [
                {
                    "likelier": edge.likelier,
                    "other": edge.other,
                    "report": edge.report,
                    "epsilon": edge.epsilon if math.isfinite(edge.epsilon) else None,
                }
                for edge in self.edges
            ],
        }


def audit(mechanism: FittedMechanism | Mapping[Any, Any] | Any, graph: ProfileGraph | None = None) -> Audit:
    """Measure the privacy loss of a mechanism on every edge of a graph, exactly.

    Parameters
    ----------
    mechanism
        A fitted mechanism; or matrices by profile, or one matrix for all, with a row for each observation and a column
        for each report. Numbers are made exact as those of profiles are.
    graph
        The graph to measure on; the mechanism's own by default. It must have the mechanism's profiles and categories;
        its distributions and edges may be others: what if people behave differently, what about another pair?
    """
    from discreet.profiles.base import FittedMechanism

    if isinstance(mechanism, FittedMechanism):
        known = mechanism.graph
        graph = known if graph is None else instance(graph, "graph", type(known), "a ProfileGraph")
        if (graph.profiles, graph.categories) != (known.profiles, known.categories):
            raise UsageError("the graph has other profiles or categories than the mechanism.")
        outputs = Outputs.of(graph, mechanism.table)
    elif graph is None:
        raise UsageError("matrices can be audited on a graph only: give one.")
    else:
        outputs = _outputs(mechanism, graph)
    found = []
    for edge in graph.edges:
        ratio, report, swapped = outputs.ratio(edge)
        i, j = edge[::-1] if swapped else edge
        label = graph.categories[report] if report < graph.n_categories else report
        found.append(EdgeLoss(graph.profiles[i], graph.profiles[j], label, ratio))
    # the largest ratio first; None is infinite
    found.sort(key=lambda edge: (edge.ratio is not None, -(edge.ratio or 0)))
    return Audit(tuple(found))


def _outputs(matrices: Any, graph: ProfileGraph) -> Outputs:
    """Return exact outputs of matrices that somebody wrote down."""
    from discreet.profiles.graph import ProfileGraph

    instance(graph, "graph", ProfileGraph, "a ProfileGraph")
    if isinstance(matrices, Mapping):
        if set(matrices) != set(graph.profiles):
            raise UsageError("there must be a matrix for every profile, and no other.")
        given = [matrices[name] for name in graph.profiles]
    else:
        given = [matrices] * graph.n_profiles
    rows = []
    for name, matrix, distribution in zip(graph.profiles, given, graph.distributions, strict=True):
        try:
            lines = [list(line) for line in matrix]
        except TypeError:
            lines = []
        if len(lines) != graph.n_categories or len({len(line) for line in lines}) != 1:
            raise UsageError(f"the matrix of {name!r} needs {graph.n_categories} rows of equal length.")
        exact = [read_distribution(line, f"a row of {name!r}") for line in lines]
        rows.append(
            [
                sum((p * line[y] for p, line in zip(distribution, exact, strict=True)), Fraction(0))
                for y in range(len(exact[0]))
            ]
        )
    if len({len(row) for row in rows}) != 1:
        raise UsageError("all matrices must have the same reports.")
    wholes = [math.lcm(*(p.denominator for p in row)) for row in rows]
    numerators = [[int(p * whole) for p in row] for row, whole in zip(rows, wholes, strict=True)]
    return Outputs(np.array(numerators, dtype=object), tuple(wholes))

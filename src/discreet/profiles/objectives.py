"""What a mechanism is to spare: which corruptions count, and how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.errors import UsageError
from discreet.profiles.graph import Name, ProfileGraph

Kind = Literal["largest", "expected"]
#: Numbers in the order of profiles or categories, or by name.
Weights = Mapping[Any, float] | Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Objective:
    """How bad a set of matrices is, for one graph.

    Parameters
    ----------
    kind
        ``"largest"``: the largest cost(x, y) A(x, y) over profiles and x != y, the thesis' choice, which knows no
        prior. ``"expected"``: the expected cost of a report, over the prior on profiles and what they observe.
    prior
        Probability of each profile.
    costs
        Cost of reporting y where x was observed; the diagonal is 0, the largest 1.
    """

    kind: Kind
    prior: np.ndarray
    costs: np.ndarray

    def value(self, graph: ProfileGraph, matrices: np.ndarray) -> float:
        """Return what is to be small."""
        if self.kind == "largest":
            return float((self.costs * matrices).max())
        return float(np.einsum("i,ix,xy,ixy->", self.prior, graph.probabilities, self.costs, matrices))

    def of_component(self, positions: Sequence[int]) -> Objective:
        """Return the objective of some of the profiles.

        A common factor of the prior changes no optimum, but a small one would drown in the solver's tolerance.
        """
        shares = self.prior[list(positions)]
        return Objective(self.kind, shares / (shares.sum() or 1.0), self.costs)


def read_objective(
    graph: ProfileGraph, kind: str, prior: Weights | None, weights: Weights | None
) -> Objective:
    """Read an objective for a graph: ``prior`` over profiles, ``weights`` of categories or a matrix of costs."""
    if kind == "information":
        raise UsageError(
            "mutual information cannot be maximized by a linear or convex program.",
            hint="it is convex in the matrix, so its maximum hides among vertices; .information measures it",
        )
    if kind not in ("largest", "expected"):
        raise UsageError(f"objective must be 'largest' or 'expected', got objective={kind!r:.40}.")
    if prior is not None and kind == "largest":
        raise UsageError("the largest corruption knows no prior.", hint="objective='expected' takes one")
    shares = np.ones(graph.n_profiles) if prior is None else _read(prior, graph.profiles, "prior")
    if weights is not None and np.ndim(_plain(weights)) == 2:
        costs = np.array(weights, dtype=float)
        if costs.shape != (graph.n_categories,) * 2 or not (np.isfinite(costs) & (costs >= 0)).all():
            raise UsageError("a matrix of costs needs a number from 0 on for every pair of categories.")
    else:
        each = np.ones(graph.n_categories)
        if weights is not None:
            each = _read(weights, graph.categories, "weights")
        costs = np.repeat(each[:, None], graph.n_categories, axis=1)
    costs = costs * (1 - np.eye(graph.n_categories))
    if not costs.any():
        raise UsageError("some corruption must have a cost.")
    # only ratios matter, and a solver's tolerances are for numbers around 1
    return Objective(kind, shares / shares.sum(), costs / costs.max())  # pyright: ignore[reportArgumentType]


def _plain(weights: Any) -> Any:
    return list(weights.values()) if isinstance(weights, Mapping) else weights


def _read(given: Weights, names: tuple[Name, ...], what: str) -> np.ndarray:
    """Return one number from 0 on for each name."""
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise UsageError(f"{what} must name every {'profile' if what == 'prior' else 'category'} once.")
        given = [given[name] for name in names]
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if values.shape != (len(names),) or not (np.isfinite(values) & (values >= 0)).all() or not values.any():
        raise UsageError(f"{what} must be {len(names)} numbers from 0 on, not all 0.")
    return values

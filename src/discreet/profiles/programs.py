"""The linear programs behind the smooth mechanisms, sparse, for HiGHS.

The largest corruption has many optima: whatever is not the worst may be spoiled for nothing. Among them the one with
the smallest sum is taken.

Variables are the matrices A_i(x, y), or one flipping probability for each profile, and the output distributions
q_i = P_i A_i. With q as variables an edge's constraint q_i(y) <= e^epsilon q_j(y) has two entries instead of 2d.

References
----------
Geumlek (2020), programs 7.6 and 7.7, quantified over the edges of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.profiles.graph import ProfileGraph
from discreet.profiles.objectives import Objective

# What the optimum of the first program may be missed by in the second, so that rounding does not make it infeasible.
_SLACK = 1e-10
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-9}


@dataclass(frozen=True)
class Program:
    """A linear map from the variables to outputs, the edges between outputs, and the cost of each variable.

    Parameters
    ----------
    equalities, totals
        A x = b, for the matrices' rows (if any) and for q = P A. The last k d variables are q.
    private
        Rows r x <= 0, one for each edge, direction and output.
    corrupting
        Positions of the variables that are corruptions.
    cost
        What a unit of each corruption costs the largest (or the expected) corruption.
    limits
        Upper bounds of the corruptions.
    unperturbed, ceiling, floor
        In how far the largest corruption t bounds outputs, q <= P + t ceiling and q >= P - t floor: for a lower bound
        on t. P is ``unperturbed``.
    """

    equalities: Any
    totals: np.ndarray
    private: Any
    corrupting: np.ndarray
    cost: np.ndarray
    limits: np.ndarray
    unperturbed: np.ndarray
    ceiling: np.ndarray
    floor: np.ndarray

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.equalities.shape[1]

    # -- the two objectives ---------------------------------------------------------------------------

    def least_largest(self) -> np.ndarray | None:
        """Return the point whose largest corruption is smallest, and its sum smallest among those."""
        bound = self._bound_on_largest()
        if bound is not None:
            found = self._least_sum(bound)
            # a bound that can be reached is the optimum
            if found is not None:
                return found
        largest = self._largest()
        return None if largest is None else self._least_sum(largest)

    def least_expected(self) -> np.ndarray | None:
        """Return the point whose expected corruption is smallest, and its plain sum smallest among those."""
        price, upper = self._filled(0.0, self.cost), self._filled(1.0, self.limits)
        first = self._solve(price, upper)
        if first is None:
            return None
        from scipy.sparse import csr_matrix

        more = csr_matrix(price[None]), [price @ first + _SLACK]
        second = self._solve(self._filled(0.0, 1.0), upper, more)
        return first if second is None else second

    # -- their parts ----------------------------------------------------------------------------------

    def _filled(self, others: float, corrupting: np.ndarray | float) -> np.ndarray:
        """Return a number for each variable, of its own for those that corrupt."""
        filled = np.full(self.n, others)
        filled[self.corrupting] = corrupting
        return filled

    def _least_sum(self, largest: float) -> np.ndarray | None:
        """Return the point of least sum among those whose largest corruption is this; None if there is none."""
        allowed = np.full(len(self.cost), np.inf)
        np.divide(largest * (1 + _SLACK) + _SLACK, self.cost, out=allowed, where=self.cost > 0)
        upper = self._filled(1.0, np.minimum(self.limits, allowed))
        return self._solve(self._filled(0.0, 1.0), upper)

    def _bound_on_largest(self) -> float | None:
        """Return a lower bound on the largest corruption, from the outputs alone; mostly it is the optimum.

        What flows into a category, and what flows out, is bounded by the largest corruption. The program over q and t
        that says only this has d times fewer variables.
        """
        from scipy.sparse import csr_matrix, eye_array, hstack, vstack

        m = self.unperturbed.size
        outputs = self.private.tocsc()[:, self.n - m :]
        in_out = []
        for sign, slope in ((1, self.ceiling), (-1, self.floor)):
            known = np.isfinite(slope.ravel())
            rows = hstack([sign * eye_array(m), csr_matrix(-np.where(known, slope.ravel(), 0.0)[:, None])])
            in_out.append((rows.tocsr()[known], sign * self.unperturbed.ravel()[known]))
        above = vstack([hstack([outputs, csr_matrix((outputs.shape[0], 1))]), *(rows for rows, _ in in_out)])
        right = np.concatenate([np.zeros(outputs.shape[0]), *(values for _, values in in_out)])
        k, d = self.unperturbed.shape
        ones = csr_matrix((np.ones(m), (np.repeat(np.arange(k), d), np.arange(m))), shape=(k, m + 1))
        upper = np.append(np.ones(m), np.inf)
        found = _linprog(_last(m + 1), above, right, ones, np.ones(k), upper)
        return None if found is None else float(found[-1])

    def _largest(self) -> float | None:
        """Return the least largest corruption by the whole program: t as one more variable."""
        from scipy.sparse import csr_matrix, hstack, vstack

        n, c, others = self.n, len(self.corrupting), self.private.shape[0]
        costs = csr_matrix((self.cost, (np.arange(c), self.corrupting)), shape=(c, n))
        below_t = csr_matrix(np.append(np.zeros(others), -np.ones(c))[:, None])
        above: Any = hstack([vstack([self.private, costs]), below_t])
        equalities = hstack([self.equalities, csr_matrix((self.equalities.shape[0], 1))])
        upper = np.append(self._filled(1.0, self.limits), np.inf)
        # one variable in every row: the interior is a shorter way than along the edges
        found = _linprog(
            _last(n + 1), above, np.zeros(others + c), equalities, self.totals, upper, method="highs-ipm"
        )
        return None if found is None else float(found[-1])

    def _solve(
        self, price: np.ndarray, upper: np.ndarray, more: tuple[Any, Any] | None = None
    ) -> np.ndarray | None:
        from scipy.sparse import vstack

        above, right = self.private, np.zeros(self.private.shape[0])
        if more is not None:
            above, right = vstack([above, more[0]]), np.concatenate([right, more[1]])
        return _linprog(price, above, right, self.equalities, self.totals, upper)


def _last(n: int) -> np.ndarray:
    """Return prices of which only the last variable has one."""
    return np.append(np.zeros(n - 1), 1.0)


def _linprog(
    price: np.ndarray,
    above: Any,
    right: np.ndarray,
    equalities: Any,
    totals: np.ndarray,
    upper: np.ndarray,
    method: str = "highs-ds",
) -> np.ndarray | None:
    from scipy.optimize import linprog

    bounds = np.stack([np.zeros(len(upper)), upper], axis=1)
    found = linprog(
        price,
        A_ub=above.tocsr(),
        b_ub=right,
        A_eq=equalities.tocsr(),
        b_eq=totals,
        bounds=bounds,
        method=method,
        options=_OPTIONS,
    )
    return found.x if found.status == 0 else None


def _private_rows(graph: ProfileGraph, growth: float, first: int, n: int) -> Any:
    """Return q_i(y)/growth - q_j(y) <= 0 for every edge, direction and output; q begins at ``first``."""
    from scipy.sparse import csr_matrix

    d = graph.n_categories
    edges = np.array(graph.edges, dtype=int).reshape(-1, 2)
    both = np.concatenate([edges, edges[:, ::-1]])
    likelier, other = (first + (both[:, [end]] * d + np.arange(d)).ravel() for end in (0, 1))
    m = likelier.size
    rows = np.concatenate([np.arange(m)] * 2)
    values = np.concatenate([np.full(m, 1 / growth), -np.ones(m)])
    return csr_matrix((values, (rows, np.concatenate([likelier, other]))), shape=(m, n))


def categorical_program(graph: ProfileGraph, growth: float, objective: Objective) -> Program:
    """Return program 7.7: a matrix for each profile."""
    from scipy.sparse import csr_matrix, vstack

    p = graph.probabilities
    k, d = p.shape
    n_entries, m = k * d * d, k * d
    n = n_entries + m
    i, x, y = (index.ravel() for index in np.indices((k, d, d)))
    entry = np.arange(n_entries)
    row_sums = csr_matrix((np.ones(n_entries), (i * d + x, entry)), shape=(m, n))
    outputs = csr_matrix(
        (
            np.concatenate([p[i, x], -np.ones(m)]),
            (np.concatenate([i * d + y, np.arange(m)]), np.concatenate([entry, n_entries + np.arange(m)])),
        ),
        shape=(m, n),
    )
    off = x != y
    costs = objective.costs
    with np.errstate(divide="ignore"):
        per_cost = np.where(np.eye(d, dtype=bool), 0.0, 1 / costs)
    cost = costs[x, y] if objective.kind == "largest" else objective.prior[i] * p[i, x] * costs[x, y]
    with np.errstate(invalid="ignore"):
        ceiling, floor = p @ per_cost, p * per_cost.sum(axis=1)
    return Program(
        equalities=vstack([row_sums, outputs]).tocsr(),
        totals=np.concatenate([np.ones(m), np.zeros(m)]),
        private=_private_rows(graph, growth, n_entries, n),
        corrupting=entry[off],
        cost=cost[off],
        limits=np.ones(int(off.sum())),
        unperturbed=p,
        ceiling=ceiling,
        floor=floor,
    )


def one_bit_program(graph: ProfileGraph, growth: float, objective: Objective) -> Program:
    """Return program 7.6: one flipping probability for each profile, at most 1/2."""
    from scipy.sparse import csr_matrix

    p = graph.probabilities
    k = len(p)
    n = k + 2 * k
    # q(0) = P(0) + alpha (P(1) - P(0)), and q(1) likewise
    slope = p[:, ::-1] - p
    profile, at = np.repeat(np.arange(k), 2), np.arange(2 * k)
    equalities = csr_matrix(
        (
            np.concatenate([slope.ravel(), -np.ones(2 * k)]),
            (np.concatenate([at, at]), np.concatenate([profile, k + at])),
        ),
        shape=(2 * k, n),
    )
    flip_costs = objective.costs[[0, 1], [1, 0]]
    cost = np.full(k, flip_costs.max()) if objective.kind == "largest" else objective.prior * (p @ flip_costs)
    with np.errstate(divide="ignore"):
        most = np.maximum(slope, 0.0) / flip_costs.max()
    return Program(
        equalities=equalities,
        totals=-p.ravel(),
        private=_private_rows(graph, growth, k, n),
        corrupting=np.arange(k),
        cost=cost,
        limits=np.full(k, 0.5),
        unperturbed=p,
        ceiling=most,
        floor=most[:, ::-1],
    )

"""Choose the linear forms of :mod:`discreet.models.product_norm`, so that its unit ball is as small as it can be.

    python scripts/make_norm_forms.py 3 replace [--forms 8] [--proposed 4000] [--seen 1500] [--seed 0]

The smallest ball is the convex hull K of all changes of one record. Its norm at x is a linear program over a form v:
the largest <v, x> with <v, t - t'> <= 1 for every two records, here of columns on a grid. Solutions at random x are
candidates, rounded to whole numbers of at most 60; of those the forms are taken one by one that bring the ball of
their orbits nearest to K, by the mean log of N(x) at other random x. Printed are the forms, how many rows their orbits
have, and the mean of N(x) over K's norm: 1 if the ball is K. What is chosen is a matter of noise, never of privacy:
suprema are computed exactly where forms are used.
"""

from __future__ import annotations

import argparse
from itertools import combinations_with_replacement, product
from math import gcd

import numpy as np
from scipy.optimize import linprog

from discreet.models.product_norm import Form, orbit

_LARGEST = 60
_GRID = (-1.0, -0.5, 0.0, 0.5, 1.0)
# how widely the noise of numbers, squares and products scatters, roughly
_SPREAD = (9.0, 5.0, 8.0)


def main() -> None:
    """Print forms for a number of columns and a relation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("columns", type=int)
    parser.add_argument("neighbors", choices=["replace", "add_remove"])
    parser.add_argument("--forms", type=int, default=8)
    parser.add_argument("--proposed", type=int, default=4000)
    parser.add_argument("--seen", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    p, rng = options.columns, np.random.default_rng(options.seed)
    pairs = list(combinations_with_replacement(range(p), 2))
    spread = np.array([_SPREAD[0]] * p + [_SPREAD[1] if i == j else _SPREAD[2] for i, j in pairs])
    records, fine = _records(p, _GRID), _records(p, np.linspace(-1, 1, 17 if p < 4 else 9))

    candidates: dict[Form, np.ndarray] = {}
    for _ in range(options.proposed):
        v, _ = _norm_at(rng.standard_normal(len(spread)) * spread, records, options.neighbors)
        form = tuple(int(value) for value in np.round(v / np.abs(v).max() * _LARGEST))
        rows = set(orbit(form, p))
        rows |= {tuple(-value for value in row) for row in rows}
        candidates.setdefault(max(rows), np.array(sorted(rows)))
    x = rng.standard_normal((options.seen, len(spread))) * spread
    least = np.array([_norm_at(one, records, options.neighbors)[1] for one in x])
    values = {
        form: (x @ rows.T).max(axis=1) / _reach(form, fine, options.neighbors)
        for form, rows in candidates.items()
    }
    found, n_rows = np.full(len(x), 1e-9), 0
    for _ in range(options.forms):
        best = max(values, key=lambda form: float(np.log(np.maximum(values[form], found)).mean()))
        found, n_rows = np.maximum(found, values[best]), n_rows + len(candidates[best])
        print(
            tuple(value // gcd(*best) for value in best),
            f"{n_rows:>5} rows, {(found / least).mean():.4f} of K's norm",
        )


def _records(p: int, grid: np.ndarray | tuple[float, ...]) -> np.ndarray:
    """Return the numbers and their products of every record on a grid."""
    z = np.array(list(product(grid, repeat=p)))
    rows, columns = np.triu_indices(p)
    return np.concatenate([z, z[:, rows] * z[:, columns]], axis=1)


def _reach(form: Form, records: np.ndarray, neighbors: str) -> float:
    values = records @ np.array(form)
    return float(np.ptp(values) if neighbors == "replace" else np.abs(values).max())


def _norm_at(x: np.ndarray, records: np.ndarray, neighbors: str) -> tuple[np.ndarray, float]:
    """Return the form whose value at x is K's norm, and the norm."""
    m, d = records.shape
    if neighbors == "add_remove":
        found = linprog(-x, A_ub=np.vstack([records, -records]), b_ub=np.ones(2 * m), bounds=(None, None))
        return found.x, -found.fun
    # with the largest and the least value over all records as unknowns
    one, none = np.ones((m, 1)), np.zeros((m, 1))
    bounds = [
        np.hstack([records, -one, none]),
        np.hstack([-records, none, one]),
        np.r_[np.zeros(d), 1, -1][None],
    ]
    found = linprog(
        np.r_[-x, 0, 0], A_ub=np.vstack(bounds), b_ub=np.r_[np.zeros(2 * m), 1], bounds=(None, None)
    )
    return found.x[:d], -found.fun


if __name__ == "__main__":
    main()

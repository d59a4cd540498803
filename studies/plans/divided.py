"""A budget for six questions: the plan's division, equal shares, and the best on a grid."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from common.claim import Claim

import discreet as dc

TOTAL, N = 0.6, 800
#: Parts that the grid search cuts the total into.
PARTS = 24
#: The division may be so much worse than the best on the grid.
ALLOWED = 0.02

MODELS: dict[str, Any] = {
    "common": dc.Bernoulli(),
    "rare": dc.Bernoulli(),
    "answer": dc.Categorical(["a", "b", "c"]),
    "age": dc.Mean(),
    "income": dc.Mean(),
    "pressure": dc.Mean(),
}
BOUNDS = {"age": (0, 100), "income": (0, 200_000), "pressure": (60, 220)}
PUBLIC = {
    "common": {"p": 0.5},
    "rare": {"p": 0.02},
    "answer": {"p": [0.5, 0.3, 0.2]},
    "age": {"mean": 42, "sd": 16},
    "income": {"mean": 30_000, "sd": 20_000},
    "pressure": {"mean": 125, "sd": 16},
}


def division_claims(seed: int) -> tuple[list[Claim], dict[str, Any]]:
    """Return what is claimed of the division, judged on tables that it was not made with."""
    division = dc.plan(MODELS, n=N, epsilon=TOTAL, bounds=BOUNDS, public=PUBLIC, rng=seed)
    fresh = {
        name: dc.plan(model, n=N, epsilon=TOTAL, bounds=BOUNDS.get(name), public=PUBLIC[name], rng=seed + 1)
        for name, model in MODELS.items()
    }
    weights = np.array([division.split[name] for name in MODELS])
    ours = _loss(fresh, TOTAL * weights / weights.sum())
    equal = _loss(fresh, np.full(len(MODELS), TOTAL / len(MODELS)))
    losses = np.array(
        [
            [_relative(one, TOTAL * part / PARTS) for part in range(1, PARTS - len(MODELS) + 2)]
            for one in fresh.values()
        ]
    )
    best, shares = _best(losses)
    claims = [
        Claim("six questions", "the division beats equal shares", ours < equal, f"{ours:.4f} against {equal:.4f}"),
        Claim(
            "six questions", "it is within 2% of the best on a grid", ours <= best * (1 + ALLOWED),
            f"{ours:.4f} against {best:.4f}, the best of {PARTS} parts: {100 * (ours / best - 1):+.2f}%",
        ),
    ]  # fmt: skip
    numbers = {
        "division": division.split,
        "grid": dict(zip(MODELS, shares, strict=True)),
        "losses": [ours, equal, best],
    }
    return claims, numbers


def _relative(one: Any, epsilon: float) -> float:
    return one.tables.width(one.budget.at(epsilon)).width / one.ceiling


def _loss(plans: dict[str, Any], budgets: np.ndarray) -> float:
    return float(sum(_relative(one, float(e)) for one, e in zip(plans.values(), budgets, strict=True)))


def _best(losses: np.ndarray) -> tuple[float, list[float]]:
    """Return the least sum over all ways to divide the parts, by trying each."""
    cuts = np.array(list(combinations(range(1, PARTS), len(losses) - 1)))
    edges = np.column_stack([np.zeros(len(cuts), int), cuts, np.full(len(cuts), PARTS)])
    parts = np.diff(edges, axis=1)
    sums = sum(losses[k][parts[:, k] - 1] for k in range(len(losses)))
    at = int(np.argmin(sums))
    return float(sums[at]), (parts[at] / PARTS).tolist()

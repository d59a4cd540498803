"""Random graphs of profiles, and small ones that tests share."""

from __future__ import annotations

import numpy as np

from discreet.profiles import ProfileGraph

#: The profiles of the categorical study: the last category says nothing about who it is.
CHAIN = {"a": [0.2, 0.3, 0.4, 0.1], "b": [0.3, 0.3, 0.3, 0.1], "c": [0.4, 0.4, 0.1, 0.1]}


def random_graph(rng: np.random.Generator, n_categories: int | None = None) -> ProfileGraph:
    """Return a graph of up to six profiles, often disconnected, some with impossible or sure categories."""
    k = int(rng.integers(2, 7))
    d = int(rng.integers(2, 6)) if n_categories is None else n_categories
    distributions = rng.dirichlet(np.full(d, rng.choice([0.3, 1.0, 5.0])), k)
    if rng.random() < 0.3:
        # as users write them: few digits, and zeros
        distributions = np.floor(distributions * 20) / 20
        distributions[:, 0] += 1 - distributions.sum(axis=1)
        distributions = np.round(distributions, 10)
    pairs = [(f"p{i}", f"p{j}") for i in range(k) for j in range(i) if rng.random() < 0.6] or [("p0", "p1")]
    return ProfileGraph({f"p{i}": row for i, row in enumerate(distributions)}, pairs)


def random_epsilon(rng: np.random.Generator) -> float:
    """Return a budget from tiny to large."""
    return float(np.round(np.exp(rng.uniform(np.log(1e-3), np.log(5))), 6))

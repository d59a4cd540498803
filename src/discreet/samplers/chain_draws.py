"""What the chains of hidden states have in common: choices among states, and tables of label probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.samplers.truncated_dirichlet import sample_truncated_dirichlet


def choose_states(log_weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one state for every row, with one uniform number each, in the same time for all rows."""
    mass = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    edges = np.cumsum(mass, axis=1)
    edges /= edges[:, -1:]
    return (rng.random(len(edges))[:, None] >= edges[:, :-1]).sum(axis=1)


def draw_tables(
    parameters: Sequence[np.ndarray], least: Sequence[float], rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Draw label probabilities of every state in every column, none below the column's least."""
    return tuple(
        np.array([sample_truncated_dirichlet(row, low, 1, rng)[0] for row in rows])
        for rows, low in zip(parameters, least, strict=True)
    )


def draw_weights(parameters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw from a Dirichlet distribution; what underflows is the least normal number, whose logarithm is finite."""
    raised = np.maximum(rng.dirichlet(parameters), np.finfo(float).tiny)
    return raised / raised.sum()

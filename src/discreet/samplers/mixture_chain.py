r"""A tempered Gibbs sampler of a mixture of label columns, part by part.

The chain's target is prior(weights) prior(p) P[z | weights] P[x | z, p]^{1/T}: the likelihood of the records is
tempered, and nothing else. Its three conditionals are

- z_l: component k with probability proportional to weights_k prod_d p_{k,d}(x_{l,d})^{1/T}, which reads record l alone;
- p_{k,d}: Dirichlet(label_prior + counts / T) where no probability is below the column's least, which reads the counts
  of the records of component k;
- weights: Dirichlet(weight_prior + how many records each component has), which reads no record once z is public.

Costs are in :mod:`discreet.privacy.costs.gibbs_costs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.samplers.chain_draws import choose_states, draw_tables, draw_weights


@dataclass(frozen=True)
class MixtureChain:
    """What everybody knows of the chain. ``updated`` is how many records are assigned anew in a sweep, None for all."""

    components: int
    sizes: tuple[int, ...]
    least: tuple[float, ...]
    temperature: float
    weight_prior: float = 1.0
    label_prior: float = 1.0
    updated: int | None = None


@dataclass(frozen=True)
class MixtureState:
    """One state, which counts as published: weights, one matrix of components by labels per column, assignments."""

    weights: np.ndarray
    tables: tuple[np.ndarray, ...]
    assigned: np.ndarray


def assignment_log_weights(
    chain: MixtureChain, weights: np.ndarray, tables: Sequence[np.ndarray], codes: np.ndarray
) -> np.ndarray:
    """Return the log-weight of every component for every record, tempered: rows are records."""
    log_likelihood = sum(np.log(table[:, codes[:, d]]).T for d, table in enumerate(tables))
    return np.log(weights) + log_likelihood / chain.temperature


def label_counts(chain: MixtureChain, codes: np.ndarray, assigned: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return how many records of each component have each label, one matrix per column."""
    return tuple(
        np.bincount(assigned * size + codes[:, d], minlength=chain.components * size).reshape(-1, size)
        for d, size in enumerate(chain.sizes)
    )


def label_parameters(chain: MixtureChain, counts: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Return the parameters of the truncated Dirichlet distribution of every component in every column."""
    return tuple(chain.label_prior + table / chain.temperature for table in counts)


def start(chain: MixtureChain, n_records: int, rng: np.random.Generator) -> MixtureState:
    """Draw a first state from the prior: no record is read."""
    weights = draw_weights(np.full(chain.components, chain.weight_prior), rng)
    none = [np.zeros((chain.components, size)) for size in chain.sizes]
    tables = draw_tables(label_parameters(chain, none), chain.least, rng)
    return MixtureState(weights, tables, rng.choice(chain.components, size=n_records, p=weights))


def sweeps(chain: MixtureChain, codes: np.ndarray, rng: np.random.Generator) -> Iterator[MixtureState]:
    """Yield the states after each sweep, without end."""
    state = start(chain, len(codes), rng)
    while True:
        state = sweep(chain, codes, state, rng)
        yield state


def sweep(
    chain: MixtureChain, codes: np.ndarray, state: MixtureState, rng: np.random.Generator
) -> MixtureState:
    """Assign records, then draw label probabilities, then weights."""
    n = len(codes)
    chosen = np.arange(n) if chain.updated is None else rng.choice(n, size=chain.updated, replace=False)
    log_weights = assignment_log_weights(chain, state.weights, state.tables, codes[chosen])
    assigned = state.assigned.copy()
    assigned[chosen] = choose_states(log_weights, rng)
    tables = draw_tables(label_parameters(chain, label_counts(chain, codes, assigned)), chain.least, rng)
    sizes = np.bincount(assigned, minlength=chain.components)
    return MixtureState(draw_weights(chain.weight_prior + sizes, rng), tables, assigned)

r"""A tempered Gibbs sampler of a network with hidden columns, part by part.

The target of the chain is prior(theta) times, for every record, the product over tables k of theta_k[parents, label] to
the power 1/T if the record has a value of the child or of a parent, and to the power 1 if all of them are hidden. Its
conditionals are

- the hidden labels of record l, all at once: a combination in proportion to the product of the tables in which a hidden
  column takes part, which reads record l alone;
- a table that records have part in: Dirichlet(label_prior + counts / T) for each row, where no probability is below the
  column's least;
- a table of hidden columns: Dirichlet(weight_prior + counts) for each row, which reads no record once the hidden labels
  are public.

Costs are in :mod:`discreet.privacy.costs.gibbs_costs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.models.discrete import Conditional
from discreet.models.hidden_network import HiddenNetwork
from discreet.samplers.chain_draws import choose_states, draw_tables, draw_weights

# weights held at a time
_MOST_NUMBERS = 1 << 22


@dataclass(frozen=True)
class HiddenNetworkChain:
    """What everybody knows of the chain; ``least`` is by column, ``updated`` as for a mixture."""

    model: HiddenNetwork
    least: Mapping[str, float]
    temperature: float
    weight_prior: float = 1.0
    label_prior: float = 1.0
    updated: int | None = None

    @cached_property
    def combinations(self) -> np.ndarray:
        """All combinations of hidden labels."""
        return self.model.combinations()


@dataclass(frozen=True)
class HiddenNetworkState:
    """One state, all of it public: the tables by column, and which combination of hidden labels each record has."""

    tables: dict[str, np.ndarray]
    assigned: np.ndarray


def assignment_log_weights(
    chain: HiddenNetworkChain, tables: Mapping[str, np.ndarray], codes: np.ndarray
) -> np.ndarray:
    """Return the log-weight of every combination of hidden labels for every record: rows are records."""
    total = np.zeros((len(codes), len(chain.combinations)))
    for one in chain.model.conditionals():
        if chain.model.is_hidden(one):
            log_table = np.log(tables[one.child.name])[_at(chain, one, codes)]
            total += log_table / chain.temperature if chain.model.reads_a_record(one) else log_table
    return total


def _at(chain: HiddenNetworkChain, one: Conditional, codes: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return where a table is read, by record and by combination of hidden labels."""
    seen, hidden = chain.model.columns, chain.model.hidden
    return tuple(
        codes[:, seen.index(column)].astype(np.int64)[:, None]
        if column in seen
        else chain.combinations[None, :, hidden.index(column)]
        for column in (*one.parents, one.child)
    )


def label_counts(chain: HiddenNetworkChain, codes: np.ndarray, assigned: np.ndarray) -> dict[str, np.ndarray]:
    """Return, for every table, how many records are in each of its cells, given their hidden labels."""
    columns = (*chain.model.columns, *chain.model.hidden)
    whole = np.concatenate([codes.astype(np.int64), chain.combinations[assigned]], axis=1)
    found = {}
    for one in chain.model.conditionals():
        at = tuple(whole[:, columns.index(column)] for column in (*one.parents, one.child))
        flat = np.ravel_multi_index(at, one.shape)
        found[one.child.name] = np.bincount(flat, minlength=int(np.prod(one.shape))).reshape(one.shape)
    return found


def table_parameters(chain: HiddenNetworkChain, one: Conditional, counts: np.ndarray) -> np.ndarray:
    """Return the Dirichlet parameters of every row of a table."""
    if chain.model.reads_a_record(one):
        return chain.label_prior + counts / chain.temperature
    return chain.weight_prior + counts


def draw_network(
    chain: HiddenNetworkChain, counts: Mapping[str, np.ndarray], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Draw all tables given the counts of their cells."""
    tables = {}
    for one in chain.model.conditionals():
        name = one.child.name
        rows = table_parameters(chain, one, counts[name]).reshape(-1, one.child.n_labels)
        if chain.model.reads_a_record(one):
            (drawn,) = draw_tables([rows], [chain.least[name]], rng)
        else:
            drawn = np.array([draw_weights(row, rng) for row in rows])
        tables[name] = drawn.reshape(one.shape)
    return tables


def sweeps(
    chain: HiddenNetworkChain, codes: np.ndarray, rng: np.random.Generator
) -> Iterator[HiddenNetworkState]:
    """Yield the states after each sweep, without end. The first sweep begins at a draw from the prior."""
    none = {one.child.name: np.zeros(one.shape) for one in chain.model.conditionals()}
    tables = draw_network(chain, none, rng)
    # with nothing observed yet, any public choice will do: records that a scan leaves out keep it
    assigned = rng.integers(len(chain.combinations), size=len(codes))
    while True:
        n = len(codes)
        chosen = np.arange(n) if chain.updated is None else rng.choice(n, size=chain.updated, replace=False)
        assigned = assigned.copy()
        block = max(1, _MOST_NUMBERS // len(chain.combinations))
        for start in range(0, len(chosen), block):
            part = chosen[start : start + block]
            assigned[part] = choose_states(assignment_log_weights(chain, tables, codes[part]), rng)
        tables = draw_network(chain, label_counts(chain, codes, assigned), rng)
        yield HiddenNetworkState(tables, assigned)

"""Markov chains over the latent joint table of a network."""

from __future__ import annotations

from math import prod

import numpy as np

from discreet.inference.models.network.joint_table import NetworkDistribution, conditional_draws, likely_joint
from discreet.inference.record_prior import RecordPrior, closest

#: The largest joint table that chains are run over.
MOST_JOINT = 4096
# sweeps before the first draw that is kept, as a share of those that are
_BURN_IN = 0.5
_LEAST_BURN_IN = 200


def table_draws(
    distribution: NetworkDistribution,
    n_records: int | RecordPrior,
    size: int,
    chains: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return draws of all tables end to end, draws first, chain after chain.

    Parameters
    ----------
    distribution
        The posterior of the joint table.
    n_records
        The public number of records, or a prior on a private one.
    size, chains
        How many draws in all, in how many chains. Every chain begins in a table drawn from the records' distribution
        under conditional probabilities that the noisy tables make likely.
    """
    # numba takes half a second to import
    from discreet.inference.models.network.table_moves import ANY, Moves, TableState, TableTarget, walk

    structure = distribution.structure
    records = n_records if isinstance(n_records, RecordPrior) else RecordPrior()
    target = TableTarget(
        structure.cells,
        structure.rows,
        distribution.alpha,
        distribution.row_alpha,
        distribution.readings,
        distribution.slope,
        distribution.curve,
        records.low,
        ANY if records.high is None else records.high,
        np.empty(0)
        if records.weights is None
        else records.log_mass(records.low + np.arange(len(records.weights))),
    )
    moves = Moves(
        np.array([prod(structure.levels[i + 1 :]) for i in range(len(structure.levels))]),
        np.array(structure.levels),
        _width(distribution),
        isinstance(n_records, RecordPrior),
    )
    each = size // chains
    out = np.empty((chains, each, len(distribution.readings)), dtype=np.int64)
    for kept in out:
        tables = np.maximum(distribution.readings, 0)
        guess = [part[0] for part in conditional_draws(structure, distribution.alpha, tables[None], rng)]
        n = _likely_total(distribution, n_records) if isinstance(n_records, RecordPrior) else n_records
        joint = likely_joint(structure, guess, n, rng).astype(np.int64)
        tables = structure.tables(joint)
        rows = np.bincount(structure.rows, weights=tables).astype(np.int64)
        burn_in = max(_LEAST_BURN_IN, int(_BURN_IN * each))
        walk(TableState(joint, tables, rows), target, moves, burn_in, kept, rng)
    return out.reshape(chains * each, -1)


def _likely_total(distribution: NetworkDistribution, records: RecordPrior) -> int:
    """Return the possible number of records that the readings speak for, all tables having the same sum."""
    sums = [part.sum() for part in distribution.structure.split(distribution.readings)]
    return closest(records, max(1.0, round(float(np.mean(sums)))))


def _width(distribution: NetworkDistribution) -> float:
    """Return the first step of a slice: about the spread of one reading."""
    spreads = np.where(distribution.slope > 0, 1.5 / np.maximum(distribution.slope, 1e-300), 1.0)
    spreads = np.where(distribution.curve > 0, np.sqrt(0.5 / np.maximum(distribution.curve, 1e-300)), spreads)
    return float(max(1.0, spreads.mean()))

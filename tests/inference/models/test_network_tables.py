"""The latent joint table of a network, against records enumerated one by one, and moves that keep its distribution."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import chi2, t

from discreet.inference.models.network.chains import table_draws
from discreet.inference.models.network.joint_table import (
    NetworkDistribution,
    Structure,
    conditional_draws,
    likely_joint,
)
from discreet.inference.models.network.table_moves import (
    Moves,
    TableState,
    TableTarget,
    line_through,
    log_along,
    move,
    sweep,
)
from discreet.inference.record_prior import RecordPrior

DIAMOND = Structure((2, 2, 2, 2), ((), (0,), (0,), (1, 2)))
VEE = Structure((2, 3, 2), ((), (), (0, 1)))
CHAIN = Structure((2, 3, 2), ((), (0,), (1,)))


def a_distribution(
    structure: Structure, rng: np.random.Generator, kind: str = "laplace"
) -> NetworkDistribution:
    size = int(structure.offsets[-1])
    slope, curve = rng.uniform(0.1, 0.6, size), rng.uniform(0.05, 0.3, size)
    return NetworkDistribution(
        structure,
        alpha=rng.uniform(0.3, 3, size),
        readings=rng.integers(-2, 5, size),
        slope=slope if kind == "laplace" else np.zeros(size),
        curve=curve if kind == "gaussian" else np.zeros(size),
    )


def log_weight(distribution: NetworkDistribution, joint: np.ndarray) -> float:
    """Return the log of the posterior weight of one joint table, up to a constant."""
    flat = np.asarray(joint).reshape(-1)
    tables = distribution.structure.tables(flat)
    rows = np.bincount(distribution.structure.rows, weights=tables)
    away = distribution.readings - tables
    counted = gammaln(flat.sum() + 1.0) - gammaln(flat + 1.0).sum()
    records = gammaln(distribution.alpha + tables).sum() - gammaln(distribution.row_alpha + rows).sum()
    return float(
        counted + records - distribution.slope @ np.abs(away) - distribution.curve @ away.astype(float) ** 2
    )


def joint_tables(structure: Structure, n: int) -> list[np.ndarray]:
    return [
        np.bincount(cells, minlength=structure.n_joint)
        for cells in combinations_with_replacement(range(structure.n_joint), n)
    ]


def normalized(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def by_records(distribution: NetworkDistribution, n: int) -> dict[tuple[int, ...], float]:
    """Return the posterior of the tables: all sequences of records, each predicted from those before it."""
    structure = distribution.structure
    configurations = list(product(*map(range, structure.levels)))
    out: dict[tuple[int, ...], float] = {}
    for sequence in product(configurations, repeat=n):
        seen = [np.zeros(shape) for shape in structure.shapes]
        weights = [part.reshape(shape) for part, shape in zip(
            np.split(distribution.alpha, structure.offsets[1:-1]), structure.shapes, strict=True)]  # fmt: skip
        chance = 1.0
        for record in sequence:
            for node, parents in enumerate(structure.parents):
                row = tuple(record[p] for p in parents)
                counts = weights[node][row] + seen[node][row]
                chance *= counts[record[node]] / counts.sum()
                seen[node][(*row, record[node])] += 1
        tables = np.concatenate([table.reshape(-1) for table in seen])
        away = distribution.readings - tables
        chance *= np.exp(-distribution.slope @ np.abs(away) - distribution.curve @ away**2)
        key = tuple(tables.astype(int))
        out[key] = out.get(key, 0.0) + float(chance)
    mass = sum(out.values())
    return {key: value / mass for key, value in out.items()}


@pytest.mark.parametrize(
    ("structure", "kind"),
    [
        pytest.param(structure, kind, id=f"{name}-{kind}", marks=marks)
        for name, structure, usual in (
            ("diamond", DIAMOND, "laplace"),
            ("vee", VEE, "gaussian"),
            ("chain", CHAIN, "laplace"),
        )
        for kind in ("laplace", "gaussian")
        for marks in [[] if kind == usual else pytest.mark.slow]
    ],
)
def test_the_distribution_is_that_of_the_records(
    structure: Structure, kind: str, rng: np.random.Generator
) -> None:
    distribution, n = a_distribution(structure, rng, kind), 3
    expected = by_records(distribution, n)
    joints = joint_tables(structure, n)
    found = dict.fromkeys(expected, 0.0)
    for joint, chance in zip(
        joints, normalized(np.array([log_weight(distribution, j) for j in joints])), strict=True
    ):
        found[tuple(structure.tables(joint))] += chance
    worst = max(abs(found[key] - expected[key]) for key in expected)
    assert worst < 1e-10
    # control: joint tables weighted alike, as if every one could come about in as many ways
    forgetful = normalized(np.array([log_weight(distribution, j) + gammaln(j + 1.0).sum() for j in joints]))
    wrong = dict.fromkeys(expected, 0.0)
    for joint, chance in zip(joints, forgetful, strict=True):
        wrong[tuple(structure.tables(joint))] += chance
    assert max(abs(wrong[key] - expected[key]) for key in expected) > 1e-3


def start(distribution: NetworkDistribution, joint: np.ndarray) -> tuple[TableState, TableTarget]:
    structure = distribution.structure
    tables = structure.tables(joint)
    rows = np.bincount(structure.rows, weights=tables).astype(np.int64)
    target = TableTarget(
        structure.cells,
        structure.rows,
        distribution.alpha,
        distribution.row_alpha,
        distribution.readings,
        distribution.slope,
        distribution.curve,
    )
    return TableState(joint.astype(np.int64), tables, rows), target


def test_the_weight_along_a_line_is_the_distribution(rng: np.random.Generator) -> None:
    distribution = a_distribution(DIAMOND, rng)
    joint = rng.integers(3, 9, DIAMOND.n_joint)
    for signs in ([-1, 1], [-1, -1, 1, 1], [1]):
        points = rng.integers(0, DIAMOND.n_joint, len(signs))
        state, target = start(distribution, joint)
        line = line_through(points, np.array(signs), target)
        direction = np.zeros(DIAMOND.n_joint, dtype=np.int64)
        np.add.at(direction, points, signs)
        total = int(joint.sum()) if sum(signs) else 0
        along = [log_along(m, total, state, line, target) for m in (-2, 0, 1)]
        whole = [log_weight(distribution, joint + m * direction) for m in (-2, 0, 1)]
        np.testing.assert_allclose(np.diff(along), np.diff(whole), atol=1e-9)
        by = move(state, line, target, 3.0, rng)
        np.testing.assert_array_equal(state.joint, joint + by * direction)
        np.testing.assert_array_equal(state.tables, DIAMOND.tables(state.joint))


def test_moves_keep_the_distribution(rng: np.random.Generator) -> None:
    distribution, n = a_distribution(VEE, rng), 3
    joints = joint_tables(VEE, n)
    expected = normalized(np.array([log_weight(distribution, j) for j in joints]))
    where = {tuple(joint): i for i, joint in enumerate(joints)}
    moves = Moves(np.array([6, 2, 1]), np.array(VEE.levels), 2.0, False)
    # independent chains begin in the distribution and move once: the counts are then multinomial, and the test exact
    counts = np.zeros(len(joints))
    trials = 6_000
    for begin in rng.choice(len(joints), size=trials, p=expected):
        state, target = start(distribution, joints[begin])
        sweep(state, target, moves, rng)
        counts[where[tuple(state.joint)]] += 1
    order = np.argsort(expected)[::-1]
    kept = order[expected[order] * trials >= 5]
    observed = np.append(counts[kept], trials - counts[kept].sum())
    predicted = np.append(expected[kept], 1 - expected[kept].sum()) * trials
    # one of two tests of this file that share 1e-5 of the suite's false alarms
    limit = chi2.isf(1e-5, len(predicted) - 1)
    assert ((observed - predicted) ** 2 / predicted).sum() < limit
    # control: tables that came about in fewer ways than the distribution says
    forgetful = (
        normalized(np.array([log_weight(distribution, j) + gammaln(j + 1.0).sum() for j in joints])) * trials
    )
    off = np.append(forgetful[kept], trials - forgetful[kept].sum())
    assert ((observed - off) ** 2 / off).sum() > limit


@pytest.mark.parametrize("weights", [None, np.array([1.0, 0.0, 4.0])], ids=["flat", "weights"])
def test_moves_keep_the_distribution_of_a_private_number_of_records(
    weights: np.ndarray | None, rng: np.random.Generator
) -> None:
    """One to three records, and with weights one or three: as likely beforehand as the analyst says."""
    pair = Structure((2, 2), ((), (0,)))
    distribution, prior = a_distribution(pair, rng), RecordPrior(1, 3, weights)
    possible = [n for n in (1, 2, 3) if np.isfinite(prior.log_mass(np.array(n)))]
    joints = [joint for n in possible for joint in joint_tables(pair, n)]
    records = np.array([log_weight(distribution, j) + prior.log_mass(j.sum()) for j in joints])
    expected = normalized(records)
    tables = table_draws(distribution, prior, 6000, 2, rng)
    where = {tuple(pair.tables(joint)): i for i, joint in enumerate(joints)}
    at = np.array([where[tuple(one)] for one in tables])
    # draws of a chain hang together: means of 60 batches of a hundred draws
    seen = np.array([np.bincount(part, minlength=len(joints)) for part in at.reshape(60, 100)]) / 100
    off = (seen.mean(axis=0) - expected) / (seen.std(axis=0, ddof=1) / np.sqrt(60))
    kept = expected > 0.02
    limit = t.isf(1e-5 / 4 / kept.sum(), 59)
    assert np.abs(off[kept]).max() < limit
    flat = normalized(np.array([log_weight(distribution, j) for j in joints]))
    other = (seen.mean(axis=0) - flat) / (seen.std(axis=0, ddof=1) / np.sqrt(60))
    assert weights is None or np.abs(other[kept]).max() > limit


def test_conditional_draws_are_distributions(rng: np.random.Generator) -> None:
    tables = DIAMOND.tables(rng.integers(0, 4, DIAMOND.n_joint))
    drawn = conditional_draws(DIAMOND, np.ones(len(tables)), np.stack([tables] * 5), rng)
    assert [part.shape for part in drawn] == [(5, 1, 2), (5, 2, 2), (5, 2, 2), (5, 4, 2)]
    for part in drawn:
        np.testing.assert_allclose(part.sum(axis=-1), 1)
    joint = likely_joint(DIAMOND, [part[0] for part in drawn], 100, rng)
    assert joint.sum() == 100

"""Walks over several parameters: the exact loss of a step over all tables, symmetric moves, and where they lead."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource
from discreet.mechanisms.grid_walking import barker_walk
from discreet.models.layout import FINE
from discreet.priors import parse
from discreet.privacy.costs.chain_updates import barker_distribution, gibbs_distribution
from discreet.privacy.costs.grid_walk import GridWalk
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.privacy.costs.scored_points import SCALE_BITS
from discreet.privacy.costs.simplex_walk import SimplexWalk, simplex_walk

STEP = float(1 << SCALE_BITS)
DOMAIN = dc.Normal().read_domain((-2, 3), "clip", "none")
SUPPORT = ((Fraction(-1), Fraction(2)), (Fraction(1, 2), Fraction(4)))
ALARM = 1e-5


def bell(cells: int = 5, width: int = 2) -> GridWalk:
    prior = parse("normal_inverse_gamma:0,1,2,2")
    return GridWalk(ParameterGrid(dc.Normal(), DOMAIN, prior, SUPPORT, cells), width)


def shares(cells: int = 12, width: int = 3) -> SimplexWalk:
    return simplex_walk(
        np.array([2.0, 1.0, 1.5]), [Fraction(1, 12), Fraction(1, 6), Fraction(1, 12)], cells, width
    )


def states_of(walk: Any) -> list[Any]:
    if isinstance(walk, GridWalk):
        return list(range(walk.grid.log_base.size))
    parts = product(range(walk.cells + 1), repeat=3)
    return [state for state in parts if walk.holds(state)]


def moves_of(walk: Any) -> list[Any]:
    """Every proposal, each as often as it is likely."""
    steps = [*range(-walk.width, 0), *range(1, walk.width + 1)]
    if isinstance(walk, GridWalk):
        return [np.array(offset) for s in steps for offset in ((s, 0), (0, s))]
    pairs = [(i, j) for i, j in product(range(3), repeat=2) if i != j]
    return [s * (np.eye(3, dtype=int)[j] - np.eye(3, dtype=int)[i]) for s in steps if s > 0 for i, j in pairs]


def records_of(walk: Any) -> list[list[Fraction]]:
    """Features of single records, rounded as the private side does."""
    if isinstance(walk, SimplexWalk):
        return [[Fraction(int(i == j)) for j in range(3)] for i in range(3)]
    z = np.linspace(-1, 1, 9)
    return [[Fraction(int(np.floor(v**k / FINE + 0.5))) * FINE for k in (1, 2)] for v in z]


@pytest.mark.parametrize("walk", [bell(), shares()], ids=["normal", "labels"])
def test_no_step_costs_more_than_its_range_accepted_or_rejected(walk: Any) -> None:
    """Every state, proposal and replaced record, of tables of one record and of many alike."""
    records, worst = records_of(walk), 0.0
    claimed = float(walk.range())
    for rest, n in product(records, (0, 60)):
        tables = [
            walk.scores([n * a + b for a, b in zip(rest, one, strict=True)], n + 1, Fraction(1))
            for one in records
        ]
        for at in states_of(walk):
            for move in moves_of(walk):
                to = walk.moved(at, move)
                if to is None:
                    continue
                odds = np.array([(scores[to] - scores[at]) / STEP for scores in tables])
                logs = np.log(np.maximum(barker_distribution(odds), 1e-300))
                worst = max(worst, float(np.ptp(logs, axis=0).max()))
    assert 0.95 * claimed < worst <= claimed + 1e-9
    # control: half of the range is not enough
    assert worst > claimed / 2


@pytest.mark.parametrize("walk", [bell(), shares()], ids=["normal", "labels"])
def test_updates_leave_their_distribution_alone(walk: Any) -> None:
    states = states_of(walk)
    place = {state: i for i, state in enumerate(states)}
    table = (
        [Fraction(3), Fraction(4), Fraction(2)]
        if isinstance(walk, SimplexWalk)
        else [Fraction(2), Fraction(5)]
    )
    scores = walk.scores(table, 9, Fraction(1, 2))
    values = np.array([scores[state] for state in states]) / STEP
    distribution, moves = gibbs_distribution(values), moves_of(walk)
    kernel = np.zeros((len(states),) * 2)
    for at, move in product(states, moves):
        to = walk.moved(at, move)
        accept = 0.0 if to is None else float(barker_distribution(values[place[to]] - values[place[at]])[0])
        kernel[place[at], place[at]] += (1 - accept) / len(moves)
        if to is not None:
            kernel[place[at], place[to]] += accept / len(moves)
    assert distribution @ kernel == pytest.approx(distribution, rel=1e-9)
    assert (np.linalg.matrix_power(kernel + 1e-300, 400) > 0).all()


def test_proposals_are_those_that_were_enumerated(rng: np.random.Generator) -> None:
    for walk in (bell(), shares()):
        drawn = [tuple(int(v) for v in row) for row in walk.propose(6000, rng)]
        wanted = [tuple(int(v) for v in np.atleast_1d(move)) for move in moves_of(walk)]
        counts = [drawn.count(move) for move in wanted]
        assert sum(counts) == 6000
        assert stats.chisquare(counts).pvalue > ALARM


def test_a_long_walk_over_labels_has_its_tempered_posterior(rng: np.random.Generator) -> None:
    walk, states = shares(), states_of(shares())
    scores = walk.scores([Fraction(9), Fraction(20), Fraction(4)], 33, Fraction(1, 3))
    distribution = gibbs_distribution(np.array([scores[state] for state in states]) / STEP)
    source = RandomSource.seeded(rng)
    path = barker_walk(walk, scores, walk.start(source), walk.propose(12_000, rng), source)[29::30]
    place = {state: i for i, state in enumerate(states)}
    counts = np.bincount([place[state] for state in path], minlength=len(states))
    order = np.argsort(distribution)
    groups = np.array_split(order, 8)
    seen, expected = [counts[g].sum() for g in groups], np.array([distribution[g].sum() for g in groups])
    assert stats.chisquare(seen, expected * sum(seen)).pvalue > ALARM


RELEASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "normal": (
        dc.Normal(),
        "normal_inverse_gamma:0,1,2,2",
        {"mean": (-1, 2), "variance": ("0.5", 4)},
        (-2, 3),
    ),
    "labels": (
        dc.Categorical(["a", "b", "c"]),
        "dirichlet:1,1,1",
        {"a": "0.05", "b": "0.1", "c": "0.05"},
        None,
    ),
}


def released(name: str, **more: Any) -> dc.Release:
    model, prior, support, bounds = RELEASES[name]
    how: dict[str, Any] = {"epsilon": 2, "steps": 6, "support": support, "cells": 32, **more}
    data = [0.5, -1.0, 2.0] * 10 if bounds else ["a", "b", "c"] * 10
    source = RandomSource.seeded(np.random.default_rng(1))
    walking = dc.mechanisms.PrivateMetropolis(prior, **how)
    return sample_with(source, data, model, walking, bounds=bounds, missing="none")


@pytest.mark.parametrize("name", RELEASES)
def test_files_are_read_back_and_forgeries_refused(name: str) -> None:
    release = released(name)
    assert dc.Release.from_json(release.to_json()) == release
    assert release.guarantee == dc.PureDP(2)
    assert release.samples is not None
    assert dc.infer(release).diagnostics.independent is False
    from dataclasses import replace

    record = release.sampling_record
    for altered in (
        replace(record, parameters={**record.parameters, "temperature": Fraction(1)}),
        replace(record, parameters={**record.parameters, "width": Fraction(9)}),
        replace(record, parameters={**record.parameters, "range": record.parameters["range"] / 2}),
        replace(record, parameters={**record.parameters, "cells": Fraction(31)}),
    ):
        with pytest.raises(ReleaseFileError):
            dc.Release.from_json(replace(release, mechanism=altered).to_json())


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("labels", {"support": "0.4"}, "below 1/3|sum to less than 1"),
        ("labels", {"cells": 2}, "take more cells|do not hold"),
        ("labels", {"rejection": dc.mechanisms.WorstCaseRejection("0.01", "x")}, "one parameter only"),
        ("normal", {"rejection": dc.mechanisms.WorstCaseRejection("0.01", "x")}, "one parameter only"),
        ("normal", {"support": (0, 1)}, "pair"),
        ("normal", {"temperature": 2}, "more than epsilon=2"),
    ],
)
def test_bad_input(name: str, how: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        released(name, **how)
    assert "\n" not in refused.value.message

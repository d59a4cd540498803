"""The marginal likelihood of private annealing: its sensitivity, its reading, and how often its interval holds."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, logsumexp
from scipy.stats import binom

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.cli import run
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource
from discreet.mechanisms.private_annealing import log_mean_steps, log_weight
from discreet.privacy.costs.annealing_path import WEIGHT_STEPS, AnnealingPath
from discreet.privacy.costs.chain_updates import gibbs_distribution
from discreet.privacy.costs.grid_walk import GridWalk
from discreet.privacy.costs.parameter_grid import ParameterGrid

Annealing = dc.mechanisms.PrivateAnnealing
COINS: dict[str, Any] = {
    "support": (0.3, 0.7),
    "levels": 8,
    "trajectories": 4,
    "spacing": "doubling",
    "cells": 64,
}
BELL: dict[str, Any] = {
    "support": {"mean": (30, 70), "variance": (60, 400)},
    "levels": 6,
    "trajectories": 3,
    "spacing": "doubling",
    "cells": 16,
}
MODELS: dict[str, tuple[Any, str, dict[str, Any], Any, int]] = {
    "bernoulli": (dc.Bernoulli(), "beta:2,3", {**COINS, "epsilon": 6, "evidence_epsilon": 1}, None, 200),
    "normal": (
        *(dc.Normal(), "normal_inverse_gamma:50,1,3,400"),
        *({**BELL, "epsilon": 12, "evidence_epsilon": 4}, (0, 100), 150),
    ),
}


def grid_of(name: str) -> ParameterGrid:
    model, prior, how, bounds, _ = MODELS[name]
    domain = model.read_domain(bounds, "clip", "none")
    record = Annealing(prior, **how).check(model, domain)
    return ParameterGrid(model, domain, record.conjugate, record.support or (), how["cells"])


def true_log_z(grid: ParameterGrid, sums: np.ndarray, n: int, power: float) -> float:
    slopes, levels = grid.tables
    log_prior = grid.log_base - logsumexp(grid.log_base)
    return float(np.asarray(logsumexp(log_prior + power * (slopes @ sums + n * levels))))


def one_run(
    name: str, grid: ParameterGrid, rng: np.random.Generator, **more: Any
) -> tuple[float, dc.Release, float]:
    """A parameter from the prior, a table of it, its release, the power and the true log Z."""
    model, prior, how, bounds, n = MODELS[name]
    how = {**how, **more}
    point = rng.choice(grid.log_base.size, p=gibbs_distribution(grid.log_base))
    x = np.asarray(model.sample({k: v[point] for k, v in grid.points.items()}, n, rng))
    release = sample_with(
        RandomSource.seeded(rng), x, model, Annealing(prior, **how), bounds=bounds, missing="none"
    )
    numbers, path = release.sampling_record.parameters, release.sampling_record.paths["epsilons"]
    power = float(path[-1] / numbers["range"])
    if bounds is None:
        sums = np.array([2.0 * x.sum() - n])
    else:
        z = (np.clip(x, *bounds) - 50) / 50
        sums = np.array([z.sum(), (z**2).sum()])
    return power, release, true_log_z(grid, sums, n, power)


def holding(name: str, runs: int, seed: int) -> int:
    """How many of the 95% intervals hold the true value."""
    rng, grid, held = np.random.default_rng(seed), grid_of(name), 0
    for _ in range(runs):
        _, release, truth = one_run(name, grid, rng)
        low, high = dc.log_evidence(release, rng=rng).interval()
        held += low <= truth <= high
    return held


@pytest.mark.parametrize("name", MODELS)
def test_a_few_intervals_hold_the_true_value(name: str) -> None:
    held = holding(name, 6, seed=1)
    assert binom.cdf(held, 6, 0.95) > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_intervals_hold_the_true_value_in_500_runs(name: str) -> None:
    held = holding(name, 500, seed=2)
    print(f"{name}: {held} of 500")
    assert binom.cdf(held, 500, 0.95) > 5e-4
    assert binom.sf(held - 1, 500, 0.95) > 5e-4


def test_noise_alone_does_not_explain_the_error() -> None:
    """Control: intervals of the Laplace noise around the published number miss: few trajectories fall short."""
    rng, grid, held = np.random.default_rng(3), grid_of("bernoulli"), 0
    for _ in range(40):
        _, release, truth = one_run("bernoulli", grid, rng, levels=3, spacing="equal")
        assert release.samples is not None
        numbers, path = (
            release.sampling_record.parameters,
            AnnealingPath(release.sampling_record.paths["epsilons"]),
        )
        scale = path.evidence_sensitivity(numbers["change"], numbers["range"]) / numbers["evidence_epsilon"]
        half = float(scale) * np.log(20)
        held += abs(release.samples.noisy["log_evidence"][0] - truth * WEIGHT_STEPS) <= half
    assert binom.cdf(held, 40, 0.95) < 1e-3


def test_the_power_is_1_where_the_budget_pays_for_it_and_the_grid_is_near_the_integral() -> None:
    rng, grid = np.random.default_rng(4), grid_of("bernoulli")
    power, _, _ = one_run("bernoulli", grid, rng)
    assert power == 1
    ends = Fraction(1, 10**6), 1 - Fraction(1, 10**6)
    fine = ParameterGrid(grid.family, grid.domain, dc.priors.Beta(1, 1), (ends,), 4096)
    # 60 ones of 100 under a uniform prior: the beta function
    assert true_log_z(fine, np.array([20.0]), 100, 1.0) == pytest.approx(betaln(61, 41), abs=1e-3)


def changes(support: tuple[str, str], n: int) -> tuple[GridWalk, AnnealingPath, float]:
    """The largest change of the published number before noise, over neighboring tables and given trajectories."""
    family = dc.Bernoulli()
    domain = family.read_domain(None, "clip", "none")
    grid = ParameterGrid(family, domain, dc.priors.Beta(1, 1), (tuple(map(Fraction, support)),), 8)  # pyright: ignore[reportArgumentType]
    walk, path = GridWalk(grid, 2), AnnealingPath.linear(4, grid.range())
    worst = 0
    for runs in ([[0] * 3, [0] * 3], [[7] * 3, [7] * 3], [[0] * 3, [7] * 3], [[3, 5, 7], [6, 7, 7]]):
        steps = []
        for ones in range(n + 1):
            tables = [walk.scores([Fraction(2 * ones - n)], n, power) for power in path.powers(grid.range())]
            steps.append(log_mean_steps([log_weight(tables, run) for run in runs]))
        worst = max(worst, *(abs(a - b) for a, b in pairwise(steps)))
    return walk, path, worst


def test_one_record_moves_the_evidence_by_its_sensitivity() -> None:
    walk, path, worst = changes(("0.6", "0.95"), 9)
    claimed = path.evidence_sensitivity(walk.grid.change(), walk.grid.range())
    assert 0.999 * float(claimed) < worst <= claimed
    # control: the range, which is what draws cost, leaves out what is common to all parameters
    assert worst > path.evidence_sensitivity(walk.grid.range(), walk.grid.range())


def released(**more: Any) -> dc.Release:
    how: dict[str, Any] = {**COINS, "cells": 16, "epsilon": 4, **more}
    return sample_with(
        RandomSource.seeded(np.random.default_rng(0)),
        np.array([0, 1, 1, 0, 1] * 6),
        dc.Bernoulli(),
        Annealing("beta:1,1", **how),
        missing="none",
    )


def test_ends_and_weights_are_published_and_read_by_weight() -> None:
    release = released(weights="laplace", weights_epsilon=1, evidence_epsilon=1)
    samples = dc.Release.from_json(release.to_json()).samples
    assert samples is not None
    assert samples.count == len(samples.noisy["weights"]) == 4
    assert len(dc.infer(release).draws["p"]) == 1000


FORGED: dict[str, Any] = {
    "no evidence": lambda b: b["samples"]["noisy"].pop("log_evidence"),
    "two of it": lambda b: b["samples"]["noisy"].update(log_evidence=["1", "2"]),
    "free": lambda b: b["mechanism"]["parameters"].update(evidence_epsilon="0"),
    "dearer": lambda b: b["mechanism"]["parameters"].update(evidence_epsilon="3"),
    "a smaller change": lambda b: b["mechanism"]["parameters"].update(change="1/10"),
    "fewer weights": lambda b: b["samples"]["noisy"].update(weights=["1", "2"]),
    "other numbers": lambda b: b["samples"]["noisy"].update(rows=["1"]),
    "a path that begins above 0": lambda b: b["mechanism"]["paths"].update(epsilons=["1/100", "1/10", "1/5"]),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_forged_evidence_is_refused(forgery: str) -> None:
    body = json.loads(released(weights="laplace", weights_epsilon=1, evidence_epsilon=1).to_json())
    FORGED[forgery](body)
    del body["sha256"]
    with pytest.raises(ReleaseFileError):
        dc.Release.from_json(json.dumps({**body, "sha256": checksum(body)}))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"evidence_epsilon": 4}, "leave something"),
        ({"evidence_epsilon": 0}, "must be positive"),
        ({"evidence_epsilon": 1, "path": ["0.1", "0.2"]}, "begin at 0"),
        ({"weights": "laplace", "samples": 3}, "leave out samples"),
        ({"spacing": "wide"}, "spacing"),
    ],
)
def test_bad_arguments(how: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        released(**how)
    assert "\n" not in refused.value.message


def test_comparing_priors_and_refusals() -> None:
    one = dc.log_evidence(released(evidence_epsilon=1), rng=1)
    assert one.compare(one).median == 0
    other = dc.log_evidence(released(evidence_epsilon="1", path=[0, "0.5"]), rng=1)
    for wrong in (lambda: one.compare(other), lambda: dc.log_evidence(released())):
        with pytest.raises(UsageError) as refused:
            wrong()
        assert "\n" not in refused.value.message


def test_command_line(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("coins.csv").write_text("heads\n" + "yes\nno\nyes\n" * 20)
    common = (
        "release coins.csv -m bernoulli -c heads --mechanism private-annealing --support=0.3,0.7 --impute no"
    )
    common += " --epsilon 4 --with evidence_epsilon=1 --with path=0,0.05,0.1,0.2 --with cells=16"
    for name, prior in {"a.json": "beta:1,1", "b.json": "beta:30,60"}.items():
        assert run([*common.split(), "--prior", prior, "-o", name]) == 0
    capsys.readouterr()
    assert run(["evidence", "a.json", "b.json", "--seed", "1", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["evidence"]
    assert [one["of"] for one in printed] == ["beta:1,1", "beta:30,60", "beta:1,1 against beta:30,60"]
    assert run([*common.split(), "--prior", "beta:1,1", "-o", "c.json", "--with", "levles=3"]) == 2
    assert run([*common.split(), "--prior", "beta:1,1", "-o", "c.json", "--with", "levels"]) == 2
    assert "--with NAME=VALUE" in capsys.readouterr().err

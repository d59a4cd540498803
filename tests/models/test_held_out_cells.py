"""Cells that are held out, what they and the next steps are expected to hold, and how many states predict them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import multivariate_normal
from typer.testing import CliRunner

import discreet as dc
from discreet.artifact import Release
from discreet.cli.app import app
from discreet.curator.publish import release_with
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.models.hidden_markov import hidden_markov_engine
from discreet.inference.models.hidden_markov.held_out import _normal_score
from discreet.inference.models.hidden_markov.noisy_cells import Noisy, SequenceCells
from discreet.inference.models.hidden_markov.reading import with_hidden_cells
from discreet.inference.posterior import Posterior
from discreet.models import HiddenMarkov
from discreet.models.registry import build

PLACE: dict[str, Any] = {"chain": {"region": ["north", "south"]}, "time": {"month": ["1", "2", "3", "4"]}}
FEATURES = {"type": ["a", "b", "c"], "hurt": ["no", "yes"]}


def model(states: int = 2, **changes: Any) -> HiddenMarkov:
    return HiddenMarkov(states, **{**PLACE, "features": FEATURES, **changes})


def drawn(of: HiddenMarkov, rng: np.random.Generator, size: int = 4) -> Posterior:
    k = of.states
    draws: dict[str, np.ndarray] = {
        feature.name: rng.dirichlet(np.ones(feature.n_labels), (size, k)) for feature in of.features
    }
    draws["transition"] = rng.dirichlet(np.ones(k), (size, k + 1))
    draws["states"] = rng.integers(1, k + 1, size=(size, of.n_sequences, of.time.n_labels))
    return Posterior(draws, Diagnostics("gibbs"), model=of)


def rows(rng: np.random.Generator, n: int = 800) -> dict[str, np.ndarray]:
    month = rng.integers(4, size=n)
    late = month > 1
    return {
        "region": np.array(["north", "south"])[rng.integers(2, size=n)],
        "month": np.array(["1", "2", "3", "4"])[month],
        "type": np.where(late, rng.choice(["a", "b", "c"], n, p=[0.8, 0.1, 0.1]), rng.choice(["b", "c"], n)),
        "hurt": np.where(rng.random(n) < np.where(late, 0.1, 0.7), "yes", "no"),
    }


def release_of(of: HiddenMarkov, rng: np.random.Generator, **how: Any) -> Release:
    def noise(distribution: Any) -> int:
        return int(distribution.sample(1, rng)[0])

    return release_with(noise, rows(rng), of, dc.mechanisms.Laplace(4.0), **how)


def test_which_cells_and_that_they_change_nothing_of_the_release() -> None:
    every = model(held_out=["4"])
    assert every.held_out == ((0, 3), (1, 3))
    some = model(held_out={"south": ["2", "1"]})
    assert some.held_out == ((1, 0), (1, 1))
    assert build("hidden_markov", some.constants()) == some
    assert "held_out" not in model().constants()
    assert some.tables() == model().tables()
    assert some.revised(states=3).held_out == some.held_out
    assert some.revised(held_out={}) == model()
    assert model(chain=None, held_out={"all": ["3"]}) == model(chain=None, held_out=["3"])


@pytest.mark.parametrize(
    ("held_out", "words"),
    [
        (["5"], "not declared"),
        ({"east": ["1"]}, "sequence 'east'"),
        ({"north": "1"}, "times by sequence"),
        ("1", "times by sequence"),
        ([1], "not declared"),
        (["1", "2", "3", "4"], "no cell"),
        (3, "times by sequence"),
    ],
)
def test_cells_that_make_no_sense(held_out: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        model(held_out=held_out)


def test_a_file_with_hostile_cells() -> None:
    good = model(held_out=["4"]).constants()
    for bad in ({}, ["4"], None, {"north": ["9"]}, {"north": [["4"]]}):
        with pytest.raises((ValueError, UsageError)):
            build("hidden_markov", {**good, "held_out": bad})


@pytest.mark.parametrize("cell", [("north", "1"), ("north", "3"), ("south", "4")])
def test_entries_of_a_held_out_cell_share_a_state_between_its_neighbors(
    cell: tuple[str, str], rng: np.random.Generator
) -> None:
    of = model(3, held_out={cell[0]: [cell[1]]})
    posterior = drawn(of, rng)
    kinds, hurts = ["a", "c", "a", None], ["no", None, "yes", "yes"]
    table = {"region": [cell[0]] * 4, "month": [cell[1]] * 4, "type": kinds, "hurt": hurts}
    s, t = PLACE["chain"]["region"].index(cell[0]), int(cell[1]) - 1
    total = 0.0
    for d in range(posterior.n_draws):
        x = {name: values[d] for name, values in posterior.draws.items()}
        path = x["states"][s] - 1
        weight = np.empty(3)
        for k in range(3):
            new = path.copy()
            new[t] = k
            steps = [
                x["transition"][3, new[0]],
                *(x["transition"][a, b] for a, b in pairwise(new)),
            ]
            weight[k] = np.prod(steps)
        entries = [
            np.prod([x["type"][k, "abc".index(one)] for one in kinds if one])
            * np.prod([x["hurt"][k, int(one == "yes")] for one in hurts if one])
            for k in range(3)
        ]
        total += float(weight / weight.sum() @ np.array(entries))
    found = posterior.log_predictive(table)
    assert found == {cell: pytest.approx(np.log(total / posterior.n_draws), rel=1e-12)}
    # rows one by one would each have a state of their own
    assert abs(found[cell] - posterior.log_likelihood(table).sum()) > 1e-3


def test_a_cell_that_was_read_has_the_drawn_state(rng: np.random.Generator) -> None:
    posterior = drawn(model(3, held_out=["4"]), rng)
    one = {"region": ["north"], "month": ["2"], "type": ["b"]}
    assert posterior.log_predictive(one)["north", "2"] == pytest.approx(posterior.log_likelihood(one)[0])
    for bad in ({"region": ["north"], "month": ["9"]}, {"region": [], "month": []}):
        with pytest.raises(UsageError, match="declared sequence and time"):
            posterior.log_predictive(bad)
    with pytest.raises(UsageError, match="hidden Markov"):
        Posterior({"p": np.ones(3)}, Diagnostics("exact"), model=dc.Bernoulli()).log_predictive(one)


def test_forecasts_are_the_enumerated_ones(rng: np.random.Generator) -> None:
    posterior = drawn(model(3), rng, size=5)
    found = posterior.forecast(3, rng=rng)
    expected = np.zeros((2, 3, 3))
    for d, s in product(range(5), range(2)):
        last = posterior.draws["states"][d, s, -1] - 1
        for path in product(range(3), repeat=3):
            p = np.prod(
                [posterior.draws["transition"][d, a, b] for a, b in zip((last, *path), path, strict=False)]
            )
            for t, k in enumerate(path):
                expected[s, t, k] += p / 5
    assert found.probabilities == pytest.approx(expected, rel=1e-12)
    assert found.steps == ("+1", "+2", "+3")


def test_drawn_paths_and_counts_follow_their_probabilities(rng: np.random.Generator) -> None:
    one = drawn(model(2), rng, size=1)
    size = 20_000
    many = Posterior(
        {name: np.repeat(x, size, axis=0) for name, x in one.draws.items()},
        Diagnostics("gibbs"),
        model=one.model,
    )
    found = many.forecast(2, entries=7, rng=rng)
    share = (found.paths == 1).mean(axis=0)
    # 4 cells at five standard errors: one false alarm in 400,000
    assert share == pytest.approx(found.probabilities[..., 0], abs=5 * 0.5 / size**0.5)
    for feature in ("type", "hurt"):
        assert (found.counts[feature].sum(axis=-1) == 7).all()
        mean = found.counts[feature].mean(axis=0)
        assert mean == pytest.approx(7 * found.shares(feature).mean(axis=0), abs=5 * 7 * 0.5 / size**0.5)
    low, high = found.interval("type", 0.9)
    held = ((found.counts["type"] >= low) & (found.counts["type"] <= high)).mean(axis=0)
    assert (held >= 0.9 - 1e-12).all()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"ahead": 0}, "ahead"),
        ({"ahead": 10**6}, "ahead"),
        ({"entries": 0}, "entries"),
        ({"entries": 1.5}, "entries"),
    ],
)
def test_forecasts_that_make_no_sense(bad: dict[str, Any], words: str, rng: np.random.Generator) -> None:
    with pytest.raises(UsageError, match=words):
        drawn(model(), rng).forecast(**bad)
    with pytest.raises(UsageError, match="feature must be"):
        drawn(model(), rng).forecast().shares("month")


def test_scores_are_of_the_normal_distribution_with_the_noise_in_it(rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.ones(3), (2, 2))
    y, n, variance = np.array([5.0, -2.0, 9.0]), 11.0, np.array([4.0, 4.0, 9.0])
    found = _normal_score(y, n, p, variance)
    for d, k in product(range(2), range(2)):
        cov = n * (np.diag(p[d, k]) - np.outer(p[d, k], p[d, k])) + np.diag(variance)
        law: Any = multivariate_normal
        assert found[d, k] == pytest.approx(law.logpdf(y, n * p[d, k], cov))


def test_entries_in_hidden_cells_are_shared_out_like_all_others() -> None:
    """Five entries in two observed and three hidden cells, all ways equally likely: how many are observed."""
    cells = SequenceCells(np.ones((5, 2)), (2,), 1, 5, observed=np.array([True, True, False, False, False]))
    found = with_hidden_cells(Noisy(np.full(2, 3.0), False), cells, 5, 3)
    ways = [sum(1 for c in product(range(6), repeat=5) if sum(c) == 5 and c[0] + c[1] == m) for m in range(6)]
    m = np.arange(found.low, found.low + len(found.log_prior))
    observed_ways = gammaln(m + 2) - gammaln(m + 1.0)
    # the sampler multiplies by the ways of the observed cells itself
    p = np.exp(found.log_prior + observed_ways)
    assert m.tolist() == list(range(6))
    assert p == pytest.approx(np.array(ways))


def test_held_out_cells_are_not_read_and_states_are_compared(
    rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(hidden_markov_engine._BURN_IN, "gibbs", 300)
    release = release_of(model(held_out={"north": ["3"], "south": ["4"]}), rng)
    other = {**release.model.constants()}
    file = tmp_path / "hidden.json"
    release.save(file)
    assert Release.load(file).model.constants() == other
    posterior = dc.infer(release, draws=40, chains=1, rng=1)
    values = list(release.totals.values)
    # cell (north, 3) of the first table: three labels and one for missing values
    begin = 2 * 4
    values[begin : begin + 3] = [9000, -9000, 40]
    changed = replace(release, statistics=replace(release.totals, values=tuple(values)))
    again = dc.infer(changed, draws=40, chains=1, rng=1)
    assert (again.draws["type"] == posterior.draws["type"]).all()
    found = dc.validation.compare_states(release, [1, 2], draws=40, chains=1, rng=2)
    assert found.best == 2
    assert found.cells == (("north", "3"), ("south", "4"))
    assert found.scores.shape == (2, 2)
    outcome = CliRunner().invoke(
        app,
        ["forecast", str(file), "--ahead", "2", "--draws", "40", "--chains", "1", "--seed", "1", "--json"],
    )
    assert outcome.exit_code == 0, outcome.output
    content = json.loads(outcome.stdout)
    assert len(content["rows"]) == 2 * 2 * (2 + 3 + 2)
    outcome = CliRunner().invoke(
        app, ["states", str(file), "--try", "1,2", "--draws", "40", "--chains", "1", "--seed", "2", "--json"]
    )
    assert json.loads(outcome.stdout)["chosen"] == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [({"states": []}, "states"), ({"states": [0]}, "states"), ({"held_out": {"north": ["1"]}}, "one has no")],
)
def test_comparisons_that_make_no_sense(asked: dict[str, Any], words: str, rng: np.random.Generator) -> None:
    with pytest.raises(UsageError, match=words):
        dc.validation.compare_states(release_of(model(), rng), **asked)


def test_pictures(rng: np.random.Generator, tmp_path: Path) -> None:
    found = drawn(model(2), rng, size=40).forecast(2, entries=20, rng=1)
    found.plot(tmp_path / "forecast.png", sequence="south")
    assert (tmp_path / "forecast.png").stat().st_size > 5000
    with pytest.raises(UsageError, match="sequence must be"):
        found.plot(sequence="west")
    assert "north +1 state 1" in found.summary()
    assert len(found.to_pandas()) == 2 * 2 * 7

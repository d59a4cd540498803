"""The declaration of hidden Markov models, their releases, and reading them back through the public verbs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.errors import UsageError
from discreet.models import HiddenMarkov
from discreet.models.registry import build

PLACE: dict[str, Any] = {"chain": {"region": ["north", "south"]}, "time": {"month": ["1", "2", "3"]}}
FEATURES = {"type": ["a", "b", "c"], "hurt": ["no", "yes"]}


def model(states: int = 2, **changes: Any) -> HiddenMarkov:
    return HiddenMarkov(states, **{**PLACE, "features": FEATURES, **changes})


def rows(rng: np.random.Generator, n: int = 600) -> dict[str, np.ndarray]:
    """A change between the first month and the others, in both regions."""
    month = rng.integers(3, size=n)
    late = month > 0
    return {
        "region": np.array(["north", "south"])[rng.integers(2, size=n)],
        "month": np.array(["1", "2", "3"])[month],
        "type": np.where(late, rng.choice(["a", "b", "c"], n, p=[0.8, 0.1, 0.1]), rng.choice(["b", "c"], n)),
        "hurt": np.where(rng.random(n) < np.where(late, 0.1, 0.7), "yes", "no"),
    }


def release_of(
    data: Any, of: HiddenMarkov, rng: np.random.Generator, epsilon: float = 4.0, **how: Any
) -> Release:
    return release_with(lambda law: int(law.sample(1, rng)[0]), data, of, dc.LaplaceMechanism(epsilon), **how)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"states": 0}, "positive whole number"),
        ({"states": 7}, "6 cells"),
        ({"chain": {"region": ["north", "north"]}}, "twice|repeat"),
        ({"chain": {"region": ["n", "s"], "zone": ["m", "o"]}}, "one column"),
        ({"time": {"region": ["1", "2"]}}, "declared twice"),
        ({"features": {}}, "at least one column"),
        ({"features": {"age": (0, 99)}}, "labels"),
        ({"features": {"states": ["a", "b"]}}, "may not be called"),
        ({"split": {"type": 1}}, "every feature"),
        ({"split": {"type": 1, "hurt": 0}}, "positive"),
    ],
)
def test_declarations_that_make_no_sense(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        model(**changes)


def test_a_column_that_is_not_there(rng: np.random.Generator) -> None:
    data = rows(rng)
    del data["month"]
    with pytest.raises(dc.errors.DiscreetError, match="month"):
        dc.release(data, model(), epsilon=1)


@pytest.mark.parametrize(("neighbors", "factor"), [("replace", 2), ("add_remove", 1)])
def test_noise_follows_the_joint_sensitivity_or_the_split(
    neighbors: Any, factor: int, rng: np.random.Generator
) -> None:
    joint = release_of(rows(rng), model(), rng, neighbors=neighbors)
    assert joint.layout.l1_sensitivity == factor * 2
    assert {float(scale) for scale in joint.noise_record.scale} == {factor * 2 / 4.0}
    # as in print: epsilon_d for each feature, scale 2 / epsilon_d, and epsilon is their sum
    split = release_of(rows(rng), model(split={"type": 3, "hurt": 1}), rng, neighbors=neighbors)
    n_type = (2 + 1) * (3 + 1) * (3 + 1)
    scales = np.array(split.noise_record.scale, dtype=float)
    assert scales[:n_type] == pytest.approx(factor / 3.0)
    assert scales[n_type:] == pytest.approx(factor / 1.0)


def test_one_record_changes_two_cells_of_each_table(rng: np.random.Generator) -> None:
    """Whatever the record holds, the change stays within the declared sensitivity; attained by some pair."""
    of, data = model(), rows(rng, 50)

    def exact(columns: dict[str, Any]) -> np.ndarray:
        return np.array(release_with(lambda law: 0, columns, of, dc.LaplaceMechanism(1)).totals.values)

    base, largest = exact(data), 0
    for other in (("south", "3", "c", "yes"), ("east", "9", None, "?"), ("north", None, "a", "no")):
        changed = {name: values.astype(object) for name, values in data.items()}
        for name, value in zip(changed, other, strict=True):
            changed[name][0] = value
        change = int(np.abs(exact(changed) - base).sum())
        assert change <= of.layout(release_of(data, of, rng).domain, "replace").l1_sensitivity
        largest = max(largest, change)
    assert largest == 4


def test_files_round_trip_and_hostile_ones_are_refused(rng: np.random.Generator) -> None:
    release = release_of(rows(rng), model(split={"type": "1/3", "hurt": "2/3"}), rng)
    again = Release.from_json(release.to_json())
    assert again.model == release.model == model(split={"type": 1, "hurt": 2})
    assert again.model.split == (Fraction(1, 3), Fraction(2, 3))
    good = model().constants()
    for part, value in [
        ("states", "2"),
        ("states", 10**9),
        ("chain", []),
        ("time", {"name": "month", "bounds": ["0", "1"]}),
        ("features", []),
        ("features", "abc"),
        ("split", ["1/2"]),
        ("split", ["1/2", "-1"]),
        ("split", [1, 2]),
    ]:
        with pytest.raises((ValueError, UsageError)):
            build("hidden_markov", {**good, part: value})
    with pytest.raises(ValueError, match="nothing else"):
        build("hidden_markov", {**good, "more": 1})


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("missing", ["count", "none"])
def test_release_to_posterior(neighbors: Any, missing: Any, rng: np.random.Generator) -> None:
    data = rows(rng)
    if missing == "count":
        data["type"] = data["type"].astype(object)
        data["type"][:20] = None
        data["month"][20:30] = "13"
    release = release_of(data, model(), rng, neighbors=neighbors, missing=missing)
    posterior = dc.infer(release, draws=200, chains=2, rng=rng)
    assert posterior.diagnostics.engine == "gibbs"
    mean = posterior.mean()
    assert mean["type"].shape == (2, 3)
    assert np.allclose(posterior.draws["type"].sum(axis=-1), 1)
    # the frequent state, two months of three, is number 1
    assert (mean["states"][:, 0] > 1.7).all()
    assert (mean["states"][:, 1:] < 1.3).all()
    assert mean["type"][0, 0] == pytest.approx(0.8, abs=0.12)
    assert mean["hurt"][1, 1] == pytest.approx(0.7, abs=0.15)
    likely = posterior.log_likelihood({"region": ["north", "north"], "month": ["2", "2"], "type": ["a", "b"]})
    assert likely[0] > likely[1] + 1
    # a row without a place, or without labels, says nothing
    assert posterior.log_likelihood({"region": ["east"], "month": ["2"], "type": ["a"]}) == pytest.approx(
        0, abs=1e-12
    )
    naive = dc.infer(release, engine="naive", draws=200, chains=2, rng=rng)
    assert "noise is ignored" in naive.diagnostics.warnings[0]
    assert "states[north, 1]" in naive.scalars()


def test_one_sequence(rng: np.random.Generator) -> None:
    data = rows(rng)
    single = model(chain=None)
    release = Release.from_json(release_of(data, single, rng).to_json())
    assert release.model == single
    posterior = dc.infer(release, draws=100, chains=1, rng=rng)
    assert posterior.draws["states"].shape == (100, 1, 3)
    assert (posterior.mean()["states"].round() == [[2, 1, 1]]).all()
    likely = posterior.log_likelihood({"month": ["2", "2"], "type": ["a", "b"]})
    assert likely[0] > likely[1] + 1


def test_priors() -> None:
    from discreet.models.hidden_markov import Concentrations

    assert model().read_prior(0.5) == Concentrations(0.5, 0.5)
    assert model().read_prior({"emission": 2}) == Concentrations(1.0, 2.0)
    for bad in ("beta:1,1", {"emissions": 1}, {"emission": 0}, True, {"transition": "1"}):
        with pytest.raises(UsageError):
            model().read_prior(bad)

"""The declaration of hidden Markov models, their releases, and reading them back through the public verbs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior as ModelPosterior
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
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        data,
        of,
        dc.mechanisms.Laplace(epsilon),
        **how,
    )


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
        return np.array(
            release_with(lambda distribution: 0, columns, of, dc.mechanisms.Laplace(1)).totals.values
        )

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
    assert again.model.split == (Fraction(1, 3), Fraction(2, 3))  # pyright: ignore[reportAttributeAccessIssue]
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
    # a row without labels says nothing
    assert posterior.log_likelihood({"region": ["east"], "month": ["2"]}) == pytest.approx(0, abs=1e-12)
    # in another region, the second month is like those of the others
    likely = posterior.log_likelihood({"region": ["east"] * 2, "month": ["2"] * 2, "type": ["a", "b"]})
    assert likely[0] > likely[1] + 0.3
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


def drawn(of: HiddenMarkov, rng: np.random.Generator, size: int = 5) -> ModelPosterior:
    """Any draws: how likely rows are given them is arithmetic."""
    k = of.states
    draws: dict[str, np.ndarray] = {
        feature.name: rng.dirichlet(np.ones(feature.n_labels), (size, k)) for feature in of.features
    }
    draws["transition"] = rng.dirichlet(np.ones(k), (size, k + 1))
    draws["states"] = rng.integers(1, k + 1, size=(size, of.n_sequences, of.time.n_labels))
    return ModelPosterior(draws, Diagnostics("gibbs"), model=of)


def brute_force(posterior: ModelPosterior, region: str, month: str, kind: str, ahead: int | None) -> float:
    """Enumerate every path of states, declared times and steps ahead alike, in every draw."""
    of, x = posterior.model, posterior.draws
    assert isinstance(of, HiddenMarkov)
    assert of.chain is not None
    label, n_times, total = of.features[0].labels.index(kind), of.time.n_labels, 0.0
    length = n_times + (ahead or 0)
    if month in of.time.labels:
        where = [of.time.labels.index(month)]
    else:
        where = list(range(n_times)) if ahead is None else [length - 1]
    for d in range(posterior.n_draws):
        for path in product(range(of.states), repeat=length):
            p = x["transition"][d, of.states, path[0]]
            if region in of.chain.labels:
                # the path up to the last declared time is known
                known = x["states"][d, of.chain.labels.index(region)] - 1
                p = float((known == path[:n_times]).all())
            for t in range(1, length):
                if t >= n_times or region not in of.chain.labels:
                    p *= x["transition"][d, path[t - 1], path[t]]
            total += p * np.mean([x["type"][d, path[t], label] for t in where])
    return float(np.log(total / posterior.n_draws))


@pytest.mark.parametrize("region", ["north", "south", "east"])
@pytest.mark.parametrize(("month", "ahead"), [("1", None), ("3", 2), ("13", None), ("13", 1), ("13", 3)])
def test_a_place_that_is_not_declared_is_summed_over(
    region: str, month: str, ahead: int | None, rng: np.random.Generator
) -> None:
    posterior = drawn(model(3), rng)
    for kind in ("a", "c"):
        row = {"region": [region], "month": [month], "type": [kind]}
        expected = brute_force(posterior, region, month, kind, ahead)
        assert posterior.log_likelihood(row, ahead=ahead) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("ahead", [None, 1, 1000])
def test_rows_of_any_place_have_probabilities_that_sum_to_one(
    ahead: int | None, rng: np.random.Generator
) -> None:
    posterior = drawn(model(2), rng)
    cases = list(product(["north", "east", None], ["1", "13", None], *FEATURES.values()))
    table = dict(zip(["region", "month", *FEATURES], map(list, zip(*cases, strict=True)), strict=True))
    p = np.exp(posterior.log_likelihood(table, ahead=ahead)).reshape(9, -1)
    assert p.sum(axis=1) == pytest.approx(1)
    assert p.max() < 1


def test_forecasts_that_make_no_sense(rng: np.random.Generator) -> None:
    row = {"region": ["north"], "month": ["4"], "type": ["a"]}
    for bad in (0, -1, True, 1.5, "1", 10**9):
        with pytest.raises(UsageError, match="ahead must be"):
            drawn(model(), rng).log_likelihood(row, ahead=bad)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="has no time"):
        dc.models.NaiveBayes({"x": 2}, {"y": 2}).later(np.zeros((1, 2)), 1)


def test_priors() -> None:
    from discreet.models.hidden_markov import Concentrations

    assert model().read_prior(0.5) == Concentrations(0.5, 0.5)
    assert model().read_prior({"emission": 2}) == Concentrations(1.0, 2.0)
    for bad in ("beta:1,1", {"emissions": 1}, {"emission": 0}, True, {"transition": "1"}):
        with pytest.raises(UsageError):
            model().read_prior(bad)

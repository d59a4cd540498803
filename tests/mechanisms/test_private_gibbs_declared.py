"""Private Gibbs sampling of declared likelihoods: a whole sweep by enumeration, over all neighbors; its files."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource
from discreet.privacy.costs.gibbs_costs import SweepCosts
from discreet.samplers.gibbs_chains import conditional
from tests.mechanisms.altered_files import altered

COLUMNS = {"dose": ["low", "high"], "ill": ["no", "yes"]}
VALUES = {"base": [0.1, 0.4, 0.8], "effect": [-1, 0, 1]}


def log_likelihood(parameters: dict[str, float], record: dict[str, str]) -> float:
    """Return the log-probability of being ill at a dose; half of the records have either dose."""
    log_odds = np.log(parameters["base"] / (1 - parameters["base"]))
    log_odds += parameters["effect"] * (record["dose"] == "high")
    sign = 1 if record["ill"] == "yes" else -1
    return float(np.log(0.5) - np.log1p(np.exp(-sign * log_odds)))


def log_prior(parameters: dict[str, float]) -> float:
    return -abs(parameters["effect"])


MODEL = dc.models.DeclaredLikelihood(COLUMNS, VALUES, log_likelihood, log_prior=log_prior)
TABLE = pa.table({"dose": ["low", "high", None, "x"] * 10, "ill": ["yes", "no", "no", "yes", None] * 8})
IMPUTE = {"dose": "low", "ill": "no"}
TEMPERATURE = Fraction(5, 2)
ALARM = 1e-5


def log_sweep(model: dc.models.DeclaredLikelihood, counts: np.ndarray, temperature: Fraction) -> np.ndarray:
    """Return log P(state after a sweep | state before): axes are the effect before, then both values after.

    The base that was before has no part in it.
    """
    likelihood = model.table() @ counts
    prior = np.array(model.prior_steps).reshape(model.n_values)

    def update(line: tuple[Any, ...]) -> np.ndarray:
        return conditional(likelihood[line].tolist(), prior[line].tolist(), temperature).log_mass()

    first = np.array([update((slice(None), e)) for e in range(model.n_values[1])])
    second = np.array([update((b, slice(None))) for b in range(model.n_values[0])])
    return first[:, :, None] + second[None]


def worst_sweep(model: dc.models.DeclaredLikelihood, temperature: Fraction, rest: np.ndarray) -> float:
    """Return the largest log-ratio over all pairs of records beside the ``rest`` of the table, and all states."""
    sweeps = [log_sweep(model, rest + one, temperature) for one in np.eye(model.table().shape[-1], dtype=int)]
    return max(float(np.abs(a - b).max()) for a, b in product(sweeps, repeat=2))


class TestSweep:
    costs = SweepCosts(MODEL.update_ranges, hidden=False)
    claim = float(costs.pure(TEMPERATURE, 1).epsilon)

    def tables(self) -> list[np.ndarray]:
        small = [
            np.bincount(records, minlength=4)
            for n in (0, 1, 2, 3)
            for records in combinations_with_replacement(range(4), n)
        ]
        # the others decide where the chain is
        return [*small, *(200 * np.array(one) for one in product(range(2), repeat=4))]

    def test_no_pair_of_tables_exceeds_the_claim_and_some_nearly_attain_it(self) -> None:
        worst = max(worst_sweep(MODEL, TEMPERATURE, rest) for rest in self.tables())
        assert 0.9 * self.claim <= worst <= self.claim + 1e-9

    def test_controls_that_charge_too_little_are_caught(self) -> None:
        worst = max(worst_sweep(MODEL, TEMPERATURE, rest) for rest in self.tables())
        # the dearest parameter alone; three quarters of the charge; four fifths of the temperature
        assert worst > float(max(MODEL.update_ranges) / TEMPERATURE) + 0.1
        assert worst > 0.75 * self.claim
        cold = max(worst_sweep(MODEL, TEMPERATURE * Fraction(4, 5), rest) for rest in self.tables())
        assert cold > self.claim + 0.1

    def test_the_ranges_are_those_of_brute_force(self, rng: np.random.Generator) -> None:
        table = rng.normal(0, 3, (4, 6))
        model = dc.models.DeclaredLikelihood({"x": 6}, {"a": [0, 1], "b": [0, 1]}, table.tolist())
        steps = model.table()
        for axis, found in enumerate(model.update_ranges):
            along = np.moveaxis(steps, axis, 0)
            changes = along[..., :, None] - along[..., None, :]
            assert found == Fraction(int(np.ptp(changes, axis=0).max()), 1 << 20)

    def test_a_parameter_that_no_record_has_part_in_costs_nothing(self) -> None:
        idle = dc.models.DeclaredLikelihood(
            {"x": 2}, {"a": [0, 1], "b": [0, 1]}, [[0, 1], [0, 1], [0, 2], [0, 2]]
        )
        assert idle.update_ranges == (Fraction(1),)


def test_the_chain_has_the_tempered_posterior_as_its_distribution(rng: np.random.Generator) -> None:
    codes = np.array([[0, 1]] * 3 + [[1, 1]] * 5 + [[1, 0]] * 2)
    rows = {"dose": np.array(["low", "high"])[codes[:, 0]], "ill": np.array(["no", "yes"])[codes[:, 1]]}
    sampler = dc.mechanisms.PrivateGibbs(epsilon=50_000, steps=5000, temperature=2)
    release = sample_with(RandomSource.seeded(rng), rows, MODEL, sampler, missing="none")
    assert release.samples is not None
    draws = release.samples.arrays()
    counts = np.bincount(codes @ [2, 1], minlength=4)
    log = np.array(MODEL.prior_steps).reshape(3, 3) / 2**20 + MODEL.table() @ counts / 2**21
    mass = np.exp(log - np.logaddexp.reduce(log, axis=None))
    seen = np.zeros((3, 3))
    # every tenth state: a sweep's second eigenvalue is 0.08
    at = [np.searchsorted(VALUES[name], draws[name][::10]) for name in VALUES]
    np.add.at(seen, tuple(at), 1)
    assert stats.chisquare(seen.ravel(), seen.sum() * mass.ravel()).pvalue > ALARM
    untempered = np.exp(2 * log - np.logaddexp.reduce(2 * log, axis=None))
    assert stats.chisquare(seen.ravel(), seen.sum() * untempered.ravel()).pvalue < ALARM


def mechanism(**arguments: Any) -> dc.mechanisms.PrivateGibbs:
    return dc.mechanisms.PrivateGibbs(**{"epsilon": 2, "steps": 4, **arguments})


class TestRelease:
    def test_draws_budget_round_trip_and_statement(self) -> None:
        release = dc.release(TABLE, MODEL, mechanism=mechanism(), impute=IMPUTE)
        assert release.samples is not None
        draws = release.samples.arrays()
        assert {name: x.shape for name, x in draws.items()} == {"base": (4,), "effect": (4,)}
        spent = 4 * sum(MODEL.update_ranges) / release.sampling_record.parameters["temperature"]
        assert 2 - Fraction(1, 10**9) < spent <= 2
        assert not release.in_floating_point
        again = dc.Release.from_json(release.to_json())
        assert again == release
        assert again.model == MODEL
        assert "table of the likelihood" in release.statement()
        posterior = dc.infer(again)
        rows = {"dose": ["low", "high"], "ill": ["yes", None]}
        said = posterior.log_likelihood(rows)
        assert said[1] == pytest.approx(np.log(0.5))
        assert said[0] == pytest.approx(np.log(draws["base"].mean() / 2), abs=1e-5)

    def test_delta(self) -> None:
        release = dc.release(TABLE, MODEL, mechanism=mechanism(delta="1e-6", steps=200), impute=IMPUTE)
        assert release.guarantee == dc.ApproxDP(2, "1e-6")
        pure = SweepCosts(MODEL.update_ranges, hidden=False).temperature(Fraction(2), 200, None)
        assert release.sampling_record.parameters["temperature"] < pure / 3

    @pytest.mark.parametrize(
        ("where", "value"),
        [
            (("mechanism", "parameters", "temperature"), "1"),
            (("mechanism", "parameters", "share"), "1"),
            (("mechanism", "support"), [["0", "1"]]),
            (("guarantees", 0, "epsilon"), "1"),
            (("samples", "arithmetic"), "floating"),
            (("samples", "draws", "base", 0), 0.5),
            (("model", "parameters", "log_likelihood", 0), [0, 0, 0, -(10**8)]),
            (("model", "parameters", "log_likelihood", 0), [0, 0, 0]),
            (("model", "parameters", "log_likelihood", 0), [0, 0, 0, 1.5]),
            (("model", "parameters", "log_prior"), [0]),
            (("model", "parameters", "parameters", 0), {"name": "base", "values": ["1", "0", "2"]}),
        ],
    )
    def test_an_altered_file_is_refused(
        self, where: tuple[Any, ...], value: Any, rng: np.random.Generator
    ) -> None:
        made = sample_with(RandomSource.seeded(rng), TABLE, MODEL, mechanism(), impute=IMPUTE)
        with pytest.raises(ReleaseFileError):
            dc.Release.from_json(altered(made, where, value))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"support": "0.1"}, "leave out support"),
        ({"share": "1/2"}, "leave out share"),
        ({"label_prior": 2}, "leave out label_prior"),
        ({"temperature": 1}, "more than epsilon=2"),
    ],
)
def test_what_is_refused_before_a_row_is_read(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dc.release("no-such-file.csv", MODEL, mechanism=mechanism(**arguments), impute=IMPUTE)


def test_noise_and_models_without_a_chain_are_refused() -> None:
    class Other(dc.models.DeclaredLikelihood):
        chain_name = "other"

    other = Other({"x": 2}, {"p": [0, 1]}, [[0, 1], [1, 0]])
    with pytest.raises(UsageError, match="is for dc"):
        dc.release("no-such-file.csv", other, mechanism=mechanism(), impute={"x": 0})
    with pytest.raises(UsageError, match="takes no noise"):
        dc.release("no-such-file.csv", MODEL, epsilon=1)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"columns": {"x": (0, 1)}}, "counts labels"),
        ({"parameters": {}}, "a dictionary of their values"),
        ({"parameters": {"p": [0.5]}}, "between 2 and 1000 numbers, increasing"),
        ({"parameters": {"p": [0.5, 0.1]}}, "increasing"),
        ({"parameters": {"p": [0.1, "x"]}}, "finite number"),
        ({"parameters": dict.fromkeys("abcdef", range(1000))}, "the most that a file should hold"),
        ({"log_likelihood": lambda p, r: float("-inf")}, "between -700 and 700"),
        ({"log_likelihood": lambda p, r: p["q"]}, "failed with KeyError at p=0.1, x=0"),
        ({"log_likelihood": lambda p, r: p["p"]}, "the same of all records"),
        ({"log_likelihood": [[0, 1]]}, "a function, or 2 lists of 2 numbers"),
        ({"log_likelihood": "log(p)"}, "must be numbers"),
        ({"log_prior": [0]}, "a function, or 2 numbers"),
        ({"log_prior": lambda p: float("nan")}, "log_prior must lie between"),
    ],
)
def test_bad_declarations(changed: dict[str, Any], words: str) -> None:
    fine = {"columns": {"x": 2}, "parameters": {"p": [0.1, 0.2]}, "log_likelihood": [[0, 1], [1, 0]]}
    with pytest.raises(UsageError, match=words):
        dc.models.DeclaredLikelihood(**{**fine, **changed})

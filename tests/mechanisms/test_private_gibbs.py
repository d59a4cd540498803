"""Private Gibbs sampling: the chain's distribution on tables small enough to enumerate, its budget, its files."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from scipy.special import betainc, betaln, gammaln

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.inference.diagnostics import mean_ess
from discreet.mechanisms.base import RandomSource
from discreet.models import Mixture
from discreet.privacy.costs.gibbs_costs import SweepCosts
from discreet.privacy.costs.likelihood_range import simplex_range
from discreet.samplers.chain_draws import choose_states
from discreet.samplers.mixture_chain import MixtureChain, sweeps
from tests.mechanisms.altered_files import altered

MODEL = Mixture(2, {"smoker": ["no", "yes"], "stage": ["1", "2", "3"]})
TABLE = pa.table({"smoker": ["no", "yes", "yes", None] * 10, "stage": ["1", "2", "3", "9"] * 10})
IMPUTE = {"smoker": "no", "stage": "1"}
RANGE = simplex_range(2, Fraction(1, 20)) + simplex_range(3, Fraction(1, 20))
ALARM = 1e-5


def mechanism(**arguments: Any) -> dc.mechanisms.PrivateGibbs:
    return dc.mechanisms.PrivateGibbs(**{"epsilon": 1, "steps": 4, "support": "0.05", **arguments})


def released(rng: np.random.Generator, **arguments: Any) -> dc.Release:
    return sample_with(RandomSource.seeded(rng), TABLE, MODEL, mechanism(**arguments), impute=IMPUTE)


class TestLaw:
    def test_assignments_follow_their_weights(self, rng: np.random.Generator) -> None:
        weights = np.array([0.05, 0.6, 0.35])
        drawn = choose_states(np.tile(np.log(weights) + 700, (20_000, 1)), rng)
        assert stats.chisquare(np.bincount(drawn), 20_000 * weights).pvalue > ALARM
        assert stats.chisquare(np.bincount(drawn), 20_000 * np.array([0.06, 0.59, 0.35])).pvalue < ALARM

    @pytest.mark.parametrize(
        ("updated", "n"),
        [
            (None, 500),
            pytest.param(None, 4000, marks=pytest.mark.slow),
            pytest.param(2, 4000, marks=pytest.mark.slow),
        ],
    )
    def test_the_chain_has_the_tempered_posterior_as_its_distribution(
        self, updated: int | None, n: int, rng: np.random.Generator
    ) -> None:
        """Four records of one column: how likely it is that the first two are together, by enumeration."""
        codes, temperature, least = np.array([[0], [0], [1], [1]]), 1.1, 0.02
        chain = MixtureChain(2, (2,), (least,), temperature, updated=updated)

        def log_evidence(counts: np.ndarray) -> float:
            a, b = 1 + counts / temperature
            inside = betainc(a, b, 1 - least) - betainc(a, b, least)
            return float(betaln(a, b) + np.log(inside))

        mass: dict[tuple[int, ...], float] = {}
        for z in product(range(2), repeat=4):
            assigned = np.array(z)
            sizes = np.bincount(assigned, minlength=2)
            log = float(gammaln(1 + sizes).sum())
            for k in range(2):
                log += log_evidence(np.bincount(codes[assigned == k, 0], minlength=2))
            mass[z] = np.exp(log)
        total = sum(mass.values())
        truth = {
            "together": sum(m for z, m in mass.items() if z[0] == z[1]) / total,
            "apart": sum(m for z, m in mass.items() if z[0] == z[1] != z[2] == z[3]) / total,
        }
        states = np.array([state.assigned for state in islice(sweeps(chain, codes, rng), n)])
        seen = {
            "together": states[:, 0] == states[:, 1],
            "apart": (states[:, 0] == states[:, 1])
            & (states[:, 2] == states[:, 3])
            & (states[:, 0] != states[:, 2]),
        }
        for name, happened in seen.items():
            x = happened.astype(float)
            error = x.std() / np.sqrt(float(mean_ess(x[None, :])))
            # 4.9 standard errors: a false alarm once in a million
            assert abs(x.mean() - truth[name]) < 4.9 * error, name
        if n > 1000:
            # control: the distribution of a chain that does not look at the records
            x = seen["apart"].astype(float)
            error = x.std() / np.sqrt(float(mean_ess(x[None, :])))
            assert abs(x.mean() - 2 / 30) > 4.9 * error


class TestBudget:
    def test_the_sweeps_use_the_whole_budget(self, rng: np.random.Generator) -> None:
        record = released(rng).sampling_record
        spent = 4 * 2 * RANGE / record.parameters["temperature"]
        assert 1 - Fraction(1, 10**9) < spent <= 1
        assert mechanism().guarantee("replace") == dc.PureDP(1)

    def test_delta_makes_the_temperature_grow_with_the_root_of_the_sweeps(self) -> None:
        costs = SweepCosts((RANGE / 2, RANGE / 2))
        pure = [float(costs.temperature(Fraction(1), steps, None)) for steps in (100, 400)]
        approx = [float(costs.temperature(Fraction(1), steps, Fraction(1, 10**6))) for steps in (100, 400)]
        assert pure[1] / pure[0] == pytest.approx(4)
        assert approx[1] / approx[0] == pytest.approx(2, rel=1e-3)
        assert approx[1] < pure[1] / 5

    def test_the_temperature_found_is_just_enough(self) -> None:
        for share in (Fraction(1), Fraction(1, 10)):
            costs, delta = SweepCosts((RANGE,), share), Fraction(1, 10**6)
            temperature = costs.temperature(Fraction(1), 50, delta)
            assert 1 - 1e-5 < costs.epsilon(temperature, 50, delta) <= 1
            assert costs.epsilon(temperature * Fraction(999, 1000), 50, delta) > 1

    def test_a_random_scan_is_cheaper_with_delta_only(self) -> None:
        whole, tenth = SweepCosts((RANGE,)), SweepCosts((RANGE,), Fraction(1, 10))
        assert whole.pure(Fraction(9), 7) == tenth.pure(Fraction(9), 7)
        delta, hot = Fraction(1, 10**6), Fraction(300)
        assert tenth.epsilon(hot, 50, delta) < 0.8 * whole.epsilon(hot, 50, delta)

    @pytest.mark.parametrize("delta", [None, "1e-6"])
    def test_more_steps_than_the_budget_pays_for(self, delta: str | None) -> None:
        from discreet.domain.declarations import Domain

        domain = Domain(None, None, "clip", "none")
        with pytest.raises(UsageError, match="more than epsilon=1: it ") as caught:
            mechanism(temperature=400, steps=5000, delta=delta).check(MODEL, domain)
        paid = int(caught.value.message.split()[-1].rstrip("."))
        mechanism(temperature=400, steps=paid, delta=delta).check(MODEL, domain)
        with pytest.raises(UsageError):
            mechanism(temperature=400, steps=paid + 1, delta=delta).check(MODEL, domain)
        assert caught.value.hint is not None
        enough = caught.value.hint.split()[3]
        mechanism(temperature=enough, steps=5000, delta=delta).check(MODEL, domain)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": None}, "needs epsilon"),
        ({"steps": None}, "needs steps"),
        ({"steps": 2.5}, "whole number"),
        ({"delta": 0}, "delta must be"),
        ({"label_prior": "0.5"}, "at least 1"),
        ({"weight_prior": 0}, "between 0.001"),
        ({"share": 0}, "share must be"),
        ({"share": 2}, "share must be"),
        ({"temperature": "0.9"}, "at least 1"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        mechanism(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"support": None}, "without limit"),
        ({"support": 0}, "above 0 and below"),
        ({"support": "0.4"}, "below 1/3"),
        ({"support": {"smoker": "0.1"}}, "one for each column"),
        ({"support": [0.1, 0.1]}, "one for each column"),
        ({"share": "1/100"}, "less than one record"),
        ({"steps": 10_000, "epsilon": 1}, None),
    ],
)
def test_what_is_refused_before_the_draw(
    arguments: dict[str, Any], words: str | None, rng: np.random.Generator
) -> None:
    if words is None:
        wide = Mixture(20, {"a": 5, "b": 5})
        with pytest.raises(UsageError, match="more than a file should hold"):
            sample_with(
                RandomSource.seeded(rng), TABLE, wide, mechanism(**arguments), impute={"a": "0", "b": "0"}
            )
        return
    with pytest.raises(UsageError, match=words):
        released(rng, **arguments)


def test_neighbors_are_replace_and_samples_need_every_record() -> None:
    with pytest.raises(UsageError):
        dc.release(TABLE, MODEL, mechanism=mechanism(), impute=IMPUTE, neighbors="add_remove")
    with pytest.raises(UsageError, match="impute"):
        dc.release(TABLE, MODEL, mechanism=mechanism())


class TestRelease:
    def test_shapes_support_and_round_trip(self, rng: np.random.Generator) -> None:
        for extra in ({}, {"delta": "1e-6", "share": "1/4"}):
            release = released(rng, **extra)
            assert release.samples is not None
            draws = release.samples.arrays()
            assert {name: x.shape for name, x in draws.items()} == {
                "weights": (4, 2),
                "smoker": (4, 2, 2),
                "stage": (4, 2, 3),
            }
            assert min(draws[name].min() for name in ("smoker", "stage")) >= 0.05 - 1e-12
            assert dc.Release.from_json(release.to_json()) == release
            assert "Markov chain" in release.statement()

    def test_a_real_release_and_what_an_analyst_is_told(self) -> None:
        release = dc.release(TABLE, MODEL, mechanism=mechanism(), impute=IMPUTE)
        diagnostics = dc.infer(release).diagnostics
        said = str(diagnostics)
        assert "not noise-aware" in said
        assert "tempered Markov chain" in said
        assert "not independent" in said
        assert not diagnostics.independent

    @pytest.mark.parametrize(
        ("where", "value"),
        [
            (("mechanism", "parameters", "temperature"), "3"),
            (("mechanism", "parameters", "label_prior"), "1/2"),
            (("mechanism", "parameters", "share"), "2"),
            (("mechanism", "parameters", "share"), "1/1000000"),
            (("mechanism", "support", 0), ["1/100", "99/100"]),
            (("mechanism", "support", 0), ["1/20", "1"]),
            (("mechanism", "prior"), "beta:1,1"),
            (("guarantees", 0, "epsilon"), "1/2"),
            (("samples", "arithmetic"), "exact"),
            (("samples", "draws", "weights", 0), [0.5, 0.6]),
            (("samples", "draws", "smoker", 0), [[0.5, 0.5]]),
            (("samples", "draws", "smoker", 0), [[0.99, 0.01], [0.5, 0.5]]),
            (("model", "parameters", "components"), 3),
        ],
    )
    def test_an_altered_file_is_refused(
        self, where: tuple[Any, ...], value: Any, rng: np.random.Generator
    ) -> None:
        with pytest.raises(ReleaseFileError):
            dc.Release.from_json(altered(released(rng), where, value))

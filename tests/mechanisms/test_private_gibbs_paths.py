"""Private Gibbs sampling of hidden Markov models: a whole sweep by enumeration, over neighbors; its files."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from scipy.special import betainc, betaln, gammaln, logsumexp

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.inference.diagnostics import mean_ess
from discreet.mechanisms.base import RandomSource
from discreet.privacy.costs.gibbs_costs import SweepCosts
from discreet.privacy.costs.likelihood_range import simplex_range
from discreet.samplers.gibbs_chains import place_counts
from discreet.samplers.hidden_markov_chain import (
    HiddenMarkovChain,
    draw_paths,
    label_parameters,
    log_emissions,
    sweeps,
)
from tests.mechanisms.altered_files import altered

LEAST, TEMPERATURE = 0.1, 2.5
RANGE = float(simplex_range(2, Fraction(1, 10)))
#: One sequence, two times, two states and one feature with two labels.
CHAIN = HiddenMarkovChain(2, (2,), (LEAST,), TEMPERATURE)
PATHS = np.array(list(product(range(2), repeat=2)))
ENDS = (LEAST, 1 - LEAST)
CORNERS = [np.array([[p, 1 - p], [q, 1 - q]]) for p, q in product(ENDS, repeat=2)]
ALARM = 1e-5


def path_log_mass(
    chain: HiddenMarkovChain, table: np.ndarray, moves: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Return the log-probability of each of the four paths."""
    each = log_emissions(chain, [table], [counts[None]])[0]
    log = [np.log(moves[2, i]) + np.log(moves[i, j]) + each[0, i] + each[1, j] for i, j in PATHS]
    return np.array(log) - logsumexp(log)


def label_log_density(
    chain: HiddenMarkovChain, table: np.ndarray, counts: np.ndarray, path: np.ndarray
) -> float:
    """Return the log-density of the label probabilities of both states, truncated beta distributions."""
    total = 0.0
    for (a, b), (p, q) in zip(label_parameters(chain, [counts[None]], path)[0], table, strict=True):
        # betainc is relative to the smaller tail, which is what is left where nearly all mass is outside
        inside = betainc(a, b, 1 - LEAST) - betainc(a, b, LEAST)
        total += (a - 1) * np.log(p) + (b - 1) * np.log(q) - betaln(a, b) - np.log(inside)
    return total


def neighbors(counts: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the counts (time, label) with one entry replaced by another, which may be of another time."""
    for gone in zip(*np.nonzero(counts), strict=True):
        for come in product(range(2), repeat=2):
            if come != gone:
                other = counts.copy()
                other[gone] -= 1
                other[come] += 1
                yield other


def worst_sweep(chain: HiddenMarkovChain, tables: list[np.ndarray]) -> float:
    """Return the largest log-ratio of a sweep's distribution at its paths and label probabilities.

    It is largest where the label probabilities are at corners: there every log p is largest or least.
    """
    even, tied = np.full((3, 2), 0.5), np.array([[1 - 1e-8, 1e-8], [0.5, 0.5], [1 - 1e-8, 1e-8]])
    worst = 0.0
    for counts in tables:
        for other in neighbors(counts):
            labels = np.array(
                [
                    [
                        label_log_density(chain, to, counts, path) - label_log_density(chain, to, other, path)
                        for to in CORNERS
                    ]
                    for path in PATHS
                ]
            )
            for table, moves in product(CORNERS, (even, tied)):
                first, second = (path_log_mass(chain, table, moves, x) for x in (counts, other))
                worst = max(worst, float(np.abs((first - second)[:, None] + labels).max()))
    return worst


SMALL = [
    np.array(counts).reshape(2, 2)
    for n in (1, 2)
    for counts in product(range(n + 1), repeat=4)
    if sum(counts) == n
]
LARGE = [np.array([[60, 0], [60, 0]]), np.array([[60, 0], [0, 60]]), np.array([[120, 0], [0, 0]])]


class TestSweep:
    claim = 2 * RANGE / TEMPERATURE

    def test_no_pair_of_small_tables_exceeds_the_claim_and_large_ones_attain_it(self) -> None:
        assert float(SweepCosts((simplex_range(2, Fraction(1, 10)),)).pure(Fraction(5, 2), 1).epsilon) == (
            pytest.approx(self.claim)
        )
        assert worst_sweep(CHAIN, SMALL) <= self.claim + 1e-9
        attained = worst_sweep(CHAIN, LARGE)
        assert 0.9 * self.claim <= attained <= self.claim + 1e-9

    def test_controls_that_charge_too_little_are_caught(self) -> None:
        attained = worst_sweep(CHAIN, LARGE)
        # paths for nothing, or labels for nothing, or only the place that an entry came to
        assert attained > self.claim / 2 + 0.1
        assert attained > 0.75 * self.claim + 0.1
        # a chain at four fifths of the temperature
        cold = HiddenMarkovChain(2, (2,), (LEAST,), 0.8 * TEMPERATURE)
        assert worst_sweep(cold, LARGE) > self.claim + 0.1


class TestLaw:
    def test_paths_follow_their_joint_distribution(self, rng: np.random.Generator) -> None:
        counts, table = np.array([[3, 1], [0, 2]]), np.array([[0.8, 0.2], [0.3, 0.7]])
        moves = np.array([[0.7, 0.3], [0.2, 0.8], [0.4, 0.6]])
        each = log_emissions(CHAIN, [table], [counts[None]])
        drawn = draw_paths(np.tile(each, (20_000, 1, 1)), moves, rng)
        seen = np.bincount(drawn @ [2, 1], minlength=4)
        mass = np.exp(path_log_mass(CHAIN, table, moves, counts))
        assert stats.chisquare(seen, 20_000 * mass).pvalue > ALARM
        # control: the paths of a chain that is not tempered
        plain = HiddenMarkovChain(2, (2,), (LEAST,), 1.0)
        untempered = np.exp(path_log_mass(plain, table, moves, counts))
        assert stats.chisquare(seen, 20_000 * untempered).pvalue < ALARM

    def test_the_chain_has_the_tempered_posterior_as_its_distribution(self, rng: np.random.Generator) -> None:
        """How likely it is that both times are in one state, transitions and label probabilities integrated out."""
        counts = np.array([[9, 0], [0, 9]])
        mass = np.zeros(2)
        for i, j in PATHS:
            made = np.zeros((3, 2))
            made[i, j] += 1
            made[2, i] += 1
            log = float((gammaln(1 + made).sum(axis=1) - gammaln(2 + made.sum(axis=1))).sum())
            for a, b in label_parameters(CHAIN, [counts[None]], np.array([[i, j]]))[0]:
                log += float(betaln(a, b) + np.log(betainc(a, b, 1 - LEAST) - betainc(a, b, LEAST)))
            mass[int(i == j)] += np.exp(log)
        truth = mass[1] / mass.sum()
        states = islice(sweeps(CHAIN, [counts[None]], rng), 400)
        x = np.array([float(s.paths[0, 0] == s.paths[0, 1]) for s in states])
        error = x.std() / np.sqrt(float(mean_ess(x[None, :])))
        # 4.9 standard errors: a false alarm once in a million
        assert abs(x.mean() - truth) < 4.9 * error
        # control: a chain that does not look at the entries
        assert abs(x.mean() - 0.5) > 4.9 * error


YEAR = dc.models.HiddenMarkov(2, time={"month": range(1, 13)}, features={"cause": 3})
LATE = np.arange(12) >= 6


def year(entries: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return so many entries of each month of a year that has two halves."""
    p = np.where(LATE[:, None], [0.2, 0.2, 0.6], [0.6, 0.3, 0.1])
    return {
        "month": np.repeat(np.arange(1, 13), entries),
        "cause": np.concatenate([rng.choice(3, entries, p=each) for each in p]),
    }


def share_found(states: np.ndarray) -> float:
    """Return the share of months in the right half, whichever state is which."""
    late = states[:, 0] == 2
    return float(np.maximum((late == LATE).mean(axis=1), (late != LATE).mean(axis=1)).mean())


def test_places_with_many_more_entries_than_the_temperature_are_told_apart(rng: np.random.Generator) -> None:
    sampler = dc.mechanisms.PrivateGibbs(epsilon=2, steps=20, support="0.05")

    def found(entries: int) -> float:
        impute = {"month": 1, "cause": 0}
        release = sample_with(RandomSource.seeded(rng), year(entries, rng), YEAR, sampler, impute=impute)
        assert release.samples is not None
        return share_found(release.samples.arrays()["states"][-5:])

    assert found(2000) > 0.95
    # of months that are guessed at random 0.6 are found, on average
    assert found(100) < 0.8


@pytest.mark.slow
def test_noisy_counts_tell_places_apart_that_have_too_few_entries_for_a_chain(
    rng: np.random.Generator,
) -> None:
    noisy = dc.release(year(100, rng), YEAR, epsilon=2)
    assert share_found(dc.infer(noisy, draws=200, chains=2, rng=1).draws["states"]) > 0.95


MODEL = dc.models.HiddenMarkov(
    2,
    chain={"ward": ["north", "south"]},
    time={"month": ["1", "2", "3"]},
    features={"cause": ["fall", "burn", "other"], "harm": ["no", "yes"]},
)
TABLE = pa.table(
    {
        "ward": ["north", "south", None] * 40,
        "month": ["1", "2", "3", "x"] * 30,
        "cause": ["fall", "burn", "other", "fall", None] * 24,
        "harm": ["no", "yes"] * 60,
    }
)
IMPUTE = {"ward": "north", "month": "1", "cause": "other", "harm": "no"}


def mechanism(**arguments: Any) -> dc.mechanisms.PrivateGibbs:
    return dc.mechanisms.PrivateGibbs(**{"epsilon": 1, "steps": 4, "support": "0.05", **arguments})


def released(rng: np.random.Generator, **arguments: Any) -> dc.Release:
    return sample_with(RandomSource.seeded(rng), TABLE, MODEL, mechanism(**arguments), impute=IMPUTE)


class TestRelease:
    def test_draws_budget_round_trip_and_statement(self, rng: np.random.Generator) -> None:
        release = released(rng, support={"cause": "0.05", "harm": "0.1"})
        assert release.samples is not None
        draws = release.samples.arrays()
        assert {name: x.shape for name, x in draws.items()} == {
            "cause": (4, 2, 3),
            "harm": (4, 2, 2),
            "transition": (4, 3, 2),
            "states": (4, 2, 3),
        }
        assert draws["harm"].min() >= 0.1 - 1e-12
        ranges = simplex_range(3, Fraction(1, 20)) + simplex_range(2, Fraction(1, 10))
        spent = 4 * 2 * ranges / release.sampling_record.parameters["temperature"]
        assert 1 - Fraction(1, 10**9) < spent <= 1
        assert dc.Release.from_json(release.to_json()) == release
        said = release.statement()
        assert "Markov chain" in said
        assert "one entry" in said

    def test_a_real_release_is_read_and_forecast(self) -> None:
        release = dc.release(TABLE, MODEL, mechanism=mechanism(delta="1e-6"), impute=IMPUTE)
        assert release.guarantee == dc.ApproxDP(1, "1e-6")
        posterior = dc.infer(release)
        assert not posterior.diagnostics.independent
        assert posterior.forecast(1, rng=1).probabilities.shape == (2, 1, 2)
        assert "states" in str(posterior.summary())

    def test_entries_of_held_out_places_are_not_read(self) -> None:
        model = MODEL.revised(held_out={"south": ["2"]})
        codes = np.array([[1, 1, 0, 1], [0, 1, 2, 0], [1, 2, 2, 0]])
        cause, harm = place_counts(model, codes)
        assert cause.sum() == harm.sum() == 2
        assert cause[0, 1, 2] == cause[1, 2, 2] == harm[0, 1, 0] == 1

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"support": {"cause": "0.1"}}, "one for each column of labels by name"),
            ({"support": {"cause": "0.1", "harm": "0.1", "ward": "0.1"}}, "one for each column of labels"),
            ({"support": "0.34"}, "below 1/3"),
            ({"share": "1/2"}, "hidden state each"),
            ({"temperature": 10}, "more than epsilon=1"),
        ],
    )
    def test_what_is_refused_before_a_row_is_read(self, arguments: dict[str, Any], words: str) -> None:
        with pytest.raises(UsageError, match=words):
            dc.release("no-such-file.csv", MODEL, mechanism=mechanism(**arguments), impute=IMPUTE)

    def test_other_refusals(self) -> None:
        network = dc.models.BayesianNetwork([("a", "b")], {"a": 2, "b": 2})
        with pytest.raises(UsageError, match="is for dc"):
            dc.release("no-such-file.csv", network, mechanism=mechanism(), impute={"a": "0", "b": "0"})

    @pytest.mark.parametrize(
        ("where", "value"),
        [
            (("mechanism", "parameters", "temperature"), "3"),
            (("mechanism", "parameters", "share"), "1/2"),
            (("mechanism", "support", 0), ["1/100", "49/50"]),
            (("guarantees", 0, "epsilon"), "1/2"),
            (("samples", "draws", "states", 0), [[1, 1, 1], [1, 1, 3]]),
            (("samples", "draws", "states", 0), [[1, 1, 1], [1, 1, 1.5]]),
            (("samples", "draws", "states"), [[[2, 2, 2], [2, 2, 2]]] * 4),
            (("samples", "draws", "transition", 0), [[0.5, 0.5], [0.5, 0.5]]),
            (("samples", "draws", "harm", 0), [[0.99, 0.01], [0.5, 0.5]]),
            (("model", "parameters", "states"), 3),
        ],
    )
    def test_an_altered_file_is_refused(
        self, where: tuple[Any, ...], value: Any, rng: np.random.Generator
    ) -> None:
        with pytest.raises(ReleaseFileError):
            dc.Release.from_json(altered(released(rng), where, value))

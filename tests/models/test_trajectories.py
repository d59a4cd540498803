"""Markov chains whose record is a whole trajectory: what it costs by enumeration, files, and refusals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc, betaln

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource
from discreet.models import MarkovChain, Trajectories
from discreet.models.registry import build
from discreet.privacy.costs.likelihood_range import simplex_range
from discreet.privacy.metric import network_posterior
from tests.mechanisms.altered_files import altered

LEAST, TEMPERATURE = 0.1, 7.0
CORNERS = ((LEAST, 1 - LEAST), (1 - LEAST, LEAST))


def of_length(length: int) -> Trajectories:
    return Trajectories([f"t{i}" for i in range(length)], ["a", "b"])


def log_densities(counts: np.ndarray, temperature: float) -> np.ndarray:
    """Return the log-density of a row of two probabilities at both corners of its support."""
    a, b = 1 + counts / temperature
    inside = betainc(a, b, 1 - LEAST) - betainc(a, b, LEAST)
    return np.array(
        [(a - 1) * np.log(p) + (b - 1) * np.log(q) - betaln(a, b) - np.log(inside) for p, q in CORNERS]
    )


def largest_ratio(model: Trajectories, tables: list[np.ndarray], temperature: float = TEMPERATURE) -> float:
    """Return the largest log-ratio of the tempered posterior when one trajectory is replaced by any other.

    Rows are independent given the counts, and the ratio is largest where their probabilities are at corners.
    """

    def rows(codes: np.ndarray) -> np.ndarray:
        counts = model.counts(codes)
        return np.vstack([counts["initial"][None], counts["transition"]])

    worst = 0.0
    for codes in tables:
        first = rows(codes)
        for other in product(range(2), repeat=codes.shape[1]):
            second = rows(np.vstack([other, codes[1:]]))
            change = [
                (log_densities(x, temperature) - log_densities(y, temperature)).max()
                for x, y in zip(first, second, strict=True)
            ]
            worst = max(worst, float(sum(change)))
    return worst


def small(length: int) -> list[np.ndarray]:
    paths = list(product(range(2), repeat=length))
    return [np.array([x]) for x in paths] + [np.array(pair) for pair in product(paths, repeat=2)]


def claimed(model: Trajectories) -> float:
    return float(model.record_range(Fraction(1, 10), simplex_range)) / TEMPERATURE


@pytest.mark.parametrize("length", [2, 3, 4])
def test_the_claim_holds_and_large_tables_attain_it(length: int) -> None:
    model = of_length(length)
    assert claimed(model) == pytest.approx(2 * length * np.log(9) / TEMPERATURE)
    assert largest_ratio(model, small(length)) <= claimed(model)
    # nearly all stay in the first state, and those that start in the second leave it at once, but for one
    large = [np.repeat([[1] * length, [0] * length, [1] + [0] * (length - 1)], [1, 6000, 500], axis=0)]
    attained = largest_ratio(model, large)
    assert 0.9 * claimed(model) <= attained <= claimed(model)
    if length > 2:
        # controls: the printed constant, which is for one entry, and one factor too few
        assert attained > 4 * np.log(9) / TEMPERATURE + 0.1
        assert attained > 2 * (length - 1) * np.log(9) / TEMPERATURE + 0.1
    assert largest_ratio(model, large, 0.8 * TEMPERATURE) > claimed(model)


def test_an_entry_of_a_markov_chain_costs_two_labels_whatever_its_length() -> None:
    entries = MarkovChain({"i": ["1"]}, {"t": range(9)}, {"s": ["a", "b"]})
    least = Fraction(1, 10)
    assert of_length(9).record_range(least, simplex_range) * 2 == 9 * entries.record_range(
        least, simplex_range
    )


def test_the_theorem_about_networks_says_the_same() -> None:
    promised = network_posterior(of_length(9), "0.1").to_neighbors()
    assert promised.epsilon == of_length(9).record_range(Fraction(1, 10), simplex_range)


MODEL = Trajectories(["jan", "feb", "mar"], ["free", "ill", "gone"])
ROWS = {
    "jan": ["free", "ill", None, "free"] * 10,
    "feb": ["free", "gone", "ill", "?"] * 10,
    "mar": ["ill", "gone", "free", "free"] * 10,
}
IMPUTE = {"jan": "free", "feb": "free", "mar": "free"}


def released(rng: np.random.Generator, **arguments: Any) -> dc.Release:
    mechanism = dc.mechanisms.TablePosterior(**{"epsilon": 2, "support": "0.05", "samples": 3, **arguments})
    return sample_with(RandomSource.seeded(rng), ROWS, MODEL, mechanism, impute=IMPUTE)


class TestRelease:
    def test_shapes_and_round_trip(self, rng: np.random.Generator) -> None:
        for extra in ({}, {"delta": "1e-9"}):
            release = released(rng, **extra)
            assert release.samples is not None
            draws = release.samples.arrays()
            assert {name: x.shape for name, x in draws.items()} == {
                "initial": (3, 3),
                "transition": (3, 3, 3),
            }
            assert dc.Release.from_json(release.to_json()) == release
            assert "every single record" in release.statement()
        needed = release.sampling_record.parameters["range"]
        assert float(needed) == pytest.approx(6 * np.log(0.9 / 0.05))

    def test_rows_are_as_likely_as_they_should_be(self, rng: np.random.Generator) -> None:
        posterior = dc.infer(released(rng))
        paths = list(product(MODEL.states, repeat=3))
        columns = {name: [path[i] for path in paths] for i, name in enumerate(MODEL.column_names)}
        likely = np.exp(posterior.log_likelihood(columns))
        assert likely.sum() == pytest.approx(1)
        # a state that is missing is summed over
        some = posterior.log_likelihood({"jan": ["ill"], "feb": [None], "mar": ["gone"]})
        wanted = sum(
            p for p, path in zip(likely, paths, strict=True) if path[0] == "ill" and path[2] == "gone"
        )
        assert np.exp(some[0]) == pytest.approx(wanted)

    @pytest.mark.parametrize(
        ("where", "value"),
        [
            (("mechanism", "parameters", "temperature"), "2"),
            (("mechanism", "parameters", "range"), "5"),
            (("guarantees", 0, "epsilon"), "1"),
            (("samples", "draws", "initial", 0), [0.5, 0.49, 0.01]),
            (("model", "parameters", "times"), ["jan", "jan", "mar"]),
            (("model", "parameters", "states"), ["free", 1, "gone"]),
        ],
    )
    def test_an_altered_file_is_refused(
        self, where: tuple[Any, ...], value: Any, rng: np.random.Generator
    ) -> None:
        with pytest.raises(ReleaseFileError):
            dc.Release.from_json(altered(released(rng), where, value))


@pytest.mark.parametrize(
    ("times", "states", "words"),
    [
        (["a"], ["x", "y"], "at least two"),
        (["a", 2], ["x", "y"], "at least two names"),
        (["a", "a"], ["x", "y"], "twice"),
        (["a", "b"], ["x"], "label|states"),
        ("ab", ["x", "y"], "times"),
    ],
)
def test_bad_declarations(times: Any, states: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Trajectories(times, states)


def test_what_is_refused_before_a_row_is_read() -> None:
    with pytest.raises(UsageError, match="takes no noise"):
        dc.release("nowhere.csv", MODEL, epsilon=1)
    mechanism = dc.mechanisms.TablePosterior(epsilon=1, support="0.4")
    with pytest.raises(UsageError, match="no room"):
        dc.release("nowhere.csv", MODEL, mechanism=mechanism, impute=IMPUTE)


def test_constants_build_it_again() -> None:
    assert build("trajectories", MODEL.constants()) == MODEL
    assert MODEL.concentrations({"initial": [1, 2, 3]})["initial"].tolist() == [1, 2, 3]
    with pytest.raises(UsageError, match="initial and transition"):
        MODEL.concentrations({"first": 1})

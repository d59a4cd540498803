"""Private Gibbs sampling of networks with hidden columns: a whole sweep by enumeration, over neighbors; its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import betainc, betaln, gammaln, logsumexp

import discreet as dc
from discreet.artifact.records.private_gibbs import label_costs
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.inference.diagnostics import mean_ess
from discreet.mechanisms.base import RandomSource
from discreet.models import HiddenNetwork
from discreet.models.registry import build
from discreet.samplers.hidden_network_chain import (
    HiddenNetworkChain,
    assignment_log_weights,
    label_counts,
    sweeps,
    table_parameters,
)
from tests.mechanisms.altered_files import altered

LEAST, TEMPERATURE = 0.1, 2.5
AB = ["0", "1"]
#: A hidden cause of two columns, one of which also depends on the other, and a column that it has no part in.
CAUSE = HiddenNetwork([("u", "b"), ("u", "c"), ("b", "c")], {"b": AB, "c": AB, "d": AB}, {"u": 2})
#: A hidden column between two others: records have part in its own table.
BETWEEN = HiddenNetwork([("a", "h"), ("h", "b")], {"a": AB, "b": AB}, {"h": 2})
CORNERS = (np.array([LEAST, 1 - LEAST]), np.array([1 - LEAST, LEAST]))


def chain_of(model: HiddenNetwork, temperature: float = TEMPERATURE) -> HiddenNetworkChain:
    return HiddenNetworkChain(model, {column.name: LEAST for column in model.emitted}, temperature)


def corner_tables(model: HiddenNetwork) -> list[dict[str, np.ndarray]]:
    """Return all tables at corners; those of hidden columns alone are even, or all but certain."""
    choices: list[list[np.ndarray]] = []
    for one in model.conditionals():
        rows = int(np.prod(one.shape[:-1], dtype=int))
        if model.reads_a_record(one):
            each = [np.stack(some).reshape(one.shape) for some in product(CORNERS, repeat=rows)]
        else:
            each = [np.broadcast_to(row, one.shape) for row in ([0.5, 0.5], [1 - 1e-9, 1e-9])]
        choices.append(each if model.is_hidden(one) else each[:1])
    names = model.draw_names
    return [dict(zip(names, tables, strict=True)) for tables in product(*choices)]


def row_log_densities(parameters: np.ndarray) -> np.ndarray:
    """Return the log-density of a truncated beta distribution at both corners."""
    a, b = parameters
    inside = betainc(a, b, 1 - LEAST) - betainc(a, b, LEAST)
    return np.array(
        [(a - 1) * np.log(p) + (b - 1) * np.log(q) - betaln(a, b) - np.log(inside) for p, q in CORNERS]
    )


def label_change(
    chain: HiddenNetworkChain, counts: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]
) -> float:
    """Return the largest log-ratio of the density of all tables: given the counts rows are independent."""
    total = 0.0
    for one in chain.model.conditionals():
        if chain.model.reads_a_record(one):
            name = one.child.name
            first, second = (
                table_parameters(chain, one, each[name]).reshape(-1, 2) for each in (counts, other)
            )
            for x, y in zip(first, second, strict=True):
                total += float((row_log_densities(x) - row_log_densities(y)).max())
    return total


def worst_sweep(chain: HiddenNetworkChain, others: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the largest log-ratio of a sweep, where one record is replaced beside these other records.

    ``others`` are codes and hidden labels, which are public. The log-ratio is largest where label probabilities are at
    corners, before the sweep and after it.
    """
    model = chain.model
    records = np.array(list(product(range(2), repeat=len(model.columns))))
    before = np.array([assignment_log_weights(chain, tables, records) for tables in corner_tables(model)])
    log_mass = before - logsumexp(before, axis=2, keepdims=True)
    worst = 0.0
    for codes, assigned in others:
        counts = [
            [
                label_counts(chain, np.vstack([codes, x]), np.append(assigned, h))
                for h in range(len(chain.combinations))
            ]
            for x in records
        ]
        for x, y in product(range(len(records)), repeat=2):
            for h in range(len(chain.combinations)):
                change = float((log_mass[:, x, h] - log_mass[:, y, h]).max())
                worst = max(worst, change + label_change(chain, counts[x][h], counts[y][h]))
    return worst


def alone(model: HiddenNetwork) -> list[tuple[np.ndarray, np.ndarray]]:
    none = np.empty((0, len(model.columns)), dtype=int)
    return [(none, np.empty(0, dtype=int))]


def beside(model: HiddenNetwork, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return tables of n records that are all alike."""
    records = list(product(range(2), repeat=len(model.columns)))
    return [(np.tile(x, (n, 1)), np.full(n, h)) for x in records for h in range(model.n_states)]


def claimed(model: HiddenNetwork) -> float:
    costs = label_costs(model, [Fraction(1, 10)] * len(model.emitted), Fraction(1))
    return float(costs.pure(Fraction(5, 2), 1).epsilon)


class TestSweep:
    def test_the_claim_is_the_sum_over_tables(self) -> None:
        whole = 2 * np.log(9) / TEMPERATURE
        # b and c for the hidden labels, and b, c, d for the tables
        assert claimed(CAUSE) == pytest.approx(5 * whole)
        assert claimed(BETWEEN) == pytest.approx(5 * whole)

    @pytest.mark.parametrize("model", [CAUSE, BETWEEN])
    def test_no_pair_of_small_tables_exceeds_the_claim(self, model: HiddenNetwork) -> None:
        assert worst_sweep(chain_of(model), alone(model) + beside(model, 1)) <= claimed(model) + 1e-9

    def test_large_tables_attain_it(self) -> None:
        attained = worst_sweep(chain_of(CAUSE), beside(CAUSE, 120))
        assert 0.9 * claimed(CAUSE) <= attained <= claimed(CAUSE) + 1e-9
        # records have part in the hidden table: its rows add up to 1, and what it costs is less than its range
        attained = worst_sweep(chain_of(BETWEEN), beside(BETWEEN, 120))
        assert 0.7 * claimed(BETWEEN) <= attained <= claimed(BETWEEN) + 1e-9

    def test_controls_that_charge_too_little_are_caught(self) -> None:
        attained = worst_sweep(chain_of(CAUSE), beside(CAUSE, 120))
        whole = 2 * np.log(9) / TEMPERATURE
        # hidden labels for nothing; one table for nothing
        assert attained > 3 * whole + 0.1
        assert attained > 4 * whole + 0.1
        # a chain at four fifths of the temperature
        assert worst_sweep(chain_of(CAUSE, 0.8 * TEMPERATURE), beside(CAUSE, 120)) > claimed(CAUSE) + 0.1


def test_the_chain_has_the_tempered_posterior_as_its_distribution(rng: np.random.Generator) -> None:
    """Four records: how likely it is that the first two have the same hidden label, by enumeration."""
    model = HiddenNetwork([("u", "b")], {"b": AB}, {"u": 2})
    chain, codes = chain_of(model, 1.1), np.array([[0], [0], [1], [1]])
    apart = total = 0.0
    for labels in product(range(2), repeat=4):
        counts = label_counts(chain, codes, np.array(labels))
        log = float(gammaln(1 + counts["u"]).sum())
        for a, b in 1 + counts["b"] / 1.1:
            log += float(betaln(a, b) + np.log(betainc(a, b, 1 - LEAST) - betainc(a, b, LEAST)))
        total += np.exp(log)
        apart += np.exp(log) * (labels[0] == labels[1] != labels[2] == labels[3])
    states = np.array([state.assigned for state in islice(sweeps(chain, codes, rng), 3000)])
    seen = (states[:, 0] == states[:, 1]) & (states[:, 2] == states[:, 3]) & (states[:, 0] != states[:, 2])
    x = seen.astype(float)
    error = x.std() / np.sqrt(float(mean_ess(x[None, :])))
    # 4.9 standard errors: a false alarm once in a million
    assert abs(x.mean() - apart / total) < 4.9 * error
    # control: a chain that does not look at the records
    assert abs(x.mean() - 2 / 30) > 4.9 * error


SICK = HiddenNetwork(
    [("age", "disease"), ("disease", "cough"), ("disease", "fever"), ("virus", "disease")],
    {"age": ["young", "old"], "cough": ["no", "yes"], "fever": ["no", "low", "high"]},
    {"disease": ["no", "yes"], "virus": 2},
)
TABLE = pa.table(
    {
        "age": ["young", "old"] * 20,
        "cough": ["no", "yes", None, "yes"] * 10,
        "fever": ["no", "low", "high", "?"] * 10,
    }
)
IMPUTE = {"age": "young", "cough": "no", "fever": "no"}


def released(rng: np.random.Generator, **arguments: Any) -> dc.Release:
    mechanism = dc.mechanisms.PrivateGibbs(**{"epsilon": 1, "steps": 4, "support": "0.05", **arguments})
    return sample_with(RandomSource.seeded(rng), TABLE, SICK, mechanism, impute=IMPUTE)


class TestRelease:
    def test_shapes_support_and_round_trip(self, rng: np.random.Generator) -> None:
        each = {"age": "0.1", "cough": "0.05", "fever": "0.05", "disease": "0.05"}
        for extra in ({}, {"delta": "1e-6", "share": "1/4"}, {"support": each}):
            release = released(rng, **extra)
            assert release.samples is not None
            draws = release.samples.arrays()
            assert {name: x.shape for name, x in draws.items()} == {
                "age": (4, 2),
                "cough": (4, 2, 2),
                "fever": (4, 2, 3),
                "disease": (4, 2, 2, 2),
                "virus": (4, 2),
            }
            assert min(draws[name].min() for name in each) >= 0.05 - 1e-12
            assert dc.Release.from_json(release.to_json()) == release
            assert "hidden" in release.statement()

    def test_the_whole_budget_is_used(self, rng: np.random.Generator) -> None:
        temperature = released(rng).sampling_record.parameters["temperature"]
        two, three = (2 * np.log((1 - (k - 1) * 0.05) / 0.05) for k in (2, 3))
        # hidden labels: cough, fever, disease; tables: these and age
        spent = 4 * ((2 * two + three) + (3 * two + three)) / float(temperature)
        assert spent == pytest.approx(1)

    def test_what_an_analyst_can_do(self, rng: np.random.Generator) -> None:
        posterior = dc.infer(released(rng))
        assert "not independent" in str(posterior.diagnostics)
        assert "disease" in str(posterior.summary())
        rows = [
            {"age": age, "cough": cough, "fever": fever}
            for age, cough, fever in product(["young", "old"], ["no", "yes"], ["no", "low", "high"])
        ]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        log_p = posterior.log_likelihood(columns)
        assert np.exp(log_p).sum() == pytest.approx(1)

    @pytest.mark.parametrize(
        ("where", "value"),
        [
            (("mechanism", "parameters", "temperature"), "3"),
            (("mechanism", "support", 3), ["1/100", "99/100"]),
            (("guarantees", 0, "epsilon"), "1/2"),
            (("samples", "draws", "virus", 0), [0.5, 0.6]),
            (("samples", "draws", "disease", 0), [[0.5, 0.5], [0.5, 0.5]]),
            (("samples", "draws", "cough", 0), [[0.99, 0.01], [0.5, 0.5]]),
            (("model", "parameters", "edges", 0), ["age", "nothing"]),
            (("model", "parameters", "edges", 0), ["fever", "cough"]),
            (("model", "parameters", "hidden"), []),
        ],
    )
    def test_an_altered_file_is_refused(
        self, where: tuple[Any, ...], value: Any, rng: np.random.Generator
    ) -> None:
        with pytest.raises(ReleaseFileError):
            dc.Release.from_json(altered(released(rng), where, value))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"hidden": {}}, "column"),
        ({"hidden": {"x": 2}}, "no edge joins the hidden column"),
        ({"hidden": {"b": 2}}, "twice|'b'"),
        ({"hidden": {"u": 1}, "edges": [("u", "b")]}, "label"),
        ({"hidden": {"u": 2000}, "edges": [("u", "b")]}, "combinations"),
        ({"hidden": {"u": 2, "v": 2}, "edges": [("u", "v")]}, "to one that records have"),
        ({"hidden": {"u": 2}, "edges": [("u", "b"), ("b", "u")]}, "cycle"),
        ({"hidden": {"u": 2}, "edges": [("u", "z")]}, "names no declared column"),
    ],
)
def test_bad_declarations(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        HiddenNetwork(**{"edges": [], "columns": {"b": AB}, **arguments})


def test_what_is_refused_before_a_row_is_read() -> None:
    sampler = dc.mechanisms.PrivateGibbs
    with pytest.raises(UsageError, match="without limit"):
        dc.release("nowhere.csv", SICK, mechanism=sampler(epsilon=1, steps=2), impute=IMPUTE)
    with pytest.raises(UsageError, match="one for each column"):
        dc.release(
            "nowhere.csv",
            SICK,
            mechanism=sampler(epsilon=1, steps=2, support={"virus": "0.1"}),
            impute=IMPUTE,
        )
    with pytest.raises(UsageError, match="releases no tables of counts"):
        dc.release("nowhere.csv", SICK, epsilon=1)


def test_constants_build_it_again() -> None:
    assert build("hidden_network", SICK.constants()) == SICK
    with pytest.raises(ValueError, match="has edges, columns and hidden"):
        build("hidden_network", {**SICK.constants(), "more": 1})

"""Reports follow the table exactly, come from the operating system, and take the same steps whatever is drawn."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import UsageError
from discreet.profiles import KRandomizedResponse, ProfileGraph, SmoothCategorical
from discreet.profiles import perturbation as draws
from discreet.profiles.exact import WHOLE
from discreet.profiles.perturbation import draw, impute, system_bits
from tests.profiles.cases import CHAIN

# Each test compares twelve rows; all together raise a false alarm once in ten thousand runs.
LEVEL = 1e-4 / 12


def p_values(table: np.ndarray, distribution: np.ndarray, n: int) -> list[float]:
    """Draw n reports for each row of ``table`` and compare them with ``distribution``."""
    found = []
    for i in range(table.shape[0]):
        for x in range(table.shape[1]):
            seen = np.bincount(draw(table, np.full(n, i), np.full(n, x)), minlength=table.shape[2])
            expected = distribution[i, x] / WHOLE * n
            assert not seen[expected == 0].any()
            kept = expected > 0
            found.append(float(chisquare(seen[kept], expected[kept]).pvalue) if kept.sum() > 1 else 1.0)
    return found


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    return SmoothCategorical().fit(ProfileGraph.chain(CHAIN), 0.1).table


def test_reports_have_the_probabilities_of_the_table(table: np.ndarray) -> None:
    assert min(p_values(table, table, 20_000)) > LEVEL


def test_other_probabilities_are_noticed(table: np.ndarray) -> None:
    """A tenth less corruption than the table's is rejected."""
    off = table.copy()
    identity = np.eye(4, dtype=np.int64) * WHOLE
    off += (identity - off) // 10
    assert min(p_values(off, table, 20_000)) < LEVEL


def test_every_number_below_the_whole_belongs_to_one_report(table: np.ndarray) -> None:
    """At every threshold the report changes, and nowhere else."""
    for i, x in ((0, 0), (1, 2), (2, 3)):
        ends = np.cumsum(table[i, x])
        begins = ends - table[i, x]
        for y in np.flatnonzero(table[i, x]):
            for u in (begins[y], ends[y] - 1):
                report = draw(table, np.array([i]), np.array([x]), bits=lambda n, u=u: np.full(n, u))
                assert report[0] == y


@pytest.mark.parametrize("d", [2, 3, 4, 5, 8, 9, 33])
def test_any_number_of_categories(d: int, rng: np.random.Generator) -> None:
    rows = np.full((1, d, d), WHOLE // d, dtype=np.int64)
    rows[..., -1] += WHOLE - rows.sum(axis=-1)
    values = rng.integers(0, WHOLE, 2000)
    reports = draw(rows, np.zeros(2000, int), np.zeros(2000, int), bits=lambda n: values)
    np.testing.assert_array_equal(reports, np.searchsorted(np.cumsum(rows[0, 0]), values, side="right"))


def test_bits_are_the_operating_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def fixed(n: int) -> bytes:
        asked.append(n)
        return b"\xff" * n

    monkeypatch.setattr(os, "urandom", fixed)
    fitted = KRandomizedResponse().fit(ProfileGraph.chain(CHAIN), 0.1)
    assert fitted.privatize_many([0, 1, 2], "a").tolist() == [3, 3, 3]
    assert asked == [24]
    assert (system_bits(2) == WHOLE - 1).all()
    # eight bytes, the least significant first, without the last two bits
    monkeypatch.setattr(os, "urandom", lambda n: bytes(range(1, n + 1)))
    assert system_bits(2).tolist() == [0x0807060504030201 >> 2, 0x100F0E0D0C0B0A09 >> 2]


def test_many_reports_are_drawn_from_bits_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they are drawn in several parts."""
    monkeypatch.setattr(draws, "_CHUNK", 4)
    thirds = np.array([[[1, 1, 2], [2, 1, 1], [1, 2, 1]]], dtype=np.int64) << 60
    parts = iter([np.array([0, 1, 2, 3]) << 60, (np.array([0, 1, 2, 3]) << 60) - [0, 1, 1, 1], [2 << 60]])
    values = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    found = draw(thirds, np.zeros(9, int), values, bits=lambda n: np.array(next(parts)))
    assert found.tolist() == [0, 1, 2, 2, 0, 0, 0, 1, 1]


def test_numpy_seeds_do_not_matter() -> None:
    fitted = SmoothCategorical().fit(ProfileGraph.chain(CHAIN), 0.01)
    found = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        found.append(fitted.privatize_many([0] * 400, "b"))
    assert (found[0] != found[1]).any()


def test_labels_of_all_kinds_come_back_as_they_went_in() -> None:
    distributions = {"a": [0.5, 0.3, 0.2], 7: [0.4, 0.3, 0.3]}
    words = SmoothCategorical().fit(ProfileGraph.chain(distributions, categories=["x", "y", "z"]), 10)
    assert words.privatize("x", 7) == "x"
    assert words.privatize_many(np.array(["x", "z"]), np.array(["a", "a"])).tolist() == ["x", "z"]
    mixed = SmoothCategorical().fit(ProfileGraph.chain(distributions, categories=["x", 1, "z"]), 10)
    assert mixed.privatize_many(["x", 1], ["a", 7]).tolist() == ["x", 1]
    assert mixed.privatize_many(("x", 1), ("a", 7)).tolist() == ["x", 1]
    with pytest.raises(UsageError, match="none of the categories"):
        words.privatize_many("xz", "a")
    import pandas as pd

    frame = pd.DataFrame({"value": ["x", "y"], "who": ["a", "a"]})
    assert words.privatize_many(frame["value"], frame["who"]).tolist() == ["x", "y"]
    assert words.privatize_many([], []).tolist() == []


def test_an_imputed_value_has_its_profiles_distribution_exactly() -> None:
    """All integers below the whole are tried once: each category is met as often as its weight says."""
    graph = ProfileGraph.chain(CHAIN)
    for i, (row, whole) in enumerate(graph.weights):
        numbers = iter(range(whole))
        found, values = impute(
            graph.weights, np.full(whole, i), np.full(whole, -1), below=lambda _, n=numbers: next(n)
        )
        assert (found == i).all()
        assert np.bincount(values, minlength=len(row)).tolist() == row.tolist()


def test_the_report_of_an_unknown_profile_depends_on_nothing_in_the_record() -> None:
    graph = ProfileGraph.chain(CHAIN)
    for value in (-1, 0, 2):
        asked: list[int] = []

        def below(n: int, asked: list[int] = asked) -> int:
            asked.append(n)
            return 1

        profiles, values = impute(graph.weights, np.array([-1, 0]), np.array([value, 3]), below=below)
        assert asked == [graph.n_profiles, graph.weights[1][1]]
        assert profiles.tolist() == [1, 0]
        assert values[0] == np.searchsorted(graph.weights[1][0].cumsum(), 1, side="right")
        assert values[1] == 3


def test_what_is_unknown_is_refused_unless_it_may_be_imputed() -> None:
    fitted = SmoothCategorical().fit(ProfileGraph.chain(CHAIN), 0.1)
    category, profile = fitted.graph.categories[0], fitted.graph.profiles[0]
    values, profiles = [category, "?", None, [], category], [profile, profile, None, profile, "?"]
    with pytest.raises(UsageError, match="none of the categories"):
        fitted.privatize_many(values, profiles)
    reports = fitted.privatize_many(values, profiles, unknown="impute")
    assert set(reports.tolist()) <= set(fitted.graph.categories)
    assert len(reports) == 5
    with pytest.raises(UsageError, match="unknown must be"):
        fitted.privatize_many(values, profiles, unknown="skip")  # pyright: ignore[reportArgumentType]

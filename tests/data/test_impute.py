"""Imputing gives, in every source, the integers of rows that were filled in by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import data
from discreet.domain.declarations import Domain
from discreet.families import Family
from tests.data.builders import NUMERIC, TEXT

ROWS: list[float | None] = [1.5, None, -7.0, 1e300, 4.25, math.nan, -math.inf, 0.1, None, 3.0]
FILLED = [1.5, 2.0, -3.0, 9.0, 4.25, 2.0, -3.0, 0.1, 2.0, 3.0]


def sums(rows: Any, family: Family, domain: Domain, columns: Any) -> Any:
    layout = family.layout(domain, "replace")
    found = data.summarize(rows, family, domain, layout, columns)
    return found.values, found.n_records


@pytest.mark.parametrize("source", NUMERIC)
def test_numbers(source: str, tmp_path: Path) -> None:
    for family in (dc.Normal(), dc.Laplace(location=1)):
        domain = family.read_domain((-3, 9), "clip", "impute", 2)
        by_hand = sums({"x": FILLED}, family, domain, ["x"])
        assert sums(NUMERIC[source]({"x": ROWS}, tmp_path), family, domain, ["x"]) == by_hand


@pytest.mark.parametrize("source", TEXT)
def test_labels(source: str, tmp_path: Path) -> None:
    family = dc.Categorical(["a", "b", "c"])
    domain = family.read_domain(None, "clip", "impute", "c")
    words = ["a", "c", "x", "b", "", "a", "?", None]
    rows = TEXT[source]({"x": words}, tmp_path)
    assert sums(rows, family, domain, ["x"]) == ((2, 1, 5), 8)


def test_yes_and_no() -> None:
    for value, total in ((0, -2), (1, 4), ("yes", 4), (True, 4)):
        domain = dc.Bernoulli().read_domain(None, "clip", "impute", value)
        assert sums([1, 0, None, "maybe", 1, math.nan], dc.Bernoulli(), domain, None) == ((total,), 6)


def test_each_column_on_its_own() -> None:
    family = dc.MultivariateNormal(2)
    domain = family.read_domain([(0, 4), (0, 8)], "clip", "impute", (1, 2))
    rows = np.array([[math.nan, 4.0], [3.0, math.nan], [2.0, 5.0]])
    filled = np.array([[1.0, 4.0], [3.0, 2.0], [2.0, 5.0]])
    assert sums(rows, family, domain, None) == sums(filled, family, domain, None)


def test_a_measure_that_needs_arrays() -> None:
    class Cubes(type(dc.Normal(variance=1))):  # a family whose measure understands arrays only
        measure_needs_arrays = True

        def measure(self, x: np.ndarray) -> np.ndarray:
            return np.asarray(x) ** 3

        def measure_range(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
            return low**3, high**3

    family = Cubes(variance=1)
    domain = family.read_domain((-3, 9), "clip", "impute", 2)
    assert sums({"x": ROWS}, family, domain, ["x"]) == sums({"x": FILLED}, family, domain, ["x"])


def test_what_stands_for_a_value_that_was_declared_not_to_be_missing() -> None:
    assert dc.Bernoulli().stand_ins(dc.Bernoulli().read_domain(None, "clip", "none")) == (0,)
    family = dc.Categorical(["x", "y"])
    assert family.stand_ins(family.read_domain(None, "clip", "none")) == ("x",)
    assert dc.Poisson().stand_ins(dc.Poisson().read_domain((2, 9), "clip", "none")) == (2,)

"""One record moves the integers by at most the declared sensitivity, whatever the record holds."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet import data
from discreet.models.layout import Layout
from tests.data.builders import declarations

NUMBERS: list[tuple[Any, Any]] = [
    (dc.Normal(), (-3, 100)),
    (dc.Normal(), ("0.1", "1/3")),
    (dc.Normal(variance=2.0), (0, 100)),
    (dc.Normal(mean=0.1), (-3, 100)),
    (dc.Poisson(), (0, 7)),
    (dc.Geometric(), (0, 7)),
    (dc.Exponential(), ("1e-3", 100)),
    (dc.Gamma(shape=2.0), (0, 100)),
    (dc.Laplace(location=0.3), (-3, 100)),
]
PLANE = (dc.MultivariateNormal(2), [(-3, 100), (0, 1)])
SPACE = (dc.MultivariateNormal(3), [(-3, 100), (0, 1), (-1, 1)])
LABELS = [dc.Bernoulli(), dc.Categorical(("a", "b", "1", "0"))]

numbers = st.one_of(
    st.sampled_from(
        [0.0, 1.0, -3.0, 48.5, 100.0, 7.0, 1 / 3, 0.1, 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324]
    ),
    st.floats(-5, 105),
    st.floats(0, 1),
    st.floats(),
)
oddities = st.sampled_from(
    [
        None,
        "",
        "word",
        "nan",
        "inf",
        "1e400",
        "3.5",
        " 7 ",
        True,
        False,
        10**400,
        Decimal("0.1"),
        Fraction(1, 3),
        b"1",
        [1],
        (),
    ]
)
values = st.one_of(numbers, oddities)
labels = st.one_of(
    st.sampled_from(["a", "b", "1", "0", " a", "yes", "no", 1, 0, 1.0, True, False, "1.0"]), values
)


def assert_bounded(before, after, layout: Layout) -> None:
    steps = [
        abs(Fraction(b) - a) * grid / width
        for a, b, grid, width in zip(before.values, after.values, layout.grid, layout.width, strict=True)
    ]
    assert sum(steps) <= layout.l1_sensitivity
    assert sum(step * step for step in steps) <= layout.l2_sensitivity**2


def check(family, bounds, outside, missing, neighbors, rest, old, new, dress=list) -> None:
    domain, layout = declarations(family, bounds, outside, missing, neighbors)
    before = data.summarize(dress([*rest, old]), family, domain, layout)
    changed = [*rest, new] if neighbors == "replace" else rest
    after = data.summarize(dress(changed), family, domain, layout)
    assert_bounded(before, after, layout)


policies = {
    "outside": st.sampled_from(["redact", "clip"]),
    "missing": st.sampled_from(["count", "none"]),
    "neighbors": st.sampled_from(["replace", "add_remove"]),
}


@pytest.mark.parametrize(("family", "bounds"), NUMBERS, ids=lambda p: repr(p))
@settings(max_examples=100, derandomize=True, deadline=None)
@given(**policies, rest=st.lists(values, max_size=3), old=values, new=values)
@example(outside="clip", missing="count", neighbors="replace", rest=[], old=math.inf, new=None)
@example(outside="clip", missing="count", neighbors="replace", rest=[], old=math.inf, new=-math.inf)
def test_numbers(family, bounds, outside, missing, neighbors, rest, old, new):
    check(family, bounds, outside, missing, neighbors, rest, old, new)


@pytest.mark.parametrize(("family", "bounds"), [PLANE, SPACE], ids=["plane", "space"])
@settings(max_examples=80, derandomize=True, deadline=None)
@given(**policies, data_=st.data())
def test_several_columns(family, bounds, outside, missing, neighbors, data_):
    rows = st.one_of(st.tuples(*[values] * family.n_columns), values, st.tuples(values))
    rest, old, new = data_.draw(st.lists(rows, max_size=2)), data_.draw(rows), data_.draw(rows)
    check(family, bounds, outside, missing, neighbors, rest, old, new)


@pytest.mark.parametrize("family", LABELS, ids=lambda f: f.name)
@settings(max_examples=80, derandomize=True, deadline=None)
@given(
    missing=policies["missing"],
    neighbors=policies["neighbors"],
    rest=st.lists(labels, max_size=3),
    old=labels,
    new=labels,
)
def test_labels(family, missing, neighbors, rest, old, new):
    check(family, None, "redact", missing, neighbors, rest, old, new)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(**policies, rest=st.lists(numbers, max_size=3), old=numbers, new=numbers)
def test_inside_another_engine(outside, missing, neighbors, rest, old, new):
    def frame(rows):
        return pl.DataFrame({"x": rows}, schema={"x": pl.Float64})

    check(dc.Normal(), (-3, 100), outside, missing, neighbors, rest, old, new, dress=frame)  # pyright: ignore[reportArgumentType]


class Careless(dc.Exponential):
    """A measure and a certificate that have nothing to do with each other."""

    measure_needs_arrays = True

    def measure(self, x):
        return np.where(x > 50, np.nan, np.where(x > 20, np.inf, x * 1e6))

    def measure_range(self, low, high):
        return Fraction(0), Fraction(1)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(**policies, rest=st.lists(numbers, max_size=3), old=numbers, new=numbers)
def test_a_wrong_certificate_costs_no_privacy(outside, missing, neighbors, rest, old, new):
    check(Careless(), (0, 100), outside, missing, neighbors, rest, old, new)


class TwoFaced(dc.Categorical):
    """Two labels that claim the same spelling."""

    @property
    def vocabulary(self):
        return (("a", "x"), ("x", " x", "b"))


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("dress", [list, pl.Series, np.array], ids=["list", "polars", "numpy"])
def test_a_label_counts_once(neighbors, dress):
    family = TwoFaced(("a", "b"))
    domain, layout = declarations(family, neighbors=neighbors)
    seen = data.summarize(dress(["x"]), family, domain, layout)
    assert seen.values[:2] == (1, 0)
    other = ["b"] if neighbors == "replace" else []
    assert_bounded(seen, data.summarize(dress(other), family, domain, layout), layout)


@pytest.mark.parametrize(
    ("family", "bounds", "pair"),
    [
        (dc.Normal(variance=2.0), (0, 100), (0.0, 100.0)),
        (dc.Normal(), (-1, 1), (1.0, -0.5)),
        (dc.Bernoulli(), None, ("yes", "no")),
        (dc.Categorical(("a", "b")), None, ("a", "b")),
    ],
    ids=lambda p: repr(p),
)
def test_the_bound_is_tight_and_a_smaller_one_is_caught(family, bounds, pair):
    """Control: the worst pair comes within a thousandth of the L1 bound, so less than that would fail above."""
    domain, layout = declarations(family, bounds, missing="none")
    before, after = (data.summarize([record], family, domain, layout) for record in pair)
    steps = [
        abs(Fraction(b) - a) * grid / width
        for a, b, grid, width in zip(before.values, after.values, layout.grid, layout.width, strict=True)
    ]
    assert Fraction(999, 1000) * layout.l1_sensitivity <= sum(steps) <= layout.l1_sensitivity

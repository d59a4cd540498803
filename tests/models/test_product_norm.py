"""The norm of sums of products: no record moves them by more than 1, some by as much, and its suprema are exact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from discreet.data.summaries.product_sums import sum_products
from discreet.domain.declarations import Neighbors
from discreet.models import LinearRegression, LogisticRegression
from discreet.models.product_norm import (
    FORMS,
    ProductNorm,
    _extremes,
    check_forms,
    orbit,
    product_norm,
    takes_norm,
)
from discreet.models.regression import Regression

BOUNDS: dict[str, Any] = {
    "y": (60, 200),
    "age": (18, 100),
    "bmi": (-3, 40),
    "dose": (0.1, 0.9),
    "smoker": ["no", "yes"],
    "sex": ["f", "m"],
    "ward": ["a", "b", "c"],
}
FEATURES = {
    "one number": ["age"],
    "one label": ["smoker"],
    "two numbers": ["age", "bmi"],
    "a number and a label": ["age", "smoker"],
    "two labels": ["smoker", "sex"],
    "three numbers": ["age", "bmi", "dose"],
    # whose labels are 0 and 1 instead of -1 and 1
    "a label as 0 and 1": ["smoker"],
    "a number and a label as 0 and 1": ["age", "smoker"],
    "two labels as 0 and 1": ["smoker", "sex"],
    # and so is a target
    "labels as target": ["age", "sex"],
}
RELATIONS: tuple[Neighbors, ...] = ("replace", "add_remove")
CASES = [
    (name, one) for name in FEATURES for one in RELATIONS if (name, one) != ("three numbers", "add_remove")
]


@cache
def a_model(*features: str, **more: Any) -> LinearRegression:
    declared = {name: BOUNDS[name] for name in ("y", *features) if " " not in name}
    return LinearRegression("y", list(features), bounds=declared, **more).suited("l1")


@cache
def the_model(name: str) -> Regression:
    if name == "labels as target":
        declared = {column: BOUNDS[column] for column in FEATURES[name]}
        return LogisticRegression({"smoker": ["no", "yes"]}, declared).suited("l1")
    return a_model(*FEATURES[name], **({"square_width": "1.4"} if "0 and 1" in name else {}))


@cache
def a_norm(name: str, neighbors: Neighbors) -> ProductNorm:
    design = the_model(name).released_design
    return product_norm(design, neighbors, FORMS[len(design.columns), neighbors])


def sums_of(model: Regression, row: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the sums of a table of one row, in grid steps, as a release computes them."""
    domain = model.read_domain(None, "clip", "none")
    columns = {name: [value] for name, value in zip(model.column_names, row, strict=True)}
    return sum_products(columns, model, domain, model.layout(domain, "replace")).values


def gauge(model: Regression, norm: ProductNorm, neighbors: Neighbors, change: list[int]) -> Fraction:
    """Return N of a change in grid steps, exactly."""
    layout = model.layout(model.read_domain(None, "clip", "none"), neighbors)
    size = len(model.released_design.products)
    reach = model.l1_reach(neighbors)
    widths = zip(change, layout.grid[:size], layout.width[:size], strict=True)
    l1 = sum((abs(value) * grid / width for value, grid, width in widths), Fraction(0)) / reach
    found = norm.forms.astype(object) @ np.array(change, dtype=object)
    forms = (int(value) * layout.grid[0] / one for value, one in zip(found, norm.reaches, strict=True))
    return max(l1, *forms)


def values_of(column: str) -> st.SearchStrategy[Any]:
    declared = BOUNDS[column]
    if isinstance(declared, list):
        return st.sampled_from([*declared, *declared, None, "other"])
    low, high = map(float, declared)
    inside = st.one_of(st.sampled_from([low, high, (low + high) / 2]), st.floats(low, high))
    return st.one_of(inside, inside, st.sampled_from([math.nan, math.inf, -math.inf, -1e300, None]))


@pytest.mark.parametrize(("name", "neighbors"), CASES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_record_moves_the_sums_by_more_than_one(name: str, neighbors: Neighbors, data: Any) -> None:
    model, norm = the_model(name), a_norm(name, neighbors)
    rows = [tuple(data.draw(values_of(column)) for column in model.column_names) for _ in range(2)]
    one, other = (sums_of(model, row) for row in rows)
    if neighbors == "add_remove":
        other = (0,) * len(one)
    assert gauge(model, norm, neighbors, [a - b for a, b in zip(one, other, strict=True)]) <= 1


def records(model: Regression, line: np.ndarray) -> np.ndarray:
    """Return the products of all records with numbers on a line of [-1, 1], and of one that does not count."""
    ends = {True: np.array([0.0, 1.0]), False: np.array([-1.0, 1.0])}
    terms = model.released_design.terms
    axes = [ends[bool(term.labels)] if term.labels or term.signs else line for term in terms]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    every = np.column_stack([np.ones(len(grid)), grid])
    found = [every[:, i] * every[:, j] for i, j in model.released_design.pairs]
    return np.vstack([np.stack(found, axis=1), np.zeros(len(found))])


def reached(model: Regression, forms: np.ndarray, neighbors: Neighbors, line: np.ndarray) -> np.ndarray:
    """Return how far two such records move each form; under ``add_remove`` one of them is the one not there."""
    low, high = np.full(len(forms), np.inf), np.full(len(forms), -np.inf)
    for block in np.array_split(records(model, line), 1 + len(line) ** 2 // 99):
        found = block @ forms.T.astype(float)
        low, high = np.minimum(low, found.min(axis=0)), np.maximum(high, found.max(axis=0))
    return high - low if neighbors == "replace" else np.maximum(high, -low)


@pytest.mark.parametrize(("name", "neighbors"), CASES)
def test_every_supremum_is_attained(name: str, neighbors: Neighbors) -> None:
    model, norm = the_model(name), a_norm(name, neighbors)
    line = np.linspace(-1, 1, 11 if len(model.columns) == 4 else 41)
    ratio = reached(model, norm.forms, neighbors, line) / np.array([float(one) for one in norm.reaches])
    assert ratio.max() <= 1 + 1e-12
    assert ratio.min() >= 0.98


@pytest.mark.parametrize(("name", "neighbors"), CASES)
def test_some_record_moves_them_by_one(name: str, neighbors: Neighbors) -> None:
    """And with one supremum 5% too small it moves them by more: the test above would see it."""
    model, norm = the_model(name), a_norm(name, neighbors)
    line = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    every = np.round(records(model, line) * 2**24).astype(int)
    forms = reached(model, norm.forms, neighbors, line) / np.array([float(one) for one in norm.reaches])
    at = int(forms.argmax())
    found = every @ norm.forms[at]
    first, second = int(found.argmax()), int(found.argmin())
    if neighbors == "add_remove":
        first, second = (first, -1) if found[first] >= -found[second] else (second, -1)
    change = [int(value) for value in every[first] - every[second]]
    assert Fraction(99, 100) <= gauge(model, norm, neighbors, change) <= 1
    small = [one * Fraction(95, 100) if i == at else one for i, one in enumerate(norm.reaches)]
    lowered = ProductNorm(norm.forms, tuple(small))
    assert (
        max(gauge(model, lowered, neighbors, change), gauge(model, lowered, neighbors, [-v for v in change]))
        > 1
    )


@pytest.mark.parametrize(("name", "neighbors"), CASES)
def test_it_is_a_norm(name: str, neighbors: Neighbors) -> None:
    """Forms come with their negatives and the same supremum: a record enters as easily as it leaves."""
    norm = a_norm(name, neighbors)
    table = dict(zip(map(tuple, norm.forms.tolist()), norm.reaches, strict=True))
    assert len(table) == len(norm.reaches)
    assert all(reach > 0 for reach in norm.reaches)
    assert all(table[tuple(-v for v in form)] == reach for form, reach in table.items())


def test_numbers_may_be_swapped_and_reflected() -> None:
    """For numbers alone no column and no direction is preferred; of labels 0 is another label than 1."""
    forms = FORMS[3, "replace"]
    norm = a_norm("two numbers", "replace")
    table = dict(zip(map(tuple, norm.forms.tolist()), norm.reaches, strict=True))
    design = a_model("age", "bmi").design
    assert [term.numbers for term in design.terms] == [("age",), ("bmi",), ("y",)]
    for form in forms:
        assert len({table[moved] for moved in orbit(form, 3)}) == 1
    for moved in orbit(forms[0], 3):
        assert set(orbit(moved, 3)) == set(orbit(forms[0], 3))
    labels = a_norm("a number and a label as 0 and 1", "replace")
    assert len(set(labels.reaches)) > len(set(norm.reaches))


@given(data=st.data())
def test_orbits_are_swaps_and_signs(data: Any) -> None:
    p = data.draw(st.integers(2, 4))
    form = tuple(
        data.draw(st.lists(st.integers(-9, 9), min_size=p + p * (p + 1) // 2, max_size=p + p * (p + 1) // 2))
    )
    s = data.draw(st.lists(st.integers(-5, 5), min_size=p, max_size=p))

    def value(of: tuple[int, ...], at: list[int]) -> int:
        pairs = [at[i] * at[j] for i in range(p) for j in range(i, p)]
        return sum(a * b for a, b in zip(of, [*at, *pairs], strict=True))

    def moved_points() -> Iterator[list[int]]:
        for order in permutations(range(p)):
            for signs in product((1, -1), repeat=p):
                yield [signs[i] * s[order[i]] for i in range(p)]

    assert sorted(value(one, s) for one in orbit(form, p)) == sorted(value(form, at) for at in moved_points())


# -- suprema -------------------------------------------------------------------------------------------

SINGULAR: dict[str, tuple[list[int], list[list[int]]]] = {
    "no curvature": ([3, -2], [[0, 0], [0, 0]]),
    "nothing": ([0], [[0]]),
    "a valley across": ([0, 0], [[2, -2], [-2, 2]]),
    "a valley that slopes": ([1, 2], [[4, 4], [4, 4]]),
    "a ridge": ([1, -1, 1], [[-2, -2, -2], [-2, -2, -2], [-2, -2, -2]]),
    "a saddle and a flat": ([0, 0, 5], [[0, 3, 0], [3, 0, 0], [0, 0, 0]]),
    "a saddle": ([1, 1], [[0, 4], [4, 0]]),
    "two of three": ([0, 1, 0], [[6, 2, 4], [2, 2, 2], [4, 2, 3]]),
}


def quadratic(slope: list[int], curve: list[list[int]], z: np.ndarray) -> np.ndarray:
    return z @ np.array(slope) + 0.5 * np.einsum("ni,ij,nj->n", z, np.array(curve), z)


def check_on_a_grid(slope: list[int], curve: list[list[int]]) -> None:
    k = len(slope)
    least, most = _extremes(slope, curve)
    z = np.stack(np.meshgrid(*[np.linspace(-1, 1, 21)] * k), axis=-1).reshape(-1, k)
    found = quadratic(slope, curve, z)
    assert float(least) <= found.min() + 1e-9
    assert found.max() - 1e-9 <= float(most)
    # some point of the grid is half a step off, in directions in which the slope vanishes
    error = 0.5 * k**2 * np.abs(curve).max() * 0.05**2 + 1e-9
    assert found.min() - float(least) <= error
    assert float(most) - found.max() <= error


@pytest.mark.parametrize("name", SINGULAR)
def test_extremes_where_the_curvature_is_singular(name: str) -> None:
    """Against a grid, and against descents from near its corners, centers and in between."""
    slope, curve = SINGULAR[name]
    check_on_a_grid(slope, curve)
    least, most = _extremes(slope, curve)
    k = len(slope)
    for sign, exact in ((1, least), (-1, -most)):

        def height(at: np.ndarray, sign: int = sign) -> tuple[float, np.ndarray]:
            slopes = np.array(slope) + np.array(curve) @ at
            return sign * float(quadratic(slope, curve, at[None])[0]), sign * slopes

        starts = [np.array(start) for start in product((-0.9, 0.1, 0.8), repeat=k)]
        ends = [minimize(height, start, jac=True, bounds=[(-1, 1)] * k).fun for start in starts]
        assert min(ends) == pytest.approx(float(exact), abs=1e-6 * (1 + abs(float(exact))))


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_extremes_of_any_quadratic(data: Any) -> None:
    k = data.draw(st.integers(1, 3))
    whole = st.integers(-9, 9)
    slope = data.draw(st.lists(whole, min_size=k, max_size=k))
    curve = [[0] * k for _ in range(k)]
    for i in range(k):
        for j in range(i + 1):
            curve[i][j] = curve[j][i] = data.draw(whole) * (2 if i == j else 1)
    check_on_a_grid(slope, curve)


def test_corners_are_not_enough() -> None:
    """What extremes would be if faces were forgotten: the tests above tell it apart."""
    slope, curve = [1, 0], [[4, 0], [0, -2]]
    corners = quadratic(slope, curve, np.array(list(product((-1.0, 1.0), repeat=2))))
    least, most = _extremes(slope, curve)
    assert (least, most) == (Fraction(-9, 8), Fraction(3))
    assert float(least) < corners.min()
    assert float(most) > corners.max()


# -- which models --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("features", "relations"),
    [
        (["age"], RELATIONS),
        (["smoker"], RELATIONS),
        (["age", "bmi"], RELATIONS),
        (["age", "smoker"], RELATIONS),
        (["smoker", "sex"], RELATIONS),
        (["age", "bmi", "dose"], ("replace",)),
        (["age", "bmi", "smoker"], ()),
        (["ward"], ()),
        (["age", "ward"], ()),
        (["age", "age ** 2"], ()),
        (["age", "bmi", "age * bmi"], ()),
    ],
    ids=lambda one: "-".join(one),
)
def test_models_with_a_norm(features: list[str], relations: tuple[Neighbors, ...]) -> None:
    model = a_model(*features)
    assert tuple(one for one in RELATIONS if takes_norm(model.released_design, one)) == relations
    assert tuple(one for one in RELATIONS if model.noise(one) == "k-norm") == relations


@pytest.mark.parametrize(
    "forms",
    [
        (),
        ((1, 2, 3, 4),),
        ((1, 2, 3, 4, 5, 6),),
        ((0, 0, 0, 0, 0),),
        ((1.0, 2, 3, 4, 5),),
        ((True, 2, 3, 4, 5),),
        ((Fraction(1), 2, 3, 4, 5),),
        ((10**4 + 1, 0, 0, 0, 0),),
        ((1, 2, 3, 4, 5),) * 17,
    ],
)
def test_what_is_no_norm(forms: Any) -> None:
    design = a_model("age").design
    check_forms(design, "replace", ((1, 2, 3, 4, 5),) * 16)
    with pytest.raises(ValueError, match="its norm does not fit its model"):
        check_forms(design, "replace", forms)

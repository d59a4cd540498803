"""Sums of products: no two records are further apart than is declared, and some are as far."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.summaries.product_sums import sum_products
from discreet.models import LinearRegression, product_sensitivity
from discreet.models.product_sensitivity import LINEAR_WIDTH, between

BOUNDS = {
    "y": (60, 200),
    "age": (18, 100),
    "bmi": (-3, 40),
    "dose": (0.1, 0.9),
    "smoker": ["no", "yes"],
    "ward": ["a", "b", "c", "d"],
}
FEATURES = {
    "one number": ["age"],
    "three numbers": ["age", "bmi", "dose"],
    "two labels": ["age", "smoker"],
    "four labels": ["age", "ward"],
    "labels of both kinds": ["age", "bmi", "smoker", "ward"],
    "labels alone": ["smoker", "ward"],
    "square": ["age", "age ** 2"],
    "product": ["age", "bmi", "age * bmi"],
    "slope by label": ["age", "smoker", "age * smoker"],
    "labels that interact": ["smoker", "ward", "smoker * ward"],
    "everything": ["age", "bmi", "ward", "age ** 2", "bmi * ward"],
}


@cache
def a_model(name: str, norm: Any = "l1") -> LinearRegression:
    features = FEATURES[name]
    declared = {k: v for k, v in BOUNDS.items() if k in {"y", *features}}
    return LinearRegression("y", features, bounds=declared).suited(norm)


def exact_sums(model: LinearRegression, row: tuple[Any, ...]) -> np.ndarray:
    """Return the exact sums of a table of one row, in grid steps; the usable count is the last."""
    domain, layout = counted_layout(model)
    columns = {name: [value] for name, value in zip(model.column_names, row, strict=True)}
    return np.array(sum_products(columns, model, domain, layout).values, dtype=float)


@cache
def counted_layout(model: LinearRegression) -> tuple[Any, Any]:
    domain = model.read_domain(None, "clip", "count")
    return domain, model.layout(domain, "replace")


def values_of(column: str) -> st.SearchStrategy[Any]:
    declared = BOUNDS[column]
    if isinstance(declared, list):
        return st.sampled_from([*declared, "", "other", None])
    low, high = map(float, declared)
    inside = st.one_of(st.sampled_from([low, high, (low + high) / 2]), st.floats(low, high))
    return st.one_of(inside, st.sampled_from([math.nan, math.inf, -math.inf, 1e300, None]))


@cache
def declared_steps(
    name: str, norm: str, neighbors: Any, missing: Any
) -> tuple[np.ndarray, tuple[float, float]]:
    """Return the grid steps in widths, and the declared sensitivities."""
    suited = a_model(name, norm)
    layout = suited.layout(suited.read_domain(None, "clip", missing), neighbors)
    steps = np.array([float(g / w) for g, w in zip(layout.grid, layout.width, strict=True)])
    return steps, (float(layout.l1_sensitivity), float(layout.l2_sensitivity))


@pytest.mark.parametrize("name", FEATURES)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_no_pair_is_further_apart_than_declared(name: str, data: Any) -> None:
    model = a_model(name)
    rows = [tuple(data.draw(values_of(column)) for column in model.column_names) for _ in range(2)]
    one, other = (exact_sums(model, row) for row in rows)
    for norm, neighbors, missing in product(("l1", "l2"), ("replace", "add_remove"), ("count", "none")):
        steps, most = declared_steps(name, norm, neighbors, missing)
        change = (one - other if neighbors == "replace" else one)[: len(steps)] * steps
        assert np.abs(change).sum() <= most[0]
        assert np.sqrt((change**2).sum()) <= most[1]


def furthest(model: LinearRegression, norm: str) -> float:
    """Search for two records that are far apart: one at the upper bounds, the other on a line or at corners."""
    labels = [range(c.n_labels) for c in model.label_columns]
    numbers = [c.name for c in model.numeric_columns]
    design = model.released_design
    width = float(model.square_width or 1)
    weights = np.array(
        [
            1 / width if one.is_square else 1 / LINEAR_WIDTH if one.is_number or one.is_sign else 1.0
            for one in design.products
        ]
    )
    line = np.linspace(-1, 1, 81)
    if len(numbers) <= 2:
        z = np.stack(np.meshgrid(*[line] * len(numbers)), axis=-1).reshape(-1, len(numbers))
    else:
        corners = np.array(list(product([-1.0, 1.0], repeat=len(numbers))))
        z = np.concatenate([np.repeat(line[:, None], len(numbers), axis=1), corners])

    def vectors(z: np.ndarray, codes: tuple[int, ...]) -> np.ndarray:
        coded = {c.name: np.full(len(z), code) for c, code in zip(model.label_columns, codes, strict=True)}
        mapped = {name: z[:, i] for i, name in enumerate(numbers)}
        return np.stack([design.evaluate(one, coded, mapped) for one in design.products], axis=1) * weights

    best = 0.0
    for first, second in product(product(*labels), product(*labels)):
        change = vectors(np.ones((1, len(numbers))), first) - vectors(z, second)
        sizes = np.abs(change).sum(axis=1) if norm == "l1" else np.sqrt((change**2).sum(axis=1))
        best = max(best, float(sizes.max()))
    return best


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", FEATURES)
def test_some_pair_is_within_a_hundredth(name: str, norm: str) -> None:
    model = a_model(name, norm)
    layout = model.layout(model.read_domain(None, "clip", "none"), "replace")
    declared = float(layout.l1_sensitivity if norm == "l1" else layout.l2_sensitivity)
    found = furthest(model, norm)
    assert 0.99 * declared <= found <= declared


@pytest.mark.parametrize("p", [2, 3, 6, 11])
def test_closed_forms_of_numbers_alone(p: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_sensitivity, "LINEAR_WIDTH", 1.0)
    design = LinearRegression({"y": (0, 1)}, {f"x{i}": (0, 1) for i in range(p - 1)}).design
    fresh = between.__wrapped__
    for w in (0.75, 1, 2):
        assert fresh(design, 1 / w, 1) == pytest.approx(p * (p + 2 * w) ** 2 / (2 * (p + 2 * w - 1)))
    largest = (p + 1) ** 2 - (p % 2 == 0)
    assert largest <= fresh(design, math.sqrt(2 / (p + 2)), 2) <= 1.02 * largest


def test_a_product_is_released_once() -> None:
    model = a_model("everything")
    names = model.layout(model.read_domain(None, "clip", "count"), "replace").names
    assert len(set(names)) == len(names)
    # an indicator is its own square, labels of one column exclude each other, age times age is age ** 2
    assert not any("ward=b * ward=c" in name or name == "ward=b * ward=b" for name in names)
    assert sum(name == "age ** 2" for name in names) == 1
    assert names[-1] == "usable"


def test_many_columns_that_interact_are_refused() -> None:
    names = [f"x{i}" for i in range(5)]
    squares = [f"{name} ** 2" for name in names]
    wide = LinearRegression("y", [*names, *squares], bounds=dict.fromkeys(["y", *names], (0, 1)))
    with pytest.raises(dc.errors.UsageError, match="at most 4 columns of numbers"):
        wide.layout(wide.read_domain(None, "clip", "none"), "replace")

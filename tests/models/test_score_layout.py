"""Newton steps of regressions: no two records are further apart than declared, and sums are those asked."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.summaries.score_sums import sum_scores
from discreet.models import LinearRegression, LogisticRegression, PoissonRegression
from discreet.models.score_layout import POISSON

BOUNDS: dict[str, Any] = {
    "ill": ["no", "yes"],
    "visits": (0, 12),
    "age": (18, 100),
    "dose": ("0.1", "0.9"),
    "smoker": ["no", "yes"],
    "ward": ["a", "b", "c", "d"],
}
FEATURES = {
    "numbers": ["age", "dose"],
    "both kinds": ["age", "smoker", "ward"],
    "labels": ["smoker", "ward"],
    "everything": ["age", "dose", "ward", "age ** 2", "dose * ward"],
}


def a_model(name: str, start: Any, target: str = "ill") -> LogisticRegression | PoissonRegression:
    features = FEATURES[name]
    declared = {k: v for k, v in BOUNDS.items() if k in {target, *features}}
    bare = LinearRegression("visits", features, bounds=_of_features(features))
    given = [start(at) for at in range(bare.dimension)]
    if target == "ill":
        return LogisticRegression("ill", features, bounds=declared, start=given)
    known: Any = {"dispersion": 2, "mean": "1.5"}
    return PoissonRegression("visits", features, bounds=declared, start=given, **known)


def _of_features(features: list[str]) -> dict[str, Any]:
    return {k: v for k, v in BOUNDS.items() if k in {"visits", *features}}


def sums_of(
    model: LogisticRegression | PoissonRegression, rows: dict[str, Any], missing: Any = "count"
) -> np.ndarray:
    domain = model.read_domain(None, "clip", missing)
    return np.array(sum_scores(rows, model, domain, model.layout(domain, "replace")).values, dtype=float)


def values_of(column: str) -> st.SearchStrategy[Any]:
    declared = BOUNDS[column]
    if isinstance(declared, list):
        return st.sampled_from([*declared, declared[-1], "other", None])
    low, high = map(float, declared)
    inside = st.one_of(st.sampled_from([low, high]), st.floats(low, high))
    return st.one_of(inside, st.sampled_from([math.nan, math.inf, 1e300, None]))


@pytest.mark.parametrize("target", ["ill", "visits"])
@pytest.mark.parametrize("name", FEATURES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_pair_is_further_apart_than_declared(name: str, target: str, data: Any) -> None:
    weights = st.sampled_from([-40, -3, -1, 0, "0.01", "0.5", 2, 40])
    model = a_model(name, lambda _: data.draw(weights), target)
    rows = [{c: [data.draw(values_of(c))] for c in model.column_names} for _ in range(2)]
    one, other = (sums_of(model, row) for row in rows)
    for neighbors, missing in product(("replace", "add_remove"), ("count", "none")):
        layout = model.layout(model.read_domain(None, "clip", missing), neighbors)  # pyright: ignore
        steps = np.array([float(g / w) for g, w in zip(layout.grid, layout.width, strict=True)])
        change = (one - other if neighbors == "replace" else one)[: len(steps)] * steps
        assert np.abs(change).sum() <= float(layout.l1_sensitivity)
        assert np.sqrt((change**2).sum()) <= float(layout.l2_sensitivity)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_some_pair_is_nearly_as_far(d: int, rng: np.random.Generator) -> None:
    """Residuals may be anything, since the start may: records at corners, and any two residuals."""
    names = [f"x{i}" for i in range(d)]
    model = LogisticRegression({"y": ["no", "yes"]}, dict.fromkeys(names, (-1, 1)), start=[1] * (d + 1))
    layout = model.layout(model.read_domain(None, "clip", "none"), "replace")
    corners = np.array(list(product([-1.0, 1.0], repeat=d)))
    rows, columns = np.triu_indices(d + 1)
    e = np.linspace(-1, 1, 201)
    a = 4 * np.abs(e) * (1 - np.abs(e))
    first = np.ones(d + 1)
    most = np.zeros(2)
    for z in corners:
        x = np.append(1.0, z)
        curved = a[:, None, None] * (first[rows] * first[columns]) - a[None, :, None] * (x[rows] * x[columns])
        sloped = e[:, None, None] * first - e[None, :, None] * x
        change = np.concatenate([curved, sloped], axis=2)
        most = np.maximum(most, [np.abs(change).sum(axis=2).max(), np.sqrt((change**2).sum(axis=2).max())])
    declared = np.array([float(layout.l1_sensitivity), float(layout.l2_sensitivity)])
    assert (most <= declared).all()
    assert (most >= 0.9 * declared).all()


def test_sums_are_curvature_and_slope(rng: np.random.Generator) -> None:
    n = 3000
    rows = {
        "age": rng.uniform(18, 110, n),
        "smoker": rng.choice(["no", "yes"], n),
        "ill": rng.choice(["no", "yes", "?"], n),
    }
    model = LogisticRegression(
        "ill", ["age", "smoker"], bounds={k: BOUNDS[k] for k in rows}, start=[-3, "0.05", 1]
    )
    kept = rows["ill"] != "?"
    age = np.clip(rows["age"], 18, 100)[kept]
    s, y = (rows["smoker"] == "yes")[kept].astype(float), (rows["ill"] == "yes")[kept]
    chance = 1 / (1 + np.exp(-(-3 + 0.05 * age + s)))
    z = (age - 59) / 41
    w, e = 4 * chance * (1 - chance), y - chance
    expected = [w, w * z, w * s, w * z**2, w * z * s, e, e * z, e * s]
    layout = model.layout(model.read_domain(None, "clip", "count"), "replace")
    found = sums_of(model, rows) * np.array([float(g) for g in layout.grid])
    assert layout.names[0] == "weight"
    assert found[:-1] == pytest.approx([one.sum() for one in expected], abs=1e-3)
    assert found[-1] == kept.sum()


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_counts_some_pair_is_nearly_as_far(d: int, neighbors: Any) -> None:
    """Whatever the start may be, any weight goes with any residual: records at corners, and both at their ends."""
    known: Any = {"start": [0] * (d + 1), "dispersion": 1, "mean": 1}
    model = PoissonRegression({"y": (0, 9)}, {f"x{i}": (-1, 1) for i in range(d)}, **known)
    layout = model.layout(model.read_domain(None, "clip", "none"), neighbors)
    rows, columns = np.triu_indices(d + 1)
    width = float(POISSON.width)
    states = np.array(
        [
            np.append(a / width * x[rows] * x[columns], e * x)
            for x in (np.append(1.0, z) for z in product([-1.0, 1.0], repeat=d))
            for a in (0.0, 1.0)
            for e in (-1.0, 0.0, 1.0)
        ]
    )
    others = states if neighbors == "replace" else np.zeros((1, states.shape[1]))
    apart = np.abs(states[:, None] - others[None])
    usable = 0.0 if neighbors == "replace" else 0.5
    most = np.array([apart.sum(axis=2).max() + usable, np.sqrt((apart**2).sum(axis=2).max() + usable**2)])
    declared = np.array([float(layout.l1_sensitivity), float(layout.l2_sensitivity)])
    assert (most <= declared).all()
    # a claim of nine tenths would be caught
    assert (most > 0.9 * declared).all()


def test_sums_of_counts_are_curvature_and_slope(rng: np.random.Generator) -> None:
    n = 3000
    rows = {
        "age": rng.uniform(18, 110, n),
        "smoker": rng.choice(["no", "yes"], n),
        "visits": rng.poisson(3, n) * 2.0,
    }
    rows["visits"][::7] = np.nan
    known: Any = {"start": [-1, "0.03", "0.5"], "dispersion": 2, "mean": "1.5"}
    model = PoissonRegression("visits", ["age", "smoker"], bounds={k: BOUNDS[k] for k in rows}, **known)
    kept = ~np.isnan(rows["visits"])
    age = np.clip(rows["age"], 18, 100)[kept]
    s, y = (rows["smoker"] == "yes")[kept].astype(float), np.clip(rows["visits"][kept], 0, 12)
    means = np.minimum(np.exp(-1 + 0.03 * age + 0.5 * s), 12)
    assert means.max() == 12
    z, w, e = (age - 59) / 41, np.minimum(means / 3, 1), (y - means) / 12
    expected = [w, w * z, w * s, w * z**2, w * z * s, e, e * z, e * s]
    layout = model.layout(model.read_domain(None, "clip", "count"), "replace")
    found = sums_of(model, rows) * np.array([float(g) for g in layout.grid])
    assert found[:-1] == pytest.approx([one.sum() for one in expected], abs=1e-3)
    assert found[-1] == kept.sum()

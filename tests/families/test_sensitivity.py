"""Joint sensitivity against brute force, on the integers that are summed.

The reference below follows the definition record by record: domain test, map to [-1, 1], features, coordinates,
k = floor(t / grid + 1/2). Comparisons are exact: integers and rationals, no tolerance.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from discreet.domain.declarations import Domain
from discreet.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Family,
    Gamma,
    Geometric,
    Laplace,
    Mean,
    MultivariateNormal,
    Normal,
    Poisson,
)
from discreet.models.layout import Layout
from discreet.models.shapes import Quadratic

NUMERIC = [
    (Poisson(), (0, 100)),
    (Geometric(), (0, 7)),
    (Exponential(), (0, 100)),
    (Gamma(shape=2.5), ("0.5", "100")),
    (Laplace(location=0), (-3, 100)),
    (Laplace(location="1/3"), (0, 100)),  # pyright: ignore[reportArgumentType]
    (Laplace(location=-7), (-3, 100)),
    (Laplace(location=100), (0, 100)),
    (Normal(variance=4), (-3, 100)),
    (Normal(mean=0.1), (-3, 100)),
    (Normal(mean=250), (0, 100)),
    (Normal(), (-3, 100)),
    (Normal(), (0, 100)),
    (Mean(), (-3, 100)),
    (Normal(), (-1, 1)),
    (MultivariateNormal(2), [(-3, 100), (0, 100)]),
]
LABELS = [Bernoulli(), Categorical(2), Categorical(["a", "b", "c"])]
POLICIES = list(product(["replace", "add_remove"], ["count", "none"]))
ONE_PERCENT = Fraction(1, 100)


def declare(family: Family, bounds, outside: str, missing: str) -> Domain:
    return Domain(family.parse_bounds(bounds), family.labels, outside, missing)  # pyright: ignore[reportArgumentType]


def integers(layout: Layout, coordinates: list[np.ndarray]) -> np.ndarray:
    """Round coordinates to their grids: one row of integers per record."""
    columns = [np.floor(t / float(g) + 0.5) for t, g in zip(coordinates, layout.grid, strict=True)]
    return np.stack(columns, axis=-1).astype(np.int64)


def numeric_records(family: Family, domain: Domain, layout: Layout, x: np.ndarray) -> np.ndarray:
    """Return what each row of ``x`` (NaN means missing) adds to the integer sums."""
    assert domain.bounds is not None
    assert layout.shift is not None
    assert layout.half is not None
    usable = ~np.isnan(x).any(axis=-1)
    low, high = np.array(domain.bounds, dtype=float).T
    inside = ((x >= low) & (x <= high)).all(axis=-1)
    z = []
    for j in range(x.shape[-1]):
        clipped = np.where(usable, np.clip(x[:, j], low[j], high[j]), low[j])
        mapped = (family.measure(clipped) - float(layout.shift[j])) / float(layout.half[j])
        keep = usable & (inside | (domain.outside == "clip"))
        z.append(np.where(keep, np.clip(mapped, -1, 1), 0.0))
    # a missing record has z = 0, so each of its features is 0
    return integers(layout, layout.coordinates(usable.astype(float), family.geometry.features(z)))


def label_records(family: Family, layout: Layout) -> np.ndarray:
    """Return what each label, and a missing one (last row), adds to the integer sums."""
    assert family.vocabulary is not None
    k = len(family.vocabulary)
    indicators = np.vstack([np.eye(k), np.zeros(k)])
    features = family.geometry.features_of_labels(list(indicators.T))
    return integers(layout, layout.coordinates(indicators.sum(axis=1), features))


def changes(layout: Layout, difference: np.ndarray) -> tuple[Fraction, Fraction]:
    """Return the exact L1 and squared L2 sizes of an integer change, in widths."""
    parts = [abs(int(k)) * g / w for k, g, w in zip(difference, layout.grid, layout.width, strict=True)]
    return sum(parts, Fraction(0)), sum((part * part for part in parts), Fraction(0))


def supremum(layout: Layout, records: np.ndarray, neighbors: str) -> tuple[Fraction, Fraction]:
    """Return the largest exact L1 and squared L2 change between neighbors made of these records."""
    unit = np.array([float(g / w) for g, w in zip(layout.grid, layout.width, strict=True)])
    records = np.unique(records, axis=0)
    others = records if neighbors == "replace" else np.zeros((1, records.shape[1]), dtype=np.int64)
    best1 = best2 = Fraction(0)
    for row in others:
        # floats only rank the pairs; the largest is then measured exactly
        gap = np.abs(records - row) * unit
        best1 = max(best1, changes(layout, records[gap.sum(axis=1).argmax()] - row)[0])
        best2 = max(best2, changes(layout, records[(gap**2).sum(axis=1).argmax()] - row)[1])
    return best1, best2


def assert_matches(layout: Layout, worst: tuple[Fraction, Fraction]) -> None:
    """The declared sensitivities are never below the supremum and at most 1% above it."""
    for declared, found in ((layout.l1_sensitivity, worst[0]), (layout.l2_sensitivity**2, worst[1])):
        assert found <= declared
    assert worst[0] >= layout.l1_sensitivity * (1 - ONE_PERCENT)
    assert worst[1] >= (layout.l2_sensitivity * (1 - ONE_PERCENT)) ** 2


def fine_grid(family: Family, domain: Domain) -> np.ndarray:
    """Return rows that cover the domain, its edges and corners, and everything outside it."""
    assert domain.bounds is not None
    n_points = 601 if family.n_columns == 1 else 31
    columns = [np.linspace(float(low), float(high), n_points) for low, high in domain.bounds]
    center = family.constants().get("location", family.constants().get("mean"))
    if center is not None:
        columns[0] = np.append(columns[0], center)
    rows = np.stack([axis.ravel() for axis in np.meshgrid(*columns)], axis=-1)
    odd = [np.nan, np.inf, -np.inf, 1e300, -1e300, float(domain.bounds[0][1]) + 0.5, 1.0]
    return np.vstack([rows, *(np.array(row)[None] for row in product(odd, repeat=family.n_columns))])


def identify(value) -> str:
    return str(value).replace(" ", "")


@pytest.mark.parametrize(("neighbors", "missing"), POLICIES)
@pytest.mark.parametrize("outside", ["redact", "clip"])
@pytest.mark.parametrize(("family", "bounds"), NUMERIC, ids=identify)
def test_numeric_sensitivity_equals_brute_force(family, bounds, outside, neighbors, missing):
    domain = declare(family, bounds, outside, missing)
    layout = family.layout(domain, neighbors)
    records = numeric_records(family, domain, layout, fine_grid(family, domain))
    assert_matches(layout, supremum(layout, records, neighbors))


@pytest.mark.parametrize(("neighbors", "missing"), POLICIES)
@pytest.mark.parametrize("family", LABELS, ids=identify)
def test_label_sensitivity_equals_brute_force(family, neighbors, missing):
    domain = declare(family, None, "redact", missing)
    layout = family.layout(domain, neighbors)
    worst = supremum(layout, label_records(family, layout), neighbors)
    assert worst[0] == layout.l1_sensitivity  # counts are not rounded, so not one grid step is added
    assert_matches(layout, worst)


def test_known_values():
    """Bernoulli noise has scale 1/epsilon in counts, counting missing or not; Categorical is 2 and 1."""
    for missing in ("count", "none"):
        for family in LABELS:
            domain = declare(family, None, "redact", missing)
            assert family.layout(domain, "replace").l1_sensitivity == 2
            assert family.layout(domain, "add_remove").l1_sensitivity == 1
    # z = 2 yes - n moves by 2, so one step of z is half a count: scale 2 / epsilon in z is 1 / epsilon in counts
    assert Bernoulli().affine_map(declare(Bernoulli(), None, "redact", "count"))[1] == (Fraction(1, 2),)


@pytest.mark.parametrize(("neighbors", "missing"), POLICIES)
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_quadratic_sensitivity_equals_optimisation(d, neighbors, missing, rng):
    """Coordinate ascent over pairs of records from many starts, on the integers."""
    family = Normal() if d == 1 else MultivariateNormal(d)
    domain = declare(family, [(-1, 1)] * d, "redact", missing)
    layout = family.layout(domain, neighbors)
    unit = np.array([float(g / w) for g, w in zip(layout.grid, layout.width, strict=True)])
    candidates = np.linspace(-1, 1, 41)

    def rows(z: np.ndarray) -> np.ndarray:
        features = family.geometry.features([z[..., j] for j in range(d)])
        return integers(layout, layout.coordinates(np.ones(z.shape[:-1]), features))

    def size(pair: np.ndarray, power: int) -> np.ndarray:
        other = rows(pair[..., 1, :]) if neighbors == "replace" else 0
        return (np.abs((rows(pair[..., 0, :]) - other) * unit) ** power).sum(axis=-1)

    worst = []
    for power in (1, 2):
        pairs = rng.choice(candidates, (150, 2, d))
        value = np.full(len(pairs), -1.0)
        for _ in range(40):
            for i, j in product(range(2), range(d)):
                trial = np.repeat(pairs[:, None], candidates.size, axis=1)
                trial[:, :, i, j] = candidates
                pairs = trial[np.arange(len(pairs)), size(trial, power).argmax(axis=1)]
            if (size(pairs, power) <= value).all():
                break
            value = size(pairs, power)
        best = pairs[size(pairs, power).argmax()]
        first, second = rows(best[None, 0])[0], rows(best[None, 1])[0]
        gap = first - second if neighbors == "replace" else first
        from_nothing = changes(layout, rows(np.ones((1, d)))[0])  # what a missing record would have added
        found = changes(layout, gap)[power - 1]
        worst.append(max(found, from_nothing[power - 1]) if missing == "count" else found)
    assert_matches(layout, (worst[0], worst[1]))


@pytest.mark.parametrize("d", range(1, 8))
def test_quadratic_closed_forms_are_attained(d):
    """The worst pairs named in the proofs reach the closed forms exactly."""
    shape = Quadratic(d)

    def gap(first: list[Fraction], second: list[Fraction]) -> list[Fraction]:
        return [abs(a - b) for a, b in zip(shape.features(first), shape.features(second), strict=True)]

    one = Fraction(1)
    back = one - 2 * Fraction(d + 2, 2 * (d + 1))
    assert sum(gap([one] * d, [back] * d)) == shape.l1_sensitivity("replace", "none")
    flipped = [sum(v * v for v in gap([one] * d, [-one] * k + [one] * (d - k))) for k in range(d + 1)]
    assert max(flipped) == shape.l2_sensitivity_squared("replace", "none")


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize(("family", "bounds"), NUMERIC, ids=identify)
def test_control_a_sensitivity_one_percent_smaller_is_caught(family, bounds, neighbors):
    domain = declare(family, bounds, "clip", "count")
    layout = family.layout(domain, neighbors)
    records = numeric_records(family, domain, layout, fine_grid(family, domain))
    worst = supremum(layout, records, neighbors)
    smaller = 1 - ONE_PERCENT
    for field in ("l1_sensitivity", "l2_sensitivity"):
        with pytest.raises(AssertionError):
            assert_matches(replace(layout, **{field: getattr(layout, field) * smaller}), worst)
        with pytest.raises(AssertionError):
            assert_matches(replace(layout, **{field: getattr(layout, field) / smaller**2}), worst)


@st.composite
def neighbors_of(draw, cases=tuple(NUMERIC)):
    """Draw a family, its declarations, and two records of any kind at all."""
    family, bounds = draw(st.sampled_from(cases))
    neighbors, missing = draw(st.sampled_from(POLICIES))
    domain = declare(family, bounds, draw(st.sampled_from(["redact", "clip"])), missing)
    assert domain.bounds is not None
    value = (
        st.floats()
        | st.floats(-10, 110)
        | st.sampled_from([float(b) for pair in domain.bounds for b in pair])
    )
    record = st.lists(value, min_size=family.n_columns, max_size=family.n_columns)
    return family, domain, neighbors, np.array([draw(record), draw(record)])


def change_of(family, domain, neighbors, x) -> tuple[Layout, Fraction, Fraction]:
    layout = family.layout(domain, neighbors)
    records = numeric_records(family, domain, layout, x)
    gap = records[0] - records[1] if neighbors == "replace" else records[0]
    return layout, *changes(layout, gap)


@settings(max_examples=600, deadline=None, derandomize=True, database=None)
@given(neighbors_of())
def test_no_pair_of_records_exceeds_the_sensitivity(pair):
    layout, l1, l2_squared = change_of(*pair)
    assert l1 <= layout.l1_sensitivity
    assert l2_squared <= layout.l2_sensitivity**2


def test_control_random_pairs_find_a_sensitivity_that_is_too_small():
    def too_large(pair) -> bool:
        layout, l1, _ = change_of(*pair)
        return l1 > layout.l1_sensitivity * (1 - ONE_PERCENT)

    quiet = settings(max_examples=5000, deadline=None, derandomize=True, database=None)
    assert find(neighbors_of(), too_large, settings=quiet) is not None

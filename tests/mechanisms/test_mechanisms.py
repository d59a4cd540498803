"""Mechanisms: exact privacy loss on small tables, and controls with too little noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import discreet as dc
from discreet.domain.declarations import Domain
from discreet.mechanisms.noise import NoiseMechanism
from discreet.models.layout import Layout

DOMAIN = Domain(None, None, "redact", "count")
NORMAL = Domain(((Fraction(-3), Fraction(100)),), None, "redact", "count")


def record_points(family: dc.families.Family, layout: Layout) -> np.ndarray:
    """Return every integer vector one record can add (a missing one adds zeros), for families of labels."""
    assert family.vocabulary is not None
    k = len(family.vocabulary)
    rows = [np.zeros(len(layout.names))]
    for i in range(k):
        indicators = [float(i == j) for j in range(k)]
        rows.append(np.array(layout.coordinates(1.0, family.geometry.features_of_labels(indicators))))
    return np.array(rows)


def pure_loss(mechanism: NoiseMechanism, layout: Layout, changes: np.ndarray, thinner: float = 1.0) -> float:
    """Return the exact worst log-ratio over outputs: sum_j |change_j| / scale_j."""
    steps = np.array([float(s / g) for s, g in zip(mechanism.scales(layout), layout.grid, strict=True)])
    return float((np.abs(changes) / (thinner * steps)).sum(axis=-1).max())


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("missing", ["count", "none"])
@pytest.mark.parametrize("family", [dc.Bernoulli(), dc.Categorical(4)], ids=["bernoulli", "categorical"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_laplace_loss_is_the_promise_and_is_attained(family, missing, neighbors, epsilon) -> None:
    domain = Domain(None, None, "redact", missing)
    layout = family.layout(domain, neighbors)
    points = record_points(family, layout)
    pairs = product(points, points) if neighbors == "replace" else product(points, points[:1])
    changes = np.array([p - q for p, q in pairs])
    mechanism = dc.mechanisms.Laplace(epsilon)
    assert pure_loss(mechanism, layout, changes) <= epsilon
    assert pure_loss(mechanism, layout, changes) >= epsilon * (1 - 1e-9)
    # negative control: a tenth less noise breaks the promise
    assert pure_loss(mechanism, layout, changes, thinner=0.9) > epsilon


def test_bernoulli_noise_is_one_over_epsilon_in_counts() -> None:
    for missing in ("count", "none"):
        layout = dc.Bernoulli().layout(Domain(None, None, "redact", missing), "replace")
        # one count of yes is two steps of z
        assert dc.mechanisms.Laplace("0.5").scales(layout)[0] / 2 == 2
    layout = dc.Bernoulli().layout(DOMAIN, "add_remove")
    assert dc.mechanisms.Laplace("0.5").scales(layout) == (2, 2)


def test_scales_are_rounded_up_and_exact_in_steps() -> None:
    layout = dc.Normal().layout(NORMAL, "replace")
    for mechanism in (dc.mechanisms.Laplace("0.3"), dc.mechanisms.Gaussian(rho="0.07")):
        for scale, width, grid in zip(mechanism.scales(layout), layout.width, layout.grid, strict=True):
            needed = mechanism.unit_scale(layout) * width
            assert needed <= scale <= needed * (1 + Fraction(1, 2**50))
            assert Fraction(float(scale / grid)) == scale / grid


def test_gaussian_zcdp_loss() -> None:
    layout = dc.Normal().layout(NORMAL, "replace")
    scales = dc.mechanisms.Gaussian(rho="0.1").scales(layout)
    unit = min(s / w for s, w in zip(scales, layout.width, strict=True))
    loss = layout.l2_sensitivity**2 / (2 * unit**2)
    assert Fraction(1, 10) * (1 - Fraction(1, 10**9)) <= loss <= Fraction(1, 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give a budget, such as epsilon=0.5"),
        ({"mechanism": "gaussian"}, "give a budget, such as rho=0.01"),
        ({"mechanism": "laplace", "epsilon": 1, "delta": 1e-6}, "laplace noise takes epsilon alone"),
        ({"mechanism": "laplace", "rho": 1}, "laplace noise takes epsilon alone"),
        ({"mechanism": "gaussian", "epsilon": 1}, "gaussian noise takes either"),
        ({"mechanism": "gaussian", "rho": 1, "epsilon": 1}, "gaussian noise takes either"),
        ({"mechanism": "gaussian", "epsilon": 1, "delta": 1.0}, "delta must be between"),
        ({"mechanism": "poisson", "epsilon": 1}, "mechanism must be"),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number"),
        ({"epsilon": 1e-30}, "too small"),
        ({"epsilon": 1, "unit": "patient"}, "unit needs per_unit"),
        ({"epsilon": 1, "per_unit": "any"}, "need unit"),
        ({"epsilon": 1, "neighbors": "swap"}, "neighbors must be"),
        ({"epsilon": 1, "missing": "drop"}, "missing must be"),
        ({"epsilon": 1, "outside": "drop"}, "outside must be"),
        ({"epsilon": 1, "bounds": (0, 1)}, "takes no bounds"),
        ({"epsilon": 1, "column": "a", "columns": ["a"]}, "not both"),
        ({"epsilon": 1, "mechanism": dc.mechanisms.Laplace(1)}, "holds its own budget"),
    ],
)
def test_refused_before_any_row_is_read(options: dict[str, object], message: str) -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> object:
            raise AssertionError("the data was touched")

    with pytest.raises(dc.errors.UsageError, match=message):
        dc.release(Untouchable(), dc.Bernoulli(), **options)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_release_takes_no_seed() -> None:
    import inspect

    assert not {"seed", "rng", "draw", "sampler"} & set(inspect.signature(dc.release).parameters)


def test_empty_table_under_replace_is_refused() -> None:
    with pytest.raises(dc.errors.UsageError, match="empty"):
        dc.release([], dc.Bernoulli(), epsilon=1)
    assert dc.release([], dc.Bernoulli(), epsilon=1, neighbors="add_remove").records is None


def test_rho_and_delta_are_for_gaussian_noise_unless_another_is_named() -> None:
    rows = [0, 1, 1]
    for budget in ({"rho": "0.1"}, {"epsilon": 1, "delta": "1e-6"}):
        release = dc.release(rows, dc.Bernoulli(), **budget)  # pyright: ignore[reportArgumentType, reportCallIssue]
        assert {one.kind for one in release.noise} == {"gaussian"}
    assert {one.kind for one in dc.release(rows, dc.Bernoulli(), epsilon=1).noise} == {"laplace"}

"""Features of two labels are released as -1 and 1: what that changes, and what it does not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.data.summaries.product_sums import sum_products
from discreet.inference.regression.moment_kernels import log_density
from discreet.inference.regression.moment_prior import draw_prior
from discreet.inference.regression.moment_readings import Readings
from discreet.models import LinearRegression
from discreet.samplers.secure import RandomSource

BOUNDS = {"y": (0, 10), "x": (-2, 2), "b": ["no", "yes"], "c": ["u", "v"]}
FEATURES = {
    "one label": ["b"],
    "number and label": ["x", "b"],
    "two labels": ["x", "b", "c"],
    "products": ["x", "b", "c", "x * b", "b * c"],
}


def a_model(name: str, **more: Any) -> LinearRegression:
    features = FEATURES[name]
    return LinearRegression(
        "y", features, bounds={k: BOUNDS[k] for k in BOUNDS if k in {"y", *features}}, **more
    )


def some_rows(rng: np.random.Generator, n: int) -> dict[str, Any]:
    x, b, c = rng.normal(0, 1, n).clip(-2, 2), rng.random(n) < 0.3, rng.random(n) < 0.6
    y = 3 + x + 2 * b - c + 0.5 * x * b + b * c + rng.normal(0, 0.5, n)
    return {"y": y.clip(0, 10), "x": x, "b": np.where(b, "yes", "no"), "c": np.where(c, "v", "u")}


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_noise_takes_signs_for_two_labels_alone(norm: Any) -> None:
    assert a_model("number and label").suited(norm).signs
    assert not LinearRegression("y", {"x": (-2, 2)}, bounds={"y": (0, 10)}).suited(norm).signs
    three = LinearRegression({"y": (0, 10)}, {"ward": ["a", "b", "c"]}).suited(norm)
    assert not three.signs
    # whoever said how noise is to be shared said all of it
    assert not a_model("number and label", square_width=1).suited(norm).signs
    smoker = dc.models.LogisticRegression({"smoker": ["no", "yes"]}, {"age": (18, 90), "sex": ["f", "m"]})
    # the target stays an indicator, which its map is written for
    assert smoker.suited(norm).released_design.terms[-1].labels


def test_sums_hold_minus_one_and_one(rng: np.random.Generator) -> None:
    model = a_model("products").suited("l1")
    domain = model.read_domain(None, "clip", "count")
    layout = model.layout(domain, "replace")
    rows = some_rows(rng, 50)
    rows["b"][:3] = "unknown"
    sums = sum_products(rows, model, domain, layout).values
    found = dict(
        zip(layout.names, (float(v * g) for v, g in zip(sums, layout.grid, strict=True)), strict=True)
    )
    kept = np.arange(50) >= 3
    b, c = np.where(rows["b"] == "yes", 1, -1) * kept, np.where(rows["c"] == "v", 1, -1) * kept
    z = np.clip(rows["x"], -2, 2) / 2
    assert found["usable"] == 47
    assert found["b=yes ±"] == b.sum()
    assert found["b=yes * c=v ±"] == (b * c).sum()
    assert found["x * b=yes ±"] == pytest.approx((z * b).sum(), abs=50 * 2**-12)
    assert found["x ** 2 * b=yes ±"] == pytest.approx((z**2 * b).sum(), abs=100 * 2**-12)
    # the square of a sign says nothing, and is not released
    assert not any("b=yes ** 2" in name for name in found)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_of_few_labels_the_sensitivity_is_hardly_larger(neighbors: Any) -> None:
    for name in ("number and label", "two labels"):
        for norm in ("l1", "l2"):
            signs = a_model(name).suited(norm)
            labels = replace(signs, signs=False)
            one, other = (
                model.layout(model.read_domain(None, "clip", "none"), neighbors) for model in (signs, labels)
            )
            # noise in proportion to it, on numbers that are twice as large
            if norm == "l2":
                assert one.l2_sensitivity <= other.l2_sensitivity * 1.001
            else:
                assert one.l1_sensitivity <= other.l1_sensitivity * 1.035


@pytest.mark.parametrize("name", FEATURES)
def test_both_ways_say_the_same_where_noise_is_small(name: str, rng: np.random.Generator) -> None:
    rows, source = some_rows(rng, 4000), RandomSource.seeded(rng)
    rows = {column: rows[column] for column in a_model(name).column_names}
    middles, spreads = [], []
    for model in (a_model(name), a_model(name, square_width="0.75")):
        release = sample_with(source, rows, model, dc.mechanisms.Gaussian(rho=1000))
        assert release.model.constants().get("signs", False) is (model.square_width is None)
        draws = dc.infer(dc.Release.from_json(release.to_json()), rng=rng, draws=1000, chains=2).draws
        every = np.column_stack([draws["intercept"], draws["coefficients"], draws["residual_sd"]])
        middles.append(every.mean(axis=0))
        spreads.append(every.std(axis=0))
    assert np.abs(middles[0] - middles[1]).max() < 0.5 * np.max(spreads)
    assert spreads[0] == pytest.approx(spreads[1], rel=0.25)


def test_noise_of_their_slopes_is_half(rng: np.random.Generator) -> None:
    rows, source = some_rows(rng, 2000), RandomSource.seeded(rng)
    widths = []
    for model in (a_model("two labels"), a_model("two labels", square_width="0.75")):
        release = sample_with(source, rows, model, dc.mechanisms.Gaussian(rho="0.02"))
        draws = dc.infer(release, rng=rng, draws=2000, chains=2).draws["coefficients"]
        widths.append(np.subtract(*np.quantile(draws, [0.975, 0.025], axis=0)))
    assert (widths[0][1:] < 0.75 * widths[1][1:]).all()


def test_files_without_them_are_read_as_they_were(rng: np.random.Generator) -> None:
    source = RandomSource.seeded(rng)
    old = a_model("number and label", square_width=1)
    release = sample_with(source, some_rows(rng, 200), old, dc.mechanisms.Laplace(5))
    assert "signs" not in json.loads(release.to_json())["model"]["parameters"]
    assert dc.Release.from_json(release.to_json()).model == old
    assert "b=yes" in release.totals.names


def test_submodels_read_them_too(rng: np.random.Generator) -> None:
    release = sample_with(
        RandomSource.seeded(rng), some_rows(rng, 5000), a_model("products"), dc.mechanisms.Gaussian(rho=100)
    )
    one = dc.regress(release, features=["b"], rng=rng).draws["coefficients"].mean()
    rows = some_rows(rng, 200_000)
    b = rows["b"] == "yes"
    assert one == pytest.approx(rows["y"][b].mean() - rows["y"][~b].mean(), abs=0.15)
    other = dc.regress(release, target="x", features=["b", "c"], rng=rng)
    assert np.abs(other.draws["coefficients"].mean(axis=0)).max() < 0.15


def test_the_gradient_where_a_mean_square_is_one(rng: np.random.Generator) -> None:
    mean, root = draw_prior(2, rng)
    p = 3
    rows, columns = np.tril_indices(p)
    q = np.concatenate([mean, np.where(rows == columns, np.log(np.diag(root))[rows], root[rows, columns])])
    bounds = {name: BOUNDS[name] for name in ("y", "x", "b")}
    design = LinearRegression("y", ["x", "b"], bounds=bounds).suited("l1").released_design
    size = len(design.products)
    readings = Readings.placed(design, rng.normal(0, 20, size), np.full(size, 7.0), True)
    assert readings.tied[1, 1]
    assert (readings.other[1, 1] == 0).all()
    assert readings.at_face_value(100.0)[1][1, 1] == pytest.approx(1 - (readings.means[1] / 100) ** 2)
    work = [np.zeros((p, p)) for _ in range(3)]

    def density(at: np.ndarray) -> tuple[float, np.ndarray]:
        slope = np.zeros(len(q))
        return log_density(at, slope, 100.0, *readings.given(100.0), *work), slope

    found = density(q)[1]
    numeric = [(density(q + h)[0] - density(q - h)[0]) / 2e-6 for h in np.eye(len(q)) * 1e-6]
    assert found == pytest.approx(np.array(numeric), rel=1e-4, abs=1e-3 * np.abs(found).max())


@pytest.mark.parametrize("mechanism", [dc.mechanisms.KNorm(1), dc.mechanisms.Gaussian(rho="0.05")])
def test_the_number_of_usable_records_moves(mechanism: Any, rng: np.random.Generator) -> None:
    """The mean square of a sign is 1 for any number of records; a move that scaled it would hardly be accepted."""
    from discreet.inference.diagnostics import bulk_ess

    rows = some_rows(rng, 3000)
    release = sample_with(
        RandomSource.seeded(rng),
        {name: rows[name] for name in ("y", "x", "b")},
        a_model("number and label"),
        mechanism,
        neighbors="add_remove",
    )
    posterior = dc.infer(release, rng=rng)
    assert posterior.table is not None
    usable = np.asarray(posterior.table.draws["usable"], dtype=float)
    assert float(bulk_ess(usable.reshape(4, -1, 1))[0]) > 800
    # nothing but the noise on the count, and a prior that is hardly one, say how many there are
    assert usable.std() == pytest.approx(release.noise[-1].sd, rel=0.25)

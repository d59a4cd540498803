"""Noisy descent as a release: the guarantee at each index, the order of the records, what is refused."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.artifact.records.noisy_sgd import descent_of
from discreet.curator.publish import sample_with
from discreet.data import read_records
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.mechanisms.base import RandomSource
from discreet.models import DeclaredLoss, LinearRegression, LogisticRegression

SMOKERS = LogisticRegression({"smoker": ["no", "yes"]}, {"age": (18, 100), "sex": ["f", "m"]})
PRESSURE = LinearRegression({"pressure": (60, 200)}, {"age": (18, 100)})


def table(rng: np.random.Generator, n: int) -> dict[str, Any]:
    age, sex = rng.uniform(18, 100, n), rng.choice(["f", "m"], n)
    odds = (age - 60) / 15 + (sex == "m")
    smoker = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")
    return {
        "age": age,
        "sex": sex,
        "smoker": smoker,
        "pressure": 110 + 0.5 * (age - 60) + rng.normal(0, 8, n),
    }


def quadratic(weak: float = 0.1, smooth: float = 2.0, gradient: Any = None) -> DeclaredLoss:
    """Records (curvature, aim): their loss is curvature x^2 / 2 - aim x."""
    return DeclaredLoss(
        {"curvature": (weak, smooth), "aim": (-1, 1)},
        ["x"],
        gradient or (lambda w, r: r[0] * w - r[1]),
        gradient_bound=1,
        smoothness=smooth,
        strong_convexity=weak,
        radius=1000,
    )


@pytest.mark.parametrize("extra", [0, 9])
def test_the_guarantee_at_each_index_holds_and_is_attained(extra: int, rng: np.random.Generator) -> None:
    """Quadratic losses, whose last iterate is normal: exact divergences, from the numbers that are in the file."""
    n, model, mechanism = 25, quadratic(), dc.mechanisms.NoisySGD(rho=0.4, step_size=0.5, extra_steps=extra)
    plain = {"curvature": np.full(n, 0.1), "aim": np.zeros(n)}
    release = sample_with(RandomSource.seeded(rng), plain, model, mechanism, missing="none")
    numbers = {name: float(value) for name, value in release.sampling_record.parameters.items()}
    eta, sigma = numbers["step_size"], numbers["sigma"]
    stated = [float(mechanism.guarantee_at(i, model, n).rho) for i in range(1, n + 1)]
    assert stated == pytest.approx(descent_of(release).rhos())
    assert max(stated) == stated[-1] <= 0.4

    def exact(place: int, curvature: np.ndarray, sigma: float) -> float:
        moved = variance = 0.0
        for i in range(n + extra):
            slope = 1 - eta * curvature[i] if i < n else 1.0
            # the aim of this record changes from -1 to 1
            moved = slope * moved + (2 * eta if i == place else 0.0)
            variance = slope**2 * variance + (eta * sigma) ** 2
        return moved**2 / (2 * variance)

    worst = np.array([])
    for i in range(n):
        worst = np.where(np.arange(n) == i, 1 / eta, 0.1)
        assert exact(i, worst, sigma) == pytest.approx(stated[i], rel=1e-6)
        for _ in range(5):
            assert exact(i, rng.uniform(0.1, 2.0, n), sigma) <= stated[i]
        # half the noise, and the mean over places as everybody's promise, are caught
        assert exact(i, worst, sigma / 2) > 3.9 * stated[i]
    assert exact(n - 1, worst, sigma) > 1.3 * np.mean(stated)


def test_the_draw_is_the_descent_of_the_table(rng: np.random.Generator) -> None:
    """As the noise goes to nothing, what is released is the end of a descent in the order of the table."""
    rows = table(rng, 300)
    mechanism = dc.mechanisms.NoisySGD(rho=1e10, step_size=0.4, extra_steps=0)
    for model in (SMOKERS, PRESSURE):
        release = sample_with(RandomSource.seeded(rng), rows, model, mechanism, missing="none")
        codes = np.array([[rows[c.name][i] == c.labels[1] for c in model.label_columns] for i in range(300)])
        values = np.array([[rows[c.name][i] for c in model.numeric_columns] for i in range(300)])
        features, aims = model.encode(codes, values), model.aims(codes, values)
        assert np.linalg.norm(features, axis=1).max() <= 1 + 1e-15
        assert np.abs(aims).max() <= 1
        w = np.zeros(model.dimension)
        for x, y in zip(features, aims, strict=True):
            w = w - 0.4 * (model.loss.slope(np.array(x @ w), y) * x + float(model.ridge) * w)
            w = w * min(1.0, float(model.radius) / np.linalg.norm(w))
        assert release.samples is not None
        assert release.samples.arrays()["weights"][0] == pytest.approx(w, abs=1e-3)


def orders_of(rng: np.random.Generator, order: Any, runs: int) -> Counter[tuple[int, ...]]:
    """Run a descent that notes in which order it reads its records."""
    seen: list[int] = []
    places: Counter[tuple[int, ...]] = Counter()

    def gradient(w: np.ndarray, r: np.ndarray) -> np.ndarray:
        seen.append(round(float(r[1]) * 2))
        return np.zeros_like(w)

    rows = {"curvature": np.ones(3), "aim": np.array([-0.5, 0.0, 0.5])}
    model, mechanism = quadratic(gradient=gradient), dc.mechanisms.NoisySGD(rho=1, order=order, extra_steps=0)
    domain = Domain(None, None, "clip", "impute", model.stand_ins(Domain(None, None, "clip", "none")))
    records, record = read_records(rows, model, domain), mechanism.plan(model, domain, 3)
    for _ in range(runs):
        seen.clear()
        mechanism.draw(record, records, RandomSource.seeded(rng))
        places[tuple(seen)] += 1
    return places


def test_a_public_order_is_the_tables_and_a_secret_one_is_uniform(rng: np.random.Generator) -> None:
    assert orders_of(rng, "public", 3) == {(-1, 0, 1): 3}
    places = orders_of(rng, "secret", 300)
    assert len(places) == 6
    assert stats.chisquare(list(places.values())).pvalue > 1e-3 / 50


def test_more_noise_where_there_is_less_to_hide_behind() -> None:
    def sigma(**how: Any) -> float:
        return dc.mechanisms.NoisySGD(rho=0.1, **how).descent(SMOKERS, 1000, n_public=50).sigma

    printed, public, still = sigma(extra_steps=0), sigma(public=[1], extra_steps=50), sigma()
    assert printed > 5 * public > 5 * still
    # a step needs sqrt(1 / 1001) of the noise if a thousand steps of noise follow
    assert still == pytest.approx(printed / np.sqrt(1001))
    assert sigma(order="secret", extra_steps=0) < printed


def test_epsilon_and_delta_become_rho() -> None:
    mechanism = dc.mechanisms.NoisySGD(epsilon=1, delta=1e-6)
    promised = mechanism.guarantee("replace")
    assert isinstance(promised, dc.ZeroConcentratedDP)
    assert Fraction("0.999") < promised.to_approx("1e-6").epsilon <= 1
    secret = dc.mechanisms.NoisySGD(rho=0.1, order="secret", orders=(2, 8)).guarantee("replace")
    assert isinstance(secret, dc.RenyiDP)
    assert [float(e) for e in secret.epsilons] == pytest.approx([0.2, 0.8])
    # both join what else is released about the same people
    total = dc.compose(promised, secret, promised)
    assert total.to_approx("1e-5").epsilon > promised.to_approx("1e-5").epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [("0.05", "1e-6"), ("1", "1e-6"), ("10", "1e-3")])
def test_a_secret_order_keeps_to_epsilon_and_delta(epsilon: str, delta: str) -> None:
    mechanism = dc.mechanisms.NoisySGD(epsilon=epsilon, delta=delta, order="secret")
    implied = mechanism.guarantee("replace").to_approx(delta).epsilon
    assert 0.999 * float(epsilon) < implied <= Fraction(epsilon)
    # what a zero-concentrated guarantee of this budget has as rho is too much for a few orders
    public = dc.mechanisms.NoisySGD(epsilon=epsilon, delta=delta)
    assert dc.RenyiDP(mechanism.orders, [a * public.rho for a in mechanism.orders]).to_approx(
        delta
    ).epsilon > Fraction(epsilon)
    assert 0.5 * public.rho < mechanism.rho < public.rho


def test_a_gradient_that_fails_is_not_seen(rng: np.random.Generator) -> None:
    def fails(w: np.ndarray, r: np.ndarray) -> np.ndarray:
        if r[1] == 0.25:
            raise ValueError(f"this record is {r}")
        return r[0] * w - r[1] if r[1] != 0.75 else np.zeros(7)

    def meddles(w: np.ndarray, r: np.ndarray) -> np.ndarray:
        w += 1000 * r[1]
        r += 5.0
        return np.zeros(1)

    rows = {"curvature": np.ones(3), "aim": np.array([0.5, 0.25, 0.75])}
    mechanism = dc.mechanisms.NoisySGD(rho=1e12, step_size="0.5", extra_steps=0)
    for gradient, expected in ((fails, 0.25), (meddles, 0.0)):
        release = sample_with(
            RandomSource.seeded(rng), rows, quadratic(gradient=gradient), mechanism, missing="none"
        )
        assert release.samples is not None
        # where it fails the step is 0, and the weights are only what the steps make them
        assert release.samples.arrays()["weights"][0, 0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        (lambda w, r: np.zeros(2), r"must return 1 number\(s\).* shape \(2,\)"),
        (lambda w, r: r["age"], "got IndexError"),
        (lambda w, r: "much", "got ValueError"),
    ],
)
def test_a_gradient_that_never_works_is_refused_before_a_row_is_read(gradient: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dc.release(
            "no such file.csv",
            quadratic(gradient=gradient),
            mechanism=dc.mechanisms.NoisySGD(rho=1),
            missing="none",
        )


def test_values_of_rows_change_nothing_but_the_draw(rng: np.random.Generator) -> None:
    odd = {
        "age": [np.nan, 1e300, -np.inf, 40.0],
        "sex": ["f", None, "x", "m"],
        "smoker": ["?", "yes", "no", ""],
    }
    release = dc.release(
        odd, SMOKERS, mechanism=dc.mechanisms.NoisySGD(rho=1), impute={"smoker": "no", "age": 50, "sex": "f"}
    )
    assert release.samples is not None
    assert np.all(np.isfinite(release.samples.arrays()["weights"]))
    assert release.records == 4

    def broken(w: np.ndarray, r: np.ndarray) -> np.ndarray:
        return np.array([np.nan if r[1] > 0 else 1e308])

    rows = {"curvature": [1.0, 1.0], "aim": [1.0, -1.0]}
    release = dc.release(
        rows, quadratic(gradient=broken), mechanism=dc.mechanisms.NoisySGD(rho=1), missing="none"
    )
    assert release.samples is not None
    assert np.all(np.isfinite(release.samples.arrays()["weights"]))


def test_public_records_steer_the_end(rng: np.random.Generator) -> None:
    rows = {"curvature": np.ones(20), "aim": np.ones(20)}
    public = {"curvature": np.ones(5), "aim": np.full(5, -0.5)}
    mechanism = dc.mechanisms.NoisySGD(rho=1e10, step_size=0.9, public=public, extra_steps=12)
    release = sample_with(RandomSource.seeded(rng), rows, quadratic(), mechanism, missing="none")
    assert release.samples is not None
    assert release.samples.arrays()["weights"][0, 0] == pytest.approx(-0.5, abs=1e-3)
    assert release.sampling_record.parameters["public_steps"] == 12


def test_what_the_reader_is_told(rng: np.random.Generator) -> None:
    release = dc.release(table(rng, 200), SMOKERS, mechanism=dc.mechanisms.NoisySGD(rho=0.5), missing="none")
    said = release.statement()
    assert "the last iterate of noisy gradient descent" in said
    assert "floating point" in said
    posterior = dc.infer(release)
    assert any("not a draw of a posterior" in one for one in posterior.diagnostics.warnings)
    assert posterior.draws["weights"].shape == (1, 3)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, "either rho, or epsilon with delta"),
        ({"rho": 1, "epsilon": 1}, "either rho, or epsilon with delta"),
        ({"epsilon": 1}, "either rho, or epsilon with delta"),
        ({"rho": 0}, "rho must be positive"),
        ({"rho": -1}, "rho must be positive"),
        ({"rho": 1, "step_size": 0}, "step_size must be above 0"),
        ({"rho": 1, "order": "sorted"}, "order must be 'public' or 'secret'"),
        ({"rho": 1, "orders": (1,)}, "order must be above 1"),
        (
            {"epsilon": "0.1", "delta": "1e-6", "order": "secret", "orders": (2, 8)},
            "orders up to 8 cannot say epsilon=0.1",
        ),
        ({"rho": 1, "extra_steps": -1}, "extra_steps must be a whole number from 0 on"),
        ({"rho": 1, "extra_steps": 10**12}, "extra_steps must be at most"),
        ({"rho": 1, "public": [], "extra_steps": 0}, "public records are for extra steps"),
    ],
)
def test_declarations_that_are_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dc.mechanisms.NoisySGD(**how)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"step_size": 9}, r"step_size must be at most 2 / \(smoothness \+ strong_convexity\)"),
        ({"public": {"age": [], "sex": [], "smoker": []}}, "the public table has no records"),
    ],
)
def test_releases_that_are_refused(how: dict[str, Any], words: str, rng: np.random.Generator) -> None:
    with pytest.raises(UsageError, match=words):
        dc.release(table(rng, 5), SMOKERS, mechanism=dc.mechanisms.NoisySGD(rho=1, **how), missing="none")


def test_models_and_neighbors_that_are_refused(rng: np.random.Generator) -> None:
    mechanism, rows = dc.mechanisms.NoisySGD(rho=1), table(rng, 5)
    with pytest.raises(UsageError, match="neighbors='replace'"):
        dc.release(rows, SMOKERS, mechanism=mechanism, missing="none", neighbors="add_remove")
    with pytest.raises(UsageError, match="reads records of a model of several columns"):
        dc.release([0, 1], dc.Bernoulli(), mechanism=mechanism)
    with pytest.raises(UsageError, match="has no gradient"):
        dc.release(
            {"curvature": [1.0], "aim": [1.0]},
            DeclaredLoss.from_constants(quadratic().constants()),
            mechanism=mechanism,
            missing="none",
        )
    with pytest.raises(UsageError, match="every record has the same guarantee"):
        dc.mechanisms.NoisySGD(rho=1, order="secret").guarantee_at(1, SMOKERS, 10)
    with pytest.raises(UsageError, match="at most 10000000 records"):
        dc.mechanisms.NoisySGD(rho=1, order="secret").descent(SMOKERS, 10**8)
    with pytest.raises(UsageError, match="releases no tables of counts"):
        dc.release({"curvature": [1.0], "aim": [1.0]}, quadratic(), epsilon=1)

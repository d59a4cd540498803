"""Langevin walks as releases: what their steps cost, which records a step reads, what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import UsageError
from discreet.mechanisms.base import RandomSource
from discreet.mechanisms.langevin import kept_steps
from discreet.models import DeclaredLoss, LinearRegression, LogisticRegression
from discreet.privacy.amplification import renyi_divergence
from discreet.privacy.costs.sampled_gaussian import langevin_steps

MODEL = LogisticRegression({"ill": ["no", "yes"]}, {"x": (-1, 1)}, radius=8)
# False alarms of the whole suite are at most 1e-3; this is the share of one assertion here.
FALSE_ALARM = 1e-3 / 50
BUDGET = {"epsilon": 1, "delta": "1e-5"}


def table(rng: np.random.Generator, n: int) -> dict[str, Any]:
    x = rng.uniform(-1, 1, n)
    return {"x": x, "ill": np.where(rng.random(n) < 1 / (1 + np.exp(-0.5 - 2 * x)), "yes", "no")}


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_the_noise_of_a_step_is_what_is_accounted_for(neighbors: Any) -> None:
    """One step with every record read: two normal distributions, whose distance is known."""
    eta, temperature, clip = 0.01, 1.5, 0.7
    stated = langevin_steps(eta, temperature, clip, rate=1, steps=1, neighbors=neighbors).guarantee()
    shift = eta / 2 * clip * (2 if neighbors == "replace" else 1)
    for order in (2, 9, 32):
        exact = order * shift**2 / (2 * eta * temperature)
        assert exact <= float(stated.at(order) or 0) <= exact * (1 + 1e-6) + 1e-10


def test_the_noise_of_a_step_on_a_sample_is_what_is_accounted_for() -> None:
    """A record that joins with probability 0.3 moves the step by what its gradient is worth: a mixture of two."""
    eta, temperature, clip, rate = 0.05, 1.0, 0.8, 0.3
    stated = langevin_steps(eta, temperature, clip, rate=rate, steps=1, neighbors="add_remove").guarantee()
    sd, shift = np.sqrt(eta * temperature), eta / 2 * clip / rate
    x = np.linspace(-30 * sd, 30 * sd, 30_001)
    still, moved = (np.exp(-0.5 * ((x - m) / sd) ** 2) for m in (0.0, shift))
    joined = (1 - rate) * still + rate * moved
    p, q = joined / joined.sum(), still / still.sum()
    for order in (2, 9):
        exact = float(renyi_divergence(p, q, order))
        assert exact <= float(stated.at(order) or 0) <= exact * (1 + 1e-4)
        # without the 1 / rate that a step multiplies by, a violation would go unseen
        careless = langevin_steps(
            eta * rate**2, temperature, clip, rate=rate, steps=1, neighbors="add_remove"
        )
        assert exact > 2 * float(careless.guarantee().at(order) or 0)


def test_the_budget_decides_the_step_and_the_steps_keep_to_it(rng: np.random.Generator) -> None:
    cases: list[tuple[Any, Any]] = [("replace", 1), ("replace", "1/5"), ("add_remove", "1/5")]
    for neighbors, rate in cases:
        mechanism = dc.mechanisms.Langevin(**BUDGET, steps=60, rate=rate, samples=30)
        release = sample_with(
            RandomSource.seeded(rng), table(rng, 500), MODEL, mechanism, missing="none", neighbors=neighbors
        )
        promised = release.guarantee
        assert isinstance(promised, dc.RenyiDP)
        assert promised.neighbors == neighbors
        assert Fraction(9, 10) < promised.to_approx("1e-5").epsilon <= 1
        assert dc.Release.from_json(release.to_json()) == release
        assert (release.records is None) == (neighbors == "add_remove")


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_a_step_reads_the_sample_that_goes_with_the_neighbors(
    neighbors: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[np.ndarray] = []

    def spy(*given: Any, steps: int, kept: np.ndarray, rng: np.random.Generator, **_: Any) -> np.ndarray:
        seen.extend(given[4](rng) for _ in range(3000))
        return np.zeros((kept.size, 1, 2))

    monkeypatch.setattr("discreet.mechanisms.langevin.langevin", spy)
    mechanism = dc.mechanisms.Langevin(**BUDGET, steps=60, rate="1/5", samples=1)
    sample_with(
        RandomSource.seeded(rng), table(rng, 43), MODEL, mechanism, missing="none", neighbors=neighbors
    )
    assert all(np.unique(chosen).size == chosen.size for chosen in seen)
    sizes = np.array([chosen.size for chosen in seen])
    if neighbors == "replace":
        assert set(sizes) == {8}
        rate = 8 / 43
    else:
        counts = np.bincount(np.minimum(sizes, 14), minlength=15)
        distribution = stats.binom.pmf(np.arange(15), 43, 0.2)
        distribution[14] += stats.binom.sf(14, 43, 0.2)
        assert stats.chisquare(counts, 3000 * distribution).pvalue > FALSE_ALARM
        rate = 0.2
    # every record is as likely to be read as any other
    read = np.bincount(np.concatenate(seen), minlength=43)
    z = (read - 3000 * rate) / np.sqrt(3000 * rate * (1 - rate))
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / (2 * 43))


def test_posterior_of_many_records(rng: np.random.Generator) -> None:
    """With a good budget and many records the states lie about the posterior; with a bad one they do not."""
    rows = table(rng, 20_000)
    features = MODEL.encode(np.stack([rows["ill"] == "yes"], axis=1), rows["x"][:, None])
    aims = np.where(rows["ill"] == "yes", 1.0, -1.0)
    w, hessian = np.zeros(2), np.eye(2)
    for _ in range(20):
        p = 1 / (1 + np.exp(-aims * (features @ w)))
        hessian = np.eye(2) + (features * (p * (1 - p))[:, None]).T @ features
        w = w - np.linalg.solve(hessian, w - features.T @ (aims * (1 - p)))
    sd = np.sqrt(np.diag(np.linalg.inv(hessian)))

    def off(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
        mechanism = dc.mechanisms.Langevin(epsilon=epsilon, delta="1e-6", steps=400)
        release = sample_with(RandomSource.seeded(rng), rows, MODEL, mechanism, missing="none")
        assert release.samples is not None
        states = release.samples.arrays()["weights"]
        return np.abs(states.mean(axis=0) - w) / sd, states.std(axis=0) / sd

    far, wide = off(2.0)
    # forty effective draws of the stationary distribution; the finite step inflates its variance by up to a half
    assert np.all(far < 1.0)
    assert np.all((wide > 0.5) & (wide < 1.8))
    far, _ = off(0.02)
    assert np.any(far > 3)


def test_states_are_those_of_the_second_half() -> None:
    assert kept_steps(10, 3).tolist() == [8, 9, 10]
    assert kept_steps(1000, 100)[[0, -1]].tolist() == [505, 1000]
    assert kept_steps(1, 1).tolist() == [1]
    for steps in (7, 8, 99):
        assert kept_steps(steps, (steps + 1) // 2)[0] >= steps // 2


def test_what_the_reader_is_told(rng: np.random.Generator) -> None:
    mechanism = dc.mechanisms.Langevin(**BUDGET, steps=20, samples=5)
    release = dc.release(table(rng, 100), MODEL, mechanism=mechanism, missing="none")
    said = release.statement()
    assert "They are states of a Langevin walk with finite steps" in said
    assert "floating point" in said
    posterior = dc.infer(release)
    told = " ".join(posterior.diagnostics.warnings)
    assert "neither independent nor exact draws of a posterior" in told
    assert "not noise-aware" in told
    assert posterior.draws["weights"].shape == (5, 2)
    assert not posterior.diagnostics.independent
    assert "weights[x]" in str(posterior.summary())


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"steps": 10}, "need epsilon"),
        ({"epsilon": 1, "steps": 10}, "need delta"),
        (BUDGET, "need steps"),
        ({**BUDGET, "steps": 0}, "steps must be a whole number from 1"),
        ({**BUDGET, "steps": 10**9}, "steps must be a whole number from 1 to"),
        ({**BUDGET, "steps": 10, "samples": 6}, "6 need at least 11 steps"),
        ({**BUDGET, "steps": 10, "samples": 5, "rate": 2}, "rate must be at least 1e-12 and at most 1"),
        ({**BUDGET, "steps": 10, "samples": 5, "temperature": 0}, "temperature must be above 0"),
        ({**BUDGET, "steps": 10, "samples": 5, "step_size": 1}, "a step size needs clip"),
        ({**BUDGET, "steps": 10, "samples": 5, "step_size": -1, "clip": 1}, "step_size must be above 0"),
        ({"epsilon": 0, "delta": 0.1, "steps": 10}, "epsilon must be positive"),
        ({"epsilon": 1, "delta": 1, "steps": 10}, "delta must be between 0 and 1"),
    ],
)
def test_declarations_that_are_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dc.mechanisms.Langevin(**how)


def test_more_steps_than_the_budget_pays_for(rng: np.random.Generator) -> None:
    rows = table(rng, 100)

    def walk(steps: int, step_size: str) -> dc.Release:
        mechanism = dc.mechanisms.Langevin(**BUDGET, steps=steps, samples=1, step_size=step_size, clip=1)
        return sample_with(RandomSource.seeded(rng), rows, MODEL, mechanism, missing="none")

    words = r"500 steps of size 0\.001 cost epsilon = .*: the budget pays for (\d+) of"
    with pytest.raises(UsageError, match=words) as refused:
        walk(500, "0.001")
    most = int(refused.value.message.split("pays for ")[1].split()[0])
    walk(most, "0.001")
    with pytest.raises(UsageError, match="cost epsilon"):
        walk(most + 1, "0.001")
    with pytest.raises(UsageError, match="the budget pays for none of them"):
        walk(2, "1000")


def test_an_empty_table_that_nobody_may_see_is_empty(rng: np.random.Generator) -> None:
    mechanism = dc.mechanisms.Langevin(**BUDGET, steps=20, samples=5, rate="1/2")
    release = dc.release(
        {"x": [], "ill": []}, MODEL, mechanism=mechanism, missing="none", neighbors="add_remove"
    )
    assert release.records is None
    assert release.samples is not None
    assert np.all(np.isfinite(release.samples.arrays()["weights"]))


def test_models_that_are_refused(rng: np.random.Generator) -> None:
    mechanism = dc.mechanisms.Langevin(**BUDGET, steps=10, samples=5, rate="1/1000", step_size="1e-9", clip=1)
    with pytest.raises(UsageError, match="a sample of 20 records holds none"):
        dc.release(table(rng, 20), MODEL, mechanism=mechanism, missing="none")
    mechanism = dc.mechanisms.Langevin(**BUDGET, steps=10, samples=5)
    linear = LinearRegression({"y": (0, 1)}, {"x": (-1, 1)})
    with pytest.raises(UsageError, match="only if residual_sd is given"):
        dc.release({"x": [0.1], "y": [0.2]}, linear, mechanism=mechanism, missing="none")
    loss = DeclaredLoss(
        {"x": (0, 1)}, ["w"], lambda w, r: w, gradient_bound=1, smoothness=1, strong_convexity=1
    )
    with pytest.raises(UsageError, match="weights of a regression"):
        dc.release({"x": [0.1]}, loss, mechanism=mechanism, missing="none")

"""Ranks of the truth in posteriors of numbers that others published: six laws of noise, three models.

Tables are drawn from the prior, their totals get noise of the law, and the posterior is asked where the truth lies. The
control reads the same numbers as if their noise were half as wide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.inference.bounded_mean.table import weight_at_a_bound
from discreet.privacy.laws import law_of
from discreet.validation.ranks import rank, uniformity

#: Law, scale, and what is done to numbers afterwards.
LAWS: dict[str, tuple[str, float, dict[str, Any]]] = {
    "laplace": ("laplace", 9.3, {}),
    "gaussian": ("gaussian", 12.1, {}),
    "discrete laplace": ("discrete_laplace", 9.3, {}),
    "discrete gaussian": ("discrete_gaussian", 12.1, {}),
    "truncated laplace, rounded": ("laplace", 9.3, {"truncated": 25, "rounded": True}),
    "geometric, clipped at zero": ("geometric", 14.2, {"clipped": 0}),
}
N, DRAWS = 120, 200
TRIALS = 300
# one false alarm in a thousand over all that is tested here
RATE = 1e-3 / (3 * len(LAWS))


def publish(totals: np.ndarray, law: str, unit: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return what is published of totals, and the scale of its noise; ``unit`` is that of the totals."""
    name, scale, how = LAWS[law]
    made = law_of(name, scale, how.get("truncated"))  # pyright: ignore[reportArgumentType]
    noisy = totals + unit * made.sample(totals.size, rng)
    if how.get("rounded"):
        noisy = np.rint(noisy / unit) * unit
    return (np.maximum(noisy, 0) if "clipped" in how else noisy), unit * scale


def settings(law: str, unit: float, width: float) -> dict[str, Any]:
    name, scale, how = LAWS[law]
    scaled = {key: value if value is True or value == 0 else unit * value for key, value in how.items()}
    scaled |= {"rounded": unit} if how.get("rounded") else {}
    return {"noise": name, "scale": width * unit * scale, **scaled}


def share(law: str, width: float, rng: np.random.Generator) -> float:
    p = rng.random()
    noisy, _ = publish(np.array([rng.binomial(N, p)], dtype=float), law, 1.0, rng)
    how = settings(law, 1.0, width)
    release = dc.foreign(dc.Bernoulli(), records=N, values={"yes": float(noisy[0])}, **how)
    return rank(p, dc.infer(release, draws=DRAWS, rng=rng).draws["p"], rng)


def shares(law: str, width: float, rng: np.random.Generator) -> float:
    """The number of records is not known: any up to twice ``N`` is as likely as any other."""
    p = rng.dirichlet([1, 1, 1])
    noisy, _ = publish(rng.multinomial(rng.integers(2 * N + 1), p).astype(float), law, 1.0, rng)
    release = dc.foreign(dc.Categorical(["a", "b", "c"]), values=noisy.tolist(), **settings(law, 1.0, width))
    found = dc.infer(release, draws=DRAWS, records=(0, 2 * N), rng=rng).draws["p"]
    return rank(p[1], found[:, 1], rng)


def mean(law: str, width: float, rng: np.random.Generator) -> float:
    """The table's mean, drawn from the engine's working prior, which a sum alone does not sharpen."""
    at_a_bound = float(weight_at_a_bound(np.zeros(1))[0])
    place = rng.choice(3, p=np.array([1, at_a_bound, at_a_bound]) / (1 + 2 * at_a_bound))
    m = np.sin(rng.random() * np.pi / 2) ** 2 if place == 0 else place - 1.0
    unit = 10.0
    noisy, _ = publish(np.array([unit * m * N]), law, unit, rng)
    how = settings(law, unit, width)
    if "clipped" in how and noisy[0] <= 0:
        # a sum that is the limit it was clipped to is refused, whatever the truth is: the trial says nothing
        return float("nan")
    if how["noise"] in ("discrete_laplace", "discrete_gaussian", "geometric"):
        # integers of steps of the unit: sums of real numbers take continuous noise
        how["noise"] = {"discrete_gaussian": "gaussian"}.get(how["noise"], "laplace")
    release = dc.foreign(dc.Mean(), records=N, values={"sum": float(noisy[0])}, bounds=(0, unit), **how)
    table = dc.infer(release, draws=DRAWS, rng=rng).table
    assert table is not None
    return rank(unit * m, table.draws["mean"], rng)


MODELS = {"share": share, "shares": shares, "mean": mean}


def least_p_value(model: str, law: str, trials: int, width: float, rng: np.random.Generator) -> float:
    ranks = np.array([MODELS[model](law, width, rng) for _ in range(trials)])
    return uniformity(ranks[np.isfinite(ranks)]).least_p_value


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("model", MODELS)
def test_ranks_are_uniform(model: str, law: str, rng: np.random.Generator) -> None:
    assert least_p_value(model, law, TRIALS, 1.0, rng) > RATE


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_noise_taken_for_half_as_wide_is_noticed(model: str, rng: np.random.Generator) -> None:
    assert least_p_value(model, "laplace", TRIALS, 0.5, rng) < RATE


def test_a_few_ranks_are_not_all_at_one_end(rng: np.random.Generator) -> None:
    assert least_p_value("share", "geometric, clipped at zero", 40, 1.0, rng) > 1e-4

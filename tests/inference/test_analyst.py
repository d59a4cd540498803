"""The analyst's verb: which engine, which prior, which warning, and every refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.inference import engine as engine_module
from discreet.inference.engines.gibbs import gibbs_engine

YES_NO = [1] * 300 + [0] * 700


@pytest.fixture
def bernoulli() -> dc.Release:
    return dc.release(YES_NO, dc.Bernoulli(), epsilon=1)


@pytest.fixture
def private() -> dc.Release:
    return dc.release(YES_NO, dc.Bernoulli(), epsilon=1, neighbors="add_remove")


@pytest.fixture
def normal() -> dc.Release:
    return dc.release(np.linspace(0, 10, 500), dc.Normal(), bounds=(0, 10), epsilon=1, outside="redact")


def test_auto_takes_the_exact_engine_and_says_why(bernoulli: dc.Release) -> None:
    how = dc.infer(bernoulli, rng=0).diagnostics
    assert (how.engine, how.approximation, how.warnings) == ("exact", "none", ())
    assert how.reason == "exact is the most exact engine that applies"


def test_the_same_seed_gives_the_same_draws(bernoulli: dc.Release) -> None:
    once, again, other = (dc.infer(bernoulli, rng=seed).draws["p"] for seed in (3, 3, 4))
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)


def test_naive_is_labelled(bernoulli: dc.Release) -> None:
    how = dc.infer(bernoulli, engine="naive").diagnostics
    assert "over-confident" in how.warnings[0]
    assert "biased" not in how.warnings[0]


@pytest.mark.parametrize(("outside", "word"), [("redact", "redacted"), ("clip", "clipped")])
def test_naive_says_that_it_is_biased_where_there_are_bounds(outside: Any, word: str) -> None:
    release = dc.release(np.ones(9), dc.Exponential(), bounds=(0, 9), epsilon=1, outside=outside)
    (warning,) = dc.infer(release, prior="gamma:1,1", engine="naive").diagnostics.warnings
    assert f"biased if values were {word}" in warning


@pytest.mark.parametrize(
    ("family", "options", "engine"),
    [
        (dc.Normal(), {}, "augment"),
        (dc.Normal(), {"neighbors": "add_remove"}, "gibbs"),
        (dc.Exponential(), {}, "exact"),
        (dc.Exponential(), {"neighbors": "add_remove"}, "exact"),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else str(value),
)
def test_auto_takes_the_most_exact_engine_that_applies(family, options, engine) -> None:
    release = dc.release(np.linspace(0, 9, 60), family, bounds=(0, 10), epsilon=1, **options)
    how = dc.infer(release, prior=family.suggested_prior(release.domain), draws=40, rng=0).diagnostics
    assert how.engine == engine
    assert engine in how.reason


def test_auto_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    normal = dc.release(np.linspace(0, 10, 500), dc.Normal(), bounds=(0, 10), epsilon=1, outside="clip")
    monkeypatch.setattr("discreet.inference.analyst.REASONABLE", 1e-9)
    with pytest.MonkeyPatch.context() as patch:
        quick = replace(gibbs_engine.GIBBS, predicted_seconds=lambda question: 1e-10)
        patch.setattr(gibbs_engine, "GIBBS", quick)
        engine_module.load.cache_clear()
        how = dc.infer(normal, prior=normal.family.suggested_prior(normal.domain), rng=0).diagnostics
    assert how.engine == "gibbs"
    engine_module.load.cache_clear()
    assert "augment would take about" in how.reason


def test_auto_prefers_gibbs_where_latent_records_may_hide_a_mode(normal: dc.Release) -> None:
    how = dc.infer(normal, prior=normal.family.suggested_prior(normal.domain), rng=0).diagnostics
    assert how.engine == "gibbs"
    assert "far modes" in how.reason


def test_the_default_prior_is_weak_and_named(normal: dc.Release) -> None:
    weak = str(normal.family.suggested_prior(normal.domain))
    for prior in (None, "weak"):
        posterior = dc.infer(normal, engine="naive", prior=prior)
        assert posterior.diagnostics.prior == weak
        assert f"prior: {weak} (weak, the default)" in str(posterior.summary())
    assert not dc.infer(normal, engine="naive", prior=weak).diagnostics.prior


def test_an_engine_that_does_not_apply_names_one_that_does(normal: dc.Release) -> None:
    with pytest.raises(dc.errors.EngineError, match="exact does not apply") as caught:
        dc.infer(normal, engine="exact")
    assert caught.value.hint == "use engine='auto', which takes one that does"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "nuts"}, "engine must be one of"),
        ({"draws": 0}, "draws must be a positive"),
        ({"draws": 2.5}, "draws must be a positive"),
        ({"chains": True}, "chains must be a positive"),
        ({"draws": 10, "chains": 4}, "multiple of chains"),
        ({"records": (0, 10)}, "takes no prior"),
        ({"rng": -1}, "rng must be a seed"),
        ({"rng": "x"}, "rng must be a seed"),
        ({"prior": dc.priors.Gamma(1, 1)}, "takes a Beta prior"),
    ],
)
def test_refusals(bernoulli: dc.Release, options: dict[str, object], message: str) -> None:
    with pytest.raises(dc.errors.UsageError, match=message):
        dc.infer(bernoulli, **options)  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ((5, 2), "low <= high"),
        ((0.5, 2), "whole numbers"),
        ("many", "whole numbers"),
        ([0, 0], "not all zero"),
        ([1, -1], "non-negative"),
        ([[1]], "non-negative"),
        (7, "whole numbers"),
    ],
)
def test_bad_priors_on_records(private: dc.Release, records: object, message: str) -> None:
    with pytest.raises(dc.errors.UsageError, match=message):
        dc.infer(private, records=records)


def test_a_prior_on_records_that_contradicts_the_release_is_reported(private: dc.Release) -> None:
    assert dc.infer(private, records=(0, 5000)).diagnostics.warnings == ()
    assert dc.infer(private, records=(990, 1010)).diagnostics.warnings == ()
    (warning,) = dc.infer(private, records=(1, 100)).diagnostics.warnings
    assert "contradicts the release" in warning


def test_a_path_will_do(bernoulli: dc.Release, tmp_path) -> None:
    bernoulli.save(tmp_path / "r.json")
    assert np.array_equal(
        dc.infer(tmp_path / "r.json", rng=1).draws["p"], dc.infer(bernoulli, rng=1).draws["p"]
    )


def test_the_interval_is_about_right(bernoulli: dc.Release) -> None:
    low, high = dc.infer(bernoulli, rng=0).interval(0.999)["p"]
    assert low < 0.3 < high


def test_naive_reads_every_family(rng: np.random.Generator) -> None:
    """At almost no noise and no truncation the naive engine is the ordinary conjugate posterior."""
    x = rng.normal(5, 1, 400)
    release = dc.release(x, dc.Normal(), bounds=(-10, 20), epsilon=10**6)
    prior = dc.priors.NormalInverseGamma(0, 1, 2, 2)
    posterior = dc.infer(release, prior=prior, engine="naive", draws=4000, rng=0)
    exact = dc.Normal().update(prior, dc.Normal().sufficient(x).sum(axis=0), 400)
    assert posterior.mean()["mean"] == pytest.approx(exact.mean, abs=0.01)  # pyright: ignore[reportAttributeAccessIssue]


def test_posteriors_say_what_they_are_about(bernoulli: dc.Release, rng: np.random.Generator) -> None:
    assert dc.infer(bernoulli).about == "bernoulli model of x, pure differential privacy with epsilon = 1"
    x = rng.normal(5, 1, (400, 2))
    release = dc.release({"age": x[:, 0], "bmi": x[:, 1]}, dc.MultivariateNormal(2), columns=["age", "bmi"],
                         bounds=[(0, 10), (0, 10)], epsilon=5)  # fmt: skip
    prior = release.family.suggested_prior(release.domain)
    names = [row.name for row in dc.infer(release, prior=prior, engine="naive").summary().rows]
    assert names == [
        "mean[age]",
        "mean[bmi]",
        "sd[age]",
        "sd[bmi]",
        "normal_mean[age]",
        "normal_mean[bmi]",
        "covariance[age, age]",
        "covariance[age, bmi]",
        "covariance[bmi, bmi]",
    ]

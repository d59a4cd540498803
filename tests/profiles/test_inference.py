"""The analyst's posterior is the right one, and a reading that ignores the perturbation is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from discreet.errors import UsageError
from discreet.inference.posterior import Posterior
from discreet.priors import Dirichlet
from discreet.profiles import (
    KRandomizedResponse,
    ProfileGraph,
    SmoothCategorical,
    infer_frequencies,
    infer_mix,
)
from discreet.profiles.exact import WHOLE
from discreet.profiles.perturbation import draw
from discreet.validation.ranks import rank, uniformity
from tests.profiles.cases import CHAIN

DISTRIBUTIONS = {"a": [0.7, 0.2, 0.1], "b": [0.3, 0.5, 0.2], "c": [0.1, 0.2, 0.7]}
GRAPH = ProfileGraph(DISTRIBUTIONS, [("a", "b")])
MECHANISM = SmoothCategorical().fit(GRAPH, 0.1)
TRIALS, REPORTS = 300, 200
# Ranks among draws are uniform if these are independent: every fifth is nearly so.
DRAWS, THIN = 99, 5
# Nine scalars are tested twice each; all of them raise a false alarm once in a thousand runs.
LEVEL = 1e-3 / 18


def simulate(rng: np.random.Generator, prior: Dirichlet) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Draw a mix, people, observations and reports."""
    mix = prior.sample(1, rng)[0]
    who = rng.choice(3, REPORTS, p=mix)
    seen = (
        (rng.random(REPORTS)[:, None] > np.cumsum(GRAPH.probabilities[who], axis=1)).sum(axis=1).clip(max=2)
    )
    reports = draw(MECHANISM.table, who, seen, bits=lambda n: rng.integers(0, WHOLE, n))
    truth = {
        "mix": mix,
        "frequency": mix @ GRAPH.probabilities,
        "observed": np.bincount(seen, minlength=3) / REPORTS,
    }
    return truth, reports


def ranks(rng: np.random.Generator, engine: Any) -> dict[str, np.ndarray]:
    """Return the ranks of every component of the truth."""
    prior = Dirichlet([1.0, 2.0, 0.7])
    found: dict[str, list[float]] = {}
    for _ in range(TRIALS):
        truth, reports = simulate(rng, prior)
        posterior = infer_mix(
            reports, MECHANISM, prior=prior, engine=engine, draws=DRAWS * THIN, chains=1, rng=rng
        )
        for name, value in truth.items():
            for k in range(3):
                found.setdefault(f"{name}[{k}]", []).append(
                    rank(value[k], posterior.draws[name][::THIN, k], rng)
                )
    return {name: np.array(values) for name, values in found.items()}


def test_the_mix_of_profiles_is_calibrated_by_ranks(rng: np.random.Generator) -> None:
    found = ranks(rng, "slice")
    assert len(found) == 9
    least = {name: uniformity(values).least_p_value for name, values in found.items()}
    assert min(least.values()) > LEVEL, least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "d", "epsilon", "n"), [(6, 3, 0.3, 500), (12, 4, 0.2, 2000), (4, 5, 0.05, 20_000)]
)
def test_more_profiles_than_categories_are_calibrated_too(
    k: int, d: int, epsilon: float, n: int, rng: np.random.Generator
) -> None:
    """Where reports cannot tell all profiles apart even without perturbation."""
    graph = ProfileGraph.chain(dict(enumerate(rng.dirichlet(np.ones(d), k))))
    fitted = SmoothCategorical().fit(graph, epsilon)
    found: dict[str, list[float]] = {}
    for _ in range(1000):
        mix = rng.dirichlet(np.ones(k))
        counts = rng.multinomial(n, mix @ fitted.outputs)
        posterior = infer_mix(dict(enumerate(counts)), fitted, draws=DRAWS * 20, chains=1, rng=rng)
        for name, value in (("mix", mix), ("frequency", mix @ graph.probabilities)):
            for j, truth in enumerate(value):
                found.setdefault(f"{name}[{j}]", []).append(rank(truth, posterior.draws[name][::20, j], rng))
    least = {name: uniformity(np.array(values)).least_p_value for name, values in found.items()}
    assert min(least.values()) > 1e-3 / (2 * len(least)), least


def test_ignoring_the_perturbation_is_rejected(rng: np.random.Generator) -> None:
    """The naive reading is sure of the wrong mix."""
    found = ranks(rng, "naive")
    for name in ("mix[0]", "mix[1]", "frequency[0]"):
        assert uniformity(found[name]).least_p_value < 1e-6


@pytest.mark.parametrize("n", [30, 100_000])
@pytest.mark.parametrize("alpha", [(1.0, 1.0), (0.5, 3.0)])
def test_two_profiles_agree_with_quadrature(
    n: int, alpha: tuple[float, float], rng: np.random.Generator
) -> None:
    graph = ProfileGraph.chain({"a": 0.2, "b": 0.7})
    fitted = SmoothCategorical().fit(graph, 0.4)
    ones = round(n * 0.45)
    posterior = infer_mix({0: n - ones, 1: ones}, fitted, prior=list(alpha), draws=20_000, rng=rng)
    w = (np.arange(200_000) + 0.5) / 200_000
    q = np.outer(w, fitted.outputs[0]) + np.outer(1 - w, fitted.outputs[1])
    log_density = (n - ones) * np.log(q[:, 0]) + ones * np.log(q[:, 1])
    log_density += (alpha[0] - 1) * np.log(w) + (alpha[1] - 1) * np.log(1 - w)
    mass = np.exp(log_density - log_density.max())
    mass /= mass.sum()
    mean, sd = mass @ w, np.sqrt(mass @ w**2 - (mass @ w) ** 2)
    draws = posterior.draws["mix"][:, 0]
    ess = float(np.min(posterior.diagnostics.ess["mix"]))
    # two means of draws at a false-alarm rate of 1e-4: 3.9 standard errors
    assert abs(draws.mean() - mean) < 3.9 * sd / np.sqrt(ess)
    assert draws.std() == pytest.approx(sd, rel=3.9 / np.sqrt(ess))


def test_a_prior_that_favors_few_profiles_is_sampled_too(rng: np.random.Generator) -> None:
    """With alpha far below 1, shares lie within many orders of magnitude of 0."""
    alpha = np.array([0.1, 0.2, 0.05])
    posterior = infer_mix([], MECHANISM, prior=alpha.tolist(), draws=8000, rng=rng)
    assert posterior.diagnostics.mixing_warnings == ()
    least = np.min(posterior.diagnostics.ess["mix"])
    assert least > 2000
    for k, draws in enumerate(posterior.draws["mix"].T):
        for below in (1e-12, 1e-6, 0.5):
            p = beta.cdf(below, alpha[k], alpha.sum() - alpha[k])
            # nine shares at a false-alarm rate of 1e-4 each
            assert abs((draws < below).mean() - p) < 3.9 * np.sqrt(p * (1 - p) / least)
    graph = ProfileGraph.chain({"a": 0.2, "b": 0.7})
    fitted = SmoothCategorical().fit(graph, 0.4)
    found = infer_mix({0: 60, 1: 40}, fitted, prior=[0.1, 0.2], draws=8000, rng=rng)
    assert found.diagnostics.mixing_warnings == ()
    # on the scale of log-odds the integrand is smooth
    odds = np.exp(np.linspace(-400, 400, 400_001))
    w = odds / (1 + odds)
    q = np.outer(w, fitted.outputs[0]) + np.outer(1 / (1 + odds), fitted.outputs[1])
    mass = w**0.1 * (1 + odds) ** -0.2 * np.exp(np.log(q) @ [60, 40] - (np.log(q) @ [60, 40]).max())
    mass /= mass.sum()
    mean = mass @ w
    sd = np.sqrt(mass @ w**2 - mean**2)
    ess = float(np.min(found.diagnostics.ess["mix"]))
    assert abs(found.draws["mix"][:, 0].mean() - mean) < 3.9 * sd / np.sqrt(ess)


def test_frequencies_through_one_matrix_agree_with_quadrature(rng: np.random.Generator) -> None:
    fitted = KRandomizedResponse().fit(ProfileGraph.chain(DISTRIBUTIONS), 1.0)
    counts = np.array([50, 30, 20])
    posterior = infer_frequencies(
        dict(enumerate(counts)), fitted, prior="dirichlet:1,1,1", draws=20_000, rng=rng
    )
    u = np.linspace(0, 1, 801)
    a, b = (grid.ravel() for grid in np.meshgrid(u, u, indexing="ij"))
    inside = a + b <= 1
    points = np.stack([a[inside], b[inside], 1 - a[inside] - b[inside]], axis=1)
    log_density = np.log(points @ fitted.matrix("a")) @ counts
    mass = np.exp(log_density - log_density.max())
    mean = mass @ points / mass.sum()
    ess = float(np.min(posterior.diagnostics.ess["frequency"]))
    found = posterior.draws["frequency"]
    # the grid is off by less than its step of 1/800; draws by 3.9 standard errors
    np.testing.assert_array_less(
        np.abs(found.mean(axis=0) - mean), 3.9 * found.std(axis=0) / np.sqrt(ess) + 1 / 800
    )


def test_reports_that_say_nothing_leave_the_prior(rng: np.random.Generator) -> None:
    fitted = KRandomizedResponse().fit(ProfileGraph.complete(CHAIN), 0)
    posterior = infer_mix({0: 10**6, 1: 10**6, 2: 10**6, 3: 10**6}, fitted, draws=8000, rng=rng)
    mean = posterior.draws["mix"].mean(axis=0)
    sd = np.sqrt(1 / 18)
    assert np.abs(mean - 1 / 3).max() < 3.9 * sd / np.sqrt(np.min(posterior.diagnostics.ess["mix"]))
    assert np.max(posterior.diagnostics.r_hat["mix"]) < 1.01


def test_no_reports_leave_the_prior_too(rng: np.random.Generator) -> None:
    posterior = infer_mix([], MECHANISM, rng=rng)
    assert np.abs(posterior.mean()["mix"] - 1 / 3).max() < 0.03
    np.testing.assert_allclose(posterior.draws["observed"], posterior.draws["frequency"])


def test_chains_mix_where_noise_dominates_and_reports_are_many(rng: np.random.Generator) -> None:
    fitted = SmoothCategorical().fit(ProfileGraph.complete(CHAIN), 0.02)
    reports = dict(enumerate(rng.multinomial(50_000, np.array([0.6, 0.3, 0.1]) @ fitted.outputs)))
    posterior = infer_mix(reports, fitted, rng=rng)
    assert posterior.diagnostics.mixing_warnings == ()
    assert np.min(posterior.diagnostics.ess["mix"]) > 1000


def test_the_posterior_is_the_projects_own(rng: np.random.Generator) -> None:
    posterior = infer_mix(np.array([0, 1, 2, 2]), MECHANISM, rng=1)
    assert isinstance(posterior, Posterior)
    assert posterior.n_chains == 4
    assert posterior.summary()["mix[c]"].mean > posterior.summary()["mix[a]"].mean
    again = infer_mix([0, 1, 2, 2], MECHANISM, rng=1)
    np.testing.assert_array_equal(posterior.draws["mix"], again.draws["mix"])
    assert "mix of profiles behind 4 reports" in (posterior.about or "")
    assert "naive" in infer_mix([0], MECHANISM, engine="naive", rng=1).diagnostics.engine
    lonely = SmoothCategorical().fit(ProfileGraph({"a": [0.5, 0.3, 0.2]}), 1)
    assert (infer_mix([0, 1], lonely, rng=1).draws["mix"] == 1).all()


@pytest.mark.parametrize(
    ("reports", "options", "message"),
    [
        ([0, 9], {}, "a report is none"),
        ({0: -1}, {}, "whole numbers"),
        ({0: 1.5}, {}, "whole numbers"),
        ([0], {"prior": [1, 1]}, "the prior has 2 numbers"),
        ([0], {"prior": 3}, "must be a Dirichlet"),
        ([0], {"prior": [1, 1, -1]}, "alpha must be"),
        ([0], {"engine": "gibbs"}, "'slice' or 'naive'"),
        ([0], {"draws": 10, "chains": 3}, "multiple of chains"),
        ([0], {"draws": 0}, "draws must be a positive whole number"),
    ],
)
def test_bad_questions_are_refused(reports: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        infer_mix(reports, MECHANISM, **options)


def test_frequencies_need_one_matrix() -> None:
    with pytest.raises(UsageError, match="name the profile"):
        infer_frequencies([0], MECHANISM)
    known = infer_frequencies([0] * 50, MECHANISM, profile="c", rng=0)
    assert known.mean()["frequency"][0] > 0.8
    assert infer_frequencies([0] * 50, MECHANISM, profile="c", engine="naive", rng=0).diagnostics.warnings


def test_reports_that_nobody_can_have_given_are_refused() -> None:
    fitted = SmoothCategorical().fit(ProfileGraph({"a": [1, 0, 0], "b": [1, 0, 0]}), 1)
    with pytest.raises(UsageError, match="no profile can have given"):
        infer_mix([0, 1], fitted)

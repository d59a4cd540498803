"""The family of the developer docs: the same file that they show works from rows to posterior."""

from __future__ import annotations

import inspect
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

import discreet as dc
from discreet import families
from discreet.domain.declarations import Domain
from discreet.families.by_name import _FAMILIES

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "rayleigh.py"


@pytest.fixture(scope="module")
def rayleigh():
    """Register the example for this module only."""
    kind = runpy.run_path(str(EXAMPLE))["Rayleigh"]
    yield kind()
    _FAMILIES.pop("rayleigh")


def test_it_is_short(rayleigh):
    """About fifteen statements: signatures, decorators and the docstring are not what one has to think about."""
    lines = [line.strip() for line in EXAMPLE.read_text().split("class Rayleigh")[1].splitlines()[1:]]
    thought = [line for line in lines if line and not line.startswith(("def ", "@", '"""'))]
    assert len(thought) <= 15
    assert inspect.isabstract(families.Family)
    assert not inspect.isabstract(type(rayleigh))


def test_density(rayleigh):
    theta = {"rate": 0.08}
    oracle = stats.rayleigh(scale=(2 * 0.08) ** -0.5)
    x = np.array([0.01, 1.0, 2.5, 9.0])
    np.testing.assert_allclose(rayleigh.log_density(x, theta), oracle.logpdf(x), rtol=1e-12)  # pyright: ignore[reportAttributeAccessIssue]
    assert (rayleigh.log_base_measure(np.array([-1.0, 0.0])) == -np.inf).all()
    total, error = integrate.quad(
        lambda v: float(np.exp(rayleigh.log_density(np.array(v), theta))), 0, np.inf
    )
    assert total == pytest.approx(1, abs=2 * error)


def test_default_moments(rayleigh):
    """x^2 is exponential, so its mean and standard deviation are both 1 / rate; draws may be arrays."""
    rate = np.array([1e-4, 0.08, 3.0])
    np.testing.assert_allclose(rayleigh.statistic_mean({"rate": rate})[:, 0], 1 / rate, rtol=1e-9)
    np.testing.assert_allclose(rayleigh.statistic_covariance({"rate": rate})[:, 0, 0], 1 / rate**2, rtol=1e-7)


def test_sensitivity(rayleigh):
    domain = Domain(rayleigh.parse_bounds((1, 12)), None, "redact", "count")
    assert rayleigh.affine_map(domain) == ((Fraction(145, 2),), (Fraction(143, 2),))
    assert rayleigh.layout(domain, "replace").l1_sensitivity == 2 + Fraction(1, 2**24)
    with pytest.raises(dc.errors.UsageError, match="lies in"):
        rayleigh.parse_bounds((-1, 12))


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_from_rows_to_posterior(rayleigh, rng, tmp_path, neighbors):
    """At a budget so large that noise hardly matters, the naive posterior is the conjugate one."""
    x = np.clip(stats.rayleigh(scale=2.5).rvs(3000, random_state=rng), 0, 12)
    path = tmp_path / "throws.json"
    dc.release(x, rayleigh, bounds=(0, 12), epsilon=1000, neighbors=neighbors).save(path)
    loaded = dc.Release.load(path)
    assert loaded.family == rayleigh
    prior = dc.priors.Gamma(1, 10)
    posterior = dc.infer(loaded, prior=prior, engine="naive", draws=4000, rng=rng)
    expected = rayleigh.update(prior, rayleigh.sufficient(x).sum(axis=0), len(x))
    mean, sd = expected.shape / expected.rate, expected.shape**0.5 / expected.rate
    # Noise on the sum of x^2 and on the count has scale at most 72 * 2 / 1000 and is drawn afresh each run: it moves
    # the mean by under 1e-3 sd. Monte Carlo: sd / sqrt(4000), and 4.5 of those are exceeded once in 1e5 runs.
    assert abs(posterior.mean()["rate"] - mean) < (4.5 / 4000**0.5 + 0.01) * sd


def test_the_command_line_can_name_it(rayleigh):
    assert families.parse("rayleigh") == rayleigh == families.build("rayleigh", {})
    with pytest.raises(dc.errors.UsageError, match="has no constants"):
        families.parse("rayleigh:sigma=2")


def test_what_is_left_out_is_said_clearly(rayleigh, rng):
    with pytest.raises(dc.errors.UsageError, match="rayleigh does not say how to draw records"):
        rayleigh.sample({"rate": 1.0}, 3, rng)
    assert rayleigh.suggested_prior(Domain(((Fraction(0), Fraction(12)),), None, "redact", "count")) is None


def test_names_are_not_taken_twice():
    class Impostor(families.Bernoulli):
        """Another class that claims a built-in name."""

    class Nameless(families.Bernoulli):
        """A class whose name could not be written on a command line."""

        name = "Two words"

    with pytest.raises(dc.errors.UsageError, match="taken"):
        families.register(Impostor)
    with pytest.raises(dc.errors.UsageError, match="lower case"):
        families.register(Nameless)
    assert families.register(families.Bernoulli) is families.Bernoulli


def test_an_unregistered_family_is_not_loaded():
    with pytest.raises(dc.errors.UsageError, match="unknown model 'rayleigh2'"):
        families.build("rayleigh2", {})


def test_values_of_the_prior_are_named_in_one_place():
    """Engines never call ``draw`` for values that they found themselves: one that converts them would be passed by."""
    with pytest.raises(dc.errors.UsageError, match="Odds defines draw"):

        class Odds(families.Bernoulli):
            """A family that would convert values where engines do not see it."""

            def draw(self, prior, size, rng):
                return {"p": 1 - prior.sample(size, rng)}

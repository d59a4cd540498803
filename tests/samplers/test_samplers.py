"""Likelihoods of releases in other people's samplers: ``make test-samplers`` has them in an environment of its own.

NumPyro and PyMC draw from the same posterior as ``infer``, for five models; Stan programs are compiled by Stan.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.inference.likelihood_forms import PairsForm
from discreet.inference.release_likelihood import ReleaseLikelihood

WHY = "it is not installed here: make test-samplers installs it"


def _share() -> dc.Release:
    return dc.release([1, 0, 0, 1, 1, None] * 30, dc.Bernoulli(), epsilon=0.5)


def _clipped() -> dc.Release:
    return dc.foreign(dc.Bernoulli(), records=60, values={"yes": 0}, noise="geometric", scale=6, clipped=0)


def _shares() -> dc.Release:
    values = [12.5, 30, 18]
    return dc.foreign(dc.Categorical(["a", "b", "c"]), records=60, values=values, noise="laplace", scale=4)


def _rate() -> dc.Release:
    return dc.release([1, 2, 3, 0, 5] * 40, dc.Poisson(), bounds=(0, 12), epsilon=1, missing="none")


def _wait() -> dc.Release:
    waits = [0.2, 1.4, 3.1, 0.7, 2.2] * 40
    return dc.release(waits, dc.Exponential(), bounds=(0, 12), epsilon=1, missing="none")


def _table() -> dc.Release:
    bayes = dc.models.NaiveBayes({"c": ["no", "yes"]}, {"f": ["a", "b"]})
    rows = {"c": ["no", "yes", "no"] * 40, "f": ["a", "b", "b", "a"] * 30}
    return dc.release(rows, bayes, epsilon=0.5, missing="none")


#: Each release, and the prior that all three samplers take: its name and its numbers.
MODELS: dict[str, tuple[Callable[[], dc.Release], str, tuple[Any, ...]]] = {
    "share": (_share, "Beta", (2.0, 3.0)),
    "clipped share": (_clipped, "Beta", (1.0, 1.0)),
    "shares": (_shares, "Dirichlet", ([1.0, 2.0, 1.0],)),
    "Poisson rate": (_rate, "Gamma", (3.0, 1.0)),
    "exponential rate": (_wait, "Gamma", (3.0, 2.0)),
}


def ours(release: dc.Release, prior: str, numbers: tuple[Any, ...]) -> np.ndarray:
    made = getattr(dc.priors, prior)(*numbers)
    return next(iter(dc.infer(release, prior=made, draws=20_000, rng=1).draws.values()))


def check(found: np.ndarray, effective: np.ndarray, expected: np.ndarray) -> None:
    """Means within 4.5 standard errors of both samples, and standard deviations within 12%."""
    found, expected = found.reshape(len(found), -1), expected.reshape(len(expected), -1)
    sd = expected.std(axis=0)
    error = sd * np.sqrt(1 / np.maximum(effective.ravel(), 1) + 1 / len(expected))
    assert (np.abs(found.mean(axis=0) - expected.mean(axis=0)) < 4.5 * error).all()
    np.testing.assert_allclose(found.std(axis=0), sd, rtol=0.12)


@pytest.mark.parametrize("name", MODELS)
def test_numpyro_agrees(name: str) -> None:
    numpyro = pytest.importorskip("numpyro", reason=WHY)
    import jax
    from numpyro import distributions as dist
    from numpyro.diagnostics import effective_sample_size

    jax.config.update("jax_enable_x64", True)
    make, prior, numbers = MODELS[name]
    release = make()
    likelihood = release.likelihood()

    def model() -> None:
        theta = numpyro.sample("theta", getattr(dist, prior)(*map(np.asarray, numbers)))
        likelihood.numpyro("release", **{likelihood.parameter: theta})

    kernel = numpyro.infer.NUTS(model)
    chains = numpyro.infer.MCMC(kernel, num_warmup=500, num_samples=4000, progress_bar=False)
    chains.run(jax.random.PRNGKey(1))
    drawn = np.asarray(chains.get_samples()["theta"])
    check(drawn, effective_sample_size(drawn[None]), ours(release, prior, numbers))


def test_numpyro_reads_latent_counts() -> None:
    """Counts of a table are latent: normal around what the shares lead to expect; infer knows them as integers."""
    numpyro = pytest.importorskip("numpyro", reason=WHY)
    import jax
    from jax import numpy as jnp
    from numpyro import distributions as dist
    from numpyro.diagnostics import effective_sample_size

    jax.config.update("jax_enable_x64", True)
    release, n = _table(), 120
    likelihood = release.likelihood()

    def model() -> None:
        p = numpyro.sample("p", dist.Dirichlet(jnp.ones(4)))
        covariance = n * (jnp.diag(p) - jnp.outer(p, p))[:3, :3] + 1e-6 * jnp.eye(3)
        first = numpyro.sample("counts", dist.MultivariateNormal(n * p[:3], covariance))
        likelihood.numpyro("table", totals=jnp.append(first, n - first.sum()))

    kernel = numpyro.infer.NUTS(model, target_accept_prob=0.9)
    chains = numpyro.infer.MCMC(kernel, num_warmup=500, num_samples=3000, progress_bar=False)
    chains.run(jax.random.PRNGKey(1))
    drawn = np.asarray(chains.get_samples()["p"])
    # the same model of the table: one Dirichlet prior of all four cells
    share = drawn[:, 2] + drawn[:, 3]
    posterior = dc.infer(release, prior=2.0, draws=20_000, rng=1)
    found = posterior.scalars()["c[yes]"]
    effective = float(effective_sample_size(share[None]))
    error = found.std() * np.sqrt(1 / effective + 1 / 4000)
    assert abs(share.mean() - found.mean()) < 4.5 * error + 0.1 * found.std()
    np.testing.assert_allclose(share.std(), found.std(), rtol=0.15)


@pytest.mark.parametrize("name", MODELS)
def test_pymc_agrees(name: str) -> None:
    pymc = pytest.importorskip("pymc", reason=WHY)
    import arviz

    make, prior, numbers = MODELS[name]
    release = make()
    likelihood = release.likelihood()
    with pymc.Model():
        theta = getattr(pymc, prior)("theta", *numbers)
        likelihood.pymc("release", **{likelihood.parameter: theta})
        drawn = pymc.sample(2000, tune=500, chains=2, cores=1, random_seed=1, progressbar=False).posterior[
            "theta"
        ]
    effective = np.asarray(arviz.ess(drawn)["theta"])
    check(drawn.to_numpy().reshape(4000, *drawn.shape[2:]), effective, ours(release, prior, numbers))


def test_arviz_takes_a_posterior() -> None:
    """Whichever ArviZ is installed: PyMC brings one before 1.0."""
    arviz = pytest.importorskip("arviz", reason=WHY)
    posterior = dc.infer(_share(), rng=1)
    table = arviz.summary(posterior.to_arviz())
    assert abs(float(table.loc["p", "mean"]) - posterior.mean()["p"]) < 0.01


def test_stan_takes_the_programs(tmp_path: Path) -> None:
    """Stan's own compiler, which comes in the wheel of httpstan, reads them: names, types and sizes of arguments."""
    httpstan = pytest.importorskip("httpstan", reason=WHY)
    compiler = Path(httpstan.__file__).parent / "stanc"
    for at, make in enumerate([_table, *(make for make, _, _ in MODELS.values())]):
        program = tmp_path / f"model{at}.stan"
        program.write_text(make().to_stan())
        done = subprocess.run(
            [compiler, "--o", str(tmp_path / "out.hpp"), str(program)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr
    program.write_text(make().to_stan().replace("log_sum_exp", "log_sum_of_exp").replace("real t", "real u"))
    assert subprocess.run([compiler, str(program)], capture_output=True, check=False).returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["share", "shares", "Poisson rate"])
def test_stan_agrees(name: str) -> None:
    """Compiled and sampled by PyStan, under a flat prior; a minute of compiling for each."""
    stan = pytest.importorskip("stan", reason=WHY)
    make, prior, _ = MODELS[name]
    release = make()
    # flat on the parameter
    numbers = {"Beta": (1.0, 1.0), "Dirichlet": ([1.0] * 3,), "Gamma": (1.0, 1e-9)}[prior]
    fit = stan.build(release.to_stan(), random_seed=1).sample(num_chains=2, num_samples=2000)
    drawn = np.asarray(fit[release.likelihood().parameter]).T
    drawn = drawn[:, 0] if drawn.shape[1] == 1 else drawn
    check(drawn, np.full(drawn.shape[1:], 800.0), ours(release, prior, numbers))


def tables(trial: int) -> tuple[float, float, PairsForm]:
    """Return what a population of 30 private tables is drawn with, and their likelihoods, a row for each table."""
    rng = np.random.default_rng([21, trial])
    centre, spread = rng.normal(0, 1), abs(rng.normal(0, 0.5))
    shares = 1 / (1 + np.exp(-(centre + spread * rng.standard_normal(30))))
    rows = [(rng.random(80) < p).astype(int).tolist() for p in shares]
    forms = [dc.release(one, dc.Bernoulli(), epsilon=0.5, missing="none").likelihood().form for one in rows]
    assert all(isinstance(one, PairsForm) for one in forms)

    def row(values: np.ndarray, rest: float) -> np.ndarray:
        # as many numbers for every table, so that the model is compiled once
        return np.concatenate([values, np.full(81 - len(values), rest)])

    no, yes, weight = (
        np.stack([row(getattr(one, name), rest) for one in forms])
        for name, rest in (("no", 0.0), ("yes", 0.0), ("log_weight", -1e30))
    )
    return centre, spread, PairsForm(no, yes, weight)


def population(no: Any, yes: Any, weight: Any) -> None:
    """The model of a user's own: shares of 30 tables from one population, and the releases as its data."""
    import jax
    import numpyro
    from numpyro import distributions as dist

    middle = numpyro.sample("middle", dist.Normal(0, 1))
    width = numpyro.sample("width", dist.HalfNormal(0.5))
    with numpyro.plate("tables", 30):
        away = numpyro.sample("away", dist.Normal(0, 1))
        p = jax.nn.sigmoid(middle + width * away)
        ReleaseLikelihood(PairsForm(no, yes, weight)).numpyro("releases", p=p)


@pytest.mark.slow
def test_a_hierarchy_over_thirty_releases_is_calibrated() -> None:
    """Ranks of both parameters of the population, over 100 trials."""
    numpyro = pytest.importorskip("numpyro", reason=WHY)
    import jax

    from discreet.validation.ranks import uniformity

    jax.config.update("jax_enable_x64", True)
    chains = numpyro.infer.MCMC(
        numpyro.infer.NUTS(population),
        num_warmup=400,
        num_samples=1000,
        thinning=5,
        progress_bar=False,
        jit_model_args=True,
    )
    ranks = []
    for trial in range(100):
        centre, spread, form = tables(trial)
        chains.run(jax.random.PRNGKey(trial), form.no, form.yes, form.log_weight)
        drawn = {name: np.asarray(x) for name, x in chains.get_samples().items()}
        ranks.append([(drawn["middle"] < centre).mean(), (drawn["width"] < spread).mean()])
    for column in np.array(ranks).T:
        assert uniformity(column).least_p_value > 5e-4

"""Write the golden release files of the current format: `python scripts/make_golden_releases.py`.

They are written once per format version and never again; loading them is a promise to everyone who holds such a file.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.artifact.about import FIELDS
from discreet.artifact.codec import VERSION
from discreet.curator.publish import release_with, sample_with
from discreet.mechanisms.base import RandomSource
from discreet.mechanisms.private_groups import LabelBudget

FOLDER = Path(__file__).parent.parent / "src" / "discreet" / "artifact" / "golden"


def main() -> None:
    rng = np.random.default_rng(20)
    laplace, approx, zcdp = (
        dc.mechanisms.Laplace("0.5"),
        dc.mechanisms.Gaussian(epsilon=1, delta="1e-6"),
        dc.mechanisms.Gaussian(rho="0.1"),
    )
    normal = rng.normal(40, 12, (500, 2))
    letters, ab = rng.choice(["a", "b", "ü"], 300).tolist(), rng.choice(["a", "b"], 300).tolist()
    wide = {"bounds": ("-3", "100")}
    cases = {
        "bernoulli": (rng.integers(0, 2, 300), dc.Bernoulli(), laplace, {}),
        "bernoulli-approx": (rng.integers(0, 2, 300), dc.Bernoulli(), approx, {"missing": "none"}),
        "categorical": (letters, dc.Categorical(["a", "b", "ü"]), laplace, {"dataset": "letters"}),
        "categorical-private-count": (ab, dc.Categorical(["a", "b"]), zcdp, {"neighbors": "add_remove"}),
        "poisson": (rng.poisson(3, 300), dc.Poisson(), laplace, {"bounds": (0, 20), "outside": "clip"}),
        "laplace": (rng.laplace(1, 2, 300), dc.Laplace(location=1.5), laplace, wide),
        "normal": (normal[:, 0], dc.Normal(), laplace, wide),
        "normal-private-count": (normal[:, 0], dc.Normal(), laplace, {**wide, "neighbors": "add_remove"}),
        "normal-variance": (normal[:, 0], dc.Normal(variance=144), zcdp, {"bounds": (0, 100)}),
        "multivariate-normal": (normal, dc.MultivariateNormal(2), approx, {"bounds": [(0, 100), (-3, 100)]}),
    }  # fmt: skip
    write(cases, rng, first=0)
    # a generator of its own, so that the files above stay what they are
    rng = np.random.default_rng(21)
    days, pairs = rng.exponential(9.5, 800), rng.normal([40, 120], [12, 15], (2000, 2))
    bought = {"bounds": dc.mechanisms.PrivateQuantiles("0.025", "0.975", within=(0, 365), epsilon="0.4")}
    each = dc.mechanisms.PrivateQuantiles("0.05", "0.95", within=[(0, 130), (0, 300)], epsilon=1, cells=256)
    write(
        {
            "exponential-bought-bounds": (days, dc.Exponential(), laplace, bought),
            "poisson-bought-bounds": (days.round(), dc.Poisson(), zcdp, {**bought, "neighbors": "add_remove"}),
            "multivariate-normal-bought-bounds": (
                pairs, dc.MultivariateNormal(2), approx, {"bounds": each, "outside": "clip"}
            ),
        },
        rng,
        first=len(cases),
    )  # fmt: skip
    write_samples(np.random.default_rng(22), first=20)
    write_chains(np.random.default_rng(24), first=40)
    write_models(np.random.default_rng(23), first=30)
    write_regressions(np.random.default_rng(23), first=60)
    write_networks(np.random.default_rng(25), first=70)
    write_means(np.random.default_rng(26), first=80)
    write_fit_checks(np.random.default_rng(27), first=90)
    write_counts_and_dates(np.random.default_rng(27), first=100)
    write_metrics(np.random.default_rng(28), first=110)
    write_products(np.random.default_rng(29), first=120)
    write_groups(np.random.default_rng(30), first=130)
    write_walks(np.random.default_rng(29), first=140)
    write_described(np.random.default_rng(31), first=150)
    write_odds(np.random.default_rng(32), first=160)
    write_visits(np.random.default_rng(35), first=190)
    write_finite_sets(np.random.default_rng(34), first=180)
    write_sweeps(np.random.default_rng(33), first=170)
    write_hidden_columns(np.random.default_rng(35), first=190)
    write_bounded_draws(np.random.default_rng(36), first=200)
    write_norms(np.random.default_rng(37), first=210)


def write_means(rng: np.random.Generator, *, first: int) -> None:
    column = np.where(rng.random(300) < 0.05, np.nan, rng.gamma(2, 15, 300))
    wide = {"bounds": ("-3", "100")}
    cases = {
        "mean": (column, dc.Mean(), dc.mechanisms.Laplace("0.5"), wide),
        "mean-private-count": (
            column, dc.Mean(), dc.mechanisms.Gaussian(rho="0.1"), {**wide, "neighbors": "add_remove"}
        ),
        "histogram": (column, dc.Histogram(bins=24), dc.mechanisms.Laplace("0.5"), wide),
        "histogram-edges": (
            column, dc.Histogram(edges=["-3", "0.1", "100/3", 50, "1e2"]), dc.mechanisms.Gaussian(rho="0.1"),
            {"neighbors": "add_remove"},
        ),
    }  # fmt: skip
    write(cases, rng, first=first)


def write_walks(rng: np.random.Generator, *, first: int) -> None:
    coin, letters = rng.integers(0, 2, 300), rng.choice(["a", "b", "ü"], 300).tolist()
    walk, evidence = dc.mechanisms.PrivateMetropolis, dc.mechanisms.PrivateAnnealing
    both = {"mean": (20, 60), "variance": (50, 400)}
    cases: dict[str, Any] = {
        "categorical-private-metropolis": (
            letters, dc.Categorical(["a", "b", "ü"]), {"impute": "a"},
            walk("dirichlet:1,1,2", epsilon=1, steps=4, support="0.05", cells=64),
        ),
        "normal-private-metropolis": (
            rng.normal(40, 12, 300), dc.Normal(), {"bounds": (0, 100), "impute": 40},
            walk("normal_inverse_gamma:40,1,2,200", epsilon=1, steps=4, support=both, cells=16),
        ),
        "bernoulli-evidence": (
            coin, dc.Bernoulli(), {"missing": "none"},
            evidence(
                "beta:1,1", epsilon=4, support=("0.3", "0.7"), levels=4, trajectories=3, cells=64,
                weights="laplace", weights_epsilon=1, evidence_epsilon=1, spacing="doubling",
            ),
        ),
    }  # fmt: skip
    for number, (name, (data, model, how, mechanism)) in enumerate(cases.items(), first):
        save(name, sample_with(RandomSource.seeded(rng), data, model, mechanism, **how), number)


def write_metrics(rng: np.random.Generator, *, first: int) -> None:
    column = np.where(rng.random(300) < 0.05, np.nan, rng.gamma(2, 15, 300))
    by_unit: dict[str, Any] = {"metric": "absolute", "epsilon_per_unit": "0.01"}
    save(
        "mean-metric",
        release_with(
            lambda noise: int(noise.sample(1, rng)[0]), column, dc.Mean(), dc.mechanisms.Laplace(**by_unit),
            bounds=("-3", "100"),
        ),
        first,
    )  # fmt: skip
    sampling = dc.mechanisms.PosteriorSampling("gamma:2,1", support=("0.01", 1), **by_unit)
    drawn = sample_with(
        RandomSource.seeded(rng), column, dc.Exponential(), sampling, bounds=(0, 100), impute=30
    )
    save("exponential-metric-sample", drawn, first + 1)


def write_fit_checks(rng: np.random.Generator, *, first: int) -> None:
    bought = dc.mechanisms.PrivateQuantiles("0.025", "0.975", within=(0, 365), epsilon="0.4")
    days = np.where(rng.random(500) < 0.05, np.nan, rng.poisson(9.5, 500))
    cases = {
        "normal-fit-check": (
            rng.normal(40, 12, 500), dc.Normal(), dc.mechanisms.Laplace(1),
            {"bounds": ("-3", "100"), "fit_check": "0.2"},
        ),
        "poisson-fit-check": (
            days, dc.Poisson(), dc.mechanisms.Gaussian(rho="0.1"),
            {"bounds": bought, "neighbors": "add_remove", "fit_check": "1/4"},
        ),
    }  # fmt: skip
    write(cases, rng, first=first)


def write_counts_and_dates(rng: np.random.Generator, *, first: int) -> None:
    visits = rng.negative_binomial(0.7, 0.2, 300)
    days = [f"{np.datetime64('2020-01-01') + int(day)}" for day in rng.gamma(3, 150, 300)]
    years = {"bounds": ("2020-01-01", "2024-12-31")}
    edges = ["2020-01-01", "2021-01-01", "2022-01-01", "2024-12-31"]
    laplace = dc.mechanisms.Laplace("0.5")
    cases = {
        "negative-binomial": (visits, dc.NegativeBinomial(), laplace, {"bounds": (0, 20)}),
        "mean-dates": (days, dc.Mean(), laplace, years),
        "histogram-dates": (days, dc.Histogram(edges=edges), laplace, {}),
    }
    write(cases, rng, first=first)
    aged = release_with(
        lambda law: int(law.sample(1, rng)[0]), rng.gamma(9, 5, 300), dc.Mean(), laplace, bounds=(0, 120)
    )
    save("mean-unit-label", dataclasses.replace(aged, unit_label="years"), first + len(cases))


def write_groups(rng: np.random.Generator, *, first: int) -> None:
    rows = {
        "id": [f"p{i}" for i in rng.integers(0, 900, 2000)],
        "shop": rng.choice(["baker", "b\u00fccher", "rare"], 2000, p=[0.6, 0.399, 0.001]).tolist(),
        "cost": rng.uniform(0, 60, 2000).tolist(),
    }
    how = {
        "column": "cost", "bounds": (0, 60), "unit": "id", "per_unit": "mean", "by": "shop", "groups": "private",
        "max_groups": 2, "label_budget": LabelBudget(Fraction(1), Fraction(1, 10**6)),
    }  # fmt: skip
    write({"mean-private-groups": (rows, dc.Mean(), dc.mechanisms.Laplace(1), how)}, rng, first=first)


def write_models(rng: np.random.Generator, *, first: int) -> None:
    model = dc.models.NaiveBayes({"c": ["no", "yes"]}, {"f": ["a", "ü"], "g": 3}, split={"g": "3/2"})
    rows = {
        "c": rng.choice(["no", "yes", ""], 300).tolist(),
        "f": rng.choice(["a", "ü", "?"], 300).tolist(),
        "g": rng.integers(0, 4, 300).tolist(),
    }
    write({"naive-bayes": (rows, model, dc.mechanisms.Laplace("0.5"), {})}, rng, first=first)
    tables = dc.mechanisms.TablePosterior(epsilon=2, samples=2, support="0.02")
    drawn = sample_with(RandomSource.seeded(rng), rows, model, tables, impute={"c": "no", "f": "a", "g": 0})
    save("naive-bayes-table-posterior", drawn, first + 1)
    mixed = dc.models.NaiveBayes({"c": ["no", "yes"]}, {"f": ["a", "ü"], "x": ("-3", "100")}, split={"x": 2})
    rows = {**rows, "x": np.where(rng.random(300) < 0.1, np.nan, rng.normal(40, 30, 300)).tolist()}
    write({"naive-bayes-numbers": (rows, mixed, dc.mechanisms.Laplace("0.5"), {})}, rng, first=first + 2)


def write_networks(rng: np.random.Generator, *, first: int) -> None:
    network = dc.models.BayesianNetwork(
        [("a", "c"), ("ü", "c")], {"a": ["no", "yes"], "ü": 2, "c": ["x", "y"]}
    )
    rows = {
        "a": rng.choice(["no", "yes", ""], 300).tolist(),
        "ü": rng.integers(0, 3, 300).tolist(),
        "c": rng.choice(["x", "y"], 300).tolist(),
    }
    chain = dc.models.MarkovChain({"ward": range(20)}, {"day": range(1, 6)}, {"state": ["free", "ill", "?"]})
    states = {
        "ward": np.repeat(np.arange(20), 5).tolist(),
        "day": np.tile(np.arange(1, 6), 20).tolist(),
        "state": rng.choice(["free", "ill"], 100).tolist(),
    }
    cases = {
        "bayesian-network": (rows, network, dc.mechanisms.Laplace("0.5"), {}),
        "markov-chain": (states, chain, dc.mechanisms.Gaussian(rho="0.1"), {"neighbors": "add_remove"}),
    }
    write(cases, rng, first=first)


def write_samples(rng: np.random.Generator, *, first: int) -> None:
    box = {"mean": (20, 60), "variance": (25, 400)}
    letters = rng.choice(["a", "b", "ü", ""], 300).tolist()
    cases = {
        "bernoulli-posterior-sample": (
            rng.integers(0, 2, 300), dc.Bernoulli(), {"impute": 0},
            dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, samples=2, support=("0.05", "0.95")),
        ),
        "categorical-posterior-sample": (
            letters, dc.Categorical(["a", "b", "ü"]), {"impute": "ü"},
            dc.mechanisms.PosteriorSampling("dirichlet:1,1,1", epsilon=2, samples=2, support="0.05"),
        ),
        "normal-posterior-sample": (
            rng.normal(40, 12, 500), dc.Normal(), {"bounds": ("-3", "100"), "missing": "none"},
            dc.mechanisms.PosteriorSampling("normal_inverse_gamma:40,1,2,200", epsilon=1, support=box),
        ),
    }  # fmt: skip
    for number, (name, (data, family, how, mechanism)) in enumerate(cases.items(), first):
        release = sample_with(RandomSource.seeded(rng), data, family, mechanism, **how)
        save(name, release, number)


def write_products(rng: np.random.Generator, *, first: int) -> None:
    rows: dict[str, Any] = {"age": rng.uniform(18, 90, 300), "ward": rng.choice(["a", "b", "c"], 300)}
    rows["pressure"] = 100 + 0.4 * rows["age"] + rng.normal(0, 12, 300)
    declared = {"pressure": (60, 200), "age": (18, 100), "ward": ["a", "b", "c"]}
    plain = dc.models.LinearRegression("pressure", ["age", "ward"], bounds=declared)
    curved = dc.models.LinearRegression(
        "pressure", ["age", "ward", "age ** 2", "age * ward"], bounds=declared
    )
    cases: dict[str, Any] = {
        "linear-regression": (rows, plain, dc.mechanisms.Laplace(1), {}),
        "linear-regression-gaussian": (rows, curved, dc.mechanisms.Gaussian(rho="0.1"), {"missing": "none"}),
        "linear-regression-private-count": (
            rows,
            plain,
            dc.mechanisms.Gaussian(epsilon=1, delta="1e-6"),
            {"neighbors": "add_remove"},
        ),
    }
    write(cases, rng, first=first)


def write_odds(rng: np.random.Generator, *, first: int) -> None:
    rows: dict[str, Any] = {"age": rng.uniform(18, 90, 300), "sex": rng.choice(["f", "m"], 300)}
    rows["smoker"] = np.where(rng.random(300) < rows["age"] / 120, "yes", "no")
    numbers: dict[str, Any] = {"age": (18, 90), "sex": ["f", "m"]}
    target = {"smoker": ["no", "yes"]}
    sums = dc.models.LogisticRegression(target, numbers)
    step = dc.models.LogisticRegression(target, numbers, start=["-1.5", "0.03", "0.1"])
    labels = dc.models.LogisticRegression(target, {"sex": ["f", "m"]})
    cases: dict[str, Any] = {
        "logistic-products": (rows, sums, dc.mechanisms.Laplace(1), {}),
        "logistic-step": (rows, step, dc.mechanisms.Gaussian(rho="0.1"), {}),
        "logistic-table": (rows, labels, dc.mechanisms.Laplace(1), {"neighbors": "add_remove"}),
    }
    write(cases, rng, first=first)


def write_visits(rng: np.random.Generator, *, first: int) -> None:
    rows: dict[str, Any] = {"age": rng.uniform(18, 90, 300), "sex": rng.choice(["f", "m"], 300)}
    rows["visits"] = rng.poisson(rows["age"] / 30)
    declared: Any = {"visits": (0, 12)}, {"age": (18, 90), "sex": ["f", "m"]}
    known: Any = {"start": ["-0.5", "0.02", "0.1"], "dispersion": "1.2", "mean": "1.8"}
    sums, step = dc.models.PoissonRegression(*declared), dc.models.PoissonRegression(*declared, **known)
    cases: dict[str, Any] = {
        "poisson-regression": (rows, sums, dc.mechanisms.Laplace(1), {}),
        "poisson-regression-step": (
            rows,
            step,
            dc.mechanisms.Gaussian(rho="0.1"),
            {"neighbors": "add_remove"},
        ),
    }
    write(cases, rng, first=first)


def write_regressions(rng: np.random.Generator, *, first: int) -> None:
    rows = {"age": rng.uniform(18, 90, 300), "sex": rng.choice(["f", "m"], 300)}
    rows["smoker"] = np.where(rng.random(300) < rows["age"] / 120, "yes", "no")
    model = dc.models.LogisticRegression({"smoker": ["no", "yes"]}, {"age": (18, 90), "sex": ["f", "m"]})
    impute = {"impute": {"smoker": "no", "age": 50, "sex": "f"}}
    secret = dc.mechanisms.NoisySGD(rho="0.5", order="secret", extra_steps=20)
    walk = dc.mechanisms.Langevin(epsilon=1, delta="1e-6", steps=40, rate="1/4", samples=3)
    cases: dict[str, Any] = {
        "logistic-noisy-sgd": (dc.mechanisms.NoisySGD(rho="0.5"), impute),
        "logistic-secret-order": (secret, {"missing": "none"}),
        "logistic-langevin": (walk, {**impute, "neighbors": "add_remove"}),
    }
    for number, (name, (mechanism, how)) in enumerate(cases.items(), first):
        save(name, sample_with(RandomSource.seeded(rng), rows, model, mechanism, **how), number)


def write_chains(rng: np.random.Generator, *, first: int) -> None:
    mixture = dc.models.Mixture(2, {"letter": ["a", "b", "ü"], "yes": 2})
    table = {"letter": rng.choice(["a", "b", "ü", ""], 300).tolist(), "yes": rng.integers(0, 2, 300)}
    coin, walk = rng.integers(0, 2, 300), {"support": ("0.05", "0.95"), "cells": 256}
    cases = {
        "mixture-private-gibbs": (
            table, mixture, {"impute": {"letter": "a", "yes": "0"}},
            dc.mechanisms.PrivateGibbs(epsilon=2, delta="1e-6", steps=3, support="0.05", share="1/2"),
        ),
        "bernoulli-private-metropolis": (
            coin, dc.Bernoulli(), {"impute": 0},
            dc.mechanisms.PrivateMetropolis("beta:1,1", epsilon=1, steps=4, **walk),
        ),
        "bernoulli-private-annealing": (
            coin, dc.Bernoulli(), {"missing": "none"},
            dc.mechanisms.PrivateAnnealing("beta:1,1", epsilon=1, samples=2, levels=4, **walk),
        ),
    }  # fmt: skip
    for number, (name, (data, model, how, mechanism)) in enumerate(cases.items(), first):
        save(name, sample_with(RandomSource.seeded(rng), data, model, mechanism, **how), number)


def write_finite_sets(rng: np.random.Generator, *, first: int) -> None:
    """Samples from finite sets of parameters, with any prior weights."""
    on = dc.mechanisms.FinitePosterior
    both = [{"mean": 30, "variance": 100}, {"mean": 40, "variance": "144.5"}, {"mean": 45, "variance": 200}]
    letters = [["0.2", "0.3", "0.5"], ["1/3", "1/3", "1/3"]]
    cases: dict[str, Any] = {
        "bernoulli-finite-posterior": (
            rng.integers(0, 2, 300), dc.Bernoulli(), {"impute": 0},
            on(["0.1", "0.4", "0.5"], ["0.2", "0.3", "0.5"], epsilon=1, samples=2),
        ),
        "normal-finite-posterior": (
            rng.normal(40, 12, 300), dc.Normal(), {"bounds": (0, 100), "missing": "none"},
            on(both, "sensitivity", epsilon=1),
        ),
        "categorical-finite-posterior": (
            rng.choice(["a", "b", "ü"], 300).tolist(), dc.Categorical(["a", "b", "ü"]), {"impute": "a"},
            on(letters, epsilon=1),
        ),
    }  # fmt: skip
    for number, (name, (data, model, how, mechanism)) in enumerate(cases.items(), first):
        save(name, sample_with(RandomSource.seeded(rng), data, model, mechanism, **how), number)


def write_sweeps(rng: np.random.Generator, *, first: int) -> None:
    hidden = dc.models.HiddenMarkov(
        2, chain={"ward": ["a", "ü"]}, time={"month": 3}, features={"letter": ["a", "b", "ü"], "yes": 2}
    )
    rows = {
        "ward": rng.choice(["a", "ü", ""], 300).tolist(),
        "month": rng.integers(0, 4, 300).tolist(),
        "letter": rng.choice(["a", "b", "ü", ""], 300).tolist(),
        "yes": rng.integers(0, 2, 300).tolist(),
    }
    declared = dc.models.DeclaredLikelihood(
        {"yes": 2},
        {"p": ["0.2", "1/3", "0.5"], "ü": [0, 1]},
        [[-1, 0], [0, -2], [0.5, 1], [0, 0], [1, 2], [2, 1]],
    )
    each = {"letter": "0.05", "yes": "0.1"}
    cases: dict[str, Any] = {
        "hidden-markov-private-gibbs": (
            hidden, {"impute": {"ward": "a", "month": 0, "letter": "a", "yes": 0}},
            dc.mechanisms.PrivateGibbs(epsilon=2, delta="1e-6", steps=3, support=each, weight_prior=2),
        ),
        "declared-likelihood-private-gibbs": (
            declared, {"impute": {"yes": 0}}, dc.mechanisms.PrivateGibbs(epsilon=1, steps=4)
        ),
    }  # fmt: skip
    for number, (name, (model, how, mechanism)) in enumerate(cases.items(), first):
        save(name, sample_with(RandomSource.seeded(rng), rows, model, mechanism, **how), number)


def write_hidden_columns(rng: np.random.Generator, *, first: int) -> None:
    model = dc.models.HiddenNetwork(
        [("letter", "ü"), ("ü", "yes"), ("root", "ü")],
        {"letter": ["a", "b", "ü"], "yes": 2},
        {"ü": 2, "root": 2},
    )
    rows = {"letter": rng.choice(["a", "b", "ü", ""], 300).tolist(), "yes": rng.integers(0, 2, 300).tolist()}
    mechanism = dc.mechanisms.PrivateGibbs(
        epsilon=2, delta="1e-6", steps=3, support={"letter": "0.05", "yes": "0.1", "ü": "0.1"}, share="1/2"
    )
    impute = {"letter": "a", "yes": 0}
    made = sample_with(RandomSource.seeded(rng), rows, model, mechanism, impute=impute)
    save("hidden-network-private-gibbs", made, first)


def write_bounded_draws(rng: np.random.Generator, *, first: int) -> None:
    letters = rng.choice(["a", "b", "ü"], 300).tolist()
    limits = {"normal_mean": ("-1/2", "1/2"), "covariance": ("0.02", 1)}
    wishart = "normal_inverse_wishart:40,40,0.25,4,400,0,400"
    cases: dict[str, Any] = {
        "categorical-bounded-tries": (
            letters, dc.Categorical(["a", "b", "ü"]), {"impute": "a"},
            dc.mechanisms.PosteriorSampling("dirichlet:1,1,2", epsilon=1, support="0.05", delta="1e-9"),
        ),
        "multivariate-normal-posterior-sample": (
            rng.normal(40, 12, (300, 2)), dc.MultivariateNormal(2),
            {"bounds": [(0, 100), (-3, 100)], "impute": [40, 40]},
            dc.mechanisms.PosteriorSampling(wishart, epsilon=2, support=limits, samples=2),
        ),
        "trajectories-table-posterior": (
            {"m1": letters, "m2": letters[::-1]}, dc.models.Trajectories(["m1", "m2"], ["a", "b", "ü"]),
            {"missing": "none"}, dc.mechanisms.TablePosterior(epsilon=2, support="0.05", delta="1e-9"),
        ),
    }  # fmt: skip
    for number, (name, (data, model, how, mechanism)) in enumerate(cases.items(), first):
        save(name, sample_with(RandomSource.seeded(rng), data, model, mechanism, **how), number)


def write_norms(rng: np.random.Generator, *, first: int) -> None:
    rows: dict[str, Any] = {"age": rng.uniform(18, 90, 300), "sex": rng.choice(["f", "m", ""], 300)}
    rows["dose"] = rng.uniform(0, 1, 300)
    rows["pressure"] = 100 + 0.4 * rows["age"] - 9 * rows["dose"] + rng.normal(0, 12, 300)
    declared: dict[str, Any] = {"pressure": (60, 200), "age": (18, 100)}
    two = dc.models.LinearRegression("pressure", ["age", "sex"], bounds={**declared, "sex": ["f", "m"]})
    three = dc.models.LinearRegression("pressure", ["age", "dose"], bounds={**declared, "dose": (0, 1.5)})
    one = dc.models.LinearRegression("pressure", ["age"], bounds=declared)
    # indicators of labels instead of signs
    smoker = dc.models.LogisticRegression({"sex": ["f", "m"]}, {"age": (18, 100)})
    cases: dict[str, Any] = {
        "linear-regression-k-norm": (two, {}),
        "linear-regression-k-norm-none-missing": (three, {"missing": "none"}),
        "linear-regression-k-norm-private-count": (one, {"neighbors": "add_remove"}),
        "logistic-k-norm": (smoker, {}),
    }
    for number, (name, (model, how)) in enumerate(cases.items(), first):
        made = sample_with(RandomSource.seeded(rng), rows, model, dc.mechanisms.KNorm("0.5"), **how)
        save(name, made, number)


def write_described(rng: np.random.Generator, *, first: int) -> None:
    """A release with everything that a curator may declare in words."""
    about = {name: f"{words}." for name, words in FIELDS.items()} | {
        "curators": ["Clinic", "Statistics office"],
        "publication_date": "2026-11-17",
        "release_type": "many releases",
        "data_source_type": "dynamic",
        "actors": "curator: the clinic\nreaders: anybody",
    }
    how = {"about": about, "dataset": "visits"}
    write(
        {"bernoulli-about": (rng.integers(0, 2, 300), dc.Bernoulli(), dc.mechanisms.Laplace("0.5"), how)},
        rng,
        first=first,
    )


def save(name: str, release: dc.Release, number: int) -> None:
    release = dataclasses.replace(release, id=f"00000000-0000-4000-8000-{number:012d}")
    release.save(FOLDER / f"v{VERSION}-{name}.json")


def write(cases: dict[str, Any], rng: np.random.Generator, *, first: int) -> None:
    FOLDER.mkdir(exist_ok=True)
    for number, (name, (data, family, mechanism, how)) in enumerate(cases.items(), first):
        release = release_with(
            lambda law: int(law.sample(1, rng)[0]),
            data,
            family,
            mechanism,
            choose=lambda law: law.sample(rng),
            **how,
        )
        save(name, release, number)


if __name__ == "__main__":
    main()

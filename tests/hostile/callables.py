"""Every public callable with one valid call, found by introspection.

``EXAMPLES`` holds the arguments of one valid call of each export, by name; ``"*"`` holds positional ones. What the
calls return is walked in turn: the public methods of every object of this library are called too, with values of
``BY_NAME`` for the arguments that they require. An export or a required argument without an entry fails a test.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet import decisions as utilities
from discreet import models, priors, profiles
from discreet.domain.declarations import Domain
from discreet.privacy import amplification
from discreet.privacy.metric import RecordDistance, StochasticLipschitz

MODULES = (
    "discreet",
    "discreet.families",
    "discreet.priors",
    "discreet.models",
    "discreet.profiles",
    "discreet.decisions",
    "discreet.mechanisms",
    "discreet.planning",
    "discreet.validation",
    "discreet.privacy",
    "discreet.privacy.amplification",
    "discreet.privacy.metric",
    "discreet.datasets",
    "discreet.sklearn",
)

ROWS = [0, 1, 1, 0, 1] * 8
GRAPH = {"profiles": {"a": [0.2, 0.8], "b": [0.5, 0.5]}, "edges": [("a", "b")]}


@cache
def an_annealed_release() -> dc.Release:
    annealing = dc.mechanisms.PrivateAnnealing(
        "beta:1,1", epsilon=1, support=(0.3, 0.7), levels=3, trajectories=2, cells=16, evidence_epsilon=0.5
    )
    return dc.release(ROWS, dc.Bernoulli(), mechanism=annealing, missing="none")


@cache
def _hidden_markov_release() -> dc.Release:
    model = dc.models.HiddenMarkov(2, time={"month": ["1", "2", "3"]}, features={"cause": ["a", "b"]})
    return dc.release({"month": ["1", "2", "3"], "cause": ["a", "b", "a"]}, model, epsilon=1)


def a_release() -> dc.Release:
    return dc.release(ROWS, dc.Bernoulli(), epsilon=1)


@cache
def a_regression() -> dc.Release:
    model = models.LinearRegression({"y": (0, 1)}, {"x": (0, 1), "u": (0, 1)})
    return dc.release({"y": [0.1, 0.9] * 20, "x": [0.2, 0.7] * 20, "u": [0.5] * 40}, model, epsilon=1)


@cache
def a_posterior() -> dc.Posterior:
    return dc.infer(a_release(), draws=40, rng=1)


@cache
def a_distribution() -> Any:
    made = dc.release([1.0, 2.0, 7.0], dc.Histogram(bins=8), bounds=(0, 10), epsilon=1)
    return dc.infer(made, draws=40, rng=1).distribution


@cache
def a_graph() -> Any:
    return profiles.ProfileGraph(**GRAPH)


@cache
def a_fit() -> Any:
    return profiles.OneBitPair().fit(a_graph(), 1)


@cache
def a_kernel() -> Any:
    return amplification.FiniteKernel([[0.7, 0.3], [0.4, 0.6]])


def a_distance() -> Any:
    return RecordDistance.absolute(0, 9)


_COLUMNS = {"smoker": ["no", "yes"], "stage": ["1", "2", "3"]}
_AMPLIFY = {"epsilon": 1.0, "delta": 1e-6, "gamma": 0.5}
_LOSS = {"curvature": (0.1, 2), "aim": (-1, 1)}

#: Records that the library fills and hands out, in a field each: their constructors are not called by users.
RECORDS = {
    "Release": "made by release, read by Release.load",
    "Posterior": "made by infer",
    "decisions.Response": "made by respond",
    "decisions.SamplingBound": "made by respond",
    "planning.Plan": "made by plan",
    "planning.Division": "made by plan",
    "validation.Audit": "made by audit",
    "validation.Calibration": "made by calibrate",
    "validation.Discrepancy": "made by discrepancy",
    "validation.Distinguishability": "made by distinguish",
    "validation.GreedyPath": "made by adversary",
    "validation.StateComparison": "made by compare_states",
    "privacy.Conversion": "made by Guarantee.to_approx",
    "profiles.Audit": "made by audit",
    "profiles.EdgeLoss": "made by audit",
    "profiles.FittedMechanism": "made by ProfileMechanism.fit, read by FittedMechanism.load",
    "profiles.ProfileGuarantee": "made by ProfileMechanism.fit",
    "amplification.Amplified": "made by amplifications",
    "metric.Bracket": "made by hockey_stick",
    "metric.RestrictedPosterior": "made by restricted_posterior",
    "metric.RecordDistance": "made by its class methods, which are walked",
}

#: One valid call of each export: arguments by name.
EXAMPLES: dict[str, Callable[[], dict[str, Any]]] = {
    # verbs
    "release": lambda: {"data": ROWS, "model": dc.Bernoulli(), "epsilon": 1},
    "check": lambda: {"data": ROWS, "model": dc.Bernoulli()},
    "coarsen": lambda: {"release": dc.release(ROWS, dc.Bernoulli(), epsilon=1), "epsilon": 0.1},
    "infer": lambda: {"release": a_release(), "draws": 40, "rng": 1},
    "report": lambda: {"release": a_release(), "path": "report.html"},
    "regress": lambda: {
        "release": a_regression(),
        "target": "y",
        "features": ["x"],
        "draws": 40,
        "chains": 1,
    },
    "log_evidence": lambda: {"release": an_annealed_release(), "rng": 1},
    "audit": lambda: {"subject": dc.Bernoulli(), "epsilon": 1, "runs": 200, "checks": False},
    "foreign": lambda: {
        "model": dc.Bernoulli(),
        "records": 300,
        "values": {"yes": 123.4},
        "noise": "laplace",
        "scale": 12.5,
    },
    "plan": lambda: {"model": dc.Bernoulli(), "n": 20, "epsilon": 1},
    "planning.deployments": dict,
    "planning.draws_for_answers": lambda: {"loss": 0.1},
    "planning.loss_of_answers": lambda: {"draws": 100},
    "calibrate": lambda: {
        "model": dc.Bernoulli(),
        "n": 20,
        "epsilon": 1,
        "trials": 20,
        "draws": 20,
        "rng": 1,
        "workers": 1,
    },
    "validation.distinguish": lambda: {
        "first": [0, 1],
        "second": [1, 1],
        "model": dc.Bernoulli(),
        "mechanism": _ops(),
        "draws": [3],
    },
    "validation.compare_states": lambda: {
        "release": _hidden_markov_release(),
        "states": [1, 2],
        "draws": 4,
        "chains": 1,
        "rng": 1,
    },
    "validation.adversary": lambda: {"model": dc.Bernoulli(), "mechanism": _ops(), "records": 3},
    "validation.discrepancy": lambda: {"a": np.linspace(0, 1, 12), "b": np.linspace(0, 2, 12), "rng": 1},
    "compose": lambda: {"*": (dc.PureDP(1), dc.PureDP(2))},
    "decisions.respond": lambda: {"posterior": a_posterior(), "utility": utilities.SquaredError("p")},
    # families
    "Bernoulli": dict,
    "Categorical": lambda: {"labels": ["a", "b", "c"]},
    "Exponential": dict,
    "Gamma": lambda: {"shape": 2},
    "Geometric": dict,
    "Laplace": lambda: {"location": 3},
    "MultivariateNormal": lambda: {"dim": 2},
    "Histogram": lambda: {"bins": 8},
    "Mean": dict,
    "NegativeBinomial": dict,
    "Normal": dict,
    "Poisson": dict,
    "families.Predicate": dict,
    "families.Support": lambda: {"low": 0, "high": 1},
    "families.absolute": lambda: {"x": np.ones(2)},
    "families.build": lambda: {"name": "gamma", "constants": {"shape": 2}},
    "families.names": dict,
    "families.parse": lambda: {"text": "normal:variance=4"},
    "families.register": lambda: {"kind": dc.Poisson},
    # priors
    "priors.Beta": lambda: {"a": 1, "b": 2},
    "priors.Dirichlet": lambda: {"alpha": [1, 2, 3]},
    "priors.Gamma": lambda: {"shape": 1, "rate": 2},
    "priors.ByDensity": lambda: {"log_density_of": lambda a: -a, "bounds": [(0, 1)]},
    "priors.Product": lambda: {"*": (dc.priors.Gamma(1, 2), dc.priors.Beta(1, 1))},
    "priors.MeanDispersion": lambda: {
        "mean_shape": 1,
        "mean_rate": 1,
        "dispersion_shape": 1,
        "dispersion_rate": 1,
    },
    "priors.Normal": lambda: {"mean": 0, "sd": 2},
    "priors.NormalInverseGamma": lambda: {"mean": 0, "kappa": 1, "alpha": 2, "beta": 3},
    "priors.NormalInverseWishart": lambda: {"mean": [0, 0], "kappa": 1, "df": 4, "scale": [[1, 0], [0, 1]]},
    "priors.parse": lambda: {"text": "beta:1,1"},
    # guarantees, noise, ledgers
    "ApproxDP": lambda: {"epsilon": 1, "delta": 1e-6},
    "PureDP": lambda: {"epsilon": 1},
    "RenyiDP": lambda: {"orders": [2, 4], "epsilons": [0.1, 0.2]},
    "ZeroConcentratedDP": lambda: {"rho": 0.1},
    "MetricDP": lambda: {"epsilon": 1, "delta": 0, "metric": "hamming"},
    "privacy.ComposedDP": lambda: {"parts": [dc.PureDP(1), dc.ZeroConcentratedDP(0.1)]},
    "privacy.DiscreteGaussian": lambda: {"sigma": 2.0},
    "privacy.DiscreteLaplace": lambda: {"scale": 2.0},
    "privacy.PermuteAndFlip": lambda: {"scores": [1, 2, 3], "scale": 2.0},
    "privacy.PseudoMetric": lambda: {"name": "mine", "diameter": 2},
    "privacy.compose_parallel": lambda: {"*": (dc.PureDP(1), dc.PureDP(2)), "key": "private"},
    "privacy.subsample": lambda: {
        "guarantee": dc.PureDP(1, neighbors="add_remove"),
        "rate": 0.5,
        "sampling": "poisson",
    },
    "Ledger": lambda: {"url": "sqlite:///hostile.db", "budget": dc.PureDP(10), "patience": 1},
    # mechanisms
    "mechanisms.Laplace": lambda: {"epsilon": 1},
    "mechanisms.Gaussian": lambda: {"rho": 0.1},
    "mechanisms.KNorm": lambda: {"epsilon": 1},
    "mechanisms.FinitePosterior": lambda: {"parameters": [0.2, 0.5], "weights": [0.4, 0.6], "epsilon": 1},
    "mechanisms.Langevin": lambda: {"epsilon": 1, "delta": 1e-6, "steps": 300, "rate": 0.1},
    "mechanisms.NoisySGD": lambda: {"rho": 0.4, "step_size": 0.5},
    "mechanisms.PosteriorSampling": lambda: {"prior": "beta:1,1", "epsilon": 1, "support": (0.1, 0.9)},
    "mechanisms.PrivateAnnealing": lambda: {
        "prior": "beta:1,1",
        "epsilon": 4,
        "support": (0.1, 0.9),
        "levels": 3,
    },
    "mechanisms.PrivateGibbs": lambda: {"epsilon": 10, "steps": 2, "support": 0.05},
    "mechanisms.PrivateMetropolis": lambda: {
        "prior": "beta:1,1",
        "epsilon": 4,
        "steps": 2,
        "support": (0.1, 0.9),
    },
    "mechanisms.PrivateQuantiles": lambda: {"low": 0.1, "high": 0.9, "within": (0, 10), "epsilon": 1},
    "mechanisms.RenyiPosterior": lambda: {"prior": "beta:2,2", "order": 1.5, "epsilon": 1},
    "mechanisms.StatisticalQuery": lambda: {"prior": "beta:2,2", "order": 1.5, "epsilon": 1},
    "mechanisms.TablePosterior": lambda: {"epsilon": 1, "support": 0.01},
    "mechanisms.WorstCaseRejection": lambda: {"bound": 0.01, "proof": "checked on the grid"},
    # models
    "models.BayesianNetwork": lambda: {"edges": [("smoker", "stage")], "columns": _COLUMNS},
    "models.ContingencyTable": lambda: {"columns": _COLUMNS, "margins": [["smoker"], ["stage"]]},
    "models.DeclaredLikelihood": lambda: {
        "columns": {"smoker": 2},
        "parameters": {"p": [0.1, 0.5]},
        "log_likelihood": [[-0.1, -2.3], [-0.7, -0.7]],
        "log_prior": [0, -1],
    },
    "models.DeclaredLoss": lambda: {
        "columns": _LOSS,
        "weights": ["x"],
        "gradient": lambda w, r: r[0] * w - r[1],
        "gradient_bound": 1,
        "smoothness": 2,
        "strong_convexity": "0.1",
        "radius": 1000,
    },
    "models.HiddenMarkov": lambda: {"states": 2, "time": {"month": ["1", "2"]}, "features": {"cause": 3}},
    "models.HiddenNetwork": lambda: {
        "edges": [("cause", "smoker"), ("cause", "stage")],
        "columns": _COLUMNS,
        "hidden": {"cause": 2},
    },
    "models.Trajectories": lambda: {"times": ["smoker", "stage"], "states": ["no", "yes"]},
    "models.Labels": lambda: {"name": "smoker", "labels": ("no", "yes")},
    "models.LinearRegression": lambda: {"target": {"y": (0, 1)}, "features": {"x": (-1, 1)}},
    "models.LogisticRegression": lambda: {"target": {"y": ["no", "yes"]}, "features": {"x": (-1, 1)}},
    "models.MarkovChain": lambda: {"sequence": {"ward": 2}, "time": {"day": 3}, "state": {"state": 2}},
    "models.Mixture": lambda: {"components": 2, "columns": _COLUMNS},
    "models.NaiveBayes": lambda: {"target": {"smoker": 2}, "features": {"stage": 3, "age": (0, 100)}},
    "models.Numeric": lambda: {"name": "age", "low": Fraction(0), "high": Fraction(100)},
    "models.PoissonRegression": lambda: {"target": {"y": (0, 9)}, "features": {"x": (-1, 1)}},
    "models.Table": lambda: {"columns": (models.Labels("smoker", ("no", "yes")),)},
    "models.load": lambda: {"path": Path(__file__).parents[2] / "docs/examples/survey.toml"},
    "models.read_columns": lambda: {"columns": _COLUMNS},
    # profiles
    "profiles.Bins": lambda: {"edges": [0, 1, 2]},
    "profiles.KRandomizedResponse": dict,
    "profiles.OneBitCluster": dict,
    "profiles.OneBitPair": dict,
    "profiles.ProfileGraph": lambda: dict(GRAPH),
    "profiles.RandomizedResponse": dict,
    "profiles.Reporter": lambda: {"mechanism": a_fit(), "profile": "a", "epsilon": 2},
    "profiles.SmoothCategorical": dict,
    "profiles.SmoothOneBit": dict,
    "profiles.audit": lambda: {"mechanism": a_fit()},
    "profiles.compose": lambda: {"*": (a_fit().guarantee, a_fit().guarantee)},
    "profiles.infer_frequencies": lambda: {
        "reports": [0, 1, 1],
        "mechanism": a_fit(),
        "profile": "a",
        "draws": 40,
        "rng": 1,
    },
    "profiles.infer_mix": lambda: {"reports": [0, 1, 1], "mechanism": a_fit(), "draws": 40, "rng": 1},
    # answers
    "decisions.AbsoluteError": lambda: {"of": "p"},
    "decisions.DecisionTable": lambda: {
        "states": {"low": lambda d: d["p"] < 0.5, "high": lambda d: d["p"] >= 0.5},
        "actions": ["go", "stay"],
        "table": [[1, 0], [0, 1]],
    },
    "decisions.IntervalScore": lambda: {"of": "p", "within": (0, 1)},
    "decisions.SquaredError": lambda: {"of": "p"},
    "decisions.ZeroOne": lambda: {"event": lambda d: d["p"] > 0.5},
    # amplification
    "amplification.FiniteKernel": lambda: {"matrix": [[0.7, 0.3], [0.4, 0.6]]},
    "amplification.GaussianKernel": lambda: {"sigma": 1.0, "radius": 1.0},
    "amplification.LaplaceKernel": lambda: {"laplace_scale": 1.0, "width": 1.0},
    "amplification.SGDCost": lambda: {
        "n_records": 10,
        "gradient_bound": 1.0,
        "smoothness": 1.0,
        "strong_convexity": 0.1,
        "step_size": 0.5,
        "sigma": 2.0,
    },
    "amplification.OrnsteinUhlenbeck": lambda: {"pull": 1.0, "spread": 1.0, "time": 1.0},
    "amplification.ProjectedGaussianKernel": lambda: {"sigma": 1.0, "width": 1.0},
    "amplification.RandomizedResponseKernel": lambda: {"n_labels": 3, "epsilon": 1.0},
    "amplification.after_dobrushin": lambda: dict(_AMPLIFY),
    "amplification.after_doeblin": lambda: dict(_AMPLIFY),
    "amplification.after_hockey_stick": lambda: dict(_AMPLIFY),
    "amplification.after_ultra_mixing": lambda: dict(_AMPLIFY),
    "amplification.after_pure_ultra_mixing": lambda: {"epsilon": 1.0, "gamma": 0.5},
    "amplification.after_kernel": lambda: {
        "guarantee": dc.PureDP(1),
        "kernel": a_kernel(),
        "condition": "dobrushin",
    },
    "amplification.amplifications": lambda: {"epsilon": 1.0, "delta": 1e-6, "kernel": a_kernel()},
    "amplification.best_split": lambda: {"distance": 1.0, "lipschitz": [1.0, 0.9], "sigma": [1.0, 1.0]},
    "amplification.concentrated": lambda: {"rho": 0.1},
    "amplification.coupling_bound": lambda: {
        "order": 2.0,
        "nu": [0.5, 0.5],
        "coupling": [[0.5, 0.0], [0.0, 0.5]],
        "kernel": a_kernel(),
    },
    "amplification.curve": lambda: {"orders": [2.0, 4.0], "epsilons": [0.1, 0.2]},
    "amplification.gradient_step_lipschitz": lambda: {
        "step_size": 0.5,
        "smoothness": 1.0,
        "strong_convexity": 0.1,
    },
    "amplification.hockey_stick_divergence": lambda: {"p": [0.5, 0.5], "q": [0.4, 0.6], "epsilon": 0.1},
    "amplification.hockey_stick_level": lambda: {"epsilon": 1.0, "delta": 1e-6},
    "amplification.iterated_gaussian_rho": lambda: {"l2_sensitivity": 1.0, "sigma": 1.0, "kernel_sigma": 1.0},
    "amplification.iterated_laplace_bound": lambda: {
        "order": 2.0,
        "l1_sensitivity": 1.0,
        "laplace_scale": 1.0,
        "kernel_scale": 1.0,
    },
    "amplification.iterated_laplace_epsilons": lambda: {
        "order": 2.0,
        "l1_sensitivity": 1.0,
        "laplace_scale": 1.0,
        "kernel_scale": 1.0,
    },
    "amplification.iteration_rho": lambda: {"distance": 1.0, "lipschitz": [1.0, 0.9], "sigma": [1.0, 1.0]},
    "amplification.laplace_epsilons": lambda: {"order": 2.0, "shift": 1.0, "laplace_scale": 1.0},
    "amplification.path_rho": lambda: {"hidden": [1.0, 0.0], "lipschitz": [1.0, 0.9], "sigma": [1.0, 1.0]},
    "amplification.renyi_divergence": lambda: {"p": [0.5, 0.5], "q": [0.4, 0.6], "order": 2.0},
    "amplification.shuffled_epsilons": lambda: {"order": 2.0, "rhos": [0.1, 0.2]},
    # metrics
    "metric.StochasticLipschitz": lambda: {"c": 1.0, "start": 1.0, "ratio": 2.0},
    "metric.advantage_bound": lambda: {"constant": 1.0, "distance": 0.1},
    "metric.beta_constants": lambda: {"alpha": 2.0, "n_records": 10},
    "metric.distinguishing_distance": lambda: {"constant": 1.0, "draws": 10, "error": 0.1},
    "metric.draws_for_loss": lambda: {"loss": 0.1, "failure": 0.1},
    "metric.draws_to_distinguish": lambda: {"divergence": 0.1, "error": 0.1},
    "metric.empirical_distance": lambda: {"draws": 10, "cells": 3, "failure": 0.1},
    "metric.estimation_error": lambda: {"constant": 1.0, "distance": 0.1},
    "metric.exponential_constants": lambda: {"prior_rate": 1.0, "support": (0.1, 2.0), "largest": 5.0},
    "metric.finite_bernoulli": lambda: {"step": "0.1"},
    "metric.finite_posterior": lambda: {
        "family": dc.Poisson(),
        "theta": {"rate": np.array([0.5, 2.0])},
        "distance": a_distance(),
        "records": [0, 1, 9],
    },
    "metric.hockey_stick": lambda: {"p": priors.Beta(1, 2), "q": priors.Beta(2, 2)},
    "metric.kl_bound": lambda: {"constant": 1.0, "distance": 0.1},
    "metric.laplace_constants": lambda: {
        "prior_rate": 1.0,
        "support": (0.1, 2.0),
        "largest": 5.0,
        "location": 0.0,
    },
    "metric.le_cam_error": lambda: {"separation": 0.5, "overlap": 0.1},
    "metric.lipschitz": lambda: {
        "family": dc.Poisson(),
        "theta": {"rate": np.array([0.5])},
        "distance": a_distance(),
    },
    "metric.lipschitz_by_pairs": lambda: {
        "family": dc.Poisson(),
        "theta": {"rate": np.array([0.5])},
        "distance": a_distance(),
        "records": [0, 1, 9],
    },
    "metric.lipschitz_posterior": lambda: {"constant": 1, "metric": "hamming"},
    "metric.network_posterior": lambda: {"children": [1, 0], "least": "0.1"},
    "metric.normal_posterior": lambda: {
        "precision_norm": 1,
        "mean_norm": 1,
        "distance": RecordDistance.outer_product(1, 2),
    },
    "metric.posterior_guarantee": lambda: {
        "family": dc.Bernoulli(),
        "prior": priors.Beta(2, 2),
        "n_records": 10,
        "epsilon": 1,
    },
    "metric.precision_constants": lambda: {
        "prior_rate": 1.0,
        "support": (0.1, 2.0),
        "largest": 5.0,
        "mean": 0.0,
    },
    "metric.prior_change_bound": lambda: {"log_ratio": 0.1},
    "metric.regret_bound": lambda: {"total_variation": 0.1},
    "metric.restricted_posterior": lambda: {
        "family": dc.Exponential(),
        "level": 1,
        "distance": a_distance(),
    },
    "metric.restriction_loss": lambda: {"posterior_tail": 0.1, "draws": 10, "failure": 0.1},
    "metric.sampling_half_width": lambda: {"draws": 10, "failure": 0.1},
    "metric.smooth_set": lambda: {"family": dc.Exponential(), "level": 1, "distance": a_distance()},
    "metric.statistic_slope": lambda: {"family": dc.Exponential(), "distance": a_distance()},
    "metric.stochastic_kl_bound": lambda: {"constants": _stochastic(), "distance": 0.1},
    "metric.supported_posterior": lambda: {
        "family": dc.Exponential(),
        "support": (0.1, 2),
        "distance": a_distance(),
    },
    "metric.total_variation_bound": lambda: {"constants": _stochastic(), "distance": 0.1},
    "metric.worst_hockey_stick": lambda: {
        "family": dc.Bernoulli(),
        "prior": priors.Beta(2, 2),
        "n_records": 10,
    },
    "datasets.clinic_survey": dict,
    "datasets.election_survey": dict,
    "datasets.household_food": dict,
    "datasets.travel_mode": dict,
    "sklearn.PrivateLinearRegression": lambda: {"epsilon": 1, "bounds": (0, 1), "target_bounds": (0, 1)},
    "sklearn.PrivateLogisticRegression": lambda: {"epsilon": 1, "classes": [0, 1], "bounds": (0, 1)},
    "sklearn.PrivateNaiveBayes": lambda: {"epsilon": 1, "classes": [0, 1], "categories": 2},
}


def _ops() -> Any:
    return dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.1, 0.9))


def _stochastic() -> Any:
    return StochasticLipschitz(1.0, 1.0, 2.0)


#: Objects that are no result of a call above, and are walked too.
INSTANCES: dict[str, Callable[[], Any]] = {
    "Release": a_release,
    "Posterior": a_posterior,
    "Distribution": a_distribution,
    "FittedMechanism": a_fit,
    "RecordDistance": a_distance,
}

#: Values for the arguments that methods require, by ``Class.method.argument`` or by the argument's name.
BY_NAME: dict[str, Callable[[], Any]] = {
    "X": lambda: np.array([[0, 1], [1, 1], [0, 0], [1, 0]]),
    "y": lambda: np.array([0, 1, 0, 1]),
    "analyst": lambda: None,
    "formula": lambda: "y ~ x",
    "unit": lambda: "person",
    "bounds": lambda: (0, 10),
    "column": lambda: "stage",
    "content": lambda: a_release().to_json(),
    "dataset": lambda: "clinic",
    "delta": lambda: 1e-6,
    "labels": lambda: ["north", "south"],
    "dim": lambda: 2,
    "dimension": lambda: 2,
    "distance": lambda: 0.1,
    "domain": lambda: Domain(None, None, "redact", "count"),
    "epsilon": lambda: 1,
    "frame": lambda: {"profile": ["a", "b"]},
    "graph": a_graph,
    "groups": lambda: [["a"], ["b"]],
    "high": lambda: 2,
    "index": lambda: 1,
    "k": lambda: np.arange(3),
    "l2_sensitivity": lambda: 1.0,
    "levels": lambda: [0.25, 0.5],
    "log_tail": lambda: -10.0,
    "low": lambda: 1,
    "model": lambda: models.LinearRegression({"y": (0, 1)}, {"x": (-1, 1)}),
    "n_records": lambda: 10,
    "neighbors": lambda: "replace",
    "numbers": lambda: [1.0, 1.0],
    "observations": lambda: {"a": [0, 1, 1], "b": [0, 0, 1]},
    "order": lambda: 2.0,
    "orders": lambda: [2.0, 4.0],
    "other": a_kernel,
    "path": lambda: "hostile.json",
    "prior": lambda: priors.Beta(1, 1),
    "records": lambda: [0, 1],
    "positions": lambda: [0, 1],
    "profile": lambda: "a",
    "profiles": lambda: dict(GRAPH["profiles"]),
    "q": lambda: 0.5,
    "radius": lambda: 1.0,
    "rho": lambda: 0.1,
    "size": lambda: 3,
    "rng": lambda: np.random.default_rng(1),
    "time": lambda: 1.0,
    "url": lambda: "sqlite:///hostile.db",
    "utility": lambda: utilities.SquaredError("p"),
    "value": lambda: 0.5,
    "x": lambda: [1.0, 2.5],
    "values": lambda: [0, 1],
    "Bins.labels.values": lambda: [1.0, 2.0],
    "Reporter.load.mechanism": lambda: a_fit(),
    "Reporter.report.value": lambda: a_graph().categories[0],
    "Reporter.report.key": lambda: "monday",
    "FittedMechanism.privatize.value": lambda: a_graph().categories[0],
    "FittedMechanism.privatize_many.values": lambda: [a_graph().categories[0]] * 2,
    "FittedMechanism.privatize_many.profiles": lambda: ["a", "b"],
    "Ledger.charge.parts": lambda: dc.PureDP(1),
    "constants": dict,
    "options": dict,
    "charge": lambda: None,
    "releases": lambda: [("a", "b")],
}


@dataclass(frozen=True)
class Public:
    """A public callable and one valid call of it."""

    name: str
    function: Callable[..., Any]
    positional: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments that are tried, with ``*`` for positional ones."""
        found = []
        for each in inspect.signature(self.function).parameters.values():
            if each.kind is each.VAR_POSITIONAL:
                found.append("*")
            elif each.kind is not each.VAR_KEYWORD:
                found.append(each.name)
        return tuple(found)

    def with_argument(self, parameter: str, value: Any) -> Callable[[], Any]:
        """Return the valid call with one argument replaced."""
        if parameter == "*":
            first = [self.named[name] for name in self.parameters[: self.parameters.index("*")]]
            rest = {
                name: given for name, given in self.named.items() if name not in self.parameters[: len(first)]
            }
            return lambda: self.function(*first, value, **rest)
        return lambda: self.function(*self.positional, **{**self.named, parameter: value})


def exports() -> dict[str, Any]:
    """Return what the public modules export, by short name; errors and modules are left out."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for name in MODULES:
        module = importlib.import_module(name)
        for each in getattr(module, "__all__", None) or [n for n in vars(module) if n == "clinic_survey"]:
            value = getattr(module, each)
            if not callable(value) or id(value) in seen or inspect.isabstract(value):
                continue
            if inspect.isclass(value) and issubclass(value, Exception):
                continue
            seen.add(id(value))
            found[each if name == "discreet" else f"{name.rpartition('.')[2]}.{each}"] = value
    return found


def example(name: str, function: Callable[..., Any]) -> Public:
    """Return the export with its valid call."""
    given = EXAMPLES[name]()
    return Public(name, function, tuple(given.pop("*", ())), given)


def methods(label: str, instance: Any) -> Iterator[Public]:
    """Return the public methods of an object of this library, each with a valid call."""
    kind = type(instance)
    for name in sorted(dir(kind)):
        if name.startswith("_"):
            continue
        held = inspect.getattr_static(kind, name)
        if isinstance(held, staticmethod | classmethod):
            held = held.__func__
        if not inspect.isfunction(held) or not held.__module__.startswith("discreet"):
            continue
        function = getattr(instance, name)
        named = {}
        for each in inspect.signature(function).parameters.values():
            if each.default is each.empty and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
                made = BY_NAME.get(f"{kind.__name__}.{name}.{each.name}") or BY_NAME.get(each.name)
                named[each.name] = MISSING if made is None else made()
        yield Public(f"{label}.{name}", function, (), named)


#: Methods that are a protocol between parts of the library, not entry points: engines and mechanisms call them with
#: arrays, layouts and records that they made themselves, many of them in inner loops.
_PROTOCOL = """
    plausible simulate suited in_units predict_interval matrices program
    accept accounted affine_map aims best holds mapped replaced_l2 l1_reach get_feature_names_out bounds cells check
    check_bounds check_pair check_prior steps_between imputed_in_words weak_prior_in_words
    constants contains counts descent draw encode from_constants
    from_natural from_numbers from_options gradient_at grid layout log_base_measure log_density
    log_joint log_mass log_partition loss margins measure measure_range natural
    numbers plain plan position predict predict_proba project reach
    read read_prior released sample sample_rows scales score sensitivity
    shape solve statistic_covariance statistic_mean sufficient suggested_prior table tables
    unit_scale update
    published_layout record_columns terms_of start_predictors start_means is_hidden reads_a_record
    draws predictors refined decision_function
    assumptions axis_labels check_domain check_gradient class_probability decode_impute later
    coordinates log_density_at log_predictive
    linear_form log_likelihood missing_in_words parse_prior predict_at read_columns read_domain require
    record_range row_log_density stand_ins values weak coordinate_ranges closed_form expect named
    edges_within level_starts counts_usable
    cdf log_densities title check_dates record_bounds divided coarser completion derived capped weighted explained
"""
PROTOCOL = frozenset(_PROTOCOL.split())

#: Stands for a required argument without an entry in ``BY_NAME``.
MISSING = object()

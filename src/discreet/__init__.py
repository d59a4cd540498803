"""Differentially private Bayesian inference.

    import discreet as dc

    # curator: rows in, a small release file out
    release = dc.release("patients.csv", dc.Bernoulli(), column="smoker", epsilon=0.5)
    release.save("smoking.json")

    # analyst: the release file in, an honest posterior out
    posterior = dc.infer("smoking.json", prior=dc.priors.Beta(1, 1))
    posterior.interval(0.95)

Public names are loaded when first used, so ``import discreet`` is instant and the analyst's half never loads the
curator's.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.version import __version__

if TYPE_CHECKING:
    from discreet import datasets, errors, families, models, priors, profiles
    from discreet.artifact.release import Release
    from discreet.curator.publish import release
    from discreet.decisions import utilities
    from discreet.errors import (
        BudgetError,
        DataError,
        DiscreetError,
        EngineError,
        LedgerError,
        ReleaseFileError,
        UsageError,
    )
    from discreet.families import (
        Bernoulli,
        Categorical,
        Exponential,
        Gamma,
        Geometric,
        Laplace,
        MultivariateNormal,
        Normal,
        Poisson,
    )
    from discreet.inference.analyst import infer
    from discreet.inference.posterior import Posterior
    from discreet.ledger import Ledger
    from discreet.mechanisms.gaussian import GaussianMechanism
    from discreet.mechanisms.langevin import LangevinMechanism
    from discreet.mechanisms.laplace import LaplaceMechanism
    from discreet.mechanisms.noisy_sgd import NoisySGDMechanism
    from discreet.mechanisms.posterior_sampling import PosteriorSamplingMechanism
    from discreet.mechanisms.private_annealing import PrivateAnnealingMechanism
    from discreet.mechanisms.private_gibbs import PrivateGibbsMechanism
    from discreet.mechanisms.private_metropolis import PrivateMetropolisMechanism
    from discreet.mechanisms.quantile import PrivateQuantiles
    from discreet.mechanisms.renyi_posterior import RenyiPosteriorMechanism
    from discreet.mechanisms.statistical_query import StatisticalQueryMechanism
    from discreet.mechanisms.table_posterior import TablePosteriorMechanism
    from discreet.privacy.composition import compose
    from discreet.privacy.costs.chain_updates import WorstCaseRejection
    from discreet.privacy.guarantees import ApproxDP, PureDP, ZeroConcentratedDP
    from discreet.privacy.metric_dp import MetricDP
    from discreet.privacy.renyi import RenyiDP
    from discreet.validation.calibration import calibrate
    from discreet.validation.distinguishability import distinguish
    from discreet.validation.greedy import adversary
    from discreet.validation.mmd import discrepancy

__all__ = [
    "ApproxDP",
    "Bernoulli",
    "BudgetError",
    "Categorical",
    "DataError",
    "DiscreetError",
    "EngineError",
    "Exponential",
    "Gamma",
    "GaussianMechanism",
    "Geometric",
    "LangevinMechanism",
    "Laplace",
    "LaplaceMechanism",
    "Ledger",
    "LedgerError",
    "MetricDP",
    "MultivariateNormal",
    "NoisySGDMechanism",
    "Normal",
    "Poisson",
    "Posterior",
    "PosteriorSamplingMechanism",
    "PrivateAnnealingMechanism",
    "PrivateGibbsMechanism",
    "PrivateMetropolisMechanism",
    "PrivateQuantiles",
    "PureDP",
    "Release",
    "ReleaseFileError",
    "RenyiDP",
    "RenyiPosteriorMechanism",
    "StatisticalQueryMechanism",
    "TablePosteriorMechanism",
    "UsageError",
    "WorstCaseRejection",
    "ZeroConcentratedDP",
    "__version__",
    "adversary",
    "calibrate",
    "compose",
    "datasets",
    "discrepancy",
    "distinguish",
    "errors",
    "families",
    "infer",
    "models",
    "priors",
    "profiles",
    "release",
    "utilities",
]

_MODULES = {
    "datasets": "discreet.datasets",
    "errors": "discreet.errors",
    "families": "discreet.families",
    "models": "discreet.models",
    "priors": "discreet.priors",
    "profiles": "discreet.profiles",
    "utilities": "discreet.decisions.utilities",
}

_HOMES = {
    "discreet.artifact.release": ("Release",),
    "discreet.validation.calibration": ("calibrate",),
    "discreet.validation.distinguishability": ("distinguish",),
    "discreet.validation.greedy": ("adversary",),
    "discreet.validation.mmd": ("discrepancy",),
    "discreet.errors": (
        "BudgetError",
        "DataError",
        "DiscreetError",
        "EngineError",
        "LedgerError",
        "ReleaseFileError",
        "UsageError",
    ),
    "discreet.families": (
        "Bernoulli",
        "Categorical",
        "Exponential",
        "Gamma",
        "Geometric",
        "Laplace",
        "MultivariateNormal",
        "Normal",
        "Poisson",
    ),
    "discreet.inference.analyst": ("infer",),
    "discreet.inference.posterior": ("Posterior",),
    "discreet.curator.publish": ("release",),
    "discreet.mechanisms.gaussian": ("GaussianMechanism",),
    "discreet.mechanisms.langevin": ("LangevinMechanism",),
    "discreet.mechanisms.laplace": ("LaplaceMechanism",),
    "discreet.mechanisms.noisy_sgd": ("NoisySGDMechanism",),
    "discreet.mechanisms.posterior_sampling": ("PosteriorSamplingMechanism",),
    "discreet.mechanisms.private_annealing": ("PrivateAnnealingMechanism",),
    "discreet.mechanisms.private_gibbs": ("PrivateGibbsMechanism",),
    "discreet.mechanisms.private_metropolis": ("PrivateMetropolisMechanism",),
    "discreet.mechanisms.quantile": ("PrivateQuantiles",),
    "discreet.mechanisms.renyi_posterior": ("RenyiPosteriorMechanism",),
    "discreet.mechanisms.statistical_query": ("StatisticalQueryMechanism",),
    "discreet.privacy.costs.chain_updates": ("WorstCaseRejection",),
    "discreet.mechanisms.table_posterior": ("TablePosteriorMechanism",),
    "discreet.privacy.composition": ("compose",),
    "discreet.privacy.guarantees": ("ApproxDP", "PureDP", "ZeroConcentratedDP"),
    "discreet.ledger": ("Ledger",),
    "discreet.privacy.metric_dp": ("MetricDP",),
    "discreet.privacy.renyi": ("RenyiDP",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME_OF:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)

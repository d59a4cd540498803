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
    from discreet import (
        datasets,
        decisions,
        errors,
        families,
        libraries,
        mechanisms,
        models,
        planning,
        priors,
        privacy,
        profiles,
        validation,
    )
    from discreet.artifact.foreign import foreign
    from discreet.artifact.release import Release
    from discreet.curator.check import check
    from discreet.curator.coarsen import coarsen
    from discreet.curator.publish import release
    from discreet.errors import DiscreetError
    from discreet.families import (
        Bernoulli,
        Categorical,
        Exponential,
        Gamma,
        Geometric,
        Histogram,
        Laplace,
        Mean,
        MultivariateNormal,
        NegativeBinomial,
        Normal,
        Poisson,
    )
    from discreet.inference.analyst import infer
    from discreet.inference.evidence import log_evidence
    from discreet.inference.posterior import Posterior
    from discreet.inference.submodels import regress
    from discreet.ledger import Ledger
    from discreet.planning.plan import plan
    from discreet.privacy.composition import compose
    from discreet.privacy.guarantees import ApproxDP, PureDP, ZeroConcentratedDP
    from discreet.privacy.metric_dp import MetricDP
    from discreet.privacy.renyi import RenyiDP
    from discreet.reporting.report import report
    from discreet.validation.audit import audit
    from discreet.validation.calibration import calibrate

__all__ = [
    "ApproxDP",
    "Bernoulli",
    "Categorical",
    "DiscreetError",
    "Exponential",
    "Gamma",
    "Geometric",
    "Histogram",
    "Laplace",
    "Ledger",
    "Mean",
    "MetricDP",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "Poisson",
    "Posterior",
    "PureDP",
    "Release",
    "RenyiDP",
    "ZeroConcentratedDP",
    "__version__",
    "audit",
    "calibrate",
    "check",
    "coarsen",
    "compose",
    "datasets",
    "decisions",
    "errors",
    "families",
    "foreign",
    "infer",
    "libraries",
    "log_evidence",
    "mechanisms",
    "models",
    "plan",
    "planning",
    "priors",
    "privacy",
    "profiles",
    "regress",
    "release",
    "report",
    "validation",
]

_MODULES = (
    "datasets",
    "decisions",
    "errors",
    "families",
    "libraries",
    "mechanisms",
    "models",
    "planning",
    "priors",
    "privacy",
    "profiles",
    "validation",
)

_HOMES = {
    "discreet.artifact.foreign": ("foreign",),
    "discreet.artifact.release": ("Release",),
    "discreet.curator.check": ("check",),
    "discreet.curator.coarsen": ("coarsen",),
    "discreet.curator.publish": ("release",),
    "discreet.errors": ("DiscreetError",),
    "discreet.families": (
        "Bernoulli",
        "Categorical",
        "Exponential",
        "Gamma",
        "Geometric",
        "Histogram",
        "Laplace",
        "Mean",
        "MultivariateNormal",
        "NegativeBinomial",
        "Normal",
        "Poisson",
    ),
    "discreet.inference.analyst": ("infer",),
    "discreet.inference.evidence": ("log_evidence",),
    "discreet.inference.posterior": ("Posterior",),
    "discreet.inference.submodels": ("regress",),
    "discreet.ledger": ("Ledger",),
    "discreet.planning.plan": ("plan",),
    "discreet.privacy.composition": ("compose",),
    "discreet.privacy.guarantees": ("ApproxDP", "PureDP", "ZeroConcentratedDP"),
    "discreet.privacy.metric_dp": ("MetricDP",),
    "discreet.privacy.renyi": ("RenyiDP",),
    "discreet.reporting.report": ("report",),
    "discreet.validation.audit": ("audit",),
    "discreet.validation.calibration": ("calibrate",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"discreet.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)

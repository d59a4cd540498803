"""Likelihoods, one file each; ``base.py`` holds the protocol."""

from __future__ import annotations

from discreet.families.base import Family, Support, absolute
from discreet.families.bernoulli import Bernoulli
from discreet.families.by_name import build, names, parse, register
from discreet.families.categorical import Categorical
from discreet.families.exponential import Exponential
from discreet.families.gamma import Gamma
from discreet.families.geometric import Geometric
from discreet.families.histogram import Histogram
from discreet.families.laplace import Laplace
from discreet.families.likelihood import Likelihood
from discreet.families.mean import Mean
from discreet.families.multivariate_normal import MultivariateNormal
from discreet.families.negative_binomial import NegativeBinomial
from discreet.families.normal import Normal
from discreet.families.poisson import Poisson
from discreet.families.predicate import Predicate
from discreet.families.record_sums import RecordSums
from discreet.families.vector_family import VectorFamily

__all__ = [
    "Bernoulli",
    "Categorical",
    "Exponential",
    "Family",
    "Gamma",
    "Geometric",
    "Histogram",
    "Laplace",
    "Likelihood",
    "Mean",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "Poisson",
    "Predicate",
    "RecordSums",
    "Support",
    "VectorFamily",
    "absolute",
    "build",
    "names",
    "parse",
    "register",
]

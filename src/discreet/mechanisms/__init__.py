"""PRIVATE: mechanisms turn exact totals, or records, into a release. The release is the only exit."""

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.gaussian import GaussianMechanism
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.mechanisms.posterior_sampling import PosteriorSamplingMechanism
from discreet.mechanisms.quantile import PrivateQuantiles

__all__ = [
    "GaussianMechanism",
    "LaplaceMechanism",
    "Mechanism",
    "PosteriorSamplingMechanism",
    "PrivateQuantiles",
]

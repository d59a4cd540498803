"""PRIVATE: mechanisms turn exact statistics into a release. The release is the only exit."""

from discreet.mechanisms.base import NoiseMechanism
from discreet.mechanisms.gaussian import GaussianMechanism
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.mechanisms.posterior_sampling import PosteriorSamplingMechanism
from discreet.mechanisms.quantile import PrivateQuantiles
from discreet.mechanisms.sampling import SamplingMechanism

__all__ = [
    "GaussianMechanism",
    "LaplaceMechanism",
    "NoiseMechanism",
    "PosteriorSamplingMechanism",
    "PrivateQuantiles",
    "SamplingMechanism",
]

"""PRIVATE: mechanisms turn exact statistics into a release. The release is the only exit."""

from discreet.mechanisms.base import NoiseMechanism
from discreet.mechanisms.gaussian import GaussianMechanism
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.mechanisms.quantile import PrivateQuantiles

__all__ = ["GaussianMechanism", "LaplaceMechanism", "NoiseMechanism", "PrivateQuantiles"]

"""Guarantees and the noise that buys them: the vocabulary both sides share."""

from discreet.privacy.composition import ComposedDP, compose, compose_parallel
from discreet.privacy.conversion import Conversion
from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP, ZeroConcentratedDP
from discreet.privacy.metric_dp import MetricDP, PseudoMetric
from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.privacy.renyi import RenyiDP
from discreet.privacy.selection import PermuteAndFlip
from discreet.privacy.subsampling import subsample

__all__ = [
    "ApproxDP",
    "ComposedDP",
    "Conversion",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Guarantee",
    "MetricDP",
    "Noise",
    "PermuteAndFlip",
    "PseudoMetric",
    "PureDP",
    "RenyiDP",
    "ZeroConcentratedDP",
    "compose",
    "compose_parallel",
    "subsample",
]

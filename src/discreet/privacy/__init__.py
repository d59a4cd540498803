"""Guarantees and the noise that buys them: the vocabulary both sides share."""

from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP, ZeroConcentratedDP
from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise

__all__ = [
    "ApproxDP",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Guarantee",
    "Noise",
    "PureDP",
    "ZeroConcentratedDP",
]

"""Guarantees and the noise that buys them: the vocabulary both sides share."""

from discreet.privacy.composition import compose
from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP, ZeroConcentratedDP
from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.privacy.selection import PermuteAndFlip

__all__ = [
    "ApproxDP",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Guarantee",
    "Noise",
    "PermuteAndFlip",
    "PureDP",
    "ZeroConcentratedDP",
    "compose",
]

"""The distribution of a bounded column from noisy counts of bins, assuming nothing."""

from discreet.inference.histogram.distribution import (
    Band,
    Distribution,
    QuantileInterval,
    Shares,
    band,
    cdf,
    quantiles,
)
from discreet.inference.histogram.draws import HistogramDraws, draw_histogram
from discreet.inference.histogram.tree import Level

__all__ = [
    "Band",
    "Distribution",
    "HistogramDraws",
    "Level",
    "QuantileInterval",
    "Shares",
    "band",
    "cdf",
    "draw_histogram",
    "quantiles",
]

"""Noisy sums of products read as the moments of a table, and those as a sample of a population's."""

from discreet.inference.regression.moment_draws import (
    MomentDraws,
    draw_moments,
    possible_start,
    slopes_of,
    unpacked,
)
from discreet.inference.regression.moment_population import PopulationDraws, draw_population
from discreet.inference.regression.moment_readings import Readings, usable_counts, weighed_counts

__all__ = [
    "MomentDraws",
    "PopulationDraws",
    "Readings",
    "draw_moments",
    "draw_population",
    "possible_start",
    "slopes_of",
    "unpacked",
    "usable_counts",
    "weighed_counts",
]

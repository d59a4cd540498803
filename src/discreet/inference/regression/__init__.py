"""Noisy sums of products read as the moments of a table, and those as a sample of a population's."""

from discreet.inference.regression.moment_draws import MomentDraws, draw_moments
from discreet.inference.regression.moment_population import PopulationDraws, draw_population
from discreet.inference.regression.moment_readings import Readings, usable_counts

__all__ = [
    "MomentDraws",
    "PopulationDraws",
    "Readings",
    "draw_moments",
    "draw_population",
    "usable_counts",
]

"""Mean and standard deviation of a bounded column, assuming nothing but the bounds."""

from discreet.inference.bounded_mean.population import PopulationDraws, draw_population
from discreet.inference.bounded_mean.table import CountPrior, NoisyTotals, TableDraws, draw_table

__all__ = ["CountPrior", "NoisyTotals", "PopulationDraws", "TableDraws", "draw_population", "draw_table"]

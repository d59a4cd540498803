"""Pictures of posteriors, and of how far they can be trusted."""

from __future__ import annotations

from discreet.reporting.adversaries import plot_adversary, plot_distinguishability
from discreet.reporting.answers import plot_response
from discreet.reporting.calibration import plot_calibration
from discreet.reporting.distribution import plot_distribution
from discreet.reporting.forest import plot_groups
from discreet.reporting.loss import plot_privacy_loss
from discreet.reporting.network import plot_network
from discreet.reporting.plots import plot_comparison, plot_posterior
from discreet.reporting.states import plot_emissions, plot_hidden_markov, plot_states

__all__ = [
    "plot_adversary",
    "plot_calibration",
    "plot_comparison",
    "plot_distinguishability",
    "plot_distribution",
    "plot_emissions",
    "plot_groups",
    "plot_hidden_markov",
    "plot_network",
    "plot_posterior",
    "plot_privacy_loss",
    "plot_response",
    "plot_states",
]

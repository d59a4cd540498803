"""Pictures of posteriors."""

from __future__ import annotations

from discreet.reporting.plots import plot_comparison, plot_posterior

__all__ = ["plot_comparison", "plot_posterior"]

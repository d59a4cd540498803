"""Engines for Bayesian networks."""

"""Engines for hidden Markov models."""

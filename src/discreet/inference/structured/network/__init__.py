"""Bayesian networks: latent joint tables whose margins are the released ones."""

"""Exact posteriors of families of labels: enumerate the latent counts, then draw independently."""

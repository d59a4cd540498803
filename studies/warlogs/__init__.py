"""Simulated war logs of the published shape, and what hidden Markov models make of private releases of them."""

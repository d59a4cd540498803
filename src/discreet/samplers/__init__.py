"""Samplers of the private side: truncated distributions, descent, system randomness."""

"""Regressions on real tables: which tables, how they are resampled, and what is counted."""

"""Partial pooling: groups, or institutions, that borrow from each other."""

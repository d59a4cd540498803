"""Declarations: what a curator says of the columns before any row is read."""

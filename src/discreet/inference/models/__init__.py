"""Engines for models of several columns, one file or folder each."""

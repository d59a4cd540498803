"""Declarations: what a curator says of the columns before any row is read."""

from discreet.domain.bounds import Bounds
from discreet.domain.columns import Column, Labels, Numeric, decode_columns, encode_columns, read_columns
from discreet.domain.declarations import Domain, Missing, Neighbors, Outside
from discreet.domain.unit import Unit

__all__ = [
    "Bounds",
    "Column",
    "Domain",
    "Labels",
    "Missing",
    "Neighbors",
    "Numeric",
    "Outside",
    "Unit",
    "decode_columns",
    "encode_columns",
    "read_columns",
]

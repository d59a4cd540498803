"""The arguments of the verb release by name, for type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict

from discreet.domain.declarations import Missing, Neighbors, Outside
from discreet.domain.unit import NullUnit
from discreet.mechanisms import Mechanism
from discreet.rational import Number

if TYPE_CHECKING:
    from discreet.ledger import Ledger


class Declared(TypedDict, total=False):
    """The arguments of :func:`release` by name, for type checkers."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    mechanism: str | Mechanism | None
    column: Any
    columns: Sequence[str] | Mapping[str, Sequence[str]] | None
    bounds: Any
    outside: Outside | Mapping[str, Outside] | None
    missing: Missing | Mapping[str, Missing] | None
    impute: Any
    neighbors: Neighbors
    split: Mapping[str, Number] | None
    fit_check: Any
    unit: Any
    per_unit: Any
    max_rows: Any
    row_bounds: Any
    last_by: Any
    null_unit: NullUnit
    weights: Any
    weight_bounds: Any
    by: Any
    groups: Any
    max_groups: Any
    where: Any
    unit_label: str | Mapping[str, str] | None
    table: str | None
    query: str | None
    ledger: Ledger | str | None
    dataset: str | None
    analyst: str | None
    about: Mapping[str, Any] | None
    keep: str | PathLike[str] | None

"""Guarantees as JSON: every kind that a file may hold, from a closed list."""

from __future__ import annotations

from typing import Any

from discreet.artifact.readers import EXACT, NAME, TEXT, Field, choice, described, encode_fields, read_fields
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.privacy import (
    ApproxDP,
    Guarantee,
    MetricDP,
    PseudoMetric,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from discreet.privacy.guarantees import Unstated

_METRIC = described(PseudoMetric, "a metric", {"name": NAME, "diameter": EXACT})
_KINDS: dict[str, tuple[Any, dict[str, Field]]] = {
    kind.kind: (kind, {"kind": TEXT, **fields})
    for kind, fields in (
        (PureDP, {"epsilon": EXACT}),
        (ApproxDP, {"epsilon": EXACT, "delta": EXACT}),
        (ZeroConcentratedDP, {"rho": EXACT}),
        (Unstated, {}),
        (RenyiDP, {"orders": EXACT.listed, "epsilons": EXACT.listed}),
        (MetricDP, {"epsilon": EXACT, "delta": EXACT, "metric": _METRIC}),
    )
}


def encode_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as JSON, without its neighbor relation and unit, which belong to the whole file."""
    if guarantee.kind not in _KINDS:
        raise UsageError("a composition is written as its parts, not as one guarantee.")
    return encode_fields(guarantee, _KINDS[guarantee.kind][1])


def read_guarantee(value: Any, neighbors: Neighbors, unit: str | None = None) -> Guarantee:
    """Read a guarantee, or raise ValueError."""
    kind, fields = _KINDS[choice(value["kind"], *_KINDS)]
    read = read_fields("a guarantee", value, fields)
    del read["kind"]
    return kind(**read, neighbors=neighbors, unit=unit)

"""Guarantees as JSON: every kind that a file may hold, from a closed list."""

from __future__ import annotations

from typing import Any

from discreet.artifact.readers import choice, exact_fields, name_of, rational, tuple_of
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
from discreet.rational import text

_FIELDS = {
    PureDP.kind: "kind epsilon",
    ApproxDP.kind: "kind epsilon delta",
    ZeroConcentratedDP.kind: "kind rho",
    RenyiDP.kind: "kind orders epsilons",
    MetricDP.kind: "kind epsilon delta metric",
}


def encode_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as JSON, without its neighbor relation and unit, which belong to the whole file."""
    if isinstance(guarantee, RenyiDP):
        return {
            "kind": guarantee.kind,
            "orders": [text(order) for order in guarantee.orders],
            "epsilons": [text(epsilon) for epsilon in guarantee.epsilons],
        }
    if isinstance(guarantee, MetricDP):
        metric = {"name": guarantee.metric.name, "diameter": text(guarantee.metric.diameter)}
        rates = {"epsilon": text(guarantee.epsilon), "delta": text(guarantee.delta)}
        return {"kind": guarantee.kind, **rates, "metric": metric}
    if guarantee.kind not in _FIELDS:
        raise UsageError("a composition is written as its parts, not as one guarantee.")
    return {"kind": guarantee.kind, **{name: text(value) for name, value in guarantee.budgets().items()}}


def read_guarantee(value: Any, neighbors: Neighbors, unit: str | None = None) -> Guarantee:
    """Read a guarantee, or raise ValueError."""
    kind = choice(value["kind"], *_FIELDS)
    exact_fields("a guarantee", value, _FIELDS[kind])
    about: dict[str, Any] = {"neighbors": neighbors, "unit": unit}
    if kind == RenyiDP.kind:
        return RenyiDP(tuple_of(rational, value["orders"]), tuple_of(rational, value["epsilons"]), **about)
    if kind == MetricDP.kind:
        exact_fields("a metric", value["metric"], "name diameter")
        metric = PseudoMetric(name_of(value["metric"]["name"]), rational(value["metric"]["diameter"]))
        return MetricDP(rational(value["epsilon"]), rational(value["delta"]), metric, **about)
    if kind == PureDP.kind:
        return PureDP(rational(value["epsilon"]), **about)
    if kind == ApproxDP.kind:
        return ApproxDP(rational(value["epsilon"]), rational(value["delta"]), **about)
    return ZeroConcentratedDP(rational(value["rho"]), **about)

"""Guarantees of every kind in JSON, and release files that hold a Rényi curve."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

import discreet as dc
from discreet.artifact.guarantee_codec import encode_guarantee, read_guarantee
from discreet.errors import ReleaseFileError
from discreet.privacy import Guarantee, PseudoMetric, compose

SCHEMA = json.loads((files("discreet.artifact") / "release.schema.json").read_text(encoding="utf-8"))
KINDS: list[Guarantee] = [
    dc.PureDP("0.1"),
    dc.ApproxDP("0.1", "1e-6"),
    dc.ZeroConcentratedDP("1/3"),
    dc.RenyiDP(["1.5", 2, 64], ["0.1", "1/7", 3]),
    dc.MetricDP("0.1", 0, PseudoMetric.absolute(-1, "2.5")),
    dc.MetricDP(0, "1e-3", "hamming"),
]


@pytest.mark.parametrize("guarantee", KINDS, ids=lambda g: g.kind)
def test_every_kind_comes_back(guarantee: Guarantee) -> None:
    written = json.loads(json.dumps(encode_guarantee(guarantee)))
    assert read_guarantee(written, "replace") == guarantee
    changed = {**written, "kind": "trust me"}
    with pytest.raises(ValueError):
        read_guarantee(changed, "replace")
    with pytest.raises(ValueError):
        read_guarantee({**written, "more": "1"}, "replace")


def test_neighbors_and_unit_are_the_files() -> None:
    read = read_guarantee(encode_guarantee(dc.PureDP(1)), "add_remove", "person")
    assert read == dc.PureDP(1, neighbors="add_remove", unit="person")


def test_a_composition_is_written_as_its_parts() -> None:
    both = compose(dc.ApproxDP(1, "1e-6"), dc.ZeroConcentratedDP(1))
    with pytest.raises(dc.errors.UsageError, match="as its parts"):
        encode_guarantee(both)


def with_curve(factor: Fraction, orders: tuple[int, ...] = (2, 8, 32)) -> dc.Release:
    """Return a Gaussian release that promises ``factor`` times the Rényi curve of its noise."""
    made = dc.release([1, 0, 1, 1], dc.Bernoulli(), rho="0.5", mechanism="gaussian")
    rho = made.noise_record.sensitivity**2 / (2 * min(made.noise_record.scale) ** 2)
    curve = dc.RenyiDP(orders, [factor * order * rho for order in orders])
    return replace(made, guarantees={"statistics": curve})


def test_a_release_may_promise_a_renyi_curve() -> None:
    made = with_curve(Fraction(1))
    content = made.to_json()
    jsonschema.validate(json.loads(content), SCHEMA)
    read = dc.Release.from_json(content)
    assert read.guarantee == made.guarantee
    assert "Rényi differential privacy" in read.statement()
    assert "at most its epsilon" in read.statement()


def test_a_curve_that_its_noise_does_not_keep_is_refused() -> None:
    with pytest.raises(ReleaseFileError, match="noise is less"):
        dc.Release.from_json(with_curve(Fraction(99, 100)).to_json())


def test_a_release_of_noise_cannot_promise_a_metric() -> None:
    made = dc.release([1, 0, 1, 1], dc.Bernoulli(), epsilon=1)
    claimed: dict[str, Any] = {"statistics": dc.MetricDP(1, 0, "hamming")}
    with pytest.raises(ReleaseFileError, match="per unit of distance"):
        dc.Release.from_json(replace(made, guarantees=claimed).to_json())

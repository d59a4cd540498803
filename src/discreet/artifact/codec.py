"""The release file: strict JSON in, strict JSON out, bit for bit.

Reading checks the seal, then every field, then that the numbers hang together: the coordinates, grid, widths and
sensitivity must be the ones that the declarations imply, and the noise at least what the guarantee needs. The SHA-256
seal finds damage. It is not a signature: whoever can forge a file can forge its seal.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from discreet.artifact.release import LAWS, NoiseRecord, Release, Statistics
from discreet.errors import ReleaseFileError, UsageError
from discreet.families import build
from discreet.families.layout import Domain
from discreet.privacy import ApproxDP, Guarantee, PureDP, ZeroConcentratedDP
from discreet.rational import exact, text

FORMAT = "discreet/release"
VERSION = 1
_KINDS: dict[str, type[Guarantee]] = {g.kind: g for g in (PureDP, ApproxDP, ZeroConcentratedDP)}
_RATIONAL = re.compile(r"-?[0-9]+(/[1-9][0-9]*|\.[0-9]+)?")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_LARGEST_COUNT = 2**63 - 1
_FIELDS = {
    "release": "format version id dataset model columns domain neighbors unit max_rows records statistics samples "
    "mechanism guarantees ledger software sha256",
    "model": "name parameters",
    "domain": "bounds labels outside missing",
    "statistics": "names values grid width shift half",
    "mechanism": "name scale sensitivity",
}
_T = TypeVar("_T")


def encode(release: Release) -> str:
    """Return the text of the release file."""
    s, m, d = release.statistics, release.mechanism, release.domain
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "id": release.id,
        "dataset": release.dataset,
        "model": {"name": release.family.name, "parameters": release.family.constants()},
        "columns": list(release.columns),
        "domain": {
            "bounds": None if d.bounds is None else [[text(low), text(high)] for low, high in d.bounds],
            "labels": None if d.labels is None else list(d.labels),
            "outside": d.outside,
            "missing": d.missing,
        },
        "neighbors": release.neighbors,
        "unit": release.unit,
        "max_rows": release.max_rows,
        "records": release.records,
        "statistics": {
            "names": list(s.names),
            "values": [str(v) for v in s.values],
            "grid": [text(v) for v in s.grid],
            "width": [text(v) for v in s.width],
            "shift": None if s.shift is None else [text(v) for v in s.shift],
            "half": None if s.half is None else [text(v) for v in s.half],
        },
        "samples": release.samples,
        "mechanism": {
            "name": m.name,
            "scale": [text(v) for v in m.scale],
            "sensitivity": text(m.sensitivity),
        },
        "guarantees": [
            {"kind": g.kind, **{k: text(v) for k, v in g.budgets().items()}, "for": purpose}
            for purpose, g in release.guarantees.items()
        ],
        "ledger": release.ledger,
        "software": dict(release.software),
    }
    body["sha256"] = seal(body)
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in body.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def seal(body: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON: UTF-8, sorted keys, no spaces, without the seal itself."""
    unsealed = {k: v for k, v in body.items() if k != "sha256"}
    canonical = json.dumps(unsealed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def decode(content: str) -> Release:
    """Read the text of a release file."""
    try:
        body = json.loads(content, parse_constant=_refuse_constant, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError):
        raise ReleaseFileError("this is not a release file: its JSON is damaged or incomplete.") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ReleaseFileError("this is not a discreet release file.")
    if body.get("version") != VERSION or isinstance(body.get("version"), bool):
        raise ReleaseFileError(
            f"unknown release version {str(body.get('version'))[:20]}; this discreet reads version {VERSION}.",
            hint="upgrade discreet",
        )
    if body.get("sha256") != seal(body):
        raise ReleaseFileError(
            "the file was altered or damaged: its content does not match its seal.",
            hint="ask the curator for the original file",
        )
    try:
        release = _read(body)
        _check(release)
    except UsageError as problem:
        raise ReleaseFileError(f"the file does not hang together: {problem.message}") from None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as problem:
        raise ReleaseFileError(f"the file does not hang together: {_reason(problem)}.") from None
    return release


def _read(body: dict[str, Any]) -> Release:
    _exact_fields("release", body)
    model, d, s, m = (_section(body, name) for name in ("model", "domain", "statistics", "mechanism"))
    return Release(
        id=_text(body["id"]),
        dataset=_optional(_text, body["dataset"]),
        family=build(_text(model["name"]), _constants(model["parameters"])),
        columns=_tuple(_text, body["columns"]),
        domain=Domain(
            bounds=_optional(lambda v: _tuple(_pair, v), d["bounds"]),
            labels=_optional(lambda v: _tuple(_text, v), d["labels"]),
            outside=_choice(d["outside"], "redact", "clip"),
            missing=_choice(d["missing"], "count", "none"),
        ),
        neighbors=_choice(body["neighbors"], "replace", "add_remove"),
        unit=_none(body["unit"], "unit"),
        max_rows=_choice(body["max_rows"], 1),
        records=_optional(_count, body["records"]),
        statistics=Statistics(
            names=_tuple(_text, s["names"]),
            values=_tuple(_integer, s["values"]),
            grid=_tuple(_rational, s["grid"]),
            width=_tuple(_rational, s["width"]),
            shift=_optional(lambda v: _tuple(_rational, v), s["shift"]),
            half=_optional(lambda v: _tuple(_rational, v), s["half"]),
        ),
        samples=_none(body["samples"], "samples"),
        mechanism=NoiseRecord(
            name=_choice(m["name"], *LAWS),
            scale=_tuple(_rational, m["scale"]),
            sensitivity=_rational(m["sensitivity"]),
        ),
        guarantees=dict([_guarantee(g, body["neighbors"]) for g in _one(body["guarantees"])]),
        ledger=_none(body["ledger"], "ledger"),
        software={_text(k): _text(v) for k, v in body["software"].items()},
    )


def _check(release: Release) -> None:
    """Raise unless the numbers are the ones the declarations imply, and the noise is at least what was promised."""
    release.family.check_bounds(release.domain.bounds)
    if release.domain.labels != release.family.labels:
        raise ValueError("its labels are not its model's")
    layout, s, m = release.layout, release.statistics, release.mechanism
    same = (s.names, s.grid, s.width, s.shift, s.half) == (
        layout.names,
        layout.grid,
        layout.width,
        layout.shift,
        layout.half,
    )
    if not same or len(s.values) != len(s.names) or len(m.scale) != len(s.names):
        raise ValueError("its statistics do not fit its model")
    if len(release.columns) != release.family.n_columns:
        raise ValueError("it has the wrong number of columns")
    if (release.records is None) != (release.neighbors == "add_remove"):
        raise ValueError("records are public exactly under replace")
    if any(scale <= 0 for scale in m.scale):
        raise ValueError("a noise scale is not positive")
    unit_scale = min(scale / width for scale, width in zip(m.scale, s.width, strict=True))
    promised = release.guarantee
    if isinstance(promised, PureDP):
        law, needed = "discrete_laplace", layout.l1_sensitivity
        enough = unit_scale * promised.epsilon >= m.sensitivity
    elif isinstance(promised, ZeroConcentratedDP):
        law, needed = "discrete_gaussian", layout.l2_sensitivity
        enough = 2 * promised.rho * unit_scale**2 >= m.sensitivity**2
    else:
        assert isinstance(promised, ApproxDP)
        law, needed = "discrete_gaussian", layout.l2_sensitivity
        enough = _approx_delta(release, unit_scale, promised) <= float(promised.delta)
    enough = enough and m.name == law and m.sensitivity >= needed
    if not enough:
        raise ValueError("its noise is less than its guarantee needs")


def _approx_delta(release: Release, unit_scale: Fraction, promised: ApproxDP) -> float:
    from discreet.privacy.gaussian import discrete_gaussian_delta, zcdp_delta

    layout, epsilon = release.layout, float(promised.epsilon)
    if len(layout.names) == 1:
        step = layout.grid[0] / layout.width[0]
        return discrete_gaussian_delta(
            float(unit_scale / step), math.floor(layout.l2_sensitivity / step), epsilon
        )
    return zcdp_delta(float(layout.l2_sensitivity**2 / (2 * unit_scale**2)), epsilon)


# -- small readers: each takes one JSON value and returns it typed, or raises ValueError ---------------------


def _exact_fields(name: str, value: dict[str, Any]) -> None:
    if set(value) != set(_FIELDS[name].split()):
        raise ValueError(f"{name} has missing or unknown fields")


def _section(body: dict[str, Any], name: str) -> dict[str, Any]:
    value = body[name]
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not an object")
    _exact_fields(name, value)
    return value


def _guarantee(value: dict[str, Any], neighbors: Any) -> tuple[str, Guarantee]:
    rest = dict(value)
    kind, purpose = _KINDS[_choice(rest.pop("kind"), *_KINDS)], _choice(rest.pop("for"), "statistics")
    return purpose, kind(**{k: _rational(v) for k, v in rest.items()}, neighbors=neighbors)  # pyright: ignore[reportCallIssue]


def _constants(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("the model's parameters are not an object")
    return {name: _constant(constant) for name, constant in value.items()}


def _constant(value: Any) -> Any:
    """Read one known constant of a family: a finite number, or a list of labels."""
    if isinstance(value, list):
        return [_text(label) for label in value]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a parameter of the model is neither a number nor a list of labels")
    return value


def _one(value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) != 1:
        raise ValueError("there is not exactly one guarantee")
    return value


def _tuple(read: Callable[[Any], _T], value: Any) -> tuple[_T, ...]:
    if not isinstance(value, list):
        raise ValueError("a list is missing")
    return tuple(read(v) for v in value)


def _optional(read: Callable[[Any], _T], value: Any) -> _T | None:
    return None if value is None else read(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is missing")
    return value


def _rational(value: Any) -> Fraction:
    if not isinstance(value, str) or not _RATIONAL.fullmatch(value):
        raise ValueError("an exact number is missing")
    return exact(value, "an exact number")


def _integer(value: Any) -> int:
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        raise ValueError("an integer is missing")
    if abs(int(value)) > _LARGEST_COUNT:
        raise ValueError("a value is too large")
    return int(value)


def _pair(value: Any) -> tuple[Fraction, Fraction]:
    low, high = _tuple(_rational, value)
    if not low < high:
        raise ValueError("bounds are reversed")
    return low, high


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST_COUNT:
        raise ValueError("records is not a count")
    return value


def _none(value: Any, name: str) -> None:
    if value is not None:
        raise ValueError(f"{name} is not understood by this version")


def _choice(value: Any, *choices: Any) -> Any:
    if value not in choices or type(value) is not type(choices[0]):
        raise ValueError("a field has an unknown value")
    return value


def _reason(problem: Exception) -> str:
    return str(problem) if type(problem) is ValueError else "a field is missing or of the wrong kind"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a field is repeated")
    return dict(pairs)

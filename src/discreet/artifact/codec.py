"""The release file: strict JSON in, strict JSON out, bit for bit.

Reading checks the checksum, then every field, then that the numbers hang together: the coordinates, grid, widths and
sensitivity must be the ones that the declarations imply, and the noise at least what the guarantee needs; for samples,
see :mod:`discreet.artifact.samples`. The SHA-256 checksum finds damage. It is not a signature: whoever can forge a file
can forge its checksum.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, astuple
from typing import Any, get_args

from discreet.artifact.about import decode_about, encode_about
from discreet.artifact.bounds_choice import CHOICE
from discreet.artifact.fit_check import FIT
from discreet.artifact.group_selection import SELECTION
from discreet.artifact.guarantee_codec import encode_guarantee, read_guarantee
from discreet.artifact.origin import check_origin, encode_origin, read_origin
from discreet.artifact.possible_totals import MOST_RECORDS
from discreet.artifact.readers import (
    EXACT,
    INTEGER,
    NAME,
    PAIR,
    TEXT,
    Field,
    choice,
    count,
    encode_fields,
    exact_fields,
    label_of,
    name_of,
    optional,
    plain_json,
    read_fields,
    text_of,
    tuple_of,
)
from discreet.artifact.records.base import Record
from discreet.artifact.records.registry import RECORDS
from discreet.artifact.release import Release, Statistics
from discreet.artifact.samples import encode_samples, read_samples
from discreet.artifact.stamp import read_stamp
from discreet.domain.declarations import Domain
from discreet.domain.unit import NullUnit, Rule, Unit, check_unit
from discreet.domain.where import read_where
from discreet.errors import ReleaseFileError, UsageError
from discreet.models.registry import build
from discreet.names import one_line
from discreet.privacy import Guarantee

FORMAT = "discreet/release"
VERSION = 1
#: Bytes. A million counts with their names take less; what JSON makes of them takes ten times as much memory.
LARGEST_FILE = 2**26
# Lists and objects, each of which takes a hundred bytes: a million draws of a vector are as many.
_MOST_NESTED = 1_100_000
_FIELDS = {
    "release": "format version id dataset model columns domain neighbors unit max_rows records statistics samples "
    "mechanism guarantees ledger software sha256",
    "model": "name parameters",
    "domain": "bounds labels outside missing",
}
_STATISTICS = {
    "names": TEXT.listed,
    "values": INTEGER.listed,
    "grid": EXACT.listed,
    "width": EXACT.listed,
    "shift": EXACT.listed.nullable,
    "half": EXACT.listed.nullable,
}
# in the order of Unit's own fields
_UNIT = {
    "column": NAME,
    "per_unit": Field(str, lambda rule: choice(rule, *get_args(Rule))).listed,
    "row_bounds": PAIR.nullable.listed,
    "last_by": NAME.nullable,
    "null_unit": Field(str, lambda null: choice(null, *get_args(NullUnit))),
}


def encode(release: Release) -> str:
    """Return the text of the release file."""
    d = release.domain
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "id": release.id,
        "dataset": release.dataset,
        "model": {"name": release.model.name, "parameters": release.model.constants()},
        "columns": list(release.columns),
        "domain": {
            "bounds": PAIR.listed.nullable.write(d.bounds),
            "labels": optional(list, d.labels),
            "outside": d.outside,
            "missing": d.missing,
            # absent otherwise, so that files without it stay what they were
            **({} if d.impute is None else {"impute": [str(value) for value in d.impute]}),
            **({"dates": True} if d.dates else {}),
        },
        "neighbors": release.neighbors,
        "unit": optional(_encode_unit, release.unit),
        "max_rows": release.max_rows,
        "records": release.records,
        "statistics": optional(lambda made: encode_fields(made, _STATISTICS), release.statistics),
        "samples": optional(encode_samples, release.samples),
        "mechanism": release.mechanism.encode(),
        "guarantees": [
            {**encode_guarantee(promised), "for": purpose} for purpose, promised in release.guarantees.items()
        ],
        "ledger": optional(asdict, release.ledger),
        "software": dict(release.software),
    }
    if release.bounds_choice is not None:
        body["bounds_choice"] = CHOICE.listed.write(release.bounds_choice)
    if release.fit_check is not None:
        body["fit_check"] = FIT.write(release.fit_check)
    if release.unit_label is not None:
        body["unit_label"] = release.unit_label
    if release.coarsened is not None:
        body["coarsened"] = encode_origin(release.coarsened)
    if release.where is not None:
        body["where"] = release.where
    if release.group_selection is not None:
        body["group_selection"] = SELECTION.write(release.group_selection)
    if release.about is not None:
        body["about"] = encode_about(release.about)
    body["sha256"] = checksum(body)
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in body.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _encode_unit(unit: Unit) -> dict[str, Any]:
    values = astuple(unit)
    return {name: field.write(value) for (name, field), value in zip(_UNIT.items(), values, strict=True)}


def checksum(body: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON: UTF-8, sorted keys, no spaces, without the checksum itself."""
    rest = {k: v for k, v in body.items() if k != "sha256"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def has_checksum(body: dict[str, Any]) -> bool:
    """Tell whether a body that was read has the checksum of its content."""
    try:
        return body.get("sha256") == checksum(body)
    except (RecursionError, ValueError):
        # nested too deep, or an integer with more digits than Python prints
        return False


def decode(content: str) -> Release:
    """Read the text of a release file."""
    if not isinstance(content, str):
        raise ReleaseFileError(f"a release file is text, got {type(content).__name__:.60}.")
    if len(content) > LARGEST_FILE or content.count("[") + content.count("{") > _MOST_NESTED:
        raise ReleaseFileError("this is not a release file: none is so large.")
    try:
        body = json.loads(content, parse_constant=_refuse_constant, object_pairs_hook=no_repeats)
    except (TypeError, ValueError, RecursionError):
        raise ReleaseFileError("this is not a release file: its JSON is damaged or incomplete.") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ReleaseFileError("this is not a release file: its format is not discreet/release.")
    if body.get("version") != VERSION or isinstance(body.get("version"), bool):
        raise ReleaseFileError(
            f"unknown release version {str(body.get('version'))[:20]}; this discreet reads version {VERSION}.",
            hint="upgrade discreet",
        )
    if not has_checksum(body):
        raise ReleaseFileError(
            "the file was altered or damaged: its content does not match its checksum.",
            hint="ask the curator for the original file",
        )
    try:
        release = _read(body)
        _check(release)
    except UsageError as problem:
        # the message may quote the file
        raise ReleaseFileError(f"the file does not hang together: {one_line(problem.message):.300}") from None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as problem:
        raise ReleaseFileError(f"the file does not hang together: {_reason(problem)}.") from None
    return release


def _read(body: dict[str, Any]) -> Release:
    bought, fitted = "bounds_choice" in body, "fit_check" in body
    labeled, derived = "unit_label" in body, "coarsened" in body
    more = (
        " bounds_choice" * bought + " fit_check" * fitted + " unit_label" * labeled + " coarsened" * derived
    ) + " where" * ("where" in body)
    selected = "group_selection" in body
    more += " group_selection" * selected + " about" * ("about" in body)
    exact_fields("release", body, _FIELDS["release"] + more)
    model, d = body["model"], body["domain"]
    exact_fields("model", model, _FIELDS["model"])
    fills = isinstance(d, dict) and d.get("missing") == "impute"
    dated = isinstance(d, dict) and "dates" in d
    exact_fields("domain", d, _FIELDS["domain"] + " impute" * fills + " dates" * dated)
    if dated and d["dates"] is not True:
        raise ValueError("dates is there only where it is true")
    if (body["statistics"] is None) == (body["samples"] is None):
        raise ValueError("there are not either statistics or samples")
    sampled = body["statistics"] is None
    described = build(text_of(model["name"]), plain_json(model["parameters"]))
    unit = optional(lambda value: Unit(*read_fields("unit", value, _UNIT).values()), body["unit"])
    held = "samples" if sampled else "statistics"
    return Release(
        id=name_of(body["id"]),
        dataset=optional(name_of, body["dataset"]),
        model=described,
        columns=tuple_of(name_of, body["columns"]),
        domain=Domain(
            bounds=PAIR.listed.nullable.read(d["bounds"]),
            labels=optional(lambda v: tuple_of(label_of, v), d["labels"]),
            outside=choice(d["outside"], "redact", "clip"),
            missing=choice(d["missing"], "count", "none", "impute"),
            impute=described.decode_impute(tuple_of(text_of, d["impute"])) if fills else None,
            dates=dated,
        ),
        neighbors=choice(body["neighbors"], "replace", "add_remove"),
        unit=unit,
        max_rows=count(body["max_rows"]),
        records=optional(count, body["records"]),
        statistics=optional(
            lambda value: Statistics(**read_fields("statistics", value, _STATISTICS)), body["statistics"]
        ),
        samples=optional(read_samples, body["samples"]),
        mechanism=_read_record(body["mechanism"], held),
        guarantees=_guarantees(body["guarantees"], body["neighbors"], unit, held),
        ledger=optional(read_stamp, body["ledger"]),
        software={name_of(k): name_of(v) for k, v in body["software"].items()},
        bounds_choice=CHOICE.listed.read(body["bounds_choice"]) if bought else None,
        fit_check=FIT.read(body["fit_check"]) if fitted else None,
        unit_label=name_of(body["unit_label"]) if labeled else None,
        where=text_of(body["where"]) if "where" in body else None,
        group_selection=SELECTION.read(body["group_selection"]) if selected else None,
        about=decode_about(body["about"]) if "about" in body else None,
        coarsened=(
            read_origin(body["coarsened"], body["neighbors"], None if unit is None else unit.column)
            if derived
            else None
        ),
    )


def _read_record(value: Any, held: str) -> Record:
    if not isinstance(value, dict):
        raise ValueError("mechanism is not an object")
    kind = RECORDS[choice(value.get("name"), *RECORDS)]
    if kind.held != held:
        raise ValueError(f"its mechanism makes no {held}")
    return kind.read(value)


def _check(release: Release) -> None:
    """Raise unless the numbers are the ones the declarations imply, and enough for what was promised."""
    release.model.check_domain(release.domain, release.columns)
    if (release.records is None) != (release.neighbors == "add_remove"):
        raise ValueError("records are public exactly under replace")
    if release.records is not None and not 0 < release.records <= MOST_RECORDS:
        raise ValueError("its number of records is none that a table has")
    if len(set(release.columns)) != len(release.columns):
        raise ValueError("a column is named twice")
    if release.max_rows != (release.model.max_rows or 1) or (release.max_rows > 1 and release.unit is None):
        raise ValueError("its number of rows a person is not its model's")
    if release.unit is not None:
        bounds = release.model.record_bounds(release.domain)
        check_unit(release.unit, release.columns, release.model.unit_rules, bounds)
        if release.domain.dates and {"sum", "count"} & set(release.unit.rules):
            raise ValueError("days have no sum")
    if release.where is not None:
        if str(read_where(release.where)) != release.where:
            raise ValueError("its filter is not written as files write it")
        if not release.model.takes_where or release.samples is not None or release.domain.missing != "count":
            raise ValueError("rows were filtered, and the number of usable ones is not among its totals")
    release.mechanism.check(release)
    if release.coarsened is not None:
        check_origin(release, release.coarsened)


def _guarantee(value: dict[str, Any], neighbors: Any, unit: Unit | None) -> tuple[str, Guarantee]:
    rest = dict(value)
    purpose = choice(rest.pop("for"), "statistics", "samples", "fit_check", "bounds", "groups")
    return purpose, read_guarantee(rest, neighbors, None if unit is None else unit.column)


def _guarantees(value: Any, neighbors: Any, unit: Unit | None, held: str) -> dict[str, Guarantee]:
    read = tuple_of(lambda one: _guarantee(one, neighbors, unit), value)
    parts = [purpose for purpose, _ in read]
    # each at most once, in this order
    others = ([], ["fit_check"], ["bounds"], ["fit_check", "bounds"], ["groups"])
    if parts[:1] != [held] or parts[1:] not in others:
        raise ValueError(f"there is not one guarantee for the {held}, and at most one for each other part")
    return dict(read)


def _reason(problem: Exception) -> str:
    return str(problem) if type(problem) is ValueError else "a field is missing or of the wrong kind"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON, or raise ValueError if a field is there twice."""
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a field is repeated")
    return dict(pairs)

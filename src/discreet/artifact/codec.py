"""The release file: strict JSON in, strict JSON out, bit for bit.

Reading checks the checksum, then every field, then that the numbers hang together: the coordinates, grid, widths and
sensitivity must be the ones that the declarations imply, and the noise at least what the guarantee needs; for samples,
see :mod:`discreet.artifact.samples`. The SHA-256 checksum finds damage. It is not a signature: whoever can forge a file
can forge its checksum.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, astuple, replace
from typing import Any, get_args

from discreet.arguments import FilePath
from discreet.artifact.about import decode_about, encode_about
from discreet.artifact.bounds_choice import CHOICE
from discreet.artifact.files import as_text
from discreet.artifact.fit_check import FIT
from discreet.artifact.group_selection import SELECTION
from discreet.artifact.guarantee_codec import encode_guarantee, read_guarantee
from discreet.artifact.origin import check_origin, encode_origin, read_origin
from discreet.artifact.possible_totals import MOST_RECORDS
from discreet.artifact.readers import (
    COUNT,
    EXACT,
    INTEGER,
    LABEL,
    NAME,
    PAIR,
    TEXT,
    Field,
    choice,
    described,
    encode_fields,
    object_of,
    one_of,
    optional,
    plain_json,
    read_fields,
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
from discreet.models import Model
from discreet.models.registry import build
from discreet.names import one_line
from discreet.privacy import Guarantee

FORMAT = "discreet/release"
VERSION = 1
#: Bytes. A million counts with their names take less; what JSON makes of them takes ten times as much memory.
LARGEST_FILE = 2**26
# Lists and objects, each of which takes a hundred bytes: a million draws of a vector are as many.
_MOST_NESTED = 1_100_000


def encode(release: Release) -> str:
    """Return the text of the release file."""
    body = {"format": FORMAT, "version": VERSION, **encode_fields(release, _FIELDS, _RARE)}
    body["sha256"] = checksum(body)
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in body.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


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


def decode_file(path: FilePath, content: bytes) -> Release:
    """Read what a release file holds; errors name the file."""
    written = as_text(content, path, "release")
    try:
        return decode(written)
    except ReleaseFileError as problem:
        raise ReleaseFileError(f"{path}: {problem.message}", hint=problem.hint) from None


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
    read = read_fields("release", body, {"format": TEXT, "version": COUNT, **_FIELDS, "sha256": TEXT}, _RARE)
    for name in ("format", "version", "sha256"):
        del read[name]
    if (read["statistics"] is None) == (read["samples"] is None):
        raise ValueError("there are not either statistics or samples")
    held = "samples" if read["statistics"] is None else "statistics"
    if read["mechanism"].held != held:
        raise ValueError(f"its mechanism makes no {held}")
    # what is written in the terms of another field
    stand_ins = optional(read["model"].decode_impute, read["domain"].impute)
    read["domain"] = replace(read["domain"], impute=stand_ins)
    about = read["neighbors"], None if read["unit"] is None else read["unit"].column
    read["guarantees"] = _guarantees(read["guarantees"], held, *about)
    if "coarsened" in read:
        read["coarsened"] = read_origin(read["coarsened"], *about)
    return Release(**read)


def _read_model(value: Any) -> Model:
    model = read_fields("model", value, {"name": TEXT, "parameters": Field(dict, plain_json)})
    return build(model["name"], model["parameters"])


def _read_record(value: Any) -> Record:
    if not isinstance(value, dict):
        raise ValueError("mechanism is not an object")
    return RECORDS[choice(value.get("name"), *RECORDS)].read(value)


def _read_domain(value: Any) -> Domain:
    """Read the declarations; a value that stands for a missing one is still a text."""
    domain = Domain(**read_fields("domain", value, _DOMAIN, _RARE_IN_DOMAIN))
    if (domain.impute is None) == (domain.missing == "impute"):
        raise ValueError("domain has missing or unknown fields")
    return domain


def _encode_unit(unit: Unit) -> dict[str, Any]:
    values = astuple(unit)
    return {name: field.write(value) for (name, field), value in zip(_UNIT.items(), values, strict=True)}


def _read_unit(value: Any) -> Unit:
    return Unit(*read_fields("unit", value, _UNIT).values())


# in the order of Unit's own fields
_UNIT = {
    "column": NAME,
    "per_unit": one_of(*get_args(Rule)).listed,
    "row_bounds": PAIR.nullable.listed,
    "last_by": NAME.nullable,
    "null_unit": one_of(*get_args(NullUnit)),
}
_DOMAIN = {
    "bounds": PAIR.listed.nullable,
    "labels": LABEL.listed.nullable,
    "outside": one_of("redact", "clip"),
    "missing": one_of("count", "none", "impute"),
}
_RARE_IN_DOMAIN = {"impute": TEXT.listed, "dates": Field(bool, lambda value: choice(value, True))}
_STATISTICS = {
    "names": TEXT.listed,
    "values": INTEGER.listed,
    "grid": EXACT.listed,
    "width": EXACT.listed,
    "shift": EXACT.listed.nullable,
    "half": EXACT.listed.nullable,
}
#: What a file holds between its version and its checksum, in this order: the fields of a release.
_FIELDS = {
    "id": NAME,
    "dataset": NAME.nullable,
    "model": Field(lambda model: {"name": model.name, "parameters": model.constants()}, _read_model),
    "columns": NAME.listed,
    "domain": Field(lambda domain: encode_fields(domain, _DOMAIN, _RARE_IN_DOMAIN), _read_domain),
    "neighbors": one_of("replace", "add_remove"),
    "unit": Field(_encode_unit, _read_unit).nullable,
    "max_rows": COUNT,
    "records": COUNT.nullable,
    "statistics": described(Statistics, "statistics", _STATISTICS).nullable,
    "samples": Field(encode_samples, read_samples).nullable,
    "mechanism": Field(lambda record: record.encode(), _read_record),
    # read when neighbors and unit are known, like the origin below
    "guarantees": Field(
        lambda parts: [{**encode_guarantee(one), "for": purpose} for purpose, one in parts.items()],
        lambda value: tuple_of(object_of, value),
    ),
    "ledger": Field(asdict, read_stamp).nullable,
    "software": NAME.named,
}
#: Fields that are absent where there is nothing to say, so that files without them stay what they were.
_RARE = {
    "bounds_choice": CHOICE.listed,
    "fit_check": FIT,
    "unit_label": NAME,
    "coarsened": Field(encode_origin, object_of),
    "where": TEXT,
    "group_selection": SELECTION,
    "about": Field(encode_about, decode_about),
}


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


def _guarantees(values: tuple[dict[str, Any], ...], held: str, *about: Any) -> dict[str, Guarantee]:
    """Read what was promised for each part of a release, under these neighbors and for this unit."""
    read = {}
    for value in values:
        rest = dict(value)
        purpose = choice(rest.pop("for"), "statistics", "samples", "fit_check", "bounds", "groups")
        read[purpose] = read_guarantee(rest, *about)
    parts = list(read)
    # each at most once, in this order
    others = ([], ["fit_check"], ["bounds"], ["fit_check", "bounds"], ["groups"])
    if len(parts) < len(values) or parts[:1] != [held] or parts[1:] not in others:
        raise ValueError(f"there is not one guarantee for the {held}, and at most one for each other part")
    return read


def _reason(problem: Exception) -> str:
    return str(problem) if type(problem) is ValueError else "a field is missing or of the wrong kind"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON, or raise ValueError if a field is there twice."""
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a field is repeated")
    return dict(pairs)

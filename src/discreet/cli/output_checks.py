"""Files are checked before any work is done or any budget is spent."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import DataError, ReleaseFileError, UsageError

if TYPE_CHECKING:
    from discreet.artifact import Release

_DATA_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")


def ensure_writable(path: Path, *, replace: bool, loss: str = "") -> None:
    """Raise unless ``path`` can be written; an existing file needs ``replace``, and ``loss`` says why."""
    if path.is_dir():
        raise DataError(f"cannot write {path}: it is a folder.")
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already{loss}.", hint="name another file, or add --force.")
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as problem:
        reason = problem.strerror or "permission denied"
        hint = "nothing was done."
        if isinstance(problem, FileNotFoundError):
            hint = "create the folder first; nothing was done."
        raise DataError(f"cannot write {path}: {reason}.", hint=hint) from None


def ensure_distinct(path: Path, source: Path) -> None:
    """Raise if writing ``path`` would destroy ``source``, under whatever name."""
    if path.exists() and source.exists() and path.samefile(source):
        raise UsageError(f"{path} is the input file; it would be lost.", hint="name another output file.")


def ensure_output(
    path: Path,
    *sources: Path | str | None,
    replace: bool = True,
    endings: tuple[str, ...] = (),
    option: str = "--output",
) -> None:
    """Raise unless a file can be written: none of the ``sources``, no release, and named as it should be.

    The ending of the name also keeps a slip from naming a release or data.
    """
    if endings and path.suffix.lower() not in endings:
        listed = " or ".join(filter(None, [", ".join(endings[:-1]), endings[-1]]))
        raise UsageError(f"the name given to {option} must end in {listed}, got {path}.")
    for source in filter(None, sources):
        ensure_distinct(path, Path(source))
    ensure_no_release(path)
    ensure_writable(path, replace=replace)


def ensure_no_release(path: Path, *, except_of: str | None = None) -> None:
    """Raise if ``path`` is a release file, unless it is one of the data set ``except_of``, or the file of a device."""
    try:
        content = path.read_bytes() if path.is_file() else b""
        body = json.loads(content) if content.lstrip().startswith(b"{") else None
    except (OSError, ValueError, RecursionError):
        return
    if isinstance(body, dict) and body.get("format") == "discreet/profile-reporter":
        raise UsageError(
            f"{path} is the file of a device, and what is spent would be forgotten.",
            hint="name another output file.",
        )
    if not isinstance(body, dict) or body.get("format") != "discreet/release":
        return
    if except_of is None or body.get("dataset") != except_of:
        raise UsageError(
            f"{path} is a release file, and the release in it was paid for.", hint="name another output file."
        )


def load_release(path: Path) -> Release:
    """Read a release file; if it cannot be one, and is named like data, say so."""
    from discreet.artifact.release import Release

    try:
        return Release.load(path)
    except ReleaseFileError:
        if not path.name.lower().endswith(_DATA_ENDINGS):
            raise
        raise ReleaseFileError(
            f"{path}: this is not a release file: it looks like data.",
            hint="discreet release makes a release file from data.",
        ) from None

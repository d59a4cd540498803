"""A release that survives a crash: charged once, drawn once, and the same file however often it is asked for.

A folder of the curator's own, mode 0700, holds two files of mode 0600. ``request.json`` is durable before anything is
charged: a random identifier, under which the ledger finds the charge again, and the hash of the declarations.
``kept.json`` is durable before the ledger notes the release and before the caller sees it: the text of the release
files, or the error that ended the draw.

Privacy
-------
A process that dies after the charge and before ``kept.json`` takes its random numbers with it: nobody saw them. The
same call then draws under the charge that is there, for the first time that anybody can see. Once ``kept.json`` is
there, nothing is drawn again; if the ledger has noted the release and ``kept.json`` is gone, the call is refused. An
error after the charge, such as that no group was published, is an output too, and is repeated instead of tried again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.arguments import path as read_path
from discreet.artifact import Release
from discreet.artifact.files import write_text
from discreet.curator.charge import Payer
from discreet.curator.declare import Declaration
from discreet.errors import DataError, DiscreetError, UsageError
from discreet.ledger.accounts import Charge

#: Draws, and makes what was drawn durable.
Draws = Callable[[Callable[[], dict[str, Release]]], dict[str, Release]]
_REQUEST, _KEPT, _LOCK = "request.json", "kept.json", "lock"
_FORMAT = "discreet/kept/1"
_LARGEST = 2**28


class Keeper:
    """The folder of one release, or of several that are charged together; while it is held, nobody else has it."""

    def __init__(self, folder: Path, request: str) -> None:
        self._folder, self.request = folder, request

    def finished(self, payer: Payer | None) -> dict[str, Release] | None:
        """Return what was drawn before, noted in the ledger; raise what ended the draw; None if nothing was."""
        content = _read(self._folder / _KEPT)
        if content is None:
            return None
        if content.get("request") != self.request:
            raise DataError(f"{self._folder} holds the release of another request: it was tampered with.")
        if content.get("failed") is not None:
            raise DataError(str(content["failed"]), hint="this release was charged and has ended")
        made = {name: Release.from_json(text) for name, text in content["releases"].items()}
        if payer is not None:
            payer.released(_charge_of(made, payer), made)
        return made

    def drawn(self, draw: Callable[[], dict[str, Release]]) -> dict[str, Release]:
        """Draw, and return it only when it, or the error that ended it, is durable."""
        try:
            made = draw()
        except Exception as problem:
            # seen by the caller, and so an output; of an interruption nobody sees anything
            said = problem.message if isinstance(problem, DiscreetError) else "the draw failed."
            self._write({"failed": said})
            raise
        self._write({"releases": {name: one.to_json() for name, one in made.items()}})
        return made

    def _write(self, content: Mapping[str, Any]) -> None:
        _write(self._folder / _KEPT, {"format": _FORMAT, "request": self.request, **content})


@contextmanager
def keeping(
    folder: Any, asked: Mapping[str, Declaration], dataset: str | None, payer: Payer | None
) -> Iterator[Keeper]:
    """Hold a folder for one release; raise if another process holds it, or if it is another release's."""
    place = read_path(folder)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _own(place)
        lock = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except DataError:
        raise
    except OSError as problem:
        raise DataError(f"cannot keep a release in {place}: {problem.strerror or 'no folder'}.") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"another process is making the release in {place}.", hint="wait for it"
            ) from None
        for left in place.glob(".*.part"):
            left.unlink(missing_ok=True)
        yield Keeper(place, _request(place, fingerprint(asked, dataset, payer)))
    finally:
        os.close(lock)


def once(
    folder: Any,
    asked: Mapping[str, Declaration],
    payer: Payer | None,
    dataset: str | None,
    publish: Callable[[Payer | None, Draws], dict[str, Release]],
) -> dict[str, Release]:
    """Publish what is declared, or return what was published before in this folder."""
    with keeping(folder, asked, dataset, payer) as keeper:
        who = None if payer is None else replace(payer, request=keeper.request)
        before = keeper.finished(who)
        return publish(who, keeper.drawn) if before is None else before


def fingerprint(asked: Mapping[str, Declaration], dataset: str | None, payer: Payer | None) -> str:
    """Return the hash of what was declared; nothing in it follows from a row."""
    said: list[Any] = [dataset, None if payer is None else [payer.ledger.id, payer.dataset, payer.analyst]]
    for name, one in asked.items():
        public = (one.columns, one.domain, one.neighbors, dict(one.guarantees), one.bounds_choice, one.unit)
        more = (one.unit_label, one.group_selection, one.about, None if one.where is None else str(one.where))
        said.append(
            [name, one.model.name, one.model.constants(), one.mechanism.name, repr(public), repr(more)]
        )
        # where the rows are, if that has a name; never what they are
        said.append(str(one.data) if isinstance(one.data, str | os.PathLike) else type(one.data).__name__)
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=repr).encode()).hexdigest()


def _own(folder: Path) -> None:
    """Raise unless the folder is this user's, and nobody else can put files into it: they would pass for a release."""
    found = folder.stat()
    # root may be given a folder of somebody else's, in which that somebody could plant files
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise DataError(
            f"others can write into {folder}: a release is kept in a folder of your own.",
            hint=f"name a new folder, or chmod 700 {folder}",
        )


def _request(folder: Path, declared: str) -> str:
    """Return the identifier of the request, a new one if the folder is new."""
    content = _read(folder / _REQUEST)
    if content is None:
        if (folder / _KEPT).exists():
            raise DataError(f"{folder} holds a release without its request: it was tampered with.")
        content = {"format": _FORMAT, "request": str(uuid.uuid4()), "declarations": declared}
        _write(folder / _REQUEST, content)
    if content.get("declarations") != declared:
        raise UsageError(
            f"{folder} keeps a release of other declarations.",
            hint="keep each release in a folder of its own",
        )
    return str(content["request"])


def _charge_of(made: Mapping[str, Release], payer: Payer) -> Charge:
    stamp = next(iter(made.values())).ledger
    if stamp is None:
        raise DataError("the kept release was not charged to a ledger.")
    return Charge(stamp.id, stamp.sequence, stamp.charge, payer.dataset, payer.analyst)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise ValueError
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise DataError(f"{path} is damaged: the release that it keeps cannot be read.") from None
    return content


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file that a crash leaves whole or not at all, and that only its owner reads."""
    write_text(path, json.dumps(content), private=True)
    entry = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(entry)
    finally:
        os.close(entry)

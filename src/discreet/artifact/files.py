"""Writing files so that a reader sees the old content or the new, never half."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.arguments import FilePath
from discreet.arguments import path as read_path
from discreet.errors import DataError, ReleaseFileError

#: Of the name of the file, in that of its temporary neighbor: names end at 255 bytes
LONGEST_STEM = 40


@contextmanager
def replacing(path: FilePath, *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; move it over ``path`` if the block succeeds, else remove it.

    The temporary file is created at once, so an unwritable place is found before the work inside the block. Only its
    owner can read a ``private`` one.
    """
    target = read_path(path)
    try:
        if target.is_dir():
            raise DataError(f"cannot write {target}: it is a folder.")
        # the kernel applies the umask to this mode; asking for the umask would mean setting it, for all threads
        temporary = target.parent / f".{target.name[:LONGEST_STEM]}.{secrets.token_hex(8)}.part"
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666))
    except DataError:
        raise
    except OSError as problem:
        raise DataError(
            f"cannot write {target}: {problem.strerror or 'the folder is not writable'}."
        ) from None
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as problem:
        raise DataError(f"cannot write {target}: {problem.strerror or 'the write failed'}.") from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def read_bytes(path: FilePath, what: str, most: int) -> bytes:
    """Read a file of at most so many bytes; ``what`` says what it should have been."""
    file = read_path(path)
    try:
        if file.stat().st_size > most:
            raise ReleaseFileError(f"{os.fspath(path)}: this is not a {what} file: none is so large.")
        return file.read_bytes()
    except OSError as problem:
        raise DataError(f"cannot read {os.fspath(path)}: {problem.strerror}.") from None


def read_text(path: FilePath, what: str, most: int) -> str:
    """Read a text file of at most so many bytes."""
    return as_text(read_bytes(path, what, most), path, what)


def as_text(content: bytes, path: FilePath, what: str) -> str:
    """Return what was read of a file as a text, with line ends of one kind."""
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ReleaseFileError(
            f"{os.fspath(path)}: this is not a {what} file: it is not UTF-8 text."
        ) from None


def write_text(path: FilePath, content: str, *, private: bool = False) -> None:
    """Write ``content`` to ``path`` atomically and durably."""
    with (
        replacing(path, private=private) as temporary,
        open(temporary, "w", encoding="utf-8", newline="\n") as out,
    ):
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    # the name too: without this, the old file can be back after a power failure
    with suppress(OSError):
        folder = os.open(read_path(path).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

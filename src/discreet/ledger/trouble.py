"""What databases complain about, in the library's own words: theirs quote statements and addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from discreet.errors import DataError, LedgerError

# what each database says, in its driver's words or its code; the first that matches counts
_LOCKED = ("database is locked", "database table is locked", "55P03", "40P01")
_READ_ONLY = ("readonly database", "read-only", "42501", "25006")
_NO_DATABASE = ("not a database", "malformed", "file is encrypted")
_NO_TABLE = ("no such table", "42P01")
_FULL = ("disk is full", "53100", "disk I/O error")


def no_ledger(name: str) -> DataError:
    """Return the error that there is no ledger."""
    return DataError(
        f"there is no ledger at {name}.", hint="create one with a budget: dc.Ledger(url, budget=dc.PureDP(3))"
    )


def damaged(name: str) -> LedgerError:
    """Return the error that only a part of a ledger is left."""
    return LedgerError(
        f"the ledger {name} is damaged: a part of it is missing.",
        hint="restore it from a copy; nothing was charged",
    )


@contextmanager
def explained(name: str, patience: float) -> Iterator[None]:
    """Turn a database's error into one line."""
    try:
        yield
    except Exception as problem:
        # what goes wrong while a connection is set up comes straight from the driver
        if type(problem).__module__.partition(".")[0] not in ("sqlalchemy", "sqlite3", "psycopg"):
            raise
        cause = problem.orig if isinstance(problem, DBAPIError) else problem
        said = f"{cause} {getattr(cause, 'sqlstate', None) or ''}"
    else:
        return
    if _says(said, _LOCKED):
        raise DataError(
            f"the ledger {name} is in use by another program, and stayed locked for {patience:g} seconds.",
            hint="nothing was charged; try again",
        ) from None
    if _says(said, _READ_ONLY):
        raise DataError(f"the ledger {name} may not be written.", hint="nothing was charged") from None
    if _says(said, _NO_DATABASE):
        raise LedgerError(f"{name} is damaged, or not a database.") from None
    if _says(said, _NO_TABLE):
        raise damaged(name) from None
    if _says(said, _FULL):
        raise DataError(f"the ledger {name} could not be written: the disk failed or is full.") from None
    raise DataError(f"the ledger {name} cannot be reached, or its database failed.") from None


def _says(said: str, words: tuple[str, ...]) -> bool:
    return any(word.lower() in said.lower() for word in words)

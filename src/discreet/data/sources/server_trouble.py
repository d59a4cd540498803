"""What a database server complains about, in words of our own: its messages quote values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from discreet.errors import DataError, DiscreetError

# classes of PostgreSQL's codes, and codes, that say nothing about a row
_LOST = ("08", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04")
#: What is done when an error comes: no row is read before the last.
Stage = Literal["connect", "ask", "read"]
_NOTHING_RELEASED = "nothing was released"


@contextmanager
def explained(name: str, stage: Stage = "read") -> Iterator[None]:
    """Turn an error of the server called ``name`` into one line.

    While columns are asked for, the server's code says what is wrong with the table or the query. Once rows are read it
    could say something about a row, and only whether the server is still there and willing is told.
    """
    try:
        yield
    except DiscreetError:
        raise
    except Exception as problem:
        # what comes from our own code is concealed further up
        if type(problem).__module__.partition(".")[0] != "psycopg":
            raise
        trouble = _words(name, problem, stage)
    else:
        return
    raise trouble


def _words(name: str, problem: Any, stage: Stage) -> DataError:
    code = getattr(problem, "sqlstate", None) or ""
    gone = code.startswith(_LOST) or (not code and type(problem).__name__ == "OperationalError")
    if stage == "connect":
        return DataError(
            f"cannot connect to {name}.", hint="is it running, and are user, password and database right?"
        )
    if gone:
        return DataError(
            f"the connection to {name} was lost while the data were read.", hint=_NOTHING_RELEASED
        )
    if code == "57014":
        return DataError(f"{name} stopped the query.", hint=f"{_NOTHING_RELEASED}; is there a time limit?")
    if code == "25006":
        return DataError("the query writes, and is run in a transaction that may not.")
    if stage == "read":
        return DataError("the data could not be read to its end.")
    if code in ("42P01", "3F000"):
        return DataError(
            f"there is no such table at {name}.",
            hint="a table is named as it is written there, capital letters too: table='visits' or 'schema.visits'",
        )
    if code == "42501":
        return DataError(f"{name} does not let this user read the table.")
    if code == "42601":
        return DataError("the query is not one statement of SQL that gives rows.")
    return DataError(f"the server cannot run the query (SQLSTATE {code}).")

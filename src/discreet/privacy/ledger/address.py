"""The URL of a ledger: which places can keep one, and how to write them."""

from __future__ import annotations

from urllib.parse import unquote

from sqlalchemy.engine import URL, make_url

from discreet.errors import UsageError

# others switch locks off, or take the file for one that never changes
_SQLITE_OPTIONS = {("uri", "true"), ("mode", "ro"), ("mode", "rw"), ("mode", "rwc")}


def checked_url(url: str) -> URL:
    """Read a URL, or say what one looks like."""
    hint = "for example sqlite:///budget.db or postgresql://user@host/database"
    try:
        made = make_url(url)
        backend = made.get_backend_name()
    except Exception:  # of sqlalchemy, or of a caller's object
        # the text may hold a password
        raise UsageError("the ledger must be the URL of a database.", hint=hint) from None
    if backend == "postgres":
        made, backend = made.set(drivername="postgresql"), "postgresql"
    if backend == "sqlite":
        _check_file(made, hint)
        return made
    if backend != "postgresql":
        raise UsageError(f"ledgers are kept in SQLite or PostgreSQL, not in {backend}.", hint=hint)
    return made.set(drivername="postgresql+psycopg") if made.drivername == "postgresql" else made


def _check_file(url: URL, hint: str) -> None:
    """Raise unless an SQLite URL names a file that SQLite locks and reads as usual."""
    if url.host:
        raise UsageError(
            "the URL of an SQLite ledger has three slashes before the name of its file.",
            hint="write sqlite:///budget.db, or sqlite:////folder/budget.db for a name that begins with a slash",
        )
    # a name that begins with "file:" may be escaped, and end in a fragment
    name = unquote(url.database or "").removeprefix("file:").partition("#")[0]
    if name in ("", ":memory:"):
        raise UsageError("a ledger in memory would be forgotten: name a file.", hint=hint)
    strange = [option for option, value in url.query.items() if (option, value) not in _SQLITE_OPTIONS]
    if strange:
        raise UsageError(
            f"the URL of an SQLite ledger takes no option {strange[0]!r:.40} of that value.", hint=hint
        )
    if url.query and not (url.query.get("uri") == "true" and str(url.database).startswith("file:")):
        # the driver would ignore the options, and warn
        raise UsageError(
            "options in the URL of an SQLite ledger need a name that begins with file:, and uri=true.",
            hint="for example sqlite:///file:budget.db?mode=ro&uri=true",
        )


def shown_url(url: URL) -> str:
    """Return a URL for people: without the password, and a file's name as it was written."""
    text = url.render_as_string(hide_password=True)
    return text.replace("///file%3A", "///file:", 1) if url.get_backend_name() == "sqlite" else text

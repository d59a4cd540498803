"""The address of a database, read into parts: which ones can be named, and how to write them.

An address is never passed on. A connection is built from the parts that are read here, each of them checked against
what is allowed, so that nothing in an address can switch off locks or durability, or lead two programs to two ledgers:

- ``sqlite:///PATH``: one file, by a name that means the same to every reader. No options.
- ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``: one server. Options about encryption only, and the folder of a
  local socket.

Escapes (``%20``) are decoded once. Errors never quote an address, which may hold a password.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from discreet.errors import UsageError

_HINT = "for example sqlite:///budget.db or postgresql://user@host/database"
# what may be written before "://", and the driver that is then used
_SQLITE = ("sqlite", "sqlite+pysqlite")
_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")
_LONGEST = 4_000
# SQLite keeps files of its own under such names beside a database, and removes them
_SIDE_FILES = ("-journal", "-wal", "-shm")
_SERVER = re.compile(
    r"(?:(?P<user>[^:/?#@\[\]]*)(?::(?P<password>[^/?#@\[\]]*))?@)?"
    r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[^:/?#@\[\]]*))(?::(?P<port>[0-9]{1,5}))?"
    r"/(?P<database>[^/?#]+)(?:\?(?P<options>[^?#]*))?"
)
_NAME = re.compile(r"[\w.@+-]+")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
# options of a PostgreSQL address; none bears on what is locked, when it is on the disk, or where it is kept
_OPTIONS = {
    "host": re.compile(r"/[\w ./@+-]*"),
    "sslmode": re.compile("disable|allow|prefer|require|verify-ca|verify-full"),
    "channel_binding": re.compile("disable|prefer|require"),
    "sslrootcert": re.compile(r"system|/[\w ./@+-]*"),
    "sslcert": re.compile(r"/[\w ./@+-]*"),
    "sslkey": re.compile(r"/[\w ./@+-]*"),
}


@dataclass(frozen=True)
class FileAddress:
    """An SQLite file; ``path`` is absolute from the moment that the address is read on, links not yet followed."""

    name: str
    path: str


@dataclass(frozen=True)
class ServerAddress:
    """A PostgreSQL database; ``host`` is one host, or the folder of a socket."""

    host: str
    port: int
    database: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: tuple[tuple[str, str], ...] = ()

    def settled(self, patience: float) -> dict[str, Any]:
        """Return what a driver is told besides where the server is: given, even as nothing, it is not looked for."""
        return {
            "connect_timeout": max(2, int(patience)),
            "hostaddr": "",
            "options": "",
            **dict(self.options),
        }

    @property
    def name(self) -> str:
        """The address for people: without the password."""
        options = (("host", self.host), *self.options) if self.host.startswith("/") else self.options
        host = "" if self.host.startswith("/") else f"[{self.host}]" if ":" in self.host else self.host
        secret = ":***" if self.password else ""
        user = f"{quote(self.user)}{secret}@" if self.user else f"{secret}@" if secret else ""
        query = "?" * bool(options) + "&".join(f"{option}={quote(value)}" for option, value in options)
        return f"postgresql://{user}{host}:{self.port}/{quote(self.database)}{query}"


def read_address(url: str) -> FileAddress | ServerAddress:
    """Read an address, or say what one looks like."""
    if not isinstance(url, str) or not 0 < len(url) <= _LONGEST:
        raise UsageError("the ledger must be the URL of a database.", hint=_HINT)
    scheme, colon, rest = str.__str__(url).partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]{0,30}", scheme) or rest[:2] not in ("", "//"):
        raise UsageError("the ledger must be the URL of a database.", hint=_HINT)
    if scheme in _SQLITE:
        return _read_file(rest[2:])
    if scheme in _POSTGRESQL:
        return _read_server(rest[2:])
    if scheme.lower() in _SQLITE + _POSTGRESQL:
        raise UsageError("the URL of a ledger begins with small letters.", hint=_HINT)
    if scheme.partition("+")[0] in _SQLITE + _POSTGRESQL:
        raise UsageError(
            f"ledgers are not kept through the driver of {scheme}.", hint=f"leave it out, {_HINT}"
        )
    raise UsageError(f"ledgers are kept in SQLite or PostgreSQL, not in {scheme}.", hint=_HINT)


def _read_file(rest: str) -> FileAddress:
    if rest in ("", "/"):
        raise UsageError("a ledger in memory would be forgotten: name a file.", hint=_HINT)
    if not rest.startswith("/"):
        raise UsageError(
            "the URL of an SQLite ledger has three slashes before the name of its file.",
            hint="write sqlite:///budget.db, or sqlite:////folder/budget.db for a name that begins with a slash",
        )
    written = rest[1:]
    if "?" in written:
        raise UsageError(
            "the URL of an SQLite ledger takes no options.",
            hint="only the name of a file, sqlite:///budget.db",
        )
    name = _decoded(written)
    if name is None or not name.isprintable() or set(name) & set("?#%"):
        # to some reader of addresses these mean something, to others they are letters of the name
        raise UsageError(
            "the file of a ledger has a name of printable characters without ?, # and %.",
            hint="in an address, a space may be written %20; nothing else needs an escape",
        )
    if name == ":memory:":
        raise UsageError("a ledger in memory would be forgotten: name a file.", hint=_HINT)
    if os.sep == "/":
        if "\\" in name:
            raise UsageError("the file of a ledger has a name without \\.", hint="write folders with /")
        # could be taken for a scheme, as in file:budget.db
        strange = ":" in name.partition("/")[0]
    else:
        # a drive, and no stream, device or share
        strange = ":" in os.path.splitdrive(name)[1] or bool(re.match(r"[A-Za-z]:(?![\\/])", name))
    if strange:
        raise UsageError(
            "the name of a ledger's file begins with a word and a colon, like an address of its own.",
            hint="write only the name of the file, sqlite:///budget.db, or sqlite:///./a:b.db if it has a colon",
        )
    if name.startswith(("//", "\\\\")):
        raise UsageError("the name of a ledger's file begins with one slash at most.", hint=_HINT)
    last = re.split(r"[\\/]", name)[-1]
    if last in ("", ".", ".."):
        raise UsageError("the URL of an SQLite ledger names a folder: name a file in it.", hint=_HINT)
    check_last(last)
    # from here on a change of the working directory changes nothing; ".." after a link is left to who follows links
    path = name if os.path.isabs(name) else os.path.join(_working_directory(), name)
    return FileAddress(f"sqlite:///{written}", path)


def check_last(last: str) -> None:
    """Raise if this is the name of a file that SQLite would remove."""
    if last.casefold().endswith(_SIDE_FILES):
        raise UsageError(
            f"the file of a ledger may not end in {', '.join(_SIDE_FILES)}: SQLite removes such files.",
            hint=_HINT,
        )


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        raise UsageError("the ledger's file is relative to a working directory that is gone.") from None


def read_server(url: str, what: str) -> ServerAddress | None:
    """Read the address of a PostgreSQL server, ``what`` being what is kept there; none if it is no such address."""
    scheme, _, rest = url.partition(":")
    if scheme not in _POSTGRESQL:
        return None
    if len(url) > _LONGEST or not rest.startswith("//"):
        raise _no_form(what)
    return _read_server(rest[2:], what)


def _no_form(what: str) -> UsageError:
    return UsageError(
        f"the URL of {what} is not of the form postgresql://user:password@host:port/database.",
        hint="in a password, write / as %2F, ? as %3F, # as %23, @ as %40, [ as %5B, ] as %5D and % as %25",
    )


def _read_server(rest: str, what: str = "a PostgreSQL ledger") -> ServerAddress:
    found = _SERVER.fullmatch(rest)
    if found is None:
        raise _no_form(what)
    user, password, host, database = (
        _part(found, part, what) for part in ("user", "password", "host", "database")
    )
    options = _read_options(found["options"], what)
    folder = options.pop("host", "")
    if bool(host or found["ipv6"]) == bool(folder):
        raise UsageError(
            f"the URL of {what} names one host, or the folder of a socket.",
            hint="postgresql://user@host/database, or postgresql://user@/database?host=/var/run/postgresql",
        )
    if host and not _HOST.fullmatch(host):
        # of several hosts, two programs could be led to two
        raise UsageError(f"the host of {what} is one name or number.", hint=_HINT)
    if not (_NAME.fullmatch(database) and (found["user"] is None or _NAME.fullmatch(user))):
        raise UsageError(
            f"user and database of {what} have names of letters, digits and . _ @ + -.",
            hint=_HINT,
        )
    if not password.isprintable():
        raise UsageError(f"the password of {what} has printable characters only.")
    port = int(found["port"] or 5432)
    if not 0 < port < 65536:
        raise UsageError(f"the port of {what} is a number from 1 to 65535.")
    return ServerAddress(
        folder or found["ipv6"] or host,
        port,
        database,
        user or None,
        password or None,
        tuple(options.items()),
    )


def _read_options(text: str | None, what: str) -> dict[str, str]:
    """Return the options of a PostgreSQL address; errors do not quote them, as a password may have slipped here."""
    options: dict[str, str] = {}
    for one in text.split("&") if text else ():
        key, _, written = one.partition("=")
        allowed, value = _OPTIONS.get(key), _decoded(written)
        if allowed is None or key in options or value is None or not allowed.fullmatch(value):
            raise UsageError(
                f"the URL of {what} has an option, or a value of one, that is not allowed.",
                hint=f"the options are {', '.join(_OPTIONS)}, each at most once",
            )
        options[key] = value
    return options


def _part(found: re.Match[str], part: str, what: str) -> str:
    text = _decoded(found[part] or "")
    if text is None:
        raise UsageError(f"an escape in the URL of {what} cannot be read.", hint="write % as %25")
    return text


def _decoded(text: str) -> str | None:
    """Return a text with its escapes decoded, once; none if one of them is not ``%XX``, or not of UTF-8."""
    if re.search("%(?![0-9A-Fa-f]{2})", text):
        return None
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeError:
        return None

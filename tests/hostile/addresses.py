"""Addresses of ledgers, good and bad: spellings of files in a folder, and what has been or could be tried."""

from __future__ import annotations

import os
import random
from pathlib import Path
from urllib.parse import quote

PASSWORD = "s3cret"
#: Overspent a budget once: in memory, and in files without locks.
KNOWN = (
    "sqlite:///file:{folder}/m.db%3Fmode=memory?uri=true",
    "sqlite:///file:{folder}/m.db%3Fnolock=1?uri=true",
    "sqlite:///file:{folder}/m.db%3Fvfs=unix-none?uri=true",
)
#: Spellings of one file each; made where they do not exist: see :func:`lay_out`.
_SPELLINGS = (
    (
        "x.db",
        "./x.db",
        "d/../x.db",
        ".//x.db",
        "{folder}/x.db",
        "{folder}/ld/../x.db",
        "link.db",
        "{folder}/link.db",
    ),
    ("d/x.db", "ld/x.db", "./ld//x.db", "{folder}/d/x.db", "{folder}/ld/./x.db", "d/../ld/x.db"),
    ("Zürich 2026.db", "./Zürich 2026.db", "{folder}/Zürich 2026.db", "d/../Zürich 2026.db"),
    ("d/數據 @=&+;,!'()*$~.db", "ld/數據 @=&+;,!'()*$~.db", "{folder}/d/數據 @=&+;,!'()*$~.db"),
)
_STRANGE = (
    "", ".", "..", "d", "d/", "ld", "{folder}", "{folder}/", ":memory:", "./:memory:", "::memory:", "nowhere/x.db",
    "/dev/null", "/dev/zero", "/dev/shm/nowhere/x.db", "/dev/fd/0", "/proc/self/fd/0", "/proc/self/cwd/x.db",
    "/proc/thread-self/cwd/d/x.db", "null.db", "cwd/x.db", "loop.db", "pipe.db", "hard.db", "text.db", "m.db",
    "m.db-journal", "x.db-wal", "journal.db", "x.db-shm", "//{folder}/x.db", "\\\\server\\share\\x.db", "C:\\x.db",
    "C:/x.db", "C:x.db", "~/x.db", "$HOME/x.db", "x.db:stream", "NUL", "com1", "x" * 300, "d/" * 2000 + "x.db",
    "e\u0301.db", "\u00e9.db", "x\u202edb.", "x.db ", " x.db", "x..db", "...", "ATTACH 'y.db'", "x.db;", "x.db'",
)  # fmt: skip
_PREFIXES = ("file:", "FILE:", "file%3A", "./file:", "./", "././", "d/../")
# not before the name of a file in the folder: it would lead to the root of the disk
_ROOTS = ("/", "//", "file://", "file:///", "file://localhost", "FILE://", "/.")
_OPTIONS = (
    "mode=memory", "mode=ro", "mode=rwc", "cache=shared", "cache=private", "nolock=1", "immutable=1", "psow=0",
    "vfs=unix-none", "vfs=unix-dotfile", "vfs=unix-excl", "vfs=memdb", "vfs=nonsense", "uri=true", "timeout=0",
    "isolation_level=DEFERRED", "isolation_level=", "check_same_thread=false", "cached_statements=0", "x", "=", "",
)  # fmt: skip
_MARKS = ("?", "%3F", "%3f", "%253F", "%25253F", "#", "%23", "&", ";", "%00", "\0", "\uff1f", "%EF%BC%9F")
_CHARACTERS = "\0\n\r\t\x1b\x7f\u00a0\u200b\u200d\u2028\u202e\ufeff\udc80\U0001f4c8%?#&=:@\\.'\" ~é한"
_SCHEMES = (
    "SQLITE", "Sqlite", "sqlite3", "sqlite+aiosqlite", "sqlite+pysqlcipher", "sqlite+pysqlite_numpy", "sqlite+", "file",
    "SQLite+pysqlite", "sqlite+pysqlite+x", "sqlite ", "ſqlite", "duckdb", "mysql", "mysql+pymysql", "mssql+pyodbc",
    "oracle", "cockroachdb", "shillelagh", "", "%73qlite", "\ufeffsqlite", "sqlite\n", "http", "jdbc:sqlite",
)  # fmt: skip
_BETWEEN = (":", ":/", "://", "//", "", f"://u:{PASSWORD}@/", "://host/", "://:@/", ":///?", "://h:1/")
_SERVER_OPTIONS = (
    "sslmode=require", "sslmode=off", "sslmode=disable&sslmode=require", "options=-c%20synchronous_commit%3Doff",
    "options=-csearch_path%3Dx", "synchronous_commit=off", "isolation_level=AUTOCOMMIT", "dbname=x", "host=127.0.0.2",
    "host=/nowhere", "hostaddr=127.0.0.1", "service=x", "passfile=/dev/null", "target_session_attrs=any",
    f"password={PASSWORD}", "prepare_threshold=0", "autocommit=true", "load_balance_hosts=random", "fallback=1", "",
)  # fmt: skip


def lay_out(folder: Path) -> None:
    """Make the folder that addresses speak of: links, and files that are no ledgers."""
    (folder / "d").mkdir(parents=True)
    targets = {
        "ld": "d",
        "link.db": "x.db",
        "null.db": "/dev/null",
        "cwd": "/proc/self/cwd",
        "loop.db": "loop.db",
    }
    for link, target in {**targets, "journal.db": "m.db-journal"}.items():
        (folder / link).symlink_to(target)
    (folder / "text.db").write_text("no database, and long enough to be seen as none\n" * 30)
    os.mkfifo(folder / "pipe.db")
    (folder / "hard.db").hardlink_to(folder / "text.db")


def pair(rng: random.Random, folder: Path) -> tuple[str, str, bool]:
    """Return the addresses for two programs, and whether both must lead to one ledger, if both are taken."""
    kind = rng.random()
    if kind < 0.25:
        # two spellings of one file
        spellings = rng.choice(_SPELLINGS)
        first, second = (_escaped(rng, rng.choice(spellings).format(folder=folder)) for _ in range(2))
        return f"sqlite:///{first}", f"{rng.choice(('sqlite', 'sqlite+pysqlite'))}:///{second}", True
    address = _server(rng) if kind < 0.33 else _file(rng, folder)
    return address, address, True


def _file(rng: random.Random, folder: Path) -> str:
    """Return an address of a file in which a few things are strange."""
    name = rng.choice(rng.choice(_SPELLINGS) if rng.random() < 0.6 else _STRANGE).format(folder=folder)
    scheme, between = "sqlite", ":///"
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        change = rng.randrange(6)
        if change == 0:
            scheme = rng.choice(_SCHEMES)
        elif change == 1:
            between = rng.choice(_BETWEEN)
        elif change == 2:
            name = rng.choice(_PREFIXES + _ROOTS if name.startswith("/") else _PREFIXES) + name
        elif change == 3:
            options = "&".join(rng.choices(_OPTIONS, k=rng.choice((1, 1, 2))))
            name += rng.choice(_MARKS) + options + rng.choice(("", "", "?uri=true", "&uri=true"))
        elif change == 4:
            name = _escaped(rng, name)
        else:
            place = rng.randrange(len(name) + 1)
            # nothing but what belongs to the folder is in reach
            if name[:place].count("/") >= str(folder).count("/") or not name.startswith("/"):
                name = name[:place] + rng.choice(_CHARACTERS) + name[place:]
    return scheme + between + name


def _server(rng: random.Random) -> str:
    """Return an address of a server where none answers."""
    scheme = rng.choice(
        ("postgresql", "postgres", "postgresql+psycopg", "postgresql+asyncpg", "POSTGRESQL", "mysql")
    )
    user = rng.choice(
        ("", "u@", f"u:{PASSWORD}@", f":{PASSWORD}@", f"u%40x:{PASSWORD}%2F@", f"u:{PASSWORD}/?#@")
    )
    host = rng.choice(
        ("127.0.0.1:1", "[::1]:1", "127.0.0.1:1,127.0.0.2:1", "", "127.0.0.1:x", "127.0.0.1%3A1", "a b")
    )
    database = rng.choice(("/d", "/d", "/", "", "/d%20x", "/dbname=x", "/d/e", "/d%00", "/%2e%2e", "/数"))
    options = rng.choice(("", "?" + "&".join(rng.choices(_SERVER_OPTIONS, k=rng.choice((1, 2))))))
    return f"{scheme}://{user}{host}{database}{options}"


def _escaped(rng: random.Random, text: str) -> str:
    """Return a text with some of its characters escaped, some twice, in letters of either case."""
    share, twice = rng.choice((0, 0, 0.1, 0.5, 1)), rng.choice((0, 0, 0, 0.2))

    def one(character: str) -> str:
        if rng.random() >= share:
            return character
        made = "".join(f"%{byte:02x}" for byte in character.encode(errors="surrogatepass"))
        made = made.upper() if rng.random() < 0.5 else made
        return quote(made) if rng.random() < twice else made

    return "".join(map(one, text))

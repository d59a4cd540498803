"""Databases for the ledger's tests: an SQLite file, and a PostgreSQL server that the tests start themselves."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_HOMES = ("/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt", "/usr/local/opt")


def _program(name: str) -> str | None:
    found = [path for home in _HOMES for path in Path(home).glob(f"*/bin/{name}")]
    return str(max(found)) if found else shutil.which(name)


def _as_user() -> list[str]:
    """A server refuses to run as root: use the account that Debian made for it."""
    if os.geteuid() != 0:
        return []
    pwd.getpwnam("postgres")
    return ["runuser", "-u", "postgres", "--"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a server on the loopback interface that lives as long as the tests."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: `make test-postgres` installs it")
    initdb, control = _program("initdb"), _program("pg_ctl")
    if initdb is None or control is None:
        pytest.skip(
            "no PostgreSQL server is installed: `make test-postgres` installs one from Debian's packages"
        )
    try:
        user = _as_user()
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    name = "postgres" if user else getpass.getuser()
    # not in pytest's own folder, which only the user who runs the tests may enter
    folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
    data = folder / "data"
    if user:
        shutil.chown(folder, name)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = {"check": True, "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*user, initdb, "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8"], **quiet)
    options = f"-h 127.0.0.1 -p {port} -k {folder}"
    start = ["start", "-D", str(data), "-w", "-t", "60", "-o", options, "-l", str(folder / "log")]
    subprocess.run([*user, control, *start], **quiet)
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*user, control, "stop", "-D", str(data), "-m", "immediate"], **quiet)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place for a ledger, once in each kind of database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'budget.db'}"
    server = request.getfixturevalue("postgres")
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        name = f"test_{os.getpid()}_{os.urandom(6).hex()}"
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return server.removesuffix("/postgres") + f"/{name}"

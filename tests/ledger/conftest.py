"""Databases for the ledger's tests: an SQLite file, and a PostgreSQL server that the tests start themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


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

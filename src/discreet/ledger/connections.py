"""Connections to the database of a ledger, built from the parts of its address.

SQLite is handed a real, absolute path and no address, so no name can be taken for one. PostgreSQL is handed every part
that says where the ledger is, so that none is filled in from the environment (``PGHOSTADDR``, ``PGOPTIONS``, a service
file), and each transaction sets for itself what its durability depends on.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine

from discreet.addresses import ServerAddress
from discreet.errors import UsageError
from discreet.ledger.sqlite_file import LedgerFile


def sqlite_engine(file: LedgerFile, patience: float) -> Engine:
    """Return the engine for an SQLite file."""

    def opened() -> sqlite3.Connection:
        # as SQLAlchemy opens files: a connection may go from thread to thread, but is used by one at a time
        return sqlite3.connect(file.locate(), timeout=patience, uri=False, check_same_thread=False)

    # the name only tells SQLAlchemy that it is a file
    engine = sa.create_engine(URL.create("sqlite+pysqlite", database="ledger"), creator=opened)

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: object) -> None:
        # transactions are begun below, not by the driver, which would begin them too late
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode = DELETE")
        cursor.execute("PRAGMA synchronous = EXTRA")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("discreet_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def postgresql_engine(address: ServerAddress, patience: float) -> Engine:
    """Return the engine for a PostgreSQL database."""
    url = URL.create(
        "postgresql+psycopg",
        username=address.user,
        password=address.password,
        host=address.host,
        port=address.port,
        database=address.database,
    )
    try:
        engine = sa.create_engine(url, connect_args=address.settled(patience), pool_pre_ping=True)
    except ImportError:
        raise UsageError(
            "PostgreSQL needs a driver that is not installed.", hint="pip install 'discreet[postgres]'"
        ) from None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # for this transaction, whatever the session, the role or a pool of connections in between has set
        connection.execute(
            sa.select(
                sa.func.set_config("lock_timeout", str(max(1, int(1000 * patience))), True),
                sa.func.set_config("synchronous_commit", "on", True),
                sa.func.set_config("search_path", "public", True),
            )
        )

    return engine

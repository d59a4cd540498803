"""Where entries are kept: three tables, by SQLAlchemy Core, the same for SQLite and PostgreSQL.

``discreet_head`` is one row, the newest entry's place and hash; whoever writes holds its lock. ``discreet_entries`` is
the chain. ``discreet_accounts`` has the running totals of each data set, and of each analyst where analysts have
budgets, so that a charge costs the same however long the chain is.

SQLite: ``BEGIN IMMEDIATE`` takes the write lock before anything is read. The journal is a rollback journal with
``synchronous=EXTRA``: after a commit the entry is on the disk, the folder's change included, and the ledger is one file
that can be copied. (A write-ahead log would be faster, but it is a second file without which the first one is out of
date, and it does not work on network drives.) PostgreSQL: ``SELECT ... FOR UPDATE`` on the head, and
``synchronous_commit`` on.

SQLite is handed a real, absolute path and no address, so no name can be taken for one. PostgreSQL is handed every part
that says where the ledger is, so that none is filled in from the environment (``PGHOSTADDR``, ``PGOPTIONS``, a service
file), and each transaction sets for itself what its durability depends on.
"""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine

from discreet.addresses import ServerAddress, read_address
from discreet.arguments import real, shown
from discreet.errors import LedgerError, UsageError
from discreet.ledger.filters import Terms, Totals, read_terms, read_totals
from discreet.ledger.hash_chain import Entry, Head, canonical, read_entry, seal_head
from discreet.ledger.sqlite_file import LedgerFile
from discreet.ledger.trouble import damaged, explained, no_ledger

_METADATA = sa.MetaData()
_HEAD = sa.Table(
    "discreet_head",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ledger", sa.Text, nullable=False),
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("seal", sa.Text),
)
_ENTRIES = sa.Table(
    "discreet_entries",
    _METADATA,
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("hash", sa.Text, nullable=False),
    # of a `released` entry the charge that it belongs to; a charge is released once
    sa.Column("charge", sa.BigInteger, unique=True),
    sa.Column("body", sa.Text, nullable=False),
)
_ACCOUNTS = sa.Table(
    "discreet_accounts",
    _METADATA,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("analyst", sa.Text, primary_key=True),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column("totals", sa.Text, nullable=False),
)
#: Stands for the whole data set among analysts.
EVERYBODY = ""
# an arbitrary number by which programs that create a ledger at the same moment queue
_CREATION_LOCK = 0x6469736372656574
_PAGE = 2_000


class Store:
    """The tables behind one URL."""

    def __init__(self, url: str, patience: float) -> None:
        if not 0 <= real(patience, "patience") < 1e6:
            raise UsageError(f"patience must be a number of seconds, got patience={shown(patience)}.")
        address = read_address(url)
        self.name = address.name
        self._place = address if isinstance(address, ServerAddress) else LedgerFile(address)
        self._patience = patience
        self._engine: Engine | None = None
        self._process = -1

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Hold the write lock; commit durably at the end, or leave everything as it was."""
        with explained(self.name, self._patience), self._connect() as connection:
            connection = connection.execution_options(discreet_writes=True)
            with connection.begin():
                if isinstance(self._place, LedgerFile):
                    # the wait for the lock may have been long
                    self._place.locate()
                yield Session(connection, self.name)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """See one moment of the tables; no lock is taken and nothing can be written."""
        with self._looking() as connection:
            yield Session(connection, self.name)

    @contextmanager
    def _looking(self) -> Iterator[Connection]:
        """See one moment of the database."""
        with explained(self.name, self._patience), self._connect() as connection:
            if isinstance(self._place, ServerAddress):
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def create(self) -> None:
        """Make the tables unless they are there."""
        with self.writing() as session:
            session.alone()
            session.create_tables()

    def exists(self) -> bool:
        """Tell whether there is a ledger; make nothing, and raise if only a part of one is left."""
        if isinstance(self._place, LedgerFile) and not self._place.exists():
            return False
        # of one moment: between two looks somebody else may make the tables
        with self._looking() as connection:
            there = [sa.inspect(connection).has_table(name) for name in _METADATA.tables]
        if any(there) and not all(there):
            # they are made in one transaction, so one of them was removed
            raise damaged(self.name)
        return all(there)

    def require(self) -> None:
        """Raise unless there is a ledger."""
        if not self.exists():
            raise no_ledger(self.name)

    def entries(self) -> Iterator[tuple[int, str, int | None, str]]:
        """Yield the stored sequence, hash, charge and body of each entry, in order.

        Pages are read one by one, so that a long look does not keep writers waiting. Entries are only ever appended.
        """
        after = None
        while True:
            with self.reading() as session:
                rows = session.page(after)
            if not rows:
                return
            yield from rows
            after = rows[-1][0]

    def close(self) -> None:
        """Close the connections."""
        if self._engine is not None and self._process == os.getpid():
            self._engine.dispose()
        self._engine = None

    def _connect(self) -> Connection:
        if self._engine is None or self._process != os.getpid():
            if self._engine is not None:
                # a connection of the parent process must be neither used nor closed by its child
                self._engine.dispose(close=False)
            self._engine, self._process = self._make_engine(), os.getpid()
            # a ledger that nobody refers to any more leaves no connection behind
            weakref.finalize(self, _dispose, self._engine, self._process)
        if isinstance(self._place, LedgerFile):
            # an open connection would go on with a file that is no longer the ledger's
            self._place.locate()
        return self._engine.connect()

    def _make_engine(self) -> Engine:
        if isinstance(self._place, ServerAddress):
            return postgresql_engine(self._place, self._patience)
        return sqlite_engine(self._place, self._patience)


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
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = EXTRA")

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


def _dispose(engine: Engine, process: int) -> None:
    if process == os.getpid():
        engine.dispose()


class Session:
    """What can be done inside one transaction."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def head(self, *, lock: bool = False) -> Head:
        """Return the head; ``lock`` makes other writers wait."""
        query = sa.select(_HEAD.c.ledger, _HEAD.c.sequence, _HEAD.c.hash, _HEAD.c.seal)
        row = self._connection.execute(query.with_for_update() if lock else query).first()
        if row is None:
            self.is_empty()
            raise no_ledger(self._name)
        return Head(*row)

    def alone(self) -> None:
        """Make other processes that create a ledger wait until this transaction ends; there is no head to lock yet."""
        if self._connection.dialect.name == "postgresql":
            self._connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CREATION_LOCK)))

    def create_tables(self) -> None:
        """Make the tables unless they are there."""
        _METADATA.create_all(self._connection)

    def is_empty(self) -> bool:
        """Tell whether no ledger was begun yet; raise if there are entries but no head."""
        if self._connection.execute(sa.select(_HEAD.c.id)).first() is not None:
            return False
        if self._connection.execute(sa.select(_ENTRIES.c.sequence).limit(1)).first() is not None:
            raise damaged(self._name)
        return True

    def entry(self, sequence: int) -> tuple[str, Entry] | None:
        """Return the stored hash of one entry, and the entry."""
        query = sa.select(_ENTRIES.c.hash, _ENTRIES.c.body).where(_ENTRIES.c.sequence == sequence)
        row = self._connection.execute(query).first()
        return None if row is None else (row[0], read_entry(row[1]))

    def released_under(self, charge: int) -> list[dict[str, str]] | None:
        """Return what the ``released`` entry of a charge lists, if there is one."""
        query = sa.select(_ENTRIES.c.body).where(_ENTRIES.c.charge == charge)
        row = self._connection.execute(query).first()
        return None if row is None else read_entry(row[0]).content["releases"]

    def requested(self, request: str) -> Entry | None:
        """Return the charge that was made for a request, if there is one; ``request`` is checked already."""
        query = sa.select(_ENTRIES.c.body).where(_ENTRIES.c.body.like(f'%"request":"{request}"%'))
        found = (read_entry(row[0]) for row in self._connection.execute(query))
        return next((one for one in found if one.content.get("request") == request), None)

    def append(self, entry: Entry, key: bytes | None) -> None:
        """Add an entry and move the head."""
        charge = entry.content["charge"] if entry.kind == "released" else None
        row = {"sequence": entry.sequence, "hash": entry.hash, "charge": charge, "body": entry.text}
        self._connection.execute(_ENTRIES.insert(), row)
        seal = key and seal_head(key, entry)
        head = {"ledger": entry.ledger, "sequence": entry.sequence, "hash": entry.hash, "seal": seal}
        if entry.sequence == 0:
            self._connection.execute(_HEAD.insert(), {"id": 1, **head})
        else:
            self._connection.execute(_HEAD.update().where(_HEAD.c.id == 1), head)

    def page(self, after: int | None) -> list[tuple[int, str, int | None, str]]:
        """Return some entries after this sequence number, or the first ones; none is overlooked, if negative."""
        c = _ENTRIES.c
        query = sa.select(c.sequence, c.hash, c.charge, c.body).order_by(c.sequence).limit(_PAGE)
        if after is not None:
            query = query.where(c.sequence > after)
        return [tuple(row) for row in self._connection.execute(query)]

    def account(self, dataset: str, analyst: str = EVERYBODY) -> tuple[Terms, Totals, Terms | None] | None:
        """Return an account's terms, its totals, and the terms of its analysts as JSON."""
        query = sa.select(_ACCOUNTS.c.terms, _ACCOUNTS.c.totals).where(_whose(dataset, analyst))
        row = self._connection.execute(query).first()
        return None if row is None else _read_account(*row)

    def accounts(self) -> Iterator[tuple[str, str, Terms, Totals, Terms | None]]:
        """Yield all accounts: data set, analyst, terms, totals, terms of analysts."""
        c = _ACCOUNTS.c
        query = sa.select(c.dataset, c.analyst, c.terms, c.totals).order_by(c.dataset, c.analyst)
        for dataset, analyst, terms, totals in self._connection.execute(query):
            yield dataset, analyst, *_read_account(terms, totals)

    def add_account(self, dataset: str, analyst: str, terms: Terms, per_analyst: Terms | None) -> None:
        """Open an account."""
        row = {"dataset": dataset, "analyst": analyst, "terms": _terms_text(terms, per_analyst)}
        self._connection.execute(_ACCOUNTS.insert(), {**row, "totals": canonical(Totals().to_json())})

    def set_terms(self, dataset: str, analyst: str, terms: Terms, per_analyst: Terms | None) -> None:
        """Write new terms of an account, which differ in their partitions alone."""
        self._connection.execute(
            _ACCOUNTS.update().where(_whose(dataset, analyst)), {"terms": _terms_text(terms, per_analyst)}
        )

    def set_totals(self, dataset: str, analyst: str, totals: Totals) -> None:
        """Write new totals of an account."""
        self._connection.execute(
            _ACCOUNTS.update().where(_whose(dataset, analyst)), {"totals": canonical(totals.to_json())}
        )


def _whose(dataset: str, analyst: str) -> sa.ColumnElement[bool]:
    return sa.and_(_ACCOUNTS.c.dataset == dataset, _ACCOUNTS.c.analyst == analyst)


def _terms_text(terms: Terms, per_analyst: Terms | None) -> str:
    # under another name with partitions: a program that does not know them must not add up without them
    name = "partitioned" if terms.partitions else "account"
    return canonical({name: terms.to_json(), "per_analyst": per_analyst and per_analyst.to_json()})


def _read_account(terms: str, totals: str) -> tuple[Terms, Totals, Terms | None]:
    try:
        content = json.loads(terms)
        own, per_analyst = content.get("partitioned") or content["account"], content["per_analyst"]
        return read_terms(own), read_totals(json.loads(totals)), per_analyst and read_terms(per_analyst)
    except (ValueError, KeyError, TypeError, ArithmeticError):
        raise LedgerError("an account of the ledger is damaged.") from None

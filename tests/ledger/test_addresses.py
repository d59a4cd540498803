"""Which addresses of ledgers are taken, and that nothing in one reaches the database."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.addresses import FileAddress, ServerAddress, read_address
from discreet.errors import BudgetError, DataError, DiscreetError, LedgerError, UsageError
from discreet.ledger import store as engines

REFUSED = [
    ("sqlite:", "in memory"),
    ("sqlite://", "in memory"),
    ("sqlite:///", "in memory"),
    ("sqlite:///:memory:", "in memory"),
    ("sqlite:///%3Amemory%3A", "in memory"),
    # options, as they are and escaped
    ("sqlite:///x.db?mode=ro", "takes no options"),
    ("sqlite:///x.db?timeout=0", "takes no options"),
    ("sqlite:///x.db?isolation_level=DEFERRED", "takes no options"),
    ("sqlite:///x.db?", "takes no options"),
    ("sqlite:///file:x?mode=memory&uri=true", "takes no options"),
    ("sqlite:///file::memory:?uri=true", "takes no options"),
    ("sqlite:///file:/x/m.db%3Fmode=memory?uri=true", "takes no options"),
    ("sqlite:///file:x.db%3Fmode=memory", r"without \?"),
    ("sqlite:///x.db%3Fnolock=1", r"without \?"),
    ("sqlite:///x.db%3fvfs=unix-none", r"without \?"),
    ("sqlite:///x.db%253Fnolock=1", "and %"),
    ("sqlite:///100%.db", "and %"),
    ("sqlite:///x.db#1", "#"),
    ("sqlite:///x.db%23", "#"),
    ("sqlite:///file:x.db", "a word and a colon"),
    ("sqlite:///FILE:x.db", "a word and a colon"),
    ("sqlite:///file%3Ax.db", "a word and a colon"),
    ("sqlite:///:memory:.db", "a word and a colon"),
    ("sqlite:///C:x.db", "a word and a colon"),
    # names
    ("sqlite:///x%00.db", "printable"),
    ("sqlite:///x\0.db", "printable"),
    ("sqlite:///x\n.db", "printable"),
    ("sqlite:///x\u200b.db", "printable"),
    ("sqlite:///x\udc80.db", "printable"),
    ("sqlite:///x%ff.db", "printable"),
    ("sqlite:///\\\\server\\x.db", "without"),
    ("sqlite://///server/share/x.db", "one slash"),
    ("sqlite:///x/", "names a folder"),
    ("sqlite:///.", "names a folder"),
    ("sqlite:///x/..", "names a folder"),
    ("sqlite:///x.db-journal", "SQLite removes such files"),
    ("sqlite:///x.db-WAL", "SQLite removes such files"),
    ("sqlite://x.db", "three slashes"),
    ("sqlite://folder/x.db", "three slashes"),
    ("sqlite://somebody:secret@/x.db", "three slashes"),
    ("sqlite:////dev/null", "a file on a disk"),
    ("sqlite:////dev/shm/x.db", "a file on a disk"),
    ("sqlite:////proc/self/fd/1", "a file on a disk"),
    ("sqlite:////tmp/../proc/self/cwd/x.db", "a file on a disk"),
    ("sqlite:///" + "x" * 300, "cannot be found"),
    ("sqlite:///" + "x" * 5000, "must be the URL"),
    # drivers and other databases
    ("sqlite+aiosqlite:///x.db", "driver"),
    ("sqlite+pysqlcipher://:secret@/x.db", "driver"),
    ("sqlite+:///x.db", "driver"),
    ("SQLITE:///x.db", "small letters"),
    (" sqlite:///x.db", "must be the URL"),
    ("sqlite:x.db", "must be the URL"),
    ("postgresql+asyncpg://u:secret@h/d", "driver"),
    ("postgresql+psycopg2://u:secret@h/d", "driver"),
    ("PostgreSQL://u:secret@h/d", "small letters"),
    ("mysql+pymysql://u:secret@h/d", r"not in mysql\+pymysql"),
    ("mssql://u:secret@h/d", "not in mssql"),
    ("duckdb:///x.db", "not in duckdb"),
    ("u:secret@h/d", "must be the URL"),
    # servers
    ("postgresql://u:secret@h1,h2/d", "one name or number"),
    ("postgresql://u:secret@h%2Ch2/d", "one name or number"),
    ("postgresql://u:secret@%2Ftmp/d", "one name or number"),
    ("postgresql://u:secret@/d", "one host"),
    ("postgresql:///d", "one host"),
    ("postgresql://u:secret@h/d?host=/tmp", "one host"),
    ("postgresql://u:secret@/d?host=other", "not allowed"),
    ("postgresql://u:secret@h", "not of the form"),
    ("postgresql://u:secret@h/", "not of the form"),
    ("postgresql://u:se/cret@h/d", "not of the form"),
    ("postgresql://u:secret@h@h/d", "not of the form"),
    ("postgresql://u:pa?secret=x@h/d", "not of the form"),
    ("postgresql://h/d?secret=x", "not allowed"),
    ("postgresql://u:secret@h:x/d", "not of the form"),
    ("postgresql://u:secret@h:٣/d", "not of the form"),
    ("postgresql://u:secret@h:0/d", "from 1 to 65535"),
    ("postgresql://u:secret@h:65536/d", "from 1 to 65535"),
    ("postgresql://u:secret%00@h/d", "printable"),
    ("postgresql://u:secret%@h/d", "escape"),
    ("postgresql://u:secret@h/dbname=x", "names of letters"),
    ("postgresql://u:secret@h/d%27", "names of letters"),
    ("postgresql://:secret@h/d%20x", "names of letters"),
    ("postgresql://u:secret@h/d#x", "not of the form"),
    ("postgresql://u:secret@h/d?options=-c%20synchronous_commit=off", "not allowed"),
    ("postgresql://u:secret@h/d?synchronous_commit=off", "not allowed"),
    ("postgresql://u:secret@h/d?isolation_level=AUTOCOMMIT", "not allowed"),
    ("postgresql://u:secret@h/d?dbname=x", "not allowed"),
    ("postgresql://u:secret@h/d?hostaddr=127.0.0.1", "not allowed"),
    ("postgresql://u:secret@h/d?service=x", "not allowed"),
    ("postgresql://u:secret@h/d?target_session_attrs=any", "not allowed"),
    ("postgresql://u:secret@h/d?sslmode=require&sslmode=disable", "not allowed"),
    ("postgresql://u:secret@h/d?sslmode=off", "not allowed"),
    ("postgresql://u:secret@h/d?sslmode", "not allowed"),
    ("postgresql://u:secret@h/d?SSLMODE=require", "not allowed"),
]  # fmt: skip


@pytest.mark.parametrize(("url", "words"), REFUSED)
def test_refused_in_one_line_and_nothing_made(
    url: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (lambda: dc.Ledger(url, budget=dc.PureDP(1)), lambda: dc.Ledger.audit(url)):
        with pytest.raises(DiscreetError, match=words) as caught:
            call()
        assert len(caught.value.message.splitlines()) == 1
        assert caught.value.message.isprintable()
        assert "secret" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("url", [None, 7, b"sqlite:///x.db", Path("x.db"), ["sqlite:///x.db"]])
def test_what_is_no_text_is_no_address(url: object) -> None:
    with pytest.raises(UsageError, match="must be the URL"):
        dc.Ledger(url, budget=dc.PureDP(1))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("x.db", "x.db"),
        ("./a:b.db", "a:b.db"),
        ("./:memory:", ":memory:"),
        ("my%20budget.db", "my budget.db"),
        ("my budget.db", "my budget.db"),
        ("Z%C3%BCrich.db", "Zürich.db"),
        ("Zürich@2026.db", "Zürich@2026.db"),
        ("d/../x.db", "x.db"),
        ("d//x.db", "d/x.db"),
    ],
)
def test_a_name_is_one_real_file(
    written: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d").mkdir()
    monkeypatch.chdir(tmp_path)
    first = dc.Ledger(f"sqlite:///{written}", budget=dc.PureDP(1))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]
    assert first.url == f"sqlite:///{written}"
    # the name counts from where the program was when the ledger was opened
    monkeypatch.chdir(tmp_path / "d")
    first.charge("x", dc.PureDP("0.7"))
    second = dc.Ledger(f"sqlite+pysqlite:///{tmp_path / name}")
    assert second.id == first.id
    with pytest.raises(BudgetError):
        second.charge("x", dc.PureDP("0.7"))


# -- links -----------------------------------------------------------------------------------------------------------


def test_two_links_are_one_ledger(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "link.db").symlink_to(tmp_path / "folder" / "x.db")
    names = ("link.db", "folder/x.db", "real/x.db", "real/../link.db")
    ledgers = [dc.Ledger(f"sqlite:///{tmp_path}/{name}", budget=dc.PureDP(1)) for name in names]
    assert len({ledger.id for ledger in ledgers}) == 1
    ledgers[0].charge("x", dc.PureDP("0.7"))
    for ledger in ledgers:
        with pytest.raises(BudgetError):
            ledger.charge("x", dc.PureDP("0.7"))


def test_a_link_that_is_swapped_between_charges(tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    for name in ("one.db", "two.db"):
        dc.Ledger(f"sqlite:///{tmp_path / name}", budget=dc.PureDP(1)).close()
    link.symlink_to("one.db")
    ledger = dc.Ledger(f"sqlite:///{link}")
    ledger.charge("x", dc.PureDP("0.1"))
    link.unlink()
    link.symlink_to("two.db")
    for call in (lambda: ledger.charge("x", dc.PureDP("0.1")), ledger.accounts, ledger.verify):
        with pytest.raises(LedgerError, match="moved, removed or replaced"):
            call()
    link.unlink()
    with pytest.raises(LedgerError, match="moved, removed or replaced"):
        ledger.charge("x", dc.PureDP("0.1"))


def test_a_file_that_is_replaced_between_charges(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    ledger = dc.Ledger(f"sqlite:///{path}", budget=dc.PureDP(1))
    ledger.charge("x", dc.PureDP("0.7"))
    path.rename(tmp_path / "moved.db")
    dc.Ledger(f"sqlite:///{path}", budget=dc.PureDP(1)).close()
    with pytest.raises(LedgerError, match="moved, removed or replaced"):
        ledger.charge("x", dc.PureDP("0.1"))


def test_another_ledger_in_the_same_file_is_noticed(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    ledger = dc.Ledger(f"sqlite:///{one}", budget=dc.PureDP(1))
    dc.Ledger(f"sqlite:///{two}", budget=dc.PureDP(1)).close()
    ledger.close()
    one.write_bytes(two.read_bytes())
    for call in (ledger.charge, ledger.check):
        with pytest.raises(LedgerError, match="another ledger now"):
            call("x", dc.PureDP("0.1"))


def test_a_second_name_of_the_file_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "x.db", tmp_path / "other.db"
    ledger = dc.Ledger(f"sqlite:///{path}", budget=dc.PureDP(1))
    os.link(path, other)
    for call in (
        lambda: ledger.charge("x", dc.PureDP("0.1")),
        lambda: dc.Ledger(f"sqlite:///{path}"),
        lambda: dc.Ledger(f"sqlite:///{other}"),
        lambda: dc.Ledger.audit(f"sqlite:///{other}"),
    ):
        with pytest.raises(LedgerError, match="has 2 names"):
            call()
    other.unlink()
    ledger.charge("x", dc.PureDP("0.1"))


@pytest.mark.parametrize(
    "target", ["/dev/null", "/proc/self/cwd/x.db", "/dev/shm/x.db", "x.db-journal", "loop.db"]
)
def test_links_to_where_no_ledger_is_kept(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.db").symlink_to(target)
    with pytest.raises(DiscreetError, match=r"a file on a disk|removes such files|cannot be found") as caught:
        dc.Ledger("sqlite:///loop.db", budget=dc.PureDP(1))
    assert "\n" not in caught.value.message
    assert len(list(tmp_path.iterdir())) == 1


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    os.mkfifo(tmp_path / "pipe.db")
    for name in ("folder.db", "pipe.db"):
        with pytest.raises(DataError, match="is not a file"):
            dc.Ledger(f"sqlite:///{tmp_path / name}", budget=dc.PureDP(1))
    with pytest.raises(DataError, match="no such folder"):
        dc.Ledger(f"sqlite:///{tmp_path}/nowhere/../x.db", budget=dc.PureDP(1))
    (tmp_path / "text").touch()
    with pytest.raises(DataError, match="no such folder"):
        dc.Ledger(f"sqlite:///{tmp_path}/text/x.db", budget=dc.PureDP(1))


# -- what the databases are handed -----------------------------------------------------------------------------------


def test_sqlite_is_handed_a_path_and_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[tuple[object, dict[str, object]]] = []
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **how: handed.append((path, how)) or connect(path, **how)
    )
    monkeypatch.chdir(tmp_path)
    dc.Ledger("sqlite:///./file:x.db", budget=dc.PureDP(1))
    how = {"timeout": 60.0, "uri": False, "check_same_thread": False}
    assert set(map(str, handed)) == {str((f"{tmp_path.resolve()}/file:x.db", how))}


def test_postgresql_addresses_are_read_into_parts() -> None:
    url = "postgres://ann%40x.org:s%2Fe:c%3Fret@db.example.org:5433/budgets?sslmode=verify-full&sslrootcert=%2Fca.pem"
    read = read_address(url)
    options = (("sslmode", "verify-full"), ("sslrootcert", "/ca.pem"))
    assert read == ServerAddress("db.example.org", 5433, "budgets", "ann@x.org", "s/e:c?ret", options)
    for shown in (read.name, repr(read)):
        assert "ret" not in shown
    assert read.name == (
        "postgresql://ann%40x.org:***@db.example.org:5433/budgets?sslmode=verify-full&sslrootcert=/ca.pem"
    )
    assert read_address("postgresql+psycopg://h/d") == ServerAddress("h", 5432, "d")
    assert read_address("postgresql://[::1]:5432/d") == ServerAddress("::1", 5432, "d")
    socket = read_address("postgresql://ann@/d?host=/var/run/postgresql")
    assert socket == ServerAddress("/var/run/postgresql", 5432, "d", "ann")
    # what is shown, without a password, can be read again
    for again in ("postgresql://h/d", "postgresql://u@[::1]/d", socket.name):
        assert read_address(read_address(again).name) == read_address(again)
    assert isinstance(read_address("sqlite:///x.db"), FileAddress)


def test_a_missing_driver_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match="driver that is not installed") as caught:
        dc.Ledger("postgresql://u:secret@127.0.0.1:1/d", budget=dc.PureDP(1))
    assert caught.value.hint == "pip install 'discreet[postgres]'"
    assert "\n" not in caught.value.message


def test_postgresql_takes_nothing_from_the_environment(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as other:
        other.execute("CREATE SCHEMA elsewhere")
        other.execute("ALTER ROLE postgres SET synchronous_commit = off")
    options = "-c synchronous_commit=off -c search_path=elsewhere -c lock_timeout=0"
    for name, value in (
        ("PGOPTIONS", options),
        ("PGHOSTADDR", "127.0.0.9"),
        ("PGPORT", "1"),
        ("PGDATABASE", "x"),
    ):
        monkeypatch.setenv(name, value)
    address = read_address(postgres)
    assert isinstance(address, ServerAddress)
    try:
        engine = engines.postgresql_engine(address, 7.0)
        settings = ("synchronous_commit", "search_path", "lock_timeout")
        with engine.begin() as connection:
            found = [connection.exec_driver_sql(f"SHOW {setting}").scalar() for setting in settings]
        engine.dispose()
        assert found == ["on", "public", "7s"]
    finally:
        for name in ("PGOPTIONS", "PGHOSTADDR", "PGPORT", "PGDATABASE"):
            monkeypatch.delenv(name)
        with psycopg.connect(postgres, autocommit=True) as other:
            other.execute("ALTER ROLE postgres RESET synchronous_commit")
            other.execute("DROP SCHEMA elsewhere")

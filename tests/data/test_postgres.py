"""PostgreSQL: the server's own types and refusals, and what is said when it cannot be read."""

from __future__ import annotations

import datetime
import math
import threading
import time
from decimal import Decimal
from typing import Any

import narwhals as nw
import psycopg
import pytest

import discreet as dc
from discreet import data
from discreet.data.sources.database import rows_in
from discreet.data.sources.opening import open_source
from discreet.data.sources.results import rows_of, stand_in_of
from discreet.data.sources.source import Need
from discreet.errors import DataError, DiscreetError, UsageError
from tests.data.builders import declarations, expected, postgresql
from tests.postgres_server import running_server, stop_server

INF, NAN = math.inf, math.nan


@pytest.fixture
def run(postgres: str):
    """Run SQL on the server."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield lambda text: connection.execute(text.encode())


def mean_of(postgres: str, query: str, bounds: Any = (-3, 100)) -> tuple[tuple[int, ...], Any, Any]:
    domain, layout = declarations(dc.Normal(), bounds, "clip")
    values = data.summarize(rows_in(postgres, None, query), dc.Normal(), domain, layout, ["x"]).values
    return values, domain, layout


NUMERIC_TEXTS = [
    *("0.1", "99.99999999999999999", "-3", "1e-200", "1e-400", "-1e-400", "1e308", "1e309", "-1e400"),
    *("NaN", "Infinity", "-Infinity", "12345678901234567890.123456789", "0", "2.2250738585072011e-308"),
    "9007199254740993",
]


@pytest.mark.parametrize(
    ("kind", "values", "read"),
    [
        ("numeric", NUMERIC_TEXTS, [float(Decimal(text)) for text in NUMERIC_TEXTS]),
        ("bigint", ["9223372036854775807", "-9223372036854775808", "7"], [2.0**63, -(2.0**63), 7.0]),
        ("smallint", ["7", "-3"], [7.0, -3.0]),
        ("real", ["0.1", "Infinity", "NaN"], [0.10000000149011612, INF, NAN]),
        ("boolean", ["true", "false"], [1.0, 0.0]),
    ],
)
def test_numbers_of_every_type_are_the_nearest_float(kind, values, read, postgres):
    rows = ", ".join(f"('{value}'::{kind})" for value in [*values])
    query = f"SELECT x FROM (VALUES {rows}, (NULL::{kind})) AS t(x)"
    found, domain, layout = mean_of(postgres, query)
    assert found == expected({"x": [*read, None]}, dc.Normal(), domain, layout)


def test_a_product_that_rounds_to_zero_raises_in_the_server_and_not_here(postgres, run):
    """The control: the plain product of what the sums multiply is an error of PostgreSQL's, for one record."""
    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        run("SELECT x * x FROM (VALUES (1e-300::float8)) AS t(x)")
    tiny = [1e-300, -5e-324, 1e-150, 1e-139, 1e-141, 0.5, -1.0]
    rows = ", ".join(f"({value!r}::float8)" for value in tiny)
    found, domain, layout = mean_of(postgres, f"SELECT x FROM (VALUES {rows}) AS t(x)", (-1, 1))
    assert found == expected({"x": tiny}, dc.Normal(), domain, layout)


@pytest.mark.parametrize("bounds", [(0, "1e-110"), ("1e-120", "2e-120")])
def test_bounds_that_the_servers_arithmetic_does_not_reach(bounds, postgres):
    with pytest.raises(UsageError, match="as wide or as narrow") as caught:
        mean_of(postgres, "SELECT 1.0::float8 AS x", bounds)
    assert "1e100" in caught.value.hint  # pyright: ignore[reportOperatorIssue]
    found, domain, layout = mean_of(postgres, "SELECT 3e-91::float8 AS x", (0, "1e-90"))
    assert found == expected({"x": [3e-91]}, dc.Normal(), domain, layout)


def test_labels_of_every_type(postgres, run):
    run("CREATE TYPE pg_temp_answer AS ENUM ('yes', 'no', 'a,b')")
    family = dc.Bernoulli()
    domain, layout = declarations(family)
    for kind, words in {
        "text": ["yes", " no\t", "YES", "", "?"],
        "varchar(5)": ["yes", "no", "a"],
        "char(9)": ["yes", "no", ""],
        "pg_temp_answer": ["yes", "no", "a,b"],
        "boolean": [True, False],
        "integer": [1, 0, 7],
        "numeric": [1, 0, 0.5, NAN],
        "float8": [1.0, -0.0, NAN, INF],
    }.items():
        rows = ", ".join(f"('{word}'::{kind})" for word in words)
        source = rows_in(postgres, None, f"SELECT x FROM (VALUES {rows}, (NULL::{kind})) AS t(x)")
        truth = data.summarize([*words, None], family, domain, layout, ["x"]).values
        assert data.summarize(source, family, domain, layout, ["x"]).values == truth, kind
        assert truth[1] > 0


def test_labels_with_strange_characters(postgres, run, tmp_path):
    words = ["%s", "100%", "{x}", "$1", "\\n", "it's", 'say "so"', "été", "a\x1fb", "'; DROP TABLE t; --"]
    family = dc.Categorical([*words, "never\0"])
    domain, layout = declarations(family)
    source = postgresql({"x": words * 2}, tmp_path)
    assert data.summarize(source, family, domain, layout, ["x"]).values[: len(words)] == (2,) * len(words)


def test_dates(postgres):
    family = dc.Mean()
    domain, layout = declarations(family, ("2020-01-01", "2020-12-31"), "clip")
    assert domain.dates
    days = ["2020-02-29", "infinity", "-infinity", "2019-01-01", "99999-01-01", "4000-01-01 BC", "2020-07-01"]
    kept = [
        datetime.date(2020, 2, 29),
        None,
        None,
        datetime.date(2019, 1, 1),
        None,
        None,
        datetime.date(2020, 7, 1),
    ]
    truth = data.summarize({"x": [*kept, None]}, family, domain, layout, ["x"]).values
    for kind in ("date", "timestamp"):
        rows = ", ".join(f"('{day}'::{kind})" for day in days)
        source = rows_in(postgres, None, f"SELECT x FROM (VALUES {rows}, (NULL)) AS t(x)")
        assert data.summarize(source, family, domain, layout, ["x"]).values == truth, kind
    texts = ["2020-02-29", "2020-02-30", "word", "2019-01-01", "", " 2020-07-01\t", "2020-7-1"]
    rows = ", ".join(f"('{text}')" for text in texts)
    source = rows_in(postgres, None, f"SELECT x FROM (VALUES {rows}) AS t(x)")
    truth = data.summarize({"x": texts}, family, domain, layout, ["x"]).values
    assert data.summarize(source, family, domain, layout, ["x"]).values == truth
    zoned = rows_in(postgres, None, "SELECT now() AS x")
    with pytest.raises(UsageError, match="time zone"):
        data.summarize(zoned, family, domain, layout, ["x"])


@pytest.mark.parametrize("kind", ["text", "json", "point", "bytea", "interval", "int4range", "float8[]"])
def test_types_that_hold_no_numbers(kind, postgres):
    with pytest.raises(UsageError, match="column 'x' holds"):
        mean_of(postgres, f"SELECT NULL::{kind} AS x")


def test_people_are_told_apart_by_every_type_of_key(postgres):
    for kind, keys in {
        "bigint": ["1", "1", "2"],
        "text": ["a", " a", "A"],
        "uuid": ["00000000-0000-0000-0000-00000000000" + digit for digit in "112"],
        "float8": ["1", "1", "2"],
    }.items():
        rows = ", ".join(f"('{key}'::{kind}, {at}::float8)" for at, key in enumerate(keys))
        made = dc.release(
            postgres,
            dc.Mean(),
            query=f"SELECT * FROM (VALUES {rows}, (NULL, 9)) AS t(id, x)",
            column="x",
            bounds=(0, 10),
            unit="id",
            per_unit="mean",
            epsilon=1,
        )
        assert made.records == 2, kind


def test_what_is_computed_inside_the_server(postgres, tmp_path):
    """One query over the stand-in: nothing of the table is here, and DuckDB could not run it."""
    source = open_source(postgresql({"x": [1.0, 2.0]}, tmp_path))
    picked = source.pick([0], [Need("mean", None)])
    frame = next(picked.frames).select(n=nw.len())
    assert stand_in_of(frame.to_native()) is not None
    with pytest.raises(Exception, match="not here"):
        frame.to_native().fetchall()
    assert rows_of(frame) == [(2,)]
    source.close()
    assert stand_in_of(frame.to_native()) is None


def test_an_expression_that_is_not_on_the_list_is_refused(postgres, tmp_path):
    source = open_source(postgresql({"x": [1.0, 2.0]}, tmp_path))
    picked = source.pick([0], [Need("mean", None)])
    with pytest.raises(UsageError, match="not computed inside PostgreSQL: its query has a function log"):
        rows_of(next(picked.frames).select(x=nw.col("c0").log().sum()))
    source.close()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1.5::float8 AS x",
        "SELECT 1.5::float8 AS x;",
        "  SELECT 1.5::float8 AS x -- the end",
        "WITH a AS (SELECT 1.5::float8 AS x) SELECT x FROM a",
        "SELECT 1.5::float8 AS x WHERE 'a%sb{0}$1' LIKE 'a%'",
    ],
)
def test_a_query_is_the_curators_own(query, postgres):
    found, domain, layout = mean_of(postgres, query)
    assert found == expected({"x": [1.5]}, dc.Normal(), domain, layout)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "takes a table or a query"),
        ({"table": "t", "query": "SELECT 1"}, "takes a table or a query"),
        ({"table": ""}, "name of a table"),
        ({"table": "a.b.c"}, "name of a table"),
        ({"table": 7}, "name of a table"),
        ({"query": ""}, "text of one SELECT"),
        ({"query": 7}, "text of one SELECT"),
        ({"table": "nowhere"}, "no such table"),
        ({"table": 'x"; DROP TABLE t; --'}, "no such table"),
        ({"table": "nowhere.visits"}, "no such table"),
        ({"query": "SELEC x"}, "not one statement"),
        ({"query": "SELECT 1 AS x; SELECT 2"}, "not one statement"),
        ({"query": "SELECT nothing FROM pg_class"}, "SQLSTATE 42703"),
        ({"query": "SELECT pg_advisory_lock(1), nextval('held') AS x"}, "SQLSTATE|no such table"),
        ({"query": "INSERT INTO t VALUES (1)"}, "not one statement"),
    ],
)
def test_refusals_are_one_line(arguments, words, postgres):
    with pytest.raises(DiscreetError, match=words) as caught:
        dc.release(postgres, dc.Mean(), column="x", bounds=(0, 1), epsilon=1, **arguments)
    assert "\n" not in caught.value.message
    assert caught.value.__context__ is None


def test_a_query_cannot_write(postgres, run):
    run("CREATE SEQUENCE IF NOT EXISTS held")
    with pytest.raises(DataError, match="may not"):
        mean_of(postgres, "SELECT nextval('held')::float8 AS x")


def test_tables_by_schema_and_view(postgres, run):
    run('CREATE SCHEMA IF NOT EXISTS "Ward 7"')
    run('CREATE OR REPLACE VIEW "Ward 7"."Visits" AS SELECT 2.5::float8 AS "Cost", 1 AS "select"')
    made = dc.release(
        postgres, dc.Mean(), table="Ward 7.Visits", column="Cost", bounds=(0, 5), epsilon=1, dataset="ward"
    )
    assert made.records == 1
    seen = dc.check(postgres, dc.Mean(), table="Ward 7.Visits", column="Cost", bounds=(0, 2))
    assert (seen.counts.records, seen.counts.above) == (1, 1)
    with pytest.raises(UsageError, match="no column 'cost'"):
        dc.release(postgres, dc.Mean(), table="Ward 7.Visits", column="cost", bounds=(0, 5), epsilon=1)


def test_table_and_query_are_for_databases(tmp_path):
    with pytest.raises(UsageError, match="for databases"):
        dc.release([1, 2], dc.Mean(), table="t", bounds=(0, 1), epsilon=1)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://somebody:secret@127.0.0.1:1/x",
        "postgresql://somebody:secret@127.0.0.1:{port}/nothing",
        "postgresql://somebody:secret@127.0.0.1:{port}/postgres",
    ],
)
def test_no_connection(address, postgres):
    port = postgres.rpartition(":")[2].partition("/")[0]
    with pytest.raises(DataError, match="cannot connect") as caught:
        dc.release(address.format(port=port), dc.Mean(), table="t", column="x", bounds=(0, 1), epsilon=1)
    assert "secret" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://a,b/c",
        "postgresql://u:secret@h/d?options=-c%20x",
        "postgresql:///d",
        "postgresql:",
        "postgres://h/d?service=x",
    ],
)
def test_addresses_are_read_into_allowed_parts(address):
    with pytest.raises(UsageError, match="PostgreSQL database") as caught:
        dc.release(address, dc.Mean(), table="t", column="x", bounds=(0, 1), epsilon=1)
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_an_error_of_a_row_says_nothing(postgres, capfd, caplog):
    """The curator's query divides by somebody's zero, or casts somebody's text."""
    said = []
    for expression in ("1 / x", "('ill-' || x)::float8"):
        query = f"SELECT ({expression})::float8 AS x FROM (VALUES (1), (0), (4242)) AS t(x)"
        with pytest.raises(DataError) as caught:
            mean_of(postgres, query)
        assert caught.value.__context__ is None
        said.append(f"{caught.value}")
    assert said == ["the data could not be read to its end."] * 2
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_a_connection_that_is_cut(postgres, run):
    query = "SELECT 1.0::float8 AS x FROM pg_sleep(30)"

    def cut() -> None:
        for _ in range(200):
            time.sleep(0.05)
            with psycopg.connect(postgres, autocommit=True) as other:
                found = other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE query LIKE 'WITH %pg_sleep(30)%' AND pid <> pg_backend_pid()"
                ).fetchall()
            if found:
                return

    helper = threading.Thread(target=cut)
    helper.start()
    with pytest.raises(DataError, match="was lost while the data were read") as caught:
        mean_of(postgres, query)
    helper.join()
    assert caught.value.hint == "nothing was released"


def test_a_time_limit_of_the_server(postgres, run):
    run("CREATE ROLE hasty LOGIN")
    run("ALTER ROLE hasty SET statement_timeout = '200ms'")
    with pytest.raises(DataError, match="stopped the query"):
        mean_of(postgres.replace("postgres@", "hasty@"), "SELECT 1.0::float8 AS x FROM pg_sleep(30)")


def test_a_server_that_dies():
    with running_server() as (url, folder):
        helper = threading.Timer(1.0, stop_server, [folder])
        helper.start()
        with pytest.raises(DataError, match=r"was lost|cannot connect"):
            mean_of(url, "SELECT 1.0::float8 AS x FROM pg_sleep(30)")
        helper.join()
        with pytest.raises(DataError, match=r"cannot connect|was lost"):
            mean_of(url, "SELECT 1.0::float8 AS x")


def test_a_table_that_changes_between_two_readings(postgres, run):
    """Bounds are bought from a first reading, and totals come from a second: here one with another number of rows."""
    run("CREATE SEQUENCE IF NOT EXISTS readings")
    run("DROP TABLE IF EXISTS moving")
    run("CREATE TABLE moving AS SELECT generate_series(1, 100)::float8 AS x")
    stop = threading.Event()

    def grow() -> None:
        with psycopg.connect(postgres, autocommit=True) as other:
            while not stop.is_set():
                other.execute("INSERT INTO moving VALUES (7)")

    helper = threading.Thread(target=grow)
    helper.start()
    try:
        with pytest.raises(DataError, match="did not stay the same"):
            dc.release(
                postgres,
                dc.Mean(),
                query="SELECT x FROM moving, pg_sleep(0.05)",
                column="x",
                bounds=dc.mechanisms.PrivateQuantiles(0.05, 0.95, within=(0, 200), epsilon=1),
                epsilon=1,
            )
    finally:
        stop.set()
        helper.join()

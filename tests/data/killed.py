"""Release from a slow source until somebody kills it: ``python killed.py KIND WHERE LEDGER OUTPUT``.

Bounds are bought, so the rows are read once before the charge and once after it.
"""

from __future__ import annotations

import sys
from typing import Any

import discreet as dc


def slow_rows(kind: str, where: str) -> dict[str, Any]:
    """Return data of which each reading takes seconds."""
    if kind == "postgresql":
        return {"data": where, "query": "SELECT 7.0::float8 AS x FROM generate_series(1, 50), pg_sleep(2)"}
    if kind == "spark":
        from tests.engines.sessions import new_session

        rows = new_session().range(0, 600_000, 1, 2)
        return {"data": rows.selectExpr("50 + 50 * sin(id) AS x")}
    import duckdb

    return {"data": duckdb.sql("SELECT 50 + 50 * sin(i) AS x FROM range(30_000_000) AS t(i)")}


def main() -> None:
    kind, where, ledger, output = sys.argv[1:]
    arguments = slow_rows(kind, where)
    made = dc.release(
        model=dc.Mean(),
        column="x",
        bounds=dc.mechanisms.PrivateQuantiles(0.05, 0.95, within=(0, 200), epsilon=1),
        epsilon=1,
        ledger=ledger,
        dataset="clinic",
        **arguments,
    )
    made.save(output)


if __name__ == "__main__":
    main()

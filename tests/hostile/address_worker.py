"""A program that opens ledgers and charges them as it is told: one JSON line in, one out.

``plant`` puts the old way back, by which an address was passed on to SQLAlchemy, to see that it is caught.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from typing import Any

import discreet as dc
from discreet.errors import BudgetError, DiscreetError

BUDGET, AMOUNT, TIMES = dc.PureDP(1), dc.PureDP("0.4"), 3
PATIENT, HASTY = 60.0, 0.01
_ledgers: list[dc.Ledger] = []


def opened(cwd: str, url: str) -> dict[str, Any]:
    os.chdir(cwd)
    _ledgers.append(dc.Ledger(url, budget=BUDGET, patience=PATIENT))
    return {"ledger": _ledgers[0].id}


def charged() -> dict[str, Any]:
    """Charge until the budget refuses, a few times at most."""
    granted = 0
    try:
        for _ in range(TIMES):
            _ledgers[0].charge("x", AMOUNT)
            granted += 1
    except BudgetError:
        pass
    except DiscreetError as problem:
        return {"granted": granted, **refusal(problem)}
    return {"granted": granted}


def probed(url: str) -> dict[str, Any]:
    """Charge once, without waiting for anybody."""
    hasty = dc.Ledger(url, budget=BUDGET, patience=HASTY)
    try:
        hasty.charge("x", AMOUNT)
    finally:
        hasty.close()
    return {"granted": 1}


def closed() -> dict[str, Any]:
    while _ledgers:
        _ledgers.pop().close()
    return {}


def audited(url: str) -> dict[str, Any]:
    return {"problems": list(dc.Ledger.audit(url).problems)}


def planted() -> dict[str, Any]:
    """From now on SQLAlchemy reads addresses, as it once did."""
    from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
    from sqlalchemy.engine import make_url

    from discreet.addresses import FileAddress
    from discreet.ledger import store

    class PassedOn:
        def __init__(self, address: FileAddress) -> None:
            self.url = address.path

        def exists(self) -> bool:
            return True

        def locate(self) -> str:
            return self.url

    connect = sqlite3.connect

    def passed_on(url: str, **how: Any) -> sqlite3.Connection:
        place, options = SQLiteDialect_pysqlite().create_connect_args(make_url(url))
        return connect(*place, **{**how, **options})  # pyright: ignore[reportArgumentType, reportCallIssue]

    names: dict[str, Any] = {"read_address": lambda url: FileAddress(url, url), "LedgerFile": PassedOn}
    for name, lie in names.items():
        setattr(store, name, lie)
    sqlite3.connect = passed_on  # type: ignore[assignment]
    return {}


def refusal(problem: DiscreetError) -> dict[str, Any]:
    return {"refused": problem.message, "hint": problem.hint, "kind": type(problem).__name__}


def main() -> None:
    verbs = {
        "open": opened,
        "probe": probed,
        "charge": charged,
        "audit": audited,
        "close": closed,
        "plant": planted,
    }
    for line in sys.stdin:
        verb, *words = json.loads(line)
        try:
            answer = verbs[verb](*words)
        except DiscreetError as problem:
            answer = refusal(problem)
        except Exception as problem:
            answer = {"raw": f"{type(problem).__name__}: {problem}"[:300]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

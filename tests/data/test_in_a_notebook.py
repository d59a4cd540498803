"""DuckDB in a notebook without ipywidgets refuses every word about its progress bar."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import discreet as dc


class Refusing:
    """A connection that refuses as DuckDB does there."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.refused = 0

    def execute(self, query: str, *more: Any) -> Any:
        if "progress_bar" in query:
            self.refused += 1
            raise duckdb.InvalidInputException("required package 'ipywidgets' is missing")
        return self._connection.execute(query, *more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_files_are_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Refusing] = []
    connect = duckdb.connect

    def refusing(*given: Any, **more: Any) -> Any:
        made.append(Refusing(connect(*given, **more)))
        return made[-1]

    monkeypatch.setattr(duckdb, "connect", refusing)
    release = dc.release(
        dc.datasets.clinic_survey(), dc.Mean(), column="age", bounds=(18, 100), epsilon=1, missing="none"
    )
    assert release.records == 2500
    assert sum(one.refused for one in made) > 0

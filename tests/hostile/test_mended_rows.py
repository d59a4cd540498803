"""Leaks of rows that were found, each as small as it gets."""

from __future__ import annotations

import datetime
import threading
import warnings
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet import profiles
from discreet.data.sources.conceal import run_concealed
from discreet.errors import UsageError
from discreet.sklearn import PrivateNaiveBayes
from tests.hostile.objects import FLOAT, OBJECTS, WHOLE, WORD
from tests.hostile.watch import watch

NORMAL: dict[str, Any] = {"bounds": (0, 10), "epsilon": 1}


def _fit(X: Any, y: Any) -> Any:
    return PrivateNaiveBayes(1, classes=[0, 1], categories=2, draws=20, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (pd.DataFrame({"a": [1, 0], "b": [0, complex(FLOAT, 1)]}), [0, 1], "unsuitable type"),
        (pd.DataFrame({"a": [1, 0]}), pd.DataFrame({"y": [0, complex(FLOAT, 1)]}), "unsuitable type"),
        (pd.DataFrame({"a": [1, WHOLE], "b": pd.to_datetime(["2000-01-01"] * 2)}), [0, 1], "dates or times"),
        (pl.DataFrame({"a": [1, WHOLE], "b": [datetime.date(4815, 1, 6)] * 2}), [0, 1], "dates or times"),
        (pa.table({"a": [1, WHOLE], "b": [[WORD], [WORD]]}), [0, 1], "unsuitable type"),
        (np.array(["4815-01-06"] * 2, dtype="M8[D]")[:, None], [0, 1], "dates or times"),
    ],
)
def test_types_that_an_estimator_cannot_use(X: Any, y: Any, message: str) -> None:
    seen = watch(lambda: _fit(X, y))
    assert isinstance(seen.error, UsageError)
    assert message in seen.error.message
    assert seen.problems() == []


def test_an_estimator_takes_any_object_for_missing() -> None:
    odd = [make() for make in OBJECTS.values()]
    X, y = np.ones((len(odd), 2), dtype=object), np.zeros(len(odd), dtype=object)
    for i, value in enumerate(odd):
        X[i, 0] = y[i - 1] = value
    for rows, classes in (
        (X, y),
        (pd.DataFrame(X, dtype=object), pd.Series(y, dtype=object)),
        ([list(row) for row in X], list(y)),
    ):
        seen = watch(lambda rows=rows, classes=classes: _fit(rows, classes).predict(rows))
        assert seen.error is None
        assert seen.problems() == []


def test_labels_of_a_table_are_read_as_those_of_an_array(rng: np.random.Generator) -> None:
    """Control of the new reader: whatever the container, the counts are the same but for tiny noise."""
    X, y = rng.integers(0, 2, (60, 2)), rng.integers(0, 2, 60)
    names = ["a", "b"]
    gaps = pd.DataFrame(X, columns=names).astype("Int64")
    tables = [
        X,
        X.tolist(),
        pd.DataFrame(X, columns=names),
        gaps,
        pl.DataFrame(X, schema=names),
        pa.table(dict(zip(names, X.T, strict=True))),
    ]
    made = [
        PrivateNaiveBayes(10_000, classes=[0, 1], categories=2, draws=20).fit(t, y).release_ for t in tables
    ]
    for other in made[1:]:
        assert other.totals.values == made[0].totals.values


@pytest.mark.parametrize(
    "files", [["a.csv", "b.csv"], ("a.parquet",), [" A.CSV.GZ ", PurePosixPath("b")], [Path("a")]]
)
@pytest.mark.parametrize("column", [None, "age"])
def test_a_list_of_files_is_no_data(files: Any, column: str | None, tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'ledger.db'}", dc.PureDP(3))
    spend: dict[str, Any] = {"ledger": ledger, "dataset": "people"}
    before = len(list(ledger.entries()))
    with pytest.raises(UsageError, match="every entry of this one is the name of a file") as caught:
        dc.release(files, dc.Normal(), column=column, **NORMAL, **spend)
    assert caught.value.hint is not None
    assert "a.csv" not in str(caught.value)
    with pytest.raises(UsageError, match="name of a file"):
        dc.release(files, dc.Bernoulli(), epsilon=1, **spend)
    assert len(list(ledger.entries())) == before
    with pytest.raises(UsageError, match="name of a file"):
        dc.release(files, dc.MultivariateNormal(2), bounds=[(0, 1)] * 2, epsilon=1)


def test_one_file_name_among_values_decides_nothing() -> None:
    for odd in ("a.csv", PurePosixPath("a.csv"), None, 5.0):
        assert dc.release([1.0, odd], dc.Normal(), **NORMAL).records == 2
    # file names that are declared to be the data are
    made = dc.release(["a.csv", "b.csv"], dc.Categorical(["a.csv", "b.csv"]), epsilon=1)
    assert made.records == 2
    assert dc.release({"x": ["a.csv", "b.csv"]}, dc.Normal(), **NORMAL).records == 2


def test_columns_under_columns() -> None:
    frame = pd.DataFrame(
        [[1.0, 2.0, 3.0]] * 5, columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c"), ("d", 1)])
    )
    assert dc.release(frame, dc.Normal(), column=("a", "b"), **NORMAL).columns == ("('a', 'b')",)
    assert dc.release(frame, dc.Normal(), column=("d", 1), **NORMAL).columns == ("('d', 1)",)
    plane = dc.release(  # pyright: ignore[reportCallIssue]
        frame,
        dc.MultivariateNormal(2),
        columns=[("a", "b"), ("a", "c")],  # pyright: ignore[reportArgumentType]
        bounds=[(0, 9)] * 2,
        epsilon=1,  # pyright: ignore[reportArgumentType]
    )
    assert plane.columns == ("('a', 'b')", "('a', 'c')")
    assert dc.Release.from_json(plane.to_json()) == plane
    numbered = pd.DataFrame({0: [1.0], 1: [2.0]})
    assert dc.release(numbered, dc.Normal(), column=1, **NORMAL).columns == ("1",)
    with pytest.raises(UsageError, match="there is no column"):
        dc.release(frame, dc.Normal(), column=("a", "z"), **NORMAL)
    for name in (object(), ("a", object()), (), 1j):
        with pytest.raises(UsageError, match="a column is named by text or a number"):
            dc.release(frame, dc.Normal(), column=name, **NORMAL)
    with pytest.raises(UsageError, match="columns must be a list"):
        dc.release(frame, dc.Normal(), columns=3, **NORMAL)  # pyright: ignore[reportCallIssue, reportArgumentType]


@pytest.mark.parametrize("what", ["raise", "warn", "print"])
def test_no_setting_of_numpy_makes_a_value_seen(what: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """Floating-point errors that raise would say that somebody's value is too large for a float."""
    wide = np.array([1.0, 1e4000], dtype=np.longdouble)
    with np.errstate(all=what):
        for rows in (
            wide,
            [1.0, wide[1]],
            {"x": np.array([1.0, np.inf])},
            np.array([1, 2**63], dtype=np.uint64),
        ):
            seen = watch(lambda rows=rows: dc.release(rows, dc.Normal(), **NORMAL), strict=what == "raise")
            assert seen.error is None
            assert seen.problems() == []
    assert capfd.readouterr() == ("", "")


def test_polars_objects_are_read_one_by_one() -> None:
    frame = pl.DataFrame({"x": pl.Series([1.0, OBJECTS["raising"]()], dtype=pl.Object), "y": [1, 2]})
    assert dc.release(frame, dc.Normal(), column="x", **NORMAL).records == 2
    assert dc.release(frame.lazy(), dc.Normal(), column="x", **NORMAL).records == 2
    assert dc.release(frame["x"], dc.Normal(), **NORMAL).records == 2


def test_silence_ends_with_the_last_seal() -> None:
    """Threads that read at the same time leave the filters of warnings as they were."""
    before = list(warnings.filters)
    inside, leave = threading.Barrier(2), threading.Event()

    def stay() -> None:
        def read() -> None:
            inside.wait(10)
            leave.wait(10)

        run_concealed(read)

    thread = threading.Thread(target=stay)
    thread.start()

    def read() -> None:
        inside.wait(10)
        warnings.warn(WORD, stacklevel=1)

    run_concealed(read)
    leave.set()
    thread.join()
    assert list(warnings.filters) == before
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)


@pytest.mark.parametrize("name", ["word", "raising", "raising text", "list", "interrupting", "rude class"])
def test_an_observation_stays_out_of_the_error_and_of_what_is_behind_it(name: str) -> None:
    value = OBJECTS[name]()
    fitted = profiles.RandomizedResponse().fit(profiles.ProfileGraph({"p": 0.3, "q": 0.6}, "complete"), 1)
    for call in (
        lambda: fitted.privatize(value, "p"),
        lambda: fitted.privatize(0, value),
        lambda: fitted.privatize_many([0, value], "p"),
        lambda: fitted.matrix(value),
    ):
        seen = watch(call)
        assert isinstance(seen.error, UsageError)
        assert seen.problems() == []


@pytest.mark.parametrize(
    "records",
    [[1, WORD], [[1], [1, 2]], [1j], [OBJECTS["raising float"]], None, np.array("4815-01-06", "M8[D]")],
)
def test_public_records_that_are_none(records: Any) -> None:
    seen = watch(lambda: dc.Bernoulli().learn(dc.priors.Beta(1, 1), records))
    assert isinstance(seen.error, UsageError)
    assert seen.problems() == []


def test_what_is_read_is_not_shown() -> None:
    from discreet.curator.declare import declare
    from discreet.curator.draw import read
    from discreet.data import summarize
    from discreet.mechanisms.noise import Laplace

    domain = dc.Normal().read_domain(bounds=(0, 10), outside="clip", missing="count")
    layout = dc.Normal().layout(domain, "replace")
    assert "values" not in repr(summarize([FLOAT], dc.Normal(), domain, layout))
    asked = declare([FLOAT], dc.Normal(), Laplace(1), bounds=(0, 10))
    for shown in (repr(asked), repr(read(asked))):
        assert "48151623" not in shown


def test_the_name_of_a_class_is_shown_only_if_a_library_gave_it() -> None:
    """The name of a class that was made for one object can hold anything, such as its value."""
    named = type(WORD, (float,), {})
    claimed = type(WORD, (), {"__module__": "builtins"})
    for data in (named(1.0), claimed(), {"x": named(1.0)}, {"x": claimed()}):
        with pytest.raises(UsageError) as error:
            dc.release(data, dc.Normal(), column="x", bounds=(0, 1), epsilon=1)
        assert WORD not in str(error.value)
    with pytest.raises(UsageError, match="of type set"):
        dc.release({1, 2}, dc.Normal(), bounds=(0, 1), epsilon=1)

"""Lists of files, folders of Parquet, patterns, spreadsheets: the same integers as one file, and clear refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import data
from discreet.errors import DataError, DiscreetError, MissingPackageError, UsageError
from tests.data.builders import Columns, csv_text, declarations

ROWS: Columns = {
    "id": ["a", "b", None, "a", "é", "b", "c"],
    "region": ["north", "south", "north", "north", "south", "south", "north"],
    "x": [1.5, math.nan, None, math.inf, 1e300, -3.0, 99.0],
}


def parts() -> list[Columns]:
    """The rows in three pieces, one of them empty."""
    return [{k: v[a:b] for k, v in ROWS.items()} for a, b in ((0, 4), (4, 4), (4, 7))]


def parquet_part(part: Columns, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([(name, pa.float64() if name == "x" else pa.string()) for name in part])
    pq.write_table(pa.table(part, schema=schema), path)
    return path


def csv_part(part: Columns, path: Path, *, end: bool) -> Path:
    text = csv_text(part)
    path.write_text(text if end else text.rstrip("\n"))
    return path


def sources(folder: Path) -> dict[str, Any]:
    pieces = parts()
    csv = [csv_part(p, folder / f"{i}.csv", end=i > 0) for i, p in enumerate(pieces)]
    flat = [parquet_part(p, folder / "flat" / f"{i}.parquet") for i, p in enumerate(pieces)]
    parquet_part(pieces[0], folder / "flat" / "_temporary" / "9.parquet")
    table = pa.table(
        ROWS, schema=pa.schema([("id", pa.string()), ("region", pa.string()), ("x", pa.float64())])
    )
    ds.write_dataset(
        table,
        folder / "hive",
        format="parquet",
        partitioning=["region"],
        partitioning_flavor="hive",
        existing_data_behavior="overwrite_or_ignore",
    )
    return {
        "csv list": csv,
        "csv text": [str(path) for path in csv],
        "csv pattern": folder / "*.csv",
        "parquet list": tuple(flat),
        "parquet pattern": str(folder / "flat" / "[0-2].parquet"),
        "folder": folder / "flat",
        "folder as text": str(folder / "flat"),
        "hive": folder / "hive",
    }


def test_the_same_integers_as_one_table(tmp_path):
    cases: list[tuple[Any, Any, list[str]]] = [
        (dc.Normal(), (-3, 100), ["x"]),
        (dc.Histogram(bins=8), (-3, 100), ["x"]),
        (dc.Categorical(["north", "south"]), None, ["region"]),
    ]
    for family, bounds, columns in cases:
        domain, layout = declarations(family, bounds, "clip")
        truth = _values(ROWS, family, domain, layout, columns)
        for name, source in sources(tmp_path).items():
            assert _values(source, family, domain, layout, columns) == truth, (family, name)


def _values(source: Any, family: Any, domain: Any, layout: Any, columns: list[str]) -> tuple[int, ...]:
    from importlib import import_module

    from discreet.data.summaries.registry import SUMMARIES

    module, _, name = SUMMARIES[family.summary].partition(":")
    return getattr(import_module(module), name)(source, family, domain, layout, columns).values


@pytest.mark.parametrize("kind", ["csv list", "parquet list", "hive"])
def test_people_and_groups(kind, tmp_path):
    made = dc.release(
        sources(tmp_path)[kind],
        dc.Mean(),
        column="x",
        bounds=(-3, 100),
        unit="id",
        per_unit="mean",
        epsilon=1,
    )
    assert made.records == 4
    by = dc.release(
        sources(tmp_path)[kind],
        dc.Mean(),
        column="x",
        bounds=(-3, 100),
        by="region",
        groups=["north", "south"],
        epsilon=1,
    )
    assert by.records == 7


def test_models_of_several_columns(tmp_path):
    model = dc.models.NaiveBayes(
        target=dc.models.Labels("region", ["north", "south"]),  # pyright: ignore[reportArgumentType]
        features=[dc.models.Labels("id", ["a", "b", "c"])],  # pyright: ignore[reportArgumentType]
    )
    domain = model.read_domain(None, "clip", "count", None)
    truth = data.count_tables(ROWS, model, domain).values
    for name, source in sources(tmp_path).items():
        assert data.count_tables(source, model, domain).values == truth, name


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a.csv", "nowhere.csv"], "number 2 is none"),
        (["a.csv", "a.parquet"], "all CSV, all TSV or all Parquet"),
        (["a.csv", "b.csv"], "number 2 of the list has another header"),
        (["a.parquet", "b.parquet"], "number 2 has other columns"),
        (["a.parquet", "broken.parquet"], "not a readable Parquet file"),
        (Path("empty"), "no Parquet file in empty"),
        (Path("*.tsv"), "no file"),
        (Path("mixed"), "not all named after the same columns"),
        (Path("a.doc"), "cannot tell what kind"),
    ],
)
def test_refusals(names, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv_part(parts()[0], Path("a.csv"), end=True)
    Path("b.csv").write_text("id,region,y\n1,2,3\n")
    parquet_part(parts()[0], Path("a.parquet"))
    parquet_part({"x": [1.0]}, Path("b.parquet"))
    Path("broken.parquet").write_text("no")
    Path("empty").mkdir()
    parquet_part({"x": [1.0]}, Path("mixed/region=north/a.parquet"))
    parquet_part({"x": [1.0]}, Path("mixed/b.parquet"))
    with pytest.raises(DiscreetError, match=words) as caught:
        dc.release(names, dc.Normal(), column="x", bounds=(0, 1), epsilon=1)
    assert "\n" not in caught.value.message
    assert "nowhere" not in caught.value.message


def test_a_column_of_file_names_is_data_if_it_is_given_as_a_column():
    names = ["a.csv", "b.csv"]
    assert dc.release({"x": names}, dc.Categorical(["a.csv", "b"]), column="x", epsilon=1).records == 2
    assert dc.release(names, dc.Categorical(["a.csv", "b.csv"]), epsilon=1).records == 2


def test_files_of_statistics_packages(tmp_path):
    frame = pd.DataFrame({"x": [1.5, np.nan, 7.0, 99.0], "who": ["yes", "no", "yes", ""]})
    frame.to_stata(tmp_path / "rows.dta", write_index=False)
    family = dc.Normal()
    domain, layout = declarations(family, (-3, 100))
    truth = data.summarize(frame, family, domain, layout, ["x"]).values
    assert data.summarize(tmp_path / "rows.dta", family, domain, layout, ["x"]).values == truth
    (tmp_path / "broken.sas7bdat").write_text("no")
    with pytest.raises(DataError, match="could not be read"):
        data.summarize(tmp_path / "broken.sas7bdat", family, domain, layout, ["x"])


@pytest.mark.parametrize(("name", "package"), [("a.xlsx", "openpyxl"), ("a.sav", "pyreadstat")])
def test_packages_that_are_missing_are_named(name, package, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("no")
    with pytest.raises(MissingPackageError, match=f"pip install {package}") as caught:
        dc.release(name, dc.Normal(), column="x", bounds=(0, 1), epsilon=1)
    assert "\n" not in str(caught.value)


def test_a_name_without_a_known_ending_says_which_there_are(tmp_path):
    (tmp_path / "rows.json").write_text("{}")
    with pytest.raises(UsageError) as caught:
        dc.release(tmp_path / "rows.json", dc.Normal(), column="x", bounds=(0, 1), epsilon=1)
    assert ".parquet" in caught.value.hint  # pyright: ignore[reportOperatorIssue]
    assert ".xlsx" in caught.value.hint  # pyright: ignore[reportOperatorIssue]

"""Numbers as labels: one rule over all sources. A whole number goes by its digits, as a float and as 1.0 in text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.summaries.sums import summarize
from discreet.errors import UsageError

ROWS = [1, 2, 2, 3, 1, 9]


def sources(folder: Any) -> dict[str, Any]:
    floats, texts, pointed = [float(i) for i in ROWS], [str(i) for i in ROWS], [f"{i}.0" for i in ROWS]
    tables = {"integers": ROWS, "floats": floats, "texts": texts, "pointed": pointed}
    out: dict[str, Any] = {"decimals": {"x": [Decimal(i) for i in ROWS]}}
    for name, values in tables.items():
        table = pa.table({"x": values})
        pq.write_table(table, folder / f"{name}.parquet")
        (folder / f"{name}.csv").write_text("x,y\n" + "".join(f"{value},0\n" for value in values))
        out |= {
            f"list of {name}": {"x": values},
            f"numpy {name}": {"x": np.array(values)},
            f"pandas {name}": pd.DataFrame({"x": values}),
            f"polars {name}": pl.DataFrame({"x": values}),
            f"pyarrow {name}": table,
            f"duckdb {name}": duckdb.connect().from_arrow(table),
            f"parquet {name}": folder / f"{name}.parquet",
            f"csv {name}": folder / f"{name}.csv",
        }
    return out


def counted(data: Any, model: Any) -> tuple[int, ...]:
    domain = model.read_domain(None, "redact", "count")
    return summarize(data, model, domain, model.layout(domain, "replace"), ["x"]).values


def test_every_source_gives_the_same_counts(tmp_path):
    for name, data in sources(tmp_path).items():
        assert counted(data, dc.Categorical([1, 2, 3])) == (2, 2, 1, 5), name
    for name, data in sources(tmp_path).items():
        assert counted(data, dc.Bernoulli(yes=1, no=2)) == (0, 4), name


def test_other_spellings_in_text_are_no_label(tmp_path):
    odd = ["1.00", "01", "+1", "1e0", "1,0", " 1 "]
    (tmp_path / "odd.csv").write_text('x,y\n"1.00",0\n01,0\n+1,0\n1e0,0\n"1,0",0\n 1 ,0\n')
    for data in ({"x": odd}, pa.table({"x": odd}), pl.DataFrame({"x": odd}), tmp_path / "odd.csv"):
        assert counted(data, dc.Categorical([1, 2])) == (1, 0, 1)
    assert counted({"x": [1.5, 2.5, 1.0]}, dc.Categorical([1, 2])) == (1, 0, 1)


@pytest.mark.parametrize("words", [{"yes": 1.0, "no": 2}, {"yes": 1, "no": 2.5}, {"yes": True, "no": 2}])
def test_a_label_is_no_fraction_and_no_count(words):
    with pytest.raises(UsageError, match="texts or whole numbers"):
        dc.Bernoulli(**words)

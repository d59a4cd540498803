"""CSV files: one line is one record, whatever its bytes."""

from __future__ import annotations

import csv
import gzip
import io
import random
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet import data
from discreet.data.sources import lines
from discreet.data.sources.lines import LineSource
from discreet.data.sources.source import Need
from discreet.data.sources.values import Vocabulary
from discreet.errors import DataError, UsageError
from discreet.objects import number
from tests.data.builders import declarations

FAMILY = dc.Normal()
DOMAIN, LAYOUT = declarations(FAMILY, (-3, 100))


def sums(source, columns=("x",)):
    return data.summarize(source, FAMILY, DOMAIN, LAYOUT, columns)


# a line of a file with the columns a, x, b; and its x, or None if x is missing
LINES: list[tuple[bytes, float | None]] = [
    (b"1,2,3", 2.0),
    (b"1, 2.5 ,3", 2.5),
    (b'1,"7",3', 7.0),
    (b'1, "7" ,3', 7.0),
    (b'1," 7 ",3', 7.0),
    (b'"a,b",8,"say ""hi"""', 8.0),
    (b'"",9,""', 9.0),
    (b",,", None),
    (b"1,,3", None),
    (b"1,word,3", None),
    (b"1,2", None),
    (b"1,2,3,4", None),
    (b"7", None),
    (b'1,"2,3', None),
    (b'1,2,"3', None),
    (b'1,2,3"', None),
    (b'1,"2"x,3', None),
    (b'1,x"2",3', None),
    (b'1,"2""3",3', None),
    (b'"', None),
    (b'""', None),
    (b'"""', None),
    (b"\xff\xfe,5,\x80", 5.0),
    (b"\xc3\xa9,6,\xe2\x82\xac", 6.0),
    (b"1,\xff,3", None),
    (b"1,2\x00,3", None),
    (b"\x00,4,\x00", 4.0),
    (b"\x01,4,\x01\x01", 4.0),
    (b"1,5\r,3", None),
    (b"\r1,5,3\r\r", 5.0),
    (b"1,1_000,3", None),
    (b"1,0x10,3", None),
    (b"1,1e400,3", float("inf")),
    (b"1,-Infinity,3", float("-inf")),
    (b"1,NaN,3", None),
    (b"1,\xd9\xa1,3", None),
    (b"#1,2,3", 2.0),
    (b"1;2;3", None),
    (b"a" * 3000 + b",11," + b'"' + b"b" * 3000 + b'"', 11.0),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_every_line_is_read_on_its_own(tmp_path, end, threads, monkeypatch):
    def connect(*path):
        connection = original(*path)
        connection.execute(f"SET threads = {threads}")
        return connection

    original = lines.connect
    monkeypatch.setattr(lines, "connect", connect)
    path = tmp_path / "rows.csv"
    path.write_bytes(end.join([b"a,x,b", *(line for line, _ in LINES)]) + end)
    assert sums(path) == sums({"x": [x for _, x in LINES]})


@pytest.mark.parametrize("at", range(len(LINES)), ids=lambda i: repr(LINES[i][0][:12]))
def test_a_line_never_touches_its_neighbors(tmp_path, at):
    """Between two records that are well, whatever stands there is one record: one missing value, or its own x."""
    line, x = LINES[at]
    path = tmp_path / "rows.csv"
    path.write_bytes(b'a,x,b\n1,10,"q"\n' + line + b'\n1,20,"q"\n')
    assert sums(path) == sums({"x": [10.0, x, 20.0]})


@settings(max_examples=15, derandomize=True, deadline=None)
@given(st.binary(min_size=1, max_size=40).filter(lambda line: b"\n" not in line and line != b"\r"))
@example(b'"\r')
@example(b'1,"')
def test_any_bytes_are_one_record(tmp_path_factory, line):
    path = tmp_path_factory.mktemp("any") / "rows.csv"
    path.write_bytes(b"a,x,b\n1,10,2\n" + line + b"\n1,20,2\n")
    alone = tmp_path_factory.mktemp("any") / "rows.csv"
    alone.write_bytes(b"a,x,b\n" + line)
    with_line, without, only = sums(path), sums({"x": [10.0, 20.0]}), sums(alone)
    assert with_line.n_records == 3
    assert only.n_records == 1
    assert with_line.values == tuple(a + b for a, b in zip(without.values, only.values, strict=True))


@pytest.mark.parametrize("block", [1, 2, 3, 7, 100, 5000, 1 << 23])
def test_blocks_make_no_difference(tmp_path, block, monkeypatch):
    monkeypatch.setattr(lines, "_BLOCK", block)
    monkeypatch.setattr(lines, "LONGEST", 50)
    # at the limit and around it, with one and two carriage returns at the end
    near = [
        (b"1," + b"5".rjust(width, b"0") + b",3" + ends, 5.0)
        for width in range(42, 50)
        for ends in (b"", b"\r")
    ]
    rows = [*LINES, *near, *LINES]
    expected = [x if len(line) <= 50 else None for line, x in rows]
    path = tmp_path / "rows.csv"
    path.write_bytes(b"\r\n".join([b"a,x,b", *(line for line, _ in rows)]))
    assert sums(path) == sums({"x": expected})
    assert {len(line) for line, _ in near} >= {49, 50, 51}


def test_a_long_line_is_malformed_and_no_other(tmp_path):
    path = tmp_path / "rows.csv"
    fits = b"1," + b"0" * (lines.LONGEST - 3) + b"5"
    path.write_bytes(b"a,x\n1,2\n" + fits + b"\n" + fits + b" \r\n" + b"1,7" * 4_000_000 + b"\n1,3\n")
    assert sums(path) == sums({"x": [2.0, 5.0, None, None, 3.0]})
    assert data.inspect(path, FAMILY, DOMAIN, ["x"]).malformed == 2


def test_lines_with_an_open_quote_are_counted(tmp_path):
    """A field with line breaks is several records; the pieces at its ends have an odd number of marks."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b'a,x\n1,2\n"two\n\nlines, with ""words""\nof text",3\n"a ""q""",4\n1,2,3\n"b"b,4\n')
    seen = data.inspect(path, FAMILY, DOMAIN, ["x"])
    assert (seen.records, seen.usable, seen.malformed, seen.unclosed) == (7, 2, 5, 2)
    path.write_bytes(b"x\n" + b"1" * (lines.LONGEST + 1) + b"\n1\n")
    seen = data.inspect(path, FAMILY, DOMAIN, ["x"])
    assert (seen.records, seen.malformed, seen.unclosed) == (2, 1, 0)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(st.lists(st.text('a",', max_size=8), min_size=1, max_size=20))
def test_an_open_quote_is_always_malformed(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("open") / "rows.csv"
    path.write_text("a,x\n" + "".join(f"{row}\n" for row in rows))
    seen = data.inspect(path, FAMILY, DOMAIN, ["x"])
    assert seen.unclosed == sum(row.count('"') % 2 for row in rows)
    assert seen.malformed is not None
    assert seen.malformed >= seen.unclosed  # pyright: ignore[reportOperatorIssue]


def test_a_word_far_down(tmp_path, capfd):
    values: list = [str(i % 90) for i in range(60_000)]
    values[45_000], values[50_000] = "forty-two", "7,8"
    path = tmp_path / "rows.csv"
    path.write_text("id,x\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values)))
    values[50_000] = None
    assert sums(path) == sums({"x": values})
    seen = data.inspect(path, FAMILY, DOMAIN, ["x"])
    assert (seen.records, seen.usable, seen.unknown, seen.malformed) == (60_000, 59_998, 1, 1)
    assert capfd.readouterr() == ("", "")


def test_empty_lines(tmp_path):
    """An empty line is nothing in a table of several columns and an empty field in a table of one."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,x\n\n1,2\n\r\n1,3\n\n")
    assert sums(path).n_records == 2
    path.write_bytes(b"x\n\n2\n\r\n3\n")
    assert sums(path) == sums({"x": [None, 2.0, None, 3.0]})
    path.write_bytes(b"x\n2\n3")
    assert sums(path) == sums({"x": [2.0, 3.0]})


def test_fields_are_split_as_the_csv_module_writes_them(tmp_path):
    rng = random.Random(7)
    letters = 'ab ",;\t|é€'
    rows = [["".join(rng.choices(letters, k=rng.randint(0, 6))) for _ in range(3)] for _ in range(3000)]
    for delimiter in ",;\t|":
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        writer.writerow(["a", "x", "b"])
        writer.writerows(rows)
        path = tmp_path / "rows.csv"
        path.write_text(out.getvalue(), encoding="utf-8")
        picked = LineSource(path, delimiter=None).pick(
            [0, 1, 2], [Need("categorical", Vocabulary.of([["a"]]))] * 3
        )
        table = next(picked.frames).lazy().collect("pyarrow").to_native()
        columns = [table[f"c{i}"].to_pylist() for i in range(3)]
        found = [[field.encode("latin-1").decode() for field in row] for row in zip(*columns, strict=True)]
        assert sorted(found) == sorted([field.strip(" \t") for field in row] for row in rows)


def test_numbers_in_text_are_read_as_in_lists(tmp_path):
    """DuckDB inside and Python outside agree on what a number is, and on its last bit."""
    rng = random.Random(3)
    digits = "0123456789"

    def draw() -> str:
        if rng.random() < 0.4:
            return repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 308))
        if rng.random() < 0.5:
            whole, part = ("".join(rng.choices(digits, k=rng.randint(1, 30))) for _ in range(2))
            return f"{whole}.{part}e{rng.randint(-340, 320)}"
        return "".join(rng.choices(digits + ".eE+-infatyNAIFTY_ x", k=rng.randint(1, 9)))

    fixed = "1. .5 +.5e-3 00012 -0 1e400 -1e400 1e-400 nan NaN -nan inf +Inf INFINITY 4.9e-324 2.4e-324 . + e5 1e 1e+"
    fixed += " +. infin nanx 0x10 1_000 1__0 1e1_0 --1 1f 1.5.2 1.7976931348623159e308 9007199254740993 1e9999999999"
    long = ["1" * 400, "0." + "0" * 400 + "1", "1 2", " 3\t"]
    texts = [*fixed.split(), *long, *(draw() for _ in range(20_000))]
    path = tmp_path / "rows.csv"
    path.write_text("n,x\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(texts)))
    picked = LineSource(path, delimiter=None).pick([0, 1], [Need("normal", None)] * 2)
    table = next(picked.frames).lazy().collect("pyarrow").to_native().sort_by("c0")
    found = table["c1"].to_pylist()
    read = [number(text) for text in texts]
    assert [repr(f) for f in found] == [
        # a sign on NaN means nothing
        "None" if r is None else repr(r)
        for r in (None if not text.strip() else value for text, value in zip(texts, read, strict=True))
    ]
    assert sum(r is not None for r in read) > 10_000
    assert sum(r is None for r in read) > 1_000


def test_the_header_decides(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes('\ufeff"x, y" ; "a;b";été;x'.encode() + b"\r\n1;2;3;4\r\n")
    assert data.column_names(path) == ["x, y", "a;b", "été", "x"]
    assert sums(path, ["été"]) == dc_summary(3.0, "été")
    path.write_bytes(b"a|b|x\n1|2|3\n")
    assert sums(path) == dc_summary(3.0, "x")
    path.write_bytes("größe,x\n1,2\n".encode("latin-1"))
    assert data.column_names(path) == ["größe", "x"]
    tabs = tmp_path / "rows.TSV"
    tabs.write_bytes(b"a,b\tx\n1,2\t3\n")
    assert data.column_names(tabs) == ["a,b", "x"]
    assert sums(tabs) == dc_summary(3.0, "x")


def dc_summary(x: float, name: str):
    return sums({name: [x]}, [name])


def test_labels_that_are_not_ascii(tmp_path):
    family = dc.Categorical(("été", "日本", "é"))
    domain, layout = declarations(family)
    path = tmp_path / "rows.csv"
    path.write_bytes("a,x\n1,été\n2,日本\n3, 日本 \n4,e\u0301\n".encode() + b"5,\xe9\n")
    assert data.summarize(path, family, domain, layout, ["x"]).values == (1, 2, 0, 3)


@pytest.mark.parametrize("name", ['it\'s "q".csv', "a[1]*?.csv", "a=1.csv", "sp ace.csv.gz"])
def test_odd_names(tmp_path, name):
    path = tmp_path / name
    content = 'we"ird,"it\'s, x"\n1,2\n'.replace('we"ird', '"we""ird"').encode()
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert data.column_names(str(path)) == ['we"ird', "it's, x"]
    assert sums(path, ["it's, x"]) == dc_summary(2.0, "it's, x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not start with a header line"),
        (b"\n1\n", "does not start with a header line"),
        (b"\xff\xfea\x00,\x00x\x00\n", "UTF-16"),
        (b"x" * (lines.LONGEST + 5), "does not start with a header line"),
    ],
)
def test_no_header(tmp_path, content, message):
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        sums(path)


def test_columns_of_a_file(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,x,x\n1,2,3\n")
    with pytest.raises(UsageError, match="appears 2 times"):
        sums(path)
    with pytest.raises(UsageError, match=re.escape("there is no column 'y'.")) as error:
        sums(path, ["y"])
    assert error.value.hint == "the columns are a, x, x"
    with pytest.raises(UsageError, match="name the column"):
        sums(path, None)
    with pytest.raises(UsageError, match=re.escape("normal takes 1 column(s), got 2.")):
        sums(path, ["a", "x"])

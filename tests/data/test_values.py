"""Python objects as numbers and labels."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet import data
from discreet.data.sources.values import Vocabulary
from discreet.objects import number
from tests.data.builders import declarations


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (1, 1.0),
        (True, 1.0),
        (np.bool_(False), 0.0),
        (np.int8(-3), -3.0),
        (np.float32(0.1), float(np.float32(0.1))),
        (2**53 + 1, 2.0**53),
        (10**400, math.inf),
        (-(10**400), -math.inf),
        (Fraction(1, 3), 1 / 3),
        (Fraction(10) ** 400, math.inf),
        (Decimal("0.1"), 0.1),
        (Decimal("1e400"), math.inf),
        (Decimal("-Infinity"), -math.inf),
        ("1.5", 1.5),
        (np.str_(" 1.5\t"), 1.5),
        ("-INFINITY", -math.inf),
        ("1e400", math.inf),
        ("1.", 1.0),
        (".5e1", 5.0),
    ],
)
def test_numbers(value, read):
    assert number(value) == read


@pytest.mark.parametrize(
    "value",
    [
        None,
        math.nan,
        np.nan,
        pd.NA,
        pd.NaT,
        np.datetime64("NaT"),
        Decimal("NaN"),
        Decimal("sNaN"),
        "",
        " \t",
        "nan",
        "NaN",
    ],
)
def test_absent(value):
    assert math.isnan(number(value))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "value",
    [
        *("x", "1_000", "0x10", "1,5", "１", "١", "1e", "e1", ".", "+-1", "1\n", "\u00a01", "ınf", "infinit"),
        *(b"1", 1j, [1], {}, object(), datetime.date(2000, 1, 1), np.array([1.0, 2.0])),
    ],
)
def test_unreadable(value):
    assert number(value) is None


class Rude:
    """An object whose every answer is an exception."""

    def __eq__(self, other):
        raise RuntimeError("sentinel")

    __ne__ = __bool__ = __float__ = __len__ = __iter__ = __hash__ = __eq__  # pyright: ignore[reportAssignmentType]


def test_rude_objects_are_missing():
    family = dc.Normal()
    domain, layout = declarations(family, (0, 10))
    assert data.summarize([5.0, Rude()], family, domain, layout) == data.summarize(
        [5.0, None], family, domain, layout
    )
    assert data.inspect([5.0, Rude(), None, "word", ""], family, domain).unknown == 2
    family = dc.Bernoulli()
    domain, layout = declarations(family)
    assert data.summarize([1, Rude()], family, domain, layout) == data.summarize(
        [1, None], family, domain, layout
    )
    assert data.inspect([1, Rude(), None, "word", "", "nan", math.nan, 2, pd.NA], family, domain).unknown == 4


def raiser(*bases, error=RuntimeError, **methods):
    """Return a class whose methods raise; a property if it is the class that is asked for."""

    def fail(self, *arguments):
        raise error("sentinel")

    names = [*methods.get("names", ()), "__hash__"]
    return type("Raiser", bases, {name: property(fail) if name == "__class__" else fail for name in names})


class Panic(BaseException):
    """Like the panics of some extension modules, not an Exception."""


def raising_objects(error=RuntimeError):
    """Yield objects that raise, and what they are read as: by their base type, or as missing."""
    yield raiser(str, error=error, names=["strip", "__eq__", "__str__"])("7"), "7"
    yield raiser(float, error=error, names=["__float__"])(7.0), 7.0
    yield raiser(int, error=error, names=["__int__", "__float__", "__index__"])(7), 7
    yield raiser(Decimal, error=error, names=["__float__", "__int__"])(7), Decimal(7)
    yield raiser(Fraction, error=error, names=["__float__", "__gt__", "__truediv__", "_numerator"])(7), None
    yield raiser(error=error, names=["__eq__", "__ne__", "__float__", "__index__"])(), None
    yield raiser(error=error, names=["__class__"])(), None
    yield raiser(list, error=error, names=["__len__", "__ne__", "__getitem__", "__iter__"])([7, 7]), [7, 7]
    yield raiser(tuple, error=error, names=["__getitem__", "__ne__", "__iter__", "__len__"])((7, 7)), (7, 7)


ERRORS = [RuntimeError, GeneratorExit, MemoryError, RecursionError, Panic, KeyboardInterrupt, SystemExit]


@pytest.mark.parametrize("error", ERRORS)
def test_objects_are_asked_nothing(error):
    """None of their methods runs, so not even an interrupt is raised."""
    plane = dc.MultivariateNormal(2)
    for family, bounds, good in (
        (dc.Normal(), (0, 10), 5.0),
        (dc.Bernoulli(), None, "yes"),
        (plane, [(0, 10), (0, 10)], (5.0, 6.0)),
    ):
        domain, layout = declarations(family, bounds)
        for value, read in raising_objects(error):
            truth = data.summarize([good, read, good], family, domain, layout)
            assert data.summarize([good, value, good], family, domain, layout) == truth
            seen = data.inspect([good, value, good], family, domain)
            assert seen.missing == data.inspect([good, read, good], family, domain).missing
            if family is plane:
                truth = data.summarize([good, (5.0, read), good], family, domain, layout)
                assert data.summarize([good, (5.0, value), good], family, domain, layout) == truth
            else:
                column = pd.Series([good, value, good], dtype=object)
                assert data.summarize(column, family, domain, layout).values == truth.values


class Returning(float):
    """A float that answers with itself, which Python deprecates, naming the type."""

    def __float__(self):
        return self


def test_a_subclass_warns_of_nothing(recwarn):
    domain, layout = declarations(dc.Normal(), (0, 10))
    truth = data.summarize([5.0, 7.0], dc.Normal(), domain, layout)
    for rows in ([5.0, Returning(7.0)], pd.Series([5.0, Returning(7.0)], dtype=object)):
        assert data.summarize(rows, dc.Normal(), domain, layout).values == truth.values
    assert not recwarn.list


def test_arrays_without_a_length_are_missing_rows():
    family = dc.MultivariateNormal(2)
    domain, layout = declarations(family, [(0, 10), (0, 10)])
    rows = [(1.0, 2.0), np.array(3.0), np.float64(3.0)]
    good = [(1.0, 2.0), None, None]
    assert data.summarize(rows, family, domain, layout) == data.summarize(good, family, domain, layout)


@pytest.mark.parametrize(
    "column",
    [
        ["yes", "\ud800", "no"],
        np.array(["yes", "\ud800", "no"]),
        np.array([b"yes", b"\xff", b"no"]),
        pd.Series(["yes", "\ud800", "no"], dtype="string[python]"),
        pd.Series(["yes", "\ud800", "no"], dtype=object),
        pd.Series(["yes", "\ud800", "no"], dtype="string[python]").astype("category"),
        np.ma.masked_array(["yes", "yes", "no"], mask=[False, True, False]),
    ],
    ids=["list", "numpy", "numpy bytes", "pandas string", "pandas object", "pandas category", "masked"],
)
def test_text_that_is_not_unicode_is_missing(column):
    family = dc.Bernoulli()
    domain, layout = declarations(family)
    assert data.summarize(column, family, domain, layout).values == (0, 2)
    numeric = dc.Normal()
    domain, layout = declarations(numeric, (0, 10))
    assert data.summarize(column, numeric, domain, layout).values[-1] == 0


def test_rows_of_the_wrong_length_are_missing():
    family = dc.MultivariateNormal(2)
    domain, layout = declarations(family, [(0, 10), (0, 10)])
    rows = [(1.0, 2.0), [3.0, 4.0], (5.0,), (6.0, 7.0, 8.0), None, "12", 3.0, np.array([5.0, 6.0])]
    good = [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)] + [(None, None)] * 5
    assert data.summarize(rows, family, domain, layout) == data.summarize(good, family, domain, layout)


def test_vocabularies():
    words = Vocabulary.of([("a", "1"), ("1.0", "-2"), ("-0", "007"), ("x", "a")])
    assert words.find("a") == 0
    assert words.find("1.0") == 1  # said outright, so not the float spelling of 1
    assert words.find("-2.0") == 1
    assert (words.find(1), words.find(1.0), words.find(Decimal(1)), words.find(np.uint8(1))) == (0, 0, 0, 0)
    assert words.find(-2) == 1
    assert (words.find(0), words.find(7), words.find("7"), words.find(math.inf), words.find(math.nan)) == (
        None,
    ) * 5
    assert (words.find(True), words.find(False)) == (0, None)
    assert words.find(2.0**60) is None


def test_inspection_of_several_columns():
    family = dc.MultivariateNormal(2)
    domain, _ = declarations(family, [(0, 10), (0, 10)])
    rows = [(1, 1), (-1, 11), (-1, 1), (1, 11), (None, 1), ("word", 1), (1, math.inf)]
    seen = data.inspect(rows, family, domain)
    assert (seen.records, seen.usable, seen.inside, seen.below, seen.above, seen.unknown) == (
        7,
        5,
        1,
        2,
        3,
        1,
    )
    assert seen.malformed is None


def test_hundreds_of_labels_are_counted() -> None:
    labels = [f"l{i}" for i in range(400)]
    made = dc.release([*labels, "l7", "unknown"], dc.Categorical(labels), epsilon=100)
    assert made.totals.values[-1] == 401
    assert made.totals.values[7] == 2

"""Python objects that a row should not hold, each with the canary in it."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

#: Digits that stand in every planted value, whatever its type.
CANARY = "48151623"
#: What may appear nowhere: the digits, also as a date's year.
NEEDLES = (CANARY, "4815-01", "48,151,623")
WORD = f"w{CANARY}w"
WHOLE = int(CANARY)
FLOAT = float(f"{CANARY}.25")
DAY = datetime.date(4815, 1, 6)

_METHODS = (
    *("__float__", "__int__", "__index__", "__bool__", "__complex__", "__round__", "__trunc__", "__abs__"),
    *("__str__", "__repr__", "__format__", "__bytes__", "__hash__", "__eq__", "__ne__", "__lt__", "__gt__"),
    *("__len__", "__iter__", "__getitem__", "__contains__", "__array__", "__array_interface__"),
    *(
        "__fspath__",
        "__reduce__",
        "__arrow_array__",
        "__arrow_c_array__",
        "__arrow_c_stream__",
        "__dataframe__",
    ),
    *("__add__", "__sub__", "__mul__", "__radd__", "__neg__", "__array_ufunc__", "__array_function__"),
    *("strip", "lower", "encode", "is_integer", "item", "tolist", "dtype", "shape", "as_py", "isoformat"),
)


class Panic(BaseException):
    """Not an Exception, like the panics of some extension modules."""


def hostile_class(*bases: type, error: type[BaseException] = RuntimeError, names: Any = _METHODS) -> type:
    """Return a class of which every method in ``names`` raises with the canary, in its very name too."""

    def fail(self: Any, *_arguments: Any, **_options: Any) -> Any:
        raise error(WORD)

    body = {name: property(fail) if name in ("__class__", "dtype", "shape") else fail for name in names}
    return type(f"Class{CANARY}", bases, body)


class Selfish(float):
    """A float that answers with itself; Python deprecates that, naming the type."""

    def __float__(self) -> float:
        return self


class SelfishIndex(int):
    """An integer that answers with itself."""

    def __int__(self) -> int:
        return self

    __index__ = __int__


class Liar:
    """Says it is a float, and is none."""

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return float


class Talker:
    """Warns about itself whatever it is asked."""

    def __float__(self) -> float:
        import warnings

        warnings.warn(WORD, stacklevel=1)
        print(WORD)
        return FLOAT

    def __str__(self) -> str:
        return str(self.__float__())

    def __eq__(self, other: object) -> bool:
        return self.__float__() == other

    def __hash__(self) -> int:
        return hash(self.__float__())

    __repr__ = __str__
    __index__ = __float__  # pyright: ignore[reportAssignmentType]


class Grade(enum.IntEnum):
    """A usual thing in a column."""

    FIRST = WHOLE


class Meta(type):
    """A class whose class is rude."""

    def __hash__(cls) -> int:
        raise RuntimeError(WORD)

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError(WORD)

    def __instancecheck__(cls, instance: object) -> bool:
        raise RuntimeError(WORD)


class Rude(metaclass=Meta):
    """An instance of it."""


Selfish.__name__ = Selfish.__qualname__ = f"Selfish{CANARY}"
SelfishIndex.__name__ = SelfishIndex.__qualname__ = f"SelfishIndex{CANARY}"

_QUIET = [name for name in _METHODS if name not in ("__repr__", "__reduce__")]

#: One factory for each object.
OBJECTS: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "word": lambda: WORD,
    "number in text": lambda: str(FLOAT),
    "surrogate": lambda: f"\ud800{WORD}",
    "long text": lambda: WORD * 2000,
    "digits": lambda: CANARY * 1000,
    "control characters": lambda: f"\x00\x1b[31m{WORD}\n{WORD}",
    "bytes": lambda: WORD.encode(),
    "bytearray": lambda: bytearray(WORD.encode()),
    "float": lambda: FLOAT,
    "nan": lambda: float("nan"),
    "infinite": lambda: float("inf"),
    "whole": lambda: WHOLE,
    "huge": lambda: int(CANARY + "0" * 500),
    "very huge": lambda: -(int(CANARY) << 40_000),
    "complex": lambda: complex(FLOAT, FLOAT),
    "decimal": lambda: decimal.Decimal(f"{CANARY}.5"),
    "huge decimal": lambda: decimal.Decimal(f"{CANARY}e9999999"),
    "signaling": lambda: decimal.Decimal(f"sNaN{CANARY}"),
    "fraction": lambda: fractions.Fraction(WHOLE, 7),
    "huge fraction": lambda: fractions.Fraction(WHOLE << 4000, 7),
    "date": lambda: DAY,
    "datetime": lambda: datetime.datetime(4815, 1, 6, 23, 42),
    "timedelta": lambda: datetime.timedelta(seconds=WHOLE),
    "timestamp": lambda: pd.Timestamp("1948-01-05 16:23:42") + pd.Timedelta(WHOLE, "ns"),
    "period": lambda: pd.Period("4815-01", freq="M"),
    "interval": lambda: pd.Interval(0, FLOAT),
    "NA": lambda: pd.NA,
    "NaT": lambda: pd.NaT,
    "list": lambda: [FLOAT, WORD],
    "tuple": lambda: (FLOAT, WORD),
    "dict": lambda: {WORD: FLOAT},
    "set": lambda: {WORD},
    "array": lambda: np.array([FLOAT, FLOAT]),
    "0-d array": lambda: np.array(FLOAT),
    "numpy float": lambda: np.float64(FLOAT),
    "numpy longdouble": lambda: np.longdouble(f"{CANARY}e4000"),
    "numpy half": lambda: np.float16(1.5),
    "numpy int": lambda: np.int64(WHOLE),
    "numpy complex": lambda: np.complex128(FLOAT),
    "numpy text": lambda: np.str_(WORD),
    "numpy bytes": lambda: np.bytes_(WORD.encode()),
    "numpy date": lambda: np.datetime64("4815-01-06"),
    "numpy NaT": lambda: np.datetime64("NaT"),
    "numpy void": lambda: np.array([(FLOAT,)], dtype=[("a", float)])[0],
    "masked": lambda: np.ma.masked,
    "series": lambda: pd.Series([FLOAT, WORD]),
    "path": lambda: pathlib.PurePosixPath(f"{WORD}.csv"),
    "exception": lambda: ValueError(WORD),
    "type": lambda: hostile_class(names=()),
    "function": lambda: lambda: WORD,
    "enum": lambda: Grade.FIRST,
    "self-returning float": lambda: Selfish(FLOAT),
    "self-returning int": lambda: SelfishIndex(WHOLE),
    "liar": Liar,
    "talker": Talker,
    "rude class": Rude,
    "raising": lambda: hostile_class()(),
    "raising class": lambda: hostile_class(names=["__class__"])(),
    "panicking": lambda: hostile_class(error=Panic)(),
    "interrupting": lambda: hostile_class(error=KeyboardInterrupt)(),
    "exiting": lambda: hostile_class(error=SystemExit)(),
    "raising float": lambda: hostile_class(float, names=_QUIET)(FLOAT),
    "raising int": lambda: hostile_class(int, names=_QUIET)(WHOLE),
    "raising text": lambda: hostile_class(str, names=_QUIET)(WORD),
    "raising decimal": lambda: hostile_class(decimal.Decimal, names=_QUIET)(WHOLE),
    "raising list": lambda: hostile_class(list, names=_QUIET)([FLOAT, FLOAT]),
    "raising tuple": lambda: hostile_class(tuple, names=_QUIET)((FLOAT, FLOAT)),
    "raising dict": lambda: hostile_class(dict, names=_QUIET)({WORD: FLOAT}),
    "stop": lambda: hostile_class(error=StopIteration)(),
    "out of memory": lambda: hostile_class(error=MemoryError)(),
}

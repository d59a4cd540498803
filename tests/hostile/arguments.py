"""Arguments that no caller should give, and a judge of what a call does with them.

A call may succeed or raise a :class:`DiscreetError` of one line. Anything else is a finding: another exception, a
warning, a message of several lines or of more than 300 characters, printing, or a call that does not come back.
"""

from __future__ import annotations

import contextlib
import io
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import DiscreetError

#: Seconds after which a call counts as one that hangs.
LIMIT = 3.0
LONGEST = 300


class _Hostile:
    """An object whose every conversion fails, with an error of its own."""

    __hash__ = object.__hash__

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("hostile\nobject")

    __repr__ = __str__ = __len__ = __iter__ = __bool__ = __float__ = __int__ = __index__ = __eq__ = _fail
    __lt__ = __gt__ = __le__ = __ge__ = __add__ = __mul__ = __rmul__ = __getitem__ = __contains__ = _fail
    __array__ = __fspath__ = __call__ = __neg__ = __abs__ = __complex__ = __format__ = _fail


class _Liar:
    """An object that says to be one number, one name and one list, all at once."""

    def __float__(self) -> float:
        return float("nan")

    def __index__(self) -> int:
        return -1

    def __len__(self) -> int:
        return 10**12

    def __iter__(self) -> Iterator[Any]:
        return iter([self])

    def __str__(self) -> str:
        return "lines\n" * 200

    __repr__ = __str__


#: Made anew for each call: generators are used up.
VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "numpy True": lambda: np.True_,
    "empty text": lambda: "",
    "text": lambda: "frobnicate",
    "long text": lambda: "a\n" * 1000,
    "null byte": lambda: "a\0b",
    "text of a number": lambda: "1e999999999",
    "bytes": lambda: b"laplace",
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: -float("inf"),
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "half": lambda: 0.5,
    "two": lambda: 2.0,
    "tiny": lambda: 5e-324,
    "large": lambda: 1e308,
    "2**63": lambda: 2**63,
    "10**400": lambda: 10**400,
    "-10**5000": lambda: -(10**5000),
    "complex": lambda: 1 + 2j,
    "fraction": lambda: Fraction(1, 3),
    "decimal nan": lambda: Decimal("NaN"),
    "numpy nan": lambda: np.float32("nan"),
    "0d array": lambda: np.array(1.0),
    "empty array": lambda: np.array([]),
    "array": lambda: np.arange(6.0).reshape(2, 3),
    "cube": lambda: np.zeros((2, 2, 2)),
    "array of nan": lambda: np.array([[np.nan, 1.0]]),
    "array of objects": lambda: np.array([None, "a", {}], dtype=object),
    "array of text": lambda: np.array(["a", "b"]),
    "array of dates": lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    "empty list": list,
    "list": lambda: [1, 2],
    "list of None": lambda: [None, None],
    "ragged": lambda: [[1], [2, 3]],
    "nested": lambda: [[[[["a"]]]]],
    "list of texts": lambda: ["a", "a"],
    "empty tuple": tuple,
    "turned pair": lambda: (1, 0),
    "pair of nan": lambda: (float("nan"), float("nan")),
    "set": lambda: {1, 2},
    "empty dict": dict,
    "dict": lambda: {1: 2, None: 3},
    "dict by name": lambda: {"frobnicate": object()},
    "generator": lambda: (i for i in range(3)),
    "range": lambda: range(3),
    "class": lambda: int,
    "module": lambda: np,
    "function": lambda: lambda: 0,
    "failing function": lambda: _fails,
    "object": object,
    "hostile": _Hostile,
    "list of hostile": lambda: [_Hostile()],
    "liar": _Liar,
    "list of liars": lambda: [_Liar(), _Liar()],
    "dict of hostile": lambda: {"a": _Hostile()},
}


def _fails(*_: Any, **__: Any) -> Any:
    raise KeyError("hostile")


@dataclass(frozen=True)
class Finding:
    """One call that did what no call may do."""

    call: str
    argument: str
    value: str
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.call}({self.argument}={self.value}): {self.kind}: {self.detail}"


class _Hang(BaseException):
    """The call took longer than allowed; no handler of exceptions may swallow it."""


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _Hang

    # of the processor, which others may be using too, and ten times as long by the clock
    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, 10 * seconds),
    )
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
        for (number, _, _), handler in zip(timers, before, strict=True):
            signal.signal(number, handler)


def judge(call: Callable[[], Any], *, limit: float = LIMIT) -> tuple[str, str] | None:
    """Return what is wrong with what ``call`` does, as a kind and a detail, or None."""
    printed = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            warnings.catch_warnings(),
            _limited(limit),
        ):
            warnings.simplefilter("error")
            try:
                call()
            except DiscreetError as error:
                for words in (error.message, error.hint or ""):
                    if "\n" in words:
                        return "several lines", words[:80]
                    if len(words) > LONGEST:
                        return "long message", words[:80]
            except (KeyboardInterrupt, SystemExit):
                raise
            except Warning as warning:
                return "warning", f"{type(warning).__name__}: {warning}"[:100]
            except Exception as error:
                return "raw " + type(error).__name__, _where(error)
    except _Hang:
        return "hang", f"more than {limit:g} s"
    return ("printing", printed.getvalue()[:80]) if printed.getvalue() else None


def _where(error: BaseException) -> str:
    trace, last = error.__traceback__, "?"
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "/discreet/" in file:
            last = f"{file.rpartition('/discreet/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    try:
        words = " ".join(str(error).split())[:80]
    except Exception:
        words = "?"
    return f"{last}: {words}"

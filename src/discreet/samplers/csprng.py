"""A NumPy generator whose every bit is the operating system's.

Floating-point samplers (gamma, beta, normal) are NumPy's; what feeds them is ``os.urandom``. There is no seed, and each
release has a generator of its own that is thrown away, so nothing that is released can be drawn again.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

import numpy as np

_Drawn = TypeVar("_Drawn")

# one call of the operating system fills this many bytes
_BUFFER = 1 << 13
_TO_UNIT = 2.0**-53

_NEXT_64 = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
_NEXT_32 = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
_NEXT_DOUBLE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)


class _Interface(ctypes.Structure):
    """NumPy's ``bitgen_t``: a state and four functions that take it."""

    _fields_ = [
        ("state", ctypes.c_void_p),
        ("next_uint64", _NEXT_64),
        ("next_uint32", _NEXT_32),
        ("next_double", _NEXT_DOUBLE),
        ("next_raw", _NEXT_64),
    ]


class SystemBits:
    """A NumPy bit generator over ``os.urandom``.

    NumPy asks a bit generator for a capsule with pointers to C functions and for a lock, and for nothing else. A C
    function cannot raise: if the operating system refuses, the process ends, because a draw made of anything else must
    not leave it. For the same reason it must not be used where a signal may strike: see :func:`undisturbed`.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self._bytes = b""
        self._at = 0
        functions = _NEXT_64(self._next_64), _NEXT_32(self._next_32), _NEXT_DOUBLE(self._next_double)
        # kept here, because the capsule only holds its address
        self._interface = _Interface(None, *functions, functions[0])
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.capsule: Any = new(ctypes.addressof(self._interface), b"BitGenerator", None)

    def _take(self, n_bytes: int) -> int:
        try:
            if self._at + n_bytes > len(self._bytes):
                self._bytes, self._at = os.urandom(_BUFFER), 0
            piece = self._bytes[self._at : self._at + n_bytes]
            self._at += n_bytes
            return int.from_bytes(piece, "little")
        except BaseException:
            os._exit(70)

    def _next_64(self, _: Any) -> int:
        return self._take(8)

    def _next_32(self, _: Any) -> int:
        return self._take(4)

    def _next_double(self, _: Any) -> float:
        return (self._take(8) >> 11) * _TO_UNIT


def secure_generator() -> np.random.Generator:
    """Return a generator that draws from the operating system, and takes no seed."""
    return np.random.Generator(SystemBits())  # pyright: ignore[reportArgumentType]


def undisturbed(sampler: Callable[[np.random.Generator], _Drawn]) -> _Drawn:
    """Run a sampler on a secure generator, in a thread of its own.

    Handlers of signals run in the main thread only. If one raised (as Ctrl-C does) while NumPy asks for bits, the
    exception would be lost and the draw would go on with bits of before. Here the caller is interrupted, the draw is
    finished, and nobody gets it.
    """
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(sampler, secure_generator()).result()

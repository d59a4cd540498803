"""The compiler of sequential loops: Numba, or one line that says that it is needed.

Files with compiled loops take :func:`compiled` or :func:`njit` from here. :func:`short_loop` is for the few loops that
are quick enough as plain Python, so that exact engines need no compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from discreet.extras import is_installed, needed_for

__all__ = ["compiled", "njit", "short_loop"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def njit(**options: Any) -> Callable[[_Function], _Function]:
    """Return Numba's compiler with these options; what it keeps is kept until something that it was made of changes.

    Numba compiles a function again if its own file has changed. Constants and compiled functions that it names may come
    from other files: without this, a new release of the package would go on with those of the old one.
    """
    with needed_for("this computation"):
        import numba

    def compiler(function: _Function) -> _Function:
        found: Any = numba.njit(**options)(function)
        kept = _index(found)
        if kept is not None:
            named = ((name, function.__globals__.get(name)) for name in function.__code__.co_names)
            kept._source_stamp = (kept._source_stamp, *((name, _stamp(value)) for name, value in named))
        return found

    return compiler


def _index(value: object) -> Any:
    """Return the index of what is kept of a compiled function: no public name of Numba leads to it. None of others."""
    return getattr(getattr(value, "_cache", None), "_cache_file", None)


def _stamp(value: object) -> object:
    """Return what a function that names this value has to be compiled again for."""
    kept = _index(value)
    if kept is not None:
        return kept._source_stamp
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return repr(value) if isinstance(value, int | float | str | tuple) else None


def compiled(function: _Function) -> _Function:
    """Compile a loop, and keep what was compiled beside its file; a division by zero gives what it gives in NumPy."""
    return njit(cache=True, error_model="numpy")(function)


def short_loop(function: _Function) -> _Function:
    """Compile a function if there is a compiler; the same draws, some ten times slower, if there is none."""
    return njit(cache=True)(function) if is_installed("numba") else function

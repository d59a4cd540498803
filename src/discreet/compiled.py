"""The compiler of sequential loops: Numba, or one line that says that it is needed.

Files with compiled loops take :func:`compiled`, ``numba`` or ``njit`` from here. :func:`short_loop` is for the few
loops that are quick enough as plain Python, so that exact engines need no compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.extras import is_installed, needed_for

if TYPE_CHECKING:
    import numba
    from numba import njit

__all__ = ["compiled", "njit", "numba", "short_loop"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def __getattr__(name: str) -> Any:
    if name not in ("njit", "numba"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needed_for("this computation"):
        import numba
    return numba if name == "numba" else numba.njit


def compiled(function: _Function) -> _Function:
    """Compile a loop, and keep what was compiled beside its file; a division by zero gives what it gives in NumPy."""
    return __getattr__("njit")(cache=True, error_model="numpy")(function)


def short_loop(function: _Function) -> _Function:
    """Compile a function if there is a compiler; the same draws, some ten times slower, if there is none."""
    return __getattr__("njit")(cache=True)(function) if is_installed("numba") else function

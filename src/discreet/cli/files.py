"""Output files are checked before any work is done or any budget is spent."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from discreet.errors import DataError, UsageError


def ensure_writable(path: Path, *, replace: bool, loss: str = "") -> None:
    """Raise unless ``path`` can be written; an existing file needs ``replace``, and ``loss`` says why."""
    if path.is_dir():
        raise DataError(f"cannot write {path}: it is a folder.")
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already{loss}.", hint="name another file, or add --force.")
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as problem:
        reason = problem.strerror or "permission denied"
        raise DataError(f"cannot write {path}: {reason}.", hint="nothing was done.") from None

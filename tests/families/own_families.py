"""The families of the how-to page, registered once in a process."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/examples"))

from two_shapes import Share, Waiting  # pyright: ignore[reportMissingImports]

__all__ = ["Share", "Waiting"]

"""The families of the how-to page, registered once in a process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/examples"))

import two_shapes  # pyright: ignore[reportMissingImports]

Share: Any = two_shapes.Share
Waiting: Any = two_shapes.Waiting

__all__ = ["Share", "Waiting"]

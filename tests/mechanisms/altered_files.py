"""Release files with one entry changed, and their checksum made right again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import discreet as dc
from discreet.artifact.codec import checksum


def altered(release: dc.Release, where: Sequence[Any], value: Any) -> str:
    """Return the file of a release with ``value`` at a place, which is given as the keys that lead there."""
    document = json.loads(release.to_json())
    *path, last = where
    inner = document
    for step in path:
        inner = inner[step]
    inner[last] = value
    document["sha256"] = checksum(document)
    return json.dumps(document)

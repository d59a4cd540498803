"""A file that describes numbers somebody else published: TOML or JSON, with the arguments of ``dc.foreign`` as keys."""

from __future__ import annotations

import inspect
import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from discreet.artifact.files import read_text
from discreet.artifact.foreign import foreign
from discreet.errors import UsageError
from discreet.models.model_file import declared
from discreet.names import closest
from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP, ZeroConcentratedDP

# bytes; a hundred thousand counts take less
_LARGEST = 2**24
_KEYS = tuple(inspect.signature(foreign).parameters)


def load(path: str | Path) -> dict[str, Any]:
    """Return the arguments of :func:`discreet.foreign` that a file declares; its model may still be a text."""
    content = read_text(path, "description", _LARGEST)
    is_toml = str(path).lower().endswith(".toml")
    try:
        # decimals as they are written, and never rounded
        read = (
            tomllib.loads(content, parse_float=Decimal)
            if is_toml
            else json.loads(content, parse_float=Decimal)
        )
    except (ValueError, RecursionError):
        kind = "TOML" if is_toml else "JSON"
        raise UsageError(
            f"{path}: this is no description of published numbers: it is not valid {kind}."
        ) from None
    if not isinstance(read, dict):
        raise UsageError(
            f"{path}: this is no description of published numbers.", hint="it has keys such as values"
        )
    for key in read:
        if key not in _KEYS:
            near = closest(key, _KEYS)
            raise UsageError(
                f"{path}: unknown key {key!r:.60}.",
                hint=f"did you mean {near}?" if near else f"it takes {', '.join(_KEYS)}",
            )
    if isinstance(read.get("model"), dict):
        read["model"] = declared(read["model"], str(path))
    if "claims" in read:
        read["claims"] = _claimed(read["claims"], "replace" if "records" in read else "add_remove")
    return read


def _claimed(given: Any, neighbors: Any) -> Guarantee:
    """Read a claimed guarantee: epsilon, epsilon and delta, or rho, and the neighbors it is for."""
    kinds = {("epsilon",): PureDP, ("delta", "epsilon"): ApproxDP, ("rho",): ZeroConcentratedDP}
    if not isinstance(given, dict):
        raise UsageError("claims must be a table such as {epsilon = 1}.")
    rest = dict(given)
    neighbors = rest.pop("neighbors", neighbors)
    kind = kinds.get(tuple(sorted(rest)))
    if kind is None:
        raise UsageError("claims has epsilon, epsilon and delta, or rho.", hint="claims = {epsilon = 1}")
    return kind(**rest, neighbors=neighbors)

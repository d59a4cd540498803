"""Several releases by name, read one after the other: what each of them is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arguments import shown, text
from discreet.artifact import Release
from discreet.errors import UsageError


def loaded(releases: Mapping[Any, Any]) -> dict[str, Release]:
    """Return several releases by name, read from their files where they are paths."""
    if not releases:
        raise UsageError("there is no release to read: the dictionary is empty.")
    for name, release in releases.items():
        text(name, "the name of a release")
        if not isinstance(release, Release | str | Path):
            raise UsageError(
                f"{name!r:.60} must be a release or the path of one, got {type(release).__name__:.40}."
            )
    return {
        name: release if isinstance(release, Release) else Release.load(release)
        for name, release in releases.items()
    }


def by_name(given: Any, argument: str, releases: Mapping[str, Release]) -> dict[str, Any]:
    """Return what each release is given: its own from a dictionary by name, or the same for all."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(releases, given)
    unknown = [name for name in given if name not in releases]
    if unknown:
        raise UsageError(f"{argument} names {shown(unknown[0])}, and there is no release of that name.")
    return {name: given.get(name) for name in releases}


def spawned(rng: np.random.Generator, n: int) -> list[np.random.Generator]:
    """Return generators that are independent of each other."""
    try:
        return rng.spawn(n)
    except TypeError:  # made from a bare state, which cannot spawn: seeds from it do as well
        return [np.random.default_rng(seed) for seed in rng.integers(2**63, size=(n, 4))]

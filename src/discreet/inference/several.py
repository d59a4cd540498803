"""Several releases: by name, read one after the other; the groups of one release; or a list, read together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arguments import shown, text
from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.inference.posterior import Posterior
from discreet.inference.posteriors import Posteriors


def read_several(
    releases: Any,
    infer: Callable[..., Any],
    asked: Mapping[str, Any],
    *,
    pool: bool | None,
    same_table: bool | None,
) -> Posterior | Posteriors:
    """Return the posteriors of several releases; ``infer`` reads one of them with the arguments ``asked``."""
    for name, given in (("pool", pool), ("same_table", same_table)):
        if given is not None and not isinstance(given, bool):
            raise UsageError(f"{name} must be True or False, got {shown(given)}.")
    if isinstance(releases, Release):
        from discreet.inference.groups import read_groups

        if same_table is not None:
            raise UsageError("same_table is for several releases, and this is one.", hint="leave it out")
        return read_groups(releases, infer, asked, pool=bool(pool))
    if isinstance(releases, Mapping):
        if pool is not None or same_table is not None:
            raise UsageError(
                "a dictionary of releases is read one by one, without pool and same_table.",
                hint="give a list of releases to read them together",
            )
        return Posteriors(one_by_one(loaded(releases), infer, asked))
    if isinstance(releases, set | frozenset):
        raise UsageError("releases are read together from a list, which has an order; a set has none.")
    from discreet.inference.institutions import read_list

    return read_list(releases, infer, asked, pool=pool, same_table=same_table)


def one_by_one(
    releases: Mapping[str, Release], infer: Callable[..., Any], asked: Mapping[str, Any]
) -> dict[str, Posterior]:
    """Return the posterior of each release, from random numbers of its own."""
    own = {name: by_name(asked[name], name, releases) for name in ("prior", "records", "missing")}
    # in the order of the names, so that the order of the dictionary does not matter
    streams = dict(zip(sorted(releases), spawned(asked["rng"], len(releases)), strict=True))
    return {
        name: infer(each, **{**asked, **{of: given[name] for of, given in own.items()}, "rng": streams[name]})
        for name, each in releases.items()
    }


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

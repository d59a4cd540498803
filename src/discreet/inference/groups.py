"""The groups of a release: all at once where an engine can, otherwise one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.extras import is_installed
from discreet.families import Bernoulli
from discreet.inference.analyst import WEAK, diagnosed, posterior_of
from discreet.inference.engine import Answer, Question
from discreet.inference.group_posteriors import GroupPosteriors
from discreet.inference.posterior import Posterior
from discreet.inference.record_prior import RecordPrior
from discreet.inference.several import one_by_one
from discreet.models.base import Model
from discreet.models.grouped import Grouped

# Numbers that the draws of all groups may hold: 0.8 GB of them.
_MOST_NUMBERS = 100_000_000
# Groups from which on they are read all at once: compiling the loop takes as long as reading some.
_MANY = 50
_REASON = "the counts of all groups are enumerated at once"


def read_groups(
    release: Release, infer: Callable[..., Any], asked: Mapping[str, Any], *, pool: bool
) -> GroupPosteriors:
    """Return the posteriors of all groups of a release; pooled, each borrows from the others."""
    grouped = release.model.require(Grouped, "groups are read from a release that has some")
    _check_size(grouped, asked["draws"], asked["chains"])
    parts = release.by_group()
    if pool:
        from discreet.inference.pooling.pooled_groups import check_pool

        check_pool(grouped.model, asked)
    found = _all_at_once(release, grouped, parts, asked)
    if found is None:
        found = one_by_one(parts, infer, asked)
        found = {name: replace(one, about=f"{name}: {one.about}") for name, one in found.items()}
    # a seed for what is drawn later, such as the weights of groups in a margin
    seed = int(asked["rng"].integers(2**63))
    apart = GroupPosteriors(found, by=grouped.by, about=release.title, seed=seed)
    if not pool:
        return apart
    from discreet.inference.pooling.pooled_groups import pool_all

    return pool_all(parts, apart, infer, asked)


def _check_size(grouped: Grouped, draws: int, chains: int) -> None:
    """Raise if the draws of many groups would fill the memory of a usual machine, before any work is done."""
    each = grouped.numbers_per_draw
    if draws * each <= _MOST_NUMBERS:
        return
    fewer = _MOST_NUMBERS // each // chains * chains
    raise UsageError(
        f"{draws:,} draws of {len(grouped.groups):,} groups are more than {_MOST_NUMBERS:,} numbers to keep in memory.",
        hint=f"ask for draws={fewer}" if fewer else "ask for chains=1 and fewer draws",
    )


def _all_at_once(
    release: Release, grouped: Grouped, parts: Mapping[str, Release], asked: Mapping[str, Any]
) -> dict[str, Posterior] | None:
    """Return the posteriors of all groups where an engine draws them at once, None where none does."""
    draw = grouped.model.closed_form(_DRAW)
    prior = asked["prior"]
    plain = asked["engine"] in ("auto", "exact") and asked["records"] is None and asked["missing"] is None
    if draw is None or not plain or isinstance(prior, Mapping) or len(parts) < _MANY:
        return None
    is_weak = prior is None or (isinstance(prior, str) and prior == WEAK)
    read = grouped.model.read_prior(None if is_weak else prior, release.domain)
    answers = draw(release, read, asked["draws"], asked["rng"])
    if answers is None:
        return None
    made, title = {}, next(iter(parts.values())).title
    for (name, part), answer in zip(parts.items(), answers, strict=True):
        question = Question(part, read, RecordPrior(), asked["draws"], asked["chains"], asked["rng"])
        how = cache(partial(diagnosed, question, answer, "exact", _REASON, None, is_weak=is_weak))
        made[name] = posterior_of(
            part, answer, "exact", how, asked["chains"], prior=read, about=f"{name}: {title}"
        )
    return made


def _binary(release: Release, prior: Any, size: int, rng: np.random.Generator) -> Iterator[Answer] | None:
    """Draw the shares of all groups, or return None if their windows are too wide, or a prior too strong."""
    if not is_installed("numba"):
        return None
    from discreet.inference.counts.binary_groups import BinaryGroups

    y = np.array(release.totals.values).reshape(-1, 2)
    if len(set(release.noise)) > 1 or abs(y).max(initial=0) > 2**53:
        return None
    a, b = float(prior.a), float(prior.b)
    groups = BinaryGroups(a, b, y, release.noise[0])
    if not groups.applies():
        return None
    no, yes, p, left_out = groups.draw(size, rng)
    if left_out.any():
        return None
    no += yes
    each = zip(no, yes, p, strict=True)
    return (Answer({"p": of_p}, table={"usable": total, "yes": of_yes}) for total, of_yes, of_p in each)


_DRAW: dict[type[Model], Callable[..., Iterator[Answer] | None]] = {Bernoulli: _binary}

r"""Margins of the groups of a table: groups over all labels of some columns.

Draw by draw, the latent totals of the table add up: the counts of a margin are sums of the counts of its groups, so
any two margins that overlap agree by construction. Parameters are the population's. A group is a share pi_g of it, of
which the latent count u_g is a sample: pi ~ Dirichlet(u_g + 1 / n_groups), drawn once for the whole table and added up
for every margin. A mean or a probability of a margin is the average of its groups',

    theta = sum_g pi_g theta_g / sum_g pi_g,

and a variance is the average variance plus the variance of the groups' means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import UsageError
from discreet.inference.posterior import Posterior

if TYPE_CHECKING:
    from discreet.inference.group_posteriors import GroupPosteriors

#: The one group of the whole table.
WHOLE = "all"
# Parameters that are averages over records, so that those of a margin are averages over its groups.
_AVERAGES = ("p", "mean", "rate")
# Totals of a table, which add up; what else a table has is a mean.
_TOTALS = ("usable", "yes", "count", "sum")


def margin_of(groups: GroupPosteriors, columns: Sequence[str]) -> GroupPosteriors:
    """Return the posteriors of the groups that ``columns`` make; of none, that of the whole table."""
    names = [column.name for column in groups.by]
    unknown = [column for column in columns if column not in names]
    if unknown or len(set(columns)) < len(columns):
        raise UsageError(
            f"margin takes columns that make the groups, each once, got {', '.join(map(repr, columns)):.80}.",
            hint=f"the columns are {', '.join(names)}",
        )
    kept = tuple(column for column in groups.by if column.name in columns)
    weights = _weights(groups)
    members: dict[str, list[int]] = {
        ", ".join(labels): [] for labels in product(*(column.labels for column in kept))
    }
    places = [at for at, column in enumerate(groups.by) if column.name in columns]
    for g, labels in enumerate(product(*(column.labels for column in groups.by))):
        members[", ".join(labels[at] for at in places)].append(g)
    every = list(groups.values())
    made = {
        name or WHOLE: _merged([every[g] for g in mine], weights[mine], name or WHOLE)
        for name, mine in members.items()
    }
    return type(groups)(made, by=kept, about=groups.about, seed=groups.seed)


def _weights(groups: GroupPosteriors) -> np.ndarray:
    """Draw how large each group is in the population, groups × draws, up to a factor of each draw."""
    usable = [one.draws.get("usable") for one in groups.table.values()]
    counts = np.stack([np.zeros(1) if one is None else one for one in usable])
    # the same for every margin of one posterior
    rng = np.random.default_rng(groups.seed)
    shape = counts + 1 / len(groups)
    # Gamma(a) = Gamma(a + 1) U^(1 / a): small shapes would underflow to nothing at all
    log_gamma = np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(shape.shape)) / shape
    return np.exp(log_gamma - log_gamma.max(axis=0))


def _merged(groups: Sequence[Posterior], weights: np.ndarray, name: str) -> Posterior:
    """Return the posterior of several groups taken as one."""
    first = groups[0]
    share = weights / np.maximum(weights.sum(axis=0), 1e-300)
    draws = {}
    for key in first.draws:
        every = np.stack([one.draws[key] for one in groups])
        weight = share.reshape(*share.shape, *(1,) * (every.ndim - 2))
        if key in _AVERAGES:
            draws[key] = (weight * every).sum(axis=0)
        elif key in ("sd", "variance") and "mean" in draws:
            means = np.stack([one.draws["mean"] for one in groups])
            spread = every**2 if key == "sd" else every
            variance = (share * (spread + (means - draws["mean"]) ** 2)).sum(axis=0)
            draws[key] = np.sqrt(variance) if key == "sd" else variance
    if not draws:
        raise UsageError(f"a margin of {', '.join(first.draws):.60} is no average of its groups.")
    kept = {key: words for key, words in (first.labels or {}).items() if key in draws}
    tables = [one.table for one in groups if one.table is not None]
    return replace(
        first, draws=draws, labels=kept, about=name, model=None, table=_added(tables), distribution=None
    )


def _added(tables: Sequence[Posterior]) -> Posterior:
    """Return the totals of several groups of the table, added up draw by draw."""
    first = tables[0]
    draws = {key: np.sum([one.draws[key] for one in tables], axis=0) for key in first.draws if key in _TOTALS}
    if "sum" in draws and "mean" in first.draws:
        middle = np.mean([one.draws["mean"] for one in tables], axis=0)
        # without a record there is no mean: that of the groups' own stands for it
        draws["mean"] = np.where(draws["usable"] > 0, draws["sum"] / np.maximum(draws["usable"], 1), middle)
    return replace(first, draws=draws)

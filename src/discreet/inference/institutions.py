"""A list of releases, read together: several institutions, or several readings of one table.

Institutions hold disjoint tables. By default they are samples of one population and share one parameter; with
``pool=True`` each has its own, and they borrow from each other; with ``pool=False`` they are read one by one. Releases
of the same table (``same_table=True``) are readings of one latent total, each with noise of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.domain.columns import Labels
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.group_posteriors import GroupPosteriors
from discreet.inference.pooling.one_parameter import draw_common
from discreet.inference.pooling.pooled_groups import (
    PooledModel,
    check_pool,
    pool_all,
    pooled_model,
)
from discreet.inference.posterior import Posterior
from discreet.inference.several import one_by_one
from discreet.inference.several_readings import SeveralReadings

# An institution's own interval of this probability that does not hold the common value is worth a warning.
_DOUBTFUL = 0.999


def read_list(
    releases: Sequence[Any],
    infer: Callable[..., Any],
    asked: Mapping[str, Any],
    *,
    pool: bool | None,
    same_table: bool | None,
) -> Posterior | GroupPosteriors:
    """Return the posterior of several releases together: one parameter, or one for each."""
    several = _named(releases)
    _check_alike(several)
    if same_table is None:
        _check_datasets(several)
    if same_table:
        if pool is not None:
            raise UsageError("releases of the same table have nothing to pool.", hint="leave out pool")
        whole, engine = SeveralReadings.of(list(several.values()), asked["engine"])
        made = infer(whole, **{**asked, "engine": engine})
        return replace(made, about=f"{len(several)} readings of one table: {made.about}")
    model = next(iter(several.values())).model
    if pool is not False:
        check_pool(model, asked)
    if pool is None:
        pooled_model(model)
    parts = one_by_one(several, infer, asked)
    by = (Labels("institution", tuple(several)),)
    about = f"{next(iter(several.values())).title}, and {len(several) - 1} more"
    apart = GroupPosteriors(parts, by=by, about=about, seed=int(asked["rng"].integers(2**63)))
    if pool is False:
        return apart
    if pool:
        return pool_all(several, apart, infer, asked)
    return _common(pooled_model(model), several, apart, asked["rng"])


def _common(
    how: PooledModel, several: Mapping[str, Release], apart: GroupPosteriors, rng: np.random.Generator
) -> Posterior:
    """Return the posterior of the one parameter that all institutions share."""
    population, first = how.population(next(iter(several.values()))), next(iter(apart.values()))
    x = draw_common(how.curves(several, apart, population), population, first.n_draws, rng)
    draws = {how.parameter: population.value(x)}

    def said() -> Diagnostics:
        own = first.diagnostics
        return replace(
            own,
            engine=" and ".join(dict.fromkeys(one.diagnostics.engine for one in apart.values())),
            reason=f"{len(several)} releases that share one {how.parameter}",
            warnings=(*_apart_from(draws[how.parameter], how.parameter, apart), *apart.diagnostics.warnings),
            independent=True,
            given=f"{own.given}, and all {len(several)} tables are samples of one population",
            chains={},
        )

    return replace(first, draws=draws, how=said, about=apart.about, table=None, labels=None)


def _apart_from(common: np.ndarray, parameter: str, apart: GroupPosteriors) -> tuple[str, ...]:
    """Return a warning if institutions contradict each other."""
    middle = float(np.median(common))
    tail = (1 - _DOUBTFUL) / 2
    far = [
        name
        for name, one in apart.items()
        if not np.quantile(one.draws[parameter], tail)
        <= middle
        <= np.quantile(one.draws[parameter], 1 - tail)
    ]
    if not far:
        return ()
    return (
        f"{', '.join(far[:3])}{' …' * (len(far) > 3)} and the others do not look like samples of one population: "
        "pool=True lets them differ",
    )


def _named(releases: Sequence[Any]) -> dict[str, Release]:
    """Return the releases by names: of their files, or of their data sets, or numbers."""
    if len(releases) < 2:
        raise UsageError("a list of releases has at least two of them.", hint="give the one release itself")
    found: dict[str, Release] = {}
    for place, one in enumerate(releases, 1):
        if not isinstance(one, Release | str | Path):
            raise UsageError(
                f"a list of releases holds releases or paths of them, got {type(one).__name__:.40}."
            )
        release = one if isinstance(one, Release) else Release.load(one)
        name = (release.dataset or f"release {place}") if isinstance(one, Release) else Path(one).stem
        found[name if name not in found else f"{name} ({place})"] = release
    return found


def _check_alike(several: Mapping[str, Release]) -> None:
    """Raise unless the releases are about the same question, in the same units."""
    (first_name, first), *others = several.items()
    for name, one in several.items():
        if one.samples is not None:
            raise UsageError(f"{name!r:.60} holds samples, and only noisy totals are read together.")
        if one.model.groups:
            raise UsageError(f"{name!r:.60} has groups, and lists of those are not read together.")
    for name, one in others:
        for what, mine, other in (
            ("another model", one.model, first.model),
            ("other bounds", one.domain.bounds, first.domain.bounds),
            ("another policy for values outside the bounds", one.domain.outside, first.domain.outside),
            ("dates where the other has numbers, or numbers", one.domain.dates, first.domain.dates),
            ("another unit", one.unit_label, first.unit_label),
            ("another kind of record (its privacy unit)", _rule(one), _rule(first)),
        ):
            if mine != other:
                raise UsageError(
                    f"{name!r:.60} has {what} than {first_name!r:.60}: they are not read together.",
                    hint="a dictionary of releases is read one by one",
                )
        if one.id == first.id:
            raise UsageError(f"{name!r:.60} and {first_name!r:.60} are the same release.")


def _rule(release: Release) -> Any:
    """Return how rows become a record, whatever the columns are called."""
    return None if release.unit is None else release.unit.rules


def _check_datasets(several: Mapping[str, Release]) -> None:
    """Raise if two releases name the same data set and nobody said whether that is one table."""
    seen: dict[str, str] = {}
    for name, one in several.items():
        if one.dataset is None:
            continue
        if one.dataset in seen:
            raise UsageError(
                f"{seen[one.dataset]!r:.60} and {name!r:.60} both name the data set {one.dataset!r:.60}: one table, or "
                "two?",
                hint="same_table=True if they are about the same rows, same_table=False if about other ones",
            )
        seen[one.dataset] = name

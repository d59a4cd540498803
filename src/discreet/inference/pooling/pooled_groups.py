"""Partial pooling: read each group for itself, learn what the groups have in common, and draw all of them together.

Draw k of every group goes with draw k of the hyperparameters, so differences and ranks of groups are those of the joint
posterior. What a group's own engine drew beside the pooled parameter (a standard deviation, the totals of the table)
comes from one of its draws whose parameter lies nearby.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.families import Bernoulli, Mean, Normal, Poisson
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.engine import Question
from discreet.inference.group_posteriors import GroupPosteriors
from discreet.inference.models.bernoulli import BinaryCounts, YesCounts, bernoulli_counts
from discreet.inference.pooling.group_curves import (
    Curve,
    curve_of_cells,
    curve_of_counts,
    curve_of_draws,
)
from discreet.inference.pooling.hierarchy import (
    Cells,
    Hierarchy,
    Hyperparameters,
    draw_cells,
    size_classes,
)
from discreet.inference.pooling.pooled_coefficients import pool_coefficients
from discreet.inference.pooling.populations import (
    LogVariancePopulation,
    NormalPopulation,
    Population,
    RatePopulation,
    SharePopulation,
)
from discreet.inference.posterior import Posterior
from discreet.inference.record_prior import RecordPrior
from discreet.inference.several import spawned
from discreet.models.base import Model
from discreet.models.linear_regression import LinearRegression
from discreet.priors import Beta

# Draws of a group in a cell from which on one of them is taken; fewer would be taken again and again.
_ENOUGH = 8
# Counts that are enumerated; where there are more, those that were drawn stand for them.
_MOST_PAIRS = 20_000


@dataclass(frozen=True)
class PooledModel:
    """Which parameter of a model is pooled, how it varies over groups, and what a group says of it."""

    parameter: str
    population: Callable[[Release], Population]
    curve: Callable[[Release, Posterior, np.ndarray, Population], Curve]
    #: The spread of records within a group, which groups have in common more or less, as points and how they vary.
    within: Callable[[Release, Posterior], tuple[np.ndarray, Population]] | None = None
    #: The prior with which a group is read again, and how it then varies over groups, given the mean and the standard
    #: deviation of the points of spreads; None if draws are taken again instead.
    again: Callable[[Release, float, float], tuple[Any, Population]] | None = None

    def curves(
        self, releases: Mapping[str, Release], apart: Mapping[str, Posterior], population: Population
    ) -> list[Curve]:
        """Return what each of the releases says for itself of the population that they come from."""
        return [
            self.curve(part, apart[name], population.x(apart[name].draws[self.parameter]), population)
            for name, part in releases.items()
        ]


def pooled_model(model: Model) -> PooledModel:
    """Return how a model with one pooled parameter is pooled, or raise."""
    found = model.closed_form(_POOLED)
    if found is None:
        raise UsageError(
            f"{model.name} has no one parameter that several tables share.",
            hint="dc.Bernoulli(), dc.Poisson(), dc.Mean() and dc.Normal() have; linear regressions take pool=True",
        )
    return found


def check_pool(model: Model, asked: Mapping[str, Any]) -> None:
    """Raise if a model is not pooled, or if what is asked has no meaning where groups are each other's prior."""
    if model.closed_form(_POOLED) is None and model.closed_form(_VECTORS) is None:
        raise UsageError(
            f"{model.name} is not pooled.",
            hint="dc.Bernoulli(), dc.Poisson(), dc.Mean(), dc.Normal() and linear regressions are",
        )
    for name in ("prior", "records", "missing"):
        if asked[name] is not None and not (name == "prior" and asked[name] == "weak"):
            raise UsageError(
                f"releases that are read together take no {name}: what they have in common is their prior.",
                hint=f"leave out {name}",
            )
    if asked["engine"] == "naive":
        raise UsageError("the naive engine reads nothing together.", hint="leave out engine")


def pool_all(
    releases: Mapping[str, Release],
    apart: GroupPosteriors,
    infer: Callable[..., Posterior],
    asked: Mapping[str, Any],
) -> GroupPosteriors:
    """Return groups, or institutions, that borrow from each other; ``apart`` is what each says for itself."""
    vectors = next(iter(releases.values())).model.closed_form(_VECTORS)
    if vectors is not None:
        _check_several(releases)
        found, population = vectors(releases, apart, asked["rng"])
    else:
        found, population = pool(
            releases, apart, lambda part, **more: infer(part, **{**asked, **more}), asked["rng"]
        )
    return GroupPosteriors(
        found, by=apart.by, about=apart.about, population=population, apart=apart, seed=apart.seed
    )


def like_spreads(
    releases: Mapping[str, Release],
    apart: Mapping[str, Posterior],
    infer: Callable[..., Posterior],
    rng: np.random.Generator,
) -> tuple[Mapping[str, Posterior], Population]:
    """Return what each group says once the spread of its records is taken to be much like that of the others.

    A few noisy records say little of their own spread, and a group that might be spread over all its bounds would be
    drawn to the others too far. Spreads are pooled as parameters are. Then draws of each group are taken again in
    proportion to how likely their spread is beside those of the others, or the group is read again with a prior that
    says so.
    """
    first = next(iter(releases.values()))
    how = pooled_model(first.model)
    if how.within is None:
        return apart, how.population(first)
    points, populations = zip(
        *(how.within(part, apart[name]) for name, part in releases.items()), strict=True
    )
    population = populations[0]
    cells = Cells.of([curve_of_draws(x, population) for x in points], population)
    hierarchy = Hierarchy(cells, population, *size_classes(np.zeros(len(points))))
    mass = hierarchy.masses(hierarchy.at(hierarchy.draw_points(rng)), 0).mean(axis=0)
    if how.again is not None:
        # the few that are unlike the others would make a normal approximation too wide
        low, middle, high = np.interp([0.25, 0.5, 0.75], np.cumsum(mass) / mass.sum(), cells.edges[1:])
        prior, pooled = how.again(first, float(middle), float(high - low) / 1.349)
        read = {
            name: infer(part, prior=prior, rng=stream)
            for (name, part), stream in zip(releases.items(), spawned(rng, len(releases)), strict=True)
        }
        return read, pooled
    found = {}
    for (name, one), x in zip(apart.items(), points, strict=True):
        at = np.clip(np.searchsorted(cells.edges, x, side="right") - 1, 0, mass.size - 1)
        weight = (mass / np.diff(cells.edges))[at]
        cumulative = np.cumsum(np.maximum(weight, 1e-300))
        again = np.searchsorted(cumulative, rng.random(x.size) * cumulative[-1], side="right")
        found[name] = _taken(one, np.minimum(again, x.size - 1))
    return found, how.population(first)


def pool(
    releases: Mapping[str, Release],
    apart: Mapping[str, Posterior],
    infer: Callable[..., Posterior],
    rng: np.random.Generator,
) -> tuple[dict[str, Posterior], Posterior]:
    """Return the pooled posteriors by name, and that of the population; ``apart`` are those without pooling.

    ``infer`` reads one release again, with another prior.
    """
    _check_several(releases)
    how = pooled_model(next(iter(releases.values())).model)
    alike, population = like_spreads(releases, apart, infer, rng)
    curves = how.curves(releases, alike, population)
    sizes = np.array([_size(part) for part in releases.values()])
    hierarchy = Hierarchy(Cells.of(curves, population), population, *size_classes(sizes))
    edges = hierarchy.cells.edges
    points = hierarchy.draw_points(rng)
    h = hierarchy.at(points)
    first = next(iter(apart.values()))
    at = rng.permutation(np.arange(first.n_draws) % len(points))
    drawn = Hyperparameters(h.center[at], h.spread[at], h.with_size[at])
    masses = [hierarchy.masses(h, size_class) for size_class in range(hierarchy.z.size)]
    found = {}
    for (name, one), likelihood, of_size in zip(
        alike.items(), hierarchy.cells.likelihood, hierarchy.of_group, strict=True
    ):
        cell = draw_cells(masses[of_size], likelihood, at, rng)
        x, nearby = _within(cell, edges, population.x(one.draws[how.parameter]), rng)
        # a population may be crowded at an end of its range, which no group's own draws know of
        end = ((cell == 0) & (edges[0] == population.low)) | (
            (cell == edges.size - 2) & (edges[-1] == population.high)
        )
        x = np.where(end, hierarchy.draw_between(cell, drawn, of_size, rng), x)
        beside = _taken(one, nearby)
        found[name] = replace(
            beside,
            draws={**beside.draws, how.parameter: population.value(x)},
            how=lambda one=apart[name]: _diagnosed(one.diagnostics, population),
            about=apart[name].about,
        )
    mean, sd = population.moments(drawn.center, drawn.spread)
    said = Diagnostics("pooled", _APPROXIMATION, _REASON, independent=True, given=_in_words(population))
    return found, Posterior({"mean": mean, "sd": sd}, said, n_chains=first.n_chains, units=first.units)


def _check_several(releases: Mapping[str, Release]) -> None:
    if len(releases) < 2:
        raise UsageError("one group alone has nobody to borrow from.", hint="leave out pool")


def _size(release: Release) -> float:
    """Return the noisy number of records of a group, or the public one."""
    reading, _ = release.layout.inverted(release.totals.numbers)
    return float((release.records or 0) if reading is None else reading)


def _in_words(population: Population) -> str:
    return f"{population.in_words}, and groups may be larger or smaller with their size; each may be unlike the others"


_REASON = "pool=True"
_APPROXIMATION = "what groups have in common by 512 points or fewer"


def _diagnosed(own: Diagnostics, population: Population) -> Diagnostics:
    """Say how a pooled group was drawn."""
    parts = [part for part in (own.approximation, _APPROXIMATION) if part != "none"]
    return replace(
        own,
        engine=f"pooled {own.engine}",
        approximation="; ".join(parts),
        reason=f"{own.reason}; {_REASON}",
        prior=_in_words(population),
        independent=True,
        chains={},
    )


def _taken(one: Posterior, which: np.ndarray) -> Posterior:
    """Return some of the draws of a posterior, and of its table."""
    table = None if one.table is None else _taken(one.table, which)
    return replace(one, draws={key: values[which] for key, values in one.draws.items()}, table=table)


def _within(
    cell: np.ndarray, edges: np.ndarray, own: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return points within cells, and draws of the group nearby: in cells with enough of them, one of them itself."""
    order = np.argsort(own, kind="stable")
    ordered = own[order]
    start = np.searchsorted(ordered, edges[cell], side="left")
    count = np.searchsorted(ordered, edges[cell + 1], side="right") - start
    u = rng.random((2, cell.size))
    anywhere = edges[cell] + u[0] * np.diff(edges)[cell]
    # of the draws nearest to a point, one of a few either side
    around = np.searchsorted(ordered, anywhere) + np.floor((u[1] - 0.5) * _ENOUGH).astype(int)
    enough = count >= _ENOUGH
    pick = np.where(enough, start + (u[1] * count).astype(int), around)
    nearby = order[np.clip(pick, 0, own.size - 1)]
    return np.where(enough, own[nearby], anywhere), nearby


# -- models that are pooled ---------------------------------------------------------------------------


def _share_curve(release: Release, one: Posterior, x: np.ndarray, population: Population) -> Curve:
    values = release.totals.values
    assert one.table is not None
    if release.records is None:
        return curve_of_cells(values[0], values[1], release.noise[0], x, one.table.draws["usable"])
    question = Question(release, Beta(1, 1), RecordPrior(), 1, 1, np.random.default_rng(0))
    counts = bernoulli_counts(release, question.prior, question.usable)
    if isinstance(counts, YesCounts | BinaryCounts) and counts.n_pairs <= _MOST_PAIRS:
        found = counts.probabilities()
        pairs = np.array([(usable - yes, yes) for usable, yes in found])
        return curve_of_counts(pairs, np.array(list(found.values())), x)
    yes, usable = one.table.draws["yes"], one.table.draws["usable"]
    pairs, times = np.unique(np.stack([usable - yes, yes], axis=1), axis=0, return_counts=True)
    return curve_of_counts(pairs, times.astype(float), x)


def _drawn_curve(release: Release, one: Posterior, x: np.ndarray, population: Population) -> Curve:
    return curve_of_draws(x, population)


def _bounds(release: Release) -> tuple[float, float]:
    assert release.domain.bounds is not None
    low, high = release.domain.bounds[0]
    return float(low), float(high)


def _mean_population(release: Release) -> Population:
    low, high = _bounds(release)
    return SharePopulation(low, high - low)


def _rate_population(release: Release) -> Population:
    prior: Any = release.model.suggested_prior(release.domain)
    return RatePopulation(float(prior.rate), _bounds(release)[1])


def _normal_population(release: Release, own: Any = None) -> Population:
    low, high = _bounds(release)
    weak: Any = release.model.suggested_prior(release.domain)
    return NormalPopulation((low + high) / 2, high - low, weak if own is None else own)


def _relative_spread(release: Release, one: Posterior) -> tuple[np.ndarray, Population]:
    """Return the variance as a share of the largest that the mean allows, whose own prior is nearly Beta(1/2, 1/2)."""
    low, high = _bounds(release)
    mean, sd = (one.draws["mean"] - low) / (high - low), one.draws["sd"] / (high - low)
    population = SharePopulation()
    return population.x(sd**2 / np.maximum(mean * (1 - mean), 1e-300)), population


def _log_variance(release: Release, one: Posterior) -> tuple[np.ndarray, Population]:
    weak: Any = release.model.suggested_prior(release.domain)
    return np.log(one.draws["variance"]), LogVariancePopulation.of(weak)


def _like_variances(release: Release, mean: float, sd: float) -> tuple[Any, Population]:
    weak: Any = release.model.suggested_prior(release.domain)
    prior = LogVariancePopulation.prior(weak, mean, sd)
    return prior, _normal_population(release, prior)


_POOLED: dict[type[Model], PooledModel] = {
    Bernoulli: PooledModel("p", lambda release: SharePopulation(uniform=True), _share_curve),
    Mean: PooledModel("mean", _mean_population, _drawn_curve, _relative_spread),
    Normal: PooledModel("mean", _normal_population, _drawn_curve, _log_variance, _like_variances),
    Poisson: PooledModel("rate", _rate_population, _drawn_curve),
}
#: Models with a vector of parameters that are pooled together.
_VECTORS: dict[type[Model], Callable[..., tuple[dict[str, Posterior], Posterior]]] = {
    LinearRegression: pool_coefficients
}

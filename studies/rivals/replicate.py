"""One replicate: a truth, a table of records, every mechanism's release of it, and how good each reading is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

import discreet as dc
from discreet.artifact import Release, Samples, SamplingRecord
from discreet.curator.publish import release_with, sample_with
from discreet.domain.declarations import Domain, Neighbors
from discreet.families.base import Family
from discreet.inference.engines.registry import EngineName as Engine
from discreet.mechanisms.base import Mechanism, RandomSource, Totals
from discreet.models.layout import Layout
from discreet.privacy import Guarantee
from discreet.privacy.selection import ExponentialChoice

from .budgets import DELTA, RenyiBudget, mechanism_for
from .models import MODELS, Model

#: Draws that a posterior is read by.
DRAWS = 1000
#: Methods in the order in which they are shown, with the name a reader sees.
METHODS = {
    "non-private": "non-private",
    "laplace exact": "Laplace, exact",
    "gaussian exact": "Gaussian, exact",
    "laplace naive": "Laplace, naive",
    "ops 1": "OPS, 1 sample",
    "ops 100": "OPS, 100 samples",
    "direct 1": "direct, 1 sample",
    "diffused 1": "diffused, 1 sample",
    "diffused 100": "diffused, 100 samples",
    "concentrated 1": "concentrated, 1 sample",
    "concentrated 100": "concentrated, 100 samples",
}
#: The number that is released is the draw: there is one, and no interval.
SINGLE = frozenset(name for name in METHODS if name.endswith(" 1"))
RENYI = tuple(name for name in METHODS if name.startswith(("direct", "diffused", "concentrated")))


@dataclass(frozen=True)
class Reading:
    """What one method made of one replicate.

    Parameters
    ----------
    error
        L1 distance of the draws' mean from the truth, summed over labels.
    loss
        Expected log-likelihood of a held-out record under the truth less that under the posterior predictive, in nats.
    covered
        Whether the central 95% interval holds the truth, one for each parameter; empty from a single sample.
    width
        Of that interval, the mean over parameters; nan from a single sample.
    spent
        The epsilon that the release's guarantee converts to at DELTA; nan without privacy.
    """

    error: float
    loss: float
    covered: tuple[bool, ...]
    width: float
    spent: float


class Planned(Mechanism):
    """A sampling mechanism whose plan, which depends on public facts only, is made once and not for each replicate."""

    name: ClassVar[str] = "planned"

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self.prior, self.samples = mechanism, mechanism.prior, mechanism.samples
        self._plans: dict[int, SamplingRecord] = {}

    def guarantee(self, neighbors: Neighbors) -> Guarantee:
        return self.mechanism.guarantee(neighbors)

    def check(self, family: Family, domain: Domain, layout: Layout | None = None) -> None:
        if not self._plans:
            self.mechanism.check(family, domain)

    def plan(
        self, family: Family, domain: Domain, n_records: int, layout: Layout | None = None
    ) -> SamplingRecord:
        if n_records not in self._plans:
            self._plans[n_records] = self.mechanism.plan(family, domain, n_records)
        return self._plans[n_records]

    def draw(self, record: SamplingRecord, totals: Totals, source: RandomSource) -> Samples:
        return self.mechanism.draw(record, totals, source)


def source_of(rng: np.random.Generator) -> RandomSource:
    """Return a seeded source that computes the distribution of a choice once for all samples of a release."""
    known: dict[int, tuple[ExponentialChoice, np.ndarray]] = {}

    def choose(distribution: ExponentialChoice) -> int:
        if id(distribution) not in known:
            # the distribution is kept too, so that its id stays its own
            known[id(distribution)] = distribution, np.cumsum(distribution.mass())
        cumulated = known[id(distribution)][1]
        return min(int(np.searchsorted(cumulated, rng.random(), side="right")), len(cumulated) - 1)

    return RandomSource(lambda sampler: sampler(rng), choose)


@cache
def _mechanism(model: str, epsilon: str, method: str, renyi: RenyiBudget | None) -> Mechanism:
    mechanism = mechanism_for(model, epsilon, method, renyi)
    return Planned(mechanism) if mechanism.every_record else mechanism


@cache
def _spent(guarantee: Guarantee) -> float:
    return float(guarantee.to_approx(DELTA).epsilon)


def release_of(model: Model, mechanism: Mechanism, rows: np.ndarray, rng: np.random.Generator) -> Release:
    """Release rows as the public function does, but with seeded randomness."""
    if mechanism.every_record:
        return sample_with(source_of(rng), rows, model.family, mechanism, bounds=model.bounds, missing="none")
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        rows,
        model.family,
        mechanism,
        bounds=model.bounds,
        outside="redact",
        missing="none",
    )


def _posterior(release: Release, model: Model, method: str, rng: np.random.Generator) -> dc.Posterior:
    if release.samples is not None:
        return dc.infer(release)
    engine: Engine = "naive" if method.endswith("naive") else "exact"
    return dc.infer(release, prior=model.prior, engine=engine, draws=DRAWS, rng=rng)


def read(model: Model, truth: np.ndarray, draws: np.ndarray, spent: float) -> Reading:
    """Measure what draws say about the truth."""
    columns = draws.reshape(len(draws), -1)
    error = float(np.abs(columns.mean(axis=0) - truth).sum())
    loss = model.loss(truth, draws)
    if len(columns) == 1:
        return Reading(error, loss, (), math.nan, spent)
    low, high = np.quantile(columns, [0.025, 0.975], axis=0)
    covered = tuple(bool(each) for each in (low <= truth) & (truth <= high))
    return Reading(error, loss, covered, float((high - low).mean()), spent)


def replicate(
    name: str,
    n_records: int,
    epsilon: str,
    renyi: Mapping[str, RenyiBudget],
    methods: tuple[str, ...],
    seed: tuple[int, ...],
    index: int,
) -> dict[str, Reading]:
    """Run one replicate. Truth and data do not depend on epsilon; each method has random numbers of its own."""
    model = MODELS[name]

    def rng(*part: int) -> np.random.Generator:
        return np.random.default_rng([*seed, n_records, index, *part])

    data = rng(0)
    truth = model.draw_truth(data)
    rows, sums = model.draw_rows(truth, n_records, data)
    # both readings of Laplace noise are of one release
    releases: dict[str, Release] = {}
    out = {}
    for number, method in enumerate(METHODS, start=1):
        if method not in methods or (method in RENYI and method not in renyi):
            continue
        random = rng(number, round(1000 * float(epsilon)))
        if method == "non-private":
            out[method] = read(model, truth, _conjugate(model, sums, n_records, random), math.nan)
            continue
        key = "laplace" if method.startswith("laplace") else method
        if key not in releases:
            mechanism = _mechanism(name, epsilon, method, renyi.get(method))
            releases[key] = release_of(model, mechanism, rows, random)
        release = releases[key]
        draws = next(iter(_posterior(release, model, method, random).draws.values()))
        out[method] = read(model, truth, draws, _spent(release.guarantee))
    return out


def _conjugate(model: Model, sums: np.ndarray, n_records: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from the posterior of the rows themselves."""
    family = model.family
    updated = family.update(model.prior, sums, n_records)
    return next(iter(family.draw(updated, DRAWS, rng).values()))

"""Posterior samples with a Rényi guarantee: from the posterior itself, or from one with prior and data rebalanced."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Literal, get_args

import numpy as np

from discreet.arguments import one_of
from discreet.artifact import Samples, SamplingRecord
from discreet.artifact.records.renyi_posterior import (
    ConcentratedPosteriorRecord,
    ConcentratedQueryRecord,
    DiffusedPosteriorRecord,
    DiffusedQueryRecord,
    DirectPosteriorRecord,
)
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.families import Family
from discreet.mechanisms.base import Mechanism, RandomSource, Totals, conjugate_family, read_samples
from discreet.models.layout import Layout
from discreet.priors import Prior
from discreet.privacy import RenyiDP
from discreet.privacy.costs.posterior_neighbors import NeighboringPosteriors
from discreet.privacy.guarantees import positive_budget
from discreet.privacy.renyi import check_orders
from discreet.privacy.rounding import rational_up
from discreet.rational import Number, float_down, float_up, plain

Mode = Literal["direct", "diffused", "concentrated"]

# More than the search leaves for rounding errors.
_ABOVE = 1 + 1e-5
# What a parameter that must be positive and finite is moved to if its draw underflows or overflows.
_SMALLEST, _LARGEST = float(np.finfo(float).tiny), float(np.finfo(float).max)


@dataclass(frozen=True)
class RenyiPosterior(Mechanism):
    """Release draws from a conjugate posterior, within a Rényi divergence of one order.

    Parameters
    ----------
    prior
        The conjugate prior, proper, chosen without looking at the data; or its text, as ``"beta:6,12"``. It is part of
        the guarantee. Records that need no protection belong into it: ``family.learn(prior, records)``. They make it
        stronger, and the samples both more accurate and more private.
    order, epsilon
        The guarantee: the Rényi divergence of this order, above 1, is at most epsilon, for all samples together.
    mode
        ``"direct"``: the posterior itself, refused where it is not private enough. ``"diffused"``: each record counts r
        of a record, with the largest r up to 1 that is private enough; weak budgets end at the prior.
        ``"concentrated"``: the prior's natural hyperparameters are divided by m up to 1; weak budgets end at the
        prior's center. Where the posterior itself is private enough, all three are the same.
    samples
        How many draws.

    Privacy
    -------
    Neighbors: tables with the same public number of records that differ in one (``replace``). Theorem: draws are
    independent, so divergences add up, and N of them stay within epsilon if N times the largest divergence between the
    distributions of one draw does (Geumlek 2020, equation 5.15 and algorithms 1 to 3). That supremum, over all tables
    and all values of the replaced record, is in closed form for each family
    (:mod:`discreet.privacy.costs.posterior_neighbors`); r and m are found by bisection to the last bit, and the end
    that is returned was checked, with room for rounding. The printed corollary for the beta lists pairs that no table
    can lead to, and for three labels or more the corners of the set of posteriors, which theorem 10 suggests, miss
    the worst pair: both are corrected there.

    Every record must count: values are clipped and missing ones imputed by a public value. A record that is left out
    takes its share of the log-partition along, and the supremum does not hold any more. Draws come from floating-point
    samplers fed by the operating system; the theorem is about the distributions that they approximate.

    References
    ----------
    Geumlek (2020), Sampling from distributions under differential privacy notions, chapter 5. Mironov (2017), Rényi
    differential privacy.
    """

    name = "renyi_posterior"
    example = 'for example dc.mechanisms.RenyiPosterior("beta:6,12", order=2, epsilon=0.1)'
    #: The public record of each mode.
    _records: ClassVar[Mapping[str, type[SamplingRecord]]] = {
        "direct": DirectPosteriorRecord,
        "diffused": DiffusedPosteriorRecord,
        "concentrated": ConcentratedPosteriorRecord,
    }
    _modes: ClassVar[tuple[str, ...]] = get_args(Mode)

    prior: Prior
    order: Fraction
    epsilon: Fraction
    mode: Mode
    samples: int

    def __init__(
        self,
        prior: Prior | str,
        *,
        order: Number,
        epsilon: Number,
        mode: Mode = "diffused",
        samples: int = 1,
    ) -> None:
        self._set(
            prior=self._read_prior(prior),
            mode=one_of(mode, "mode", self._modes),
            order=check_orders([order])[0],
            epsilon=positive_budget(epsilon, "epsilon"),
            samples=read_samples(samples),
        )

    def guarantee(self, neighbors: Neighbors) -> RenyiDP:
        return RenyiDP([self.order], [self.epsilon], neighbors=neighbors)

    def check(self, family: Family, domain: Domain, layout: Layout | None = None) -> None:
        family = conjugate_family(self, family)
        if not family.is_likelihood:
            raise UsageError(
                "a predicate is a question, not a model.",
                hint="a statistical query is the mechanism to ask for",
            )
        # raises where no largest divergence is proven
        NeighboringPosteriors(family, self.prior, 1, domain.bounds)

    def plan(
        self, family: Family, domain: Domain, n_records: int, layout: Layout | None = None
    ) -> SamplingRecord:
        near = NeighboringPosteriors(family, self.prior, n_records, domain.bounds)
        order, each = float_up(self.order), float_down(self.epsilon / self.samples)
        r = m = 1.0
        if self.mode == "direct":
            self._check_direct(near, order, each)
        elif self.mode == "diffused":
            r = near.find_r(order, each)
        else:
            m = near.find_m(order, each)
        _check_floats(near, r, m)
        return self._records[self.mode](
            self.prior,
            None,
            {"order": self.order, "r": Fraction(r), "m": Fraction(m)},
        )

    def _check_direct(self, near: NeighboringPosteriors, order: float, each: float) -> None:
        if near.allows(order, each):
            return
        cost, largest = near.worst_divergence(order), near.largest_order()
        hint = "use the diffused or the concentrated mode, or learn public records into the prior"
        if cost == math.inf:
            raise UsageError(
                f"the posterior itself has a guarantee for orders below {largest:g} only, "
                f"got order={plain(self.order)}.",
                hint=hint,
            )
        # rounded up, so that asking for just that works
        needed = plain(rational_up(Decimal(cost * self.samples * _ABOVE), 4))
        what = "a sample" if self.samples == 1 else f"{self.samples} samples"
        raise UsageError(
            f"{what} of the posterior itself would take an epsilon of {needed} at order {plain(self.order)}, "
            f"got epsilon={plain(self.epsilon)}.",
            hint=hint,
        )

    def draw(self, record: SamplingRecord, totals: Totals, source: RandomSource) -> Samples:
        family = totals.family
        near = NeighboringPosteriors(family, self.prior, totals.n_records, totals.domain.bounds)
        distribution = near.posterior(
            totals.sums(), r=float(record.parameters["r"]), m=float(record.parameters["m"])
        )

        def sampler(rng: np.random.Generator) -> dict[str, np.ndarray]:
            with np.errstate(all="ignore"):
                return family.draw(distribution, self.samples, rng)

        draws = source.floating(sampler)
        return Samples.of({name: _kept_finite(name, values) for name, values in draws.items()}, "floating")


@dataclass(frozen=True, init=False)
class StatisticalQuery(RenyiPosterior):
    """Release the mean of a column of numbers between 0 and 1, within a Rényi divergence of one order.

    ``dc.release(data, dc.families.Predicate(), mechanism=dc.mechanisms.StatisticalQuery("beta:1,1", order=2,
    epsilon=0.1), column="share", impute=0.5)``

    Parameters
    ----------
    prior
        A beta prior on the mean, chosen without looking at the data. It pulls the answer toward its own mean.
    order, epsilon
        The guarantee: the Rényi divergence of this order, above 1, is at most epsilon, for all samples together.
    mode
        ``"diffused"`` or ``"concentrated"``, as in :class:`RenyiPosterior`.
    samples
        How many draws.

    Privacy
    -------
    The draw is from Beta(a / m + r s, b / m + r (n - s)) with s the sum of the column (Geumlek 2020, algorithm 4). The
    sum is a real number, and a replaced record moves it by at most 1, to anywhere. For a fixed posterior of one table
    the divergence grows as the other moves away, so whole steps are the worst; for whole steps it is convex in the
    place, so the ends are: the supremum is that of bits, and everything in :class:`RenyiPosterior` applies.
    """

    name = "statistical_query"
    _records: ClassVar[Mapping[str, type[SamplingRecord]]] = {
        "diffused": DiffusedQueryRecord,
        "concentrated": ConcentratedQueryRecord,
    }
    _modes = ("diffused", "concentrated")

    def check(self, family: Family, domain: Domain, layout: Layout | None = None) -> None:
        family = conjugate_family(self, family)
        if family.is_likelihood:
            raise UsageError(
                f"a statistical query is about numbers between 0 and 1, got a model of {family.name}.",
                hint="a predicate is the model to ask for; samples of a model are another mechanism",
            )
        # raises where no largest divergence is proven
        NeighboringPosteriors(family, self.prior, 1, domain.bounds)


def _check_floats(near: NeighboringPosteriors, r: float, m: float) -> None:
    """Raise unless every posterior that can be reached can be written in floating point."""
    sums = [[Fraction(0)] * near.prior.natural().size]
    if near.bounds is not None:
        low, high = near.family.measure_range(*near.bounds[0])
        sums = [[near.n_records * low], [near.n_records * high]]
    try:
        for each in sums:
            near.posterior(each, r=r, m=m)
    except (UsageError, OverflowError):
        raise UsageError(
            "the prior, the bounds and the budget together leave the range of floating-point numbers.",
            hint="choose narrower bounds, a larger epsilon or another prior",
        ) from None


def _kept_finite(name: str, values: np.ndarray) -> np.ndarray:
    """Move rates and variances that underflowed or overflowed back to where they can be read."""
    return np.clip(values, _SMALLEST, _LARGEST) if name in ("rate", "variance") else values

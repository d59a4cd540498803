"""The mean of a predicate, released as a draw from a beta distribution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from discreet.artifact import SamplingRecord
from discreet.artifact.records.renyi_posterior import ConcentratedQueryRecord, DiffusedQueryRecord
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.mechanisms.base import conjugate_family
from discreet.mechanisms.renyi_posterior import RenyiPosterior
from discreet.models.layout import Layout


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
        self._check_reach(family, domain)

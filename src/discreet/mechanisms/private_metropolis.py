"""A random walk over the parameters, every step of it paid for: Barker's rule, or that of Metropolis with its delta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.artifact import Samples
from discreet.artifact.records.posterior_sample import labels_support
from discreet.artifact.records.private_walks import PrivateMetropolisRecord
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families import Family
from discreet.mechanisms.base import RandomSource, Sized, Totals, conjugate_family
from discreet.mechanisms.grid_walking import (
    barker_walk,
    planned_shares,
    planned_walk,
    read_steps,
    read_temperature,
    shares_of,
    too_many_steps,
    walk_of,
)
from discreet.mechanisms.posterior_sampling import read_least
from discreet.priors import Prior
from discreet.privacy.costs.chain_updates import WorstCaseRejection, metropolis_distribution
from discreet.privacy.costs.likelihood_range import temperature_for
from discreet.privacy.costs.scored_points import SCALE_BITS, SLACK
from discreet.privacy.guarantees import positive_budget
from discreet.rational import Number, plain


@dataclass(frozen=True)
class PrivateMetropolis(Sized):
    """Release the states of a random walk whose target is a tempered posterior, one state for each step.

    Parameters
    ----------
    prior
        The family's conjugate prior, or its text. It is part of the guarantee and is not tempered.
    epsilon
        The price of all steps together.
    steps
        How many updates, and how many states are released. The first state is a draw from the prior and costs nothing.
    support
        As in :class:`~discreet.mechanisms.posterior_sampling.PosteriorSampling`: a pair for each parameter, or the
        least probability of labels.
    temperature
        The temperature of the chain. By default the least one, at least 1, at which ``epsilon`` pays for all steps; if
        given, more steps than ``epsilon`` pays for are refused.
    width
        How many points of the grid a proposal may be away, along one parameter; by default a sixteenth of them. For
        labels, how many parts may go from one label to another; by default a sixty-fourth. Shorter steps cost less.
    cells
        How many points the public grid has along each parameter; by default 4096, or 256 for each of two. For labels
        the parts that probabilities are made of; by default 1024.
    rejection
        A :class:`~discreet.privacy.costs.chain_updates.WorstCaseRejection` chooses the rule of Metropolis in place of
        Barker's, and adds ``steps`` times its bound to the guarantee as delta. It is checked, never believed.

    Privacy
    -------
    Neighbors: ``replace``. Every record counts once, clipped and imputed. Sensitivity: the range R of the
    log-likelihood difference between any two records, over all pairs of parameters that one proposal can join
    (:class:`~discreet.privacy.costs.grid_walk.GridWalk`, :class:`~discreet.privacy.costs.simplex_walk.SimplexWalk`),
    for every table. Theorem: an update by Barker's rule is (R
    / T)-DP whether it accepts or rejects, because the logarithms of s(a) and 1 - s(a) change no faster than a
    (:mod:`discreet.privacy.costs.chain_updates`); ``steps`` of them add up. Proposals are drawn without the data. The
    choice between staying and moving is made by OpenDP in exact arithmetic, on integer scores whose rounding is paid
    for.

    The rule of Metropolis has no finite epsilon: a proposal that is uphill is never rejected and may be downhill for a
    neighbor. With a proven bound delta on the probability of rejection, for every table and every state, an update is
    (R / T, delta)-DP (Foulds et al. 2016, theorem C.1, where the bound reads as if the rate at hand would do). Deltas
    add up, and one small enough to mean something leaves a chain that hardly looks at the data: the form is here to
    be compared with.

    References
    ----------
    Foulds, Geumlek, Welling and Chaudhuri (2016), supplements C.1 and D. Barker (1965).
    """

    name = "private_metropolis"
    what = "a private walk needs"
    example = (
        'for example dc.mechanisms.PrivateMetropolis("beta:1,1", epsilon=1, steps=50, support=(0.01, 0.99))'
    )
    prior: Prior
    epsilon: Fraction
    steps: int
    support: Any
    temperature: Fraction | None
    width: int | None
    cells: int | None
    rejection: WorstCaseRejection | None

    def __init__(
        self,
        prior: Prior | str,
        *,
        epsilon: Number | None = None,
        steps: int | None = None,
        support: Any = None,
        temperature: Number | None = None,
        width: int | None = None,
        cells: int | None = None,
        rejection: WorstCaseRejection | None = None,
    ) -> None:
        if rejection is not None and not isinstance(rejection, WorstCaseRejection):
            raise UsageError(
                "rejection must be a WorstCaseRejection: a bound for every table and every state, and its proof.",
                hint="an observed rejection rate is a number about one table; leave out rejection for Barker's rule",
            )
        self._set(
            prior=self._read_prior(prior),
            epsilon=positive_budget(self._needed(epsilon, "epsilon"), "epsilon"),
            steps=read_steps(self._needed(steps, "steps")),
            support=self._needed(support, "support"),
            temperature=read_temperature(temperature),
            width=width,
            cells=cells,
            rejection=rejection,
        )
        if rejection is not None and self.steps * rejection.bound >= 1:
            raise UsageError(
                f"delta adds up over the steps: {self.steps} times {plain(rejection.bound)} is 1 or more, "
                "and promises nothing.",
                hint="Barker's rule, the default, needs no delta",
            )

    @property
    def samples(self) -> int:
        """How many states are released: one for each step."""
        return self.steps

    @property
    def rule(self) -> Literal["barker", "metropolis"]:
        """Which rule accepts proposals."""
        return "barker" if self.rejection is None else "metropolis"

    @property
    def delta(self) -> Fraction | None:
        """What the bound on rejections adds up to."""
        return None if self.rejection is None else self.steps * self.rejection.bound

    def _check_size(
        self, record: PrivateMetropolisRecord, family: Family, domain: Domain, n_records: int
    ) -> None:
        if self.rejection is not None:
            walk = walk_of(record, family, domain)
            worst = walk.worst_rejection(n_records, record.parameters["temperature"])
            if worst > self.rejection.bound:
                raise UsageError(
                    "the bound on rejections is too low: some table of this size rejects with probability "
                    f"{worst:.3g}, got bound={plain(self.rejection.bound)}.",
                    hint="Barker's rule, the default, needs no such bound",
                )

    def _record(self, family: Family, domain: Domain) -> PrivateMetropolisRecord:
        family = conjugate_family(self, family)
        if self.rejection is not None and (family.n_probabilities is not None or len(family.draw_names) > 1):
            raise UsageError(
                "the worst rejection is known for one parameter only: leave out rejection, for Barker's rule."
            )
        if family.n_probabilities is not None:
            shares = planned_shares(self, family)
            support = labels_support(read_least(family, self.support), family.n_probabilities)
            return self._numbered(support, shares.range(), shares.numbers)
        walk = planned_walk(self, family, domain)
        return self._numbered(walk.grid.support, walk.range(), walk.numbers)

    def _numbered(
        self, support: Any, needed: Fraction, own: Mapping[str, Fraction]
    ) -> PrivateMetropolisRecord:
        numbers = {"temperature": self._temperature(needed), "range": needed, **own}
        if self.rejection is not None:
            numbers["rejection"] = self.rejection.bound
        return PrivateMetropolisRecord(self.prior, support, numbers)

    def _temperature(self, needed: Fraction) -> Fraction:
        """Return the temperature to use, or refuse to take more steps than the budget pays for."""
        least = temperature_for(needed, self.epsilon, self.steps, SLACK)
        if self.temperature is None:
            return least
        each = needed / self.temperature + SLACK
        if self.steps * each > self.epsilon:
            raise too_many_steps(self.steps, self.steps * each, self.epsilon, int(self.epsilon / each), least)
        return self.temperature

    def draw(self, record: PrivateMetropolisRecord, totals: Totals, source: RandomSource) -> Samples:
        labels = totals.family.n_probabilities is not None
        walk = shares_of(record) if labels else walk_of(record, totals.family, totals.domain)
        start = walk.start(source)
        offsets = source.floating(lambda rng: walk.propose(self.steps, rng))
        scores = walk.scores(totals.features(), totals.n_records, 1 / record.parameters["temperature"])
        if self.rule == "barker":
            path = barker_walk(walk, scores, start, offsets, source)
        else:
            path = source.floating(lambda rng: _metropolis_walk(walk, scores, start, offsets, rng))
        return Samples.of(walk.draws(path), "exact" if self.rule == "barker" else "floating")


def _metropolis_walk(
    walk: Any, scores: Any, start: Any, offsets: np.ndarray, rng: np.random.Generator
) -> list[int]:
    path, at = [], start
    for offset, coin in zip(offsets, rng.random(len(offsets)), strict=True):
        to = walk.moved(at, offset)
        if to is not None:
            # beyond this the probability is 0 in float64 anyway
            log_odds = max((scores[to] - scores[at]) / (1 << SCALE_BITS), -1e4)
            if coin < metropolis_distribution(np.array(log_odds))[0]:
                at = to
        path.append(at)
    return path

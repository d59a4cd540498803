"""A Gibbs sampler, every sweep of it paid for."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artifact import Samples
from discreet.artifact.records.private_gibbs import PrivateGibbsRecord, label_costs
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.mechanisms.base import RandomSource, Sized
from discreet.mechanisms.grid_walking import read_steps, read_temperature, too_many_steps
from discreet.models import Model
from discreet.models.gibbs_model import GibbsModel
from discreet.privacy.costs.gibbs_costs import SweepCosts
from discreet.privacy.guarantees import failure_probability, positive_budget
from discreet.rational import Number, exact, float_up, plain
from discreet.samplers.gibbs_chains import CHAINS, ChainSettings
from discreet.samplers.truncated_dirichlet import check_lower

if TYPE_CHECKING:
    from discreet.data.summaries.records import Records

# Lighter ones leave float64, heavier ones outweigh any data there is.
_LIGHTEST_PRIOR, _HEAVIEST_PRIOR = Fraction(1, 1000), Fraction(10**9)
# What a file should hold.
_MOST_VALUES = 10**6


@dataclass(frozen=True)
class PrivateGibbs(Sized):
    """Release the states of a tempered Gibbs sampler, one per sweep.

    For :class:`~discreet.models.mixture.Mixture`, where every record has a hidden state of its own, and
    :class:`~discreet.models.hidden_markov.HiddenMarkov`, where all entries of a sequence at a time share one; for
    :class:`~discreet.models.hidden_network.HiddenNetwork`, where a record has labels in hidden columns of a network;
    and for :class:`~discreet.models.declared_likelihood.DeclaredLikelihood`, whose conditionals are the curator's own.

    Parameters
    ----------
    epsilon
        The price of all sweeps together.
    delta
        With it the guarantee is (epsilon, delta), the sweeps are added up through Rényi divergences, and the
        temperature grows with the square root of their number, not with the number itself.
    steps
        How many sweeps, and how many states are released. A sweep draws the hidden states, then label probabilities,
        then the probabilities of hidden states (weights, or transitions). The chain starts at a draw from the prior,
        which costs nothing.
    support
        The least that any label's probability can be: one number for all columns of labels, or one for each by name.
        Without it one record could change the posterior without limit. A declared likelihood has none.
    weight_prior, label_prior
        Parameters of the symmetric Dirichlet priors: of the weights of a mixture, the rows of transitions or the tables
        of hidden columns alone, and of every column's labels; ``label_prior`` is at least 1. They are part of the
        guarantee and are not tempered.
    temperature
        The temperature of the chain. By default the least one, at least 1, at which the budget pays for all sweeps; if
        given, more sweeps than it pays for are refused.
    share
        For a mixture or a network, the share of the records, chosen at random, that are assigned anew in a sweep; 1 is
        all of them. Less than that makes no pure guarantee cheaper; with ``delta`` it does.

    Privacy
    -------
    Neighbors: ``replace``. A record is a row; for a hidden Markov model it is one entry, and the one in its place may
    be of another sequence and time. Every record counts once, missing labels imputed. Sensitivity: the range R_d of one
    column's log-likelihood over the truncated simplex, a constant, not the range at the current state. Theorem: the
    states are public one after the other. The hidden states are drawn by the exponential mechanism, (sum_d R_d / T)-DP:
    the assignment of a mixture's record reads this record alone, so that all assignments of a sweep cost as much as
    one; the paths of a hidden Markov model are one draw from their joint distribution. Given the hidden states the
    update of column d costs R_d / T. Weights and transitions given the hidden states cost nothing. ``steps`` sweeps add
    up (:mod:`discreet.privacy.costs.gibbs_costs` has the proof, and the costs of networks); for (epsilon, delta) each
    exponential mechanism of range r counts as r^2 / 8 zero-concentrated. A random scan of Q of N records costs a whole
    update in pure terms, because everybody sees what moved: the printed 4 D Q / N is wrong.

    A declared likelihood has no hidden states. Each of its parameters is drawn by the exponential mechanism, in exact
    arithmetic, and costs its own range over T, which is computed from the whole table of the likelihood.

    The assignments of a mixture or a network count as published but are not in the file, and the distribution of what
    is does not depend on the order of the records; the paths of a hidden Markov model are in it. Draws are made in
    floating point, from the operating system's random bits, and the release says so.

    References
    ----------
    Foulds, Geumlek, Welling and Chaudhuri (2016), sections 4.1 and 5. Song, Chaudhuri and Sarwate (2013), Stochastic
    gradient descent with differentially private updates (parallel composition).
    """

    name = "private_gibbs"
    what = "private Gibbs sampling needs"
    example = "for example dc.mechanisms.PrivateGibbs(epsilon=1, steps=20, support=0.02)"
    reads = "records"
    epsilon: Fraction
    delta: Fraction | None
    steps: int
    support: Any
    weight_prior: Fraction
    label_prior: Fraction
    temperature: Fraction | None
    share: Fraction

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        steps: int | None = None,
        support: Any = None,
        weight_prior: Number = 1,
        label_prior: Number = 1,
        temperature: Number | None = None,
        share: Number = 1,
    ) -> None:
        self._set(
            epsilon=positive_budget(self._needed(epsilon, "epsilon"), "epsilon"),
            delta=None if delta is None else failure_probability(delta),
            steps=read_steps(self._needed(steps, "steps")),
            support=support,
            weight_prior=_read_weight("weight_prior", weight_prior),
            label_prior=_read_weight("label_prior", label_prior),
            temperature=read_temperature(temperature),
            share=exact(share, "share"),
        )
        if self.label_prior < 1:
            # below it the sampler of truncated probabilities is slow for some tables, which would show
            raise UsageError(f"label_prior must be at least 1, got label_prior={plain(self.label_prior)}.")
        if not 0 < self.share <= 1:
            raise UsageError(f"share must be above 0 and at most 1, got share={plain(self.share)}.")

    def _check_size(self, record: PrivateGibbsRecord, model: Model, domain: Domain, n_records: int) -> None:
        if self.share * n_records < 1:
            raise UsageError(
                f"a share of {plain(self.share)} of {n_records} records is less than one record.",
                hint="take a larger share",
            )

    def _record(self, model: Model, domain: Domain) -> PrivateGibbsRecord:
        model = _sampled(model)
        if not model.emitted:
            return self._of_values(model)
        if self.share != 1 and not model.state_per_record:
            raise UsageError(
                f"share is for records that have a hidden state each, and those of {model.name} have none.",
                hint="leave out share",
            )
        shapes = [*model.state_probabilities().values(), *model.state_paths().values()]
        each = sum(math.prod(shape) for shape in (*shapes, *model.label_shapes().values()))
        values = self.steps * each
        if values > _MOST_VALUES:
            raise UsageError(
                f"{self.steps} states of this {model.in_words} model are {values} numbers, "
                "more than a file should hold."
            )
        least = self._least(model)
        sizes = [column.n_labels for column in model.emitted]
        for k, low in zip(sizes, least, strict=True):
            check_lower(float_up(low), k)
        numbers = {
            "temperature": self._temperature(label_costs(model, least, self.share)),
            "share": self.share,
            "weight_prior": self.weight_prior,
            "label_prior": self.label_prior,
        }
        support = tuple((low, 1 - (k - 1) * low) for k, low in zip(sizes, least, strict=True))
        return PrivateGibbsRecord(None, support, numbers)

    def _of_values(self, model: GibbsModel) -> PrivateGibbsRecord:
        """Return the record of a model that declares its own values and likelihood."""
        given = {
            "support": self.support is not None,
            "share": self.share != 1,
            "weight_prior": self.weight_prior != 1,
            "label_prior": self.label_prior != 1,
        }
        for name in (name for name, is_given in given.items() if is_given):
            raise UsageError(
                f"{model.in_words} declares its own values and prior: leave out {name}.",
                hint="for example dc.mechanisms.PrivateGibbs(epsilon=1, steps=20)",
            )
        values = self.steps * len(model.draw_names)
        if values > _MOST_VALUES:
            raise UsageError(
                f"{self.steps} states of this model are {values} numbers, more than a file should hold."
            )
        costs = SweepCosts(model.update_ranges, hidden=False)
        return PrivateGibbsRecord(None, None, {"temperature": self._temperature(costs)})

    def _least(self, model: GibbsModel) -> tuple[Fraction, ...]:
        """Read the support: one least probability for each column of labels."""
        support = self._needed(
            self.support,
            "a support, the least that a label's probability can be: without it one record changes the likelihood "
            "without limit",
        )
        names = [column.name for column in model.emitted]
        form = f"the support of a {model.in_words} model is one number, or one for each column of labels by name."
        if isinstance(support, Mapping):
            if set(support) != set(names):
                raise UsageError(form, hint=f"the columns: {', '.join(names):.200}")
            return tuple(exact(support[name], "support") for name in names)
        if isinstance(support, list | tuple | np.ndarray):
            raise UsageError(form)
        return (exact(support, "support"),) * len(names)

    def _temperature(self, costs: SweepCosts) -> Fraction:
        """Return the temperature to use, or refuse to take more sweeps than the budget pays for."""
        if self.temperature is None:
            return costs.temperature(self.epsilon, self.steps, self.delta)
        cost = costs.epsilon(self.temperature, self.steps, self.delta)
        if cost > self.epsilon:
            least = costs.temperature(self.epsilon, self.steps, self.delta)
            price = partial(costs.epsilon, self.temperature, delta=self.delta)
            paid = bisect_right(range(1, self.steps), self.epsilon, key=price)
            raise too_many_steps(self.steps, cost, self.epsilon, paid, least)
        return self.temperature

    def draw(self, record: PrivateGibbsRecord, records: Records, source: RandomSource) -> Samples:
        model = _sampled(records.model)
        settings = ChainSettings(
            self.steps,
            # rounded to where a record moves less, not more
            tuple(float_up(low) for low, _ in record.support or ()),
            record.parameters["temperature"],
            float(self.weight_prior),
            float(self.label_prior),
            None if self.share == 1 else int(self.share * records.n_records),
        )
        draws = CHAINS[model.chain_name](model, settings, records.codes, source)
        return Samples.of(draws, "floating" if model.emitted else "exact")


def _read_weight(name: str, value: Number) -> Fraction:
    read = exact(value, name)
    if not _LIGHTEST_PRIOR <= read <= _HEAVIEST_PRIOR:
        raise UsageError(f"{name} must be between 0.001 and 1e9, got {name}={plain(read)}.")
    return read


def _sampled(model: Model) -> GibbsModel:
    refusal = (
        "private Gibbs sampling is for dc.models.Mixture, HiddenMarkov, HiddenNetwork and DeclaredLikelihood"
    )
    hint = "the states of its chain would need an analysis of their own"
    found = model.require(GibbsModel, refusal, hint=hint)
    if found.chain_name not in CHAINS:
        raise UsageError(f"{refusal}, and {found.name} is none.", hint=hint)
    return found

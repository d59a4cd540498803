"""Posterior samples of probability tables: privacy from a tempered likelihood and truncated Dirichlet distributions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artifact import Samples
from discreet.artifact.records.table_posterior import (
    TablePosteriorRecord,
    least_acceptance,
    needed_range,
    prior_text,
    rows_drawn,
)
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.mechanisms.base import RandomSource, Sized, read_samples
from discreet.models import Model
from discreet.models.discrete import TableModel
from discreet.privacy.costs.likelihood_range import temperature_for
from discreet.privacy.costs.rejection import acceptance_bound, tries_for
from discreet.privacy.guarantees import failure_probability, positive_budget
from discreet.rational import Number, exact, float_up
from discreet.samplers.truncated_dirichlet import check_lower, sample_truncated_dirichlet

if TYPE_CHECKING:
    from discreet.data.summaries.records import Records

# A rejection sampler that may accept more rarely than this, for some table, is refused.
_LEAST_ACCEPTANCE = 1e-5


@dataclass(frozen=True)
class TablePosterior(Sized):
    """Release ``samples`` draws of all probability tables of a model of labels, its likelihood raised to the power 1/T.

    Parameters
    ----------
    prior
        The Dirichlet parameter of every label of every table. It is part of the guarantee and is not tempered.
    epsilon
        The price of all samples together.
    samples
        How many draws. Each costs its share: the temperature grows in proportion.
    support
        The least that any probability in any table can be, from public knowledge.
    delta
        With it the guarantee is (epsilon, delta), and as many proposals are made for every table's rows as it pays for,
        whatever the records are. Without it they are made until one is accepted, which can take longer for some
        records.

    Privacy
    -------
    Neighbors: ``replace``. The likelihood of a record is a product with one factor for each column, so replacing the
    record, class and features and all, changes the log-likelihood by

        d(theta) = sum over columns k of  log theta_k[parents', label'] - log theta_k[parents, label].

    On tables whose probabilities are all at least a, each term lies between plus and minus
    log((1 - (m_k - 1) a) / a), m_k the number of labels, whether the two distributions are the same one or not; and the
    extremes of all terms are attained together if the parents' labels differ. So the range of d is the sum over columns
    of the ranges of their simplexes, R, and a draw from prior(theta) likelihood(theta)^(1/T) is (R/T)-DP; N independent
    ones with T = max(1, N R / epsilon) are epsilon-DP (Foulds et al. 2016, theorem 2; Dimitrakakis et al. 2017,
    lemma 24). The lemma's 2 max(v) log(1/a), with v one more than the number of a column's children, covers the change
    of a single entry; for a whole record it is too little, and all columns must be summed.

    Of a Markov chain a record is one entry: the state of one sequence at one time. Replaced, it changes four counts by
    one, at most, so R is twice that of one label, 4 log((1 - (m - 1) a) / a) (Dimitrakakis et al. 2017, section 5.6).
    For a whole sequence of T entries epsilon counts T times.

    Given the counts the tables' rows are independent truncated Dirichlet distributions, drawn in floating point by an
    exact sampler (:mod:`discreet.samplers.truncated_dirichlet`), and the release says so. With ``delta`` the sampler is
    not exact, and what it can be off by is charged (:mod:`discreet.privacy.costs.rejection`; Foulds et al. 2016,
    proposition 3).
    """

    name = "table_posterior"
    example = "for example dc.mechanisms.TablePosterior(epsilon=1, support=0.01)"
    reads = "records"
    prior: Fraction
    epsilon: Fraction
    samples: int
    support: Fraction
    delta: Fraction | None

    def __init__(
        self,
        prior: Number = 1,
        *,
        epsilon: Number | None = None,
        samples: int = 1,
        support: Number | None = None,
        delta: Number | None = None,
    ) -> None:
        support_is = "a support, the least that any probability can be, from public knowledge"
        self._set(
            prior=positive_budget(prior, "prior"),
            epsilon=positive_budget(self._needed(epsilon, "epsilon"), "epsilon"),
            samples=read_samples(samples),
            support=exact(self._needed(support, support_is), "support"),
            delta=None if delta is None else failure_probability(delta),
        )

    def _check_size(self, record: Any, model: Model, domain: Domain, n_records: int) -> None:
        for shape in _tables(model).row_shapes().values():
            # a row may be empty, so only the prior can promise that its draws do not take long
            if acceptance_bound(np.full(shape[-1], float(self.prior)), 0.0) < _LEAST_ACCEPTANCE:
                raise UsageError(
                    "drawing from these truncated posteriors could take too long for some tables.",
                    hint="use a prior of at least 1",
                )

    def _record(self, model: Model, domain: Domain) -> TablePosteriorRecord:
        model = _tables(model)
        if model.numeric_columns:
            raise UsageError(
                f"{type(self).__name__} samples tables of labels, and column {model.numeric_columns[0].name!r:.60} "
                "is declared as numbers.",
                hint="noise takes numbers too: leave out mechanism",
            )
        for shape in model.row_shapes().values():
            check_lower(float_up(self.support), shape[-1])
        model.concentrations(self.prior)
        needed = needed_range(model, self.support)
        temperature = temperature_for(needed, self.epsilon, self.samples, Fraction(0))
        numbers = {"temperature": temperature, "range": needed}
        if self.delta is not None:
            acceptance, draws = least_acceptance(model, self.prior), self.samples * rows_drawn(model)
            tries = tries_for(self.epsilon, self.delta, acceptance=acceptance, draws=draws)
            numbers["tries"] = Fraction(tries)
        return TablePosteriorRecord(prior_text(self.prior), ((self.support, Fraction(1)),), numbers)

    def draw(self, record: TablePosteriorRecord, records: Records, source: RandomSource) -> Samples:
        # rounded up, both: a support or a temperature below the declared one would cost more than epsilon
        model, temperature = _tables(records.model), float_up(record.parameters["temperature"])
        counts, least = model.counts(records.codes), float_up(self.support)
        tries = None if self.delta is None else int(record.parameters["tries"])

        def sampler(rng: np.random.Generator) -> dict[str, Any]:
            draws = {}
            for name, shape in model.row_shapes().items():
                rows = counts[name].reshape(-1, shape[-1])
                drawn = [
                    sample_truncated_dirichlet(
                        float(self.prior) + row / temperature, least, self.samples, rng, tries=tries
                    )
                    for row in rows
                ]
                draws[name] = np.stack(drawn, axis=1).reshape(self.samples, *shape)
            return draws

        return Samples.of(source.floating(sampler), "floating")


def _tables(model: Model) -> TableModel:
    return model.require(TableModel, "TablePosterior samples models of labels")

"""What a file of sampled probability tables must satisfy."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.artifact.records.base import TOO_COLD, UNKNOWN, SamplingRecord
from discreet.artifact.records.limited_tries import LimitedTries
from discreet.artifact.records.posterior_sample import check_simplex
from discreet.artifact.samples import Samples
from discreet.models.discrete import TableModel
from discreet.privacy import ApproxDP, PureDP
from discreet.privacy.costs.likelihood_range import simplex_range
from discreet.privacy.costs.rejection import acceptance_bound
from discreet.rational import exact, text

if TYPE_CHECKING:
    from discreet.artifact.release import Release

_PRIOR = "symmetric_dirichlet:"


def needed_range(model: TableModel, least: Fraction) -> Fraction:
    """Return how far one record can move the log-likelihood, on tables whose probabilities are at least ``least``."""
    return model.record_range(least, simplex_range)


def prior_text(concentration: Fraction) -> str:
    """Write the prior: the Dirichlet parameter of every label."""
    return f"{_PRIOR}{text(concentration)}"


def least_acceptance(model: TableModel, prior: Fraction) -> float:
    """Return how probable it is at least that a proposal of any row is accepted: a row may be empty."""
    return min(
        acceptance_bound(np.full(shape[-1], float(prior)), 0.0) for shape in model.row_shapes().values()
    )


def rows_drawn(model: TableModel) -> int:
    """Return how many rows of probabilities one sample of the model has."""
    return sum(prod(shape[:-1]) for shape in model.row_shapes().values())


class TablePosteriorRecord(LimitedTries, SamplingRecord):
    """Draws of all probability tables of a model of labels."""

    name = "table_posterior"
    kind = "tempered posterior"
    has_conjugate_prior = False

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        """Raise unless the temperature is enough for the guarantee and the draws lie in the support."""
        model = release.model.require(TableModel, "its mechanism is for models of labels")
        if model.numeric_columns or release.neighbors != "replace":
            raise ValueError("its mechanism is not for its model")
        self.check_form(samples, "floating", ("temperature", "range", *self.tries_names))
        if self.support is None:
            raise ValueError(UNKNOWN)
        if not isinstance(self.prior, str) or not self.prior.startswith(_PRIOR):
            raise ValueError("its prior is not one that its mechanism takes")
        prior = exact(self.prior.removeprefix(_PRIOR), "prior")
        model.concentrations(prior)
        (least, most), *others = self.support
        if others or most != 1:
            raise ValueError("its support is not one number")
        draws = samples.arrays()
        for name, shape in model.row_shapes().items():
            check_simplex(draws[name], (samples.count, *shape), least)
        promised = release.guarantees["samples"]
        if not isinstance(promised, PureDP | ApproxDP):
            raise ValueError(TOO_COLD)
        self.check_tries(promised, least_acceptance(model, prior), samples.count * rows_drawn(model))
        self.check_temperature(needed_range(model, least), Fraction(0), samples.count, promised.epsilon)

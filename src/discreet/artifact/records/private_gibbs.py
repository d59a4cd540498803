"""What a file with the states of a private Gibbs sampler must satisfy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.artifact.records.base import CHAIN_CAUTION, UNKNOWN, SamplingRecord
from discreet.artifact.records.posterior_sample import check_simplex
from discreet.artifact.samples import Samples
from discreet.models.mixture import WEIGHTS, Mixture
from discreet.privacy import ApproxDP, PureDP
from discreet.privacy.costs.gibbs_costs import SweepCosts
from discreet.privacy.costs.likelihood_range import simplex_range

if TYPE_CHECKING:
    from discreet.artifact.release import Release

_PARAMETERS = {"temperature", "share", "weight_prior", "label_prior"}


class PrivateGibbsRecord(SamplingRecord):
    """States of a private Gibbs sampler."""

    name = "private_gibbs"
    kind = "the trace of a tempered Markov chain"
    caution = CHAIN_CAUTION
    of_posterior = False
    independent = False
    has_conjugate_prior = False

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        """Raise unless the temperature is enough for the guarantee of all sweeps, and the states lie in the support."""
        model = release.model.require(Mixture, "its mechanism is for mixtures")
        if release.neighbors != "replace":
            raise ValueError("its mechanism protects the content of a record")
        self.check_form(samples, "floating", _PARAMETERS)
        if self.prior is not None:
            raise ValueError(UNKNOWN)
        if self.support is None or len(self.support) != len(model.columns):
            raise ValueError("its support is not that of its columns")
        numbers, steps, k = self.parameters, samples.count, model.components
        if numbers["weight_prior"] <= 0 or numbers["label_prior"] < 1 or not 0 < numbers["share"] <= 1:
            raise ValueError("its mechanism has impossible parameters")
        if release.records is None or numbers["share"] * release.records < 1:
            raise ValueError("its sweeps assign no record")
        draws = samples.arrays()
        check_simplex(draws[WEIGHTS], (steps, k), 0)
        ranges = []
        for column, (least, most) in zip(model.columns, self.support, strict=True):
            if most != 1 - (column.n_labels - 1) * least:
                raise ValueError("its support is not that of its columns")
            ranges.append(simplex_range(column.n_labels, least))
            check_simplex(draws[column.name], (steps, k, column.n_labels), least)
        promised = release.guarantees["samples"]
        if not isinstance(promised, PureDP | ApproxDP) or numbers["temperature"] < 1:
            raise ValueError("its temperature is less than its guarantee needs")
        delta = promised.delta if isinstance(promised, ApproxDP) else None
        costs = SweepCosts(tuple(ranges), numbers["share"])
        if costs.epsilon(numbers["temperature"], steps, delta) > promised.epsilon:
            raise ValueError("its temperature is less than its guarantee needs")

"""What a file with the states of a private Gibbs sampler must satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.artifact.records.base import CHAIN_CAUTION, TOO_COLD, UNKNOWN, SamplingRecord
from discreet.artifact.records.posterior_sample import check_simplex
from discreet.artifact.samples import Samples
from discreet.models.gibbs_model import GibbsModel
from discreet.privacy import ApproxDP, PureDP
from discreet.privacy.costs.gibbs_costs import SweepCosts
from discreet.privacy.costs.likelihood_range import simplex_range

if TYPE_CHECKING:
    from discreet.artifact.release import Release

_WANTED = "its mechanism is for models that a chain can be run on"
_PARAMETERS = {"temperature", "share", "weight_prior", "label_prior"}


def label_costs(model: GibbsModel, least: Sequence[Fraction], share: Fraction) -> SweepCosts:
    """Return what sweeps cost where no label of column d is less probable than ``least[d]``."""
    ranges = {
        column.name: simplex_range(column.n_labels, low)
        for column, low in zip(model.emitted, least, strict=True)
    }
    apart = tuple(ranges.pop(name) for name in model.without_states)
    return SweepCosts(tuple(ranges.values()), share, apart=apart)


class PrivateGibbsRecord(SamplingRecord):
    """States of a private Gibbs sampler."""

    name = "private_gibbs"
    kind = "the trace of a tempered Markov chain"
    caution = CHAIN_CAUTION
    of_posterior = False
    independent = False
    has_conjugate_prior = False

    def explained(self, release: Release) -> list[str]:
        model = release.model.require(GibbsModel, _WANTED)
        if not model.emitted:
            return [
                "Each draw is the state of the chain after one more sweep, which reads the records once for every "
                "parameter; the promise is for all sweeps together. How much one record can change was computed from "
                "the table of the likelihood, which is in this file."
            ]
        said = [
            "Each draw is the state of the chain after one more sweep, which reads the records for their hidden states "
            "and again for the probabilities of labels; the promise is for all sweeps together."
        ]
        if model.state_paths():
            said.append(
                "The hidden states of all sequences and times are part of every draw. A record is one entry, and the "
                "record that it might be replaced by may be of another sequence and time."
            )
        return said

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        """Raise unless the temperature is enough for the guarantee of all sweeps, and the states lie in the support."""
        model = release.model.require(GibbsModel, _WANTED)
        if release.neighbors != "replace":
            raise ValueError("its mechanism protects the content of a record")
        if self.prior is not None:
            raise ValueError(UNKNOWN)
        costs = self._of_labels(release, model, samples) if model.emitted else self._of_values(model, samples)
        promised, temperature = release.guarantees["samples"], self.parameters["temperature"]
        if not isinstance(promised, PureDP | ApproxDP) or temperature < 1:
            raise ValueError(TOO_COLD)
        delta = promised.delta if isinstance(promised, ApproxDP) else None
        if costs.epsilon(temperature, samples.count, delta) > promised.epsilon:
            raise ValueError(TOO_COLD)

    def _of_values(self, model: GibbsModel, samples: Samples) -> SweepCosts:
        """Check the draws of a model that declares its values, and return what its sweeps cost."""
        self.check_form(samples, "exact", {"temperature"})
        if self.support is not None:
            raise ValueError(UNKNOWN)
        if not model.holds(samples.arrays()):
            raise ValueError("a draw is none of the declared values")
        return SweepCosts(model.update_ranges, hidden=False)

    def _of_labels(self, release: Release, model: GibbsModel, samples: Samples) -> SweepCosts:
        """Check the draws of a model with hidden states, and return what its sweeps cost."""
        self.check_form(samples, "floating", _PARAMETERS)
        if self.support is None or len(self.support) != len(model.emitted):
            raise ValueError("its support is not that of its columns")
        numbers, steps, k = self.parameters, samples.count, model.n_states
        if numbers["weight_prior"] <= 0 or numbers["label_prior"] < 1 or not 0 < numbers["share"] <= 1:
            raise ValueError("its mechanism has impossible parameters")
        if not model.state_per_record and numbers["share"] != 1:
            raise ValueError("its mechanism has impossible parameters")
        if release.records is None or numbers["share"] * release.records < 1:
            raise ValueError("its sweeps assign no record")
        draws = samples.arrays()
        for name, shape in model.state_probabilities().items():
            check_simplex(draws[name], (steps, *shape), 0)
        for name, shape in model.state_paths().items():
            _check_paths(draws[name], (steps, *shape), k)
        shapes = model.label_shapes()
        for column, (least, most) in zip(model.emitted, self.support, strict=True):
            if most != 1 - (column.n_labels - 1) * least:
                raise ValueError("its support is not that of its columns")
            check_simplex(draws[column.name], (steps, *shapes[column.name]), least)
        return label_costs(model, [least for least, _ in self.support], numbers["share"])


def _check_paths(paths: np.ndarray, shape: tuple[int, ...], n_states: int) -> None:
    """Raise unless hidden states are whole numbers from 1 on, the most frequent one first."""
    if paths.shape != shape or not np.isin(paths, np.arange(1, n_states + 1)).all():
        raise ValueError("a hidden state is none of its model's")
    if (np.diff(np.bincount(paths.astype(int).ravel(), minlength=n_states + 1)[1:]) > 0).any():
        raise ValueError("its hidden states are not numbered by frequency")

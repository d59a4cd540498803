"""Reads the states of a Langevin walk back: its steps must not cost more than was promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.artifact.records.base import UNKNOWN, SamplingRecord
from discreet.artifact.samples import Samples
from discreet.models.regression import Regression
from discreet.privacy import RenyiDP
from discreet.privacy.costs.sampled_gaussian import langevin_steps

if TYPE_CHECKING:
    from discreet.artifact.release import Release

_NAMES = ("steps", "rate", "step_size", "temperature", "precision", "clip", "poisson")
# What a floating-point projection may miss the ball by.
_EDGE = 1e-9
_MOST_STEPS = 10**9


class LangevinRecord(SamplingRecord):
    """States of a Langevin walk."""

    name = "langevin"
    kind = "states of a Langevin walk with finite steps"
    caution = (
        "states of a Langevin walk at a finite step size are neither independent nor exact draws of a posterior: how "
        "far it had come, and what its steps and noise distort, nobody has measured"
    )
    of_posterior = False
    independent = False
    has_conjugate_prior = False

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        """Raise unless the steps' noise is enough for the guarantee."""
        model = release.model.require(Regression, "its mechanism is for regressions")
        numbers = self.parameters
        self.check_form(samples, "floating", _NAMES)
        if self.support is not None or self.prior is not None:
            raise ValueError(UNKNOWN)
        if numbers["steps"].denominator != 1 or not samples.count <= numbers["steps"] <= _MOST_STEPS:
            raise ValueError("its number of steps is no number of steps")
        if numbers["poisson"] != (release.neighbors == "add_remove"):
            raise ValueError("its samples of records are not those of its neighbors")
        if release.records is not None and numbers["rate"] * release.records < 1:
            raise ValueError("its samples hold no record")
        if (
            numbers["precision"] < 0
            or min(numbers[name] for name in ("step_size", "temperature", "clip")) <= 0
        ):
            raise ValueError("a size of its mechanism is not positive")
        _check_draws(samples, model)
        steps = langevin_steps(
            numbers["step_size"],
            numbers["temperature"],
            numbers["clip"],
            rate=numbers["rate"],
            steps=int(numbers["steps"]),
            neighbors=release.neighbors,
        )
        promised = release.guarantees["samples"]
        if not isinstance(promised, RenyiDP) or not steps.supports(promised):
            raise ValueError("its noise is less than its guarantee needs")


def _check_draws(samples: Samples, model: Regression) -> None:
    weights = samples.arrays()["weights"]
    if weights.ndim != 2 or weights.shape[1] != model.dimension:
        raise ValueError("its draws are no vectors of weights")
    if float(np.linalg.norm(weights, axis=1).max()) > float(model.radius) * (1 + _EDGE):
        raise ValueError("a draw lies outside the ball of its model")

"""Reads the last iterate of a noisy descent back: its noise must be enough for what was promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.artifact.records.base import UNKNOWN, SamplingRecord
from discreet.artifact.samples import Samples
from discreet.models.loss_model import LossModel
from discreet.privacy import RenyiDP, ZeroConcentratedDP
from discreet.privacy.amplification import SGDCost

if TYPE_CHECKING:
    from discreet.artifact.release import Release

_NAMES = (
    "sigma",
    "step_size",
    "gradient_bound",
    "smoothness",
    "strong_convexity",
    "public_steps",
    "noise_steps",
    "secret_order",
)
# The writer leaves 2e-9 of room in rho and 1e-9 in the bound of gradients; this is for another machine's logarithms.
_ROOM = 1e-12
_BOUND_ROOM = 5e-10
# Places of a secret order are added up one by one, and a file must not ask for a billion.
_MOST_SECRET = 10**7
# More extra steps than there are records are asked for by number, and no more than that many.
_MOST_EXTRA = 10**8
# What a floating-point projection may miss the ball by.
_EDGE = 1e-9


def descent_of(release: Release) -> SGDCost:
    """Return the descent behind a release: its numbers, and what they are worth to each record.

    ``descent_of(release).guarantee_at(1)`` is the guarantee of the first record of the table.
    """
    record = release.sampling_record.require(NoisySGDRecord, "this release was not made by noisy descent.")
    numbers = {name: float(value) for name, value in record.parameters.items()}
    public, noise = int(numbers["public_steps"]), int(numbers["noise_steps"])
    assert release.records is not None
    return SGDCost(
        release.records,
        numbers["gradient_bound"],
        numbers["smoothness"],
        numbers["strong_convexity"],
        numbers["step_size"],
        numbers["sigma"],
        public or noise,
        None if public else 1.0,
    )


class NoisySGDRecord(SamplingRecord):
    """The last iterate of noisy gradient descent."""

    name = "noisy_sgd"
    kind = "the last iterate of noisy gradient descent"
    caution = "the last iterate of a descent is one noisy estimate, not a draw of a posterior"
    of_posterior = False
    has_conjugate_prior = False

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        """Raise unless the descent's constants are its model's, and its noise is enough for the guarantee."""
        model = release.model.require(LossModel, "its mechanism is for models with a loss")
        if release.neighbors != "replace" or release.records is None:
            raise ValueError("its mechanism is not for its model or its neighbors")
        numbers = self.parameters
        self.check_form(samples, "floating", _NAMES)
        if self.support is not None or self.prior is not None:
            raise ValueError(UNKNOWN)
        counts = [numbers[name] for name in ("public_steps", "noise_steps", "secret_order")]
        if (
            any(value.denominator != 1 or value < 0 for value in counts)
            or counts[2] > 1
            or min(counts[:2]) > 0
        ):
            raise ValueError("its numbers of steps are no numbers of steps")
        if max(counts[:2]) > max(release.records, _MOST_EXTRA):
            raise ValueError("it claims more steps than anybody takes")
        _check_draw(samples, model)
        known, given = model.loss_constants, descent_of(release)
        constant = (
            given.gradient_bound >= known.gradient_bound * (1 - _BOUND_ROOM)
            and given.smoothness >= known.smoothness * (1 - _ROOM)
            and given.strong_convexity <= known.strong_convexity * (1 + _ROOM)
            and given.step_size <= known.largest_step * (1 + _ROOM)
        )
        if not constant:
            raise ValueError("its descent claims a tamer loss than its model has")
        if not _enough(release, given, secret=counts[2] == 1):
            raise ValueError("its noise is less than its guarantee needs")


def _check_draw(samples: Samples, model: LossModel) -> None:
    weights = samples.arrays()["weights"]
    if weights.shape != (1, model.dimension):
        raise ValueError("its draw is not one vector of weights")
    if float(np.linalg.norm(weights)) > float(model.radius) * (1 + _EDGE):
        raise ValueError("its draw lies outside the ball of its model")


def _enough(release: Release, given: SGDCost, *, secret: bool) -> bool:
    promised = release.guarantees["samples"]
    if not secret:
        return isinstance(promised, ZeroConcentratedDP) and given.rho() <= float(promised.rho) * (1 + _ROOM)
    if not isinstance(promised, RenyiDP) or given.n_records > _MOST_SECRET:
        return False
    costs = given.shuffled_epsilons([float(a) for a in promised.orders])
    return bool(np.all(costs <= [float(e) * (1 + _ROOM) for e in promised.epsilons]))

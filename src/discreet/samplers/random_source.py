"""Where the randomness of a release comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.privacy import Noise, PermuteAndFlip
from discreet.privacy.selection import ExponentialChoice


def _absent(law: Any) -> int:
    raise TypeError(f"this source has no sampler for {type(law).__name__}")


@dataclass(frozen=True)
class RandomSource:
    """Where the randomness of a release comes from.

    Releases use :func:`discreet.samplers.secure.secure_source`, which takes no seed; simulations use :meth:`seeded`.
    ``floating`` runs a floating-point sampler on a generator; ``exponential`` makes one choice by the exponential
    mechanism; ``noise`` draws one integer of noise; ``permute_and_flip`` makes one choice by that mechanism.
    """

    floating: Callable[[Callable[[np.random.Generator], Any]], Any] = _absent
    exponential: Callable[[ExponentialChoice], int] = _absent
    noise: Callable[[Noise], int] = _absent
    permute_and_flip: Callable[[PermuteAndFlip], int] = _absent

    def noises(self, distribution: Noise, n: int) -> list[int]:
        """Draw ``n`` independent integers of noise, many at a time where the source can."""
        many = getattr(self.noise, "many", None)
        return [self.noise(distribution) for _ in range(n)] if many is None else many(distribution, n)

    @classmethod
    def seeded(cls, rng: np.random.Generator) -> RandomSource:
        """Return a source for simulation."""
        return cls(
            lambda sampler: sampler(rng),
            lambda law: law.sample(rng),
            lambda noise: int(noise.sample(1, rng)[0]),
            lambda law: int(rng.choice(len(law.scores), p=law.mass())),
        )

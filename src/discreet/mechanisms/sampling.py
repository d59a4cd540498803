"""The protocol of a sampling mechanism: a prior and a budget in, posterior draws out, and nothing else."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.arguments import Constructed, whole
from discreet.artifact import Samples, SamplingRecord
from discreet.families.base import Family
from discreet.families.layout import Domain, layout_for
from discreet.families.shapes import Neighbors
from discreet.priors.base import Prior
from discreet.privacy import Guarantee, Noise
from discreet.privacy.selection import ExponentialChoice

# more draws than a posterior needs, and than a file should hold
_MOST_SAMPLES = 10_000


@dataclass(frozen=True, repr=False)
class Totals:
    """The exact sums over all records, every one of them clipped and imputed. Private.

    ``values`` are integers in steps of the layout's grid, for ``neighbors="replace"`` without a usable count.
    """

    family: Family
    domain: Domain
    values: tuple[int, ...]
    n_records: int

    def features(self) -> tuple[Fraction, ...]:
        """Return the exact sums of the mapped features: z, or z and z^2, or one count per label."""
        layout = layout_for(self.family, self.domain, "replace")
        return tuple(value * grid for value, grid in zip(self.values, layout.grid, strict=True))

    def sums(self) -> tuple[Fraction, ...]:
        """Return the exact sums of the family's own statistic t(x), as :meth:`Family.update` takes them."""
        layout = layout_for(self.family, self.domain, "replace")
        features = _exact_array(self.features())
        ones = [Fraction(1)] * self.family.n_columns
        shift, half = (_exact_array(each or ones) for each in (layout.shift, layout.half))
        usable = np.array(Fraction(self.n_records), dtype=object)
        return tuple(self.family.geometry.unmap(usable, features, shift, half))


def _no_noise(noise: Noise) -> int:
    raise TypeError(f"this source has no sampler for {type(noise).__name__}")


@dataclass(frozen=True)
class RandomSource:
    """Where the randomness of a sampling mechanism comes from.

    Releases use :func:`discreet.mechanisms.sampler.secure_source`, which takes no seed; simulations use :meth:`seeded`.
    ``floating`` runs a floating-point sampler on a generator; ``choose`` makes one choice from a public grid; ``draw``
    draws one integer of noise.
    """

    floating: Callable[[Callable[[np.random.Generator], Any]], Any]
    choose: Callable[[ExponentialChoice], int]
    draw: Callable[[Noise], int] = _no_noise

    @classmethod
    def seeded(cls, rng: np.random.Generator) -> RandomSource:
        """Return a source for simulation."""
        return cls(
            lambda sampler: sampler(rng),
            lambda law: law.sample(rng),
            lambda noise: int(noise.sample(1, rng)[0]),
        )


class SamplingMechanism(metaclass=Constructed):
    """Releases draws from a posterior that was made private by its law alone.

    The steps are :meth:`check` before a row is read, :meth:`plan` when the public number of records is known, both of
    which may refuse; then the ledger is charged; then :meth:`draw`, which must not.
    """

    #: Name in release files.
    name: ClassVar[str]
    #: The prior, which is part of the guarantee.
    prior: Prior
    #: How many draws are released.
    samples: int

    @abstractmethod
    def guarantee(self, neighbors: Neighbors) -> Guarantee:
        """Return what a release through this mechanism promises, for all samples together."""

    @abstractmethod
    def check(self, family: Family, domain: Domain) -> None:
        """Raise :class:`UsageError` for everything that can be refused before a row is read.

        The prior's type and the policies of ``domain`` were checked by the caller.
        """

    @abstractmethod
    def plan(self, family: Family, domain: Domain, n_records: int) -> SamplingRecord:
        """Return the public record of the release, or refuse because of the public number of records."""

    @abstractmethod
    def draw(self, record: SamplingRecord, totals: Totals, source: RandomSource) -> Samples:
        """Draw the samples. Nothing may be raised, or take visibly longer, because of the totals."""


def read_samples(samples: Any) -> int:
    """Read how many samples are to be released."""
    return whole(samples, "samples", most=_MOST_SAMPLES)


def _exact_array(values: Sequence[Fraction]) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out

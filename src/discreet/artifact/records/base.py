"""The protocol of a record: everything public about the mechanism of a release, in one place.

One class for each mechanism, in a file of its own, holds its name in files, the check that the guarantee follows from
the declarations, its words in the privacy statement, its caution for the analyst, and whether its draws depend on each
other. :mod:`discreet.artifact.records.registry` lists them; nothing is ever imported by a name found in a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from discreet.artifact.readers import EXACT, PAIR, TEXT, Field, encode_fields, read_fields, text_of
from discreet.artifact.samples import Arithmetic, Samples, check_draws
from discreet.domain.bounds import Bounds
from discreet.errors import UsageError
from discreet.models.layout import Layout
from discreet.priors import Prior, parse
from discreet.privacy import Noise

if TYPE_CHECKING:
    from discreet.artifact.release import Release
    from discreet.domain.declarations import Domain
    from discreet.families import Family
    from discreet.privacy.costs.parameter_grid import ParameterGrid
    from discreet.privacy.costs.parameter_set import ParameterSet
    from discreet.privacy.thinned import ThinnedLaplace

_Kind = TypeVar("_Kind", bound="Record")

#: Said of a record that does not have what its mechanism writes.
UNKNOWN = "its mechanism has missing or unknown parameters"

#: Said of tempered draws that tell more than was paid for.
TOO_COLD = "its temperature is less than its guarantee needs"

#: What states of a Markov chain must not be taken for.
CHAIN_CAUTION = (
    "the draws are states of a Markov chain, one after the other, and not independent; it started at the prior, and "
    "nothing in a release can show that it reached its tempered posterior"
)


class Record(ABC):
    """What a release says of its mechanism."""

    #: Name in release files.
    name: ClassVar[str]
    #: What the release holds, and its guarantee is for.
    held: ClassVar[Literal["statistics", "samples"]]

    def require(self, kind: type[_Kind], refusal: str) -> _Kind:
        """Return this record if it is of ``kind``; otherwise raise :class:`UsageError` with ``refusal``."""
        if not isinstance(self, kind):
            raise UsageError(refusal)
        return self

    #: Whether somebody else made the numbers, so that nothing is promised here.
    foreign: ClassVar[bool] = False
    #: Said where the noise that discreet added is asked for, and there is none.
    no_noise: ClassVar[str] = "this release holds samples, and no noise was added to anything."

    def layout(self, release: Release) -> Layout:
        """Return the layout behind the statistics: the one that the declarations imply."""
        return release.model.layout(release.domain, release.neighbors)

    def noise(self, release: Release) -> tuple[Noise, ...]:
        """Return the exact distribution of the noise on each integer value; raise if there is none."""
        raise UsageError(self.no_noise)

    def draws(self, release: Release, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Draw the noise of each total so many times, in grid steps, for simulation; raise if there is none."""
        raise UsageError(self.no_noise)

    def joint(self, release: Release) -> ThinnedLaplace | None:
        """Return the joint distribution of the noise, in mapped units, where it is not independent."""
        return None

    def statement(self, release: Release) -> str:
        """Return the privacy statement of a release that this mechanism made."""
        from discreet.artifact.statement import statement

        return statement(release)

    @classmethod
    @abstractmethod
    def fields(cls) -> Mapping[str, Field]:
        """Return how each of the record's fields is written in files, and read."""

    #: Fields that are absent where they are empty, so that files without them stay what they were.
    rare: ClassVar[Mapping[str, Field]] = {}

    def encode(self) -> dict[str, Any]:
        """Return the record as JSON."""
        return {"name": self.name, **encode_fields(self, self.fields(), self.rare)}

    @classmethod
    def read(cls, value: Any) -> Self:
        """Read the record from a file's JSON, or raise ValueError or :class:`~discreet.errors.UsageError`."""
        read = read_fields("mechanism", value, {"name": TEXT, **cls.fields()}, cls.rare)
        del read["name"]
        return cls(**read)

    @abstractmethod
    def check(self, release: Release) -> None:
        """Raise ValueError unless the release fits its model, and the guarantee follows from the declarations."""


@dataclass(frozen=True)
class SamplingRecord(Record):
    """How samples were made: everything public that their guarantee rests on.

    ``prior`` is part of the guarantee: a family's conjugate prior; for models of several columns a text that the
    mechanism writes and its check reads, or None. ``support`` is the truncated parameter set, one (low, high) pair for
    each parameter, or None. ``parameters`` are exact numbers, by the mechanism's own names (``temperature``, ``range``,
    ``order``, ...); ``paths`` are sequences of them, where a mechanism goes through several (temperatures, step sizes).
    """

    held = "samples"
    #: In a few words, what the samples are from, or how they were made.
    kind: ClassVar[str]
    #: Whether they are draws from a posterior, of that kind.
    of_posterior: ClassVar[bool] = True
    #: What an analyst must not take the samples for.
    caution: ClassVar[str | None] = None
    #: Whether the samples are independent: not states of a walk, or choices among a few.
    independent: ClassVar[bool] = True
    #: Which engines read the draws as what they say of the records: a name in
    #: :mod:`discreet.inference.engines.registry`; with ``"none"`` they are only handed on.
    engines: ClassVar[str] = "none"
    #: Names of noisy integers that it may publish beside the draws.
    noisy: ClassVar[tuple[str, ...]] = ()
    #: Whether the prior is a family's conjugate prior.
    has_conjugate_prior: ClassVar[bool] = True

    prior: Prior | str | None
    support: Bounds | None
    parameters: Mapping[str, Fraction]
    paths: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)

    @property
    def limits(self) -> tuple[str, ...]:
        """What can be drawn beyond what ``support`` says, in sentences of the statement."""
        return ()

    def scored_points(self, family: Family, domain: Domain) -> ParameterGrid | ParameterSet | None:
        """Return the public points that the draws were chosen from, where they were; otherwise None."""
        return None

    @property
    def conjugate(self) -> Prior:
        """The conjugate prior of a family; raise ValueError if there is none."""
        if not isinstance(self.prior, Prior):
            raise ValueError("its prior is no conjugate prior of a family")
        return self.prior

    rare: ClassVar[Mapping[str, Field]] = {"paths": EXACT.listed.named}

    @classmethod
    def fields(cls) -> Mapping[str, Field]:
        conjugate = Field(str, lambda value: parse(text_of(value)))
        return {
            "prior": conjugate if cls.has_conjugate_prior else TEXT.nullable,
            "support": PAIR.listed.nullable,
            "parameters": EXACT.named,
        }

    def explained(self, release: Release) -> list[str]:
        """Return further sentences of the privacy statement, about how the samples were made."""
        return []

    def check(self, release: Release) -> None:
        if self.has_conjugate_prior:
            release.conjugate_family.check_prior(self.conjugate)
        self.check_guarantee(release, check_draws(release))

    def check_form(
        self, samples: Samples, arithmetic: Arithmetic, names: Collection[str], paths: Collection[str] = ()
    ) -> None:
        """Raise ValueError unless the record has these parameters and paths, and the draws this arithmetic."""
        if self.parameters.keys() != set(names) or self.paths.keys() != set(paths):
            raise ValueError(UNKNOWN)
        if samples.arithmetic != arithmetic:
            raise ValueError("its samples claim another arithmetic than their mechanism has")

    def check_temperature(
        self, needed: Fraction, slack: Fraction, draws: int, epsilon: Fraction, refusal: str = TOO_COLD
    ) -> None:
        """Raise ValueError unless the range is at least ``needed``, and so many tempered draws are paid for."""
        temperature, claimed = self.parameters["temperature"], self.parameters["range"]
        if temperature < 1 or claimed < needed or draws * (claimed / temperature + slack) > epsilon:
            raise ValueError(refusal)

    @abstractmethod
    def check_guarantee(self, release: Release, samples: Samples) -> None:
        """Raise ValueError unless the record's numbers are enough for the guarantee, and the draws in its support."""

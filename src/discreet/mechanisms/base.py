"""The protocol of a mechanism: what makes a release private.

A mechanism says what it reads, exact totals or every record; it refuses what it can before a row is read
(:meth:`Mechanism.check`); when the public number of records is known it plans its public record
(:meth:`Mechanism.plan`); then the ledger is charged; then it draws (:meth:`Mechanism.draw`), and must not refuse any
more. Noise and samples differ in the mechanism, and nowhere else.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from discreet.arguments import Constructed, fill, whole
from discreet.artifact import Record, Samples, Statistics
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.families import Family
from discreet.models import Model
from discreet.models.layout import Layout
from discreet.priors import Prior, parse
from discreet.privacy import Guarantee
from discreet.privacy.costs.scored_points import ScoredPoints
from discreet.privacy.guarantees import pure_or_approx
from discreet.samplers.secure import RandomSource

_T = TypeVar("_T")

# more draws than a posterior needs, and than a file should hold
_MOST_SAMPLES = 10_000


class Mechanism(metaclass=Constructed):
    """Turns exact totals, or every record, into what a release holds."""

    #: Name in release files.
    name: ClassVar[str]
    #: What it reads.
    reads: ClassVar[Literal["totals", "records"]] = "totals"
    #: Whether its guarantee needs every record to count: values are clipped, and missing ones imputed.
    every_record: ClassVar[bool] = True
    #: Whether bounds must be declared, and cannot be bought.
    needs_bounds: bool = True
    #: The neighbor relations that the guarantee can be stated for.
    relations: ClassVar[tuple[Neighbors, ...]] = ("replace",)
    #: What errors about missing arguments begin with, and an example of a call.
    what: ClassVar[str] = "posterior sampling needs"
    example: ClassVar[str]
    #: Its budget, and the probability that the promise fails, unless :meth:`guarantee` promises something else.
    epsilon: Any
    delta: Any

    @classmethod
    def expect(cls, mechanism: Any, refusal: str, *, hint: str | None = None) -> Self:
        """Return the caller's ``mechanism`` if it is of this kind; otherwise raise :class:`UsageError`."""
        if not isinstance(mechanism, cls):
            raise UsageError(refusal, hint=hint)
        return mechanism

    def within(self, model: Model, domain: Domain, neighbors: Neighbors) -> Self:
        """Return the mechanism for these declarations: a budget per unit of distance learns what the distance is."""
        return self

    # sets the fields of a mechanism under construction; afterwards it is frozen
    _set = fill

    @classmethod
    def _needed(cls, value: _T | None, name: str) -> _T:
        """Return an argument that the mechanism cannot do without."""
        if value is None:
            raise UsageError(f"{cls.what} {name}.", hint=cls.example)
        return value

    @classmethod
    def _read_prior(cls, prior: Prior | str) -> Prior:
        """Read the prior, which is part of the guarantee."""
        read = parse(prior) if isinstance(prior, str) else prior
        if not isinstance(read, Prior):
            raise UsageError(f"{cls.what} a prior, which is part of its guarantee.", hint=cls.example)
        return read

    def guarantee(self, neighbors: Neighbors) -> Guarantee:
        """Return what a release through this mechanism promises, for everything it releases together."""
        return pure_or_approx(self.epsilon, self.delta, neighbors=neighbors)

    def divided(self, share: Fraction) -> tuple[Mechanism, Any]:
        """Return two of its kind that spend its budget together, the second one ``share`` of it."""
        raise UsageError("fit_check is for noisy totals.", hint="leave out fit_check")

    def suited(self, model: Model) -> Model:
        """Return the model as this mechanism releases it."""
        return model

    @abstractmethod
    def check(self, model: Any, domain: Domain, layout: Layout | None = None, /) -> Record | None:
        """Raise :class:`UsageError` for everything that can be refused before a row is read.

        ``layout`` is the vector of the totals that will be read, if it reads totals. Returned is the public record of
        the release, if it follows from the declarations alone; otherwise :meth:`plan` will return it.
        """

    def plan(self, model: Any, domain: Domain, n_records: Any, layout: Layout | None = None, /) -> Record:
        """Return the public record of the release, or refuse because of the public number of records.

        ``n_records`` is None under ``add_remove``, where it is not public. Where it does not matter, :meth:`check`
        returns the record.
        """
        record = self.check(model, domain, layout)
        assert record is not None
        return record

    def explained(self, layout: Layout | None) -> list[str]:
        """Say what makes the release private, as far as it follows from the declarations, line by line."""
        return ["samples of a posterior are drawn, and no noise is added to them"]

    @abstractmethod
    def draw(self, record: Any, data: Any, source: RandomSource, /) -> Statistics | Samples:
        """Draw the release. Nothing may be raised, or take visibly longer, because of what the rows hold.

        ``data`` is :class:`Totals`, or the private side's ``Records``.
        """

    def loss(self, record: Any, first: Totals, second: Totals) -> Fraction:
        """Return what the noise has to hide between two tables with these totals, exactly: epsilon, or rho."""
        raise TypeError(f"{type(self).__name__} adds no noise to totals")

    def draws(
        self, record: Any, data: Any, source: RandomSource, times: int, /
    ) -> Sequence[Statistics | Samples]:
        """Draw so many releases of the same data, which audits compare; :meth:`draw` is one of them."""
        return [self.draw(record, data, source) for _ in range(times)]


class Sized(Mechanism):
    """A mechanism whose record follows from the declarations, but which some numbers of records are refused for."""

    @abstractmethod
    def _record(self, model: Any, domain: Domain, /) -> Any:
        """Return the public record, or refuse the declarations."""

    @abstractmethod
    def _check_size(self, record: Any, model: Any, domain: Domain, n_records: Any, /) -> None:
        """Refuse a public number of records."""

    def check(self, model: Any, domain: Domain, layout: Layout | None = None) -> None:
        self._record(model, domain)

    def plan(self, model: Any, domain: Domain, n_records: Any, layout: Layout | None = None) -> Any:
        record = self._record(model, domain)
        self._check_size(record, model, domain, n_records)
        return record


@dataclass(frozen=True, repr=False)
class Totals:
    """The exact sums over all records. Private.

    ``values`` are integers in steps of the layout's grid. For mechanisms that need every record they are of records
    clipped and imputed, under ``neighbors="replace"`` and without a usable count.
    """

    model: Model
    domain: Domain
    values: tuple[int, ...]
    n_records: int
    layout: Layout | None = None

    @property
    def family(self) -> Family:
        """The model, which is a family."""
        return self.model.require(Family, "a family of one column is needed")

    def moved(self, other: Totals, scales: Sequence[Fraction]) -> list[Fraction]:
        """Return how far each total is from another table's, in these scales of noise."""
        grid = (self.layout or self.model.layout(self.domain, "replace")).grid
        return [
            abs(a - b) * step / scale
            for a, b, step, scale in zip(self.values, other.values, grid, scales, strict=True)
        ]

    def features(self) -> tuple[Fraction, ...]:
        """Return the exact sums of the mapped features: z, or z and z^2, or one count per label."""
        layout = self.layout or self.model.layout(self.domain, "replace")
        return tuple(value * grid for value, grid in zip(self.values, layout.grid, strict=True))

    def sums(self) -> tuple[Fraction, ...]:
        """Return the exact sums of the family's own statistic t(x), as :meth:`Family.update` takes them."""
        layout = self.layout or self.model.layout(self.domain, "replace")
        features = _exact_array(self.features())
        ones = [Fraction(1)] * self.family.n_columns
        shift, half = (_exact_array(each or ones) for each in (layout.shift, layout.half))
        usable = np.array(Fraction(self.n_records), dtype=object)
        return tuple(self.family.geometry.unmap(usable, features, shift, half))


def conjugate_family(mechanism: Any, model: Model) -> Family:
    """Return the family whose conjugate posterior a mechanism samples; raise if its prior is of another kind."""
    family = model.require(Family, f"{type(mechanism).__name__} samples a family")
    family.check_prior(mechanism.prior)
    return family


def draw_points(
    points: ScoredPoints, temperature: Fraction, samples: int, totals: Totals, source: RandomSource
) -> Samples:
    """Draw from the tempered posterior on public points, exactly."""
    distribution = points.distribution(totals.features(), totals.n_records, temperature)
    return Samples.of(points.at([source.exponential(distribution) for _ in range(samples)]), "exact")


def read_samples(samples: Any) -> int:
    """Read how many samples are to be released."""
    return whole(samples, "samples", most=_MOST_SAMPLES)


def _exact_array(values: Sequence[Fraction]) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out

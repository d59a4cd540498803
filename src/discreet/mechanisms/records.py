"""The protocol of a mechanism that reads records one by one: private chains, noisy gradients."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from discreet.arguments import Constructed
from discreet.artifact import Samples, SamplingRecord
from discreet.families.layout import Domain
from discreet.families.shapes import Neighbors
from discreet.mechanisms.sampling import RandomSource
from discreet.models.base import Model
from discreet.privacy import Guarantee

if TYPE_CHECKING:
    from discreet.data.records import Records


class RecordMechanism(metaclass=Constructed):
    """Releases draws of a model's parameters, made from all records of the table.

    The steps are :meth:`check` before a row is read, :meth:`plan` when the public number of records is known, both of
    which may refuse; then the ledger is charged; then :meth:`draw`, which must not refuse. Whatever the guarantee rests
    on is in the plan's record, as exact numbers; the module that :data:`discreet.artifact.samples.CHECKS` names under
    :attr:`name` verifies it when a file is read.
    """

    #: Name in release files.
    name: ClassVar[str]
    #: The neighbor relations that the guarantee can be stated for.
    relations: ClassVar[tuple[Neighbors, ...]] = ("replace",)

    @abstractmethod
    def guarantee(self, neighbors: Neighbors) -> Guarantee:
        """Return what a release through this mechanism promises, for everything it releases together."""

    @abstractmethod
    def check(self, model: Model, domain: Domain) -> None:
        """Raise :class:`UsageError` for everything that can be refused before a row is read."""

    @abstractmethod
    def plan(self, model: Model, domain: Domain, n_records: int | None) -> SamplingRecord:
        """Return the public record of the release, or refuse because of the public number of records.

        ``n_records`` is None under ``add_remove``, where it is not public.
        """

    @abstractmethod
    def draw(self, record: SamplingRecord, records: Records, source: RandomSource) -> Samples:
        """Draw the samples. Nothing may be raised, or take visibly longer, because of what the records hold."""

"""The release: everything inference needs, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from pathlib import Path

from discreet.arguments import path as read_path
from discreet.artifact.choice import BoundsChoice
from discreet.artifact.samples import Samples, SamplingRecord
from discreet.artifact.stamp import LedgerStamp
from discreet.errors import DataError, ReleaseFileError, UsageError
from discreet.families.base import Family
from discreet.families.layout import Domain, Layout, layout_for
from discreet.families.shapes import Neighbors
from discreet.models.base import Model
from discreet.privacy import DiscreteGaussian, DiscreteLaplace, Guarantee, Noise, compose
from discreet.rational import quotient

#: Noise laws a file may name. A closed list: nothing is ever imported by a name found in a file.
LAWS: Mapping[str, type[DiscreteLaplace] | type[DiscreteGaussian]] = {
    "discrete_laplace": DiscreteLaplace,
    "discrete_gaussian": DiscreteGaussian,
}

# Columns named when a release is shown in one line.
_MOST_COLUMNS = 4


@dataclass(frozen=True)
class Statistics:
    """The noisy integer vector and how to read it.

    ``values`` are integers in steps of ``grid``; ``width`` are the public widths behind the joint sensitivity;
    ``shift`` and ``half``, one per column, give the map z = (measure(x) - shift) / half, or are None for labels.
    """

    names: tuple[str, ...]
    values: tuple[int, ...]
    grid: tuple[Fraction, ...]
    width: tuple[Fraction, ...]
    shift: tuple[Fraction, ...] | None
    half: tuple[Fraction, ...] | None


@dataclass(frozen=True)
class NoiseRecord:
    """Which noise was added: its law, the scale of each coordinate in mapped units, the joint sensitivity."""

    name: str
    scale: tuple[Fraction, ...]
    sensitivity: Fraction


@dataclass(frozen=True, repr=False)
class Release:
    """A private release: noisy statistics or samples, what they mean, and what was promised for them.

    A release of noisy statistics has ``statistics`` and, in ``mechanism``, their noise; ``samples`` is None. A release
    of samples has ``samples`` and, in ``mechanism``, how they were made; ``statistics`` is None.

    ``model`` is a family of one record's column, or a model of several columns; :attr:`family` is it if it is a family.

    ``bounds_choice`` says, for each column, how its bounds were bought; it is None if the bounds were declared.
    ``ledger`` says where the release was charged, if a ledger was kept.
    """

    id: str
    dataset: str | None
    model: Family | Model
    columns: tuple[str, ...]
    domain: Domain
    neighbors: Neighbors
    unit: str | None
    max_rows: int
    records: int | None
    statistics: Statistics | None
    mechanism: NoiseRecord | SamplingRecord
    guarantees: Mapping[str, Guarantee]
    software: Mapping[str, str]
    samples: Samples | None = None
    ledger: LedgerStamp | None = None
    bounds_choice: tuple[BoundsChoice, ...] | None = None

    @property
    def guarantee(self) -> Guarantee:
        """What was promised, for everything in the release together; ``guarantees`` has the parts."""
        return compose(*self.guarantees.values())

    @property
    def family(self) -> Family:
        """The family; raise :class:`UsageError` if the model is one of several columns."""
        if not isinstance(self.model, Family):
            raise UsageError(
                f"this release is of a {self.model.name} model, which is no family of one column."
            )
        return self.model

    @property
    def totals(self) -> Statistics:
        """The noisy statistics; raise :class:`UsageError` if there are none."""
        if self.statistics is None:
            raise UsageError("this release holds samples, not noisy totals.")
        return self.statistics

    @property
    def noise_record(self) -> NoiseRecord:
        """Which noise was added; raise :class:`UsageError` if none was."""
        if not isinstance(self.mechanism, NoiseRecord):
            raise UsageError("this release holds samples, and no noise was added to anything.")
        return self.mechanism

    @property
    def sampling_record(self) -> SamplingRecord:
        """How the samples were made; raise :class:`UsageError` if there are none."""
        if not isinstance(self.mechanism, SamplingRecord):
            raise UsageError("this release holds noisy totals, not samples.")
        return self.mechanism

    @property
    def in_floating_point(self) -> bool:
        """Whether a floating-point sampler made samples, so that the promise is for the law that it approximates.

        Early files of annealing with noisy weights say ``exact``, and their weights were floating-point all the same.
        """
        if self.samples is None:
            return False
        return self.samples.arithmetic == "floating" or "weights_epsilon" in self.sampling_record.parameters

    @cached_property
    def layout(self) -> Layout:
        """The layout behind the statistics, rebuilt from the declarations."""
        return layout_for(self.model, self.domain, self.neighbors)

    @cached_property
    def noise(self) -> tuple[Noise, ...]:
        """The exact law of the noise on each integer value."""
        record = self.noise_record
        law = LAWS[record.name]
        laws: list[Noise] = []
        # neighbors in the list are mostly alike, and share a law
        for (scale, grid), run in groupby(zip(record.scale, self.totals.grid, strict=True)):
            laws += [law(quotient(scale, grid))] * len(list(run))
        return tuple(laws)

    def __repr__(self) -> str:
        columns = ", ".join(self.columns[:_MOST_COLUMNS])
        if len(self.columns) > _MOST_COLUMNS:
            columns += f" and {len(self.columns) - _MOST_COLUMNS} more"
        records = "private number of records" if self.records is None else _counted(self.records, "record")
        if self.samples is not None:
            held = _counted(self.samples.count, "sample")
        else:
            held = _counted(len(self.totals.names), "statistic")
        return f"<Release of {columns}: {self.model.name}, {held}, {self.guarantee.describe()}, {records}>"

    def statement(self) -> str:
        """Return the privacy statement: one plain paragraph about who is protected, and how far."""
        from discreet.artifact.statement import statement

        return statement(self)

    def to_json(self) -> str:
        """Return the release as the text of a release file."""
        from discreet.artifact.codec import encode

        return encode(self)

    @classmethod
    def from_json(cls, content: str) -> Release:
        """Read the text of a release file; raise :class:`ReleaseFileError` if it is damaged or altered."""
        from discreet.artifact.codec import decode

        return decode(content)

    def save(self, path: str | Path) -> None:
        """Write the release file, atomically."""
        from discreet.artifact.files import write_text

        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read a release file."""
        from discreet.artifact.codec import LARGEST_FILE

        file = read_path(path)
        try:
            if file.stat().st_size > LARGEST_FILE:
                raise ReleaseFileError(f"{path}: this is not a release file: none is so large.")
            content = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ReleaseFileError(f"{path}: this is not a release file: it is not UTF-8 text.") from None
        except OSError as problem:
            raise DataError(f"cannot read {path}: {problem.strerror}.") from None
        try:
            return cls.from_json(content)
        except ReleaseFileError as problem:
            raise ReleaseFileError(f"{path}: {problem.message}", hint=problem.hint) from None


def _counted(n: int, thing: str) -> str:
    return f"1 {thing}" if n == 1 else f"{n} {thing}s"

"""The release: everything inference needs, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artifact.about import About
from discreet.artifact.bounds_choice import BoundsChoice
from discreet.artifact.fit_check import FitCheck
from discreet.artifact.group_selection import GroupSelection
from discreet.artifact.origin import Origin
from discreet.artifact.records.base import Record, SamplingRecord
from discreet.artifact.records.noise import NoiseRecord
from discreet.artifact.samples import Samples
from discreet.artifact.stamp import LedgerStamp
from discreet.domain.declarations import Domain, Neighbors
from discreet.domain.unit import Unit
from discreet.errors import UsageError
from discreet.families import Family, Likelihood, RecordSums
from discreet.models import Model
from discreet.models.grouped import Grouped
from discreet.models.layout import Layout
from discreet.privacy import Guarantee, Noise, compose

if TYPE_CHECKING:
    from discreet.inference.release_likelihood import ReleaseLikelihood

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

    @cached_property
    def steps(self) -> np.ndarray:
        """The grid in floating point."""
        return np.array(self.grid, dtype=float)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The noisy numbers that the integers stand for."""
        return np.array([float(v * g) for v, g in zip(self.values, self.grid, strict=True)])

    @classmethod
    def of(cls, layout: Layout, values: tuple[int, ...]) -> Statistics:
        """Return these integers as statistics of a layout."""
        return cls(layout.names, values, layout.grid, layout.width, layout.shift, layout.half)


@dataclass(frozen=True, repr=False)
class Release:
    """A private release: noisy statistics or samples, what they mean, and what was promised for them.

    A release of noisy statistics has ``statistics`` and, in ``mechanism``, their noise; ``samples`` is None. A release
    of samples has ``samples`` and, in ``mechanism``, how they were made; ``statistics`` is None.

    ``model`` is a family of one record's column, or a model of several columns; :attr:`family` is it if it is a family.

    ``bounds_choice`` says, for each column, how its bounds were bought; it is None if the bounds were declared.
    ``fit_check`` holds noisy counts that say whether the column follows the family, if they were asked for.
    ``ledger`` says where the release was charged, if a ledger was kept. ``unit_label`` names the unit that numbers of
    the column are in, for tables and pictures. ``where`` is the public filter of rows, if there is one: how many
    satisfy it is private, whatever ``records`` says. ``group_selection`` says how labels of groups were chosen from the
    data, if nobody declared them. ``coarsened`` names the release that this one was made from by
    adding noise, if it was. ``about`` is what the curator declared in words; nothing depends on it.
    """

    id: str
    dataset: str | None
    model: Model
    columns: tuple[str, ...]
    domain: Domain
    neighbors: Neighbors
    unit: Unit | None
    max_rows: int
    records: int | None
    mechanism: Record
    guarantees: Mapping[str, Guarantee]
    software: Mapping[str, str]
    statistics: Statistics | None = None
    samples: Samples | None = None
    ledger: LedgerStamp | None = None
    bounds_choice: tuple[BoundsChoice, ...] | None = None
    fit_check: FitCheck | None = None
    unit_label: str | None = None
    where: str | None = None
    coarsened: Origin | None = None
    group_selection: GroupSelection | None = None
    about: About | None = None

    @cached_property
    def guarantee(self) -> Guarantee:
        """What was promised, for everything in the release together; ``guarantees`` has the parts."""
        return compose(*self.guarantees.values())

    @cached_property
    def title(self) -> str:
        """Which model of which data under which guarantee this is, in one line."""
        return f"{self.model.title(self.columns)}, {self.promise}"

    @property
    def promise(self) -> str:
        """The guarantee in a few words; of numbers that somebody else published, that it is claimed."""
        stated = self.foreign and self.guarantee.budgets()
        return f"{'claimed ' if stated else ''}{self.guarantee.describe()}"

    def by_group(self) -> dict[str, Release]:
        """Return the release of each group on its own, by the group's name; empty if there are no groups.

        Of a group the number of records is private, whatever is public of the whole table.
        """
        if not self.model.groups:
            return {}
        grouped = self.model.require(Grouped, "groups are read one by one")
        s, size = self.totals, len(self.totals.names) // len(grouped.groups)
        names = grouped.model.layout(self.domain, "add_remove").names
        found = {}
        for at, group in enumerate(grouped.groups):
            part = slice(at * size, (at + 1) * size)
            found[group] = replace(
                self,
                model=grouped.model,
                columns=self.columns[: len(self.columns) - len(grouped.by)],
                neighbors="add_remove",
                records=None,
                unit=None if self.unit is None else self.unit.cut(len(self.columns) - len(grouped.by)),
                # the noise is enough for a record that enters or leaves, as it is for one that changes groups
                guarantees={
                    purpose: part.restated("add_remove") for purpose, part in self.guarantees.items()
                },
                mechanism=replace(self.noise_record, scale=self.noise_record.scale[part]),
                statistics=Statistics(names, s.values[part], s.grid[part], s.width[part], s.shift, s.half),
            )
        return found

    @cached_property
    def question(self) -> str:
        """What was asked, such as "Mean of age": the title of plots."""
        words = self.model.question or f"{self.model.in_words} model"
        return f"{words[0].upper()}{words[1:]} of {self.model.explained or ', '.join(self.columns)}"

    @cached_property
    def family(self) -> Likelihood:
        """The model of one record; raise :class:`UsageError` if it has no likelihood, or one of several columns."""
        return self.model.require(Likelihood, "a family of one column is needed")

    @property
    def conjugate_family(self) -> Family:
        """The family, if it has a conjugate prior; raise :class:`UsageError` otherwise."""
        return self.model.require(Family, "a family with a conjugate prior is needed")

    @cached_property
    def totals(self) -> Statistics:
        """The noisy statistics; raise :class:`UsageError` if there are none."""
        if self.statistics is None:
            raise UsageError("this release holds samples, not noisy totals.")
        return self.statistics

    @property
    def noise_record(self) -> NoiseRecord:
        """Which noise was added; raise :class:`UsageError` if none was."""
        return self.mechanism.require(NoiseRecord, self.mechanism.no_noise)

    @property
    def sampling_record(self) -> SamplingRecord:
        """How the samples were made; raise :class:`UsageError` if there are none."""
        return self.mechanism.require(SamplingRecord, "this release holds noisy totals, not samples.")

    @property
    def in_floating_point(self) -> bool:
        """Whether a floating-point sampler made samples: the promise is for the distribution that it approximates.

        Early files of annealing with noisy weights say ``exact``, and their weights were floating-point all the same.
        """
        if self.samples is None:
            return False
        return self.samples.arithmetic == "floating" or "weights_epsilon" in self.sampling_record.parameters

    @cached_property
    def layout(self) -> Layout:
        """The layout behind the statistics, rebuilt from the declarations."""
        return self.mechanism.layout(self)

    @cached_property
    def noise(self) -> tuple[Noise, ...]:
        """The exact distribution of the noise on each integer value."""
        return self.mechanism.noise(self)

    @property
    def foreign(self) -> bool:
        """Whether somebody else published the numbers, so that nothing is promised here."""
        return self.mechanism.foreign

    @property
    def readings(self) -> tuple[Release, ...]:
        """The releases whose totals are read: this one."""
        return (self,)

    def noisy_sums(self) -> tuple[np.ndarray, float]:
        """Return the noisy statistics in the family's own units, and how many records they stand for.

        As they are: with their noise, of values redacted or clipped.
        """
        totals, layout = self.totals, self.layout
        usable, features = layout.inverted(totals.numbers)
        if usable is None:
            # without a coordinate for it, the usable count is the public one, or the sum of the cells
            usable = float(np.sum(features)) if self.records is None else self.records
        n = float(np.clip(usable, 0, np.inf if self.records is None else self.records))
        shift, half = totals.shift or (0,) * len(features), totals.half or (1,) * len(features)
        family = self.model.require(RecordSums, "sums of one record's statistic are needed")
        centers, widths = (np.array([float(v) for v in each]) for each in (shift, half))
        return family.geometry.unmap(np.array(n), features, centers, widths), n

    def __repr__(self) -> str:
        columns = ", ".join(self.columns[:_MOST_COLUMNS])
        if len(self.columns) > _MOST_COLUMNS:
            columns += f" and {len(self.columns) - _MOST_COLUMNS} more"
        records = "private number of records" if self.records is None else _counted(self.records, "record")
        if self.samples is not None:
            held = _counted(self.samples.count, "sample")
        else:
            held = _counted(len(self.totals.names), "statistic")
        return f"<Release of {columns}: {self.model.name}, {held}, {self.promise}, {records}>"

    def likelihood(
        self, *, records: Any = None, missing: Any = None, latent: bool | None = None
    ) -> ReleaseLikelihood:
        """Return log p(y | theta) of the release, noise included, for a model of your own in NumPyro, PyMC or Stan.

        ``records`` and ``missing`` are priors on numbers of records, as :func:`infer` takes them. With ``latent``, and
        by default for models of several columns, it is log p(y | totals): the exact totals (counts of a table, sums)
        that ``release.totals.names`` lists are then latent variables of your model.
        """
        from discreet.inference.release_likelihood import likelihood

        return likelihood(self, records=records, missing=missing, latent=latent)

    def to_stan(self) -> str:
        """Return a Stan program whose data is the release: the likelihood, and a flat prior."""
        return self.likelihood().to_stan()

    def statement(self) -> str:
        """Return the privacy statement: one plain paragraph about who is protected, and how far."""
        return self.mechanism.statement(self)

    def to_json(self) -> str:
        """Return the release as the text of a release file."""
        from discreet.artifact.codec import encode

        return encode(self)

    @classmethod
    def from_json(cls, content: str) -> Release:
        """Read the text of a release file; raise :class:`ReleaseFileError` if it is damaged or altered."""
        from discreet.artifact.codec import decode

        return decode(content)

    def save(self, path: str | Path, *, key: str | Path | None = None) -> None:
        """Write the release file, atomically; with a private key, its signature beside it, ``path.sig``."""
        from discreet.artifact.files import write_text

        write_text(path, self.to_json())
        if key is not None:
            from discreet.artifact.signature import sign

            sign(path, key)

    @classmethod
    def load(cls, path: str | Path, *, signed_by: str | Path | Sequence[str | Path] | None = None) -> Release:
        """Read a release file; with public keys in ``signed_by``, only if the holder of one of them signed it."""
        from discreet.artifact.codec import LARGEST_FILE, decode_file
        from discreet.artifact.files import read_bytes

        if signed_by is not None:
            from discreet.artifact.signature import load_signed

            return load_signed(path, signed_by)
        return decode_file(path, read_bytes(path, "release", LARGEST_FILE))


def _counted(n: int, thing: str) -> str:
    return f"1 {thing}" if n == 1 else f"{n} {thing}s"

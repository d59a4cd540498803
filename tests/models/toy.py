"""A model and a mechanism for tests: they show the frame that models of several columns go through, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from discreet.artifact import Release, Samples, SamplingRecord
from discreet.domain.columns import Column, Labels, decode_columns, encode_columns, read_columns
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.mechanisms.base import Mechanism, RandomSource
from discreet.models.column_model import ColumnModel
from discreet.models.layout import Layout
from discreet.models.tables import Table
from discreet.privacy import PureDP
from discreet.rational import Number, exact

if TYPE_CHECKING:
    from discreet.data import Records


@dataclass(frozen=True)
class Toy(ColumnModel):
    """All pairs of neighboring label columns are counted; the draws are the mean of each column."""

    name: ClassVar[str] = "toy"
    columns: tuple[Column, ...]

    def __init__(self, columns: Any) -> None:
        object.__setattr__(self, "columns", read_columns(columns))

    @property
    def draw_names(self) -> tuple[str, ...]:
        return ("codes", "values")

    def constants(self) -> dict[str, Any]:
        return {"columns": encode_columns(self.columns)}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Toy:
        if set(constants) != {"columns"}:
            raise ValueError("a toy has columns and nothing else")
        return cls(decode_columns(constants["columns"]))

    def tables(self) -> tuple[Table, ...]:
        labels = [column for column in self.columns if isinstance(column, Labels)]
        return tuple(Table((a, b)) for a, b in pairwise(labels))


@dataclass(frozen=True)
class ToyMechanism(Mechanism):
    """Each column's mean with noise in floating point.

    Privacy
    -------
    Neighbors: replace. A mean over n codes (or values) moves by at most the range of its column over n, so Laplace
    noise of that scale times the number of columns over epsilon is epsilon-DP, up to floating point.
    """

    name: ClassVar[str] = "toy_means"
    reads: ClassVar[Literal["totals", "records"]] = "records"
    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", exact(epsilon, "epsilon"))

    def guarantee(self, neighbors: Neighbors) -> PureDP:
        return PureDP(self.epsilon, neighbors=neighbors)

    def check(self, model: ColumnModel, domain: Domain, layout: Layout | None = None) -> None:
        if len(model.columns) < 2:
            raise UsageError("toy means are of several columns.")

    def plan(
        self, model: ColumnModel, domain: Domain, n_records: int | None, layout: Layout | None = None
    ) -> ToyRecord:
        assert n_records is not None
        if n_records < 3:
            raise UsageError("there are too few records for toy means.")
        each = len(model.columns) / (n_records * self.epsilon)
        return ToyRecord(None, None, {"unit_scale": each}, {"path": (each, 2 * each)})

    def draw(self, record: ToyRecord, records: Records, source: RandomSource) -> Samples:
        model, unit = records.model, float(record.parameters["unit_scale"])
        sizes = np.array([column.n_labels - 1.0 for column in model.label_columns])
        widths = np.array([float(column.high - column.low) for column in model.numeric_columns])
        noise = source.floating(lambda rng: rng.laplace(size=len(sizes) + len(widths)))
        codes = records.codes.mean(axis=0) + unit * sizes * noise[: len(sizes)]
        values = records.values.mean(axis=0) + unit * widths * noise[len(sizes) :]
        return Samples.of({"codes": codes[None], "values": values[None]}, "floating")


class ToyRecord(SamplingRecord):
    """The public record of the toy mechanism."""

    name = "toy_means"
    kind = "the means of the columns, with noise"
    of_posterior = False
    has_conjugate_prior = False

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        promised, model = release.guarantees["samples"], release.model
        if not isinstance(model, Toy) or set(self.parameters) != {"unit_scale"} or release.records is None:
            raise ValueError("its mechanism has missing or unknown parameters")
        if not isinstance(promised, PureDP):
            raise ValueError("its guarantee is of another kind")
        if self.parameters["unit_scale"] * release.records * promised.epsilon < len(model.columns):
            raise ValueError("its noise is less than its guarantee needs")


TOY = Toy({"sex": ["f", "m"], "pressure": (60, 200), "stage": ["1", "2", "3"]})

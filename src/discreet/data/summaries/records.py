"""Every record in memory, clipped and imputed, for mechanisms that need them one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data.sources.conceal import concealed
from discreet.data.summaries.cell_counts import filled_codes, imputed_codes
from discreet.data.summaries.coded import coded_batches
from discreet.domain.declarations import Domain
from discreet.models import ColumnModel


@dataclass(frozen=True, repr=False)
class Records:
    """All records of a table, every one of them usable. Private.

    ``codes`` is n_records × columns of labels (positions of labels), ``values`` is n_records × columns of numbers
    (within their bounds), in the order of ``model.label_columns`` and of ``model.numeric_columns``. Both are read-only.
    """

    model: ColumnModel
    domain: Domain
    codes: np.ndarray
    values: np.ndarray

    @property
    def n_records(self) -> int:
        """How many records there are. Private under ``add_remove``."""
        return len(self.codes)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, in the order of declaration."""
        return self.model.column_names

    def rows(self) -> np.ndarray:
        """Return the records as rows of floats, their columns in the order of declaration; labels are positions."""
        coded = {column.name: self.codes[:, i] for i, column in enumerate(self.model.label_columns)}
        numbers = {column.name: self.values[:, i] for i, column in enumerate(self.model.numeric_columns)}
        return np.stack([{**coded, **numbers}[name] for name in self.columns], axis=1).astype(float)


@concealed
def read_records(data: Any, model: ColumnModel, domain: Domain) -> Records:
    """Read every record once; ``domain.impute`` stands for missing values and numbers are clipped to their bounds.

    Privacy
    -------
    The result is private. Only declarations raise: nothing depends on a row.
    """
    codes_for = imputed_codes(model, domain)
    named = dict(zip(model.column_names, domain.impute or (), strict=True))
    numbers = [float(named[column.name]) for column in model.numeric_columns]
    low, high = ([float(getattr(c, end)) for c in model.numeric_columns] for end in ("low", "high"))
    codes, values = [np.empty((0, len(codes_for)), dtype=np.int32)], [np.empty((0, len(numbers)))]
    for batch in coded_batches(data, model.columns, model=model.name):
        codes.append(filled_codes(batch, model, codes_for))
        values.append(np.clip(np.where(np.isnan(batch.values), numbers, batch.values), low, high))
    both = np.concatenate(codes), np.concatenate(values)
    for array in both:
        array.flags.writeable = False
    return Records(model, domain, *both)

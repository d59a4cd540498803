"""People with several rows in simulated tables: drawn from public ones, or as alike as rows of a person often are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.curator.people import people_of, unit_of, weighed_and_capped
from discreet.domain.declarations import Domain
from discreet.domain.unit import Unit
from discreet.errors import UsageError
from discreet.models.base import Model

#: Correlation between two rows of a person, where nothing public says: half of the variance is between people.
ALIKE = 0.5
#: Names of the columns of simulated rows.
COLUMN, UNIT = "column", "unit"
# the rows of a person that count are the same in every plan
_KEY = b"plan plan plan 1"


@dataclass(frozen=True)
class People:
    """Who is protected, as in a release: a rule that makes one record of a person, or how many rows count."""

    said: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, unit: Any, per_unit: Any, max_rows: Any) -> People | None:
        """Read what the curator says, None if a record is a row."""
        said = people_of(unit, per_unit, max_rows=max_rows)
        return None if said is None else cls(said)

    @property
    def max_rows(self) -> int | None:
        """How many rows of a person count; None if they become one record."""
        return self.said["max_rows"]

    def suited(self, model: Model) -> Model:
        """Return the model of people whose rows count as they are, or the model itself."""
        return weighed_and_capped(model, self.said, None, None)

    def unit(self, model: Model, columns: tuple[str, ...], domain: Domain) -> Unit:
        """Return the unit, checked against the model."""
        return unit_of(self.said, model, columns, model.record_bounds(domain), dates=domain.dates)

    @property
    def declared(self) -> dict[str, Any]:
        """What is declared of simulated rows: nothing where a simulated record is a person already."""
        if self.max_rows is None:
            return {}
        return {COLUMN: COLUMN, UNIT: UNIT, "max_rows": self.max_rows, "row_key": _KEY}

    def is_table(self, public: Any) -> bool:
        """Tell whether what is public is a table of people, with the column that tells them apart."""
        return self.max_rows is not None and isinstance(public, Mapping) and self.said["column"] in public

    def rows(
        self, draw: Callable[[int], np.ndarray], public: Any, rng: np.random.Generator
    ) -> Callable[[int], Any]:
        """Return how rows of so many people are drawn, given how single values are; or public people again."""
        if self.max_rows is None:
            return draw
        if self.is_table(public):
            return _public_people(self.said["column"], public, rng)
        k = self.max_rows

        def drawn(n: int) -> dict[str, Any]:
            # a row repeats its person's own value or is a new one, so that two rows have this correlation
            own = rng.random(n * k) < np.sqrt(ALIKE)
            values = np.where(own, np.repeat(draw(n), k), draw(n * k))
            return {UNIT: np.repeat(np.arange(n), k), COLUMN: values}

        return drawn


def _public_people(unit: str, public: Mapping[str, Any], rng: np.random.Generator) -> Callable[[int], Any]:
    """Return how public people are drawn again, each with all rows."""
    others = [name for name in public if name != unit]
    try:
        who = np.unique(np.asarray(public[unit]), return_inverse=True)[1]
        values = np.asarray(public[others[0]], dtype=float)
    except Exception:  # whatever a caller's object raises
        others = []
        who = values = np.zeros(0)
    if len(others) != 1 or values.ndim != 1 or who.shape != values.shape or len(values) < 2:
        raise UsageError(
            f"public people are a table of two columns: {unit!r:.60}, and what is to be learned.",
            hint=f'for example public={{"{unit:.40}": [1, 1, 2], "value": [3.0, 4.0, 2.5]}}',
        )
    order = np.argsort(who, kind="stable")
    each = np.split(values[order], np.cumsum(np.bincount(who))[:-1])

    def drawn(n: int) -> dict[str, Any]:
        chosen = [each[at] for at in rng.integers(len(each), size=n)]
        return {UNIT: np.repeat(np.arange(n), [len(one) for one in chosen]), COLUMN: np.concatenate(chosen)}

    return drawn

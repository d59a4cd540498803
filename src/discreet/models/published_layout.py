"""How numbers that somebody else published read the totals which engines lay out.

An engine of counts expects its cells in their order, whatever was published of them; one of means takes any linear
forms of its totals. A model says for each name of a published number which coordinate it reads, and how.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import UsageError
from discreet.models.layout import UNIT, Layout, Row
from discreet.models.shapes import Cells
from discreet.names import closest


@dataclass(frozen=True)
class Place:
    """Which coordinate a published number is about: the number is ``start + unit * coordinate``, plus noise."""

    at: int
    unit: Fraction = UNIT
    start: Fraction = Fraction(0)


@dataclass(frozen=True)
class PublishedLayout:
    """The coordinates, and the place of each name.

    ``free`` says that coordinates are sums of real numbers, whose grid may be as fine as the published number is.
    Otherwise they are counts, and one of which nothing was published is still there. ``wholes`` are names whose numbers
    add up to the number of all records.
    """

    layout: Layout
    places: Mapping[str, Place]
    free: bool = False
    wholes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class FreeLayout(Layout):
    """Coordinates that were not chosen for least noise: there may be fewer than inputs, or more."""

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        rows: Sequence[Row],
        grid: Fraction,
        shift: tuple[Fraction, ...] | None = None,
        half: tuple[Fraction, ...] | None = None,
    ) -> FreeLayout:
        """Return a layout that claims no sensitivity."""
        many = len(names)
        none = Fraction(0)
        return cls(tuple(names), tuple(rows), (grid,) * many, (UNIT,) * many, shift, half, none, none)

    def inverted(self, y: np.ndarray) -> tuple[float | None, np.ndarray]:
        inputs = np.linalg.pinv(self.matrix) @ y
        return float(inputs[0]) if self._tells_usable() else None, inputs[1:]

    def usable_weights(self) -> np.ndarray:
        return np.linalg.pinv(self.matrix)[0]

    def _tells_usable(self) -> bool:
        rows = self.matrix
        return bool(np.allclose(np.linalg.pinv(rows)[0] @ rows, np.eye(rows.shape[1])[0], atol=1e-9))


def check_published(names: Collection[str], known: Mapping[str, object], model: str) -> dict:
    """Return ``known`` if it has all the names, and there is one; otherwise say which one it does not know."""
    if not names:
        raise UsageError("there is no published number.", hint='values={"yes": 123.4}')
    for name in names:
        if name not in known:
            near = closest(name, known)
            listed = ", ".join(list(known)[:8])
            raise UsageError(
                f"{model} has no published number called {name!r:.60}.",
                hint=f"did you mean {near!r:.60}?" if near else f"it takes {listed:.200}",
            )
    return dict(known)


def published_cells(
    shape: Cells, cells: Sequence[str], records: int | None, names: Collection[str], model: str
) -> PublishedLayout:
    """Return the layout of counts of cells and, where it is not public, of their number in all."""
    counted = records is None and "count" in names and "count" not in cells
    layout = shape.layout("replace", "count" if counted else "none", None, None)
    places = {cell: Place(at) for at, cell in enumerate(cells)}
    if records is None:
        places.setdefault("count", Place(len(cells)))
    return PublishedLayout(layout, check_published(names, places, model))

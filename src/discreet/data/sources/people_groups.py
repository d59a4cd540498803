r"""One record for each group that a person is in, of at most so many groups: rows put together inside the engine.

What :mod:`discreet.data.sources.people` does for a person is done here for a person's rows of one group. Of the
declared groups that a person is in, those count whose hash comes first (:mod:`discreet.data.sources.chosen_rows`), at
most ``max_groups`` of them. A column ``person`` is 1 in one record of each person and 0 in the others, so that people
can be counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import narwhals as nw

from discreet.data.sources.chosen_rows import InDuckDB, placed
from discreet.data.sources.in_engine import EngineRows
from discreet.data.sources.keys import readable
from discreet.data.sources.kinds import Kind
from discreet.data.sources.people import PeopleSource, as_integer, collected, numbered, person_value, step_of
from discreet.data.sources.source import Need, Picked, Source
from discreet.domain.unit import Unit


@dataclass(frozen=True, repr=False)
class MemberRows:
    """Data, whose rows they are, in how many groups a person counts, and the key that chooses them. Private."""

    rows: Any
    unit: Unit
    max_groups: int
    key: bytes


class MemberSource(PeopleSource):
    """The people of a table, with one record for each of at most ``max_groups`` groups of theirs.

    Privacy
    -------
    A person's records depend on that person's rows, on the declarations and on the key, on nothing else, and there are
    at most ``max_groups`` of them in declared groups, all in different ones.
    """

    def __init__(self, rows: Source, members: MemberRows) -> None:
        super().__init__(rows, members.unit)
        self._members = members
        self._inside: InDuckDB | None = None

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        unit, n_values = self._unit, len(self._unit.rules)
        n_groups = len(positions) - n_values
        wanted = [self.need(need, rule) for need, rule in zip(needs, unit.rules, strict=False)]
        wanted += [*needs[n_values:], Need(needs[0].family, None, key=True)]
        places = [*positions, self._place(unit.column)]
        if unit.last_by is not None:
            places.append(self._place(unit.last_by))
            wanted.append(Need(needs[0].family, None))
        picked = self._rows.pick(places, wanted)
        self._engine = held = EngineRows(picked, wanted)
        groups = [f"g{at}" for at in range(n_groups)]
        keys = ["unit", "own", *groups]
        steps = [step_of(pair, rule) for pair, rule in zip(unit.row_bounds, unit.rules, strict=True)]
        order = nw.col(f"c{len(positions) + 1}") if unit.last_by is not None else nw.lit(0.0)
        rows = held.frame.select(
            **{f"x{at}": nw.col(f"c{at}") for at in range(n_values)},
            **{group: nw.col(f"c{n_values + at}").cast(nw.Int64) for at, group in enumerate(groups)},
            unit=nw.col(f"c{len(positions)}"),
            order=nw.when(order <= float("inf")).then(order),
        )
        rows = numbered(readable(rows), own=unit.null == "own")
        rows = rows.select(*keys, "order", *(as_integer(at, unit, steps[at], keys) for at in range(n_values)))
        people = rows.group_by(*keys).agg(*chain(*map(collected, range(n_values), unit.rules)))
        people = people.select(
            *keys, *(person_value(at, rule, steps[at]) for at, rule in enumerate(unit.rules))
        )
        self._inside = InDuckDB(people)
        outside = " OR ".join(f"{group} IS NULL" for group in groups)
        ordered = placed(
            self._inside.relation, self._members.key, groups, last=f"({outside})", latin1=picked.latin1
        )
        chosen = ordered.filter(f"place <= {self._members.max_groups}")
        kept = [
            *(f"c{at}" for at in range(n_values)),
            *(f"{group} AS c{n_values + at}" for at, group in enumerate(groups)),
            "CAST(place = 1 AS INTEGER) AS person",
        ]
        frame = nw.from_native(chosen.project(", ".join(kept)))
        kinds = [Kind.CODE if coded else Kind.NUMBER for coded in held.coded[: len(positions)]]
        return Picked(tuple(kinds), iter([frame]), beside=partial(self._inside.beside, held.beside))

    def close(self) -> None:
        super().close()
        if self._inside is not None:
            self._inside.close()

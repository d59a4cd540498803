"""Runs of a release: from invented rows through the very functions that :func:`~discreet.release` calls.

Rows are read by ``declare`` and ``read``, and the draw is repeated by the mechanism itself, with the randomness of a
release. Where the draw reads rows again (bought bounds, private groups, a fit check), or where which rows count is
random, every run is a whole release.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.curator.budget_split import declare_several, divide
from discreet.curator.declare import Declaration, declare
from discreet.curator.draw import Reading, draw, read
from discreet.curator.publish import choose_mechanism, release
from discreet.errors import DataError, UsageError
from discreet.mechanisms.private_groups import LabelBudget
from discreet.models import Model
from discreet.models.grouped import private_column
from discreet.privacy import Guarantee, compose
from discreet.samplers.csprng import undisturbed
from discreet.samplers.secure import SECURE
from discreet.validation.neighboring_tables import TableSpace
from discreet.validation.outputs import released

_BUDGETS = ("epsilon", "delta", "rho")
#: Arguments of a release that an audit does not take: it reads no data of anybody's.
_NOT_HERE = ("table", "query", "ledger", "dataset", "analyst", "about", "explain")
#: Stands for the key by which rows of a person are chosen, where two readings are to choose the same.
KEY = b"0123456789abcdef"
#: What is published where no group is.
_NOTHING = "nothing is published"
_FRESH = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from discreet.validation.release_runs import serve; serve()"
)


@dataclass(frozen=True)
class ReleaseRuns:
    """A release that was declared, without rows: ``settings`` are the arguments of :func:`~discreet.release`."""

    model: Model | Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any, settings: Mapping[str, Any]) -> ReleaseRuns:
        """Check the declarations; columns that nobody named are called x."""
        refused = [name for name in _NOT_HERE if settings.get(name) is not None]
        if refused:
            raise UsageError(f"an audit invents its tables: leave out {refused[0]}.")
        said = {name: value for name, value in settings.items() if value is not None}
        if not isinstance(model, Mapping) and not {"column", "columns"} & set(said):
            said |= _own_columns(model)
        made = cls(model, said)
        made.declared(None)
        return made

    def declared(self, data: Any, **more: Any) -> dict[str, Declaration]:
        """Return what :func:`~discreet.release` declares before it reads rows."""
        said = {**self.settings, **more}
        budget = {name: said.pop(name, None) for name in _BUDGETS}
        mechanism, split = said.pop("mechanism", None), said.pop("split", None)
        if isinstance(self.model, Mapping):
            shares = divide(self.model, split, budget)
            chosen = {name: choose_mechanism(mechanism, **share) for name, share in shares.items()}
            blank = dict.fromkeys(_SEVERAL)
            return declare_several(data, self.model, chosen, **{**blank, **said})
        if said.get("by") is not None and private_column(said["by"], said.get("groups")) is not None:
            said["label_budget"], budget = LabelBudget.divided(mechanism or "laplace", **budget)
        # groups, and several rows of a person, have Laplace noise
        alone = budget["delta"] is None and budget["rho"] is None
        if mechanism is None and alone and said.get("by") is None and said.get("max_rows") is None:
            mechanism = self.model.noise(said.get("neighbors", "replace"))
        return {"": declare(data, self.model, choose_mechanism(mechanism, **budget), **said)}

    @cached_property
    def asked(self) -> dict[str, Declaration]:
        """The declarations, without data."""
        return self.declared(None)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised for everything that is released."""
        return compose(*(part for one in self.asked.values() for part in one.guarantees.values()))

    @property
    def name(self) -> str:
        """What is released by what, in a few words."""
        each = [f"{one.label} by {type(one.mechanism).__name__}" for one in self.asked.values()]
        return "; ".join(each)

    def space(self, n: int) -> TableSpace:
        """Return the tables that the declarations allow."""
        columns: dict[str, Any] = {}
        for one in self.asked.values():
            if one.where is not None or (one.unit is not None and one.unit.last_by is not None):
                raise UsageError(
                    "tables with a filter or an order of rows cannot be invented.",
                    hint="give pair=(table, table)",
                )
            for column in one.model.record_columns(one.columns or (), one.domain):
                columns.setdefault(column.name, column)
        first = next(iter(self.asked.values()))
        most = first.model.max_rows or first.model.max_groups or 3
        unit = None if first.unit is None else first.unit.column
        return TableSpace(
            tuple(columns.values()),
            first.neighbors,
            n,
            unit,
            most if unit is not None else 1,
            first.domain.dates,
        )

    def readings(self, data: Any, **more: Any) -> dict[str, Reading]:
        """Read rows as a release does."""
        return {name: read(one) for name, one in self.declared(data, **more).items()}

    def batched(self, data: Any) -> dict[str, Reading] | None:
        """Return what is drawn from, if only the draw is random; None if every run must be a whole release."""
        readings = self.readings(data)
        for one in readings.values():
            if one.bins is not None or one.cells is not None or one.members is not None:
                return None
        if any(one.unit is not None for one in self.asked.values()):
            # which rows count of a person may be random
            again = self.readings(data)
            if not all(same_data(one.data, again[name].data) for name, one in readings.items()):
                return None
        return readings

    def draws(self, data: Any, times: int) -> list[Any]:
        """Return so many outputs; only the draw is repeated, by the mechanism itself, where nothing else is random."""
        readings = self.batched(data)
        if readings is None:
            return [self._drawn_again(data) for _ in range(times)]
        made = {name: _drawn(one, times) for name, one in readings.items()}
        if len(made) == 1:
            return [released(one) for one in made[""]] if "" in made else [*map(released, *made.values())]
        return [dict(zip(made, map(released, one), strict=True)) for one in zip(*made.values(), strict=True)]

    def _drawn_again(self, data: Any) -> Any:
        try:
            made = {name: released(draw(one, SECURE)) for name, one in self.readings(data).items()}
        except DataError:
            if not self._may_publish_nothing:
                raise
            return _NOTHING
        return made.get("", made)

    @property
    def _may_publish_nothing(self) -> bool:
        """Whether noise can decide that there is no release: labels of groups are chosen, and none may be."""
        return any(one.group_selection is not None for one in self.asked.values())

    def whole(self, data: Any) -> tuple[Any, str]:
        """Release once, end to end, write the file and read it again; return what it holds, and its text."""
        try:
            made: Any = release(data, self.model, **self.settings)  # pyright: ignore[reportCallIssue]
        except DataError:
            if not self._may_publish_nothing:
                raise
            return _NOTHING, ""
        if isinstance(made, Mapping):
            texts = {name: one.to_json() for name, one in made.items()}
            held = {name: released(Release.from_json(text)) for name, text in texts.items()}
            return held if len(held) > 1 else next(iter(held.values())), "\n".join(texts.values())
        text = made.to_json()
        return released(Release.from_json(text)), text

    def in_fresh_process(self, data: Mapping[str, list[Any]], times: int) -> subprocess.Popen[bytes] | None:
        """Start another interpreter that releases so many times; None if the settings cannot be sent there."""
        try:
            job = pickle.dumps((self, dict(data), times))
        except Exception:  # a model of the caller's own may not travel
            return None
        with tempfile.TemporaryFile() as asked:
            asked.write(pickle.dumps(sys.path) + job)
            asked.seek(0)
            command = [sys.executable, "-c", _FRESH]
            return subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def serve() -> None:
    """Be another process: release as told, and print what was released."""
    runs, data, times = pickle.load(sys.stdin.buffer)
    print(json.dumps([repr(runs.whole(data)[0]) for _ in range(times)]))


#: What several models take by name or not at all, as :func:`~discreet.curator.budget_split.declare_several` reads it.
_SEVERAL = (
    "column",
    "columns",
    "bounds",
    "outside",
    "missing",
    "impute",
    "fit_check",
    "unit",
    "per_unit",
    "row_bounds",
    "last_by",
    "by",
    "groups",
    "max_groups",
    "unit_label",
)


def _own_columns(model: Any) -> dict[str, Any]:
    """Return names for the columns of a family, which has none of its own."""
    if not isinstance(model, Model):
        raise UsageError(f"model must be a family such as dc.Bernoulli(), got {type(model).__name__}.")
    if model.read_columns(None) is not None:
        return {}
    if model.n_columns == 1:
        return {"column": "x"}
    return {"columns": [f"x{at + 1}" for at in range(model.n_columns)]}


def _drawn(reading: Reading, times: int) -> Sequence[Any]:
    """Draw from one reading many times, with the randomness of a release."""
    mechanism = reading.asked.mechanism
    # one thread and one generator of the operating system's for all of them
    return undisturbed(
        lambda rng: mechanism.draws(
            reading.record, reading.data, replace(SECURE, floating=lambda sampler: sampler(rng)), times
        )
    )


def same_data(one: Any, other: Any) -> bool:
    """Tell whether two readings of rows are the same, number by number."""
    if hasattr(one, "codes"):
        return bool(np.array_equal(one.codes, other.codes) and np.array_equal(one.values, other.values))
    return tuple(one.values) == tuple(other.values)

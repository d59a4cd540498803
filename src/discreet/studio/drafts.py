"""The curator's drafts: everything declared so far, durable after every step, in a folder that only they can read."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import Any

from discreet.artifact.files import write_text
from discreet.data.sources.database import rows_in
from discreet.data.sources.opening import column_names
from discreet.domain.declarations import Neighbors
from discreet.errors import DiscreetError, UsageError
from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP
from discreet.studio.asked_questions import Question, delta_shares, shares

_ID = re.compile(r"[0-9a-f]{16}")
#: Most drafts in the folder, and columns shown.
_MOST, _MOST_COLUMNS = 200, 500


@dataclass(frozen=True)
class Draft:
    """What a curator declared. ``frozen`` once a release has begun: from then on it can be finished, not changed."""

    id: str
    data: str = ""
    table: str = ""
    #: Whether the table was uploaded, and is to be removed.
    uploaded: bool = False
    columns: tuple[str, ...] = ()
    unit: str = ""
    records: int = 1000
    neighbors: Neighbors = "replace"
    questions: tuple[Question, ...] = ()
    epsilon: str = "1"
    delta: str = "1e-6"
    ledger: str = ""
    dataset: str = ""
    analyst: str = ""
    key: str = ""
    frozen: bool = False
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def shares(self) -> dict[str, Any]:
        """The budget of each question."""
        return shares(self.epsilon, self.questions) if self.questions else {}

    @property
    def deltas(self) -> dict[str, Any]:
        """The delta of each question: zero for those that take none."""
        return delta_shares(self.delta, self.questions)

    @property
    def takes_delta(self) -> bool:
        """Whether any promise has an exception of small probability."""
        return any(one.takes_delta for one in self.questions)

    def allowance(self, epsilon: str) -> Guarantee:
        """Return a budget of that epsilon, and of this delta if any question takes one."""
        if self.takes_delta:
            return ApproxDP(epsilon, self.delta, neighbors=self.neighbors)
        return PureDP(epsilon, neighbors=self.neighbors)

    @property
    def seal(self) -> str:
        """A hash of what is declared, so that a page shown earlier cannot release something else."""
        said = json.dumps({**asdict(self), "frozen": None, "problems": None}, sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()

    def declarations(self, question: Question) -> dict[str, Any]:
        """Return all arguments of ``release`` for a question but data, model and where to keep it."""
        name = question.name
        said = question.arguments(self.shares[name], self.deltas[name], self.unit)
        said["neighbors"] = self.neighbors
        names = ("table", "dataset", "ledger", *(["analyst"] if self.ledger else []))
        return said | {name: getattr(self, name) for name in names if getattr(self, name)}


class Drafts:
    """The drafts of one studio, each in a folder of its own: the declarations, an upload, and kept releases."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.lock = RLock()
        self._sweep()

    def new(self) -> Draft:
        """Begin a draft."""
        with self.lock:
            if len(self.listed()) >= _MOST:
                raise UsageError(f"there are {_MOST} drafts: remove one first.")
            made = Draft(secrets.token_hex(8))
            self.place(made.id).mkdir(mode=0o700)
            self.save(made)
            return made

    def place(self, id_: str) -> Path:
        """Return the folder of a draft, or raise if there can be none of that name."""
        if not _ID.fullmatch(id_):
            raise UsageError("there is no such draft.")
        return self._folder / id_

    def load(self, id_: str) -> Draft:
        """Read a draft."""
        try:
            content = json.loads((self.place(id_) / "draft.json").read_text(encoding="utf-8"))
            content["questions"] = tuple(Question.from_json(one) for one in content["questions"])
            content["columns"] = tuple(content["columns"])
            return Draft(**content)
        except (OSError, ValueError, TypeError, KeyError):
            raise UsageError("there is no such draft.") from None

    def save(self, draft: Draft) -> Draft:
        """Write a draft, durably."""
        content = {**asdict(draft), "questions": [one.to_json() for one in draft.questions]}
        write_text(self.place(draft.id) / "draft.json", json.dumps(content), private=True)
        return draft

    def change(self, id_: str, **changes: Any) -> Draft:
        """Change what is declared, unless a release has begun."""
        with self.lock:
            return self.save(replace(self.load_open(id_), **changes))

    def load_open(self, id_: str) -> Draft:
        """Read a draft that can still be changed, or raise if a release has begun."""
        draft = self.load(id_)
        if draft.frozen:
            raise UsageError(
                "this release has begun: its declarations stay as they are.", hint="begin a new one"
            )
        return draft

    def choose_rows(self, id_: str, data: str, table: str, columns: tuple[str, ...], records: int) -> Draft:
        """Make a table on this machine the draft's; an upload before it is removed, questions are asked anew."""
        with self.lock:
            before = self.load_open(id_)
            chosen = {"data": data, "table": table, "columns": columns, "records": records}
            made = self.save(replace(before, **chosen, uploaded=False, questions=(), unit=""))
            self.forget_rows(before)
            return made

    def take_rows(self, id_: str, arrived: Path, columns: tuple[str, ...]) -> Draft:
        """Make an uploaded table the draft's, unless a release has begun; the one before it is removed."""
        with self.lock:
            before = self.load_open(id_)
            self.forget_rows(before)
            target = arrived.with_name(f"rows.{arrived.name.partition('.')[2]}")
            arrived.replace(target)
            made = replace(before, data=str(target), table="", uploaded=True, columns=columns)
            return self.save(replace(made, questions=(), unit=""))

    def remove(self, id_: str) -> None:
        """Remove a draft, and the upload with it."""
        with self.lock:
            shutil.rmtree(self.place(id_), ignore_errors=True)

    def listed(self) -> list[Draft]:
        """Return all drafts, those with an unfinished release first."""
        found = []
        for place in sorted(self._folder.iterdir()):
            with suppress(DiscreetError):
                found.append(self.load(place.name))
        return sorted(found, key=lambda one: (not (one.frozen and not self.is_finished(one)), one.id))

    def file(self, draft: Draft, question: Question) -> Path:
        """Return where the release file of a question is, once it is made."""
        return self.place(draft.id) / "files" / f"{question.name}.json"

    def is_finished(self, draft: Draft) -> bool:
        """Tell whether every question has its file."""
        return bool(draft.questions) and all(self.file(draft, one).exists() for one in draft.questions)

    def forget_rows(self, draft: Draft) -> None:
        """Remove the uploaded table."""
        if draft.uploaded:
            for path in self.place(draft.id).glob("rows.*"):
                path.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove uploads that a crash left behind, unless a release that has begun still needs them."""
        for place in self._folder.iterdir():
            with suppress(DiscreetError, OSError):
                draft = self.load(place.name)
                if not draft.frozen or self.is_finished(draft):
                    self.forget_rows(draft)
                    if draft.uploaded and not draft.frozen:
                        self.save(replace(draft, data="", uploaded=False, columns=()))
            for part in (*place.glob("*.part"), *place.glob("part-*")):
                part.unlink(missing_ok=True)


def columns_of(data: str, table: str) -> tuple[str, ...]:
    """Return the names of the columns, in order; what looks like a line of data instead of a header is refused."""
    rows = rows_in(data, table or None, None) if table else data
    found = column_names(rows)
    if not found:
        raise UsageError("the table has no names of columns: its first line must be a header.")
    doubtful = [name for name in found if not name.strip() or len(name) > 200 or re.match(r"[-+.\d]", name)]
    if doubtful and not table:
        raise UsageError(
            "the first line of the file does not look like names of columns, and is not shown.",
            hint="write a header line above the rows",
        )
    return tuple(found[:_MOST_COLUMNS])

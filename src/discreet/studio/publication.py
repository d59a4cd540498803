"""Releases of a draft: begun once, made one after the other in the background, finished after a crash.

Privacy
-------
Every question has a folder that :func:`discreet.release` keeps its release in (``keep=``), so it is charged once and
drawn once, however often this runs; a file appears for download only when the ledger has noted it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any

from discreet.artifact import Release
from discreet.curator.publish import release
from discreet.errors import DiscreetError, UsageError
from discreet.ledger import Ledger
from discreet.studio.asked_questions import Question
from discreet.studio.drafts import Draft, Drafts


class Publication:
    """What is being released: at most one thread for each draft."""

    def __init__(self, drafts: Drafts, studio: Any) -> None:
        self._drafts, self._studio = drafts, studio
        self._lock = Lock()
        self._running: dict[str, Thread] = {}

    def begin(self, id_: str, seal: str) -> Draft:
        """Begin, or go on with, the releases of a draft; a page that shows something else is refused."""
        with self._lock, self._drafts.lock:
            draft = self._drafts.load(id_)
            if draft.seal != seal:
                raise UsageError(
                    "the declarations have changed since that page was shown: review them again."
                )
            if self.is_running(id_) or self._drafts.is_finished(draft):
                return draft
            if not draft.frozen:
                affordable(draft)
                draft = self._drafts.save(replace(draft, frozen=True, problems={}))
            self._studio.busy += 1
            thread = Thread(target=self._run, args=(draft,), daemon=True, name=f"release-{id_}")
            self._running[id_] = thread
            thread.start()
            return draft

    def is_running(self, id_: str) -> bool:
        """Tell whether releases of a draft are being made."""
        found = self._running.get(id_)
        return found is not None and found.is_alive()

    def remove(self, id_: str) -> None:
        """Remove a draft, unless its releases are being made."""
        with self._lock, self._drafts.lock:
            if self.is_running(id_):
                raise UsageError("its releases are being made.", hint="wait for them")
            self._drafts.remove(id_)

    def _run(self, draft: Draft) -> None:
        problems: dict[str, str] = {}
        try:
            for one in draft.questions:
                try:
                    self._make(draft, one)
                except DiscreetError as problem:
                    problems[one.name] = problem.message
                except Exception as problem:
                    # its text may quote a row
                    problems[one.name] = f"unexpected {type(problem).__name__}"
            with self._drafts.lock:
                self._drafts.save(replace(self._drafts.load(draft.id), problems=problems))
            if not problems:
                self._drafts.forget_rows(draft)
        finally:
            with self._lock:
                self._studio.busy -= 1

    def _make(self, draft: Draft, question: Question) -> None:
        """Make the release of one question, unless its file is there."""
        target = self._drafts.file(draft, question)
        if target.exists():
            return
        target.parent.mkdir(mode=0o700, exist_ok=True)
        kept = self._drafts.place(draft.id) / "kept" / question.name
        made = release(draft.data, question.model(), **draft.declarations(question), keep=kept)
        if draft.key:
            # the file appears last: what can be downloaded is signed
            draft_file = target.with_suffix(".unsigned")
            made.save(draft_file, key=draft.key)
            draft_file.with_name(f"{draft_file.name}.sig").replace(target.with_name(f"{target.name}.sig"))
            draft_file.replace(target)
        else:
            made.save(target)


def explained(draft: Draft, question: Question) -> Any:
    """Return what the release of a question would do; nothing is read, charged or drawn."""
    return release(draft.data, question.model(), **draft.declarations(question), explain=True)


def rehearsed(draft: Draft, question: Question) -> Release | None:
    """Return a release of two invented rows that hold nothing: it promises what the real one will promise.

    None where what is promised depends on what will be drawn: bounds that are bought, groups that nobody named.

    Privacy
    -------
    The rows of the table are not read, and nothing is charged.
    """
    if question.bought or question.private:
        return None
    said = draft.declarations(question)
    for name in ("ledger", "analyst", "table"):
        said.pop(name, None)
    made = release({name: [None, None] for name in draft.columns}, question.model(), **said)
    return made if made.records is None else replace(made, records=draft.records)


def statement(draft: Draft, question: Question) -> str:
    """Return the privacy statement that the file will carry; the empty text if it is not known before the draw."""
    try:
        made = rehearsed(draft, question)
    except DiscreetError:
        return ""
    return "" if made is None else made.statement()


def check_key(draft: Draft, key: str) -> None:
    """Raise now what signing with this key would raise after the charge."""
    plain = Question(name="key", kind="share", column=draft.columns[0])
    made = rehearsed(replace(draft, questions=(plain,)), plain)
    if made is not None:
        with TemporaryDirectory() as folder:
            made.save(Path(folder) / "rehearsal.json", key=key)


def affordable(draft: Draft) -> None:
    """Raise unless everything that is declared can be released, and the ledger allows all of it together."""
    if not draft.questions:
        raise UsageError("there is no question yet.")
    costs = [explained(draft, one).cost for one in draft.questions]
    if draft.ledger:
        Ledger(draft.ledger).check(draft.dataset, *costs, analyst=draft.analyst or None)

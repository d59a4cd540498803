"""Entries that cannot be changed unnoticed: each holds the hash of the one before.

An entry's text is canonical JSON (sorted keys, no spaces, ASCII), and its hash is the SHA-256 of that text. Whoever can
write to the database can also compute hashes, so a chain finds changes only as far as somebody remembers a later hash:
a release file, a printed head, or the seal below. The seal is an HMAC of the newest hash under a key that is not in the
database.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from discreet.errors import LedgerError, UsageError

#: Environment variable with the key that seals the head.
KEY_VARIABLE = "DISCREET_LEDGER_KEY"
FORMAT, VERSION = "discreet/ledger", 1
#: What the first entry has in place of a hash before it.
NOTHING = "0" * 64
KINDS = ("ledger", "open", "charge", "released", "derived", "partition")

_SHORTEST_KEY = 16
_FRAME = ("ledger", "sequence", "kind", "time", "previous")


@dataclass(frozen=True)
class Head:
    """The newest entry, and its seal."""

    ledger: str
    sequence: int
    hash: str
    seal: str | None


@dataclass(frozen=True)
class Entry:
    """One entry: its place in the chain, and what it says."""

    ledger: str
    sequence: int
    kind: str
    time: str
    previous: str
    content: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The canonical JSON that is hashed and stored."""
        return canonical({**{name: getattr(self, name) for name in _FRAME}, "content": self.content})

    @property
    def hash(self) -> str:
        """The SHA-256 of the text."""
        return digest(self.text)


def read_entry(text: str) -> Entry:
    """Read an entry from its stored text, or raise :class:`LedgerError` if it is none."""
    try:
        body = json.loads(text)
        content = body["content"]
        entry = Entry(**{name: body[name] for name in _FRAME}, content=content)
        sound = set(body) == {*_FRAME, "content"} and isinstance(content, dict) and entry.text == text
        sound = sound and type(entry.sequence) is int and entry.kind in KINDS
        sound = sound and all(
            isinstance(getattr(entry, name), str) for name in ("ledger", "time", "previous")
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        sound, entry = False, None
    if not sound or entry is None:
        raise LedgerError("an entry of the ledger is not one that this library writes.")
    return entry


def canonical(content: Any) -> str:
    """Return the one JSON text of ``content``."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def now() -> str:
    """Return the time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def key_from_environment() -> bytes | None:
    """Return the key that seals ledgers, if one is set."""
    key = os.environ.get(KEY_VARIABLE)
    if not key:
        return None
    if len(key) < _SHORTEST_KEY:
        raise UsageError(f"{KEY_VARIABLE} must have at least {_SHORTEST_KEY} characters.")
    return key.encode("utf-8", "surrogateescape")


def seal_head(key: bytes, newest: Head | Entry) -> str:
    """Return the HMAC of the newest entry's place and hash."""
    text = canonical({"head": newest.hash, "ledger": newest.ledger, "sequence": newest.sequence})
    return hmac.new(key, text.encode("ascii"), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Compare two seals without telling by the time taken where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


def check_seal(head: Head, key: bytes | None, *, is_sealed: bool) -> None:
    """Raise unless the newest entry is sealed with the key, or there is neither a seal nor a key."""
    seal = head.seal
    if is_sealed != (seal is not None):
        raise LedgerError("the seal of the ledger was removed or added.", hint="verify the ledger")
    if seal is None and key is None:
        return
    if key is None:
        raise UsageError("this ledger is sealed with a key.", hint=f"set {KEY_VARIABLE}")
    if seal is None:
        raise LedgerError(f"{KEY_VARIABLE} is set, and this ledger has no seal.", hint="verify the ledger")
    if not same(seal, seal_head(key, head)):
        raise LedgerError("the ledger was altered, or sealed with another key.", hint="verify the ledger")

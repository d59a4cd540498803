"""Where a release was paid for, if a ledger was kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from discreet.artifact.readers import count, exact_fields, text_of

_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class LedgerStamp:
    """The charge behind a release: the ledger's identifier, the entry's number, and its hash."""

    id: str
    sequence: int
    charge: str


def encode_stamp(stamp: LedgerStamp) -> dict[str, Any]:
    """Return the stamp as JSON."""
    return {"id": stamp.id, "sequence": stamp.sequence, "charge": stamp.charge}


def read_stamp(value: Any) -> LedgerStamp:
    """Read a stamp, or raise ValueError."""
    exact_fields("ledger", value, "id sequence charge")
    if not _HASH.fullmatch(text_of(value["charge"])):
        raise ValueError("the hash of the charge is none")
    if not _ID.fullmatch(text_of(value["id"])):
        raise ValueError("the identifier of the ledger is none")
    return LedgerStamp(value["id"], count(value["sequence"]), value["charge"])

"""Where a release was paid for, if a ledger was kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from discreet.artifact.readers import COUNT, TEXT, read_fields

_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class LedgerStamp:
    """The charge behind a release: the ledger's identifier, the entry's number, and its hash."""

    id: str
    sequence: int
    charge: str


def read_stamp(value: Any) -> LedgerStamp:
    """Read a stamp, or raise ValueError."""
    stamp = LedgerStamp(**read_fields("ledger", value, {"id": TEXT, "sequence": COUNT, "charge": TEXT}))
    if not _HASH.fullmatch(stamp.charge):
        raise ValueError("the hash of the charge is none")
    if not _ID.fullmatch(stamp.id):
        raise ValueError("the identifier of the ledger is none")
    return stamp

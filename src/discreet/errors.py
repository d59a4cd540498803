"""What can go wrong, as one small tree.

    DiscreetError
    ├── UsageError         the call cannot mean anything: bad epsilon, missing bounds, unknown prior    exit 2
    │   └── EngineError    the engine asked for does not apply to this release                          exit 2
    │       └── OutOfReachError  no engine can answer this release                                      exit 4
    ├── DataError          a file could not be read or written                                          exit 1
    ├── BudgetError        the ledger refuses a charge: the budget does not allow it                    exit 3
    ├── ReleaseFileError   a release file is unreadable, altered or from an unknown version             exit 4
    │   └── SignatureError a signature is not that of this file, or not by anybody who is trusted       exit 4
    ├── LedgerError        a ledger is unreadable, altered or from an unknown version                   exit 4
    └── MissingPackageError  a package that this call needs is not installed                            exit 1

Every message is one line that says what was wrong and, where a value was given *by the caller*, that
value. No message ever contains a value of the data. ``hint`` says what to do next.
"""

from __future__ import annotations

# What a caller gave is quoted, and may be of many lines or long; the words around it stand at both ends.
_HEAD, _TAIL = 180, 110


def _one_line(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _HEAD + _TAIL else f"{line[:_HEAD]} … {line[-_TAIL:]}"


class DiscreetError(Exception):
    """Base of every error this package raises on purpose."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(_one_line(message))
        self.message = _one_line(message)
        self.hint = None if hint is None else _one_line(hint)

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nHint: {self.hint}"


class UsageError(DiscreetError, ValueError):
    """The arguments do not make a meaningful request."""

    exit_code = 2


class EngineError(UsageError):
    """The inference engine does not apply to this release."""


class OutOfReachError(EngineError):
    """No engine can answer this release: it takes too much work, or its noisy totals contradict each other."""

    exit_code = 4


class DataError(DiscreetError, OSError):
    """Input could not be read or output could not be written."""

    exit_code = 1


class BudgetError(DiscreetError):
    """The budget does not allow a charge; the message says what was spent, asked and remains."""

    exit_code = 3


class ReleaseFileError(DiscreetError, ValueError):
    """A release file is damaged, altered, or of a kind this version does not know."""

    exit_code = 4


class SignatureError(ReleaseFileError):
    """A signature does not fit the file, or was made with a key that the reader does not trust."""


class LedgerError(DiscreetError, ValueError):
    """A ledger is damaged, altered, or of a version that this library does not know."""

    exit_code = 4


class MissingPackageError(DiscreetError, ImportError):
    """A package that only some calls need is not installed; the message names it and the command that installs it."""

    exit_code = 1

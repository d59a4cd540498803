"""The file behind an SQLite ledger: one file, under one name, the same from charge to charge."""

from __future__ import annotations

import os
import stat

from discreet.addresses import FileAddress, check_last
from discreet.errors import DataError, LedgerError, UsageError

# what is found there depends on the process that looks, or is gone when the machine stops
_NO_FOLDERS = ("/dev", "/proc", "/sys")
_MOST_LINKS = 40


class LedgerFile:
    """Follows the links of an address, and notices when they lead elsewhere.

    SQLite's locks belong to a file, and its journal to the file's name. So there must be one name: with a second one
    (a hard link), what a crash left under one name would be rolled back over charges that were made under the other.
    Nothing here opens the file: closing it again would drop the locks that SQLite holds in this process.
    """

    def __init__(self, address: FileAddress) -> None:
        self._name = address.name
        self._path = address.path
        self._identity: tuple[str, int, int] | None = None

    def exists(self) -> bool:
        """Tell whether there is a file; raise if there is something else."""
        try:
            return self._look()[1] is not None
        except (FileNotFoundError, NotADirectoryError):
            return False

    def locate(self) -> str:
        """Return the file's real path, which is the same each time; the file itself may not exist yet."""
        try:
            path, found = self._look()
        except (FileNotFoundError, NotADirectoryError):
            if self._identity is not None:
                raise self._replaced() from None
            raise DataError(f"cannot create the ledger {self._name}: there is no such folder.") from None
        identity = None if found is None else (path, found.st_dev, found.st_ino)
        if self._identity is None:
            self._identity = identity
        elif identity != self._identity:
            raise self._replaced()
        return path

    def _replaced(self) -> LedgerError:
        return LedgerError(
            f"the file of the ledger {self._name} was moved, removed or replaced while it was in use.",
            hint="nothing was charged; open the ledger again",
        )

    def _look(self) -> tuple[str, os.stat_result | None]:
        """Return the real path, and the status of a plain file with one name, or none if there is nothing."""
        try:
            path, found = _followed(self._path)
        except (UsageError, FileNotFoundError, NotADirectoryError):
            raise
        except (OSError, ValueError):
            raise DataError(f"the ledger {self._name} cannot be reached: its file cannot be found.") from None
        check_last(os.path.basename(path))
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise DataError(f"the ledger {self._name} is not a file.", hint="name one, sqlite:///budget.db")
        if found is not None and found.st_nlink > 1:
            raise LedgerError(
                f"the file of the ledger {self._name} has {found.st_nlink} names, and a crash would damage it.",
                hint="remove the other hard links; a backup must be a copy",
            )
        return path, found


def _followed(path: str) -> tuple[str, os.stat_result | None]:
    """Follow links as the operating system does; return the real path, and the status of what is there, if anything.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        If a folder on the way is missing.
    UsageError
        If the way leads through a folder where no files are kept.
    """
    if os.sep != "/":
        real = os.path.realpath(path)
        return real, os.lstat(real) if os.path.lexists(real) else None
    ahead, real, links = path.split("/")[::-1], "/", 0
    found: os.stat_result | None = os.lstat(real)
    while ahead:
        part = ahead.pop()
        if found is None:
            raise FileNotFoundError
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError
        real = os.path.normpath(os.path.join(real, part))
        if real.casefold() in _NO_FOLDERS:
            raise UsageError(
                f"a ledger is a file on a disk, and {real} has none.", hint="name one, sqlite:///budget.db"
            )
        try:
            found = os.lstat(real)
        except FileNotFoundError:
            found = None
            continue
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise OSError("too many links")
            target = os.readlink(real)
            ahead += target.split("/")[::-1]
            real = "/" if target.startswith("/") else os.path.dirname(real)
            found = os.lstat(real)
    return real, found

"""Tables that come through the browser: streamed to a file of mode 0600, never whole in memory."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request

from discreet.errors import UsageError

_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".xlsx")


async def stream_to(request: Request, folder: Path) -> Path:
    """Write the body of a request into a new file of a folder; an upload that stops leaves nothing behind.

    Its name begins with ``part-`` and ends as the sender's did. It is nobody's until :meth:`Drafts.take_rows` makes it
    the draft's, so that of two uploads at once, or of one beside a release, neither writes into what the other reads.
    """
    name = unquote(request.headers.get("x-file-name", ""))[-200:].lower()
    ending = next((one for one in sorted(_ENDINGS, key=len, reverse=True) if name.endswith(one)), None)
    if ending is None:
        raise UsageError("the file's name must end in .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .xlsx.")
    arriving = folder / f"part-{secrets.token_hex(8)}{ending}"
    handle = os.open(arriving, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            async for chunk in request.stream():
                view = memoryview(chunk)
                while view:
                    view = view[os.write(handle, view) :]
        finally:
            os.close(handle)
    except BaseException as problem:
        arriving.unlink(missing_ok=True)
        if isinstance(problem, ClientDisconnect):
            raise UsageError("the upload was interrupted.") from None
        raise
    return arriving

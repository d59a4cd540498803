"""Tables that come through the browser: streamed to a file of mode 0600, never whole in memory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request

from discreet.errors import UsageError

_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".xlsx")


async def stream_to(request: Request, folder: Path) -> Path:
    """Write the body of a request into a folder, and return the file; an upload that stops leaves nothing behind."""
    name = unquote(request.headers.get("x-file-name", ""))[-200:].lower()
    ending = next((one for one in sorted(_ENDINGS, key=len, reverse=True) if name.endswith(one)), None)
    if ending is None:
        raise UsageError("the file's name must end in .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .xlsx.")
    draft = folder / "rows.part"
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            async for chunk in request.stream():
                view = memoryview(chunk)
                while view:
                    view = view[os.write(handle, view) :]
        finally:
            os.close(handle)
        for old in folder.glob("rows.*"):
            if old != draft:
                old.unlink()
        target = folder / f"rows{ending}"
        os.replace(draft, target)
    except ClientDisconnect:
        raise UsageError("the upload was interrupted.") from None
    finally:
        draft.unlink(missing_ok=True)
    return target


def shown_name(request: Request) -> str:
    """Return the name of the uploaded file, for the page: it is the curator's own."""
    return re.sub(r"[^\w .()-]", "", unquote(request.headers.get("x-file-name", "")))[-80:]

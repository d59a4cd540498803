"""``discreet studio``: a web page on this machine, for curators and analysts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli.options import flag, option


def studio(
    port: Annotated[int, option("N", "Port on 127.0.0.1.", show_default="a free one")] = 0,
    no_browser: Annotated[
        bool, flag("--no-browser", "Do not open a browser; say which file to open.")
    ] = False,
    analyst: Annotated[bool, flag("--analyst", "The analyst's pages alone: no rows come in.")] = False,
    folder: Annotated[
        Path | None,
        option(
            "DIR",
            "Where drafts, uploads and unfinished releases are kept, for you alone.",
            show_default="of your own",
        ),
    ] = None,
) -> None:
    """Open a page in the browser that takes a curator from a table to release files, and an analyst to a report.

    It is served on 127.0.0.1 alone, to whoever holds a one-time token, which is passed in a file that only you can
    read. It ends with Ctrl-C, or after an hour in which nobody asked for anything.
    """
    from discreet.studio.server import serve

    serve(port=port, browser=not no_browser, analyst=analyst, folder=folder)

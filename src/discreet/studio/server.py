"""Start the studio: a socket on loopback, the token in a file of mode 0600, and an end when nobody is there."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from contextlib import suppress
from html import escape
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from discreet.errors import UsageError
from discreet.extras import needed_for
from discreet.studio.guard import HOST, Doors

if TYPE_CHECKING:
    import uvicorn

    from discreet.studio.application import Application, Studio

#: Seconds without a request after which the studio ends.
IDLE = 60 * 60
_TICK = 1.0


def default_folder() -> Path:
    """Return the private folder of the studio's state: uploads, drafts and releases until they are fetched."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "discreet" / "studio"


def serve(*, port: int = 0, browser: bool = True, analyst: bool = False, folder: Path | None = None) -> None:
    """Serve the studio until it is stopped, or nobody asked for anything in an hour.

    Parameters
    ----------
    port
        Port on 127.0.0.1; 0 takes a free one.
    browser
        Whether to open a browser. The address it is given is that of a file that only this user can read.
    analyst
        Without the curator's pages: no rows, and none of the packages that read them.
    folder
        Where uploads and unfinished releases are kept, mode 0700.
    """
    with needed_for("the studio"):
        import python_multipart  # noqa: F401 - read by forms
        import uvicorn

        from discreet.studio.application import Application, Studio
    listening = _bound(port)
    doors = Doors(listening.getsockname()[1])
    studio = Studio(doors, folder or default_folder(), analyst)
    application = Application(studio)
    entrance = write_entrance(doors, studio.folder)
    config = uvicorn.Config(
        application,
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        limit_concurrency=64,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=32_768,
    )
    server = uvicorn.Server(config)

    async def run() -> None:
        watch = asyncio.create_task(_watch(server, studio, entrance))
        await server.serve(sockets=[listening])
        watch.cancel()

    print(f"discreet studio on {HOST}, port {doors.port}. Ctrl-C ends it.", flush=True)
    print(f"Open {entrance.as_uri()}", flush=True)
    if browser:
        Thread(target=_open, args=(entrance,), daemon=True).start()
    Thread(target=_warm, args=(application,), daemon=True).start()
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(run())
    finally:
        entrance.unlink(missing_ok=True)
        listening.close()


def write_entrance(doors: Doors, folder: Path) -> Path:
    """Write the page that carries the token into the browser: a new file that only its owner can read."""
    address = f"http://{doors.host}{doors.base}/enter?token={doors.sessions.token}"
    path = folder / f"open-{secrets.token_hex(8)}.html"
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>discreet studio</title>'
        f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
        f'<p><a href="{escape(address)}">discreet studio</a></p></html>\n'
    )
    for old in folder.glob("open-*.html"):
        old.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(page)
    return path.absolute()


def _bound(port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise UsageError(f"port must be 0 to 65535, got {port}.", hint="0, or no --port, takes a free one")
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # after a crash the same port can be had at once
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        # at once: a browser that is faster than the server waits instead of being refused
        made.listen(64)
    except OSError:
        made.close()
        raise UsageError(f"port {port} on {HOST} is not free.", hint="another --port, or none") from None
    return made


async def _watch(server: uvicorn.Server, studio: Studio, entrance: Path) -> None:
    """Remove the entrance once it was used; end the server when nobody comes any more."""
    while True:
        await asyncio.sleep(_TICK)
        if studio.doors.sessions.token is None:
            entrance.unlink(missing_ok=True)
        if time.monotonic() - studio.doors.seen > IDLE and not studio.busy:
            server.should_exit = True


def _open(entrance: Path) -> None:
    import webbrowser

    webbrowser.open(entrance.as_uri())


def _warm(application: Application) -> None:
    """Load what pages will need, while the first page is looked at."""
    application.studio.greeted.wait()
    # not before that page has its style
    time.sleep(_TICK / 3)
    with suppress(ImportError):
        application.load()
        import discreet.inference.analyst
    if not application.studio.analyst_only:
        with suppress(ImportError):
            import discreet.curator.publish
            import discreet.planning.plan  # noqa: F401

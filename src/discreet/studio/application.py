"""The studio as one application: its guard, its pages, and what it holds while it runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route, Router

from discreet.errors import DataError, UsageError
from discreet.studio.catalogue import LANGUAGES
from discreet.studio.guard import Doors, Guard
from discreet.studio.pages import Forbidden, Refused, Visit, route

_HERE = Path(__file__).parent
_STATIC = {
    "studio.css": (_HERE / "static/studio.css", "text/css"),
    "studio.svg": (_HERE / "static/studio.svg", "image/svg+xml"),
    "studio.js": (_HERE / "static/studio.js", "text/javascript"),
    "htmx.min.js": (_HERE.parent / "_vendor/htmx/htmx.min.js", "text/javascript"),
}


@dataclass
class Studio:
    """One running studio: whether rows may come in, its private folder, and its doors."""

    doors: Doors
    folder: Path
    analyst_only: bool = False
    #: What the curator's pages hold, by the name of the room; made by them.
    rooms: dict[str, Any] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)
    #: Releases that are being made: the studio does not shut down under them.
    busy: int = 0
    #: Set when somebody looks at the first page.
    greeted: Event = field(default_factory=Event)


class Application:
    """The pages behind the guard. The first one needs nothing that takes long to import; the others are loaded once."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        _own(studio.folder)
        self._first = Router(_FIRST, redirect_slashes=False)
        self._rest: Router | None = None
        self._guarded = Guard(self._inside, studio.doors)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._guarded(scope, receive, send)

    async def _inside(self, scope: Any, receive: Any, send: Any) -> None:
        scope["studio"] = self.studio
        scope["path"] = scope["path"].removeprefix(self.studio.doors.base)
        scope["root_path"] = ""
        first = scope["path"] in ("/", "/language") or scope["path"].startswith("/static/")
        try:
            routes = self._first if first else await run_in_threadpool(self.load)
            await routes(scope, receive, send)
        except Forbidden as refused:
            await PlainTextResponse(f"{refused.status}\n", refused.status)(scope, receive, send)

    def load(self) -> Router:
        """Import all pages, and what they call; remove what a crash left behind."""
        with self.studio.lock:
            if self._rest is None:
                self._rest = Router(_rest(self.studio), redirect_slashes=False)
            return self._rest


def _own(folder: Path) -> None:
    """Make the private folder, or raise if there is one that others can look into: rows will be in it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as problem:
        raise DataError(f"cannot make the folder {folder}: {problem.strerror or 'no folder'}.") from None
    if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
        raise UsageError(
            f"others can look into {folder}, or it is not yours.",
            hint=f"name a new folder, or chmod 700 {folder}",
        )


def _rest(studio: Studio) -> list[Route]:
    from discreet.studio import analyst_routes

    if studio.analyst_only:
        return analyst_routes.ROUTES
    from discreet.studio import curator_routes

    curator_routes.begin(studio)
    return [*analyst_routes.ROUTES, *curator_routes.ROUTES]


def _home(visit: Visit) -> Response:
    visit.studio.greeted.set()
    return visit.page("home.html")


def _language(visit: Visit) -> Response:
    language = visit.form.get("language", "")
    if language not in LANGUAGES:
        raise Refused(400)
    visit.session.language = language
    back = visit.form.get("back", "/")
    return visit.to(back if back.startswith("/") and "//" not in back and len(back) < 200 else "/")


async def _static(request: Request) -> Response:
    found = _STATIC.get(request.path_params["name"])
    return PlainTextResponse("404\n", 404) if found is None else FileResponse(found[0], media_type=found[1])


_FIRST = [
    route("/", _home),
    route("/language", _language, "POST"),
    Route("/static/{name}", _static),
]

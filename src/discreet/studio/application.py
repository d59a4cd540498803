"""The studio as one application: its guard, its pages, and what it holds while it runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route, Router

from discreet.studio.catalogue import LANGUAGES
from discreet.studio.guard import Doors, Guard
from discreet.studio.pages import Forbidden, Refused, Visit, answered

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


class Application:
    """The pages behind the guard."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        studio.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chmod(studio.folder, 0o700)
        self._routes = Router(_routes(studio), redirect_slashes=False)
        self._guarded = Guard(self._inside, studio.doors)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._guarded(scope, receive, send)

    async def _inside(self, scope: Any, receive: Any, send: Any) -> None:
        scope["studio"] = self.studio
        scope["path"] = scope["path"].removeprefix(self.studio.doors.base)
        scope["root_path"] = ""
        try:
            await self._routes(scope, receive, send)
        except Forbidden as refused:
            await PlainTextResponse(f"{refused.status}\n", refused.status)(scope, receive, send)


def _routes(studio: Studio) -> list[Route]:
    from discreet.studio import analyst_routes

    routes = [
        Route("/", answered(_home)),
        Route("/language", answered(_language), methods=["POST"]),
        Route("/static/{name}", _static),
        *analyst_routes.ROUTES,
    ]
    if not studio.analyst_only:
        from discreet.studio import curator_routes

        curator_routes.begin(studio)
        routes += curator_routes.ROUTES
    return routes


def _home(visit: Visit) -> Response:
    drafts = [] if visit.studio.analyst_only else visit.studio.rooms["drafts"].listed()
    return visit.page("home.html", drafts=drafts)


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

"""How a page is made: a form is read and checked, a function answers, and what it returns is rendered."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError
from discreet.studio.catalogue import LANGUAGES, chosen_language, say
from discreet.studio.sessions import Session, fits

_HERE = Path(__file__).parent
#: Fields of a form, and characters of one of them.
_MOST_FIELDS, _LONGEST = 400, 20_000

Form = Mapping[str, str]
Handler = Callable[["Visit"], Response]


class _Status(Exception):
    """What ends a request with a status."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class Refused(_Status):
    """A request that no page of ours sends: no such thing, or a form without its secret."""


class Forbidden(_Status):
    """A form that is answered with a number alone."""


class Visit:
    """One request: its session, its language, its form, and what answers can be made of."""

    def __init__(self, request: Request, form: Form, files: list[tuple[str, bytes]]) -> None:
        self.request, self.form, self.files = request, form, files
        self.studio: Any = request.app.state.studio if "app" in request.scope else request.scope["studio"]
        self.session: Session = request.scope["state"]["session"]
        accepted = request.headers.get("accept-language", "")
        self.language = self.session.language or chosen_language(accepted)

    @property
    def base(self) -> str:
        """The path that all pages lie under."""
        return self.studio.doors.base

    @property
    def partial(self) -> bool:
        """Whether a part of a page is asked for, by htmx."""
        return self.request.headers.get("hx-request") == "true"

    def say(self, key: str, **values: object) -> str:
        """Return a text in the visitor's language."""
        return say(self.language, key, **values)

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Render a template."""
        known = {
            "t": self.say,
            "base": self.base,
            "csrf": self.session.csrf,
            "language": self.language,
            "languages": LANGUAGES,
            "analyst_only": self.studio.analyst_only,
            "here": self.request.url.path,
        }
        content = environment().get_template(template).render({**known, **values})
        return HTMLResponse(content, status)

    def to(self, path: str) -> Response:
        """Send the browser to another page."""
        return RedirectResponse(f"{self.base}{path}", 303)

    def said(self, name: str) -> str:
        """Return what a field of the form holds, without blanks around it; nothing if it is not there."""
        return self.form.get(name, "").strip()

    def part(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params[name])


@cache
def environment() -> Environment:
    """Return the templates; a name that no page gives is an error, and every value is escaped."""
    found = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["number"] = lambda value: f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return found


def answered(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Make an endpoint of a function: forms are checked first, and errors become one line on a page."""

    @wraps(handler)
    async def endpoint(request: Request) -> Response:
        form, files = await _form(request) if request.method == "POST" else ({}, [])
        visit = Visit(request, form, files)
        return await run_in_threadpool(partial(_guarded, handler, visit))

    return endpoint


def route(path: str, handler: Handler, *methods: str) -> Route:
    """Return the route of a page, for these methods; to be looked at if none is named."""
    return Route(path, answered(handler), methods=methods or ["GET"])


def _guarded(handler: Handler, visit: Visit) -> Response:
    try:
        return handler(visit)
    except Refused as refused:
        return visit.page(
            "trouble.html", refused.status, ours=True, message=visit.say("trouble.gone"), hint=None
        )
    except DiscreetError as problem:
        status, said = 400, {"ours": False, "message": problem.message, "hint": problem.hint}
    except Exception as problem:
        # the text of an unexpected error may quote a row, its type and place cannot
        place = traceback.extract_tb(problem.__traceback__)[-1]
        where = f"{type(problem).__name__}, {Path(place.filename).stem}:{place.lineno}"
        status, said = 500, {"ours": True, "message": visit.say("trouble.bug", what=where), "hint": None}
    # htmx shows answers with status 200 alone
    return (
        visit.page("trouble_part.html", **said)
        if visit.partial
        else visit.page("trouble.html", status, **said)
    )


async def _form(request: Request) -> tuple[dict[str, str], list[tuple[str, bytes]]]:
    """Read a form, or raise unless it carries the session's secret."""
    from starlette.exceptions import HTTPException
    from starlette.formparsers import MultiPartException

    fields: dict[str, str] = {}
    files: list[tuple[str, bytes]] = []
    try:
        async with request.form(max_files=20, max_fields=_MOST_FIELDS, max_part_size=2**26) as form:
            for name, value in form.multi_items():
                if isinstance(value, str):
                    fields[name] = f"{fields[name]}\n{value}" if name in fields else value
                else:
                    files.append((value.filename or "", await value.read()))
    except (HTTPException, MultiPartException, ValueError, AssertionError, KeyError):
        raise Forbidden(400) from None
    if not (
        request.scope["state"]["csrf_header"] or fits(request.scope["state"]["session"], fields.get("_csrf"))
    ):
        raise Forbidden(403)
    if any(len(value) > _LONGEST or "\0" in value for value in fields.values()):
        raise Forbidden(400)
    fields.pop("_csrf", None)
    return fields, files

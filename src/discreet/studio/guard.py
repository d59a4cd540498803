"""What stands before every page: who asks, from where, how much and for how long.

Every request is refused unless its Host is this server's own, its Origin (if there is one) too, its path lies under the
server's random base, and its cookie names a session; every change must also carry Origin and the session's secret. The
base is the Path of the cookie, so a browser does not hand the cookie to another server on this machine, which ports
alone would not prevent. Refusals say nothing but their number.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from discreet.extras import needed_for
from discreet.studio.sessions import COOKIE, Sessions, fits

with needed_for("the studio"):
    from starlette.responses import HTMLResponse, Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
#: Bytes of a form, of dropped release files together, and of a table of rows.
FORM, FILES, ROWS = 2**18, 2**26, 2**35
#: Seconds without a byte after which a sender is given up.
PATIENCE = 30.0
_SAFE = ("GET", "HEAD")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # with no-referrer browsers would send Origin: null with forms
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass
class Doors:
    """What the guard knows: the port, the base path, the sessions, and when somebody last came through."""

    port: int
    sessions: Sessions = field(default_factory=Sessions)
    base: str = field(default_factory=lambda: f"/s-{secrets.token_hex(12)}")
    seen: float = field(default_factory=time.monotonic)

    @property
    def host(self) -> str:
        """The only Host that is answered."""
        return f"{HOST}:{self.port}"

    @property
    def cookie(self) -> str:
        """What follows the value in Set-Cookie."""
        return f"; Path={self.base}; HttpOnly; SameSite=Strict"


class TooLarge(Exception):
    """A body is larger than allowed, or came too slowly."""


class Guard:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp, doors: Doors) -> None:
        self._app, self._doors = app, doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # a WebSocket, which no page opens
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False

        async def sent(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = [(name, value) for name, value in message["headers"] if name.decode() not in HEADERS]
                message = {
                    **message,
                    "headers": [*own, *((k.encode(), v.encode()) for k, v in HEADERS.items())],
                }
            await send(message)

        status = self._refusal(scope)
        if status is None and scope["path"] == f"{self._doors.base}/enter":
            await self._entered(scope)(scope, receive, sent)
            return
        if status is None:
            status = self._stranger(scope)
        if status is not None:
            await _plain(status)(scope, receive, sent)
            return
        self._doors.seen = time.monotonic()
        try:
            await self._app(scope, _Limited(receive, _most(scope["path"])), sent)
        except TooLarge:
            if not started:
                await _plain(413)(scope, receive, sent)
        except Exception:
            # what the error says may quote a row: nothing of it is shown or logged
            if not started:
                await _plain(500)(scope, receive, sent)

    def _refusal(self, scope: Scope) -> int | None:
        """Return the status for a request that no page of ours sent."""
        headers = _headers(scope)
        if headers.get("host") != [self._doors.host]:
            return 421
        own = f"http://{self._doors.host}"
        origins = headers.get("origin", [])
        if any(one != own for one in origins) or len(origins) > 1:
            return 403
        if scope["method"] not in (*_SAFE, "POST"):
            return 405
        path = scope["path"]
        raw = scope.get("raw_path", path.encode())
        if not path.startswith(f"{self._doors.base}/") or b"%" in raw or ".." in path or "//" in path:
            return 404
        sites = headers.get("sec-fetch-site", [])
        entering = path == f"{self._doors.base}/enter" and scope["method"] == "GET"
        if any(one not in ("same-origin", "none") for one in sites) and not entering:
            return 403
        if scope["method"] == "POST" and origins != [own]:
            return 403
        return None

    def _stranger(self, scope: Scope) -> int | None:
        """Return the status for a request without a session, or for a change without its secret."""
        headers = _headers(scope)
        session = self._doors.sessions.of(headers.get("cookie", []))
        if session is None:
            return 403
        scope.setdefault("state", {})["session"] = session
        scope["state"]["csrf_header"] = fits(session, next(iter(headers.get("x-csrf-token", [])), None))
        return None

    def _entered(self, scope: Scope) -> Response:
        if scope["method"] != "GET":
            return _plain(405)
        query = parse_qs(scope["query_string"].decode("ascii", "replace"), max_num_fields=4)
        value = self._doors.sessions.enter(next(iter(query.get("token", [])), ""))
        if value is None:
            return _plain(403)
        # a page of its own: after a redirect from a file, browsers would not send a strict cookie
        body = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>discreet studio</title>'
            f'<link rel="icon" href="{self._doors.base}/static/studio.svg">'
            f'<meta http-equiv="refresh" content="0; url={self._doors.base}/"></head>'
            f'<body><p><a href="{self._doors.base}/">discreet studio</a></p></body></html>'
        )
        return HTMLResponse(body, headers={"set-cookie": f"{COOKIE}={value}{self._doors.cookie}"})


class _Limited:
    """Receives a body up to a size, and not for ever."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._left, self._done = receive, most, False

    async def __call__(self) -> Message:
        if self._done:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), PATIENCE)
        except TimeoutError:
            raise TooLarge from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._done = not message.get("more_body", False)
            if self._left < 0:
                raise TooLarge
        return message


def _most(path: str) -> int:
    if path.endswith("/upload"):
        return ROWS
    return FILES if path.endswith("/drop") else FORM


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _plain(status: int) -> Response:
    """Return an answer with the number alone."""
    return Response(f"{status}\n", status, {"content-type": "text/plain"})

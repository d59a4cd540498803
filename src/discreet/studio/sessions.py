"""Who may come in: a one-time token becomes a cookie, and every change carries the session's own second secret."""

from __future__ import annotations

import hmac
import secrets
import time
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from threading import Lock
from typing import Any

#: Seconds in which the one-time token can be used.
TOKEN_LIFE = 15 * 60
COOKIE = "studio"


@dataclass
class Session:
    """One browser that came in by the token: the secret of its forms, its language, and what it has open."""

    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    language: str | None = None
    #: What an analyst has open, by short name; made by :mod:`discreet.studio.open_readings`.
    readings: dict[str, Any] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


class Sessions:
    """The sessions of one server. Their secrets live in memory alone and end with the process."""

    def __init__(self) -> None:
        self._token: str | None = secrets.token_urlsafe(32)
        self._born = time.monotonic()
        self._sessions: dict[str, Session] = {}
        self._lock = Lock()

    @property
    def token(self) -> str | None:
        """The token, for the redirect file; None once it was used."""
        return self._token

    def enter(self, token: str) -> str | None:
        """Exchange the token for the value of a cookie, once; None if it is stale, used or wrong."""
        with self._lock:
            known = self._token
            if known is None or time.monotonic() - self._born > TOKEN_LIFE or not _same(known, token):
                return None
            self._token = None
            made = secrets.token_urlsafe(32)
            self._sessions[made] = Session()
            return made

    def of(self, cookie_headers: list[str]) -> Session | None:
        """Return the session that a request's cookies name."""
        for header in cookie_headers:
            try:
                found = SimpleCookie(header).get(COOKIE)
            except CookieError:
                continue
            if found is None:
                continue
            for value, session in list(self._sessions.items()):
                if _same(value, found.value):
                    return session
        return None


def fits(session: Session, given: str | None) -> bool:
    """Tell whether a form carries the session's secret."""
    return given is not None and _same(session.csrf, given)


def _same(known: str, given: str) -> bool:
    """Compare without telling by the time taken where they differ."""
    return hmac.compare_digest(known.encode(), given.encode("utf-8", "replace"))

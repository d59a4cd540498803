"""A browser without a screen: the studio's application, a client that came in by the token, and its forms."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from discreet.studio.application import Application, Studio
from discreet.studio.guard import Doors

PORT = 8123
ORIGIN = f"http://127.0.0.1:{PORT}"


class Visitor:
    """A studio in a folder, and one session in it."""

    def __init__(self, folder: Path, *, analyst: bool = False) -> None:
        self.doors = Doors(PORT)
        self.studio = Studio(self.doors, folder, analyst)
        self.application = Application(self.studio)
        self.client = TestClient(
            self.application,
            base_url=ORIGIN,
            headers={"accept-language": "en"},
            raise_server_exceptions=True,
        )
        self.base = self.doors.base
        self.client.get(f"{self.base}/enter", params={"token": self.doors.sessions.token})
        self.csrf = re.findall(r'data-csrf="([^"]+)"', self.get("/").text)[0]
        self.draft = ""

    def get(self, path: str, **more: Any) -> Any:
        return self.client.get(self.base + path, **more)

    def post(self, path: str, fields: dict[str, str] | None = None, **more: Any) -> Any:
        headers = {"origin": ORIGIN, **more.pop("headers", {})}
        return self.client.post(
            self.base + path, data={"_csrf": self.csrf, **(fields or {})}, headers=headers, **more
        )

    def step(self, step: str, fields: dict[str, str] | None = None) -> Any:
        """Fill in a form of the draft; it must be taken."""
        answer = self.post(f"/curate/{self.draft}/{step}", fields)
        assert answer.status_code == 200, re.sub(r"<[^>]+>|\s+", " ", answer.text)[-500:]
        return answer

    def begin(self, data: str | None = None, records: int = 2500, unit: str = "") -> None:
        """Choose a table, the bundled one unless another is given, and who is protected."""
        self.draft = re.findall(r"/curate/([0-9a-f]+)/data", str(self.post("/curate/new").url))[0]
        self.step("data", {"example": "1"} if data is None else {"data": data})
        self.step("unit", {"unit": unit, "records": str(records), "neighbors": "replace"})

    def budget(self, epsilon: str, ledger: Path, allowed: str) -> str:
        """Open a ledger, and return the seal of the review page."""
        given = {"epsilon": epsilon, "ledger": str(ledger), "dataset": "clinic"}
        self.step("budget", given | {"new_epsilon": allowed})
        return self.seal(self.step("budget", given).text)

    @staticmethod
    def seal(page: str) -> str:
        return re.findall(r'name="seal" value="([0-9a-f]+)"', page)[0]

    def released(self) -> list[str]:
        """Wait for the releases, and return the addresses of the files."""
        for _ in range(600):
            page = self.get(f"/curate/{self.draft}/done").text
            if "delay:800ms" not in page:
                return [
                    one.removeprefix(self.base) for one in re.findall(r'href="([^"]+/files/[^"]+)"', page)
                ]
            time.sleep(0.05)
        raise AssertionError("the releases did not end")

"""A studio in a process of its own, and a client that talks to it over the loopback socket, as a browser does."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import unquote, urlencode, urlsplit


class Served:
    """A server, and one session in it."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "discreet.cli", "studio", "--no-browser", "--folder", str(folder)]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(re.findall(r"port (\d+)", self.process.stdout.readline())[0])
        self.entrance = Path(unquote(urlsplit(self.process.stdout.readline().split()[-1]).path))
        self.base = self.token = self.csrf = ""
        self.headers: dict[str, str] = {}

    def enter(self) -> None:
        """Exchange the token for a session."""
        path, self.token = re.findall(r"(/s-[0-9a-f]+)/enter\?token=([\w-]+)", self.entrance.read_text())[0]
        self.base = path
        _, headers, _ = self.ask("GET", f"{path}/enter?token={self.token}")
        self.headers = {"cookie": headers["set-cookie"].partition(";")[0]}
        self.csrf = re.findall(r'data-csrf="([^"]+)"', self.get("/"))[0]

    def secrets(self) -> list[str]:
        """Return everything that opens a door."""
        return [self.token, self.base, self.csrf, self.headers["cookie"].partition("=")[2]]

    def ask(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], str]:
        """Send one request; a server that was killed answers with status 0."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            answer = connection.getresponse()
            said = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, said, answer.read().decode()
        except OSError:
            return 0, {}, ""
        finally:
            connection.close()

    def get(self, path: str) -> str:
        return self.ask("GET", self.base + path)[2]

    def post(self, path: str, fields: dict[str, str] | None = None) -> str:
        """Send a form, and return where it leads to."""
        headers = {
            "origin": f"http://127.0.0.1:{self.port}",
            "content-type": "application/x-www-form-urlencoded",
        }
        form = urlencode({"_csrf": self.csrf, **(fields or {})})
        status, said, _ = self.ask("POST", self.base + path, form, headers)
        assert status in (0, 303), (path, status)
        return said.get("location", "").removeprefix(self.base)

    def draft(self, questions: list[dict[str, str]], ledger: Path, epsilon: str) -> tuple[str, str]:
        """Fill in everything up to the review page; return the draft's address and its seal."""
        draft = self.post("/curate/new").removesuffix("/data")
        self.post(f"{draft}/data", {"example": "1"})
        self.post(f"{draft}/unit", {"unit": "", "records": "2500", "neighbors": "replace"})
        for question in questions:
            self.post(f"{draft}/ask", question)
        self.post(f"{draft}/budget", {"epsilon": epsilon, "ledger": str(ledger), "dataset": "clinic"})
        return draft, seal(self.get(f"{draft}/review"))

    def files(self, draft: str) -> dict[str, str]:
        """Return the files that can be downloaded now, by name."""
        names = re.findall(rf'href="{self.base}{draft}/files/([^"]+)"', self.get(f"{draft}/done"))
        return {name: self.get(f"{draft}/files/{name}") for name in names}

    def finish(self, draft: str) -> dict[str, str]:
        """Press the button of an unfinished release, if it is there; return the files."""
        for _ in range(2400):
            page = self.get(f"{draft}/done")
            if 'name="seal"' in page:
                self.post(f"{draft}/release", {"seal": seal(page)})
            elif "delay:800ms" not in page:
                return self.files(draft)
            time.sleep(0.05)
        raise AssertionError("the releases did not end")

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def seal(page: str) -> str:
    return re.findall(r'name="seal" value="([0-9a-f]+)"', page)[0]

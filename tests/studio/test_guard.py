"""Who gets in: the token once, the cookie, Host and Origin, the secret of forms; and nobody else, whatever they try."""

from __future__ import annotations

import asyncio
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the studio's packages are not there: pip install 'discreet[studio]'")

from starlette.testclient import TestClient

from discreet.errors import DataError, UsageError
from discreet.studio import guard, server
from discreet.studio.application import Application, Studio
from discreet.studio.guard import HEADERS, Doors
from discreet.studio.sessions import TOKEN_LIFE, Sessions
from tests.studio.visitor import ORIGIN, PORT, Visitor

CANARY = "CANARY-7f3a"


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    """A session with a table whose every column holds a canary, and two questions about it."""
    folder = tmp_path_factory.mktemp("guard")
    rows = "\n".join(f"{CANARY}{k},{CANARY}-b,{k}" for k in range(50))
    (folder / "rows.csv").write_text(f"name,group,size\n{rows}\n")
    made = Visitor(folder / "studio")
    made.begin(str(folder / "rows.csv"), records=50)
    made.step("ask", {"kind": "share", "column": "group"})
    made.step("ask", {"kind": "average", "column": "size", "low": "0", "high": "100"})
    return made


def test_the_token_works_once_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions()
    token = sessions.token
    assert token is not None
    assert sessions.enter("") is None
    assert sessions.enter(token + "x") is None
    assert sessions.enter(token)
    assert sessions.enter(token) is None
    late = Sessions()
    monkeypatch.setattr("time.monotonic", lambda: late._born + TOKEN_LIFE + 1)
    assert late.enter(late.token or "") is None


def test_the_token_is_in_a_file_that_nobody_else_reads(tmp_path: Path) -> None:
    doors = Doors(PORT)
    path = server.write_entrance(doors, tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert doors.sessions.token in path.read_text()  # pyright: ignore[reportOperatorIssue]
    again = server.write_entrance(doors, tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == [again.name]


def test_the_cookie_is_strict_and_every_answer_has_its_headers(tmp_path: Path) -> None:
    doors = Doors(PORT)
    client = TestClient(Application(Studio(doors, tmp_path / "s", analyst_only=True)), base_url=ORIGIN)
    answer = client.get(f"{doors.base}/enter", params={"token": doors.sessions.token})
    cookie = answer.headers["set-cookie"]
    assert cookie.endswith(f"; Path={doors.base}; HttpOnly; SameSite=Strict")
    for path in ("/", "/read", "/static/studio.css", "/static/htmx.min.js", "/nowhere"):
        found = client.get(doors.base + path).headers
        assert {name: found[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in HEADERS["content-security-policy"]
    assert oct((tmp_path / "s").stat().st_mode)[-3:] == "700"


def test_a_folder_that_others_can_look_into_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    with pytest.raises(UsageError, match="others can look"):
        Application(Studio(Doors(PORT), tmp_path / "open"))
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o755
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot make"):
        Application(Studio(Doors(PORT), tmp_path / "file"))


def test_no_page_has_inline_script_or_style() -> None:
    for path in Path(guard.__file__).parent.rglob("*.html"):
        text = path.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\son\w+=|javascript:", text), path
        assert not re.search(r"(src|href|action)=\"https?:", text), path


def test_the_bundled_script_is_the_one_that_was_checked() -> None:
    import hashlib

    folder = Path(guard.__file__).parents[1] / "_vendor" / "htmx"
    wanted = re.findall(r"sha256 ([0-9a-f]{64})", (folder / "VERSION").read_text())
    assert [hashlib.sha256((folder / "htmx.min.js").read_bytes()).hexdigest()] == wanted
    assert "Zero-Clause BSD" in (folder / "LICENSE").read_text()


def attacks(visitor: Visitor, rng: random.Random) -> dict[str, Any]:
    """Return the arguments of one request that no page sends."""
    base, draft = visitor.base, visitor.draft
    pages = ["/", "/read", "/read/drop", "/language", "/curate/new"]
    pages += [
        f"/curate/{draft}/{one}" for one in ("data", "ask", "budget", "release", "private", "upload", "done")
    ]
    method, path = rng.choice(["GET", "POST"]), base + rng.choice(pages)
    headers: dict[str, str] = {"origin": ORIGIN} if method == "POST" else {}
    cookies = {"studio": rng.choice(["", "x" * 43, "studio", '"', "x;studio=y"])}
    made: dict[str, Any] = {"content": b""}
    kind = rng.randrange(10)
    good = rng.random() < 0.5
    if kind == 0:
        own = f"127.0.0.1:{PORT}"
        hosts = ["evil.example", f"localhost:{PORT}", "127.0.0.1", f"{own}.evil", f"[::1]:{PORT}", ""]
        headers["host"] = rng.choice(hosts)
    elif kind == 1:
        origins = ["http://evil.example", "null", f"http://localhost:{PORT}", f"{ORIGIN}/", ORIGIN.upper()]
        headers["origin"] = rng.choice(origins)
    elif kind == 2:
        path = base + rng.choice(
            ["/../etc/passwd", "/static/..%2f..%2fguard.py", "/static/%2e%2e/guard.py", "//evil", "/static/../guard.py",
             f"/curate/{draft}/files/..%2fdraft.json", "/curate/../../x/data", "/read/%00", "/.env", "/static/guard.py"]
        )  # fmt: skip
        good = False
    elif kind == 3:
        path = rng.choice(["/", "/enter", "/read", "/s-000/", base[:-1] + "/", base.upper() + "/"])
    elif kind == 4:
        method, made["content"] = "POST", os.urandom(2**18 + 1)
        path = base + rng.choice(["/curate/new", f"/curate/{draft}/ask"])
        headers |= {"origin": ORIGIN, "content-type": "application/x-www-form-urlencoded"}
        cookies, good = {}, True
    elif kind == 5:
        method = "POST"
        made["content"] = rng.choice(
            [b"{", b"\xff\x00&=", b"--x\r\nbroken", b"_csrf=" + b"a" * 40, b"a=1&" * 2000]
        )
        kinds = [
            "multipart/form-data",
            "multipart/form-data; boundary=x",
            "application/json",
            "text/plain",
            "",
        ]
        kinds.append("application/x-www-form-urlencoded")
        headers |= {"origin": ORIGIN, "content-type": rng.choice(kinds)}
        good = True
    elif kind == 6:
        method = rng.choice(["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
        good = True
    elif kind == 7:
        method, headers = (
            "POST",
            {"x-csrf-token": rng.choice(["", "x" * 43, "%"])},
        )
        headers["origin"] = ORIGIN
        good = True
    elif kind == 8:
        headers["sec-fetch-site"] = rng.choice(["cross-site", "same-site"])
        good = True
    else:
        path, method = (
            f"{base}/enter?token={rng.choice(['', 'x', 'x' * 43, visitor.csrf])}",
            rng.choice(["GET", "POST"]),
        )
    return {"method": method, "url": path, "headers": headers, "cookies": {} if good else cookies, **made}


def test_500_requests_that_no_page_sends_are_refused_and_change_nothing(
    visitor: Visitor, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(20261117)
    stranger = TestClient(visitor.client.app, base_url=ORIGIN)
    before = (
        visitor.studio.rooms["drafts"].load(visitor.draft),
        len(visitor.studio.rooms["drafts"].listed()),
    )
    statuses = []
    for k in range(500):
        asked = attacks(visitor, rng)
        # half of them hold the real cookie: then Host, Origin, secret and size alone keep them out
        client = stranger if asked["cookies"] or k % 2 else visitor.client
        for name, value in asked.pop("cookies").items():
            asked["headers"]["cookie"] = f"{name}={value}"
        answer = client.request(**asked, follow_redirects=False)
        statuses.append(answer.status_code)
        assert answer.status_code >= 400, asked["url"]
        assert CANARY not in answer.text
        assert "csrf" not in answer.text or client is visitor.client
        assert not answer.headers.get("set-cookie")
    assert before == (
        visitor.studio.rooms["drafts"].load(visitor.draft),
        len(visitor.studio.rooms["drafts"].listed()),
    )
    assert {403, 404, 405, 413, 421} <= set(statuses)
    said = capfd.readouterr()
    assert CANARY not in said.out + said.err


def test_the_same_requests_are_taken_from_a_page(visitor: Visitor) -> None:
    """The control: what the attacks lack is all that they lack."""
    assert visitor.get("/").status_code == 200
    assert visitor.post("/language", {"language": "en", "back": "/"}).status_code == 200


def test_no_page_shows_a_canary(visitor: Visitor, capfd: pytest.CaptureFixture[str]) -> None:
    draft = f"/curate/{visitor.draft}"
    pages = [
        "/",
        *(f"{draft}/{one}" for one in ("data", "unit", "questions", "budget", "review", "private", "done")),
    ]
    for page in pages:
        answer = visitor.get(page)
        assert answer.status_code == 200
        assert CANARY not in answer.text
        assert CANARY not in str(answer.headers)
    # also where exact counts are shown, and where a declaration does not fit
    assert CANARY not in visitor.post(f"{draft}/private").text
    trouble = visitor.post(f"{draft}/ask", {"kind": "categories", "column": "name", "labels": "a"})
    assert trouble.status_code == 400
    assert CANARY not in trouble.text
    kept = Path(visitor.studio.folder)
    assert not any(CANARY in one.read_text(errors="replace") for one in kept.rglob("*") if one.is_file())
    said = capfd.readouterr()
    assert CANARY not in said.out + said.err


def test_a_file_whose_first_line_is_data_is_not_shown(visitor: Visitor, tmp_path: Path) -> None:
    (tmp_path / "bare.csv").write_text(f"17,{CANARY},3\n18,{CANARY},4\n")
    answer = visitor.post(f"/curate/{visitor.draft}/data", {"data": str(tmp_path / "bare.csv")})
    assert answer.status_code == 400
    assert CANARY not in answer.text
    assert "header" in answer.text


def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "PATIENCE", 0.01)

    async def never() -> dict[str, Any]:
        await asyncio.sleep(10)
        return {}

    with pytest.raises(guard.TooLarge):
        asyncio.run(guard._Limited(never, 10)())  # pyright: ignore[reportArgumentType]

"""The curator's way: from a table to files, charged once; the printed command and Python promise the same."""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the studio's packages are not there: pip install 'discreet[studio]'")

import discreet as dc
from discreet.cli import run
from discreet.studio import recipes
from tests.studio.visitor import ORIGIN, Visitor

QUESTIONS = [
    {"kind": "share", "column": "smoker"},
    {"kind": "average", "column": "age", "low": "18", "high": "100", "unit_label": "years"},
    {"kind": "share", "column": "smoker", "by": "sex", "groups": "F, M"},
]
MORE = [
    {"kind": "distribution", "column": "waiting_days", "low": "0", "high": "60"},
    {"kind": "average", "column": "systolic_bp", "low": "0", "high": "400", "bought": "1"},
    {"kind": "categories", "column": "health", "labels": "poor\nfair\ngood\nexcellent"},
    {"kind": "predicts", "column": "smoker", "labels": "no, yes", "features": "age: 18 to 100\nsex: F, M"},
    {"kind": "predicts", "column": "systolic_bp", "low": "60", "high": "220", "features": "age: 18 to 100"},
]


def declared(release: dc.Release) -> dict[str, Any]:
    """Return what a file declares and promises: everything but its noise, its name, and its place in a ledger."""
    content = json.loads(release.to_json())
    for name in ("id", "sha256", "ledger"):
        content.pop(name, None)
    (content.get("statistics") or {}).pop("values", None)
    if content.get("bounds_choice"):
        # bought bounds are drawn, and maps follow from them
        content.pop("domain")
        content.pop("statistics")
        content.pop("mechanism")
    return content


def charges(url: str) -> list[Any]:
    return [entry.content for entry in dc.Ledger(url).entries() if entry.kind == "charge"]


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> tuple[Visitor, Path, list[str]]:
    folder = tmp_path_factory.mktemp("way")
    visitor = Visitor(folder / "studio")
    visitor.begin()
    for question in [*QUESTIONS, *MORE]:
        visitor.step("ask", question)
    seal = visitor.budget("4", folder / "budget.db", "20")
    # a double click, and a third one after the answer
    for _ in range(3):
        visitor.step("release", {"seal": seal})
    files = visitor.released()
    visitor.step("release", {"seal": seal})
    return visitor, folder, files


def test_every_question_has_a_file_and_one_charge(way: tuple[Visitor, Path, list[str]]) -> None:
    visitor, folder, files = way
    ledger = dc.Ledger(f"sqlite:///{folder}/budget.db")
    assert len(files) == len(QUESTIONS) + len(MORE)
    releases = [dc.Release.from_json(visitor.get(one).text) for one in files]
    kinds = [entry.kind for entry in ledger.entries()]
    assert kinds.count("charge") == kinds.count("released") == len(files)
    assert ledger.verify(against=releases).problems == ()
    assert sum(one.guarantee.budgets()["epsilon"] for one in releases) <= 4
    assert ledger.account("clinic").spent["epsilon"] == sum(
        one.guarantee.budgets()["epsilon"] for one in releases
    )
    # asked again, the same bytes
    assert [visitor.get(one).text for one in files] == [one.to_json() for one in releases]


def test_the_printed_commands_declare_promise_and_charge_the_same(
    way: tuple[Visitor, Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, folder, files = way
    monkeypatch.chdir(tmp_path)
    draft = visitor.studio.rooms["drafts"].load(visitor.draft)
    other = f"sqlite:///{tmp_path}/other.db"
    dc.Ledger.create(other).open("clinic", dc.PureDP(20))
    for one in draft.questions:
        if one.kind == "predicts":
            Path(f"{one.name}.toml").write_text(recipes.model_file(one))
        words = [other if word == draft.ledger else word for word in recipes.command(draft, one)]
        assert run(words[1:]) == 0, words
        mine = dc.Release.from_json(visitor.get(f"/curate/{draft.id}/files/{one.name}.json").text)
        theirs = dc.Release.load(f"{one.name}.json")
        assert declared(mine) == declared(theirs), one.name
        assert mine.guarantees == theirs.guarantees
    ours = [
        {k: v for k, v in one.items() if k != "request"} for one in charges(f"sqlite:///{folder}/budget.db")
    ]
    assert ours == charges(other)
    text = recipes.command_text(draft)
    assert len(files) == text.count("discreet release")
    assert shlex.split(text.replace("\\\n", " "))


def test_the_printed_python_declares_the_same(
    way: tuple[Visitor, Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, _, _ = way
    monkeypatch.chdir(tmp_path)
    draft = visitor.studio.rooms["drafts"].load(visitor.draft)
    dc.Ledger.create(f"sqlite:///{tmp_path}/other.db").open("clinic", dc.PureDP(20))
    code = recipes.python_text(draft).replace(draft.ledger, f"sqlite:///{tmp_path}/other.db")
    exec(compile(code, "printed", "exec"), {})
    for one in draft.questions:
        mine = dc.Release.from_json(visitor.get(f"/curate/{draft.id}/files/{one.name}.json").text)
        assert declared(mine) == declared(dc.Release.load(f"{one.name}.json"))


def test_a_budget_that_is_not_there_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    visitor = Visitor(tmp_path / "studio")
    visitor.begin()
    for question in QUESTIONS[:2]:
        visitor.step("ask", question)
    seal = visitor.budget("2", tmp_path / "budget.db", "1")
    answer = visitor.post(f"/curate/{visitor.draft}/release", {"seal": seal})
    assert answer.status_code == 400
    assert "does not allow this" in answer.text
    assert not charges(f"sqlite:///{tmp_path}/budget.db")
    assert visitor.released() == []


def test_a_page_of_another_tab_cannot_release_what_it_does_not_show(tmp_path: Path) -> None:
    visitor = Visitor(tmp_path / "studio")
    visitor.begin()
    visitor.step("ask", QUESTIONS[0])
    stale = visitor.budget("1", tmp_path / "budget.db", "9")
    visitor.step("ask", QUESTIONS[1])
    answer = visitor.post(f"/curate/{visitor.draft}/release", {"seal": stale})
    assert answer.status_code == 400
    assert "have changed" in answer.text
    assert not charges(f"sqlite:///{tmp_path}/budget.db")
    # and after a release, the back button changes nothing
    seal = visitor.seal(visitor.get(f"/curate/{visitor.draft}/review").text)
    visitor.step("release", {"seal": seal})
    visitor.released()
    for step, fields in {"ask": QUESTIONS[2], "unit": {"records": "9"}, "budget": {"epsilon": "5"}}.items():
        answer = visitor.post(f"/curate/{visitor.draft}/{step}", fields)
        assert answer.status_code == 400
        assert "has begun" in answer.text
    assert len(charges(f"sqlite:///{tmp_path}/budget.db")) == 2


def test_an_upload_is_private_and_removed_after_the_release(tmp_path: Path) -> None:
    visitor = Visitor(tmp_path / "studio")
    visitor.begin()
    content = dc.datasets.clinic_survey().read_bytes()
    place = tmp_path / "studio" / "drafts" / visitor.draft
    headers = {"origin": ORIGIN, "x-csrf-token": visitor.csrf, "x-file-name": "My%20rows.CSV"}
    url = f"{visitor.base}/curate/{visitor.draft}/upload"
    assert (
        visitor.client.post(url, content=content, headers={**headers, "x-csrf-token": "x"}).status_code == 403
    )
    assert (
        visitor.client.post(url, content=content, headers={**headers, "x-file-name": "a.exe"}).status_code
        == 400
    )
    answer = visitor.client.post(url, content=content, headers=headers)
    assert answer.json()["next"].endswith("/unit")
    assert (place / "rows.csv").read_bytes() == content
    assert (place / "rows.csv").stat().st_mode & 0o777 == 0o600
    assert place.stat().st_mode & 0o777 == 0o700
    visitor.step("ask", QUESTIONS[0])
    visitor.step("release", {"seal": visitor.seal(visitor.get(f"/curate/{visitor.draft}/review").text)})
    assert len(visitor.released()) == 1
    assert not list(place.glob("rows*"))


def test_an_upload_that_a_crash_left_behind_is_removed_at_the_next_start(tmp_path: Path) -> None:
    visitor = Visitor(tmp_path / "studio")
    visitor.begin()
    place = tmp_path / "studio" / "drafts" / visitor.draft
    headers = {"origin": ORIGIN, "x-csrf-token": visitor.csrf, "x-file-name": "a.csv"}
    visitor.client.post(
        f"{visitor.base}/curate/{visitor.draft}/upload", content=b"a,b\n1,2\n", headers=headers
    )
    (place / "part-0123.csv").write_text("half")
    assert (place / "rows.csv").exists()
    Visitor(tmp_path / "studio").application.load()
    assert not list(place.glob("*.csv"))


def test_the_rows_of_a_release_that_has_begun_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither another table nor another upload takes the place of what is being read; nor does one of two at once."""
    visitor = Visitor(tmp_path / "studio")
    visitor.begin()
    url = f"{visitor.base}/curate/{visitor.draft}/upload"
    place = tmp_path / "studio" / "drafts" / visitor.draft
    headers = {"origin": ORIGIN, "x-csrf-token": visitor.csrf, "x-file-name": "a.csv"}
    content = dc.datasets.clinic_survey().read_bytes()
    visitor.client.post(url, content=content, headers=headers)
    visitor.step("ask", QUESTIONS[0])
    seal = visitor.seal(visitor.get(f"/curate/{visitor.draft}/review").text)
    drafts = visitor.studio.rooms["drafts"]
    taken = drafts.take_rows

    def late(id_: str, arrived: Path, columns: tuple[str, ...]) -> Any:
        # the release begins while the second upload is on its way
        assert (place / "rows.csv").read_bytes() == content
        drafts.save(replace(drafts.load(id_), frozen=True))
        return taken(id_, arrived, columns)

    monkeypatch.setattr(drafts, "take_rows", late)
    assert visitor.client.post(url, content=b"smoker\nyes\n", headers=headers).status_code == 400
    answer = visitor.post(f"/curate/{visitor.draft}/data", {"example": "1"})
    assert answer.status_code == 400
    assert "has begun" in answer.text
    assert (place / "rows.csv").read_bytes() == content
    assert not list(place.glob("part-*"))
    visitor.step("release", {"seal": seal})
    assert len(visitor.released()) == 1


def test_signed_files_if_there_is_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography")
    monkeypatch.chdir(tmp_path)
    assert run(["sign", "--new-key", "office.key", "--name", "Office"]) == 0
    visitor = Visitor(tmp_path / "studio")
    visitor.begin()
    visitor.step("ask", QUESTIONS[0])
    page = visitor.step("review", {"key": str(tmp_path / "office.key")}).text
    visitor.step("release", {"seal": visitor.seal(page)})
    files = visitor.released()
    assert [one.rpartition("/")[2] for one in files] == ["smoker-share.json", "smoker-share.json.sig"]
    for one in files:
        Path(one.rpartition("/")[2]).write_text(visitor.get(one).text)
    assert dc.Release.load("smoker-share.json", signed_by="office.key.pub").model.name == "bernoulli"


def test_people_with_several_rows(tmp_path: Path) -> None:
    rows = "\n".join(
        f"p{k % 20},{'yes' if k % 3 else 'no'},{k % 50},{'a' if k % 2 else 'b'}" for k in range(60)
    )
    (tmp_path / "visits.csv").write_text(f"person,pain,cost,ward\n{rows}\n")
    visitor = Visitor(tmp_path / "studio")
    visitor.begin(str(tmp_path / "visits.csv"), records=20, unit="person")
    visitor.step("ask", {"kind": "share", "column": "pain", "rule": "any"})
    visitor.step("ask", {"kind": "average", "column": "cost", "low": "0", "high": "50", "rule": "max"})
    visitor.step("ask", {"kind": "share", "column": "pain", "rule": "all", "by": "ward", "groups": "a, b"})
    visitor.step("release", {"seal": visitor.seal(visitor.get(f"/curate/{visitor.draft}/review").text)})
    made = [dc.Release.from_json(visitor.get(one).text) for one in visitor.released()]
    assert [one.unit and one.unit.column for one in made] == ["person"] * 3


def test_an_unexpected_error_says_nothing_of_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    visitor = Visitor(tmp_path / "studio")
    visitor.begin()

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("CANARY")

    monkeypatch.setattr("discreet.studio.curator_routes.columns_of", broken)
    answer = visitor.post(f"/curate/{visitor.draft}/data", {"example": "1"})
    assert answer.status_code == 500
    assert "CANARY" not in answer.text
    assert "RuntimeError" in answer.text
    said = capfd.readouterr()
    assert "CANARY" not in said.out + said.err


def test_the_plan_follows_the_slider(tmp_path: Path) -> None:
    import time

    visitor = Visitor(tmp_path / "studio")
    visitor.begin()
    visitor.step("ask", QUESTIONS[0])
    url = f"/curate/{visitor.draft}/plan"
    for _ in range(1200):
        page = visitor.post(url, {"epsilon": "1"}, headers={"hx-request": "true"}).text
        if "<svg" in page:
            break
        time.sleep(0.05)
    widths = []
    for epsilon in ("0.02", "0.1", "1"):
        page = visitor.post(url, {"epsilon": epsilon}, headers={"hx-request": "true"}).text
        widths.append(float(re.findall(r"<td>± ([\d.]+)", page)[0]))
        assert "risk:" in page
    assert widths[0] > widths[1] >= widths[2] > 0
    wrong = visitor.post(url, {"epsilon": "-1"}, headers={"hx-request": "true"})
    assert wrong.status_code == 200
    assert 'role="alert"' in wrong.text
    assert os.listdir(tmp_path / "studio" / "drafts")

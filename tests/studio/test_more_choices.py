"""Gaussian noise, groups that nobody named, a public filter: each is one choice on a page, and the verbs' own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the studio's packages are not there: pip install 'discreet[studio]'")

import discreet as dc
from discreet.cli import run
from discreet.studio import recipes
from tests.studio.test_curator_way import declared
from tests.studio.visitor import ORIGIN, Visitor

QUESTIONS = [
    {"kind": "share", "column": "smoker", "noise": "gaussian"},
    {"kind": "share", "column": "smoker", "by": "sex", "private": "1"},
    {"kind": "average", "column": "age", "low": "18", "high": "100", "where": "sex = 'F'"},
]


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> tuple[Visitor, Path]:
    folder = tmp_path_factory.mktemp("choices")
    visitor = Visitor(folder / "studio")
    visitor.begin()
    for question in QUESTIONS:
        visitor.step("ask", question)
    return visitor, folder


def test_they_are_planned_promised_charged_and_printed(
    way: tuple[Visitor, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, folder = way
    monkeypatch.chdir(tmp_path)
    given = {"epsilon": "3", "delta": "1e-6", "ledger": str(folder / "budget.db"), "dataset": "clinic"}
    visitor.step("budget", given | {"new_epsilon": "9"})
    page = visitor.step("budget", given).text
    visitor.step("release", {"seal": visitor.seal(page)})
    made = [dc.Release.from_json(visitor.get(one).text) for one in visitor.released()]
    assert len(made) == 3
    assert [one.where for one in made] == [None, None, "sex = 'F'"]
    assert made[0].noise_record.name == "discrete_gaussian"
    assert made[1].group_selection is not None
    assert sum(one.guarantee.budgets().get("delta", 0) for one in made) <= dc.ApproxDP(1, "1e-6").delta
    ledger = dc.Ledger(f"sqlite:///{folder}/budget.db")
    kinds = [entry.kind for entry in ledger.entries()]
    assert kinds.count("charge") == kinds.count("released") == 3
    assert ledger.verify(against=made).problems == ()
    draft = visitor.studio.rooms["drafts"].load(visitor.draft)
    other = f"sqlite:///{tmp_path}/other.db"
    dc.Ledger.create(other).open("clinic", dc.ApproxDP(9, "1e-6"))
    for one, mine in zip(draft.questions, made, strict=True):
        words = [other if word == draft.ledger else word for word in recipes.command(draft, one)]
        assert run(words[1:]) == 0, words
        theirs = dc.Release.load(f"{one.name}.json")
        assert mine.guarantees == theirs.guarantees
        if not one.private:
            assert declared(mine) == declared(theirs)
    python = recipes.python_text(draft).replace(draft.ledger, other.replace("other", "third"))
    dc.Ledger.create(other.replace("other", "third")).open("clinic", dc.ApproxDP(9, "1e-6"))
    exec(compile(python, "printed", "exec"), {})


def test_the_review_has_the_statement_of_the_file(tmp_path: Path) -> None:
    visitor = Visitor(tmp_path / "studio")
    visitor.begin()
    for question in (QUESTIONS[0], QUESTIONS[2]):
        visitor.step("ask", question)
    page = visitor.get(f"/curate/{visitor.draft}/review").text
    said = [
        one.replace("&#39;", "'") for one in re.findall(r'<p lang="en">(This file describes[^<]+)</p>', page)
    ]
    visitor.step("release", {"seal": visitor.seal(page)})
    assert said == [dc.Release.from_json(visitor.get(one).text).statement() for one in visitor.released()]


def test_a_key_that_cannot_sign_is_refused_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    monkeypatch.chdir(tmp_path)
    visitor = Visitor(tmp_path / "studio")
    visitor.begin()
    visitor.step("ask", QUESTIONS[0])
    (tmp_path / "no.key").write_text("no key")
    (tmp_path / "no.key").chmod(0o600)
    for key in ("no.key", "nowhere.key"):
        answer = visitor.post(f"/curate/{visitor.draft}/review", {"key": str(tmp_path / key)})
        assert answer.status_code == 400


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_parquet_and_excel_files_are_uploaded_and_named(tmp_path: Path, ending: str) -> None:
    pd = pytest.importorskip("pandas")
    if ending == "xlsx":
        pytest.importorskip("openpyxl", reason="pip install 'discreet[studio]' brings it")
    path = tmp_path / f"rows.{ending}"
    frame = pd.DataFrame({"smoker": ["yes", "no"] * 50, "age": range(20, 120)})
    frame.to_parquet(path) if ending == "parquet" else frame.to_excel(path, index=False)
    visitor = Visitor(tmp_path / "studio")
    for way in ("named", "uploaded"):
        visitor.begin(str(path) if way == "named" else None, records=100)
        if way == "uploaded":
            headers = {"origin": ORIGIN, "x-csrf-token": visitor.csrf, "x-file-name": path.name}
            url = f"{visitor.base}/curate/{visitor.draft}/upload"
            assert visitor.client.post(url, content=path.read_bytes(), headers=headers).status_code == 200
        visitor.step("ask", {"kind": "share", "column": "smoker"})
        visitor.step("release", {"seal": visitor.seal(visitor.get(f"/curate/{visitor.draft}/review").text)})
        (made,) = [dc.Release.from_json(visitor.get(one).text) for one in visitor.released()]
        assert made.records == 100


def test_what_the_library_says_has_a_sentence_of_the_page_before_it(tmp_path: Path) -> None:
    visitor = Visitor(tmp_path / "studio")
    visitor.begin()
    visitor.post("/language", {"language": "de", "back": "/"})
    answer = visitor.post(
        f"/curate/{visitor.draft}/ask", {"kind": "share", "column": "smoker", "where": "x ="}
    )
    assert answer.status_code == 400
    assert "discreet meldet, auf Englisch:" in answer.text
    gone = visitor.get("/curate/0123456789abcdef/data")
    assert "Hier ist nichts" in gone.text
    assert "auf Englisch" not in gone.text

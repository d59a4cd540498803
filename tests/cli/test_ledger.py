"""The ledger from the command line."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run

URL = "sqlite:///budget.db"
DATA = "smoker,age\nyes,41\nno,55\n,38\nyes,61\n"
RELEASE = f"release data.csv -m bernoulli -c smoker --epsilon 0.5 --ledger {URL} --dataset clinic"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_LEDGER_KEY", raising=False)
    Path("data.csv").write_text(DATA)
    return tmp_path


@pytest.fixture(scope="module")
def charged_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger and the one release that it was charged for."""
    place = tmp_path_factory.mktemp("charged")
    with contextlib.chdir(place):
        Path("data.csv").write_text(DATA)
        assert run(f"ledger init {URL} --epsilon 1".split()) == 0
        assert run(f"{RELEASE} -o one.json".split()) == 0
    return place


@pytest.fixture
def made(folder: Path, charged_once: Path) -> None:
    """Put that ledger and its release into the test's own folder."""
    shutil.copytree(charged_once, folder, dirs_exist_ok=True)


def test_init_release_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"ledger init {URL} --epsilon 1 --delta 1e-6".split()) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "epsilon = 1 and delta = 1e-06" in printed
    assert run(f"{RELEASE} -o one.json".split()) == 0
    stamp = dc.Release.load("one.json").ledger
    assert stamp is not None
    assert (stamp.id, stamp.sequence) == (dc.Ledger(URL).id, 2)
    capsys.readouterr()
    assert run(["show", "one.json"]) == 0
    assert f"entry 2 of {stamp.id}" in capsys.readouterr().out
    assert run(f"ledger show {URL} --plot spent.png".split()) == 0
    printed = capsys.readouterr().out
    assert "50%" in printed
    assert "unreleased" not in printed
    assert Path("spent.png").read_bytes().startswith(b"\x89PNG")


def test_show_as_json(made: None, capsys: pytest.CaptureFixture[str]) -> None:
    dc.Ledger(URL).charge("clinic", dc.PureDP("0.3"))
    assert run(f"ledger show {URL} --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "discreet/ledger-show/1"
    (account,) = answer["accounts"]
    assert account["spent"] == {"epsilon": "4/5"}
    assert account["remaining"] == {"epsilon": "1/5"}
    assert [charge["released"] for charge in answer["charges"]] == [True, False]
    assert [charge["spent"] for charge in answer["charges"]] == [{"epsilon": "1/2"}, {"epsilon": "4/5"}]
    assert run(f"ledger show {URL}".split()) == 0
    assert "unreleased" in capsys.readouterr().out
    assert run(f"ledger show {URL} --dataset nobody".split()) == 2


def test_release_says_what_it_charged_and_what_remains(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"ledger init {URL} --dataset clinic --epsilon 1 --analyst-epsilon 0.6".split()) == 0
    capsys.readouterr()
    assert run(f"{RELEASE} --analyst ann -o one.json".split()) == 0
    printed = " ".join(capsys.readouterr().out.split())
    words = "Charged as entry 2 to the data set clinic; remaining: epsilon = 0.5; remaining for ann: epsilon = 0.1."
    assert words in printed
    assert f"charged to the ledger {dc.Ledger(URL).id}, as entry 2." in printed


def test_show_explains_what_does_not_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"ledger init {URL} --epsilon 1 --delta 1e-6".split()) == 0
    assert run(f"{RELEASE.replace('0.5', '0.2')} -o one.json".split()) == 0
    capsys.readouterr()
    assert run(f"ledger show {URL}".split()) == 0
    printed = capsys.readouterr().out
    assert "counts it double" not in printed
    assert run(f"{RELEASE.replace('0.5', '0.2')} --neighbors add_remove -o two.json".split()) == 0
    capsys.readouterr()
    assert run(f"ledger show {URL}".split()) == 0
    printed = capsys.readouterr().out
    assert "epsilon = 0.2 *" in printed
    assert "60%" in printed
    assert "counts it double" in " ".join(printed.split())
    assert "what the Rényi filter holds" in printed
    # amounts are never broken
    assert not re.search(r"= *$", printed, flags=re.MULTILINE)
    assert max(map(len, printed.splitlines())) <= 80
    assert run(f"ledger show {URL} --json".split()) == 0
    charges = json.loads(capsys.readouterr().out)["charges"]
    assert [charge["counts_as"] for charge in charges] == [None, "epsilon = 0.4"]


def test_a_refusal_is_exit_code_3_and_leaves_no_file(made: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{RELEASE.replace('0.5', '0.6')} -o two.json".split()) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    for words in ("spent epsilon = 0.5", "asked epsilon = 0.6", "remaining epsilon = 0.5"):
        assert words in printed.err
    assert not Path("two.json").exists()
    assert run(f"{RELEASE.replace('0.5', '0.6')} -o two.json --json".split()) == 3
    assert json.loads(capsys.readouterr().out)["code"] == 3
    # the exact rest still fits
    assert run(f"{RELEASE} -o two.json --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["ledger"]["sequence"] == 4


def test_analysts_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"ledger init {URL} --dataset clinic --epsilon 1 --analyst-epsilon 0.6".split()) == 0
    assert run(f"{RELEASE} -o one.json".split()) == 2
    assert run(f"{RELEASE} --analyst ann -o one.json".split()) == 0
    assert run(f"{RELEASE} --analyst ann -o two.json".split()) == 3
    assert "'ann'" in capsys.readouterr().err
    assert run(f"{RELEASE} --analyst bob -o two.json".split()) == 0
    # a slip in the name opens no new account
    assert run(f"{RELEASE.replace('clinic', 'clinik')} --analyst bob -o three.json".split()) == 2
    # opened again it is the same, and with another budget it is refused
    assert run(f"ledger init {URL} --dataset clinic --epsilon 1 --analyst-epsilon 0.6".split()) == 0
    assert run(f"ledger init {URL} --dataset clinic --epsilon 2".split()) == 2


def test_verify_with_and_without_an_anchor(made: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"ledger verify {URL}".split()) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Sound: 4 entries")
    assert "not checked:" in printed
    head = re.findall(r"Head: (\w{64})", printed)[0]
    assert run(f"ledger verify {URL} --against one.json --head {head} --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["passed"], answer["problems"], answer["unseen"]) == (True, [], [])
    with sqlite3.connect("budget.db") as connection:
        connection.execute(
            "UPDATE discreet_entries SET body = replace(body, '1/2', '1/9') WHERE sequence = 2"
        )
    connection.close()
    assert run(f"ledger verify {URL}".split()) == 4
    assert "problem: entry 2 was edited" in capsys.readouterr().out
    assert run(f"ledger verify {URL} --json".split()) == 4
    assert json.loads(capsys.readouterr().out)["passed"] is False


def test_export_is_one_entry_on_each_line(made: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"ledger export {URL} -o entries.jsonl".split()) == 0
    lines = [json.loads(line) for line in Path("entries.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["ledger", "open", "charge", "released"]
    assert [line["previous"] for line in lines[1:]] == [line["hash"] for line in lines[:-1]]
    capsys.readouterr()
    assert run(f"ledger export {URL}".split()) == 0
    assert capsys.readouterr().out == Path("entries.jsonl").read_text()
    assert run(f"ledger export {URL} --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["schema"], answer["entries"], answer["content"]) == ("discreet/ledger-export/1", 4, lines)
    assert run(f"ledger export {URL} -o entries.jsonl".split()) == 2


CASES = [
    ("ledger init sqlite:///x.db", 2, "give a budget"),
    ("ledger init sqlite:///x.db --delta 1e-6", 2, "--epsilon"),
    ("ledger init sqlite:///x.db --rho 1 --epsilon 1", 2, "--rho"),
    ("ledger init sqlite:///x.db --epsilon=-1", 2, "epsilon"),
    ("ledger init sqlite:///x.db --epsilon nan", 2, "epsilon"),
    ("ledger init sqlite:///x.db --epsilon 1 --analyst-epsilon 1", 2, "--dataset"),
    ("ledger init sqlite:///nowhere/x.db --epsilon 1", 1, "nowhere"),
    ("ledger init x.db --epsilon 1", 2, "URL"),
    ("ledger init mysql://host/x --epsilon 1", 2, "mysql"),
    ("ledger init sqlite://x.db --epsilon 1", 2, "three slashes"),
    (f"ledger show {URL}?mode=ro", 2, "takes no options"),
    ("ledger init sqlite+aiosqlite:///x.db --epsilon 1", 2, "driver"),
    ("ledger init sqlite:///file:m.db%3Fmode=memory --epsilon 1", 2, "without ?"),
    ("ledger show sqlite:///x.db", 1, "no ledger"),
    ("ledger verify sqlite:///x.db", 1, "no ledger"),
    ("ledger export sqlite:///x.db", 1, "no ledger"),
    ("ledger verify sqlite:///data.csv", 4, "not a database"),
    (f"ledger show {URL} --plot data.csv", 2, "--plot"),
    (f"ledger verify {URL} --against absent.json", 1, "absent.json"),
    (f"ledger verify {URL} --against data.csv", 4, "data.csv"),
    (f"{RELEASE} -o out.json".replace(" --dataset clinic", ""), 2, "--dataset"),
    (f"{RELEASE} -o out.json".replace("budget", "absent"), 1, "no ledger"),
    (f"{RELEASE} -o out.json --mechanism gaussian --delta 1e-9", 2, "pure budget takes no approximate"),
    ("release data.csv -m bernoulli -c smoker --epsilon 1 -o out.json --analyst ann", 2, "analyst"),
    ("ledger frobnicate", 2, "frobnicate"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "code", "clue"), CASES)
def test_one_line_the_right_code_and_nothing_written(
    made: None, folder: Path, capsys: pytest.CaptureFixture[str], command: str, code: int, clue: str
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run(command.split()) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert lines[0].startswith("error: ")
    assert clue.lower() in lines[0].lower()
    assert len(lines) <= 2
    assert not re.search(r"\bdc\.|----|None", printed.err)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_damaged_ledger_is_not_taken_for_none(made: None, capsys: pytest.CaptureFixture[str]) -> None:
    connection = sqlite3.connect("budget.db")
    connection.execute("DROP TABLE discreet_accounts")
    connection.close()
    for verb in ("verify", "show", "export", "init --epsilon 1"):
        name, *options = verb.split()
        assert run(["ledger", name, URL, *options]) == 4
        assert "is damaged" in capsys.readouterr().err


def test_help_of_the_group_and_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ([], ["init"], ["show"], ["verify"], ["export"]):
        assert run(["ledger", *verb, "--help"]) == 0
        assert "bool" not in capsys.readouterr().out

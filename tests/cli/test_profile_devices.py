"""Numbers by declared bins, and one person's reports over time, from the command line."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.cli import run
from discreet.profiles import FittedMechanism, ProfileGraph

BINS = "--bins 0,10,20,50"
PUBLIC = "user,minutes\n" + "early,4\nearly,9.5\nearly,15\nlate,12\nlate,30\nlate,70\n" * 10
ESTIMATE = f"profiles estimate public.csv --value minutes --profile user {BINS} -o graph.json"
FIT = "profiles fit graph.json --epsilon 0.5 -o mech.json"
DEVICE = f"profiles device mech.json --profile early --epsilon 1 {BINS} -o device.json"
REPORT = "profiles report mech.json device.json"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the commands make one after the other."""
    folder = tmp_path_factory.mktemp("device")
    with contextlib.chdir(folder):
        Path("public.csv").write_text(PUBLIC)
        for command in (ESTIMATE, FIT, DEVICE):
            assert run(command.split()) == 0
    return folder


@pytest.fixture(autouse=True)
def made(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def test_a_graph_is_estimated_from_numbers_and_from_categories(capsys: pytest.CaptureFixture[str]) -> None:
    graph = ProfileGraph.load("graph.json")
    assert graph.categories == ("0 to 10", "10 to 20", "20 to 50")
    assert graph.distributions[0] == (Fraction(21, 33), Fraction(11, 33), Fraction(1, 33))
    Path("words.csv").write_text("profile,value\na,x\na,y\nb,y\n")
    assert run("profiles estimate words.csv --edges chain --smoothing 0 -o words.json --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["categories"] == ["x", "y"]
    assert ProfileGraph.load("words.json").distributions[1] == (0, 1)


def test_a_file_of_numbers_is_reported_by_bins(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [*PUBLIC.splitlines()[:7], "early,no number", "nobody,3", '"late,3', ",", "late,nan", "late,inf"]
    Path("seen.csv").write_text("\n".join(lines) + "\n")
    command = f"profiles privatize mech.json seen.csv --value minutes --profile user {BINS} -o reports.csv"
    assert run(command.split()) == 0
    assert capsys.readouterr().err == ""
    reports = Path("reports.csv").read_text().splitlines()
    assert len(reports) == 13
    assert set(reports[1:]) <= set(ProfileGraph.load("graph.json").categories)


def test_numbers_reach_the_bin_they_lie_in(capsys: pytest.CaptureFixture[str]) -> None:
    # the control of the test before: a mechanism that perturbs nothing says where a number went
    assert run("profiles fit graph.json --epsilon 60 -o open.json".split()) == 0
    assert FittedMechanism.load("open.json").largest_corruption == 0
    command = f"profiles privatize open.json public.csv --value minutes --profile user {BINS} -o reports.csv"
    assert run(command.split()) == 0
    assert Path("reports.csv").read_text().splitlines()[1:7] == [
        "0 to 10", "0 to 10", "10 to 20", "10 to 20", "20 to 50", "20 to 50",
    ]  # fmt: skip


def test_reports_over_time_keep_to_the_budget(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run([*REPORT.split(), "--key", "monday", "--value", "7.5"]) == 0
    first, rest = capsys.readouterr().out.split("\n", 1)
    assert rest == "Spent: epsilon = 0.5 of 1, 1 new report left.\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("40\n"))
    assert run([*REPORT.split(), "--key", "monday", "--value", "-", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == {
        "schema": "discreet/profiles-report/1", "report": first, "spent": "1/2", "budget": "1", "left": 1,
    }  # fmt: skip
    assert run([*REPORT.split(), "--key", "tuesday", "--value", "-3"]) == 0
    capsys.readouterr()
    assert run([*REPORT.split(), "--key", "wednesday", "--value", "3"]) == 3
    refused = capsys.readouterr()
    assert refused.out == ""
    assert refused.err.splitlines() == [
        "error: another report would bring the loss to 1.5, and the budget is 1.",
        "hint: send an earlier report again, which is free",
    ]
    assert "wednesday" not in Path("device.json").read_text()


def test_what_is_spent_cannot_be_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("device.json").read_text()
    for command in (
        DEVICE,
        FIT.replace("mech.json", "device.json") + " --force",
        ESTIMATE.replace("graph.json", "device.json") + " --force",
        "profiles privatize mech.json public.csv --value minutes --profile user -o device.json --force",
    ):
        assert run(command.split()) == 2
        assert "what is spent would be forgotten" in capsys.readouterr().err
    assert Path("device.json").read_text() == before


def test_the_statement_is_about_all_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(DEVICE.replace("device.json", "other.json").split()) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "all reports of this device together are at most e^1 times as likely" in printed
    assert "So far: 0 reports, epsilon = 0." in printed
    assert "that observations stay hidden" in printed


def test_categories_without_bins(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bits.json").write_text('{"profiles": {"a": 0.2, "b": 0.6}, "edges": "chain"}')
    for command in (
        "profiles fit bits.json --epsilon 0 -o bits-mech.json",
        "profiles device bits-mech.json --profile a --epsilon 0 -o bits-device.json",
        "profiles report bits-mech.json bits-device.json --key now --value 1",
    ):
        assert run(command.split()) == 0
    assert "Reports of this mechanism cost nothing." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (f"{REPORT} --key monday --value secret", 2, "the observation is none of the categories"),
        (f"{REPORT} --key monday --value nan", 2, "the observation is none of the categories"),
        (f"{REPORT} --key= --value 3", 2, "key must be a text"),
        (f"{REPORT} --value 3", 2, "--key"),
        ("profiles report mech.json absent.json --key monday --value 3", 1, "discreet profiles device"),
        ("profiles report mech.json public.csv --key monday --value 3", 4, "damaged or incomplete"),
        ("profiles report mech.json graph.json --key monday --value 3", 4, "not the file of a device"),
        ("profiles report graph.json device.json --key monday --value 3", 4, "not a mechanism file"),
        ("profiles device mech.json --profile secret --epsilon 1 -o x.json", 2, "none of the graph's 2"),
        ("profiles device mech.json --profile late --epsilon=-1 -o x.json", 2, "epsilon must be 0 or more"),
        ("profiles device mech.json --profile late --epsilon 0.1 -o x.json", 2, "one report costs 0.5"),
        (
            "profiles device mech.json --profile late --epsilon 1 --bins 0,1,2 -o x.json",
            2,
            "not the categories",
        ),
        (
            "profiles device mech.json --profile late --epsilon 1 --bins 0,,2 -o x.json",
            2,
            "an edge must be a finite",
        ),
        ("profiles device mech.json --profile late --epsilon 1 -o no/x.json", 1, "create the folder first"),
        (ESTIMATE.replace("0,10", "10,0").replace("graph", "x"), 2, "numbers that rise"),
        (ESTIMATE.replace("minutes", "hours").replace("graph", "x"), 2, "--value says what"),
        (ESTIMATE.replace("user", "who").replace("graph", "x"), 2, "--profile says what"),
        (ESTIMATE.replace("public", "gaps").replace("graph", "x"), 2, "hint: leave it out"),
        (ESTIMATE.replace("public", "absent").replace("graph", "x"), 1, "cannot read absent.csv"),
        (ESTIMATE.replace("graph", "x") + " --smoothing=-1", 2, "smoothing"),
        (
            "profiles privatize mech.json public.csv --value minutes --profile user --bins 1,2,3 -o x.csv",
            2,
            "not the cat",
        ),
    ],
)
def test_errors_are_one_line_and_repeat_no_value(
    command: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("gaps.csv").write_text("user,minutes\nearly,4\nlate,secret\n")
    before = Path("device.json").read_text()
    assert run(command.split()) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("error:") == 1
    assert "secret" not in printed.err
    assert not Path("x.json").exists()
    assert not Path("x.csv").exists()
    assert Path("device.json").read_text() == before

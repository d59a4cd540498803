"""Profile-based privacy from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreet.cli import run
from discreet.profiles import FittedMechanism

GRAPH = {
    "categories": ["idle", "light", "busy", "night"],
    "profiles": {"ana": [0.2, 0.3, 0.4, 0.1], "ben": [0.3, 0.3, 0.3, 0.1], "eva": [0.4, 0.4, 0.1, 0.1]},
    "edges": "chain",
}
FIT = "profiles fit graph.json --epsilon 0.2 -o mech.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("graph.json").write_text(json.dumps(GRAPH))
    Path("bits.json").write_text('{"profiles": {"a": 0.2, "b": 0.6}, "edges": "chain"}')
    Path("seen.csv").write_text("user,usage\n" + "ana,busy\nben,idle\neva,night\n" * 20)
    return tmp_path


@pytest.fixture
def made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FIT.split()) == 0
    capsys.readouterr()


def test_fit_writes_a_mechanism_and_states_the_promise(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FIT.split()) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "epsilon = 0.2" in printed
    assert "anything if one observation is reported twice" in printed
    assert FittedMechanism.load("mech.json").method == "smooth_categorical"
    assert run(FIT.split()) == 2
    assert "exists already" in capsys.readouterr().err
    assert run([*FIT.split(), "--force", "--objective", "expected", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "discreet/profiles-fit/1"
    assert answer["settings"] == {"objective": "expected"}
    assert answer["achieved"] <= 0.2


def test_every_mechanism_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for name in (
        "auto",
        "one_bit_pair",
        "one_bit_cluster",
        "smooth_one_bit",
        "smooth_categorical",
        "randomized_response",
        "k_randomized_response",
    ):
        assert run(f"profiles fit bits.json --epsilon 1/2 -o {name}.json --mechanism {name}".split()) == 0
        method = FittedMechanism.load(f"{name}.json").method
        assert method == ("smooth_one_bit" if name == "auto" else name)
    assert (
        run(
            "profiles fit bits.json --epsilon 1 -o x.json --mechanism one_bit_pair --objective expected".split()
        )
        == 2
    )


def test_an_audit_names_the_worst_edge(made: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("profiles audit mech.json".split()) == 0
    printed = capsys.readouterr().out
    assert "0.200000" in printed
    assert "Exactly checked: honored" in printed
    other = {**GRAPH, "edges": "complete"}
    Path("other.json").write_text(json.dumps(other))
    assert run("profiles audit mech.json --graph other.json --json".split()) == 4
    answer = json.loads(capsys.readouterr().out)
    assert answer["honored"] is False
    assert answer["epsilon"] == "1/5"
    assert {answer["edges"][0]["likelier"], answer["edges"][0]["other"]} == {"ana", "eva"}
    assert run("profiles audit mech.json --graph bits.json".split()) == 2


def test_a_graph_without_edges_has_nothing_to_audit(capsys: pytest.CaptureFixture[str]) -> None:
    Path("alone.json").write_text('{"profiles": {"a": 0.2, "b": 0.6}, "edges": []}')
    assert run("profiles fit alone.json --epsilon 1 -o mech.json".split()) == 0
    assert "2 profiles have no edge" in " ".join(capsys.readouterr().out.split())
    assert run("profiles audit mech.json".split()) == 0
    assert "no edges" in capsys.readouterr().out


def test_reports_go_out_without_profiles(made: None, capsys: pytest.CaptureFixture[str]) -> None:
    command = "profiles privatize mech.json seen.csv --value usage --profile user -o reports.csv"
    assert run(command.split()) == 0
    assert "60 reports" in capsys.readouterr().out
    lines = Path("reports.csv").read_text().splitlines()
    assert lines[0] == "usage"
    assert len(lines) == 61
    assert set(lines[1:]) <= set(GRAPH["categories"])
    assert run([*command.split(), "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "discreet/profiles-privatize/1",
        "reports": 60,
        "file": "reports.csv",
    }


@pytest.mark.parametrize(
    "line",
    [
        'ana,"busy',
        '"ana,busy',
        'a"na,busy',
        "ana,hidden-usage",
        "hidden-person,busy",
        "ana",
        ",,,",
        "\x00\r,\xff",
    ],
)
def test_a_line_is_one_observation_whatever_is_in_it(
    line: str, made: None, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["user,usage", *["ana,busy", "ben,idle", "eva,night"] * 20]
    lines[4] = line
    Path("seen.csv").write_text("\n".join(lines) + "\n", encoding="latin-1")
    command = "profiles privatize mech.json seen.csv --value usage --profile user -o reports.csv"
    assert run(command.split()) == 0
    printed = capsys.readouterr()
    assert printed.out == "Wrote reports.csv: 60 reports.\n"
    assert printed.err == ""
    reports = Path("reports.csv").read_text().splitlines()
    assert len(reports) == 61
    assert set(reports[1:]) <= set(GRAPH["categories"])


def test_reports_are_read_back(made: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("reports.csv").write_text("usage\n" + "busy\n" * 500 + "idle\n" * 200 + "light\n" * 300)
    assert run("profiles infer mech.json reports.csv --seed 1 --json --plot mix.png".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["reports"] == 1000
    mix = {row["name"]: row["mean"] for row in answer["parameters"]}
    assert mix["mix[ana]"] > mix["mix[eva]"]
    assert Path("mix.png").read_bytes().startswith(b"\x89PNG")
    assert run("profiles infer mech.json reports.csv --seed 1 --prior dirichlet:1,2,3".split()) == 0
    assert "1,000 reports" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("kind", ["spread", "costs", "flips"])
def test_pictures_are_drawn(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.profiles import plots

    for name in ("plot_spread", "plot_costs"):
        drawn = getattr(plots, name)
        monkeypatch.setattr(plots, name, lambda *a, drawn=drawn, **k: drawn(*a, epsilons=(0.1, 1), **k))
    assert run(f"profiles plot bits.json --kind {kind} -o picture.png".split()) == 0
    assert Path("picture.png").stat().st_size > 10_000
    assert run(f"profiles plot bits.json --kind {kind} -o picture.png --json".split()) == 0
    assert json.loads(capsys.readouterr().out.partition("\n")[2])["kind"] == kind


def test_a_mechanism_file_can_be_drawn_too(made: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("profiles plot mech.json --category busy -o picture.svg".split()) == 0
    assert run("profiles plot mech.json --category lazy -o picture.svg".split()) == 2
    assert "no category" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("profiles fit graph.json --epsilon=-1 -o x.json", 2, "epsilon must be 0 or more"),
        ("profiles fit graph.json --epsilon nan -o x.json", 2, "epsilon must be a finite number"),
        ("profiles fit absent.json --epsilon 1 -o x.json", 1, "cannot read absent.json"),
        ("profiles fit graph.json --epsilon 1 -o graph.json --force", 2, "input file"),
        ("profiles fit graph.json --epsilon 1 -o x.json --mechanism smooth_one_bit", 2, "two categories"),
        (
            "profiles fit graph.json --epsilon 1 -o x.json --mechanism smooth_one_bit",
            2,
            "hint: --mechanism smooth_categorical",
        ),
        ("profiles fit loose.json --epsilon 1 -o x.json", 2, '"complete" means all'),
        ("profiles fit list.json --epsilon 1 -o x.json", 2, "profiles fit --help shows"),
        (
            "profiles plot graph.json --kind flips -o x.png",
            2,
            "hint: --kind spread and --kind costs take any number",
        ),
        ("profiles infer mech.json empty.csv", 2, "the file is empty"),
        ("profiles privatize mech.json empty.csv -o r.csv", 1, "does not start with a header line"),
        ("profiles privatize mech.json seen.csv -o r.csv", 2, "hint: the columns are user, usage"),
        ("profiles privatize mech.json seen.csv --value user --profile user -o r.csv", 2, "two columns"),
        ("profiles privatize mech.json who.csv -o r.csv", 2, "does not look like a header"),
        ("profiles audit graph.json", 4, "error: graph.json: this is not a mechanism file"),
        ("profiles audit seen.csv", 4, "damaged or incomplete"),
        ("profiles privatize mech.json seen.csv -o r.csv", 2, "no column 'value'"),
        ("profiles privatize mech.json absent.csv -o r.csv", 1, "absent.csv does not exist"),
        ("profiles infer mech.json absent.csv", 1, "cannot read absent.csv"),
        ("profiles infer mech.json open.csv", 2, "a report is none"),
        ("profiles infer mech.json seen.csv", 2, "several columns"),
        ("profiles infer mech.json seen.csv --value user", 2, "a report is none"),
        ("profiles plot graph.json -o picture.txt", 2, "must end in"),
        ("profiles plot graph.json --kind flips -o x.png", 2, "two categories"),
    ],
)
def test_errors_are_one_line_and_repeat_no_value(
    command: str, code: int, message: str, made: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty.csv").write_text("")
    Path("loose.json").write_text('{"profiles": {"a": 0.2, "b": 0.6}}')
    Path("list.json").write_text("[]")
    Path("who.csv").write_text("ana,hidden-usage\nhidden-person,busy\n")
    Path("open.csv").write_text('usage\nbusy\n"busy\nidle\n')
    assert run(command.split()) == code
    printed = capsys.readouterr().err
    assert message in printed
    assert "hidden" not in printed
    assert printed.count("error:") == 1
    assert not Path("r.csv").exists()


def test_a_tampered_mechanism_is_not_used(made: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mech.json").write_text(Path("mech.json").read_text().replace('"1/5"', '"1/9"'))
    assert run("profiles privatize mech.json seen.csv --value usage --profile user -o r.csv".split()) == 4
    assert "checksum" in capsys.readouterr().err


def test_numeric_categories_are_read_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("profiles fit bits.json --epsilon 1 -o bits-mech.json".split()) == 0
    Path("bits.csv").write_text("profile,value\na,0\nb,1\n")
    assert run("profiles privatize bits-mech.json bits.csv -o r.csv".split()) == 0
    reports = Path("r.csv").read_text().splitlines()[1:]
    assert set(reports) <= {"0", "1"}
    assert np.isin(len(reports), [2])

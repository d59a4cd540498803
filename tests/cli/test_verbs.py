"""The commands as a curator and an analyst use them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import pytest

import discreet as dc
from discreet.cli import run
from discreet.cli.options import EngineName
from discreet.inference.engines.registry import EngineName as Engine

ROWS = "smoker,age,answer\nyes,41,a\nno,55,b\n,38,a\nyes,61,c\nmaybe,300,\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(ROWS)
    return tmp_path


@pytest.fixture
def smoking(folder: Path) -> Path:
    path = folder / "smoking.json"
    dc.release("data.csv", dc.Bernoulli(), column="smoker", epsilon=1).save(path)
    return path


def test_release_writes_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    command = (
        "release data.csv --model normal --column age --bounds=-3,100 --outside clip --missing none "
        "--neighbors replace --mechanism gaussian --epsilon 0.1 --delta 1e-6 --dataset toy -o out.json"
    )
    assert run(command.split()) == 0
    made = dc.Release.load("out.json")
    assert made.guarantee == dc.ApproxDP("0.1", "1e-6")
    assert made.domain.bounds == ((Fraction(-3), Fraction(100)),)
    assert (made.domain.outside, made.domain.missing, made.neighbors) == ("clip", "none", "replace")
    assert (made.dataset, made.columns, made.family, made.records) == ("toy", ("age",), dc.Normal(), 5)
    printed = capsys.readouterr()
    assert "out.json" in printed.out
    assert " ".join(printed.out.split()).endswith(made.statement())
    # of five records noise leaves nothing, and the curator reads so
    assert "warning: noise on the sum is " in printed.err
    assert all(line.startswith("warning: ") for line in printed.err.splitlines())


def test_budgets_and_bounds_are_exact() -> None:
    assert run("release data.csv -m poisson -c age --bounds=0,120 --epsilon 0.1 -o out.json".split()) == 0
    assert dc.Release.load("out.json").guarantee == dc.PureDP(Fraction(1, 10))


def test_release_of_labels_and_of_several_columns() -> None:
    labels = "release data.csv -m categorical:labels=a|b|c,d -c answer --epsilon 1 -o labels.json"
    assert run(labels.split()) == 0
    assert dc.Release.load("labels.json").domain.labels == ("a", "b", "c,d")
    several = (
        "release data.csv -m multivariate_normal:dim=2 -c age -c smoker --bounds=0,120 --bounds=0,1 --rho 1"
    )
    assert run([*several.split(), "--mechanism", "gaussian", "-o", "several.json"]) == 0
    assert dc.Release.load("several.json").columns == ("age", "smoker")


def test_release_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("release data.csv -m bernoulli -c smoker --epsilon 1 -o out.json --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    made = dc.Release.load("out.json")
    assert answer["schema"] == "discreet/release/1"
    assert (answer["file"], answer["id"], answer["statement"]) == ("out.json", made.id, made.statement())
    assert answer["guarantee"] == {"kind": "pure", "epsilon": "1", "neighbors": "replace"}


def test_force_replaces_a_release(smoking: Path) -> None:
    old = smoking.read_text()
    command = "release data.csv -m bernoulli -c smoker --epsilon 2 -o smoking.json"
    assert run(command.split()) == 2
    assert smoking.read_text() == old
    assert run([*command.split(), "--force"]) == 0
    assert dc.Release.load(smoking).guarantee == dc.PureDP(2)


def test_show_prints_the_statement_and_the_totals(smoking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "smoking.json"]) == 0
    printed = capsys.readouterr().out
    release = dc.Release.load(smoking)
    assert release.statement() in " ".join(printed.split())
    for name, value in zip(release.totals.names, release.totals.values, strict=True):
        assert any(line.split()[:2] == [name, f"{value:,}"] for line in printed.splitlines())


@pytest.mark.parametrize("missing", ["count", "none"])
def test_show_says_how_many_said_yes(missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    answers = ["yes"] * 300 + ["no"] * 900
    # so little noise that the counts are exact: at scale 1/15 it is not 0 with probability 2 e^-15
    made = dc.release({"x": answers}, dc.Bernoulli(), column="x", epsilon=30, missing=missing)  # pyright: ignore[reportArgumentType, reportCallIssue]
    made.save("yes.json")
    assert run(["show", "yes.json"]) == 0
    assert "In counts: 300 yes and 900 no." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (dc.Normal(), {}, ("z is a value mapped", "z2 is the square of z", "usable is the number")),
        (dc.Normal(), {"missing": "none"}, ("z is a value mapped", "z2 is the square of z")),
        (dc.Normal(), {"neighbors": "add_remove"}, ("low, middle and high", "(1 - z)²/4")),
        (dc.Poisson(), {"neighbors": "add_remove"}, ("spread over low and high", "(1 - z)/2")),
    ],
)
def test_show_explains_the_names_of_totals(
    model: Any, options: Any, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    dc.release("data.csv", model, column="age", bounds=(0, 90), epsilon=1, **options).save("age.json")
    assert run(["show", "age.json"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert all(part in printed for part in words)
    assert ("usable is the number" in printed) is (not options)


def test_show_leaves_labels_alone(capsys: pytest.CaptureFixture[str]) -> None:
    made = dc.release(
        {"x": ["low", "usable"]}, dc.Categorical(["low", "usable"]), column="x", epsilon=1, missing="none"
    )
    made.save("labels.json")
    assert run(["show", "labels.json"]) == 0
    printed = capsys.readouterr().out
    assert "spread over" not in printed
    assert "usable is the number" not in printed


def test_infer_says_why_auto_took_an_engine(smoking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("infer smoking.json".split()) == 0
    assert "\nchosen because exact is the most exact engine that applies\n" in capsys.readouterr().out
    assert run("infer smoking.json --engine exact".split()) == 0
    assert "chosen because" not in capsys.readouterr().out


def test_lines_end_without_blanks_and_keep_budgets_together(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = dc.release("data.csv", dc.Bernoulli(), column="smoker", mechanism="gaussian", rho=0.01)
    made.save("rho.json")
    for width in range(40, 120, 7):
        monkeypatch.setenv("COLUMNS", str(width))
        assert run(["show", "rho.json"]) == 0
        printed = capsys.readouterr().out
        assert printed.count("rho = 0.01") == 2
        assert all(line == line.rstrip() for line in printed.splitlines())


def test_a_promise_that_says_nothing_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    for epsilon, note in (("10", ""), ("50", "note: epsilon = 50 protects nobody in practice.\n")):
        command = f"release data.csv -m bernoulli -c smoker --epsilon {epsilon} -o e{epsilon}.json"
        assert run(command.split()) == 0
        assert capsys.readouterr().err == note


def test_show_as_json_is_the_file(smoking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "smoking.json", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "discreet/show/1"
    assert answer["release"] == json.loads(smoking.read_text())


def test_show_defuses_terminal_codes_in_labels(capsys: pytest.CaptureFixture[str]) -> None:
    labels = ["a\x1b[2Jb", "x\x07"]
    dc.release(labels, dc.Categorical(labels), epsilon=1).save("odd.json")
    assert run(["show", "odd.json"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\x07" not in printed


def test_infer_prints_the_librarys_own_numbers(smoking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("infer smoking.json --prior beta:2,3 --seed 5 --prob 0.8 --draws 400 --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    posterior = dc.infer(smoking, prior=dc.priors.Beta(2, 3), rng=5, draws=400)
    assert answer["schema"] == "discreet/infer/1"
    assert answer["release"] == dc.Release.load(smoking).id
    (row,) = answer["parameters"]
    assert (row["low"], row["high"]) == posterior.interval(0.8)["p"]
    assert row["mean"] == posterior.mean()["p"]
    assert (answer["engine"], answer["approximation"], answer["prob"]) == ("exact", "none", 0.8)
    assert (answer["columns"], answer["dataset"], answer["prior"]) == (["smoker"], None, "beta:2,3")
    assert (answer["guarantee"], answer["n_draws"]) == (
        {"kind": "pure", "epsilon": "1", "neighbors": "replace"},
        400,
    )
    assert answer["files"] == []


def test_infer_names_the_neutral_prior_and_its_files(
    smoking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("infer smoking.json -o draws.nc --plot picture.svg --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["prior"], answer["files"]) == ("beta:1,1", ["draws.nc", "picture.svg"])
    assert all(Path(file).is_file() for file in answer["files"])


def test_infer_with_the_same_seed_prints_the_same(smoking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in (1, 1, 2):
        assert run(f"infer smoking.json --seed {seed}".split()) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]


def test_infer_saves_draws_and_picture(smoking: Path) -> None:
    import xarray

    assert run("infer smoking.json --seed 0 -o draws.nc --plot picture.png".split()) == 0
    with xarray.open_datatree("draws.nc", engine="h5netcdf") as tree:
        assert dict(tree["posterior"].sizes) == {"chain": 4, "draw": 1000}
    assert Path("picture.png").read_bytes().startswith(b"\x89PNG")


def test_infer_takes_a_prior_on_a_private_count(capsys: pytest.CaptureFixture[str]) -> None:
    dc.release("data.csv", dc.Bernoulli(), column="smoker", epsilon=1, neighbors="add_remove").save(
        "private.json"
    )
    assert run("infer private.json --records=0,50 --seed 0 --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    posterior = dc.infer("private.json", records=(0, 50), rng=0)
    assert answer["parameters"][0]["mean"] == posterior.mean()["p"]


def test_naive_warns_and_auto_never_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("release data.csv -m poisson -c age --bounds=0,120 --epsilon 1 -o counts.json".split()) == 0
    capsys.readouterr()
    assert run("infer counts.json --prior gamma:1,0.1".split()) == 0
    assert "over-confident" not in capsys.readouterr().out
    assert run("infer counts.json --prior gamma:1,0.1 --engine naive".split()) == 0
    assert "over-confident" in capsys.readouterr().out


def test_the_default_prior_is_weak_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("release data.csv -m normal -c age --bounds=0,120 --epsilon 1 -o age.json".split()) == 0
    for asked in ("", " --prior weak"):
        capsys.readouterr()
        assert run(f"infer age.json --engine naive{asked}".split()) == 0
        assert "prior: normal_inverse_gamma:60,0.25,2,900 (weak, the default)" in capsys.readouterr().out


def test_check_counts_what_each_policy_touches(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check data.csv -m normal -c age --bounds=40,100 --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "discreet/check/1"
    assert answer["private"] is True
    assert answer["notice"] == "private, not for publication"
    counts = [answer[key] for key in ("records", "usable", "missing", "inside", "below", "above")]
    assert counts == [5, 5, 0, 3, 1, 1]
    assert run("check data.csv -m bernoulli -c smoker".split()) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("PRIVATE, NOT FOR PUBLICATION")
    lines = [line.split() for line in printed.splitlines()]
    assert ["usable", "3", "60.0%"] in lines
    assert ["missing", "2", "40.0%"] in lines


def test_check_warns_of_line_breaks_inside_fields(capsys: pytest.CaptureFixture[str]) -> None:
    Path("notes.csv").write_text('smoker,note\nyes,"two\nlines"\n' + "no,one\n" * 4)
    command = "check notes.csv -m bernoulli -c smoker".split()
    assert run(command) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "warning: lines with a quotation mark that is not closed: 2. One line is one record" in printed
    assert run([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["records"], answer["malformed"], answer["unclosed"]) == (6, 2, 2)
    assert len(answer["warnings"]) == 1
    assert run("check data.csv -m bernoulli -c smoker".split()) == 0
    assert "warning" not in capsys.readouterr().out
    assert run("check data.csv -m bernoulli -c smoker --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []


@pytest.mark.parametrize(
    ("values", "model", "words"),
    [
        ("left right left", "bernoulli", 'none of the records are usable. .* "bernoulli:yes=F,no=M"'),
        ("yes left left", "bernoulli", "fewer than half of the records are usable"),
        ("F M F", "bernoulli", "over a quarter of the records hold something that the model does not read"),
        ("A B c", "categorical:labels=a|b|c", "fewer than half .* upper and lower case too"),
        ("1_0 1_1 12", "poisson --bounds=0,99", "fewer than half .* decimal point"),
        ("yes no yes no no", "bernoulli", None),
    ],
)
def test_check_warns_of_values_that_nothing_reads(
    capsys: pytest.CaptureFixture[str], values: str, model: str, words: str | None
) -> None:
    Path("x.csv").write_text("x\n" + "\n".join(values.split()) + "\n")
    code = run(f"check x.csv -c x -m {model} --json".split())
    answer = json.loads(capsys.readouterr().out)
    assert code == 0
    assert len(answer["warnings"]) == (words is not None)
    if words is not None:
        assert re.search(words.replace("|", r"\|"), answer["warnings"][0])


def test_check_of_an_empty_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.csv").write_text("smoker,age\n")
    assert run("check empty.csv -m bernoulli -c smoker".split()) == 0
    assert "all" in capsys.readouterr().out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"discreet {dc.__version__}\n"
    assert run([]) == 0
    assert "release" in capsys.readouterr().out
    for verb in ("release", "infer"):
        assert run([verb, "--help"]) == 0
        assert "bool" not in capsys.readouterr().out


def test_the_installed_program_exits_with_the_code(smoking: Path) -> None:
    def program(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "discreet.cli", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ})

    done = program("show", "smoking.json")
    assert (done.returncode, done.stderr) == (0, "")
    smoking.write_text(smoking.read_text().replace("bernoulli", "geometric"))
    done = program("show", "smoking.json")
    assert done.returncode == 4
    assert done.stderr.startswith("error: smoking.json")
    assert "Traceback" not in done.stderr


def test_the_command_line_names_every_engine() -> None:
    assert set(get_args(EngineName)) == set(get_args(Engine))

"""Bad input: one clear line, the right exit code, nothing written."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.cli import run

ROWS = "smoker,age,answer\nyes,41,a\nno,55,b\n,38,a\nyes,61,c\n"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Input files of every kind, good and bad."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "data.csv").write_text(ROWS)
    (folder / "empty.csv").write_text("smoker,age,answer\n")
    table = pa.table({"age": ["forty", "fifty"], "day": pa.array([1, 2], pa.date32())})
    pq.write_table(table, folder / "text.parquet")
    dc.release(folder / "data.csv", dc.Bernoulli(), column="smoker", epsilon=1).save(folder / "good.json")
    good = (folder / "good.json").read_text()
    (folder / "truncated.json").write_text(good[: len(good) // 2])
    (folder / "edited.json").write_text(good.replace('"records": 4', '"records": 5'))
    (folder / "newer.json").write_text(good.replace('"version": 1', '"version": 99'))
    assert (folder / "edited.json").read_text() != good != (folder / "newer.json").read_text()
    (folder / "other.json").write_text('{"format": "something else"}')
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00\x01")
    (folder / "file").write_text("a file, not a folder")
    (folder / "release.nc").write_text(good)
    (folder / "link.nc").symlink_to("good.json")
    (folder / "link.csv").symlink_to("data.csv")
    (folder / "taken").mkdir()
    (folder / "taken" / "smoker.json").write_text(good)
    model = dc.Categorical(["a", "b", "c"])
    dc.release(folder / "data.csv", model, column="answer", epsilon=1).save(folder / "answers.json")
    dc.release(folder / "data.csv", dc.Normal(), column="age", bounds=(0, 99), epsilon=1).save(
        folder / "age.json"
    )
    return folder


@pytest.fixture
def folder(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder that holds a copy of the inputs."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(inputs, tmp_path, dirs_exist_ok=True, symlinks=True)
    return tmp_path


RELEASE = "release data.csv -m bernoulli -c smoker --epsilon 1 -o out.json"
NUMERIC = "release data.csv -m poisson -c age --epsilon 1 -o out.json"
GAUSSIAN = "release data.csv -m bernoulli -c smoker --mechanism gaussian -o out.json"

CALIBRATE = "calibrate -m bernoulli --n 9 --epsilon 1"

CASES = [
    # input and output
    ("release absent.csv -m bernoulli -c smoker --epsilon 1 -o out.json", 1, "absent.csv"),
    ("check absent.csv -m bernoulli -c smoker", 1, "absent.csv"),
    ("show absent.json", 1, "absent.json"),
    ("infer absent.json", 1, "absent.json"),
    (RELEASE.replace("out.json", "nowhere/out.json"), 1, "nowhere"),
    (RELEASE.replace("out.json", "file/out.json"), 1, "file"),
    (RELEASE.replace("out.json", "."), 1, "folder"),
    ("infer good.json -o nowhere/out.nc", 1, "nowhere"),
    ("infer good.json --plot nowhere/out.png", 1, "nowhere"),
    ("demo -o file", 1, "file"),
    # declarations about the data
    (RELEASE.replace("smoker", "Smoker"), 2, "Smoker"),
    ("check data.csv -m bernoulli -c Smoker", 2, "Smoker"),
    ("release text.parquet -m poisson -c age --bounds=0,99 --epsilon 1 -o out.json", 2, "text"),
    ("release text.parquet -m normal -c day --bounds=0,99 --epsilon 1 -o out.json", 2, "dates"),
    ("release empty.csv -m bernoulli -c smoker --epsilon 1 -o out.json", 2, "empty"),
    (NUMERIC, 2, "bounds"),
    (f"{NUMERIC} --bounds=99,0", 2, "lower bound"),
    (f"{NUMERIC} --bounds=5,5", 2, "lower bound"),
    (f"{NUMERIC} --bounds=nan,5", 2, "bounds"),
    (f"{NUMERIC} --bounds=0,inf", 2, "bounds"),
    (f"{NUMERIC} --bounds=0", 2, "--bounds"),
    (f"{NUMERIC} --bounds=0,9 --bounds=0,9", 2, "bounds"),
    (f"{RELEASE} --outside cut", 2, "outside"),
    (f"{RELEASE} --outside drop", 2, "--outside"),
    ("release data.csv -m categorical:labels=a|b|a -c answer --epsilon 1 -o out.json", 2, "repeated"),
    ("release data.csv -m categorical:labels=a -c answer --epsilon 1 -o out.json", 2, "two labels"),
    ("release data.csv -m categorical -c answer --epsilon 1 -o out.json", 2, "labels"),
    ("release data.csv -m zipf -c age --epsilon 1 -o out.json", 2, "zipf"),
    ("release data.csv -m normal:spread=2 -c age --epsilon 1 -o out.json", 2, "spread"),
    ("release data.csv -m normal:variance=-2 -c age --bounds=0,9 --epsilon 1 -o out.json", 2, "variance"),
    ("release data.csv -m bernoulli -c smoker -c age --epsilon 1 -o out.json", 2, "column"),
    # budgets
    (RELEASE.replace("--epsilon 1", ""), 2, "epsilon"),
    (RELEASE.replace("--epsilon 1", "--epsilon 0"), 2, "epsilon"),
    (RELEASE.replace("--epsilon 1", "--epsilon=-1"), 2, "epsilon"),
    (RELEASE.replace("--epsilon 1", "--epsilon nan"), 2, "epsilon"),
    (RELEASE.replace("--epsilon 1", "--epsilon inf"), 2, "epsilon"),
    (RELEASE.replace("--epsilon 1", "--epsilon lots"), 2, "epsilon"),
    (RELEASE.replace("--epsilon 1", "--epsilon 1/0"), 2, "epsilon"),
    (f"{RELEASE} --mechanism laplace --delta 0.1", 2, "epsilon alone"),
    (GAUSSIAN, 2, "rho"),
    (f"{GAUSSIAN} --epsilon 1", 2, "delta"),
    (f"{GAUSSIAN} --epsilon 1 --delta 0", 2, "delta"),
    (f"{GAUSSIAN} --epsilon 1 --delta 1", 2, "delta"),
    (f"{GAUSSIAN} --epsilon 1 --delta 2", 2, "delta"),
    (f"{GAUSSIAN} --epsilon 1 --delta=-0.1", 2, "delta"),
    (f"{GAUSSIAN} --epsilon 1 --delta nan", 2, "delta"),
    (f"{GAUSSIAN} --rho 0", 2, "rho"),
    (f"{GAUSSIAN} --rho 1 --epsilon 1", 2, "rho"),
    (f"{RELEASE} --mechanism cauchy", 2, "--mechanism': 'cauchy' is not one of"),
    ("demo --epsilon 0 -o out", 2, "epsilon"),
    # a release that is there already was paid for
    (RELEASE.replace("out.json", "good.json"), 2, "exists already"),
    ("infer good.json -o good.json", 2, ".nc"),
    ("infer good.json -o link.nc", 2, "input file"),
    ("infer answers.json -o release.nc", 2, "paid for"),
    ("infer release.nc -o release.nc", 2, "input file"),
    ("infer good.json --plot good.json", 2, ".png, .pdf or .svg"),
    ("infer good.json -o out.nc --plot out.gif", 2, ".png, .pdf or .svg"),
    ("infer good.json -o out.nc --plot nowhere/out.png", 1, "nowhere"),
    ("demo -o taken", 2, "paid for"),
    # so is data
    (f"{RELEASE.replace('out.json', 'data.csv')} --force", 2, "input file"),
    (f"{RELEASE.replace('out.json', './link.csv')} --force", 2, "input file"),
    # release files
    ("show truncated.json", 4, "truncated.json"),
    ("infer truncated.json", 4, "truncated.json"),
    ("show edited.json", 4, "altered"),
    ("infer edited.json", 4, "altered"),
    ("infer other.json", 4, "this is not a release file: its format is not discreet/release"),
    ("infer binary.json", 4, "binary.json"),
    ("infer newer.json", 4, "version"),
    ("infer data.csv", 4, "looks like data"),
    ("show data.csv", 4, "looks like data"),
    ("show text.parquet", 4, "looks like data"),
    # the analyst's options
    ("infer good.json --prior beta:1", 2, "beta"),
    ("infer good.json --prior beta:0,1", 2, "positive"),
    ("infer good.json --prior cauchy:1", 2, "cauchy"),
    ("infer good.json --prior gamma:1,1", 2, "Beta"),
    ("infer good.json --draws 0", 2, "draws"),
    ("infer good.json --draws many", 2, "--draws"),
    ("infer good.json --chains 3", 2, "chains"),
    ("infer good.json --prob 1.5", 2, "prob"),
    ("infer good.json --records=0,9", 2, "records"),
    ("infer good.json --records=low,high", 2, "--records"),
    ("infer good.json --engine magic", 2, "--engine': 'magic' is not one of"),
    ("infer good.json --seed=-1", 2, "--seed=-1"),
    # calibration
    (CALIBRATE.replace("--n 9", ""), 2, "--n"),
    (CALIBRATE.replace("--n 9", "--n 0"), 2, "--n 0"),
    (CALIBRATE.replace("--n 9", "--n few"), 2, "--n"),
    (CALIBRATE.replace("--epsilon 1", ""), 2, "epsilon"),
    (CALIBRATE.replace("bernoulli", "zipf"), 2, "zipf"),
    (CALIBRATE.replace("bernoulli", "poisson --prior gamma:1,1"), 2, "bounds"),
    (f"{CALIBRATE} --prior gamma:1,1", 2, "Beta"),
    (f"{CALIBRATE} --trials 0", 2, "--trials 0"),
    (f"{CALIBRATE} --draws 0", 2, "--draws 0"),
    (f"{CALIBRATE} --workers 0", 2, "--workers 0"),
    (f"{CALIBRATE} --seed=-1", 2, "--seed=-1"),
    (f"{CALIBRATE} --false-alarm 1", 2, "--false-alarm=1"),
    (f"{CALIBRATE} --engine magic", 2, "--engine': 'magic' is not one of"),
    (f"{CALIBRATE} --records=0,9", 2, "records"),
    (f"{CALIBRATE} -o out.gif", 2, ".png, .pdf or .svg"),
    (f"{CALIBRATE} -o nowhere/out.png", 1, "nowhere"),
    # the program itself
    ("frobnicate", 2, "frobnicate"),
    ("infer", 2, "FILE"),
    ("infer good.json --wrong", 2, "--wrong"),
]


@pytest.mark.parametrize(("command", "code", "clue"), CASES)
def test_one_line_the_right_code_and_nothing_written(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, code: int, clue: str
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run(command.split()) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert lines[0].startswith("error: ")
    assert clue.lower() in lines[0].lower()
    assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("hint: "))
    assert not PYTHON.search(printed.err)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


# what only somebody who writes Python could act on
PYTHON = re.compile(r"\bdc\.|=[\[('\"]|----|Value error|None")


def test_the_pattern_knows_python_when_it_sees_it() -> None:
    for words in ("bounds=(0, 1)", "dc.priors.Beta(...)", "engine='naive'", "Value error, no"):
        assert PYTHON.search(words)


MODEL = "release data.csv -c answer --epsilon 1 -o out.json -m"
HINTS = [
    (RELEASE.replace("--epsilon 1", ""), "", "give a budget, such as --epsilon 0.5."),
    (GAUSSIAN, "", "give a budget, such as --rho 0.01, or --epsilon 0.5 with --delta 1e-6."),
    (RELEASE.replace("--epsilon 1", "--epsilon=-1"), "", "got --epsilon=-1."),
    (NUMERIC, "", "hint: for example --bounds=0,100\n"),
    (
        f"{NUMERIC} --bounds=9,0",
        "",
        "got --bounds=9,0.\nhint: the smaller number comes first: --bounds=0,9\n",
    ),
    (f"{NUMERIC} --bounds=0", "", "hint: write --bounds=LOW,HIGH, as in --bounds=-3,100"),
    (
        f"{MODEL} multivariate_normal:dim=2 --bounds=0,9",
        "",
        "hint: repeat --bounds, once for each column: --bounds=0,100 --bounds=0,100\n",
    ),
    (MODEL, "categorical", 'hint: write -m "categorical:labels=a|b|c"\n'),
    (MODEL, "categorical:a|b|c", 'hint: write "categorical:labels=a|b|c"\n'),
    (
        MODEL,
        "categorical:labels=a,b,c",
        'hint: labels are separated by |, as in "categorical:labels=a|b|c"\n',
    ),
    (MODEL, "bernoulli:0.5", "hint: write bernoulli:yes=…"),
    (MODEL, "bernouli", "hint: did you mean bernoulli? known families: "),
    (MODEL, "normal:mean=x", "got mean=x."),
    ("infer good.json --prior", "gamma:1,1", "hint: for example --prior beta:1,1\n"),
    ("infer good.json --prior", "bta:1,1", "hint: did you mean beta? known priors: "),
    ("infer good.json --prior", "beta(1, 1)", "hint: write beta:1,1\n"),
    ("infer good.json --prior", "dc.priors.Beta(2, 0.5)", "hint: write beta:2,0.5\n"),
    ("infer answers.json --prior", "dirichlet:1,1", "hint: for example --prior dirichlet:1,1,1\n"),
    ("infer age.json --prior", "beta:1,1", "hint: for example --prior normal_inverse_gamma:"),
    ("infer age.json --engine exact --prior", "normal_inverse_gamma:1,1,1,1", "hint: use --engine "),
    ("infer good.json --records=0,9", "", "hint: leave out --records\n"),
    (f"{CALIBRATE} --prior", "gamma:1,1", "hint: for example --prior beta:1,1\n"),
    (
        CALIBRATE.replace("bernoulli", "poisson --bounds=0,9") + " --prior",
        "beta:1,1",
        "for example --prior gamma:",
    ),
    (RELEASE.replace("out.json", "nowhere/out.json"), "", "hint: create the folder first"),
    (
        "release text.parquet -m poisson -c age --bounds=0,99 --epsilon 1 -o out.json",
        "",
        "hint: cast the column to a number type, or give the CSV file\n",
    ),
]


@pytest.mark.parametrize(("command", "last", "words"), HINTS)
def test_the_way_out_is_in_the_words_of_the_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, last: str, words: str
) -> None:
    assert run([*command.split(), *filter(None, [last])]) in (1, 2)
    assert words in capsys.readouterr().err


def test_a_family_that_only_another_program_knows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.artifact.codec import checksum

    body = json.loads(Path("good.json").read_text())
    body["model"]["name"] = "rayleigh"
    body["sha256"] = checksum(body)
    Path("rayleigh.json").write_text(json.dumps(body))
    assert run(["infer", "rayleigh.json"]) == 4
    assert "'rayleigh'; a program that registers it can read it" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "code", "clue"), CASES)
def test_the_same_as_json(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, code: int, clue: str
) -> None:
    assert run([*command.split(), "--json"]) == code
    printed = capsys.readouterr()
    assert printed.err == ""
    answer = json.loads(printed.out)
    assert set(answer) == {"error", "hint", "code"}
    assert answer["code"] == code
    assert clue.lower() in answer["error"].lower()


def test_an_unexpected_error_is_one_line_without_its_text(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.curator import publish as curator

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("could not read 'secret value'")

    monkeypatch.setattr(curator, "release", broken)
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)
    assert run(RELEASE.split()) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("error: unexpected RuntimeError")
    assert "secret" not in printed
    monkeypatch.setenv("DISCREET_DEBUG", "1")
    with pytest.raises(RuntimeError, match="secret"):
        run(RELEASE.split())


def test_an_interrupted_release_leaves_the_old_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.curator import publish as curator

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = sorted(path.name for path in folder.iterdir())
    old = Path("good.json").read_text()
    monkeypatch.setattr(curator, "release", interrupted)
    assert run([*RELEASE.replace("out.json", "good.json").split(), "--force"]) == 130
    assert Path("good.json").read_text() == old
    assert sorted(path.name for path in folder.iterdir()) == before

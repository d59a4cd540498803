"""``discreet declare``: a declaration to fill in, from names of columns and never from rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run
from discreet.cli.options import read_model
from discreet.curator.declaration_template import DECLARABLE, template
from discreet.models.schema_files import described_columns

SECRET = "zebra-7731"
CSVW = {
    "@context": ["http://www.w3.org/ns/csvw"],
    "tableSchema": {
        "columns": [
            {"name": "person", "datatype": "string", "csvw-eo:privacyId": True},
            {"name": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 120}},
            {"name": "sex", "datatype": "string", "csvw-eo:keys": ["f", "m"]},
            {"name": "ward", "datatype": "string", "partitions": [
                {"predicate": {"partitionValue": "a"}}, {"predicate": {"partitionValue": "b"}}]},
            {"name": "note", "datatype": "string"},
        ]
    },
}  # fmt: skip
SMARTNOISE = """
"":
  clinic:
    patients:
      max_ids: 1
      person: {type: string, private_id: true}
      age: {type: int, lower: 0, upper: 120}
      sex: {type: string, card: 2}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(f"age,sex,ill,home town\n{SECRET},f,no,{SECRET}\n4193,m,perhaps,{SECRET}\n")


@pytest.mark.parametrize("model", DECLARABLE)
def test_a_template_holds_names_and_no_values(model: str) -> None:
    made = template("data.csv", model=model)
    read = tomllib.loads(made)
    assert read["model"] == model
    assert '"home town"' in made
    assert "age = {" in made or '"age"' in made
    assert not any(word in made for word in (SECRET, "4193", "perhaps"))


def test_a_template_that_is_filled_in_is_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["declare", "data.csv", "-m", "naive-bayes", "-o", "model.toml"]) == 0
    assert "Wrote model.toml" in capsys.readouterr().out
    filled = Path("model.toml").read_text()
    head, _, features = filled.partition("[features]")
    head = head.replace('# ill = ["label", "another label"]', 'ill = ["no", "yes"]')
    features = features.replace("# age = { bounds = [0, 100] }", "age = { bounds = [0, 120] }")
    Path("model.toml").write_text(head + "[features]" + features)
    assert dc.models.load("model.toml") == dc.models.NaiveBayes({"ill": ["no", "yes"]}, {"age": (0, 120)})
    assert run(["declare", "data.csv", "-o", "model.toml"]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csvw", "smartnoise"])
def test_schemas_say_bounds_and_labels(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("meta.json" if kind == "csvw" else "meta.yaml")
    if kind == "smartnoise":
        pytest.importorskip("yaml", reason="PyYAML is not installed: schemas in YAML are not read")
    file.write_text(json.dumps(CSVW) if kind == "csvw" else SMARTNOISE)
    assert run(["declare", "--schema", str(file)]) == 0
    made = capsys.readouterr().out
    assert "# age = { bounds = [0, 120] }" in made
    assert "# person names people" in made
    if kind == "csvw":
        assert '# sex = ["f", "m"]' in made
        assert '# ward = ["a", "b"]' in made
        assert [one.name for one in described_columns(file)] == ["person", "age", "sex", "ward", "note"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["declare"], "name the data, or a schema"),
        (["declare", "data.csv", "-m", "naive-bays"], "did you mean naive_bayes"),
        (["declare", "data.csv", "-m", "grouped"], "no model 'grouped' to declare"),
        (["declare", "bare.csv"], "does not look like a header"),
        (["declare", "nowhere.csv"], "nowhere.csv"),
        (["declare", "--schema", "broken.json"], "not valid JSON"),
        (["declare", "--schema", "empty.json"], "describes no table"),
        (["declare", "data.csv", "--schema", "other.json"], "the data has no such column"),
        (["declare", "data.csv", "-o", "data.csv"], "must end in .toml"),
        (["release", "data.csv", "-m", "bernoulli", "-c", "il", "--epsilon", "1", "-o", "x.json"], "mean 'ill'"),
        (["release", "data.csv", "-m", "bernouli", "-c", "ill", "--epsilon", "1", "-o", "x.json"], "bernoulli"),
        (["release", "data.csv", "-m", "bernoulli", "-c", "ill", "--epsilo", "1", "-o", "x.json"], "--epsilon"),
        (["relase", "data.csv"], "'release'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare.csv").write_text(f"{SECRET},12\n{SECRET},13\n")
    Path("broken.json").write_text("{")
    Path("empty.json").write_text("{}")
    Path("other.json").write_text(json.dumps({"tableSchema": {"columns": [{"name": "agee"}]}}))
    assert run(words) in (1, 2)
    error = capsys.readouterr().err
    assert said in error
    assert SECRET not in error
    assert not Path("x.json").exists()


def test_a_shell_completes_verbs() -> None:
    words = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": "discreet re", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from discreet.cli import main; main()"],
        env={**os.environ, **words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(done.stdout.split()) == {"release", "read", "refine", "report", "respond"}


def test_pictures_have_one_word_everywhere() -> None:
    """Whatever draws takes --plot; where the picture is all there is to write, -o is the same."""
    assert run(["distinguish", "--epsilon", "0.5", "--error", "0.1", "--plot", "limit.png"]) == 0
    assert Path("limit.png").stat().st_size > 1000


def test_a_regression_is_declared_by_lists_and_bounds(tmp_path: Path) -> None:
    """What is uncommented is a model: the target, the features, and each column once."""
    rows = tmp_path / "patients.csv"
    rows.write_text("age,smoker,pressure\n50,no,120\n", encoding="utf-8")
    made = tmp_path / "line.toml"
    assert run(["declare", str(rows), "-m", "linear_regression", "-o", str(made)]) == 0
    kept = ("target", "features", "age = [0", 'smoker = ["label', "pressure = [0")
    lines = made.read_text(encoding="utf-8").splitlines()
    lines = [line[2:] if line[2:].startswith(kept) else line for line in lines]
    made.write_text("\n".join(lines), encoding="utf-8")
    assert read_model(str(made)) == dc.models.LinearRegression(
        "pressure",
        ["age", "smoker"],
        bounds={"age": (0, 100), "smoker": ["label", "another label"], "pressure": (0, 100)},
    )

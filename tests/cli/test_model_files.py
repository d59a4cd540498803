"""``discreet release --model survey.toml`` and the other verbs that take a model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.cli import run
from discreet.models.regression_file import step_file

FILES = {
    "naive.toml": 'model = "naive_bayes"\ntarget.smoker = ["no", "yes"]\nfeatures.sex = ["F", "M"]\n'
    "features.age = { bounds = [18, 100] }\n",
    "labels.toml": 'model = "naive_bayes"\ntarget.smoker = ["no", "yes"]\nfeatures.sex = ["F", "M"]\n',
    "network.toml": 'model = "bayesian_network"\nedges = [["sex", "smoker"]]\n'
    'columns.sex = ["F", "M"]\ncolumns.smoker = ["no", "yes"]\n',
    "chain.toml": 'model = "markov_chain"\nsequence.ward = ["a", "b"]\ntime.month = { first = 1, last = 20 }\n'
    'state.smoker = ["no", "yes"]\n',
    "hidden.toml": 'model = "hidden_markov"\nstates = 2\nchain.ward = ["a", "b"]\n'
    'time.month = { first = 1, last = 20 }\nfeatures.smoker = ["no", "yes"]\n',
    "mixture.toml": 'model = "mixture"\ncomponents = 2\ncolumns.sex = ["F", "M"]\ncolumns.smoker = ["no", "yes"]\n',
    "linear.toml": 'model = "linear_regression"\ntarget.age = { bounds = [18, 100] }\nfeatures.sex = ["F", "M"]\n'
    "residual_sd = 10\n",
    "logistic.toml": 'model = "logistic_regression"\ntarget.smoker = ["no", "yes"]\n'
    "features.age = { bounds = [18, 100] }\n",
    "poisson.toml": 'model = "poisson_regression"\ntarget.month = { bounds = [0, 20] }\nfeatures.sex = ["F", "M"]\n',
    "own.toml": 'model = "declared_likelihood"\ncolumns.smoker = ["no", "yes"]\nparameters.p = [0.2, 0.5]\n'
    "log_likelihood = [[-0.22, -1.61], [-0.69, -0.69]]\n",
    "paths.toml": 'model = "trajectories"\ntimes = ["sex", "smoker"]\nstates = ["F", "M", "no", "yes"]\n',
    "cause.toml": 'model = "hidden_network"\nedges = [["cause", "sex"], ["cause", "smoker"]]\n'
    'columns.sex = ["F", "M"]\ncolumns.smoker = ["no", "yes"]\nhidden.cause = { labels = 2 }\n',
    "normal.json": '{"model": "normal", "variance": 100}',
    "sum.toml": 'model = "normal"\nvarience = 4\n',
}
IMPUTE = "--impute smoker=no --impute sex=F"
# a model file, and what else the command needs
RELEASES = {
    "naive.toml": "--epsilon 1",
    "network.toml": "--mechanism gaussian --rho 0.5",
    "chain.toml": "--epsilon 1",
    "hidden.toml": "--epsilon 1",
    "mixture.toml": "--epsilon 1",
    "normal.json": "-c age --bounds=18,100 --epsilon 1",
    "linear.toml": "--mechanism noisy-sgd --rho 0.5 --impute age=50 --impute sex=F",
    "logistic.toml": "--mechanism langevin --epsilon 1 --delta 1e-6 --steps 20 --samples 5 --impute age=50 "
    "--impute smoker=no",
    "poisson.toml": "--mechanism gaussian --rho 0.5",
    "own.toml": "--mechanism private-gibbs --epsilon 2 --steps 4 --impute smoker=no",
    "paths.toml": f"--mechanism table-posterior --epsilon 5 --delta 1e-9 --support=0.01 {IMPUTE}",
    "cause.toml": f"--mechanism private-gibbs --epsilon 2 --steps 4 --support=0.05 {IMPUTE}",
    "labels.toml": f"--mechanism table-posterior --epsilon 5 --support=0.01 --samples 3 {IMPUTE}",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(content)
    rows = ["ward,month,sex,smoker,age"]
    for i in range(40):
        sex, smoker = rng.choice(["F", "M"]), rng.choice(["no", "yes"])
        rows.append(f"{'ab'[i // 20]},{i % 20 + 1},{sex},{smoker},{rng.integers(18, 100)}")
    Path("data.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


@pytest.mark.parametrize("file", RELEASES)
def test_a_declared_model_is_released_shown_and_read(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"release data.csv -m {file} -o out.json {RELEASES[file]}".split()) == 0
    made = dc.Release.load("out.json")
    declared = dc.models.load(file)
    assert made.model in (declared, declared.suited("l2"))
    assert run("show out.json".split()) == 0
    assert run("infer out.json --seed 1 --draws 400".split()) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_a_linear_regression_takes_noise(capsys: pytest.CaptureFixture[str]) -> None:
    Path("terms.toml").write_text(
        'model = "linear_regression"\ntarget = "age"\nfeatures = ["sex", "month", "month ** 2"]\n'
        'bounds = { age = [18, 100], sex = ["F", "M"], month = [1, 20] }\n'
    )
    for file in ("linear.toml", "terms.toml"):
        for how in ("--epsilon 1", "--mechanism gaussian --rho 0.5"):
            assert run(f"release data.csv -m {file} -o out.json --force {how}".split()) == 0
            assert dc.Release.load("out.json").model.constants()["target"]["name"] == "age"
            capsys.readouterr()
            assert run("infer out.json --seed 1 --draws 400 --json".split()) == 0
    found = json.loads(capsys.readouterr().out)
    names = [row["name"] for row in found["parameters"]]
    assert names[:2] == ["intercept", "coefficients[sex=M]"]
    assert "coefficients[month ** 2]" in names


def test_many_terms_are_warned_of_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    labels = [f"w{i}" for i in range(100)]
    Path("wards.toml").write_text(
        f'model = "linear_regression"\ntarget.age = {{ bounds = [18, 100] }}\nfeatures.ward = {json.dumps(labels)}\n'
    )
    assert run("release data.csv -m wards.toml -o out.json --epsilon 1".split()) == 0
    said = capsys.readouterr().err
    assert said.count("warning: infer reads a regression of 99 terms") == 1
    assert "UserWarning" not in said


@pytest.mark.parametrize("file", ["logistic.toml", "poisson.toml", "terms.toml"])
def test_a_second_release_is_declared_by_the_first(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("terms.toml").write_text(
        'model = "logistic_regression"\ntarget = "smoker"\nfeatures = ["age", "sex", "age * sex"]\n'
        'bounds = { smoker = ["no", "yes"], age = ["17.5", 100], sex = ["F", "M"] }\n'
    )
    assert run(f"release data.csv -m {file} --epsilon 40 -o first.json".split()) == 0
    assert run("refine first.json -o refined.toml --seed 1".split()) == 0
    assert "--model refined.toml" in capsys.readouterr().out
    posterior = dc.infer("first.json", rng=1)
    wanted = dc.models.load(file).refined(posterior)  # pyright: ignore[reportAttributeAccessIssue]
    made = dc.models.load("refined.toml")
    assert "/" not in Path("refined.toml").read_text()
    assert made == wanted
    assert made.released == "step"  # pyright: ignore[reportAttributeAccessIssue]
    assert run("release data.csv -m refined.toml --epsilon 40 -o second.json".split()) == 0
    assert run("refine second.json -o refined.toml".split()) == 2
    assert "exists already" in capsys.readouterr().err
    assert run("refine second.json --json --seed 1".split()) == 0
    assert "start = [" in json.loads(capsys.readouterr().out)["declaration"]


def test_a_step_of_any_names_is_read_back(tmp_path: Path) -> None:
    odd = {'a "quoted" ~ name': ["x\x7fy", "\\", "\U0001f600\n"], "n": ("1/3", 10**20)}
    model = dc.models.PoissonRegression(
        {"ü": (0, "0.1")}, odd, start=[1, "1/3", -2, "1e-9"], dispersion=2, mean="1/7", limit=3
    )
    (tmp_path / "odd.toml").write_text(step_file(model), encoding="utf-8")
    assert dc.models.load(tmp_path / "odd.toml") == model


def test_only_regressions_with_a_step_are_refined(capsys: pytest.CaptureFixture[str]) -> None:
    Path("line.toml").write_text(FILES["linear.toml"].replace("residual_sd = 10\n", ""))
    assert run("release data.csv -m line.toml --epsilon 1 -o first.json".split()) == 0
    capsys.readouterr()
    assert run("refine first.json -o refined.toml".split()) == 2
    said = capsys.readouterr().err
    assert "a second release is of one logistic or Poisson regression, and linear_regression is none" in said
    assert "one release is enough" in said
    assert not Path("refined.toml").exists()


@pytest.mark.parametrize("groups", ["", " --by smoker=no|yes"])
def test_totals_of_a_regression_are_said_to_be_mapped(
    groups: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("line.toml").write_text(FILES["linear.toml"].replace("residual_sd = 10\n", ""))
    assert run(f"release data.csv -m line.toml --epsilon 1 -o first.json{groups}".split()) == 0
    capsys.readouterr()
    assert run("show first.json".split()) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "numbers are mapped from their bounds to [-1, 1], two labels are -1 and 1." in said


def test_private_gibbs_of_a_mixture_with_and_without_delta() -> None:
    how = f"release data.csv -m mixture.toml --mechanism private-gibbs --steps 4 --support=0.05 --epsilon 2 {IMPUTE}"
    assert run(f"{how} -o pure.json".split()) == 0
    assert dc.Release.load("pure.json").guarantee == dc.PureDP(2)
    assert run(f"{how} --delta 1e-6 -o approx.json".split()) == 0
    assert isinstance(dc.Release.load("approx.json").guarantee, dc.ApproxDP)


def test_private_gibbs_of_a_hidden_markov_model_and_a_support_for_each_column() -> None:
    impute = "--impute ward=a --impute month=1 --impute smoker=no"
    how = f"-m hidden.toml --mechanism private-gibbs --steps 4 --epsilon 2 {impute}"
    assert (
        run(f"release data.csv {how} --support smoker=0.1 --with weight-prior=2 -o paths.json".split()) == 0
    )
    assert dc.Release.load("paths.json").sampling_record.parameters["weight_prior"] == 2
    assert run("forecast paths.json --seed 1".split()) == 0
    how = f"-m mixture.toml --mechanism private-gibbs --steps 4 --epsilon 2 {IMPUTE} --support smoker=0.1"
    assert run(f"release data.csv {how} --support sex=0.05 -o each.json".split()) == 0
    support = dc.Release.load("each.json").sampling_record.support
    assert support is not None
    assert [float(low) for low, _ in support] == [0.05, 0.1]


def test_a_secret_order_of_records() -> None:
    how = "release data.csv -m linear.toml --mechanism noisy-sgd --rho 0.5 --impute age=50 --impute sex=F"
    assert run(f"{how} --order secret -o out.json".split()) == 0
    assert isinstance(dc.Release.load("out.json").guarantee, dc.RenyiDP)


def test_check_counts_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check data.csv -m naive.toml --json".split()) == 0
    seen = json.loads(capsys.readouterr().out)
    assert set(seen["columns"]) == {"smoker", "sex", "age"}
    assert seen["columns"]["age"]["inside"] == 40
    assert run("check data.csv -m naive.toml".split()) == 0
    assert "age" in capsys.readouterr().out
    assert run("check data.csv -m normal.json -c age --bounds=18,100".split()) == 0
    assert set(dc.check("data.csv", dc.models.load("chain.toml"))) == {"ward", "month", "smoker"}  # pyright: ignore


def test_calibrate_takes_the_family_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    how = "--n 50 --bounds=-10,10 --epsilon 1 --trials 4 --seed 1 --json"
    assert run(f"calibrate -m normal.json {how}".split()) == 0
    from_file = json.loads(capsys.readouterr().out)
    del from_file["seconds"]
    assert run(f"calibrate -m normal:variance=100 {how}".split()) == 0
    named = json.loads(capsys.readouterr().out)
    del named["seconds"]
    assert named == from_file


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("release data.csv -m sum.toml -c age --epsilon 1 -o out.json", 2, "unknown key 'varience'"),
        ("release data.csv -m absent.toml --epsilon 1 -o out.json", 1, "no such file"),
        ("release data.csv -m naive_bayes --epsilon 1 -o out.json", 2, "declared in a file"),
        ("release data.csv -m naive.toml -c sex --epsilon 1 -o out.json", 2, "declares its own columns"),
        (
            "release data.csv -m naive.toml --bounds=0,1 --epsilon 1 -o out.json",
            2,
            "declares its own columns",
        ),
        ("release data.csv -m naive.toml --bins 4 --epsilon 1 -o out.json", 2, "write bins into the file"),
        ("release data.csv -m bernoulli --epsilon 1 -o out.json", 2, "say which column"),
        ("check data.csv -m bernoulli", 2, "say which column"),
        ("release data.csv -m linear.toml --mechanism noisy-sgd -o out.json", 2, "budget|rho"),
        (
            "release data.csv -m linear.toml --mechanism noisy-sgd --rho 1 --steps 3 -o out.json",
            2,
            "no --steps",
        ),
        (
            "release data.csv -m mixture.toml --mechanism private-gibbs --epsilon 1 -o out.json",
            2,
            "needs --steps",
        ),
        (
            f"release data.csv -m mixture.toml --mechanism private-gibbs --epsilon 1 --steps 2 {IMPUTE} -o out.json",
            2,
            "needs a support",
        ),
        (
            f"release data.csv -m mixture.toml --mechanism private-gibbs --epsilon 1 --steps 2 {IMPUTE} "
            "--support smoker=0.1 -o out.json",
            2,
            "one for each column of labels",
        ),
        (
            "release data.csv -m own.toml --mechanism private-gibbs --epsilon 1 --steps 2 --support=0.1 "
            "--impute smoker=no -o out.json",
            2,
            "leave out support",
        ),
        ("release data.csv -m own.toml --epsilon 1 -o out.json", 2, "takes no noise"),
        (
            "release data.csv -m labels.toml --mechanism table-posterior --epsilon 1 --support=0.1,0.9 -o out.json",
            2,
            "is one number",
        ),
        (
            "release data.csv -m labels.toml --mechanism posterior-sample --epsilon 1 --prior beta:1,1 "
            "--support=0.1,0.9 -o out.json",
            2,
            "samples a family",
        ),
        (
            "release data.csv -m labels.toml --mechanism table-posterior --epsilon 1 --support=0.1 --impute no "
            "-o out.json",
            2,
            "cannot read --impute",
        ),
        (
            "release data.csv -m labels.toml --mechanism table-posterior --epsilon 1 --support=0.1 "
            "--impute smoker=no --impute smoker=yes -o out.json",
            2,
            "twice",
        ),
        (
            "release data.csv -m labels.toml --mechanism table-posterior --epsilon 1 --support=0.1 "
            "--impute smoker=no -o out.json",
            2,
            "impute says nothing for column 'sex'",
        ),
        ("calibrate -m naive.toml --n 5 --epsilon 1", 2, "is none"),
        ("adversary -m naive.toml --prior beta:1,1 --support=0.1,0.9 --epsilon 1", 2, "is none"),
    ],
)
def test_bad_input(command: str, code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command.split()) == code
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(message, said), said
    assert not Path("out.json").exists()


def test_a_regression_by_groups(capsys: pytest.CaptureFixture[str]) -> None:
    Path("by.toml").write_text(
        'model = "linear_regression"\ntarget = "age"\nfeatures = ["sex"]\n[bounds]\nage = [18, 100]\nsex = ["F", "M"]\n'
    )
    asked = ["release", "data.csv", "--model", "by.toml", "--by", "smoker=no|yes", "--epsilon", "50"]
    assert run([*asked, "--output", "groups.json"]) == 0
    assert dc.Release.load("groups.json").model.groups == ("no", "yes")
    capsys.readouterr()
    assert run(["infer", "groups.json", "--draws", "400"]) == 0
    assert "no.coefficients[sex=M]" in capsys.readouterr().out
    assert run(["infer", "groups.json", "--pool", "--draws", "400"]) == 0
    assert "population.coefficients_sd[sex=M]" in capsys.readouterr().out
    assert run([*asked[:5], "=|", "--epsilon", "1", "--output", "none.json"]) == 2
    assert "cannot read --by" in capsys.readouterr().err

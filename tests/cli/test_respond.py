"""``discreet respond``: questions about a release file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run
from tests.cli.test_startup import HEAVY, imported_by

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("smoking.json", "pressure.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    return tmp_path


def answers(capsys: pytest.CaptureFixture[str], command: str, *questions: str) -> dict:
    asked = [word for question in questions for word in ("--question", question)]
    assert run(["respond", *command.split(), *asked, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_answers_are_the_librarys_own(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["mean:p", "median:p", "interval:p:0.9", "event:p>0.25"]
    content = answers(capsys, "smoking.json --prior beta:2,8 --seed 3 --draws 800", *asked)
    posterior = dc.infer("smoking.json", prior="beta:2,8", rng=3, draws=800)
    utilities = dc.decisions
    made = [
        posterior.respond(utility, questions=4)
        for utility in (
            utilities.SquaredError("p"),
            utilities.AbsoluteError("p"),
            utilities.IntervalScore("p", prob=0.9),
            utilities.ZeroOne("p>0.25"),
        )
    ]
    assert content["schema"] == "discreet/respond/1"
    assert (content["engine"], content["n_draws"], content["model"]) == ("exact", 800, "bernoulli")
    assert [answer["asked"] for answer in content["answers"]] == asked
    given = [answer["answer"] for answer in content["answers"]]
    assert given == [made[0].candidate, made[1].candidate, list(made[2].candidate), made[3].candidate]
    assert given[0] == posterior.mean()["p"]
    for answer, response in zip(content["answers"], made, strict=True):
        assert answer["expected_utility"] == response.expected
        assert answer["standard_error"] == response.standard_error
    bounds = [answer["bound"] for answer in content["answers"]]
    assert bounds[:3] == [None, None, None]
    assert made[3].bound is not None
    assert bounds[3]["loss"] == made[3].bound.loss
    assert bounds[3]["n_questions"] == 4
    assert content["answers"][0]["no_bound"]


def test_text_names_question_answer_and_bound(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["respond", "smoking.json", "-q", "mean:p", "-q", "event:p > 0.3", "--seed", "1"]
    assert run(command) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for part in (
        "mean:p",
        "event:p > 0.3 no",
        "chance of being right",
        "4000 independent draws",
        "epsilon = 0.05",
    ):
        assert part in printed
    assert "event:p > 0.3: With probability 95% over the 4,000 independent draws, for 2 questions" in printed
    assert "mean:p: " not in printed


def test_chains_have_no_bound_and_their_warnings_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    prior = "--prior normal_inverse_gamma:130,0.25,2,577"
    content = answers(capsys, f"pressure.json {prior} --engine gibbs --draws 40 --seed 1", "event:mean>130")
    (answer,) = content["answers"]
    assert answer["bound"] is None
    assert "Markov chains" in answer["no_bound"]
    assert any("effective draws" in warning for warning in content["warnings"])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("smoking.json", 2, "--question"),
        ("smoking.json -q mode:p", 2, "cannot read the question 'mode:p'"),
        ("smoking.json -q mean:rate", 2, "no parameter is named 'rate'"),
        ("smoking.json -q interval:p:95", 2, "cannot read the question"),
        ("smoking.json -q event:p", 2, "cannot read the event"),
        ("smoking.json -q mean:p --seed=-1", 2, "seed must be 0 or more"),
        ("smoking.json -q mean:p --prior gamma:1,1", 2, "prior"),
        ("nowhere.json -q mean:p", 1, "nowhere.json"),
    ],
)
def test_what_goes_wrong_is_one_line(
    arguments: str, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["respond", *arguments.split()]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err.splitlines()[0]
    assert len(printed.err.splitlines()) <= 2


def test_help_imports_nothing_heavy() -> None:
    assert not imported_by("from discreet.cli import run; assert run(['respond', '--help']) == 0") & HEAVY
    assert not imported_by("from discreet.cli import run; assert run(['infer', '--help']) == 0") & HEAVY


def test_answering_never_loads_the_private_side(folder: Path) -> None:
    program = (
        "import discreet as dc, sys\n"
        f"posterior = dc.infer({str(folder / 'smoking.json')!r}, draws=40)\n"
        "posterior.respond(dc.decisions.ZeroOne('p > 0.5')).plot()\n"
        "assert not [m for m in sys.modules if m.startswith(('discreet.data', 'discreet.mechanisms'))]"
    )
    assert not imported_by(program) & {"duckdb", "opendp"}

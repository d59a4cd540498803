"""Forged release and profile files never hang, crash or lie."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.artifact.files import write_text
from discreet.artifact.possible_totals import MOST_RECORDS
from discreet.errors import EngineError, ReleaseFileError, UsageError
from discreet.models.layout import UnitRows
from discreet.names import shown, shown_label
from discreet.rational import exact, float_up
from tests.hostile.consistent import consistent
from tests.hostile.forged_runs import ROOT, Worker, run
from tests.hostile.forging import MARK, bases

#: Files of the long run: ``FORGED_FILES=50000 pytest -m slow tests/hostile/test_forged_files.py``.
MANY = int(os.environ.get("FORGED_FILES", "50000"))
SEED = int(os.environ.get("FORGED_SEED", "1"))


def golden(name: str) -> dict[str, Any]:
    return json.loads(bases("release")[name])


def run_concealed(body: dict[str, Any]) -> str:
    return json.dumps({**body, "sha256": checksum(body)})


# -- the harness ----------------------------------------------------------------------------------------


def test_a_few_forged_files():
    """The first of the seed, in one worker; the long run below has more."""
    tally = run(0, range(1, 49))
    assert not tally.failures, str(tally)
    assert tally.outcomes["load refused"] > 5
    assert tally.outcomes["load fine"] > 5


def test_consistent_files_are_accepted(rng: np.random.Generator):
    """Or the engines would never see them."""
    for _ in range(40):
        _, how, text = consistent(rng)
        assert dc.Release.from_json(text).to_json() == text, how


@pytest.mark.slow
def test_many_forged_files(capsys: pytest.CaptureFixture[str]):
    with capsys.disabled():
        # some 500 releases go through the command line
        tally = run(SEED, range(MANY), command=max(MANY * 88 // 100 // 500, 1), progress=60.0)
        print(f"\n[seed {SEED}] {tally}")
    assert not tally.failures, str(tally)


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        pytest.param("crash", "IndexError", marks=pytest.mark.slow),
        pytest.param("hang", "hang", marks=pytest.mark.slow),
        ("lie", "does not support"),
        pytest.param("line", "statement", marks=pytest.mark.slow),
    ],
)
def test_a_planted_failure_is_found(planted: str, found: str):
    body = golden("bernoulli")
    if planted == "lie":
        body["guarantees"][0]["epsilon"] = "1/100"
    if planted == "line":
        body["columns"] = [f"x\n{MARK}"]
    with Worker(planted, patience=30.0 if planted != "hang" else 3.0) as worker:
        answer = worker.ask(kind="release", text=run_concealed(body), verbs=["load", "show", "infer"])
    assert found in answer["failure"], answer


@pytest.mark.slow
def test_planted_greed_is_found():
    with Worker("greed") as worker:
        answer = worker.ask(kind="release", text=run_concealed(golden("bernoulli")), verbs=["load"])
    assert "GB" in answer["failure"] or "died" in answer["failure"]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["show", "infer"])
def test_forged_files_as_processes(verb: str, tmp_path: Path):
    forgeries = [
        {"records": 2**63 - 1},
        {"columns": ["x\ny"]},
        {"dataset": "\u202e"},
        {"statistics": None},
        {"columns": "x"},
    ]
    for change in forgeries:
        path = tmp_path / "forged.json"
        path.write_text(run_concealed({**golden("bernoulli"), **change}))
        command = [sys.executable, "-m", "discreet.cli", verb, str(path)]
        paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": paths}
        )
        assert done.returncode == 4, done
        assert len([line for line in done.stderr.splitlines() if line.startswith("error: ")]) == 1


# -- values that no table has ---------------------------------------------------------------------------


def test_totals_beyond_reach_are_refused():
    body = golden("bernoulli")
    scale = exact(body["mechanism"]["scale"][0], "x")
    n = body["records"]
    reach = float(scale) * 100 * np.log(2)
    for beyond in (False, True):
        body["statistics"]["values"][0] = str(int(n + reach) + (5 if beyond else -5))
        if beyond:
            with pytest.raises(ReleaseFileError, match="further from every possible total"):
                dc.Release.from_json(run_concealed(body))
        else:
            dc.Release.from_json(run_concealed(body))


def test_more_records_than_a_table_has_are_refused():
    body = golden("bernoulli")
    values = body["statistics"]["values"]
    body["records"], body["statistics"]["values"] = 2**63 - 1, [str(2**63 - 1)] * len(values)
    with pytest.raises(ReleaseFileError, match="number of records"):
        dc.Release.from_json(run_concealed(body))
    body["records"], body["statistics"]["values"] = MOST_RECORDS, [str(MOST_RECORDS // 2)] * len(values)
    assert dc.infer(dc.Release.from_json(run_concealed(body)), draws=40, rng=1).n_draws == 40


def test_private_counts_have_a_limit_too():
    body = golden("categorical-private-count")
    body["statistics"]["values"][0] = str(2 * MOST_RECORDS)
    with pytest.raises(ReleaseFileError, match="further from every possible total"):
        dc.Release.from_json(run_concealed(body))


def test_noise_beyond_integers_is_refused():
    body = golden("bernoulli")
    body["mechanism"]["scale"] = ["1" + "0" * 30] * len(body["mechanism"]["scale"])
    with pytest.raises(ReleaseFileError, match="64-bit"):
        dc.Release.from_json(run_concealed(body))


@pytest.mark.slow
def test_totals_that_contradict_the_model_end_in_one_line():
    """It ran for minutes: a normal model of values that are no normal's, by a trillion noise scales."""
    body = golden("normal-private-count")
    body["statistics"]["values"] = [str(10**18)] * 3
    release = dc.Release.from_json(run_concealed(body))
    with pytest.raises(EngineError, match="out of reach") as error:
        dc.infer(release, prior=release.family.suggested_prior(release.domain), draws=40, rng=1)
    assert "\n" not in error.value.message


def test_many_labels_cost_no_more_than_memory():
    rows = dc.Categorical(5000).geometry.basis("replace", "count").rows
    # one place each, not a row of zeros
    assert len(rows) == 5001
    assert isinstance(rows, UnitRows)


def test_sums_far_from_the_prior_leave_its_beta_positive():
    s, n = np.array([2e9, 2e18]), 2.0
    family = dc.Normal()
    updated = family.update(dc.priors.NormalInverseGamma(0, 1e-9, 1, 1e-10), family.project(s, n), n)
    assert updated.beta > 0  # pyright: ignore[reportAttributeAccessIssue]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path):
    with open(tmp_path / "large.json", "wb") as out:
        out.truncate(2**26 + 1)
    with pytest.raises(ReleaseFileError, match="so large"):
        dc.Release.load(tmp_path / "large.json")
    with pytest.raises(ReleaseFileError, match="so large"):
        dc.Release.from_json("[" + "{}," * 1_100_001)


# -- names ----------------------------------------------------------------------------------------------

ODD = ["x\ny", "x\ry", "x\x85y", "x\u2028y", "\x1b[2J", "\u202ex", "x\u200by", "\ud800", "", "a" * 201]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("field", ["columns", "dataset", "id", "software", "ledger"])
def test_odd_names_are_refused_on_loading(field: str, odd: str):
    body = golden("bernoulli-ledger")
    if field == "software":
        body["software"]["discreet"] = odd
    elif field == "ledger":
        body["ledger"]["id"] = odd
    else:
        body[field] = [odd] if field == "columns" else odd
    text = run_concealed(body)
    with pytest.raises(ReleaseFileError) as error:
        dc.Release.from_json(text)
    assert len(error.value.message.splitlines()) == 1


@pytest.mark.parametrize("odd", ["x\ny", "\u202ex", "a" * 201])
def test_odd_names_are_refused_on_release(odd: str):
    with pytest.raises(UsageError) as error:
        dc.release({odd: [0, 1, 1]}, dc.Bernoulli(), column=odd, epsilon=1)
    assert odd not in str(error.value)
    with pytest.raises(UsageError, match="dataset"):
        dc.release([0, 1, 1], dc.Bernoulli(), epsilon=1, dataset=odd)
    with pytest.raises(UsageError, match="column"):
        dc.models.NaiveBayes({odd: ["a", "b"]}, {"x": ["a", "b"]})


def test_odd_labels_are_escaped_wherever_they_are_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    labels = ["a", f"b\n{MARK}", "c” is all. The promise is “d", "\u202ee"]
    release = dc.release(["a", "a", labels[1]], dc.Categorical(labels), epsilon=1)
    said = release.statement()
    assert said.isprintable()
    assert f"“b\\n{MARK}”" in said
    assert "“c\\u201d is all. The promise is \\u201cd”" in said
    printed = str(dc.infer(release, draws=40, rng=1).summary())
    assert not any(line.startswith(MARK) for line in printed.splitlines())
    release.save(tmp_path / "odd.json")
    from discreet.cli import run as command

    for verb in (["show"], ["infer", "--draws", "40"]):
        assert command([verb[0], str(tmp_path / "odd.json"), *verb[1:]]) == 0
        assert not any(line.strip().startswith(MARK) for line in capsys.readouterr().out.splitlines())


def test_plain_labels_are_shown_as_they_are():
    assert [shown(x) for x in ("age", "é", "18-24")] == ["age", "é", "18-24"]
    assert [shown_label(x) for x in ("no", "18-24", "a b", "x. y", "x; y")] == [
        "no",
        "18-24",
        "a b",
        "“x. y”",
        "“x; y”",
    ]


def test_odd_names_in_profiles_are_refused():
    for odd in ("x\ny", "\u202e", "a" * 201, 10**40):
        with pytest.raises(UsageError):
            dc.profiles.ProfileGraph({odd: 0.2, "b": 0.3}, "complete")


# -- numbers --------------------------------------------------------------------------------------------


NO_NUMBERS: list[Any] = [
    True, np.True_, b"0.1", bytearray(b"1"), "0_1", "1_0", "١", "０.5", " 1", "1\n", "", "1e", "0x1", "nan", "inf",
    "1/0", "1/-3", Decimal("nan"), Decimal("snan"), Decimal("inf"), float("nan"), np.float64("inf"), 1j, None, [1],
    np.array([1.0]), np.timedelta64(3), "1e999999999", Decimal("1e999999999"), "1e-999999999", "9" * 5000, 10**5000,
]  # fmt: skip
NUMBERS: list[tuple[Any, str]] = [
    ("1e-1", "1/10"), (".5", "1/2"), ("5.", "5"), ("+1", "1"), ("1/3", "1/3"), (0.1, "1/10"), (np.float32(0.5), "1/2"),
    (np.int64(3), "3"),
]  # fmt: skip


def test_what_is_no_number_is_refused():
    for given in NO_NUMBERS:
        with pytest.raises(UsageError) as error:
            exact(given, "epsilon")
        assert len(error.value.message.splitlines()) == 1


def test_what_is_a_number_is_read():
    for given, meant in NUMBERS:
        assert exact(given, "epsilon") == Fraction(meant)


# -- files ----------------------------------------------------------------------------------------------


def test_files_are_written_with_the_umask_and_without_setting_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    old = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda _: pytest.fail("the umask belongs to all threads"))
            write_text(tmp_path / "one.json", "{}")
            threads = [
                threading.Thread(target=write_text, args=(tmp_path / "two.json", "{}")) for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}
        assert {path.name for path in tmp_path.iterdir()} == {"one.json", "two.json"}
    finally:
        os.umask(old)


# -- what samples say of themselves ---------------------------------------------------------------------


@pytest.mark.parametrize("least", ["0.03", "0.12", "0.15", "0.01", "1/7"])
def test_the_declared_support_holds_for_the_float_that_is_used(least: str, monkeypatch: pytest.MonkeyPatch):
    """0.03, 0.12 and 0.15 were rounded down, to a support that the temperature does not pay for."""
    from discreet.mechanisms import posterior_sampling, table_posterior

    used: list[float] = []

    def spy(alpha: Any, lower: float, size: int, rng: np.random.Generator, *, tries: Any) -> np.ndarray:
        used.extend(np.ravel(lower).tolist())
        return np.full((size, len(alpha)), 1 / len(alpha))

    for module in (posterior_sampling, table_posterior):
        monkeypatch.setattr(module, "sample_truncated_dirichlet", spy)
    one = dc.mechanisms.PosteriorSampling("dirichlet:1,1,1", epsilon=1, support=least)
    dc.release(["a", "b"], dc.Categorical(["a", "b", "c"]), mechanism=one, missing="none")
    tables = dc.mechanisms.TablePosterior(epsilon=1, support=least)
    rows = {"c": ["a", "b"], "d": ["x", "y"]}
    model = dc.models.NaiveBayes({"c": ["a", "b"]}, {"d": ["x", "y"]})
    dc.release(rows, model, mechanism=tables, missing="none")
    assert len(used) > 1
    assert all(Fraction(lower) >= Fraction(least) for lower in used)
    assert set(used) == {float_up(Fraction(least))}


def test_noisy_weights_are_said_to_be_floating_point():
    options: dict[str, Any] = {"epsilon": 5, "support": (0.1, 0.9), "trajectories": 2, "levels": 3}
    told = {}
    for weights in ("resample", "laplace"):
        mechanism = dc.mechanisms.PrivateAnnealing("beta:1,1", weights=weights, **options)
        release = dc.release([0, 1, 1], dc.Bernoulli(), mechanism=mechanism, missing="none")
        told[weights] = release.samples.arithmetic, "floating point" in release.statement()  # pyright: ignore[reportOptionalMemberAccess]
        assert dc.Release.from_json(release.to_json()) == release
        if weights == "laplace":
            # files from before say exact: they load, and the statement says what is true
            body = json.loads(release.to_json())
            body["samples"]["arithmetic"] = "exact"
            assert "floating point" in dc.Release.from_json(run_concealed(body)).statement()
    assert told == {"resample": ("exact", False), "laplace": ("floating", True)}

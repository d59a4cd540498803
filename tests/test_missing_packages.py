"""What runs without the packages that only some calls need, and the one line that the rest says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import DiscreetError, MissingPackageError
from discreet.extras import GROUPS, REQUIREMENTS, needed_for, require

ROOT = Path(__file__).parents[1]
SCRIPT = Path(__file__).with_name("lean_environment.py")
RELEASES = [
    *sorted((Path(dc.__file__).parent / "artifact" / "golden").glob("*.json")),
    *(
        ROOT / "docs" / "examples" / f"{name}.json"
        for name in ("network", "pressure", "smoking", "smoking-sample", "wards")
    ),
]
#: Files whose engine is compiled; all others are read without a compiler.
COMPILED = {
    "network.json",
    "pressure.json",
    "v1-bayesian-network.json",
    "v1-linear-regression-gaussian.json",
    "v1-linear-regression-k-norm-none-missing.json",
    "v1-linear-regression-k-norm-private-count.json",
    "v1-linear-regression-k-norm.json",
    "v1-linear-regression-private-count.json",
    "v1-linear-regression.json",
    "v1-logistic-k-norm.json",
    "v1-logistic-products.json",
    "v1-logistic-step.json",
    "v1-multivariate-normal-bought-bounds.json",
    "v1-multivariate-normal.json",
    "v1-negative-binomial.json",
    "v1-normal-fit-check.json",
    "v1-normal-private-count.json",
    "v1-normal.json",
    "v1-poisson-regression-step.json",
    "v1-poisson-regression.json",
}


def lean(
    python: str, *options: str, paths: Sequence[Path] = RELEASES
) -> tuple[dict, subprocess.CompletedProcess]:
    """Run the script and return what it printed."""
    done = subprocess.run(
        [python, str(SCRIPT), *options, *map(str, paths)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[0]), done


def check(found: dict, done: subprocess.CompletedProcess) -> None:
    """Raise unless every file was read, or one line says what it needs; and likewise for other calls."""
    for name, said in found["files"].items():
        if name in COMPILED:
            wanted = (
                "MissingPackageError: this computation needs numba, which is not installed: pip install numba"
            )
            # moments of regressions are drawn without a compiler where noise is small
            direct = "regression" in name or "logistic" in name
            assert said == wanted or (direct and said == "ok gibbs"), name
        else:
            assert said in ("ok exact", "ok gibbs", "ok grid", "ok tree", "ok samples"), name
    calls = found["calls"]
    assert calls["summary"] == "ok True"
    assert calls["names"] == "ok []"
    assert calls["conversion"].startswith("ok <epsilon = 0.299997 ")
    assert "pip install 'discreet[accounting]'" in calls["conversion"]
    for call, packages in {
        "plot": "matplotlib",
        "to_arviz": "arviz-base xarray",
        "release": "narwhals opendp duckdb pyarrow",
        "ledger": "sqlalchemy",
        "report": "matplotlib",
        "sklearn": "'discreet[sklearn]'",
    }.items():
        assert calls[call].startswith("MissingPackageError: "), call
        assert calls[call].endswith(f", which is not installed: pip install {packages}"), call
        assert "\n" not in calls[call]
    assert done.returncode == 1
    assert (
        done.stderr == "error: the command line needs rich, which is not installed: pip install rich typer\n"
    )
    assert not {"numba", "matplotlib", "narwhals", "duckdb", "opendp"} & set(found["loaded"])


def test_an_analyst_with_numpy_and_scipy_alone() -> None:
    check(*lean(sys.executable, "--pretend"))


def test_the_refusal_is_what_makes_the_difference() -> None:
    """The control: with everything installed the same script finds nothing missing."""
    found, done = lean(sys.executable, paths=[path for path in RELEASES if path.name == "smoking.json"])
    assert done.returncode == 0
    assert all(said.startswith("ok ") for said in found["files"].values())
    with pytest.raises(AssertionError):
        check(found, done)


@pytest.mark.slow
def test_an_environment_with_numpy_and_scipy_alone(tmp_path: Path) -> None:
    """The same in a real one, with the library installed without its dependencies."""
    venv.create(tmp_path / "lean", with_pip=True)
    python = str(tmp_path / "lean" / "bin" / "python")
    for arguments in (
        ["numpy", "scipy"],
        ["setuptools>=77"],
        ["--no-deps", "--no-build-isolation", str(ROOT)],
    ):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *arguments], check=True, timeout=600)
    check(*lean(python))
    script = subprocess.run([tmp_path / "lean" / "bin" / "discreet", "demo"], capture_output=True, text=True)
    assert script.returncode == 1
    assert script.stderr.count("\n") == 1


DECISIONS = """
import sys
# neither the package nor what it would be used for
sys.modules["dp_accounting"] = None
sys.modules["discreet.privacy.tight"] = None
import json
import discreet as dc

for path in sys.argv[2:]:
    dc.Release.load(path)
ledger = dc.Ledger("sqlite:///" + sys.argv[1], budget=dc.ApproxDP(3, "1e-5"))
rows = {"smoker": [1, 0, 0, 1] * 50, "age": [30.0, 40.0, 50.0, 60.0] * 50}
granted = []
for epsilon in (1, "0.5", "0.5", 5, "0.25"):
    try:
        dc.release(rows, dc.Bernoulli(), column="smoker", epsilon=epsilon, ledger=ledger, dataset="clinic")
        granted.append(True)
    except dc.errors.BudgetError:
        granted.append(False)
print(json.dumps({"granted": granted, "loaded": "dp_accounting.rdp" in sys.modules}))
"""


@pytest.mark.parametrize("blocked", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_no_decision_depends_on_the_accounting_extra(blocked: bool, tmp_path: Path) -> None:
    """Every golden file loads and a ledger grants the same charges, with and without dp-accounting."""
    code = (
        DECISIONS
        if blocked
        else "\n".join(line for line in DECISIONS.splitlines() if not line.startswith("sys.modules["))
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "budget.db"), *map(str, RELEASES)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"granted": [True, True, True, False, True], "loaded": False}


def test_nothing_is_charged_where_no_noise_can_be_drawn(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["opendp"] = None
import discreet as dc
ledger = dc.Ledger("sqlite:///" + sys.argv[1], budget=dc.PureDP(3))
try:
    dc.release({"x": [0, 1]}, dc.Bernoulli(), column="x", epsilon=1, ledger=ledger, dataset="clinic")
except dc.errors.MissingPackageError as error:
    print(error)
try:
    print(ledger.account("clinic"))
except dc.errors.UsageError as error:
    print(error.message)
"""
    arguments = [sys.executable, "-c", code, str(tmp_path / "budget.db")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    said = done.stdout.splitlines()
    assert said[0] == "a release needs opendp, which is not installed: pip install opendp"
    assert said[1] == "the ledger has no data set 'clinic'.", done.stderr


def test_one_line_for_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError) as caught:
        require("matplotlib", "a plot")
    assert str(caught.value) == "a plot needs matplotlib, which is not installed: pip install matplotlib"
    assert isinstance(caught.value, DiscreetError)
    assert isinstance(caught.value, ImportError)
    assert {name for group in GROUPS for name in group} <= set(REQUIREMENTS)


def test_other_failed_imports_are_not_hidden() -> None:
    """A module of our own that is missing is a bug, and says so."""
    with pytest.raises(ModuleNotFoundError) as caught, needed_for("nothing"):
        import discreet.no_such_module  # pyright: ignore[reportMissingImports] # noqa: F401
    assert not isinstance(caught.value, MissingPackageError)

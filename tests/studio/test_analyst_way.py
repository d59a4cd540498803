"""The analyst's way: files in, posteriors under a chosen prior, and what is taken away; without the private side."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the studio's packages are not there: pip install 'discreet[studio]'")

import discreet as dc
from discreet.studio.open_readings import DRAWS
from tests.studio.visitor import ORIGIN, Visitor

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    made = Visitor(tmp_path_factory.mktemp("analyst") / "studio", analyst=True)
    grouped = dc.release(
        dc.datasets.clinic_survey(), dc.Bernoulli(), column="smoker", by="sex", groups=["F", "M"], epsilon=1
    )
    files = [
        ("files", (name, (EXAMPLES / name).read_bytes())) for name in ("smoking.json", "blood-pressure.json")
    ]
    files.append(("files", ("by-sex.json", grouped.to_json().encode())))
    answer = made.client.post(
        f"{made.base}/read/drop", data={"_csrf": made.csrf}, files=files, headers={"origin": ORIGIN}
    )
    assert answer.status_code == 200
    return made


def test_the_page_tells_what_infer_tells(visitor: Visitor) -> None:
    page = visitor.get("/read/smoking").text
    low, high = dc.infer(EXAMPLES / "smoking.json", draws=DRAWS, rng=0).interval(0.95)["p"]
    found = re.findall(r"([\d.]+) – ([\d.]+)", page)[0]
    assert [float(x) for x in found] == pytest.approx([low, high], abs=6e-4)
    assert "<svg" in page
    assert "Publish" not in page


def test_a_prior_is_recomputed_and_taken_away(visitor: Visitor) -> None:
    page = visitor.post(
        "/read/smoking/prior", {"prior-0": "90", "prior-1": "50"}, headers={"hx-request": "true"}
    ).text
    prior = re.findall(r"<code>(beta:[^<]+)</code>", page)[0]
    low, high = dc.infer(EXAMPLES / "smoking.json", prior=prior, draws=DRAWS, rng=0).interval(0.95)["p"]
    found = re.findall(r"([\d.]+) – ([\d.]+)", page)[0]
    assert [float(x) for x in found] == pytest.approx([low, high], abs=6e-4)
    assert prior in visitor.get("/read/smoking/draws.py").text
    notebook = json.loads(visitor.get("/read/smoking/draws.ipynb").text)
    assert any(prior in "".join(cell["source"]) for cell in notebook["cells"])
    visitor.post("/read/smoking/prior", {"weak": "1"})
    assert "prior=" not in visitor.get("/read/smoking/draws.py").text
    bad = visitor.post("/read/smoking/prior", {"prior-0": "nan", "prior-1": "x"})
    assert bad.status_code == 400


def test_draws_report_and_code(visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import xarray as xr

    table = list(csv.DictReader(io.StringIO(visitor.get("/read/smoking/draws.csv").text)))
    mine = dc.infer(EXAMPLES / "smoking.json", draws=DRAWS, rng=0)
    assert np.array([float(row["p"]) for row in table]) == pytest.approx(mine.draws["p"])
    (tmp_path / "draws.nc").write_bytes(visitor.get("/read/smoking/draws.nc").content)
    assert xr.open_datatree(tmp_path / "draws.nc", engine="h5netcdf")["posterior"]["p"].size == DRAWS
    report = visitor.get("/read/report.html?of=smoking")
    assert report.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert "<h1>" in report.text
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smoking.json").write_bytes((EXAMPLES / "smoking.json").read_bytes())
    exec(compile(visitor.get("/read/smoking/draws.py").text, "taken", "exec"), {})


def test_groups_are_compared(visitor: Visitor) -> None:
    page = visitor.post(
        "/read/by-sex/compare", {"one": "M", "other": "F"}, headers={"hx-request": "true"}
    ).text
    assert "M minus F" in page
    assert "is higher with probability" in page
    assert visitor.post("/read/by-sex/compare", {"one": "M", "other": "nobody"}).status_code == 400


def test_what_is_no_release_is_one_line(visitor: Visitor) -> None:
    for content in (b"{}", b"\xff\xfe", b"[" * 100_000, (EXAMPLES / "smoking.json").read_bytes()[:-20]):
        answer = visitor.client.post(
            f"{visitor.base}/read/drop",
            data={"_csrf": visitor.csrf},
            files=[("files", ("x.json", content))],
            headers={"origin": ORIGIN},
        )
        assert answer.status_code == 400
        assert "<h1>That did not work</h1>" in answer.text


def test_curator_pages_are_not_there(visitor: Visitor) -> None:
    assert visitor.get("/curate/0123456789abcdef/data").status_code == 404
    assert visitor.post("/curate/new").status_code == 404


def test_the_analyst_mode_runs_without_the_private_side() -> None:
    program = """
import sys, tempfile, pathlib
sys.modules.update(dict.fromkeys(["opendp", "duckdb", "narwhals", "pyarrow", "sqlalchemy"]))
from tests.studio.visitor import Visitor, ORIGIN
made = Visitor(pathlib.Path(tempfile.mkdtemp()), analyst=True)
content = pathlib.Path("docs/examples/smoking.json").read_bytes()
made.client.post(made.base + "/read/drop", data={"_csrf": made.csrf}, files=[("files", ("s.json", content))],
    headers={"origin": ORIGIN})
assert made.get("/read/s").status_code == 200
private = ("curator", "data", "mechanisms", "samplers", "planning", "studio.curator_routes", "studio.drafts")
print(sorted(name for name in sys.modules if name.startswith(tuple(f"discreet.{one}" for one in private))))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr

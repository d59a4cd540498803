"""The report: one page that stands alone, tells what the summary tells, and lets no name become markup."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.cli import run
from discreet.errors import DiscreetError, UsageError

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


def quantiles(page: str) -> list[dict[str, object]]:
    found = re.search(r'<script type="application/json" id="quantiles">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_page_tells_what_the_posterior_tells(tmp_path: Path) -> None:
    path = dc.report(EXAMPLES / "smoking.json", tmp_path / "report.html")
    page = path.read_text(encoding="utf-8")
    posterior = dc.infer(EXAMPLES / "smoking.json", rng=0)
    low, high = posterior.interval(0.95)["p"]
    assert f"{low:.4f} to {high:.4f}" in page or f"{low:.3f} to {high:.3f}" in page
    assert dc.Release.load(EXAMPLES / "smoking.json").statement()[:60] in unescape(page)
    for warning in posterior.diagnostics.warnings:
        # warnings come before the answer
        assert page.index(escape(warning)) < page.index('class="answer"')
    first = quantiles(page)[0]["values"]
    assert np.interp(0.5, np.linspace(0, 1, 401), np.asarray(first)) == pytest.approx(
        float(posterior.median()["p"]), rel=1e-4
    )
    assert "How much the prior matters" in page


def test_the_page_stands_alone(tmp_path: Path) -> None:
    sources = [EXAMPLES / name for name in ("smoking.json", "blood-pressure.json")]
    page = dc.report(sources, tmp_path / "both.html").read_text(encoding="utf-8")
    assert len(page) < 1_500_000
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", page)
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


def test_names_are_text_and_never_markup(tmp_path: Path) -> None:
    label = "</script><img src=x onerror=alert(1)>"
    release = dc.release(["a", "b", label] * 30, dc.Categorical(["a", "b", label]), epsilon=1)
    page = dc.report(release, tmp_path / "page.html", title="<b>bold</b>").read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert "<b>bold" not in page


def test_groups_are_a_forest(tmp_path: Path, rng: np.random.Generator) -> None:
    data = {"x": rng.random(400) < 0.4, "g": ["north", "south"] * 200}
    release = dc.release(data, dc.Bernoulli(), column="x", by="g", groups=["north", "south"], epsilon=2)
    page = dc.report(release, tmp_path / "groups.html").read_text(encoding="utf-8")
    assert page.count("<circle") == 2
    assert "north" in page


def test_an_altered_file_and_a_wrong_name_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    altered = tmp_path / "altered.json"
    altered.write_text((EXAMPLES / "smoking.json").read_text().replace("smoker", "drinker"))
    with pytest.raises(DiscreetError, match=r"altered|damaged|checksum"):
        dc.report(altered, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
    with pytest.raises(UsageError, match="web page"):
        dc.report(EXAMPLES / "smoking.json", tmp_path / "page.pdf")
    with pytest.raises(UsageError, match="about releases"):
        dc.report(3, tmp_path / "page.html")
    assert run(["report", str(altered), "-o", str(tmp_path / "page.html")]) == 4
    assert capsys.readouterr().err.count("error:") == 1


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.html"
    assert run(["report", str(EXAMPLES / "blood-pressure.json"), "-o", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [str(target)]
    assert "Mean of systolic_bp" in target.read_text(encoding="utf-8")


def test_what_the_curator_declared_is_said_as_text(tmp_path: Path) -> None:
    made = dc.release(
        [0, 1] * 50, dc.Bernoulli(), epsilon=1,
        about={"curators": ["Clinic", "Office"], "intended_use": "<script>alert(1)</script>"},
    )  # fmt: skip
    page = dc.report(made, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<dt>curators</dt><dd>Clinic; Office</dd>" in page
    assert "<dd>&lt;script&gt;alert(1)&lt;/script&gt;</dd>" in page


def test_regressions_begin_with_a_coefficient(tmp_path: Path, rng: np.random.Generator) -> None:
    rows = {"y": rng.uniform(0, 1, 300), "age": rng.uniform(20, 90, 300)}
    model = dc.models.LinearRegression("y", ["age"], bounds={"y": (0, 1), "age": (18, 100)})
    release = dc.release(rows, model, rho=5)
    release.save(tmp_path / "line.json")
    dc.report(tmp_path / "line.json", path=tmp_path / "line.html")
    page = (tmp_path / "line.html").read_text()
    assert "Linear regression of y: coefficient of age about <strong>" in page
    with pytest.raises(UsageError, match="takes no 'parameter'"):
        dc.infer(release, draws=400).plot(parameter="age")

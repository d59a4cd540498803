"""The report in a real browser: no error, nothing that overflows, accessible, and its script does what it says.

`make test-browser` installs what this needs; without it the tests are skipped, visibly.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from tests.browser.chromium import CHROMIUM, QUIET, needs_chromium

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not there: make test-browser")
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe is not there: make test-browser"
)

EXAMPLES = Path(__file__).parents[2] / "docs/examples"

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def demo_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from discreet.cli import run

    folder = tmp_path_factory.mktemp("demo")
    assert run(["demo", "-o", str(folder)]) == 0
    return folder / "report.html"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return dc.report([EXAMPLES / "smoking.json", EXAMPLES / "blood-pressure.json"], folder / "report.html")


@pytest.mark.parametrize("which", ["page_file", "demo_page"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_sound(
    browser: Any, request: pytest.FixtureRequest, width: int, theme: str, which: str
) -> None:
    page_file: Path = request.getfixturevalue(which)
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda problem: said.append(str(problem)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    assert not said
    assert asked == [page_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("svg[role=img]").count() >= 3
    found = axe.Axe().run(page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    context.close()


def test_the_picture_in_the_readme_is_the_report(tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    from scripts import make_report_picture

    make_report_picture.main(tmp_path / "report.png")
    taken, kept = (
        np.asarray(Image.open(path).convert("L"), dtype=float)
        for path in (tmp_path / "report.png", make_report_picture.TARGET)
    )
    assert taken.shape == kept.shape
    # other fonts and rasterizers move edges; another number, sentence or curve moves more
    assert np.abs(taken - kept).mean() < 3.0


def test_a_smaller_probability_makes_a_narrower_interval(browser: Any, page_file: Path) -> None:
    page = browser.new_page()
    page.goto(page_file.as_uri())

    def ends() -> tuple[float, float]:
        low, high = page.locator('[data-interval="q0"]').first.inner_text().split(" to ")
        return float(low), float(high)

    wide = ends()
    page.locator("#probability").focus()
    for _ in range(45):
        page.keyboard.press("ArrowLeft")
    narrow = ends()
    assert page.locator("#probability-shown").inner_text() == "50%"
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    middle = dc.infer(EXAMPLES / "smoking.json", rng=0).interval(0.5)["p"]
    assert narrow == pytest.approx(middle, abs=6e-4)
    page.close()

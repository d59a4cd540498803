"""The studio in a real browser: the whole way of a curator and of an analyst, at both widths, light and dark.

`make test-browser` installs what this needs; without it the tests are skipped, visibly. With the environment variable
STUDIO_PICTURES set to a folder, every page is photographed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from tests.browser.chromium import CHROMIUM, QUIET, needs_chromium
from tests.studio.served import Served

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not there: make test-browser")
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe is not there: make test-browser"
)
pytest.importorskip("uvicorn", reason="the studio's packages are not there: make test-browser")

PICTURES = os.environ.get("STUDIO_PICTURES")
PATIENCE = 240_000

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


class Walker:
    """One browser window: what it said, what it asked for, and whether its pages are sound."""

    def __init__(self, browser: Any, served: Served, width: int, theme: str) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            accept_downloads=True,
            locale="en-US",
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.text} {message.location}"))
        self.page.on("pageerror", lambda problem: self.said.append(str(problem)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.name, self.count = f"{width}-{theme}", 0
        self.page.goto(served.entrance.as_uri())
        self.page.wait_for_selector("main h1")

    def look(self, name: str) -> None:
        """Check the page that is shown."""
        assert not self.said, name
        assert self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        found = axe.Axe().run(self.page).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == [], name
        if PICTURES:
            self.count += 1
            self.page.screenshot(path=f"{PICTURES}/{self.name}-{self.count:02d}-{name}.png", full_page=True)

    def ask(self, kind: str, fields: dict[str, str]) -> None:
        """Add a question."""
        self.page.click(f"button.kind[value={kind}]")
        self.page.wait_for_selector(f"#fields input[name=kind][value={kind}]", state="attached")
        for name, value in fields.items():
            place = self.page.locator(f"#fields [name={name}]")
            if place.evaluate("e => e.tagName") == "SELECT":
                place.select_option(value)
            else:
                place.fill(value)
        self.page.click("#fields button.main")
        self.page.wait_for_load_state()

    def end(self) -> None:
        assert all(one.startswith(("http://127.0.0.1:", "file://", "blob:")) for one in self.asked)
        assert self.page.evaluate("localStorage.length + sessionStorage.length") == 0
        assert not self.said
        self.context.close()


def curate(walker: Walker, ledger: Path, *, new: bool) -> None:
    """Walk from the first page to the files."""
    page = walker.page
    walker.look("home")
    page.click("text=Publish from a table")
    page.wait_for_selector("#data")
    walker.look("data")
    page.click("text=Try it with an invented clinic survey")
    page.wait_for_selector("#records")
    walker.look("unit")
    page.click("button.main")
    page.wait_for_selector("button.kind")
    walker.ask("share", {"column": "smoker"})
    walker.ask("average", {"column": "age", "low": "18", "high": "100", "unit_label": "years"})
    walker.ask("share", {"column": "smoker", "by": "sex", "groups": "F, M"})
    page.wait_for_selector("li.row >> nth=2")
    page.click("button.kind[value=predicts]")
    page.wait_for_selector("#features")
    walker.look("questions")
    page.click("text=On to the budget")
    page.wait_for_selector("#plan svg")
    page.wait_for_selector("#plan [role=status]", state="detached")
    walker.look("budget")
    page.fill("#ledger", str(ledger))
    page.fill("#dataset", "clinic")
    if new:
        page.fill("#new_epsilon", "20")
        page.click("text=Look into the ledger")
        page.wait_for_selector("text=has left")
    page.click(".onward button.main")
    page.wait_for_selector("input[name=seal]", state="attached")
    walker.look("review")
    # twice, as impatient people do
    page.locator("form[data-once] button.main").dblclick(no_wait_after=True)
    page.wait_for_selector("text=These files are protected")
    walker.look("done")


def read(walker: Walker, files: list[Path]) -> None:
    """Walk from release files to a report."""
    page = walker.page
    page.click("header >> text=Read releases")
    page.wait_for_selector("#files")
    walker.look("read")
    page.set_input_files("#files", [str(one) for one in files])
    page.wait_for_selector("main li.row")
    page.click("main li.row a >> nth=0")
    page.wait_for_selector("#told svg")
    walker.look("reading")
    before = page.inner_text("#told .answer")
    page.locator("#prior-0").fill("95")
    # the policy of the page forbids eval, which playwright's own waiting for an expression needs
    playwright.expect(page.locator("#told .answer")).not_to_have_text(before, timeout=PATIENCE)
    assert "beta:" in page.inner_text("#prior")
    with page.expect_download() as saved:
        page.click("text=Report (HTML)")
    assert "<h1>" in Path(saved.value.path()).read_text()
    page.click("header >> text=Read releases")
    page.click("main li.row a >> nth=2")
    page.wait_for_selector("#one")
    page.select_option("#one", "M")
    page.select_option("#other", "F")
    page.wait_for_selector("#compared >> text=is higher with probability")
    walker.look("groups")


def test_a_curator_and_an_analyst_at_both_widths_light_and_dark(browser: Any, tmp_path: Path) -> None:
    ledger = tmp_path / "budget.db"
    looks = [(1280, "light"), (390, "dark"), (1280, "dark"), (390, "light")]
    for k, (width, theme) in enumerate(looks):
        folder = tmp_path / f"studio-{k}"
        served = Served(folder)
        try:
            walker = Walker(browser, served, width, theme)
            curate(walker, ledger, new=k == 0)
            read(
                walker,
                sorted(folder.glob("drafts/*/files/*.json"), key=lambda one: one.name != "smoker-share.json"),
            )
            walker.end()
        finally:
            served.kill()
    kept = dc.Ledger(f"sqlite:///{ledger}")
    kinds = [entry.kind for entry in kept.entries()]
    assert kinds.count("charge") == kinds.count("released") == 3 * len(looks)
    assert kept.verify(against=list(tmp_path.glob("studio-*/drafts/*/files/*.json"))).problems == ()


def test_the_keyboard_is_enough(browser: Any, tmp_path: Path) -> None:
    served = Served(tmp_path / "studio")
    try:
        walker = Walker(browser, served, 1280, "light")
        page = walker.page

        def reach(selector: str) -> None:
            wanted = page.locator(selector).first
            for _ in range(80):
                page.keyboard.press("Tab")
                if wanted.evaluate("e => e === document.activeElement"):
                    return
            raise AssertionError(f"the keyboard does not reach {selector}")

        reach("form[action$='/curate/new'] button")
        page.keyboard.press("Enter")
        page.wait_for_selector("#data")
        reach("button[name=example]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#records")
        reach("button.main")
        page.keyboard.press("Enter")
        page.wait_for_selector("button.kind")
        reach("button.kind[value=share]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#fields #column")
        reach("#fields #column")
        page.keyboard.type("smoker")
        reach("#fields button.main")
        page.keyboard.press("Enter")
        page.wait_for_selector("main li.row")
        reach("a.main")
        page.keyboard.press("Enter")
        page.wait_for_selector("#epsilon-slide")
        reach("#epsilon-slide")
        page.keyboard.press("ArrowRight")
        reach(".onward button.main")
        page.keyboard.press("Enter")
        page.wait_for_selector("input[name=seal]", state="attached")
        reach("form[data-once] button.main")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=These files are protected")
        walker.end()
    finally:
        served.kill()
    assert len(list((tmp_path / "studio").glob("drafts/*/files/*.json"))) == 1

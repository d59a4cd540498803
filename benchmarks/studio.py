"""The studio on this machine: how soon its first page is there, how soon a picture follows a slider, and its memory.

    python benchmarks/studio.py [--check] [--rounds 5] [--gigabytes 2]

A real server process is started for each part. The first page is timed from the start of the process to the last byte
of the page; beside it, in turn, a process that only imports what serves pages (uvicorn, Starlette, Jinja2), which tells
how busy the machine is. The picture is timed in Chromium, from the slider's event to the frame after the new picture;
without playwright and Chromium that part is not run, and said so. Memory is the peak of the server's process
(``VmHWM``) while a CSV file of that many gigabytes is named, or uploaded, and two questions about it are planned and
released. ``--check`` exits with 1 if the first page takes over 1 second, a picture over 200 ms (medians), or the peak
is above 500 MB.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.studio.served import Served, seal

FIRST_PAGE_SECONDS, PICTURE_MILLISECONDS, PEAK_MEGABYTES = 1.0, 200.0, 500.0
PEER = "import uvicorn, jinja2, starlette.applications, starlette.routing, python_multipart"
SHARE = {"kind": "share", "column": "smoker"}
AVERAGE = {"kind": "average", "column": "age", "low": "18", "high": "100"}
#: Moves the slider 30 times, and returns the milliseconds from each move to the frame that shows its picture.
FOLLOW = """
async () => {
  const slider = document.getElementById("epsilon-slide"), plan = document.getElementById("plan"), waits = [];
  for (let k = 0; k < 30; k++) {
    const began = performance.now();
    const changed = new Promise((done) => {
      const seen = new MutationObserver(() => {
        if (plan.querySelector("svg")) { seen.disconnect(); requestAnimationFrame(() => done(performance.now())); }
      });
      seen.observe(plan, { childList: true });
    });
    slider.value = -100 + 5 * k;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    waits.push((await changed) - began);
    await new Promise((done) => setTimeout(done, 100));
  }
  return waits;
}
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a figure is above its limit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    options = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        times = [_first_page(Path(folder, f"first-{k}")) for k in range(options.rounds)]
        page, busy, peer = (statistics.median(each) for each in zip(*times, strict=True))
        failed |= page > FIRST_PAGE_SECONDS
        print(f"first page    {page:.2f} s from the start of the process (limit {FIRST_PAGE_SECONDS:.0f});")
        print(
            f"              {busy:.2f} s of it on a processor; importing what serves pages takes {peer:.2f} s"
        )
        waits = _pictures(Path(folder, "pictures"))
        if waits is None:
            print("NOT RUN: the picture that follows a slider, because playwright or Chromium is not there")
        else:
            middle = statistics.median(waits)
            failed |= middle > PICTURE_MILLISECONDS
            print(f"picture       {middle:.0f} ms after the slider (median of {len(waits)}; limit 200)")
        rows = Path(folder, "rows.csv")
        _write_rows(rows, int(options.gigabytes * 1e9))
        for way, peak, seconds in _large(Path(folder), rows):
            failed |= peak > PEAK_MEGABYTES
            print(
                f"{way:<13} {peak:.0f} MB at most, {seconds:.0f} s, {rows.stat().st_size / 1e9:.1f} GB (limit 500 MB)"
            )
    return int(options.check and failed)


def _first_page(folder: Path) -> tuple[float, float, float]:
    began = time.perf_counter()
    served = Served(folder)
    try:
        served.enter()
        taken = time.perf_counter() - began
        user, system = Path(f"/proc/{served.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        busy = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    finally:
        served.kill()
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", PEER], check=True)
    return taken, busy, time.perf_counter() - began


def _pictures(folder: Path) -> list[float] | None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        playwright: Any = importlib.import_module("playwright.sync_api")
    except ImportError:
        return None
    if chromium is None:
        return None
    served = Served(folder)
    try:
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-sync"]
            )
            page = browser.new_page()
            page.set_default_timeout(240_000)
            page.goto(served.entrance.as_uri())
            page.click("text=Publish from a table")
            page.click("text=Try it with an invented clinic survey")
            page.click("button.main")
            for question in (SHARE, AVERAGE):
                _ask(page, question)
            page.click("text=On to the budget")
            page.wait_for_selector("#plan svg")
            page.wait_for_selector("#plan [role=status]", state="detached")
            waits = page.evaluate(FOLLOW)
            browser.close()
    finally:
        served.kill()
    return waits


def _ask(page: Any, question: dict[str, str]) -> None:
    page.click(f"button.kind[value={question['kind']}]")
    page.wait_for_selector(f"#fields input[name=kind][value={question['kind']}]", state="attached")
    page.select_option("#column", question["column"])
    for name in ("low", "high"):
        if name in question:
            page.fill(f"#{name}", question[name])
    page.click("#fields button.main")
    page.wait_for_load_state()


def _write_rows(path: Path, size: int) -> None:
    """Write a CSV file of about that many bytes; what is in it does not matter."""
    block = "".join(
        f"{18 + k % 80},{'FM'[k % 2]},{('no', 'yes')[k % 3 == 0]},note number {k}\n" for k in range(200_000)
    )
    with open(path, "w") as out:
        out.write("age,sex,smoker,note\n")
        while out.tell() < size:
            out.write(block)


def _large(folder: Path, rows: Path) -> list[tuple[str, float, float]]:
    """Release two questions about a large file that is named, and about one that is uploaded."""
    found = []
    for way in ("named", "uploaded"):
        served = Served(folder / way)
        try:
            served.enter()
            began = time.perf_counter()
            draft = served.post("/curate/new").removesuffix("/data")
            if way == "named":
                served.post(f"{draft}/data", {"data": str(rows)})
            else:
                _upload(served, draft, rows)
            served.post(f"{draft}/unit", {"unit": "", "records": "50000000", "neighbors": "replace"})
            for question in (SHARE, AVERAGE):
                served.post(f"{draft}/ask", question)
            while "delay:700ms" in served.get(f"{draft}/budget"):
                # the plan is being simulated, which counts too
                time.sleep(0.5)
            served.post(f"{draft}/release", {"seal": seal(served.get(f"{draft}/review"))})
            if len(served.finish(draft)) != 2:
                raise SystemExit(f"the file that was {way} was not released")
            found.append((way, _peak(served), time.perf_counter() - began))
        finally:
            served.kill()
    return found


def _upload(served: Served, draft: str, rows: Path) -> None:
    connection = HTTPConnection("127.0.0.1", served.port, timeout=600)
    headers = {
        **served.headers,
        "origin": f"http://127.0.0.1:{served.port}",
        "x-csrf-token": served.csrf,
        "x-file-name": rows.name,
        "content-length": str(rows.stat().st_size),
    }
    with open(rows, "rb") as content:
        connection.request("POST", f"{served.base}{draft}/upload", content, headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise SystemExit(f"the upload was answered with {answer.status}")
        answer.read()
    connection.close()


def _peak(served: Served) -> float:
    """Return the most memory that the server ever held, in megabytes."""
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024 / 1e6


if __name__ == "__main__":
    sys.exit(main())

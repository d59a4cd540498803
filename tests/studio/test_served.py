"""The studio as a process: killed at any moment, asked by many tabs at once, and looked at by another user."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the studio's packages are not there: pip install 'discreet[studio]'")
pytest.importorskip("uvicorn", reason="the studio's packages are not there: pip install 'discreet[studio]'")

import discreet as dc
from tests.studio.served import Served
from tests.studio.test_curator_way import QUESTIONS


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    made = dc.Ledger.create(f"sqlite:///{tmp_path}/budget.db")
    made.open("clinic", dc.PureDP(100))
    return made


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Start servers on one folder; whatever happens, none of them outlives the test."""
    made: list[Served] = []

    def begin(*options: str, enter: bool = True) -> Served:
        made.append(Served(tmp_path / "studio", *options))
        if enter:
            made[-1].enter()
        return made[-1]

    yield begin
    for one in made:
        one.kill()


def entries(ledger: dc.Ledger, kind: str) -> int:
    return sum(entry.kind == kind for entry in ledger.entries())


@pytest.mark.parametrize("moments", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_server_that_is_killed_charges_once_and_releases_nothing_uncharged(
    tmp_path: Path, ledger: dc.Ledger, start: Callable[..., Served], moments: int
) -> None:
    """A release is begun, the server killed at a random moment of it, and the release finished by the next server."""
    rng, questions = random.Random(20261118), QUESTIONS[:2]
    found: list[str] = []
    unfinished, takes = 0, 0.0
    served = start()
    for _ in range(2):
        # the second one tells how long it takes
        draft, sealed = served.draft(questions, tmp_path / "budget.db", "1")
        began = time.monotonic()
        served.post(f"{draft}/release", {"seal": sealed})
        found += served.finish(draft).values()
        takes = time.monotonic() - began
    for k in range(moments):
        draft, sealed = served.draft(questions, tmp_path / "budget.db", "1")
        served.post(f"{draft}/release", {"seal": sealed})
        time.sleep(rng.uniform(0, takes))
        # whoever looked in time saw these, and nothing is seen that was not charged and noted
        seen = served.files(draft) if k % 2 else {}
        served.kill()
        charged, noted = entries(ledger, "charge"), entries(ledger, "released")
        assert len(seen) <= noted - 2 * (k + 2) <= charged - 2 * (k + 2) <= 2
        there = list((tmp_path / "studio").glob(f"drafts/{draft.rpartition('/')[2]}/files/*.json"))
        assert len(there) <= noted - 2 * (k + 2)
        unfinished += len(there) < 2
        served = start()
        made = served.finish(draft)
        assert len(made) == 2
        assert seen.items() <= made.items()
        found += made.values()
        assert entries(ledger, "charge") == entries(ledger, "released") == 2 * (k + 3)
    releases = [dc.Release.from_json(one) for one in found]
    assert len({one.id for one in releases}) == 2 * (moments + 2)
    assert ledger.verify(against=releases).problems == ()
    spent = sum(one.guarantee.budgets()["epsilon"] for one in releases)
    assert ledger.account("clinic").spent["epsilon"] == spent
    print(f"{moments} kills, {unfinished} of them before the release was finished")
    assert moments < 20 or unfinished


def test_two_tabs_a_reload_and_the_back_button_during_a_release(
    tmp_path: Path, ledger: dc.Ledger, start: Callable[..., Served]
) -> None:
    served = start()
    draft, sealed = served.draft(QUESTIONS, tmp_path / "budget.db", "1")

    def press(k: int) -> object:
        # tabs that press the same button, reload the page of files, and go back to the review
        if k % 3 == 0:
            return served.post(f"{draft}/release", {"seal": sealed})
        return served.ask("GET", f"{served.base}{draft}/{'done' if k % 3 == 1 else 'review'}")[0]

    with ThreadPoolExecutor(8) as tabs:
        said = list(tabs.map(press, range(24)))
    assert set(said) == {f"{draft}/done", 200}
    made = served.finish(draft)
    # back on the review page, and once more
    served.post(f"{draft}/release", {"seal": sealed})
    assert served.finish(draft) == made
    assert len(made) == 3
    assert entries(ledger, "charge") == entries(ledger, "released") == 3
    assert ledger.verify(against=[dc.Release.from_json(one) for one in made.values()]).problems == ()


def test_two_servers_on_one_folder_make_one_release(
    tmp_path: Path, ledger: dc.Ledger, start: Callable[..., Served]
) -> None:
    one, other = start(), start()
    draft, sealed = one.draft(QUESTIONS[:2], tmp_path / "budget.db", "1")
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda each: each.post(f"{draft}/release", {"seal": sealed}), (one, other)))
    made = one.finish(draft)
    assert other.finish(draft) == made
    assert entries(ledger, "charge") == entries(ledger, "released") == 2


#: What another user of the machine can find out: everything under /proc and the folder that they may read.
SNOOP = """
import os, pathlib, sys, urllib.request, urllib.error
folder, port = sys.argv[1], sys.argv[2]
for one in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("cmdline", "environ", "comm", "maps"):
        try:
            print((one / name).read_bytes().replace(b"\\0", b" ").decode("utf-8", "replace"))
        except OSError:
            pass
for top, folders, files in os.walk(folder):
    print("LISTED", top, folders, files)
for path in ("/", "/enter", "/read", "/static/studio.css", "/curate/new"):
    try:
        print("STATUS", urllib.request.urlopen(f"http://127.0.0.1:{port}{path}").status)
    except urllib.error.HTTPError as refused:
        print("STATUS", refused.code, refused.read(), dict(refused.headers))
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, to ask as another user: nobody"
)
def test_another_user_without_the_token_gets_nothing_and_finds_it_nowhere(
    tmp_path: Path, start: Callable[..., Served]
) -> None:
    def seen(port: int) -> str:
        python = os.path.realpath(sys.executable)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-I", "-"]
        done = subprocess.run(
            [*command, str(tmp_path / "studio"), str(port)],
            input=SNOOP, capture_output=True, text=True, cwd="/", env={},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-500:]
        return done.stdout

    served = start("--analyst", enter=False)
    before = seen(served.port)
    served.enter()
    after = seen(served.port)
    for found in (before, after):
        # the control: the process itself is seen, and so are the refusals
        assert f"studio --no-browser --folder {tmp_path}" in found
        assert "STATUS 404" in found
        assert "STATUS 200" not in found
        assert "LISTED" not in found
        assert not [one for one in (*served.secrets(), served.entrance.name) if one in found]

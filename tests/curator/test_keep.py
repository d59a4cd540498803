"""A kept release: one charge and one draw, whatever happens in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import DataError, UsageError

ROWS = {"smoker": ["yes"] * 40 + ["no"] * 60, "region": ["north"] * 50 + ["south"] * 50}
#: Where a process is killed, and whether a file was durable by then.
PLACES = {
    "before the charge": "import discreet.curator.charge as m; m.Payer.charge = die",
    "after the charge": "import discreet.curator.publish as m; m.draw = die",
    "after the draw": "import discreet.curator.keep as m; m.Keeper._write = die",
    "after the file": "import discreet.curator.charge as m; m.Payer.released = die",
    "after the note": "import discreet.curator.publish as m; k = m._kept; m._kept = lambda *a: (k(*a), die())",
}
CHILD = """
import os, signal, sys
import discreet as dc
die = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
exec(sys.argv[1])
charged = {{"ledger": "sqlite:///budget.db", "dataset": "clinic", "keep": "kept"}}
dc.release({rows}, dc.Bernoulli(), column="smoker", epsilon="0.5", **charged)
"""


def make(**more: Any) -> dc.Release:
    charged = {"ledger": "sqlite:///budget.db", "dataset": "clinic", "keep": "kept"}
    options: dict[str, Any] = {"epsilon": "0.5", **charged, **more}
    return dc.release(ROWS, dc.Bernoulli(), column="smoker", **options)


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dc.Ledger:
    monkeypatch.chdir(tmp_path)
    return dc.Ledger("sqlite:///budget.db", dc.PureDP(1))


def entries(ledger: dc.Ledger, kind: str) -> int:
    return sum(entry.kind == kind for entry in ledger.entries())


def test_the_same_call_gives_the_same_release_and_is_charged_once(ledger: dc.Ledger) -> None:
    texts = {make().to_json() for _ in range(3)}
    assert len(texts) == 1
    assert (entries(ledger, "charge"), entries(ledger, "released")) == (1, 1)
    assert ledger.verify(against=[dc.Release.from_json(texts.pop())]).problems == ()
    assert {path.name: oct(path.stat().st_mode)[-3:] for path in Path("kept").iterdir()} == {
        "kept.json": "600",
        "lock": "600",
        "request.json": "600",
    }
    assert oct(Path("kept").stat().st_mode)[-3:] == "700"


@pytest.mark.parametrize("place", PLACES)
def test_a_process_that_is_killed_leaves_one_charge_and_one_release(ledger: dc.Ledger, place: str) -> None:
    done = subprocess.run([sys.executable, "-c", CHILD.format(rows=ROWS), PLACES[place]], timeout=120)
    assert done.returncode == -9
    charged = place != "before the charge"
    assert entries(ledger, "charge") == charged
    kept = Path("kept/kept.json")
    durable = kept.read_text() if kept.exists() else None
    assert (durable is not None) == (place in ("after the file", "after the note"))
    made = make()
    if durable is not None:
        assert json.loads(durable)["releases"][""] == made.to_json()
    assert (entries(ledger, "charge"), entries(ledger, "released")) == (1, 1)
    assert ledger.verify(against=[made]).problems == ()
    assert not any("yes" in path.read_text() for path in Path("kept").glob("request.json"))


def test_a_kept_release_that_used_up_the_budget_is_finished(ledger: dc.Ledger) -> None:
    subprocess.run([sys.executable, "-c", CHILD.format(rows=ROWS), PLACES["after the charge"]], timeout=120)
    make(keep="another")
    with pytest.raises(dc.errors.BudgetError):
        make(keep="third")
    make()
    assert entries(ledger, "charge") == entries(ledger, "released") == 2


def test_another_declaration_in_the_same_folder_is_refused(ledger: dc.Ledger) -> None:
    make()
    for other in ({"epsilon": "0.25"}, {"dataset": "other"}, {"neighbors": "add_remove"}):
        with pytest.raises(UsageError, match="other declarations"):
            make(**other)
    assert entries(ledger, "charge") == 1


def test_nothing_is_drawn_again_once_the_ledger_knows_the_file(ledger: dc.Ledger) -> None:
    make()
    Path("kept/kept.json").unlink()
    with pytest.raises(UsageError, match="released already"):
        make()
    assert (entries(ledger, "charge"), entries(ledger, "released")) == (1, 1)


def test_a_folder_that_another_process_holds_is_refused(ledger: dc.Ledger) -> None:
    import fcntl

    make()
    with open("kept/lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process"):
            make()


def test_that_no_group_was_published_is_said_again_and_not_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = dc.Ledger("sqlite:///budget.db", dc.ApproxDP(10, "1e-4"))
    few = {"smoker": ["yes", "no"], "region": ["a", "b"]}
    said = set()
    for _ in range(2):
        with pytest.raises(DataError, match="no group was published") as found:
            dc.release(
                few, dc.Bernoulli(), column="smoker", by="region", groups="private", epsilon=1, delta="1e-6",
                ledger=ledger, dataset="clinic", keep="kept",
            )  # fmt: skip
        said.add(found.value.message)
    assert len(said) == 1
    assert entries(ledger, "charge") == 1


def test_it_works_without_a_ledger_and_for_several_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    models = {"smoker": dc.Bernoulli(), "region": dc.Categorical(["north", "south"])}
    first, again = (dc.release(ROWS, models, epsilon=1, keep="kept") for _ in range(2))
    assert {name: one.to_json() for name, one in first.items()} == {
        name: one.to_json() for name, one in again.items()
    }


def test_a_damaged_file_is_one_line(ledger: dc.Ledger) -> None:
    make()
    Path("kept/kept.json").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        make()


def test_a_folder_that_others_can_write_into_is_refused_before_anything_is_charged(ledger: dc.Ledger) -> None:
    Path("kept").mkdir()
    os.chmod("kept", 0o777)
    with pytest.raises(DataError, match="others can write"):
        make()
    assert entries(ledger, "charge") == 0
    os.chmod("kept", 0o700)
    Path("kept/lock").symlink_to("elsewhere")
    with pytest.raises(DataError, match="cannot keep"):
        make()
    assert entries(ledger, "charge") == 0
    assert not Path("elsewhere").exists()


def test_a_release_of_another_folder_does_not_pass_for_this_one(ledger: dc.Ledger) -> None:
    make()
    make(keep="another")
    Path("another/kept.json").replace("kept/kept.json")
    with pytest.raises(DataError, match="another request"):
        make()
    assert entries(ledger, "charge") == 2


def test_a_charge_about_other_rows_is_another_one(ledger: dc.Ledger) -> None:
    ledger.open("parts", dc.PureDP(1))
    ledger.declare_partition("parts", "region", ["north", "south"])
    asked = "0123-4567"
    one = ledger.charge("parts", dc.PureDP("0.1"), where="region = 'north'", request=asked)
    assert ledger.charge("parts", dc.PureDP("0.1"), where="region = 'north'", request=asked) == one
    for other in ("region = 'south'", None):
        with pytest.raises(UsageError, match="another one"):
            ledger.charge("parts", dc.PureDP("0.1"), where=other, request=asked)
        with pytest.raises(UsageError, match="another one"):
            ledger.check("parts", dc.PureDP("0.1"), where=other, request=asked)


def test_a_request_is_charged_once_in_the_ledger_itself(ledger: dc.Ledger) -> None:
    asked = "0123-4567"
    one = ledger.charge("clinic", dc.PureDP("0.1"), request=asked)
    assert ledger.charge("clinic", dc.PureDP("0.1"), request=asked) == one
    with pytest.raises(UsageError, match="another one"):
        ledger.charge("clinic", dc.PureDP("0.2"), request=asked)
    with pytest.raises(UsageError, match="request must be"):
        ledger.charge("clinic", dc.PureDP("0.1"), request="%")
    ledger.released(one, [("a", "b")])
    ledger.released(one, [("a", "b")])
    with pytest.raises(UsageError, match="others"):
        ledger.released(one, [("c", "d")])
    with pytest.raises(UsageError, match="released already"):
        ledger.charge("clinic", dc.PureDP("0.1"), request=asked)
    assert ledger.verify().problems == ()
    assert os.path.exists("budget.db")

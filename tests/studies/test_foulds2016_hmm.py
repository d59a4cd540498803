"""The parts of the war-log study work, and its claims can fail."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module; its parts are found next to it, as when it is run."""
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("foulds2016_hmm")


def test_logs_have_the_published_shape(study: Any) -> None:
    rng = np.random.default_rng(0)
    iraq, afghanistan = study.iraq(), study.afghanistan()
    sizes = {one.name: one.cell_sizes(rng) for one in (iraq, afghanistan)}
    assert sizes["Iraq"].shape == (7, 71)
    assert sizes["Iraq"].sum() == 390_000
    assert sizes["Afghanistan"].sum() == 75_000
    assert abs(np.median(sizes["Iraq"]) - 972) < 40
    assert abs(np.median(sizes["Afghanistan"]) - 58) < 15
    late = sizes["Afghanistan"][:, 36:].sum()
    assert late > 5 * sizes["Afghanistan"][:, :36].sum()
    changes = {iraq.months[int(np.flatnonzero(np.diff(row))[0]) + 1] for row in iraq.states}
    assert changes <= {"2007-09", "2007-10", "2007-11"}


def test_preprocessing_looks_at_one_row_at_a_time(study: Any) -> None:
    prepare = importlib.import_module("warlogs.prepare")
    rng = np.random.default_rng(1)
    entries = study.afghanistan().entries(rng)
    rows = rng.choice(len(entries["region"]), 50, replace=False)
    whole = prepare.prepare(entries)
    alone = prepare.prepare({name: values[rows] for name, values in entries.items()})
    assert all(np.array_equal(whole[name][rows], alone[name]) for name in whole)
    friendly = sum(
        entries[f"{one}_{harm}"] for one in ("friendly", "host_nation") for harm in ("wounded", "killed")
    )
    assert (whole["friendly_or_host_casualties"][friendly > 0] == "yes").all()


def test_the_temperature_of_one_sample(study: Any) -> None:
    methods = importlib.import_module("warlogs.methods")
    # two labels, none below 1/20: the log-ratio of an entry is within +-log 19
    assert methods.ops_temperature((2,), 10, 0.5) == pytest.approx(2 * np.log(19) / 0.5)
    assert methods.ops_temperature((2,), 10, 100) == 1


def test_the_update_as_printed_is_found_out(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    updates = importlib.import_module("warlogs.updates")
    rng = np.random.default_rng(2)
    assert all(claim.holds for claim in updates.updates(study.iraq(), rng).claims)
    monkeypatch.setattr(updates, "collapsed_distribution", updates._printed)
    assert not updates.updates(study.iraq(), rng).claims[0].holds


@pytest.mark.slow
def test_a_quick_run_writes_pictures_report_and_numbers(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study.main(["--quick", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert (tmp_path / "foulds2016_hmm.txt").read_text(encoding="utf-8") == printed
    numbers = json.loads((tmp_path / "foulds2016_hmm.json").read_text(encoding="utf-8"))
    assert len(numbers["panels"]) == 5
    decided = {claim["source"]: claim["holds"] for claim in numbers["claims"]}
    assert decided["figure 3"]
    assert decided["equation 48"]
    assert len(list(tmp_path.glob("*.png"))) == 5

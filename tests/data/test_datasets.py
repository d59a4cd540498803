"""Bundled tables: they are there, as described, with their terms beside them, and can be released and read."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import discreet as dc

ROWS = {"clinic_survey": 2500, "election_survey": 944, "household_food": 235, "travel_mode": 840}


@pytest.mark.parametrize("name", dc.datasets.__all__)
def test_tables_are_as_described(name: str) -> None:
    made = getattr(dc.datasets, name)
    with made().open() as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == ROWS[name]
    described = made.__doc__ or ""
    assert all(f"``{column}``" in described for column in rows[0] if column != "patient_id")
    terms = (Path(made()).parent / "LICENSES.md").read_text()
    assert f"`{made().name}`" in terms


def test_several_rows_of_a_person_are_one_record() -> None:
    release = dc.release(
        dc.datasets.travel_mode(),
        dc.Mean(),
        column="household_income",
        bounds=(0, 100),
        epsilon=1,
        unit="traveler",
        per_unit="max",
        missing="none",
    )
    assert release.records == 210
    low, high = dc.infer(release, draws=400, rng=1).interval(0.99)["mean"]
    assert 20 < low < high < 50

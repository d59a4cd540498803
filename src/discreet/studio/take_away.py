"""What an analyst takes away: draws as CSV or netCDF, a report, code that repeats the reading, and a notebook."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.reporting.report import report
from discreet.studio.open_readings import DRAWS, Reading


def code(readings: Sequence[Reading]) -> str:
    """Return Python that repeats the readings."""
    lines = ["import discreet as dc", ""]
    for one in readings:
        lines += [*_call(one), f"print({variable(one)}.summary())", ""]
    return "\n".join(lines)


def notebook(readings: Sequence[Reading]) -> str:
    """Return a Jupyter notebook, without output, that reads the files beside it and goes on."""
    cells = [
        _cell("markdown", ["# discreet\n", "\n", "Put the release files beside this notebook."]),
        _cell("code", ["import discreet as dc"]),
    ]
    for one in readings:
        cells += [
            _cell("markdown", [f"## {one.release.question}\n", "\n", one.release.statement()]),
            _cell("code", ["\n".join([*_call(one), f"{variable(one)}.summary()"])]),
            _cell("code", [f"{variable(one)}.plot()"]),
        ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False)


def draws_csv(reading: Reading) -> str:
    """Return the draws as a table: one line for each draw, one column for each number."""
    numbers = reading.together.scalars()
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["draw", *numbers])
    writer.writerows(
        [k, *row] for k, row in enumerate(zip(*(x.tolist() for x in numbers.values()), strict=True))
    )
    return out.getvalue()


def draws_netcdf(reading: Reading) -> bytes:
    """Return the draws as a netCDF file that ArviZ and xarray read."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "draws.nc"
        reading.together.save(path)
        return path.read_bytes()


def report_page(readings: Sequence[Reading]) -> bytes:
    """Return the report of all files as one web page."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        if len(readings) == 1:
            (one,) = readings
            report(one.release, path, prior=one.prior)
        else:
            named = {one.name: one.release for one in readings}
            report(named, path, prior={one.name: one.prior for one in readings})
        return path.read_bytes()


def variable(reading: Reading) -> str:
    """Return a name that Python takes."""
    made = "".join(c if c.isalnum() and c.isascii() else "_" for c in reading.name).strip("_")
    return made if made[:1].isalpha() else f"release_{made}".rstrip("_")


def _call(reading: Reading) -> list[str]:
    prior = "" if reading.prior is None else f", prior={reading.prior!r}"
    return [f"{variable(reading)} = dc.infer({reading.file!r}{prior}, draws={DRAWS}, rng=0)"]


def _cell(kind: str, source: list[str]) -> dict[str, object]:
    made: dict[str, object] = {
        "cell_type": kind,
        "metadata": {},
        "source": source,
        "id": f"c{abs(hash(str(source))) % 10**8}",
    }
    return made if kind == "markdown" else {**made, "execution_count": None, "outputs": []}

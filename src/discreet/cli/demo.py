"""``discreet demo``: the whole path on bundled, invented patients."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated, NamedTuple

from discreet.cli.console import busy, print_json, print_plain, print_wrapped, table
from discreet.cli.options import AsJson, option
from discreet.cli.output_checks import ensure_no_release, ensure_writable
from discreet.errors import DataError

if TYPE_CHECKING:
    from discreet.families import Family, RecordSums
    from discreet.inference.posterior import Posterior

#: The three readings, in the order of the table and of the pictures.
NON_PRIVATE, NAIVE, NOISE_AWARE = "non-private", "naive", "noise-aware"
#: What the family calls each answer that counts; the others are missing.
_ANSWERS = {
    "smoker": {"no": 0, "yes": 1},
    "health": {word: word for word in ("excellent", "good", "fair", "poor")},
}
_DATASET = "clinic survey"
_PRESSURE, _BOUNDS = "systolic_bp", (60, 220)
_AXES = {
    _PRESSURE: "mean systolic blood pressure, mmHg",
    "smoker": "share of smokers",
    "health": "share of patients, by self-rated health",
}


def demo(
    epsilon: Annotated[str, option("NUMBER", "Privacy loss of each of the three releases.")] = "0.05",
    output: Annotated[
        Path, option("FOLDER", "Where to put the release files and the picture.", "--output", "-o")
    ] = Path("discreet-demo"),
    json: AsJson = False,
) -> None:
    """Release, infer and plot: three columns of a bundled survey of invented patients.

    Three posteriors stand side by side: from the rows themselves (nobody outside the clinic could compute it), from the
    release as if it held no noise, and from the release with the noise taken into account.
    """
    from discreet import Bernoulli, Categorical, Mean
    from discreet.datasets import clinic_survey

    questions: dict[str, RecordSums] = {
        _PRESSURE: Mean(),
        "smoker": Bernoulli(),
        "health": Categorical(list(_ANSWERS["health"])),
    }
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DataError(f"cannot create {output}: {problem.strerror}.") from None
    page = output / "report.html"
    files = [*(output / f"{column}.{kind}" for column in questions for kind in ("json", "png")), page]
    for path in files:
        # the demo may replace its own releases, which cost nobody anything
        ensure_no_release(path, except_of=_DATASET)
        ensure_writable(path, replace=True)

    readings: dict[str, dict[str, Posterior]] = {}
    with busy("Releasing, inferring and plotting …"):
        from discreet.curator.publish import release
        from discreet.families.base import Family
        from discreet.inference.analyst import infer
        from discreet.reporting import plot_comparison
        from discreet.reporting.report import report

        for column, family in questions.items():
            bounds = _BOUNDS if column == _PRESSURE else None
            made = release(
                clinic_survey(), family, column=column, bounds=bounds, epsilon=epsilon, dataset=_DATASET
            )
            made.save(output / f"{column}.json")
            readings[column] = {
                NON_PRIVATE: _mean_of_rows(clinic_survey(), column)
                if column == _PRESSURE
                else _from_rows(clinic_survey(), column, family.require(Family, "a family is needed")),
                NAIVE: infer(made, engine="naive", rng=1),
                NOISE_AWARE: infer(made, rng=2),
            }
            plot_comparison(
                readings[column],
                "mean" if column == _PRESSURE else "p",
                path=output / f"{column}.png",
                title=f"Three readings of one survey, epsilon = {epsilon}",
                axis_label=_AXES[column],
            )
        aware = {column: posteriors[NOISE_AWARE] for column, posteriors in readings.items()}
        report(
            {column: output / f"{column}.json" for column in questions},
            page,
            posterior=aware,
            title=_DATASET,
            rng=2,
        )
    rows = _rows(readings)
    if json:
        print_json("demo", {"epsilon": epsilon, "posteriors": [row._asdict() for row in rows]}, files)
    else:
        _print(rows, epsilon, files)


class _Row(NamedTuple):
    """One reading of one share, or of a mean."""

    share: str
    reading: str
    mean: float
    low: float
    high: float


def _from_rows(path: Path, column: str, family: Family) -> Posterior:
    """Return the posterior that the rows themselves give. Only invented patients are ever read like this."""
    import numpy as np

    from discreet.inference.diagnostics import Diagnostics
    from discreet.inference.posterior import Posterior

    codes = _ANSWERS[column]
    answers = np.array([codes[text] for text in _texts(path, column) if text in codes])
    updated = family.update(family.default_prior, family.sufficient(answers).sum(axis=0), len(answers))
    draws = family.draw(updated, 4000, np.random.default_rng(0))
    labels = {"p": list(codes)} if draws["p"].ndim > 1 else None
    return Posterior(draws, Diagnostics(NON_PRIVATE, independent=True), labels=labels)


def _mean_of_rows(path: Path, column: str) -> Posterior:
    """Return the posterior of a mean that the rows themselves give. Only invented patients are ever read like this."""
    import numpy as np

    from discreet.inference.bounded_mean import TableDraws, draw_population
    from discreet.inference.diagnostics import Diagnostics
    from discreet.inference.posterior import Posterior

    low, high = _BOUNDS
    values = [float(text) for text in _texts(path, column) if text.isdigit()]
    unit = (np.clip(values, low, high) - low) / (high - low)
    mean = unit.mean()
    own = (float(unit.size), mean, unit.var() / (mean * (1 - mean)))
    drawn = draw_population(TableDraws(*(np.full(4000, one) for one in own)), np.random.default_rng(0))
    return Posterior(
        {"mean": low + (high - low) * drawn.mean, "sd": (high - low) * drawn.sd},
        Diagnostics(NON_PRIVATE, independent=True),
    )


def _texts(path: Path, column: str) -> list[str]:
    import csv

    with open(path, newline="", encoding="utf-8") as lines:
        return [line[column] for line in csv.DictReader(lines)]


def _rows(readings: dict[str, dict[str, Posterior]]) -> list[_Row]:
    """List every reading of every share, the readings of one share together."""
    rows = []
    for column, posteriors in readings.items():
        summaries = {reading: list(posterior.summary()) for reading, posterior in posteriors.items()}
        for place, first in enumerate(summaries[NON_PRIVATE]):
            if column == _PRESSURE:
                share = f"{column}: {first.name}"
            else:
                share = "smoker" if column == "smoker" else f"{column}: {first.name[2:-1]}"
            for reading, summary in summaries.items():
                rows.append(
                    _Row(share, reading, summary[place].mean, summary[place].low, summary[place].high)
                )
    return rows


def _print(rows: list[_Row], epsilon: str, files: list[Path]) -> None:
    print_plain(
        f"A survey of 2,500 invented patients; three columns, each released with epsilon = {epsilon}.\n"
        "Non-private needs the rows. Naive takes the noisy totals at their word. Noise-aware knows better.\n"
    )
    shown = table("", "reading", "mean", "95% interval", "width")
    shown.columns[1].justify = "left"
    for position, row in enumerate(rows):
        size, unit = (1, "") if row.share.startswith(_PRESSURE) else (100, "%")
        numbers = [f"{size * value:.1f}{unit}" for value in (row.mean, row.low, row.high)]
        cells = (numbers[0], f"{numbers[1]} to {numbers[2]}")
        name = row.share if row.reading == NON_PRIVATE else ""
        last = position + 1 == len(rows) or rows[position + 1].reading == NON_PRIVATE
        shown.add_row(name, row.reading, *cells, f"{size * (row.high - row.low):.1f}", end_section=last)
    widths = {
        reading: sum(
            row.high - row.low
            for row in rows
            if row.reading == reading and not row.share.startswith(_PRESSURE)
        )
        for reading in (NAIVE, NOISE_AWARE)
    }
    print_wrapped(
        shown,
        f"What to see: the noise-aware intervals of shares are {widths[NOISE_AWARE] / widths[NAIVE]:.1f} times as wide "
        "as the naive ones. The difference is the noise that protects the patients; the naive reading hides it and "
        "claims too much.\n",
    )
    print_plain(f"Wrote {', '.join(map(str, files))}.")
    # not on the path if the virtual environment was never activated
    program = "discreet" if which("discreet") else sys.argv[0]
    print_plain(f"Next: {program} show {files[0]}; {program} infer {files[0]}")

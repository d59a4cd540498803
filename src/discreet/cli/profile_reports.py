"""``discreet profiles privatize`` and ``infer``: observations to reports, and reports to a posterior."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.arguments import AsJson, Chains, Draws, Seed, check_seed
from discreet.cli.console import busy, console, paragraph, plain, print_json
from discreet.cli.files import ensure_distinct, ensure_ending, ensure_no_release, ensure_writable
from discreet.cli.profiles import MechanismFile
from discreet.errors import DataError, UsageError


def privatize(
    mechanism: MechanismFile,
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="CSV file, a line for each observation.", show_default=False),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="CSV file of reports to write.", show_default=False
        ),
    ],
    value: Annotated[str, typer.Option(metavar="COLUMN", help="Column with what was observed.")] = "value",
    profile: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the profile.")] = "profile",
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Replace the file of reports if it exists.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Draw one report for each observation, from the operating system's random numbers.

    The file of reports has one column, the reports, in the order of the observations, and no profiles. Each run draws
    anew: do it once for each observation, because two reports of the same one promise nothing together.
    """
    from discreet.profiles import FittedMechanism

    ensure_distinct(output, data)
    ensure_distinct(output, mechanism)
    ensure_no_release(output)
    ensure_writable(output, replace=force)
    fitted = FittedMechanism.load(mechanism)
    labels = {str(label): label for label in fitted.graph.categories}
    names = {str(name): name for name in fitted.graph.profiles}
    observed, people = _columns(data, value, profile)
    # what is unknown is refused by the mechanism, which does not repeat it
    reports = fitted.privatize_many([labels.get(v) for v in observed], [names.get(p) for p in people])
    from discreet.artifact.files import replacing

    with replacing(output) as draft, open(draft, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([value])
        writer.writerows([report] for report in reports.tolist())
    if json:
        print_json("profiles-privatize", {"reports": len(reports), "file": str(output)})
    else:
        console().print(f"Wrote {plain(str(output))}: {len(reports):,} reports.", soft_wrap=True)


def infer(
    mechanism: MechanismFile,
    reports: Annotated[
        Path, typer.Argument(metavar="REPORTS", help="CSV file of reports.", show_default=False)
    ],
    value: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the reports.", show_default="the only one"),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="PRIOR", help="Prior on the mix of profiles: dirichlet:1,1,1 …", show_default="flat"
        ),
    ] = None,
    draws: Draws = 4000,
    chains: Chains = 4,
    seed: Seed = None,
    prob: Annotated[float, typer.Option(metavar="P", help="Probability of the intervals.")] = 0.95,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save a picture: .png, .pdf or .svg.", show_default=False),
    ] = None,
    json: AsJson = False,
) -> None:
    """Infer the mix of profiles behind reports, and what these people observe, perturbation included."""
    from discreet.profiles import FittedMechanism, infer_mix

    check_seed(seed)
    if plot is not None:
        ensure_ending(plot, ".png", ".pdf", ".svg", option="--plot")
        ensure_no_release(plot)
        ensure_writable(plot, replace=True)
    fitted = FittedMechanism.load(mechanism)
    labels = {str(label): label for label in fitted.graph.categories}
    (seen,) = _columns(reports, value)
    with busy("Inferring …"):
        posterior = infer_mix(
            [labels.get(v) for v in seen], fitted, prior=prior, draws=draws, chains=chains, rng=seed
        )
        summary = posterior.summary(prob)
        if plot is not None:
            posterior.plot(plot)
    files = [] if plot is None else [str(plot)]
    if json:
        print_json("profiles-infer", {"reports": len(seen), **summary.to_dict(), "files": files})
        return
    out = console()
    out.print(paragraph(f"{posterior.about}, {fitted.guarantee.describe()}"))
    out.print()
    out.print(plain(str(summary)), soft_wrap=True)
    for file in files:
        out.print(f"Wrote {plain(file)}.", soft_wrap=True)


def _columns(path: Path, *names: str | None) -> list[list[str]]:
    """Read columns of a CSV file; errors name columns, never values."""
    reason = None
    content: list[list[str]] = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(lines)
            header = next(rows, [])
            wanted = [_place(header, name) for name in names]
            content = [[row[at] if at < len(row) else "" for at in wanted] for row in rows if row]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        reason = getattr(problem, "strerror", None) or "it is not CSV"
    if reason is not None:
        # out here, because the problem holds the bytes it stumbled over
        raise DataError(f"cannot read {path}: {reason}.")
    return [[row[place] for row in content] for place in range(len(names))]


def _place(header: list[str], name: str | None) -> int:
    if not header:
        raise UsageError("the file is empty: its first line must name its columns.")
    if name is None:
        if len(header) != 1:
            raise UsageError("the file has several columns: name the one with the reports with --value.")
        return 0
    if name not in header:
        raise UsageError(
            f"the file has no column {name!r}.", hint="--value and --profile say what the columns are called"
        )
    return header.index(name)

"""``discreet profiles privatize`` and ``infer``: observations to reports, and reports to a posterior."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from discreet.cli.console import busy, print_json, print_plain, print_wrapped, print_written
from discreet.cli.options import AsJson, Chains, Draws, Force, Seed, option, written_option
from discreet.cli.output_checks import ensure_output
from discreet.cli.profiles import BinEdges, MechanismFile, read_bins
from discreet.cli.show_result import Plot, check_picture
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from discreet.profiles import Bins, ProfileGraph
    from discreet.profiles.given import Name


def privatize(
    mechanism: MechanismFile,
    data: Annotated[Path, Argument(metavar="DATA", help="CSV file, a line for each observation.")],
    output: Annotated[Path, written_option("CSV file of reports to write.")],
    value: Annotated[str, option("COLUMN", "Column with what was observed.")] = "value",
    profile: Annotated[str, option("COLUMN", "Column with the profile.")] = "profile",
    bins: BinEdges = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Draw one report for each observation, from the operating system's random numbers.

    The file of reports has one column, the reports, in the order of the observations, and no profiles. Each run draws
    anew: do it once for each observation, because two reports of the same one promise nothing together.

    One line is one observation, whatever is in it. If it cannot be read, its report is drawn as if from its profile, or
    from a profile drawn at random: no line decides whether others are reported. discreet check counts such lines.
    """
    from discreet.profiles import FittedMechanism

    ensure_output(output, data, mechanism, replace=force)
    fitted = FittedMechanism.load(mechanism)
    observed, people = _observations(data, value, profile, fitted.graph, read_bins(bins, fitted.graph))
    reports = fitted.privatize_many(observed, people, unknown="impute")
    from discreet.artifact.files import replacing

    with replacing(output) as draft, open(draft, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([value])
        writer.writerows([report] for report in reports.tolist())
    if json:
        print_json("profiles-privatize", {"reports": len(reports), "file": str(output)})
    else:
        print_written(output, content=f": {len(reports):,} reports")


def infer(
    mechanism: MechanismFile,
    reports: Annotated[Path, Argument(metavar="REPORTS", help="CSV file of reports.")],
    value: Annotated[
        str | None, option("COLUMN", "Column with the reports.", show_default="the only one")
    ] = None,
    prior: Annotated[
        str | None, option("PRIOR", "Prior on the mix of profiles: dirichlet:1,1,1 …", show_default="flat")
    ] = None,
    draws: Draws = 4000,
    chains: Chains = 4,
    seed: Seed = None,
    prob: Annotated[float, option("P", "Probability of the intervals.")] = 0.95,
    plot: Plot = None,
    json: AsJson = False,
) -> None:
    """Infer the mix of profiles behind reports, and what these people observe, perturbation included."""
    from discreet.profiles import FittedMechanism, infer_mix

    check_picture(plot, "--plot")
    fitted = FittedMechanism.load(mechanism)
    labels = {str(label): label for label in fitted.graph.categories}
    seen = public_column(reports, value)
    with busy("Inferring …"):
        posterior = infer_mix(
            [labels.get(v) for v in seen], fitted, prior=prior, draws=draws, chains=chains, rng=seed
        )
        summary = posterior.summary(prob)
        if plot is not None:
            posterior.plot(plot)
    if json:
        print_json("profiles-infer", {"reports": len(seen), **summary.to_dict()}, [plot])
        return
    print_wrapped(f"{posterior.about}, {fitted.guarantee.describe()}", "")
    print_plain(str(summary))
    print_written(plot)


def _observations(
    data: Path, value: str, profile: str, graph: ProfileGraph, bins: Bins | None
) -> tuple[list[Name | None], list[Name | None]]:
    """Return what each line says was observed, and by which profile, with None for what is neither. Private.

    The private side's reader: one line is one record, and nothing in it raises.
    """
    from discreet.data.summaries.coded import coded_batches
    from discreet.domain.columns import Labels, Numeric

    if value == profile:
        raise UsageError("the observation and the profile are two columns.")
    people = Labels(profile, tuple(map(str, graph.profiles)))
    if bins is None:
        seen = Labels(value, tuple(map(str, graph.categories)))
    else:
        seen = Numeric(value, bins.edges[0], bins.edges[-1])
    categories, names = [*graph.categories, None], [*graph.profiles, None]
    observed: list[Name | None] = []
    who: list[Name | None] = []
    for batch in coded_batches(data, [seen, people], model="profiles privatize"):
        if bins is None:
            observed.extend(map(categories.__getitem__, batch.codes[:, 0].tolist()))
        else:
            observed.extend(bins.labels(batch.values[:, 0]))
        who.extend(map(names.__getitem__, batch.codes[:, -1].tolist()))
    return observed, who


def public_column(path: Path, name: str | None, option: str = "--value") -> list[str]:
    """Read a column of what is public, such as reports; one line is one of them. Errors repeat no value."""
    reason, text = None, ""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not CSV"
    if reason is not None:
        # out here, because the problem holds the bytes it stumbled over
        raise DataError(f"cannot read {path}: {reason}.")
    header, *rows = [_fields(line.removesuffix("\r")) for line in text.split("\n")]
    at = _place(header, name, option)
    return [row[at] if at < len(row) else "" for row in rows if row]


def _fields(line: str) -> list[str]:
    """Split one line; a quotation mark that is not closed is part of no report."""
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return [""]


def _place(header: list[str], name: str | None, option: str) -> int:
    if not header:
        raise UsageError("the file is empty: its first line must name its columns.")
    if name is None:
        if len(header) != 1:
            raise UsageError("the file has several columns: name the one with the reports with --value.")
        return 0
    if name not in header:
        raise UsageError(f"the file has no column {name!r}.", hint=f"{option} says what the column is called")
    return header.index(name)

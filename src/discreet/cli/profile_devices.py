"""``discreet profiles estimate``, ``device`` and ``report``: habits in, and one person's reports over time out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from discreet.cli.console import plain, print_json, print_plain, print_wrapped, print_written
from discreet.cli.options import AsJson, Force, option, written_option
from discreet.cli.output_checks import ensure_output, ensure_writable
from discreet.cli.profile_reports import public_column
from discreet.cli.profiles import BinEdges, MechanismFile, read_bins
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.profiles import Reporter

DeviceFile = Annotated[
    Path, Argument(metavar="DEVICE", help="The device's own file, from discreet profiles device.")
]
# of what one observation is read from a terminal or a pipe
_LONGEST_LINE = 10_000


def estimate(
    data: Annotated[
        Path, Argument(metavar="DATA", help="CSV file of public observations, one on each line.")
    ],
    output: Annotated[Path, written_option("Graph file to write.")],
    value: Annotated[str, option("COLUMN", "Column with what was observed.")] = "value",
    profile: Annotated[str, option("COLUMN", "Column with the profile.")] = "profile",
    bins: BinEdges = None,
    edges: Annotated[
        Literal["complete", "chain"],
        Option(help="Which profiles must not be told apart: all pairs, or each and the next."),
    ] = "complete",
    smoothing: Annotated[str, option("NUMBER", "Added to the count of every category.")] = "1",
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Estimate how often each profile observes what, from public observations: a graph, for profiles fit.

    Nothing hides what is in the file: it must be public, or of people who agreed. Edges of bins are public too, and
    chosen without a look at what will be reported. The graph is a JSON file that can be edited by hand.
    """
    from discreet.profiles import ProfileGraph

    ensure_output(output, data, replace=force)
    declared = read_bins(bins)
    seen, who = public_column(data, value), public_column(data, profile, "--profile")
    observed: list[str | None] = [*seen] if declared is None else declared.labels(seen)
    if "" in who or None in observed or "" in observed:
        wanted = "a category" if declared is None else "a number"
        raise UsageError(f"a line has no profile, or not {wanted} for an observation.", hint="leave it out")
    by_name: dict[str, list[str | None]] = {name: [] for name in who}
    for name, one in zip(who, observed, strict=True):
        by_name[name].append(one)
    categories = None if declared is None else declared.categories
    graph = ProfileGraph.estimate(by_name, edges, categories=categories, smoothing=smoothing)
    graph.save(output)
    if json:
        facts = {"profiles": list(graph.profiles), "categories": list(graph.categories)}
        print_json("profiles-estimate", {**facts, "observations": len(seen), "file": str(output)})
    else:
        print_written(output, content=f": {plain(repr(graph)[17:-1])}")


def device(
    mechanism: MechanismFile,
    profile: Annotated[str, option("NAME", "The person's profile; it stays on the device.")],
    epsilon: Annotated[str, option("NUMBER", "Privacy loss that all reports together may come to.")],
    output: Annotated[Path, written_option("The device's own file to write, readable for its owner.")],
    bins: BinEdges = None,
    json: AsJson = False,
) -> None:
    """Set up one person's device, once: their profile, and a budget for all reports that they will ever send.

    An existing file is never replaced, because what is spent would be forgotten.
    """
    from discreet.profiles import FittedMechanism, Reporter

    if output.exists():
        raise UsageError(
            f"{output} exists already, and what is spent would be forgotten.", hint="name another file"
        )
    ensure_writable(output, replace=False)
    fitted = FittedMechanism.load(mechanism)
    names = {str(name): name for name in fitted.graph.profiles}
    made = Reporter(fitted, names.get(profile, profile), epsilon, output, read_bins(bins, fitted.graph))
    if json:
        print_json("profiles-device", {**_amounts(made), "file": str(output)})
        return
    print_wrapped(*made.statement().splitlines())
    print_written(output)


def report(
    mechanism: MechanismFile,
    device: DeviceFile,
    key: Annotated[str, option("TEXT", "Names the observation, such as its day: one key, one report.")],
    value: Annotated[str, option("VALUE", "What was observed; - reads it from standard input.")],
    json: AsJson = False,
) -> None:
    """Report one observation: a new report within the device's budget, or the one that its key has had.

    Standard input keeps the value out of the list of processes and the history of the shell. Exits with 3, and makes
    no report, if the budget is used up.
    """
    from discreet.profiles import FittedMechanism, Reporter

    fitted = FittedMechanism.load(mechanism)
    person = Reporter.load(device, fitted)
    read = sys.stdin.readline(_LONGEST_LINE).strip() if value == "-" else value
    categories = {str(label): label for label in fitted.graph.categories}
    sent = person.report(read if person.bins is not None else categories.get(read), key)
    if json:
        print_json("profiles-report", {"report": sent, **_amounts(person)})
        return
    print_plain(str(sent))
    print_wrapped(_remaining(person))


def _amounts(person: Reporter) -> dict[str, str | int | None]:
    return {"spent": str(person.spent), "budget": str(person.epsilon), "left": person.left}


def _remaining(person: Reporter) -> str:
    from discreet.rational import exact
    from discreet.rational import plain as short

    if person.left is None:
        return "Reports of this mechanism cost nothing."
    more = f"{person.left:,} new report{'' if person.left == 1 else 's'} left"
    return f"Spent: epsilon = {short(person.spent)} of {short(exact(person.epsilon, 'epsilon'))}, {more}."

"""``discreet report``: release files in, one self-contained page out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from discreet.cli.console import busy, print_json, print_written
from discreet.cli.options import AsJson, PriorText, Seed, option
from discreet.cli.output_checks import ensure_output, load_release


def report(
    files: Annotated[list[Path], Argument(metavar="FILE...", help="Release files.", show_default=False)],
    output: Annotated[Path, option("FILE", "The page to write: .html.", "--output", "-o")] = Path(
        "report.html"
    ),
    prior: PriorText = None,
    prob: Annotated[float, option("P", "Probability of the intervals that the page opens with.")] = 0.95,
    title: Annotated[str | None, option("TEXT", "Heading of the page.", show_default="the question")] = None,
    seed: Seed = None,
    json: AsJson = False,
) -> None:
    """Write one page that says what releases tell, how sure they are and what they promise. Free: no budget is spent.

    The page needs no network: pictures, numbers and the script that lets its reader choose the probability of the
    intervals are inside.
    """
    ensure_output(output, *files, endings=(".html", ".htm"))
    releases = {str(file): load_release(file) for file in files}

    from discreet.reporting.report import report as write

    with busy("Inferring and writing …"):
        given = None if prior is None or prior.strip() == "weak" else prior
        written = write(
            {str(file): file for file in files} if len(files) > 1 else files[0],
            output,
            prior=given if len(files) == 1 else dict.fromkeys(releases, given),
            prob=prob,
            title=title,
            rng=0 if seed is None else seed,
        )
    if json:
        print_json("report", {"releases": [one.id for one in releases.values()]}, [written])
        return
    print_written(written)

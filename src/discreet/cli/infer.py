"""``discreet infer``: a release file in, a posterior out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from discreet.cli.arguments import AsJson, ReleaseFile, read_records
from discreet.cli.console import busy, console, plain, print_json
from discreet.cli.files import ensure_writable
from discreet.errors import UsageError

_ENGINE = "How to compute"
_OUTPUT = "Output"


def infer(
    file: ReleaseFile,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="PRIOR", help="Conjugate prior: beta:1,1, gamma:2,0.5 …", show_default="the neutral one"
        ),
    ] = None,
    records: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="Uniform prior on a private record count.",
            show_default="flat",
        ),
    ] = None,
    engine: Annotated[
        Literal["auto", "exact", "naive"],
        typer.Option(
            help="auto takes the most exact one that applies, never naive.", rich_help_panel=_ENGINE
        ),
    ] = "auto",
    draws: Annotated[
        int, typer.Option(metavar="N", help="Number of draws over all chains.", rich_help_panel=_ENGINE)
    ] = 4000,
    chains: Annotated[int, typer.Option(metavar="N", help="Number of chains.", rich_help_panel=_ENGINE)] = 4,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Seed, for the same draws again.", show_default=False, rich_help_panel=_ENGINE
        ),
    ] = None,
    prob: Annotated[
        float, typer.Option(metavar="P", help="Probability of the intervals.", rich_help_panel=_OUTPUT)
    ] = 0.95,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Save the draws as a NetCDF file that ArviZ reads.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save a picture: .png, .pdf or .svg.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Infer the parameter behind a release, noise included. Free: no budget is spent."""
    from discreet import priors
    from discreet.artifact.release import Release
    from discreet.inference.analyst import infer as make_posterior

    release = Release.load(file)
    if prior is None and release.family.default_prior is None:
        raise UsageError(
            f"{release.family.name} has no neutral prior: give one.",
            hint=f"a weak one on the scale of this release: --prior {release.family.suggested_prior(release.domain)}",
        )
    chosen = None if prior is None else priors.parse(prior)
    counts = read_records(records)
    for path in (output, plot):
        if path is not None:
            ensure_writable(path, replace=True)
    with busy("Inferring …"):
        posterior = make_posterior(
            release, prior=chosen, engine=engine, draws=draws, chains=chains, records=counts, rng=seed
        )
        summary = posterior.summary(prob)
        if output is not None:
            posterior.save(output)
        if plot is not None:
            posterior.plot(plot)
    if json:
        print_json("infer", {"release": release.id, "model": release.family.name, **summary.to_dict()})
        return
    columns = ", ".join(release.columns)
    out = console()
    out.print(plain(f"{release.family.name} model of {columns}, {release.guarantee.describe()}"))
    out.print()
    out.print(plain(str(summary)), soft_wrap=True)
    for path in (output, plot):
        if path is not None:
            out.print(f"Wrote {plain(str(path))}.")

"""``discreet infer``: a release file in, a posterior out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.arguments import AsJson, EngineName, ReleaseFile, read_records
from discreet.cli.console import busy, console, guarantee_json, paragraph, plain, print_json
from discreet.cli.files import (
    ensure_distinct,
    ensure_ending,
    ensure_no_release,
    ensure_writable,
    load_release,
)
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.artifact.release import Release
    from discreet.priors import Prior

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
            help="Uniform prior on a private count of usable (not missing) records.",
            show_default="flat",
        ),
    ] = None,
    engine: Annotated[
        EngineName,
        typer.Option(
            help="auto takes the most exact one that will finish soon, never naive.", rich_help_panel=_ENGINE
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
            help="Save the draws as a NetCDF file (.nc) that ArviZ reads.",
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
    from discreet.inference.analyst import infer as make_posterior

    if seed is not None and seed < 0:
        raise UsageError(f"the seed must be 0 or more, got --seed={seed}.")
    counts = read_records(records)
    if output is not None:
        ensure_ending(output, ".nc", option="--output")
    if plot is not None:
        ensure_ending(plot, ".png", ".pdf", ".svg", option="--plot")
    files = [path for path in (output, plot) if path is not None]
    for path in files:
        ensure_distinct(path, file)
        ensure_no_release(path)
        ensure_writable(path, replace=True)
    release = load_release(file)
    chosen = _prior(prior, release)
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
        content = {
            "release": release.id,
            "dataset": release.dataset,
            "model": release.family.name,
            "columns": list(release.columns),
            "guarantee": guarantee_json(release.guarantee),
            "prior": str(chosen),
            "n_draws": posterior.n_draws,
            **summary.to_dict(),
            "files": list(map(str, files)),
        }
        print_json("infer", content)
        return
    columns = ", ".join(release.columns)
    out = console()
    out.print(paragraph(f"{release.family.name} model of {columns}, {release.guarantee.describe()}"))
    out.print()
    out.print(plain(str(summary)), soft_wrap=True)
    for path in files:
        out.print(f"Wrote {plain(str(path))}.", soft_wrap=True)


def _prior(text: str | None, release: Release) -> Prior | None:
    """Return the prior asked for, or the neutral one if there is one; if it does not fit, name one that does."""
    from discreet import priors

    family = release.family
    if text is None:
        return family.default_prior
    chosen = priors.parse(text)
    try:
        family.check_prior(chosen)
    except UsageError as problem:
        weak = family.suggested_prior(release.domain)
        raise UsageError(problem.message, hint=f"for example --prior {weak}") from None
    return chosen

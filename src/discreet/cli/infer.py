"""``discreet infer``: a release file in, a posterior out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from discreet.cli.console import (
    busy,
    console,
    plain,
    print_json,
    print_plain,
    print_wrapped,
    print_written,
    release_json,
)
from discreet.cli.options import (
    AsJson,
    Chains,
    Draws,
    EngineOption,
    MissingShare,
    PriorText,
    Records,
    Seed,
    engine_option,
    output_option,
    read_missing,
    read_records,
)
from discreet.cli.output_checks import ensure_output, load_release
from discreet.cli.show_result import Plot, check_picture
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.artifact.release import Release
    from discreet.priors import Prior

_DRAWS, _CHAINS = 4000, 4


def infer(
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE...", help="Release file; several are read together, as samples of one population."
        ),
    ],
    prior: PriorText = None,
    records: Records = None,
    missing: MissingShare = None,
    engine: EngineOption = "auto",
    draws: Draws = _DRAWS,
    chains: Chains = _CHAINS,
    seed: Seed = None,
    pool: Annotated[
        bool | None,
        engine_option(
            "",
            "Groups, or several files: let them borrow from each other; or read each for itself.",
            "--pool/--no-pool",
        ),
    ] = None,
    same_table: Annotated[
        bool | None,
        engine_option(
            "",
            "Several files: readings of one table; or of tables that share no row.",
            "--same-table/--other-tables",
        ),
    ] = None,
    prob: Annotated[float, output_option("P", "Probability of the intervals.")] = 0.95,
    output: Annotated[
        Path | None,
        output_option("FILE", "Save the draws as a NetCDF file (.nc) that ArviZ reads.", "--output", "-o"),
    ] = None,
    plot: Plot = None,
    json: AsJson = False,
) -> None:
    """Infer the parameter behind a release, noise included. Free: no budget is spent."""
    from discreet.inference.analyst import infer as make_posterior
    from discreet.inference.posterior import Posterior

    counts, expected = read_records(records), read_missing(missing)
    if output is not None:
        ensure_output(output, *files, endings=(".nc",))
    check_picture(plot, "--plot", files)
    releases = [load_release(file) for file in files]
    release = releases[0]
    chosen = _prior(prior, release)
    with busy("Inferring …"):
        made = make_posterior(
            release if len(files) == 1 else files,
            prior=chosen,
            engine=engine,
            draws=draws,
            chains=chains,
            records=counts,
            missing=expected,
            pool=pool,
            same_table=same_table,
            rng=seed,
        )
        posterior = made if isinstance(made, Posterior) else made.together()
        summary = posterior.summary(prob)
        handed_on = posterior.diagnostics.engine == "samples"
        if output is not None:
            posterior.save(output)
        if plot is not None:
            made.plot(plot)
    if handed_on and (draws, chains, seed) != (_DRAWS, _CHAINS, None):
        print(
            "note: these samples are handed on as they are, so --draws, --chains and --seed change nothing.",
            file=sys.stderr,
        )
    if json:
        content = {
            **release_json(release),
            **({} if len(files) == 1 else {"release": [one.id for one in releases]}),
            **summary.to_dict(),
            "prior": _shown(release.sampling_record.prior if handed_on else chosen)
            or posterior.diagnostics.prior,
            "n_draws": posterior.n_draws,
        }
        print_json("infer", content, [output, plot])
        return
    print_wrapped(release.title if len(files) == 1 else posterior.about or "", "")
    print_plain(str(summary))
    if engine == "auto" and not handed_on:
        console().print(plain(f"chosen because {posterior.diagnostics.reason}"), style="dim")
    print_written(output, plot)


def _prior(text: str | None, release: Release) -> Prior | str | None:
    """Return the prior asked for, None for the weak one; if it does not fit, name one that does."""
    from discreet.priors.base import Prior

    model = release.model
    if text is None or text.strip() == "weak":
        return None
    chosen = model.parse_prior(text)
    try:
        model.check_prior(chosen)
    except UsageError as problem:
        weak = model.suggested_prior(release.domain)
        hint = problem.hint if not isinstance(weak, Prior) else f"for example --prior {weak}"
        raise UsageError(problem.message, hint=hint) from None
    return chosen


def _shown(prior: Prior | str | None) -> str | None:
    return None if prior is None else str(prior)

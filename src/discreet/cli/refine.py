"""``discreet refine``: the first release of a regression in, the declaration of a second one out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import busy, print_json, print_wrapped, release_json
from discreet.cli.options import AsJson, Force, ReleaseFile, Seed, written_option
from discreet.cli.output_checks import ensure_output, load_release


def refine(
    file: ReleaseFile,
    output: Annotated[Path | None, written_option("Declaration to write: .toml.")] = None,
    seed: Seed = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Declare the second release of a logistic or Poisson regression, from what the first one says. Free.

    The declaration is for discreet release --model: it has the columns of the first release, and where a Newton step of
    the likelihood starts. The second release has a budget of its own.
    """
    from discreet.inference.analyst import infer
    from discreet.models.regression_file import step_file
    from discreet.models.step_regression import StepRegression

    if output is not None:
        ensure_output(output, file, replace=force, endings=(".toml",))
    release = load_release(file)
    model = release.model.require(
        StepRegression,
        "a second release is of one logistic or Poisson regression",
        hint="release each group by itself, with --where"
        if release.model.groups
        else "one release is enough",
    )
    with busy("Inferring …"):
        posterior = infer(release, rng=seed)
        refined = model.refined(posterior)
    made, headline = step_file(refined), posterior.diagnostics.headline
    if headline:
        print(f"warning: {headline}", file=sys.stderr)
    if output is not None:
        output.write_text(made, encoding="utf-8")
    if json:
        warnings = [headline] if headline else []
        print_json("refine", {**release_json(release), "declaration": made, "warnings": warnings}, [output])
    elif output is None:
        typer.echo(made, nl=False)
    else:
        print_wrapped(f"Wrote {output}: for discreet release --model {output}, with the rest of the budget.")

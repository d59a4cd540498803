"""``discreet coarsen``: a more private version of a release file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli.console import guarantee_json, print_json, print_wrapped
from discreet.cli.options import (
    AsJson,
    Delta,
    Epsilon,
    Force,
    ReleaseFile,
    Rho,
    budget_option,
    written_option,
)
from discreet.cli.output_checks import ensure_distinct, ensure_writable, load_release


def coarsen(
    file: ReleaseFile,
    output: Annotated[Path, written_option("Release file to write.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    ledger: Annotated[
        str | None,
        budget_option(
            "URL", "Ledger that the release was charged to; it notes the new file, which costs nothing more."
        ),
    ] = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Add noise: turn a release file into one for a smaller budget, for readers who are to know less.

    The rows are not needed. The new file is distributed like a release of the smaller budget. Whoever has both files,
    or two made from the same one, has the larger budget's promise: coarsen the coarser file again for a third tier.
    """
    ensure_distinct(output, file)
    ensure_writable(output, replace=force, loss=", and may be a release that was paid for")
    found = load_release(file)
    from discreet.curator.coarsen import coarsen as make_coarser

    made = make_coarser(found, epsilon=epsilon, delta=delta, rho=rho, ledger=ledger)
    made.save(output)
    if json:
        print_json(
            "coarsen",
            {
                "file": str(output),
                "id": made.id,
                "from": found.id,
                "guarantee": guarantee_json(made.guarantee),
                "with_the_original": guarantee_json(found.guarantee),
                "statement": made.statement(),
            },
        )
        return
    print_wrapped(
        f"Wrote {output}: {made.guarantee.describe()}; together with {file}, {found.guarantee.describe()}.",
        "",
        made.statement(),
    )

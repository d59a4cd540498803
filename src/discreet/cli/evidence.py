"""``discreet evidence``: the marginal likelihood in a release of private annealing, and two of them compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from discreet.cli.console import busy, print_json, print_wrapped
from discreet.cli.options import AsJson, ReleaseFile, Seed
from discreet.cli.output_checks import load_release

if TYPE_CHECKING:
    from discreet.inference.evidence import Evidence


def evidence(
    file: ReleaseFile,
    other: Annotated[
        Path | None,
        Argument(metavar="OTHER", help="A release with another prior, to compare.", show_default=False),
    ] = None,
    seed: Seed = None,
    json: AsJson = False,
) -> None:
    """Weigh priors: the log marginal likelihood that private annealing published, with its uncertainty.

    With two files, the log Bayes factor of the first against the second.
    """
    from discreet.inference.evidence import log_evidence

    releases = [load_release(one) for one in (file, other) if one is not None]
    with busy("Simulating …"):
        found = [log_evidence(one, rng=seed) for one in releases]
        shown = [*found, found[0].compare(found[1])] if other is not None else found
    if json:
        print_json("evidence", {"evidence": [_json(one) for one in shown]})
        return
    print_wrapped(*(repr(one).strip("<>") + "." for one in shown))


def _json(one: Evidence) -> dict[str, Any]:
    low, high = one.interval()
    numbers = {"median": one.median, "low": low, "high": high, "power": one.power}
    return {"of": one.prior, **numbers}

"""``discreet read``: noisy numbers that somebody else published in, a release file out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from discreet.cli.console import print_json, print_wrapped, print_written
from discreet.cli.options import (
    AsJson,
    Bins,
    Bounds,
    Force,
    flag,
    option,
    read_bounds,
    read_budget,
    read_model,
    written_option,
)
from discreet.cli.output_checks import ensure_distinct, ensure_writable
from discreet.errors import UsageError

_PAIRS = "for example --value yes=123.4 --value no=170"


def read(
    file: Annotated[
        Path | None,
        Argument(
            metavar="[FILE]",
            help="Description of the numbers: .toml or .json, with the options as keys and values as a table.",
        ),
    ] = None,
    model: Annotated[
        str | None, option("MODEL", "What the numbers are about, as release takes it.", "--model", "-m")
    ] = None,
    value: Annotated[
        list[str] | None, option("NAME=NUMBER", "A published number: yes=123.4, a label, sum, count …")
    ] = None,
    noise: Annotated[
        str | None,
        option("LAW", "laplace, gaussian, discrete_laplace, discrete_gaussian or geometric; or NAME=LAW,…."),
    ] = None,
    scale: Annotated[
        str | None,
        option(
            "NUMBER",
            "Scale of Laplace or geometric noise, sigma of Gaussian noise; or NAME=NUMBER, separated by commas.",
        ),
    ] = None,
    records: Annotated[int | None, option("N", "Number of records, if it is known exactly.")] = None,
    bounds: Bounds = None,
    bins: Bins = None,
    rounded: Annotated[
        bool, flag("--rounded", "The numbers were rounded to integers after the noise.")
    ] = False,
    clipped: Annotated[
        str | None, option("LOW[,HIGH]", "Limits that they were clipped to after the noise: 0.")
    ] = None,
    truncated: Annotated[
        str | None, option("NUMBER", "The noise itself was at most this far from 0.")
    ] = None,
    column: Annotated[str | None, option("NAME", "Name of the column.", "--column", "-c")] = None,
    source: Annotated[str | None, option("TEXT", "Who published the numbers, or with what.")] = None,
    dataset: Annotated[str | None, option("NAME", "Name of the data set.")] = None,
    claims_epsilon: Annotated[str | None, option("NUMBER", "Guarantee that is claimed for them.")] = None,
    claims_delta: Annotated[str | None, option("NUMBER", "With --claims-epsilon.")] = None,
    claims_rho: Annotated[
        str | None, option("NUMBER", "Zero-concentrated guarantee that is claimed.")
    ] = None,
    output: Annotated[Path | None, written_option("Release file to write.")] = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Read noisy numbers that somebody else published as a release file, for infer, report and show.

    Nothing is checked of what others claim: the file's statement says so.
    """
    from discreet.artifact.foreign import foreign, load_description

    if output is None:
        raise UsageError("name the release file to write.", hint="for example --output yes.json")
    if file is not None:
        ensure_distinct(output, file)
    ensure_writable(output, replace=force)
    neighbors = "add_remove" if records is None else "replace"
    claims = read_budget(claims_epsilon, claims_delta, claims_rho, neighbors, "--claims-")
    given: dict[str, Any] = {
        "model": model,
        "values": None if not value else dict(_named(one, "--value", _PAIRS) for one in value),
        "noise": None if noise is None else _maybe_named(noise, "--noise"),
        "scale": None if scale is None else _maybe_named(scale, "--scale"),
        "records": records,
        "bounds": read_bounds(bounds),
        "rounded": rounded or None,
        "clipped": None if clipped is None else _limits(clipped),
        "truncated": truncated,
        "column": column,
        "source": source,
        "dataset": dataset,
        "claims": claims,
    }
    described = {} if file is None else load_description(file)
    described |= {name: one for name, one in given.items() if one is not None}
    for name in ("model", "values", "noise"):
        if name not in described:
            raise UsageError(f"say the {name} with --{name.rstrip('s')}.", hint=_EXAMPLE)
    if isinstance(described["model"], str):
        described["model"] = read_model(described["model"], bins)
    release = foreign(described.pop("model"), **described)
    release.save(output)
    if json:
        print_json("read", {"release": release.id, "model": release.model.name}, [output])
        return
    print_wrapped(release.statement())
    print_written(output)


_EXAMPLE = (
    "discreet read -m bernoulli --value yes=123.4 --records 300 --noise laplace --scale 12.5 -o yes.json"
)


def _named(text: str, option: str, hint: str) -> tuple[str, str]:
    name, _, value = text.rpartition("=")
    if not name or not value:
        raise UsageError(f"cannot read {option} {text!r:.60}.", hint=hint)
    return name.strip(), value.strip()


def _maybe_named(text: str, option: str) -> str | dict[str, str]:
    """Read one word for all numbers, or NAME=WORD for each, separated by commas."""
    if "=" not in text:
        return text
    hint = f"write {option} WORD, or {option} yes=WORD,no=WORD"
    return dict(_named(one, option, hint) for one in text.split(","))


def _limits(text: str) -> list[str | None]:
    parts = [part.strip() or None for part in text.split(",")]
    if len(parts) > 2:
        raise UsageError(f"cannot read --clipped {text!r:.60}.", hint="write --clipped 0, or --clipped=0,500")
    return [*parts, None][:2]

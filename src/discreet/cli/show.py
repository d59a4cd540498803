"""``discreet show``: what a release file promises and holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from discreet.cli.console import console, number, paragraph, print_json, print_wrapped, table
from discreet.cli.options import AsJson, ReleaseFile, flag
from discreet.cli.output_checks import load_release
from discreet.names import shown

if TYPE_CHECKING:
    from rich.table import Table

    from discreet.artifact import FitCheck, Release, Samples, SamplingRecord

# what is shown of many draws, or of long ones
_MOST_DRAWS = 20
_MOST_COLUMNS = 8
_LONG = 8


def show(
    file: ReleaseFile,
    registry: Annotated[
        bool,
        flag("--registry", "Print what registries of private releases ask for, and what of it is not known."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Print a release's privacy statement and what it holds."""
    from json import loads

    release = load_release(file)
    if registry:
        show_registry(release, as_json=json)
        return
    if json:
        print_json("show", {"statement": release.statement(), "release": loads(release.to_json())})
        return
    print_wrapped(release.statement(), _listing(_facts(release)))
    if release.samples is not None:
        print_wrapped(_draws(release, release.samples))
        return
    statistics = release.totals
    if release.foreign:
        print_wrapped(_published(release))
        return
    record = release.noise_record
    totals = table("released total", "value", record.spread)
    # a name that is wrapped would begin lines of its own
    totals.columns[0].no_wrap, totals.columns[0].overflow = True, "ellipsis"
    rows = zip(statistics.names, statistics.values, statistics.grid, record.spreads(release), strict=True)
    for name, value, step, scale in rows:
        total = float(value * step)
        totals.add_row(shown(name), f"{total:,.0f}" if step == 1 else number(total, scale), number(scale))
    print_wrapped(totals, *_legend(release))
    if release.fit_check is not None:
        print_wrapped(_counts(release, release.fit_check))
    if not release.model.has_numbers and statistics.shift is not None and statistics.names[0] == "z":
        print_wrapped(_in_counts(release))


def _listing(facts: Iterable[tuple[str, str]], title: str | None = None) -> Table:
    """Return a table without a head: names, and what there is to say of each."""
    made = table("", "", title=title)
    made.show_header = False
    made.columns[1].justify = "left"
    for name, value in facts:
        made.add_row(name, paragraph(value))
    return made


def _published(release: Release) -> Table:
    """Return the numbers that somebody else published, with their noise in words."""
    from discreet.artifact.foreign_statement import published_in_words

    published = table("published number", "value", "noise")
    published.columns[2].justify = "left"
    for name, value, words in published_in_words(release):
        published.add_row(shown(name), value, words)
    return published


def _counts(release: Release, made: FitCheck) -> Table:
    """Return the noisy counts of a fit check as a table, one line for each bin."""
    ((low, high),) = release.domain.bounds or ((0, 0),)
    ends = [float(low), *map(float, made.cuts), float(high)]
    counts = table("fit check: values from", "to", "noisy count", "noise scale")
    for first, last, count in zip(ends, ends[1:], made.values, strict=False):
        counts.add_row(f"{first:.6g}", f"{last:.6g}", f"{count:,}", number(float(made.scale)))
    return counts


def _draws(release: Release, samples: Samples) -> Table:
    """Return the first draws as a table, one line each; components are called as ``infer`` calls them."""
    import numpy as np

    from discreet.inference.analyst import infer

    drawn = infer(release).scalars()
    heads = [shown(name) for name in drawn]
    most = _MOST_COLUMNS if max(map(len, heads)) < _LONG else _MOST_COLUMNS // 2
    made = table("released draw", *heads[:most])
    rows = np.column_stack(list(drawn.values()))[:_MOST_DRAWS, :most]
    for i, row in enumerate(rows):
        made.add_row(str(i + 1), *(number(float(value)) for value in row))
    if samples.count > _MOST_DRAWS:
        made.caption = f"and {samples.count - _MOST_DRAWS:,} more"
    return made


def _legend(release: Release) -> list[str]:
    """Say what the totals are totals of."""
    names, lines = release.totals.names, []
    if release.totals.shift is not None and names[0].startswith("z"):
        what = "z is a value" if names[0] == "z" else "z1, z2, … are the values of a record"
        lines.append(
            f"{what} mapped onto the range from -1 to 1; a total is the sum over all usable records."
        )
        if names[:2] == ("z", "z2"):
            lines.append("z2 is the square of z.")
        elif names[0] == "z1":
            lines.append("z1*z2 is the product of two of them.")
    elif names in (("low", "high"), ("low", "middle", "high")):
        shares = "(1 - z)/2 and (1 + z)/2" if len(names) == 2 else "(1 - z)²/4, (1 - z²)/2 and (1 + z)²/4"
        lines.append(
            f"Each usable record is spread over {', '.join(names[:-1])} and {names[-1]}, by its place z between -1 and "
            f"1 in the range: {shares}. They sum to 1, so the totals sum to the number of usable records."
        )
    if release.model.totals_in_words:
        lines.append(f"{release.model.totals_in_words} discreet infer reads them in the units of the data.")
    if names[-1] == "usable" and release.model.labels != names:
        lines.append("usable is the number of records whose value is not missing.")
    return lines


def _in_counts(release: Release) -> str:
    """Say what totals of z = 2x - 1 and of usable records mean as counts of yes and no."""
    values, noise = release.totals.values, release.noise
    # with nothing missing by declaration, all records are usable and their number is public
    usable = values[-1] if release.domain.missing == "count" else release.records or 0
    sd = sum(distribution.sd**2 for distribution in noise) ** 0.5 / 2
    yes, no = (f"{(usable + sign * values[0]) / 2:,.10g}" for sign in (1, -1))
    return (
        f"In counts: {yes} yes and {no} no. They are noisy too, each by a standard deviation of {number(sd, sd)}, "
        "so they may be fractions or negative."
    )


def _sampling_facts(record: SamplingRecord, names: tuple[str, ...]) -> list[tuple[str, str]]:
    facts = [] if record.prior is None else [("prior", str(record.prior))]
    if record.support is not None:
        # a model of several columns may bound something else than its draws one by one
        named = (
            [f"{name} in " for name in names]
            if len(names) == len(record.support)
            else [""] * len(record.support)
        )
        ranges = [
            f"{name}[{float(a):g}, {float(b):g}]" for name, (a, b) in zip(named, record.support, strict=True)
        ]
        facts.append(("support", ", ".join(ranges)))
    return [*facts, *((name, f"{float(value):.6g}") for name, value in record.parameters.items())]


def _facts(release: Release) -> list[tuple[str, str]]:
    facts = [
        # what a model of several columns declares of them is in the statement
        ("model", release.model.describe()),
        ("columns", ", ".join(release.columns)),
        ("records", "private" if release.records is None else f"{release.records:,}"),
        ("neighbors", release.neighbors),
        ("guarantee", release.promise),
        ("mechanism", release.mechanism.name.replace("_", " ")),
    ]
    if release.samples is not None:
        facts += _sampling_facts(release.sampling_record, tuple(release.model.draw_names))
    if release.domain.bounds is not None:
        bounds = ", ".join(f"[{float(low):g}, {float(high):g}]" for low, high in release.domain.bounds)
        facts.append(("bounds", f"{bounds}; outside: {release.domain.outside}"))
    for made in release.bounds_choice or ():
        low, high = (f"{float(q):g}" for q in made.quantiles)
        widest = ", ".join(f"{float(x):g}" for x in made.within)
        price = f"epsilon = {float(made.epsilon):g}"
        facts.append(("bought", f"quantiles {low} and {high} within [{widest}], {made.cells} cells; {price}"))
    if (chosen := release.group_selection) is not None:
        price = release.guarantees["groups"].describe()
        facts.append(
            ("groups", f"labels of {chosen.column}, by a threshold of {chosen.threshold:,}; {price}")
        )
    if release.fit_check is not None:
        price = release.guarantees["fit_check"].describe()
        facts.append(("fit check", f"counts of {len(release.fit_check.values)} bins; {price}"))
    filled = ", ".join(release.model.imputed_in_words(release.domain))
    facts.append(("missing", release.domain.missing + (f" {filled}" if filled else "")))
    if release.dataset is not None:
        facts.append(("data set", release.dataset))
    if release.ledger is not None:
        facts.append(("ledger", f"entry {release.ledger.sequence} of {release.ledger.id}"))
    if release.about is not None:
        facts.append(("about", ", ".join(release.about)))
    facts.append(("software", ", ".join(f"{k} {v}" for k, v in release.software.items())))
    facts.append(("id", release.id))
    return facts


_TITLES = {
    "basic": "What it is",
    "dp_variant": "Variant of differential privacy",
    "privacy_loss": "Privacy loss",
    "deployment_model": "Deployment model",
    "implementation": "Implementation",
    "administrative": "Sources",
    "evaluation": "For an evaluation (NIST SP 800-226)",
}


def show_registry(release: Release, *, as_json: bool) -> None:
    """Print the fields by section, then those that are not known and how they could be declared."""
    from discreet.artifact.registry_fields import registry_fields

    found = registry_fields(release)
    if as_json:
        print_json("registry", found.to_dict())
        return
    for section, fields in found.sections.items():
        known = [
            (_SHORT.get(name, name).replace("_", " "), _shown(value))
            for name, value in fields.items()
            if value is not None
        ]
        if known:
            made = _listing(known, _TITLES[section])
            made.columns[0].no_wrap = True
            print_wrapped(made)
    if found.unknown:
        print_wrapped(
            "Not known, because nobody declared it (about= in Python, --about FILE when releasing):"
        )
        for name, field in found.unknown.items():
            console().print(f"  {name}" + ("" if field is None else f"  ({field} = …)"))


# names that would leave no room for what they name
_SHORT = {
    "preprocessing_and_hyperparameter_tuning": "preprocessing",
    "privacy_parameters_details": "in words",
}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {number:.6g}" for name, number in value.items())
    return "\n".join(value) if isinstance(value, list) else str(value)

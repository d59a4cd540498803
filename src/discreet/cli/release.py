"""``discreet release``: rows in, a private release file out."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings, simplefilter

from discreet.cli.console import busy, guarantee_json, plain, print_json, print_wrapped
from discreet.cli.options import (
    AsJson,
    Bins,
    BoughtBounds,
    BoundsEpsilon,
    By,
    Columns,
    Data,
    Delta,
    Epsilon,
    FitCheck,
    Force,
    Groups,
    LastBy,
    MaxGroups,
    MaxRows,
    Model,
    Neighbors,
    NullUnit,
    PerUnit,
    Query,
    Rho,
    RowBounds,
    Table,
    Unit,
    WeightBounds,
    Weights,
    Where,
    Within,
    budget_option,
    flag,
    option,
    read_bounds_or_quantiles,
    read_by,
    read_columns,
    read_model,
    read_pair,
    written_option,
)
from discreet.cli.output_checks import ensure_distinct, ensure_writable
from discreet.cli.sample_mechanisms import choose_mechanism
from discreet.cli.sampling import (
    AnyMechanism,
    AnyMissing,
    AnyOutside,
    EpsilonPerUnit,
    Impute,
    Metric,
    Mode,
    Order,
    Parameters,
    Prior,
    Samples,
    Steps,
    Support,
    With,
    read_impute,
)
from discreet.domain.declarations import REDACTED
from discreet.errors import DiscreetError, UsageError

if TYPE_CHECKING:
    from discreet.artifact import Release
    from discreet.privacy import Guarantee


_ROWS, _WEIGHTS = "for example --row-bounds 0,100", "for example --weight-bounds 0,10"
# A posterior is read for its warnings alone: few draws will do, of models that are read in a moment.
_FEW_DRAWS, _MOST_TOTALS = 400, 128
# Seconds that nobody who waits for a release minds.
_SOON = 0.5


def release(
    data: Data,
    model: Model,
    output: Annotated[Path | None, written_option("Release file to write.")] = None,
    column: Columns = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    metric: Metric = None,
    epsilon_per_unit: EpsilonPerUnit = None,
    mechanism: AnyMechanism = None,
    bounds: BoughtBounds = None,
    bins: Bins = None,
    within: Within = None,
    bounds_epsilon: BoundsEpsilon = None,
    fit_check: FitCheck = None,
    outside: AnyOutside = None,
    missing: AnyMissing = None,
    neighbors: Neighbors = "replace",
    prior: Prior = None,
    samples: Samples = None,
    steps: Steps = None,
    support: Support = None,
    parameter: Parameters = None,
    order: Order = None,
    mode: Mode = None,
    settings: With = None,
    impute: Impute = None,
    unit: Unit = None,
    per_unit: PerUnit = None,
    max_rows: MaxRows = None,
    row_bounds: RowBounds = None,
    last_by: LastBy = None,
    null_unit: NullUnit = "leave_out",
    weights: Weights = None,
    weight_bounds: WeightBounds = None,
    by: By = None,
    groups: Groups = None,
    max_groups: MaxGroups = None,
    table: Table = None,
    query: Query = None,
    where: Where = None,
    dataset: Annotated[
        str | None,
        option(
            "NAME",
            "Name of the data set, to be written into the file, and to be charged if there is a ledger.",
        ),
    ] = None,
    unit_label: Annotated[
        str | None, option("TEXT", "Unit of the column's numbers, such as years; written into the file.")
    ] = None,
    ledger: Annotated[
        str | None,
        budget_option("URL", "Ledger to charge before anything is released; discreet ledger init makes one."),
    ] = None,
    analyst: Annotated[str | None, budget_option("NAME", "For whom, if analysts have budgets.")] = None,
    about: Annotated[
        Path | None,
        option(
            "FILE",
            "Public declarations for registries (.toml, .json), written into the file: curators, purpose, …",
        ),
    ] = None,
    explain: Annotated[
        bool,
        flag(
            "--explain",
            "Show the queries that would run, what leaves the engine, the noise and the cost; spend nothing.",
        ),
    ] = False,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Spend budget: turn rows into a private release file.

    It holds noisy totals or, with --mechanism posterior-sample, renyi-posterior or a private chain, a few draws from a
    posterior.

    One line of a CSV file is one record; a file with line breaks inside fields must be rewritten first, for example as
    Parquet. Noise comes from the operating system's random source; there is no seed. Every run is a new release and
    costs its budget again.
    """
    family = read_model(model, bins)
    options = {
        "prior": prior,
        "samples": samples,
        "steps": steps,
        "support": support,
        "parameter": parameter,
        "order": order,
        "mode": mode,
        "with": settings or None,
    }
    budget = {"epsilon": epsilon, "delta": delta, "rho": rho}
    by_distance = None
    if metric is not None or epsilon_per_unit is not None:
        by_distance = {"metric": metric, "epsilon_per_unit": epsilon_per_unit}
    chosen = choose_mechanism(mechanism, family, budget, options, by_distance)
    limits = read_bounds_or_quantiles(bounds, within, bounds_epsilon)
    if not explain:
        if output is None:
            raise UsageError("name the release file to write.", hint="for example --output age.json")
        # a release that cannot be saved is budget thrown away
        if "://" not in data:
            ensure_distinct(output, Path(data))
        ensure_writable(output, replace=force, loss=", and the release in it was paid for")
    declared = read_by(by, groups)
    from discreet.artifact.about import load_about

    arguments: dict[str, Any] = {
        "columns": read_columns(column, family),
        **chosen,
        "bounds": limits,
        "outside": outside,
        "missing": missing,
        "impute": read_impute(impute, family),
        "neighbors": neighbors,
        "unit": unit,
        "per_unit": per_unit,
        "max_rows": max_rows,
        "row_bounds": [read_pair(text, "--row-bounds", _ROWS) for text in row_bounds] if row_bounds else None,
        "last_by": last_by,
        "null_unit": null_unit,
        "weights": weights,
        "weight_bounds": read_pair(weight_bounds, "--weight-bounds", _WEIGHTS) if weight_bounds else None,
        "by": None if declared is None else list(declared),
        "groups": declared,
        "max_groups": max_groups,
        "where": where,
        "fit_check": fit_check,
        "table": table,
        "query": query,
        "dataset": dataset,
        "unit_label": unit_label,
        "ledger": ledger,
        "analyst": analyst,
        "about": None if about is None else load_about(about),
    }
    from discreet.curator.publish import release as make_release

    if output is None or explain:
        planned = make_release(data, family, **arguments, explain=True)
        if json:
            print_json("release-explain", planned.to_dict())
        else:
            print(plain(str(planned)))
        return
    with busy("Summing …"), catch_warnings():
        # what takes long to read is said below
        simplefilter("ignore", UserWarning)
        made = make_release(data, family, **arguments)
        made.save(output)
        said_of_itself = _warnings(made)
    _note_weakness(made.guarantee)
    _note_redaction(made)
    for said in said_of_itself:
        print(f"warning: {said}", file=sys.stderr)
    if json:
        declared_bounds = made.domain.bounds
        print_json(
            "release",
            {
                "file": str(output),
                "id": made.id,
                "model": family.name,
                "columns": list(made.columns),
                "records": made.records,
                "unit": None if made.unit is None else made.unit.column,
                "guarantee": guarantee_json(made.guarantee),
                "guarantees": {name: guarantee_json(part) for name, part in made.guarantees.items()},
                "bounds": declared_bounds and [[str(low), str(high)] for low, high in declared_bounds],
                "ledger": None if made.ledger is None else asdict(made.ledger),
                "statement": made.statement(),
                "warnings": list(said_of_itself),
            },
        )
        return
    print_wrapped(f"Wrote {output}: {made.guarantee.describe()}.")
    if made.ledger is not None and ledger is not None:
        print_wrapped(f"Charged as entry {made.ledger.sequence}{_left(ledger, dataset, analyst)}.")
    print_wrapped("", made.statement())


def _warnings(made: Release) -> tuple[str, ...]:
    """Return what the release says of itself to any analyst: from its noisy values alone, so that it costs nothing."""
    from discreet.inference.analyst import infer, predicted_seconds
    from discreet.inference.cautions import few_usable

    if made.samples is None and made.model.slow_in_words:
        return (*few_usable(made), made.model.slow_in_words)
    if made.samples is not None or len(made.totals.names) > _MOST_TOTALS:
        return few_usable(made)
    try:
        parts = made.by_group() or {"": made}
        slow = sum(predicted_seconds(one, _FEW_DRAWS) for one in parts.values()) > _SOON
        said = infer(made, draws=_FEW_DRAWS, engine="gibbs" if slow else "auto", rng=0).diagnostics.warnings
    except DiscreetError:
        return few_usable(made)
    return tuple(one for one in said if one != REDACTED)


def _left(ledger: str, dataset: str | None, analyst: str | None) -> str:
    """Say what remains of the budgets that were charged, if the ledger can still be read; the release is made."""
    from discreet.ledger import Ledger
    from discreet.ledger.amounts import in_words

    said = f" to the data set {dataset}"
    try:
        kept = Ledger(ledger)
        accounts = [
            one for one in kept.accounts() if one.dataset == dataset and one.analyst in (None, analyst)
        ]
    except DiscreetError:
        return said
    for one in accounts:
        left = in_words(one.remaining, down=True)
        said += f"; remaining{'' if one.analyst is None else f' for {one.analyst}'}: {left}"
    return said


def _note_redaction(made: Release) -> None:
    """Say on stderr why redacted values are better clipped."""
    if made.model.has_numbers and made.domain.outside == "redact":
        print(f"note: {REDACTED}.", file=sys.stderr)


def _note_weakness(guarantee: Guarantee) -> None:
    """Say on stderr that a promise is too weak to mean anything."""
    from discreet.artifact.statement import HIGHEST_EPSILON
    from discreet.rational import plain as decimal

    # of a promise per unit of distance, what its unit is worth is for the curator to say
    epsilon = None if "diameter" in guarantee.budgets() else guarantee.budgets().get("epsilon")
    if epsilon is not None and epsilon > HIGHEST_EPSILON:
        print(f"note: epsilon = {decimal(epsilon)} protects nobody in practice.", file=sys.stderr)

"""``discreet audit``: the settings of a release in, a lower bound on its privacy loss out."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from discreet.cli.console import print_json, print_plain
from discreet.cli.options import (
    AsJson,
    Bins,
    BoughtBounds,
    BoundsEpsilon,
    By,
    Delta,
    Epsilon,
    FitCheck,
    MaxGroups,
    MaxRows,
    Model,
    Neighbors,
    PerUnit,
    Rho,
    Unit,
    Within,
    option,
    read_bounds_or_quantiles,
    read_by,
    read_model,
    read_seed,
)
from discreet.cli.sample_mechanisms import choose_mechanism
from discreet.cli.sampling import (
    AnyMechanism,
    AnyMissing,
    AnyOutside,
    Impute,
    Mode,
    Order,
    Prior,
    Samples,
    Steps,
    Support,
    With,
    read_impute,
)

_audited = partial(option, rich_help_panel="How it is audited")


def audit(
    model: Model,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
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
    order: Order = None,
    mode: Mode = None,
    settings: With = None,
    impute: Impute = None,
    unit: Unit = None,
    per_unit: PerUnit = None,
    max_rows: MaxRows = None,
    by: By = None,
    max_groups: MaxGroups = None,
    runs: Annotated[int, _audited("N", "Runs under each of two neighboring tables.")] = 100_000,
    confidence: Annotated[
        float, _audited("P", "Probability with which a true claim is not called wrong.")
    ] = 0.99,
    n: Annotated[int, _audited("N", "Records, or people, of invented tables.")] = 4,
    end_to_end: Annotated[int, _audited("N", "Whole releases that the runs must agree with.")] = 1000,
    bound_only: Annotated[
        bool, _audited(None, "Leave out the checks of the release path.", "--bound-only")
    ] = False,
    seed: Annotated[int | None, _audited("N", "Seed of the search for tables.", callback=read_seed)] = None,
    json: AsJson = False,
) -> None:
    """Try to prove a privacy claim wrong. Tables are invented, no data is read, no budget spent.

    The release runs many times under two neighboring tables, the worst that a search finds. Half of the runs choose an
    event that tells the tables apart, the other half count it: the privacy loss is at least what is printed, with the
    stated confidence. Then the path itself is checked: order, engine and chunking of rows, files, randomness, time.
    The exit code is 0 whatever the verdict.
    """
    family = read_model(model, bins)
    options = {
        "prior": prior,
        "samples": samples,
        "steps": steps,
        "support": support,
        "order": order,
        "mode": mode,
        "with": settings or None,
    }
    budget = {"epsilon": epsilon, "delta": delta, "rho": rho}
    groups = read_by(by)
    arguments: dict[str, Any] = {
        **choose_mechanism(mechanism, family, budget, options),
        "bounds": read_bounds_or_quantiles(bounds, within, bounds_epsilon),
        "fit_check": fit_check,
        "outside": outside,
        "missing": missing,
        "impute": read_impute(impute, family),
        "neighbors": neighbors,
        "unit": unit,
        "per_unit": per_unit,
        "max_rows": max_rows,
        "by": None if groups is None else list(groups),
        "groups": groups,
        "max_groups": max_groups,
    }

    from discreet.validation.audit import audit as try_to_refute

    found = try_to_refute(
        family,
        **arguments,
        runs=runs,
        confidence=confidence,
        n=n,
        checks=not bound_only,
        end_to_end=end_to_end,
        rng=seed,
    )
    if json:
        print_json("audit", {**found.to_dict(), "seed": seed})
        return
    print_plain(found.summary())

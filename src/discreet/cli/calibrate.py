"""``discreet calibrate``: simulated releases in, a verdict on their posteriors out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from discreet.cli.console import print_json, print_plain, print_wrapped, print_written
from discreet.cli.options import (
    AsJson,
    BoughtBounds,
    BoundsEpsilon,
    Delta,
    EngineName,
    Epsilon,
    Missing,
    Model,
    Neighbors,
    Outside,
    Rho,
    Within,
    option,
    output_option,
    read_bounds_or_quantiles,
    read_model,
    read_prior,
    read_records,
    read_seed,
)
from discreet.cli.sample_mechanisms import choose_mechanism
from discreet.cli.sampling import Mode, Order, ReadMechanism, Samples, Support
from discreet.cli.show_result import Picture, check_picture
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.domain.declarations import Domain
    from discreet.families import Likelihood

_simulated = partial(option, rich_help_panel="What is simulated, and how it is read")


def calibrate(
    model: Model,
    n: Annotated[int, option("N", "Number of records.")],
    prior: Annotated[
        str | None,
        option(
            "PRIOR",
            "Conjugate prior, from which parameters are drawn: beta:1,1, gamma:10,10 …",
            show_default="weak",
        ),
    ] = None,
    bounds: BoughtBounds = None,
    within: Within = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    bounds_epsilon: BoundsEpsilon = None,
    mechanism: ReadMechanism = "laplace",
    samples: Samples = None,
    support: Support = None,
    order: Order = None,
    mode: Mode = None,
    engine: Annotated[
        EngineName,
        _simulated(
            "ENGINE", "The engine under test: auto (as in infer), exact, augment, gibbs, plain or naive."
        ),
    ] = "auto",
    outside: Outside = "clip",
    missing: Missing = "none",
    neighbors: Neighbors = "replace",
    records: Annotated[
        str | None,
        _simulated(
            "LOW,HIGH",
            "Uniform prior on a private count of records, from which it is drawn.",
            show_default="0,2n",
        ),
    ] = None,
    trials: Annotated[int, _simulated("N", "Number of releases to simulate.")] = 1000,
    draws: Annotated[int, _simulated("N", "Posterior draws to rank the truth among.")] = 99,
    seed: Annotated[
        int | None, _simulated("N", "Seed, for the same result again.", callback=read_seed)
    ] = None,
    workers: Annotated[
        int | None, _simulated("N", "Number of processes.", show_default="one for each core, if worth while")
    ] = None,
    false_alarm: Annotated[
        float, output_option("P", "How often the verdict may condemn a calibrated posterior.")
    ] = 0.01,
    output: Picture = None,
    json: AsJson = False,
) -> None:
    """Check by simulation that posteriors are as sure as they should be. No data is read, no budget spent.

    Parameters are drawn from the prior, records from the model; they are released and read like real ones. In a
    calibrated posterior the truth has a uniform rank among the draws, and intervals hold it as often as they say.
    Unlike in release, no value is missing unless --missing count says so. A mechanism that releases samples takes the
    same prior as the analyst. The exit code is 0 whatever the verdict.
    """
    from discreet import families

    if not 0 < false_alarm < 1:
        raise UsageError(f"the false-alarm rate must lie between 0 and 1, got --false-alarm={false_alarm}.")
    family = read_model(model).require(families.Likelihood, "records are simulated of a family")
    limits = read_bounds_or_quantiles(bounds, within, bounds_epsilon)
    counts = read_records(records)
    check_picture(output)

    from discreet.validation import calibrate as simulate

    options = {"samples": samples, "support": support, "order": order, "mode": mode}
    if mechanism not in ("laplace", "gaussian"):
        options["prior"] = prior
    arguments: dict[str, Any] = {
        "n": n,
        **choose_mechanism(mechanism, family, {"epsilon": epsilon, "delta": delta, "rho": rho}, options),
        "engine": engine,
        "prior": None if prior is None else read_prior(prior, family, lambda: _widest(family, limits)),
        "bounds": limits,
        "outside": outside,
        "missing": missing,
        "neighbors": neighbors,
        "records": counts,
        "trials": trials,
        "draws": draws,
        "workers": workers,
    }
    found = simulate(family, **arguments, rng=seed)
    if output is not None:
        found.plot(output, false_alarm=false_alarm)
    if json:
        print_json("calibrate", {**found.to_dict(false_alarm), "seed": seed}, [output])
        return
    summary = found.summary(false_alarm)
    print_wrapped(*summary.about, "")
    print_plain("\n".join(summary.tables))
    print_wrapped("", *summary.sentences)
    print_written(output)


def _widest(family: Likelihood, bounds: Any) -> Domain:
    """Return what is declared, with the widest bounds where they are to be bought."""
    from discreet.curator.declare import are_bought
    from discreet.domain.declarations import Domain
    from discreet.mechanisms.quantile import plan_choices

    widest = [how.within for how in plan_choices(bounds, family)] if are_bought(bounds) else bounds
    return Domain(family.parse_bounds(widest), family.labels, "clip", "none")

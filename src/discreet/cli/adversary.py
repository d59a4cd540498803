"""``discreet adversary``: declarations in, how much of their worst case chosen records reach out."""

from __future__ import annotations

from typing import Annotated

from discreet.cli.console import busy
from discreet.cli.options import AsJson, Bounds, Epsilon, Model, option, read_bounds, read_model
from discreet.cli.sample_mechanisms import choose_mechanism
from discreet.cli.sampling import Prior, Support
from discreet.cli.show_result import Picture, check_picture, show_result


def adversary(
    model: Model,
    prior: Prior = None,
    support: Support = None,
    epsilon: Epsilon = None,
    bounds: Bounds = None,
    records: Annotated[int, option("N", "Number of records of the largest table.")] = 200,
    output: Picture = None,
    json: AsJson = False,
) -> None:
    """Let an adversary choose the records, so that a posterior sample gives one of them away. No data is read.

    For each number of records the table's own epsilon is printed: how much one draw can tell about one record, given
    all others. It is no guarantee; what it approaches, the worst case, is.
    """
    from discreet import families
    from discreet.validation import adversary as compute

    check_picture(output)
    family = read_model(model).require(families.Family, "records are simulated of a family")
    mechanism = choose_mechanism(
        "posterior-sample",
        family,
        {"epsilon": epsilon, "delta": None, "rho": None},
        {"prior": prior, "support": support, "samples": None},
    )
    with busy("Choosing records …"):
        found = compute(family, bounds=read_bounds(bounds), records=records, **mechanism)
    show_result("adversary", found, output, as_json=json)

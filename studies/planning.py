"""Whether plans come true: widths, solved budgets, divisions, and real columns.

    python studies/planning.py [--check] [--releases 500] [--columns 60] [--part widths|division|columns] [--only NAME]

Each of ten models (of one column, of groups, a regression) is planned for a budget and for a wanted width; fresh tables
are drawn, released with seeded noise and read with defaults, and the mean of their widths is held against the plan's. A
budget for six questions is divided, and judged on new tables beside equal shares and a grid search. Real columns are
resampled, released under the epsilon that the plan gives for plus or minus 5% of the range, with the right rough mean
and sd and with its defaults, and the widths compared.

``--check`` exits with 1 if a claim fails. Needs the ``studies`` extra.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from common.claim import Claim
from common.report import arguments_of, finished, report, to_dict, write
from plans import achieved, divided, real


def main() -> int:
    """Print the claims."""
    parser = arguments_of(__doc__)
    parser.add_argument("--releases", type=int, default=500, help="fresh releases for each plan")
    parser.add_argument("--columns", type=int, default=60, help="releases of each real column")
    parser.add_argument("--part", choices=("widths", "division", "columns"), help="this part alone")
    parser.add_argument("--only", help="models whose name contains this")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    claims: list[Claim] = []
    numbers: dict[str, Any] = {}
    if options.part in (None, "widths"):
        claims += widths(options.releases, options.seed, options.only or "", numbers)
    if options.part in (None, "division"):
        made, numbers["division"] = divided.division_claims(options.seed)
        claims += said(made)
    if options.part in (None, "columns"):
        claims += said(columns(options.columns, options.seed, numbers))
    settings = {"releases": options.releases, "columns": options.columns, "seed": options.seed}
    contents = write(
        options.out, "planning", report(claims), {**to_dict("planning", settings, [], claims), **numbers}
    )
    return finished(options, contents, claims)


def widths(releases: int, seed: int, only: str, numbers: dict[str, Any]) -> list[Claim]:
    """Hold plans against fresh releases, model by model."""
    claims = []
    for case in achieved.cases():
        if only.lower() in case.name.lower():
            found = achieved.held(case, releases, seed)
            numbers[case.name] = {one.asked: [one.planned, one.achieved, one.error] for one in found}
            claims += said([one.claim for one in found])
    return claims


def columns(releases: int, seed: int, numbers: dict[str, Any]) -> list[Claim]:
    """Hold plans against releases of resampled real columns."""
    from columns.populations import columns as real_columns

    rng = np.random.default_rng([seed, 9])
    made = [real.known_ratio(column, releases, rng) for column in real_columns()]
    known = [one for one in made if one is not None]
    epsilon = real.default_epsilon()
    default = [real.default_ratio(column, epsilon, releases, rng) for column in real_columns()]
    numbers["columns"] = {
        "known": {one.column: [one.epsilon, one.ratio, one.error] for one in known},
        "default": {one.column: [one.epsilon, one.ratio, one.error] for one in default},
    }
    left = [column.name for column, one in zip(real_columns(), made, strict=True) if one is None]
    claim = real.claims_of(known, real.KNOWN, "with the right rough mean and sd")
    if left:
        more = f"{claim.measured}; cannot have this width at any epsilon: {', '.join(left)}"
        claim = Claim(claim.source, claim.text, claim.holds, more)
    return [claim, real.claims_of(default, real.DEFAULT, "with its defaults")]


def said(claims: list[Claim]) -> list[Claim]:
    """Print claims as they come, for whoever waits."""
    for claim in claims:
        print(
            f"{'pass' if claim.holds else 'FAIL'}  {claim.source}: {claim.measured}",
            file=sys.stderr,
            flush=True,
        )
    return claims


if __name__ == "__main__":
    sys.exit(main())

"""Redraw figures 1 and 2 of Foulds et al. (2016), and check its section 3 and supplement claim by claim.

    python studies/foulds2016.py [--quick] [--out studies/results] [--json] [--check]

Two ways to a private posterior: draw once from a tempered one (OPS, the exponential mechanism), or add Laplace noise to
the statistics and read them. What does a draw cost, what is it worth, and what becomes of both as records are added?
Costs are computed from the distributions themselves; draws come from the library's mechanisms.

Writes the picture, the report and the numbers: ``foulds2016.png``, ``.txt`` and ``.json``. ``--check`` exits with 1 if
a claim does not hold. Seeded; takes under a minute, ``--quick`` some seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from common.claim import Panel
from common.report import arguments_of, conclude
from foulds import accuracy, costs
from foulds.figure import draw_figure

SEED = 2016
NAME = "foulds2016"
#: Replicates of figure 2 (as in the paper) and of the variances.
REPEATS, VARIANCE_REPEATS = 1000, 20_000
QUICK = 10


def run(quick: bool) -> list[Panel]:
    """Compute every panel; each has random numbers of its own."""

    def rng(panel: int) -> np.random.Generator:
        return np.random.default_rng([SEED, panel])

    share = QUICK if quick else 1
    return [
        accuracy.posteriors(rng(0)),
        accuracy.errors(rng(1), REPEATS // share),
        accuracy.divergences(rng(2), VARIANCE_REPEATS // share),
        accuracy.efficiency(rng(3), VARIANCE_REPEATS // share),
        costs.adversary(),
        costs.recipe(),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = arguments_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the replicates")
    options = parser.parse_args(arguments)
    panels = run(options.quick)
    return conclude(options, NAME, {"quick": options.quick, "seed": SEED}, panels, draw_figure)


if __name__ == "__main__":
    sys.exit(main())

"""Redraw figure 1 of Dimitrakakis et al. (2017), and check its theorems and examples claim by claim.

    python studies/dimitrakakis2017.py [--out studies/results] [--json] [--check]

If a log-likelihood changes little with the data, a draw from the posterior is private as it is. How much it changes is
a Lipschitz constant under a distance between tables; what follows from it is a list of theorems and worked examples.
Every constant is held against exact numbers: enumerations, quadrature, distribution functions. Where a printed one
fails, the corrected one that the library has is checked, and the printed one must be caught.

Writes the picture, the report and the numbers: ``dimitrakakis2017.png``, ``.txt`` and ``.json``. ``--check`` exits with
1 if a claim does not hold. Seeded; takes some seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from common.claim import Panel
from common.report import arguments_of, conclude
from dimitrakakis import coins, draws, lemmas, records
from dimitrakakis.figure import draw_figure

SEED = 2017
NAME = "dimitrakakis2017"


def run() -> list[Panel]:
    """Compute every panel; each has random numbers of its own."""

    def rng(panel: int) -> np.random.Generator:
        return np.random.default_rng([SEED, panel])

    return [
        coins.smooth_mass("uniform", weighted=False),
        coins.smooth_mass("weighted", weighted=True),
        lemmas.ratios(),
        records.neighbors(rng(3)),
        draws.deltas(),
        draws.adversaries(rng(5)),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    options = arguments_of(__doc__).parse_args(arguments)
    panels = run()
    return conclude(options, NAME, {"seed": SEED}, panels, draw_figure)


if __name__ == "__main__":
    sys.exit(main())

"""Redraw figures 7.2 to 7.8 of Geumlek (2020), and check chapter 7 claim by claim.

    python studies/geumlek2020_ch7.py [--quick] [--out studies/results] [--json] [--check]

What does it cost to hide who somebody is, if not what they observe? One-bit and categorical mechanisms on the
chapter's graphs, next to randomized response; the entries of the chapter's table of categorical profiles are lost, so
the profiles are stated here. Everything is computed from the fitted mechanisms, nothing is simulated.

Writes the picture, the report and the numbers: ``geumlek2020_ch7.png``, ``.txt`` and ``.json``. ``--check`` exits
with 1 if a claim does not hold. Seeded; takes some seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from common.claim import Panel
from common.report import arguments_of, conclude
from geumlek import chains, couplet, together
from geumlek.figure_ch7 import draw_figure

SEED = 2020
NAME = "geumlek2020_ch7"


def run(quick: bool) -> list[Panel]:
    """Compute every panel; each has random numbers of its own."""
    step = 0.2 if quick else 0.05
    epsilons = np.round(np.arange(step, 2 + step / 2, step), 3)
    share = 4 if quick else 1
    return [
        couplet.couplet(40 // share),
        couplet.closed_form(np.random.default_rng([SEED, 1]), 600 // share),
        chains.bernoulli(6, epsilons),
        chains.bernoulli(21, epsilons),
        chains.categorical(epsilons),
        together.composition(epsilons),
        together.processing(np.random.default_rng([SEED, 2]), 100 // share),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = arguments_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the points")
    options = parser.parse_args(arguments)
    panels = run(options.quick)
    return conclude(options, NAME, {"quick": options.quick, "seed": SEED}, panels, draw_figure)


if __name__ == "__main__":
    sys.exit(main())

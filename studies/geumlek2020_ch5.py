"""Draw figures 5.1 to 5.8 of Geumlek (2020), and check chapter 5 claim by claim.

    python studies/geumlek2020_ch5.py [--quick] [--out studies/results] [--json] [--check]

Chapter 5 makes posterior samples private by rebalancing prior and data, under Rényi differential privacy. Divergences
and their suprema are held against quadrature and against lists of all tables; where the thesis is misprinted, the case
that breaks the printed form is shown. Its experiments are simulations, so they are simulated again: tables of 100
Bernoulli records with the parameters that the text gives, and seeds of our own. Every simulated mean is also computed
exactly.

Writes the picture, the report and the numbers: ``geumlek2020_ch5.png``, ``.txt`` and ``.json``. ``--check`` exits
with 1 if a claim does not hold; ``--quick`` takes fewer runs and points. Seeded; takes under a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from common.claim import Claim, Panel
from common.report import arguments_of, finished, report, to_dict, write
from geumlek import heldout, largest, levels
from geumlek.figure_ch5 import draw_figure

from discreet.priors import Beta

SEED = 2020
NAME = "geumlek2020_ch5"
#: Figures 5.5 to 5.8: rate of yes, order, prior if it is not Beta(6, 12).
HELDOUT = {
    "5.5": {"rate": 1 / 2, "order": 2.0},
    "5.6": {"rate": 1 / 2, "order": 15.0},
    "5.7a": {"rate": 1 / 3, "order": 15.0},
    "5.7b": {"rate": 1 / 2, "order": 15.0},
    "5.7c": {"rate": 2 / 3, "order": 15.0},
    "5.8": {"rate": 1 / 5, "order": 15.0, "prior": Beta(1, 1)},
}


def run(runs: int, points: int) -> tuple[list[Panel], list[Claim]]:
    """Compute every panel, each with random numbers of its own, and the claims in the order of the text."""
    rngs = [np.random.default_rng([SEED, i]) for i in range(1 + len(HELDOUT))]
    panels = [
        largest.corners(rngs[0], runs // 5),
        largest.found(points),
        levels.levels("r"),
        levels.levels("m"),
        levels.distance(2.0, points),
        levels.distance(15.0, points),
    ]
    for rng, (name, settings) in zip(rngs[1:], HELDOUT.items(), strict=True):
        panels.append(heldout.heldout(name, rng, runs, points, **settings))
    return panels, [claim for panel in panels for claim in panel.claims] + heldout.limits(points)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = arguments_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="500 runs at 8 budgets instead of 10,000 at 25")
    options = parser.parse_args(arguments)
    runs, points = (500, 8) if options.quick else (10_000, 25)
    panels, claims = run(runs, points)
    numbers = to_dict(NAME, {"runs": runs, "points": points, "seed": SEED}, panels, claims)
    contents = write(options.out, NAME, report(claims), numbers)
    draw_figure(panels, path=options.out / f"{NAME}.png")
    return finished(options, contents, claims)


if __name__ == "__main__":
    sys.exit(main())

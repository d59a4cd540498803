"""Check section 4 and supplement C of Foulds et al. (2016): Markov chains whose every update is paid for.

    python studies/foulds2016_mcmc.py [--quick] [--out studies/results] [--json] [--check]

A mixture is learned for the same epsilon in three ways: by noisy statistics, which are released once and read by a
chain that costs nothing more; by private Gibbs sampling, which pays for every sweep; and by one posterior sample, for
which a chain is taken as mixed, though nobody has proven that it is. Beside it the distribution of one update is
computed exactly and held against its price: random scans, the rules of Barker and Metropolis, annealed weights.

Writes the picture, the report and the numbers: ``foulds2016_mcmc.png``, ``.txt`` and ``.json``. ``--check`` exits with
1 if a claim does not hold. Seeded; takes about three minutes, ``--quick`` half a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from common.claim import Panel
from common.report import arguments_of, conclude
from foulds import paying, updates
from foulds.figure_mcmc import draw_figure

SEED = 20164
NAME = "foulds2016_mcmc"
#: Tables for each point of panels a and b, and trajectories of panel f.
REPEATS, TRAJECTORIES = 8, 4000


def run(quick: bool) -> list[Panel]:
    """Compute every panel; each has random numbers of its own."""

    def rng(panel: int) -> np.random.Generator:
        return np.random.default_rng([SEED, panel])

    repeats, trajectories = (1, 2000) if quick else (REPEATS, TRAJECTORIES)
    return [
        paying.by_epsilon(rng(0), repeats),
        paying.by_records(rng(1), repeats),
        paying.temperatures(),
        updates.random_scan(),
        updates.rules(),
        updates.annealing(rng(2), trajectories),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = arguments_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="one table for each point")
    options = parser.parse_args(arguments)
    panels = run(options.quick)
    return conclude(options, NAME, {"quick": options.quick, "seed": SEED}, panels, draw_figure)


if __name__ == "__main__":
    sys.exit(main())

"""Draw what privacy amplification buys, and check chapter 6 of Geumlek (2020) claim by claim.

    python studies/geumlek2020_ch6.py [--out studies/results] [--json] [--check]

A guarantee can improve after the fact: by a kernel that forgets (theorem 15), by noise on top of noise (theorem 20),
by the steps that follow in an iteration (theorems 21 and 22), by diffusion. Every bound is held against a divergence
that is computed directly, on finite spaces or by quadrature; where it is said to be tight, the case that attains it is
shown, and where the thesis is misprinted, the case that breaks the printed form.

Writes the picture, the report and the numbers: ``geumlek2020_ch6.png``, ``.txt`` and ``.json``. ``--check`` exits
with 1 if a claim does not hold. Seeded; takes some seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from common.claim import Panel
from common.report import arguments_of, conclude
from geumlek import forgetting, moving
from geumlek.figure import draw_figure

SEED = 2020
NAME = "geumlek2020_ch6"


def run(trials: int) -> list[Panel]:
    """Compute every panel; each has random numbers of its own."""

    def rng(panel: int) -> np.random.Generator:
        return np.random.default_rng([SEED, panel])

    return [
        forgetting.pure_after_mixing(rng(0), trials),
        forgetting.delta_after_mixing(),
        forgetting.laplace_twice(rng(2), trials),
        moving.iteration(rng(3), max(trials // 10, 10)),
        moving.descent(rng(4), max(trials // 50, 4)),
        moving.diffusion(),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = arguments_of(__doc__)
    parser.add_argument("--trials", type=int, default=2000, help="random kernels and couplings to try")
    options = parser.parse_args(arguments)
    if options.trials < 1:
        parser.error("--trials must be at least 1")
    panels = run(options.trials)
    return conclude(options, NAME, {"trials": options.trials, "seed": SEED}, panels, draw_figure)


if __name__ == "__main__":
    sys.exit(main())

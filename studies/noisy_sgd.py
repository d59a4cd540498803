"""Check what noisy descent promises to each record, and what it and Langevin walks learn.

    python studies/noisy_sgd.py [--out studies/results] [--json] [--check] [--quick]

On quadratic losses the last iterate of noisy gradient descent is normal, so the Rényi divergence between neighboring
tables is known exactly: it is held against the guarantee at each index (Geumlek 2020, theorem 22). Then a logistic
regression is fitted to simulated patients, by descents and by Langevin walks at several budgets.

Writes the picture, the report and the numbers: ``noisy_sgd.png``, ``.txt`` and ``.json``. ``--check`` exits with 1 if a
claim does not hold. Seeded; takes about two minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from common.claim import Panel
from common.report import arguments_of, conclude
from descent import fits, places, walks
from descent.figure import draw_figure

SEED = 2022
NAME = "noisy_sgd"


def run(*, quick: bool) -> list[Panel]:
    """Compute every panel; each has random numbers of its own."""

    def rng(panel: int) -> np.random.Generator:
        return np.random.default_rng([SEED, panel])

    sizes = (1000, 10_000) if quick else (300, 1000, 3000, 10_000, 30_000)
    return [
        places.places(rng(0), 50 if quick else 1000),
        places.hiding(),
        fits.accuracy(rng(2), 3 if quick else 20, sizes),
        walks.langevin(rng(3), 1 if quick else 4, 10_000),
    ]


def table(panel: Panel) -> str:
    """Return the held-out losses as a table."""
    rows = [name for name in panel.series if name not in ("sizes", "best", "nothing")]
    lines = ["held-out loss by number of records"]
    lines.append(f"{'':>14}" + "".join(f"{n:>9,}" for n in panel.series["sizes"]))
    lines += [f"{row:>14}" + "".join(f"{value:>9.3f}" for value in panel.series[row]) for row in rows]
    lines.append(f"{'best possible':>14}{panel.series['best']:>9.3f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = arguments_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="small tables and few repeats")
    options = parser.parse_args(arguments)
    panels = run(quick=options.quick)
    settings = {"quick": options.quick, "seed": SEED}
    return conclude(options, NAME, settings, panels, draw_figure, more=f"\n\n{table(panels[2])}")


if __name__ == "__main__":
    sys.exit(main())

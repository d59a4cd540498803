"""Redraw the case study of Foulds et al. (2016), section 5 and supplement E, on simulated war logs.

    python studies/foulds2016_hmm.py [--quick] [--out studies/results] [--json] [--check]

Hidden Markov models of log entries by region and month, from counts with Laplace noise: read as if there were no noise
(as in the paper), read as what they are, and beside them one posterior sample (OPS) and no privacy at all. The leaked
logs are not shipped; a generator makes entries of the published shape.

Writes the pictures, the report and the numbers: ``foulds2016_hmm*.png``, ``.txt`` and ``.json``. ``--check`` exits with
1 if a claim does not hold. Seeded; takes about fifteen minutes, ``--quick`` about half a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from common.claim import Panel
from common.report import arguments_of, finished, report, to_dict, write
from rich.console import Console
from rich.progress import Progress
from warlogs import assignments, heldout, updates
from warlogs.figure import draw_figure
from warlogs.generate import afghanistan, iraq
from warlogs.methods import Effort

from discreet.reporting.states import plot_emissions, plot_states

SEED = 2016
NAME = "foulds2016_hmm"
#: The last: OPS on held-out months is the last of 20 iterations, where the paper has 200; the page says so.
FULL = heldout.Plan(10, Effort(800, 400), Effort(200, 200), Effort(19, 1))
QUICK = heldout.Plan(1, Effort(500, 200), Effort(100, 60), Effort(7, 1))
#: Draws of the two readings, and iterations of OPS beside them: burn-in and, as in the paper, the last hundred.
DRAWS, OPS = (400, 80), (Effort(60, 100), Effort(10, 20))


def run(quick: bool) -> tuple[list[Panel], dict[str, assignments.Found]]:
    """Compute every panel; each has random numbers of its own."""

    def rng(panel: int) -> np.random.Generator:
        return np.random.default_rng([SEED, panel])

    plan = QUICK if quick else FULL
    theatres = (iraq(), afghanistan())
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("war logs", total=len(theatres) * (plan.splits + 1))
        panels, found = [updates.updates(theatres[0], rng(0))], {}
        for place, theatre in enumerate(theatres):
            found[theatre.name] = assignments.read(theatre, rng(1 + place), DRAWS[quick])
            bar.advance(task)
        panels.append(assignments.iraq_panel(found["Iraq"]))
        panels.append(assignments.afghanistan_panel(found["Afghanistan"], rng(3), OPS[quick]))
        for place, theatre in enumerate(theatres):
            panels.append(heldout.heldout(theatre, plan, rng(4 + place), lambda: bar.advance(task)))
    return panels, found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = arguments_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="one split and a fifth of the iterations")
    options = parser.parse_args(arguments)
    panels, found = run(options.quick)
    claims = [claim for panel in panels for claim in panel.claims]
    numbers = to_dict(NAME, {"quick": options.quick, "seed": SEED}, panels, claims)
    contents = write(options.out, NAME, report(claims), numbers)
    draw_figure(panels, path=options.out / f"{NAME}.png")
    for name, one in found.items():
        stem = options.out / f"{NAME}_{name.lower()}"
        plot_states(
            one.posterior, title=f"{name}-like logs: state by region and month", path=f"{stem}_states.png"
        )
        plot_emissions(
            one.posterior, title=f"{name}-like logs: what each state looks like", path=f"{stem}_emissions.png"
        )
    return finished(options, contents, claims)


if __name__ == "__main__":
    sys.exit(main())

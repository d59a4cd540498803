"""Redraw figures 1 and 2 of Foulds et al. (2016), and check its section 3 and supplement claim by claim.

    python studies/foulds2016.py [--quick] [--out studies/results] [--json] [--check]

Two ways to a private posterior: draw once from a tempered one (OPS, the exponential mechanism), or add Laplace noise to
the statistics and read them. What does a draw cost, what is it worth, and what becomes of both as records are added?
Costs are computed from the laws themselves; draws come from the library's mechanisms.

Writes the picture, the report and the numbers: ``foulds2016.png``, ``.txt`` and ``.json``. ``--check`` exits with 1 if
a claim does not hold. Seeded; takes under a minute, ``--quick`` some seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from foulds import accuracy, costs
from foulds.figure import draw_figure
from geumlek.claim import Claim, Panel

RESULTS = Path(__file__).parent / "results"
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


def report(claims: Sequence[Claim]) -> str:
    """Return the claims and how many of them hold."""
    lines = []
    for claim in claims:
        verdict = "pass" if claim.holds else "FAIL"
        lines += [f"{verdict}  {claim.source:<15} {claim.text}", f"{'':22}{claim.measured}"]
    lines.append(f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold")
    return "\n".join(lines)


def to_dict(panels: Sequence[Panel], quick: bool) -> dict[str, object]:
    """Return plain numbers: the settings, the claims and every point of the figure."""
    series = {p.name: {key: np.asarray(values).tolist() for key, values in p.series.items()} for p in panels}
    return {
        "schema": f"discreet/study-{NAME}/1",
        "settings": {"quick": quick, "seed": SEED},
        "claims": [asdict(claim) for p in panels for claim in p.claims],
        "panels": series,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the replicates")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the picture and the numbers")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a claim fails")
    options = parser.parse_args(arguments)
    panels = run(options.quick)
    claims = [claim for panel in panels for claim in panel.claims]
    options.out.mkdir(parents=True, exist_ok=True)
    text = {
        "txt": report(claims),
        "json": json.dumps(to_dict(panels, options.quick), indent=1, ensure_ascii=False),
    }
    for ending, content in text.items():
        (options.out / f"{NAME}.{ending}").write_text(content + "\n", encoding="utf-8")
    draw_figure(panels, path=options.out / f"{NAME}.png")
    print(text["json"] if options.json else text["txt"])
    return int(options.check and not all(claim.holds for claim in claims))


if __name__ == "__main__":
    sys.exit(main())

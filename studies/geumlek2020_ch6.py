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

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from geumlek import forgetting, moving
from geumlek.claim import Claim, Panel
from geumlek.figure import draw_figure

RESULTS = Path(__file__).parent / "results"
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


def report(claims: Sequence[Claim]) -> str:
    """Return the claims and how many of them hold."""
    lines = []
    for claim in claims:
        verdict = "pass" if claim.holds else "FAIL"
        lines += [f"{verdict}  {claim.source:<12} {claim.text}", f"{'':19}{claim.measured}"]
    lines.append(f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold")
    return "\n".join(lines)


def to_dict(panels: Sequence[Panel], trials: int) -> dict[str, object]:
    """Return plain numbers: the settings, the claims and every point of the figure."""
    series = {p.name: {key: np.asarray(values).tolist() for key, values in p.series.items()} for p in panels}
    return {
        "schema": f"discreet/study-{NAME}/1",
        "settings": {"trials": trials, "seed": SEED},
        "claims": [asdict(claim) for p in panels for claim in p.claims],
        "panels": series,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=2000, help="random kernels and couplings to try")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the picture and the numbers")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a claim fails")
    options = parser.parse_args(arguments)
    if options.trials < 1:
        parser.error("--trials must be at least 1")
    panels = run(options.trials)
    claims = [claim for panel in panels for claim in panel.claims]
    options.out.mkdir(parents=True, exist_ok=True)
    text = {
        "txt": report(claims),
        "json": json.dumps(to_dict(panels, options.trials), indent=1, ensure_ascii=False),
    }
    for ending, content in text.items():
        (options.out / f"{NAME}.{ending}").write_text(content + "\n", encoding="utf-8")
    draw_figure(panels, path=options.out / f"{NAME}.png")
    print(text["json"] if options.json else text["txt"])
    return int(options.check and not all(claim.holds for claim in claims))


if __name__ == "__main__":
    sys.exit(main())

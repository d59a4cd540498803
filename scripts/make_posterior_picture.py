"""Draw the picture in the README from the example release file.

python scripts/make_posterior_picture.py
"""

from __future__ import annotations

from pathlib import Path

import discreet as dc
from discreet.reporting import plot_comparison

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "docs" / "examples" / "smoking.json"
TARGET = ROOT / "docs" / "_static" / "posterior.png"


def main(target: Path = TARGET) -> None:
    # the draws that the README prints, so that picture and text give the same interval
    plot_comparison(
        {
            "naive": dc.infer(EXAMPLE, engine="naive", rng=0),
            "noise-aware": dc.infer(EXAMPLE, rng=0),
        },
        path=target,
        title="How many of the clinic's patients smoke?",
        note="posterior from one release with epsilon = 0.05, with 95% intervals",
        axis_label="share of smokers",
    )


if __name__ == "__main__":
    main()

"""Draw the picture of docs/how-to/bayesian-networks.md from the example release file.

python scripts/make_network_picture.py
"""

from __future__ import annotations

from pathlib import Path

import discreet as dc

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "docs" / "examples" / "network.json"
TARGET = ROOT / "docs" / "_static" / "network.png"


def main(target: Path = TARGET) -> None:
    # the draws that the page prints
    dc.infer(EXAMPLE, draws=1000, rng=0).plot(target, title="Sex, smoking and health")


if __name__ == "__main__":
    main()

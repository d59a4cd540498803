"""How long structured models take beside their peers.

    python benchmarks/models.py [--check] [--json]

``--check`` exits with 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import sys

import models_hmm
import models_naive_bayes

PARTS = {"hidden Markov": models_hmm, "naive Bayes": models_naive_bayes}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    asked = parser.parse_args()
    figures = {name: part.run() for name, part in PARTS.items()}
    if asked.json:
        print(json.dumps(figures))
    else:
        for name, part in PARTS.items():
            print(f"{name}\n{part.describe(figures[name])}")
    return 1 if asked.check and not all(found["passed"] for found in figures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

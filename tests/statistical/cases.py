"""One case per family for the statistical tests: a prior, and bounds that a share of its records fall outside of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import discreet as dc
from discreet.families.base import Family
from discreet.priors.base import Prior

P = dc.priors


@dataclass(frozen=True)
class Case:
    """A family under a prior, with bounds chosen near the 2.5% and 97.5% quantiles of the prior predictive."""

    name: str
    family: Family
    prior: Prior
    bounds: Any = None


LABELS = (
    Case("bernoulli", dc.Bernoulli(), P.Beta(2, 3)),
    Case("categorical", dc.Categorical(4), P.Dirichlet([2, 1, 1, 3])),
)

SCALAR = (
    Case("poisson", dc.Poisson(), P.Gamma(4, 1), (0, 10)),
    Case("geometric", dc.Geometric(), P.Beta(4, 4), (0, 6)),
    Case("exponential", dc.Exponential(), P.Gamma(10, 10), ("0.025", "4.46")),
    Case("gamma", dc.Gamma(shape=2), P.Gamma(6, 3), ("0.15", "3.3")),
    Case("laplace", dc.Laplace(location=1), P.Gamma(6, 6), (-2, 5)),
    Case("normal-mean", dc.Normal(variance=4), P.Normal(1, 2), (-4, 6)),
    Case("normal-variance", dc.Normal(mean=1), P.Gamma(5, 5), (-1, 4)),
)

WIDE = (
    Case("categorical-10", dc.Categorical(10), P.Dirichlet([1] * 10)),
    Case("normal", dc.Normal(), P.NormalInverseGamma(1, 2, 4, 4), (-2, 4)),
    Case(
        "multivariate-normal",
        dc.MultivariateNormal(2),
        P.NormalInverseWishart([0, 1], 4, 12, [[9, 2], [2, 9]]),
        [(-3, 3), (-2, 4)],
    ),
)

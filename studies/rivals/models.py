"""What is to be learned: a likelihood, a prior, and the truncation that posterior sampling needs, all public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, logsumexp, rel_entr

import discreet as dc
from discreet.families.base import Family
from discreet.priors.base import Prior

# Nodes of Gauss-Laguerre quadrature: expectations of smooth functions of an exponential variable.
_NODES, _WEIGHTS = np.polynomial.laguerre.laggauss(40)


@dataclass(frozen=True)
class Model:
    """A likelihood with its prior, from which true parameters are drawn.

    Parameters
    ----------
    support
        The truncated parameter set of posterior sampling.
    bounds
        Of the data; None for labels.
    record_sd
        Spread of one record's statistic: root mean variance under the prior.
    prior_sd
        Spread of the parameter under the prior.
    sensitivity
        How far a replaced record moves the released sum of that statistic, summed over the coordinates (L1).
    widest
        How far apart two values of the statistic can be.
    prior_records
        How many records the prior is worth.
    """

    name: str
    family: Family
    prior: Prior
    support: Any
    bounds: tuple[float, float] | None
    record_sd: float
    prior_sd: float
    sensitivity: float
    widest: float
    prior_records: float

    def draw_truth(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a true parameter from the prior."""
        (values,) = self.family.draw(self.prior, 1, rng).values()
        return np.atleast_1d(values[0]).astype(float)

    def draw_rows(
        self, truth: np.ndarray, n_records: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw records, and return the sums of their statistic too; labels come sorted, which no mechanism can see."""
        if self.bounds is not None:
            rows = rng.exponential(1 / truth[0], size=n_records)
            return rows, np.array([rows.sum()])
        counts = rng.multinomial(n_records, _shares(truth))
        sums = counts[1:] if truth.size == 1 else counts
        return np.repeat(np.arange(counts.size), counts), sums.astype(float)

    def noise_ratio(self, n_records: int, epsilon: float) -> float:
        """Return the Laplace noise's standard deviation over that of the posterior without privacy, in records.

        Sums that no table could have are moved to the nearest that one could, so noise counts half the range at most.
        """
        noise = min(math.sqrt(2) * self.sensitivity / epsilon, n_records * self.widest / 2)
        return noise / (self.record_sd * math.sqrt(n_records + self.prior_records))

    def loss(self, truth: np.ndarray, draws: np.ndarray) -> float:
        """Return how much a held-out record's expected log-likelihood under the draws' mixture is below the truth's.

        The expectation is over records from the truth, as if infinitely many were held out: a Kullback-Leibler
        divergence in nats, from the posterior predictive distribution to the truth.
        """
        if self.bounds is not None:
            (rate,) = truth
            x = _NODES / rate
            log_mixture = logsumexp(np.log(draws) - np.outer(x, draws), axis=1) - math.log(len(draws))
            return float(_WEIGHTS @ (math.log(rate) - rate * x - log_mixture))
        return float(rel_entr(_shares(truth), _shares(np.atleast_1d(draws.mean(axis=0)))).sum())

    @property
    def own_log_likelihood(self) -> float:
        """A record's log-likelihood under its true parameter, on average over records and the prior."""
        alpha = np.asarray(self.prior.natural(), dtype=float)
        if self.bounds is not None:
            shape, rate = alpha
            return float(digamma(shape)) - math.log(rate) - 1
        return float(alpha @ (digamma(alpha + 1) - digamma(alpha.sum() + 1)) / alpha.sum())


def _shares(parameter: np.ndarray) -> np.ndarray:
    """Return the probabilities of all labels."""
    return np.append(1 - parameter, parameter) if parameter.size == 1 else parameter


def _beta(name: str, a: float) -> Model:
    # E[p (1 - p)] under Beta(a, a)
    spread = math.sqrt(a / (2 * (2 * a + 1)))
    prior = dc.priors.Beta(a, a)
    sd = 0.5 / math.sqrt(2 * a + 1)
    return Model(name, dc.Bernoulli(), prior, ("0.01", "0.99"), None, spread, sd, 1, 1, 2 * a)


def _dirichlet(name: str, labels: int, a: float) -> Model:
    share, total = 1 / labels, labels * a
    # E[p_k (1 - p_k)]: the variance of a label less that of its probability
    spread = math.sqrt(share * (1 - share) * total / (total + 1))
    prior = dc.priors.Dirichlet([a] * labels)
    sd = math.sqrt(share * (1 - share) / (total + 1))
    return Model(name, dc.Categorical(labels), prior, "0.01", None, spread, sd, 2, 1, total)


#: Bounds so wide that clipping hardly matters: at a rate of 0.5, one record in 150 is beyond.
_WAITING = (0, 10)

MODELS = {
    model.name: model
    for model in (
        _beta("Bernoulli", 2),
        _dirichlet("Categorical(5)", 5, 2),
        _beta("Bernoulli, strong prior", 100),
        Model(
            "Exponential",
            dc.Exponential(),
            dc.priors.Gamma(10, 10),
            ("0.2", "2.5"),
            _WAITING,
            # E[1 / rate^2] = 10^2 / (9 * 8)
            math.sqrt(100 / 72),
            math.sqrt(10) / 10,
            10,
            10,
            10,
        ),
    )
}

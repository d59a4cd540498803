"""The two ways to a private posterior of a coin, many times over.

Both run through the library's mechanisms. A release depends on the rows only through the number of successes, so rows
are replaced by that number, and replicates that share it share the distribution that the mechanism draws from.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from scipy.special import logsumexp

import discreet as dc
from discreet.curator.publish import release_with, sample_with
from discreet.mechanisms.base import RandomSource
from discreet.privacy.costs.parameter_grid import ParameterGrid

COIN = dc.Bernoulli()
FLAT = dc.priors.Beta(1, 1)


@dataclass(frozen=True)
class OneSample:
    """One posterior sample (OPS) of a coin whose probability is at least ``least`` and at most 1 - ``least``."""

    least: float
    epsilon: float

    @cached_property
    def mechanism(self) -> dc.mechanisms.PosteriorSampling:
        """The library's mechanism."""
        support = (str(self.least), str(round(1 - self.least, 12)))
        return dc.mechanisms.PosteriorSampling(FLAT, epsilon=repr(self.epsilon), support=support)

    def release(self, rows: np.ndarray, rng: np.random.Generator) -> dc.Release:
        """Release rows, as the public function does but with seeded randomness."""
        return sample_with(RandomSource.seeded(rng), rows, COIN, self.mechanism, missing="none")

    @cached_property
    def _public(self) -> dc.Release:
        return self.release(np.array([0, 1]), np.random.default_rng(0))

    @property
    def temperature(self) -> float:
        """The temperature in the release's record."""
        return float(self._public.mechanism.parameters["temperature"])

    @cached_property
    def grid(self) -> ParameterGrid:
        """The public grid that draws are chosen from."""
        record = self._public.mechanism
        cells = int(record.parameters["cells"])
        return ParameterGrid(COIN, self._public.domain, FLAT, record.support, cells)

    def mass(self, successes: int, n: int, temperature: float | None = None) -> np.ndarray:
        """Return the probability of every point of the grid."""
        t = self._public.mechanism.parameters["temperature"] if temperature is None else Fraction(temperature)
        distribution = self.grid.distribution((Fraction(2 * successes - n),), n, t)
        log_mass = np.array(distribution.scores, dtype=float) / distribution.scale
        return np.exp(log_mass - logsumexp(log_mass))

    def draw(
        self, successes: np.ndarray, n: int, rng: np.random.Generator, temperature: float | None = None
    ) -> np.ndarray:
        """Draw one sample for each replicate."""
        p, drawn = self.grid.points["p"], np.empty(len(successes))
        for k in np.unique(successes):
            same = successes == k
            drawn[same] = rng.choice(p, size=int(same.sum()), p=self.mass(int(k), n, temperature))
        return drawn


@cache
def noisy_release(epsilon: float, n: int, successes: int, seed: int = 0) -> dc.Release:
    """Release the sum of rows with Laplace noise, seeded."""
    rng = np.random.default_rng([seed, n])
    rows = np.arange(n) < successes
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        rows.astype(int),
        COIN,
        dc.mechanisms.Laplace(repr(epsilon)),
        missing="none",
    )


def library_laplace(epsilon: float, successes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the parameters of naive Beta posteriors read from noisy releases, one for each replicate.

    The record count is public, so the sum of +1 and -1 is all that is noised.
    """
    distribution = noisy_release(epsilon, 10, 3).noise[0]
    z = 2 * successes - n + distribution.sample(len(successes), rng)
    yes = np.clip((n + z) / 2, 0, n)
    return np.stack([1 + yes, 1 + n - yes])


def printed_laplace(epsilon: float, successes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Do the same as in equations 16 and 17: noise of scale 2/epsilon on both counts, negative ones set to zero."""
    counts = np.stack([successes, n - successes]) + rng.laplace(scale=2 / epsilon, size=(2, len(successes)))
    return 1 + np.maximum(counts, 0)

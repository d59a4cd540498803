"""Which prior on the number of missing values serves? Exact posteriors of a proportion, by enumeration.

A column of n yes/no answers, p ~ Beta(2, 5), of which a share is missing, is released as the sum of z = +-1 and the
usable count, with discrete Laplace noise of scale 2 / epsilon each. For every possible number missing the likelihood,
and the probability that p lies below the truth, are computed once; the rank of the truth under any prior of the
number missing is then a weighted mean, so that many priors are compared on the same releases.

    python studies/missing_prior_choice.py --trials 1500
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaln, gammaln
from scipy.stats import kstest

from discreet.inference.missing_prior import FewMissing, MissingBetween, MissingPrior
from discreet.privacy.noise import DiscreteLaplace

SETTINGS = ((100, 0.3), (1000, 0.1), (1000, 0.03))
SHARES = (0.0, 0.01, 0.05, 0.25)
_A, _B = 2.0, 5.0
# answers of yes at which the likelihood is evaluated for each number missing
_MOST_POINTS = 160


@dataclass(frozen=True)
class Releases:
    """Cells of the number missing and, for each trial and cell, the likelihood and that below the truth."""

    edges: np.ndarray
    likelihood: np.ndarray
    below: np.ndarray

    def ranks(self, prior: MissingPrior) -> np.ndarray:
        """Return the posterior probability below the truth in each trial."""
        mass = np.exp(prior.log_missing(np.arange(self.edges[-1])))
        cell = np.add.reduceat(mass, self.edges[:-1])
        return (self.below * cell).sum(axis=1) / (self.likelihood * cell).sum(axis=1)


def simulate(n: int, epsilon: float, share: float, trials: int, rng: np.random.Generator) -> Releases:
    """Release columns whose records are missing with probability ``share``."""
    noise = DiscreteLaplace(2 / epsilon)
    edges = np.arange(n + 2)
    if n > 130:
        edges = np.unique(np.r_[np.arange(24), np.geomspace(24, n + 1, 90).round()].astype(int))
    usable = (n - (edges[:-1] + edges[1:] - 1) // 2).astype(float)[:, None]
    rows = []
    for _ in range(trials):
        p = rng.beta(_A, _B)
        count = n - rng.binomial(n, share)
        yes = rng.binomial(count, p)
        y_sum, y_count = 2 * yes - count + noise.sample(1, rng)[0], count + noise.sample(1, rng)[0]
        center = (y_sum + usable) / 2
        low = np.clip(np.minimum(center, usable) - 9 * noise.scale, 0, usable)
        high = np.clip(np.maximum(center, 0) + 9 * noise.scale, 0, usable)
        points = int(min(np.max(high - low) // max(1, noise.scale / 8) + 9, _MOST_POINTS))
        y = low + (np.arange(points) + 0.5) / points * (high - low)
        log = (
            np.log((high - low) / points + 1e-9)
            + gammaln(usable + 1)
            - gammaln(y + 1)
            - gammaln(usable - y + 1)
            + betaln(_A + y, _B + usable - y)
            + noise.log_mass(y_sum - 2 * y + usable)
            + noise.log_mass(y_count - usable)
        )
        weight = np.exp(log - log.max())
        below = weight * betainc(_A + y, _B + usable - y, p)
        rows.append((weight.sum(axis=1), below.sum(axis=1)))
    both = np.array(rows)
    return Releases(edges, both[:, 0], both[:, 1])


def candidates(n: int) -> Iterator[tuple[str, MissingPrior]]:
    """Return the default and others, in words."""
    yield "default", FewMissing(n)
    yield "none alone", MissingBetween(n, 0, 0)
    yield "flat on 0..n", MissingBetween(n, 0, n)
    yield "half none, half 1/k", FewMissing(n, 0.5, 0.5)
    yield "half none, half a share", FewMissing(n, 0.5, 0.0)
    yield "0.3 none, 0.175 few", FewMissing(n, 0.3, 0.175)
    yield "0.6 none, 0.1 few", FewMissing(n, 0.6, 0.1)


def main() -> None:
    """Print the KS distance of ranks and the coverage of 95% intervals for every prior and setting."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--trials", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    for n, epsilon in SETTINGS:
        released = [simulate(n, epsilon, share, arguments.trials, rng) for share in SHARES]
        shares = ", ".join(f"{share:.0%}" for share in SHARES)
        print(f"n = {n}, epsilon = {epsilon}: KS distance | coverage, with {shares} missing")
        for name, prior in candidates(n):
            ranks = [r.ranks(prior) for r in released]
            distance = " ".join(f"{kstest(r, 'uniform').statistic:.3f}" for r in ranks)
            covered = " ".join(f"{np.mean((r > 0.025) & (r < 0.975)):.3f}" for r in ranks)
            print(f"  {name:24} {distance} | {covered}", flush=True)


if __name__ == "__main__":
    main()

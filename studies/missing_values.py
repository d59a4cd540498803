"""Whether ranks and intervals hold where values are missing, and where none is.

    python studies/missing_values.py [--check] [--trials 1500] [--workers 2] [--seed 0]

Missing values are counted with noise, so their number is latent, and its prior matters where the noise on the count
is as large as what is missing. For `Mean` and three families, three sizes of noise and 0%, 1%, 5% and 25% missing,
this simulates parameters, rows and releases and prints the distance of the ranks from uniform (Kolmogorov-Smirnov)
and how often 95% intervals hold the truth: under the default prior, and if the analyst gives the true share. The line
"prior" draws the number of missing values from the default prior itself. ``--check`` exits with 1 if a distance is
above .065 with 0% or 1% missing, coverage below 93% with 5% or 25%, a distance above .05 given the true share (each
by more than chance, once in a thousand runs of the whole table), or ranks are not uniform under the prior itself.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from multiprocessing import Pool
from typing import Any

import numpy as np
from columns.moments import draw_column, sharpness
from scipy.stats import binom, kstest, kstwobign

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.missing_prior import missing_prior
from discreet.validation.ranks import rank

FAMILIES: dict[str, tuple[Any, Any, dict[str, Any], Any]] = {
    "bernoulli": (dc.Bernoulli(), dc.priors.Beta(2, 5), {}, "exact"),
    "categorical": (dc.Categorical(4), dc.priors.Dirichlet((1.0,) * 4), {}, "exact"),
    "poisson": (dc.Poisson(), dc.priors.Gamma(2, 1), {"bounds": (0, 10)}, "gibbs"),
    "mean": (dc.Mean(), None, {"bounds": (0, 1)}, "auto"),
}
NOISE = ((100, 0.3), (1000, 0.1), (1000, 0.03))
SHARES: tuple[float | None, ...] = (None, 0.0, 0.01, 0.05, 0.25)
ALARM = 1e-3
#: Distances to uniform that are allowed: with few missing, and if the share is given.
NEAR, GIVEN = 0.065, 0.05
COVERED = 0.93


@dataclass(frozen=True)
class Cell:
    """One line of the table."""

    family: str
    n: int
    epsilon: float
    share: float | None
    given: bool
    trials: int
    seed: int


def ranks(cell: Cell) -> np.ndarray:
    """Return ranks of the first parameter."""
    family, prior, how, engine = FAMILIES[cell.family]
    rng = np.random.default_rng(
        [
            cell.seed,
            cell.n,
            round(1e4 * cell.epsilon),
            list(FAMILIES).index(cell.family),
            int(cell.given),
            0 if cell.share is None else 1 + round(1e4 * cell.share),
        ]
    )
    out, largest = np.empty(cell.trials), sharpness(cell.n, cell.epsilon)
    for i in range(cell.trials):
        if prior is None:
            # `Mean` has no family: moments from its prior, records from a beta distribution with them
            mean, sd, records = draw_column(cell.n, largest, rng)
            theta, rows = {"mean": mean, "sd": sd}, np.ma.array(records)
        else:
            theta = {name: value[0] for name, value in family.draw(prior, 1, rng).items()}
            rows = np.ma.array(family.sample(theta, cell.n, rng))
        lost = missing_prior(None, cell.n).sample(rng) if cell.share is None else round(cell.share * cell.n)
        rows[:lost] = np.ma.masked
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            rows,
            family,
            dc.mechanisms.Laplace(cell.epsilon),
            **how,
        )
        posterior = dc.infer(
            release,
            prior=prior,
            engine=engine,
            draws=400,
            missing=cell.share if cell.given else None,
            rng=rng,
        )
        (name, values), *_ = posterior.draws.items()
        out[i] = rank(np.ravel(theta[name])[0], values.reshape(len(values), -1)[:, 0], rng)
    return out


def verdict(cell: Cell, distance: float, covered: float, n_cells: int) -> bool:
    """Tell whether a line holds what is asked of it, allowing for chance."""
    scatter = float(kstwobign.isf(ALARM / n_cells)) / cell.trials**0.5
    if cell.share is None:
        return distance < scatter
    if cell.given:
        return distance < GIVEN + scatter
    if cell.share <= 0.01:
        return distance < NEAR + scatter
    return round(covered * cell.trials) >= float(binom.ppf(ALARM / n_cells, cell.trials, COVERED))


def main() -> int:
    """Print the table, and return 1 if it falls short and ``--check`` is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a line falls short")
    parser.add_argument("--trials", type=int, default=1500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=list(FAMILIES), default=None)
    parser.add_argument("--epsilon", type=float, default=None, help="releases with this budget only")
    asked = parser.parse_args()
    cells = [
        Cell(family, n, epsilon, share, given, asked.trials, asked.seed)
        for family in FAMILIES
        if asked.family in (None, family)
        for n, epsilon in NOISE
        if asked.epsilon in (None, epsilon)
        for share in SHARES
        for given in (False, True)
        if not (given and share is None)
    ]
    print(f"{'family':<12}{'n':>6}{'epsilon':>9}{'missing':>9}{'given':>7}{'mean':>8}{'KS':>8}{'95%':>8}")
    failed = 0
    with Pool(asked.workers) as pool:
        for cell, found in zip(cells, pool.imap(ranks, cells), strict=True):
            distance = float(kstest(found, "uniform").statistic)
            covered = float(np.mean((found > 0.025) & (found < 0.975)))
            good = verdict(cell, distance, covered, len(cells))
            failed += not good
            share = "prior" if cell.share is None else f"{cell.share:.0%}"
            print(
                f"{cell.family:<12}{cell.n:>6}{cell.epsilon:>9g}{share:>9}{'yes' if cell.given else '':>7}"
                f"{found.mean():>8.3f}{distance:>8.3f}{covered:>8.3f}{'' if good else '  falls short'}",
                flush=True,
            )
    print(f"{failed} of {len(cells)} lines fall short")
    return int(asked.check and failed > 0)


if __name__ == "__main__":
    sys.exit(main())

r"""Does the column follow the family? A predictive p-value from the noisy counts of a fit check.

Given the released sums R, the model predicts the noisy counts y of the bins. Two statistics say how far off they are,

    T(y) = sum over bins of (y - E[y | R])^2 / Var[y | R],
    S(y) = (A (y - E[y | R]))' Cov[A y | R]^-1 A (y - E[y | R]),

where A has the first four Legendre polynomials of the expected rank of each bin: T sees any bin that is off, S smooth
departures, such as skewness, that are small in every bin (Neyman 1937). Each has a tail probability under p(y | R); the
p-value is the probability of a smaller one than the smaller of the two, under p(y | R) again.

The counts and the sums are of the same records, so that counts replicated from the posterior of the parameters alone
would be too wide, and those from one estimate too narrow. Here both are simulated, and the counts are brought into line
with the sums that were released: for parameters theta from the posterior,

    records ~ p(x | theta),   C, S = their counts and sums,   R' = S + noise,
    y = C + K (R - R') + noise,   K = Cov(C, S) (Cov(S) + Cov(noise))^-1 given theta,

which has the conditional mean and covariance of y given theta and R, and the very distribution where C and R are
jointly normal (Matheron's rule). To y is added how far other parameters from the posterior move its mean given R: twice
the posterior's variance, which leaves room for a prior that pulls. Where the sums say what the parameters are, it is
next to nothing.

References
----------
Neyman (1937), "Smooth" test for goodness of fit. Journel and Huijbregts (1978), Mining geostatistics, VII.A.1
(conditioning by kriging). Bayarri and Berger (2000), P values for composite null models: predictive p-values that
condition on what the parameters were fitted to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander

from discreet.artifact import FitCheck, Release
from discreet.families.base import Family, Theta
from discreet.families.fit_bins import checkable
from discreet.inference.cautions import usable_reading
from discreet.inference.engine import Question
from discreet.inference.record_prior import CountPrior

#: A p-value below this makes a warning.
UNLIKELY = 0.005
# Parameters that records are simulated from, tables for each, and cells within a bin.
_THETAS, _TABLES, _CELLS = 500, 8, 64
# Of the polynomials in the smooth statistic.
_DEGREE = 4
# Usable counts that are weighed one by one; of more, some.
_MOST_COUNTS = 100_001
_REACH = 8.0


@dataclass(frozen=True)
class FitResult:
    """What a fit check says.

    ``p`` is the probability of noisy counts as far from what is expected, or further, if the column follows the family;
    ``edges`` are the ends of the bins, ``counts`` the noisy counts, ``expected`` what the model expects given the
    noisy sums and ``sd`` by how much such a count varies.
    """

    p: float
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    expected: tuple[float, ...]
    sd: tuple[float, ...]
    least: float

    def __str__(self) -> str:
        small = self.p <= self.least
        return f"p {'<' if small else '='} {self.least if small else self.p:.2g}"

    def to_dict(self) -> dict[str, Any]:
        """Return what a JSON file can hold."""
        return {
            "p": self.p,
            "edges": list(self.edges),
            "counts": list(self.counts),
            "expected": list(self.expected),
            "sd": list(self.sd),
        }


def fit_result(question: Question, draws: Mapping[str, np.ndarray]) -> FitResult | None:
    """Return what the fit check of a release says of its family, None if the release has none."""
    release = question.release
    if release.fit_check is None:
        return None
    # a stream of its own: whether this is asked must not change the draws
    rng = np.random.default_rng(0)
    bins = _Bins(release, checkable(release.model), release.fit_check)
    size = len(next(iter(draws.values())))
    picked = np.linspace(0, size - 1, _THETAS).astype(int)
    theta = {name: np.asarray(values, dtype=float)[picked] for name, values in draws.items()}
    usable = _usable_draws(release, question.usable, _THETAS, rng)
    counts, means = bins.simulated(theta, usable, rng)
    noise = release.noise_record.distribution(float(release.fit_check.scale))
    replicated = counts + noise.sample(counts.size, rng).reshape(counts.shape)
    replicated += (means - means.mean(axis=0))[rng.integers(len(means), size=len(counts))]
    expected, sd = replicated.mean(axis=0), replicated.std(axis=0)
    together = np.vstack([np.array(release.fit_check.values, dtype=float), replicated]) - expected
    smallest = np.minimum(_tail(((together / sd) ** 2).sum(axis=1)), _tail(_smooth(together, expected)))
    return FitResult(
        float((smallest <= smallest[0]).mean()),
        tuple(bins.edges.tolist()),
        release.fit_check.values,
        tuple(expected.tolist()),
        tuple(sd.tolist()),
        1 / len(smallest),
    )


def _tail(statistic: np.ndarray) -> np.ndarray:
    """Return for each value the share of values that are as large, or larger."""
    return 1 - np.searchsorted(np.sort(statistic), statistic, side="left") / len(statistic)


def _smooth(off: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return Neyman's statistic for each row of counts less the expected ones; the first row is the release's own."""
    share = np.maximum(expected, 0.0) / max(np.maximum(expected, 0.0).sum(), 1e-9)
    rank = np.cumsum(share) - share / 2
    parts = off @ legvander(2 * rank - 1, min(_DEGREE, len(expected) - 1))[:, 1:]
    scatter = np.atleast_2d(np.cov(parts[1:].T))
    return np.einsum("si,ij,sj->s", parts, np.linalg.pinv(scatter, rcond=1e-6, hermitian=True), parts)


def misfit(release: Release, found: FitResult | None) -> tuple[str, ...]:
    """Return a warning if the column does not look like the family."""
    if found is None or found.p >= UNLIKELY:
        return ()
    wider = release.family.wider
    return (
        f"fit check: {found}: the column does not look {release.model.in_words}; release dc.Mean() or dc.Histogram() "
        f"instead, which assume nothing{f', or {wider}' if wider else ''}",
    )


@dataclass(frozen=True)
class _Bins:
    """The bins of a fit check, and what records in them add to the released sums.

    Moments within a bin are summed over smaller cells. Beside those within the bounds there is one cell below them and
    one above, whose records count in the first and the last bin, and in the sums as the declarations say.
    """

    release: Release
    family: Family
    made: FitCheck

    @cached_property
    def edges(self) -> np.ndarray:
        """The ends of the bins, within the bounds."""
        ((low, high),) = self.release.domain.bounds or ((0, 0),)
        return np.array([float(low), *map(float, self.made.cuts), float(high)])

    @cached_property
    def _starts(self) -> np.ndarray:
        """Where the cells within the bounds begin; a cell of counts holds the integers before the next one."""
        ends = self.edges + np.append(np.zeros(len(self.edges) - 1), float(self.family.support.discrete))
        parts = [np.linspace(a, b, _CELLS, endpoint=False) for a, b in pairwise(ends)]
        starts = np.append(np.concatenate(parts), ends[-1])
        return np.unique(np.ceil(starts)) if self.family.support.discrete else starts

    @cached_property
    def _firsts(self) -> np.ndarray:
        """The first cell of each bin, the one below the bounds included."""
        inside = np.searchsorted(self.edges[1:-1], self._starts[:-1], side="right")
        of_cells = np.concatenate([[0], inside, [len(self.edges) - 2]])
        return np.searchsorted(of_cells, np.arange(len(self.edges) - 1))

    @cached_property
    def _coordinates(self) -> np.ndarray:
        """Cells × coordinates: what a record in the middle of each cell adds to the released sums."""
        release, discrete = self.release, float(self.family.support.discrete)
        starts = self._starts
        x = np.concatenate([self.edges[:1], (starts[:-1] + starts[1:] - discrete) / 2, self.edges[-1:]])
        shift, half = (float(v[0]) for v in (release.totals.shift or (0,), release.totals.half or (1,)))
        z = np.clip((np.asarray(self.family.measure(x), dtype=float) - shift) / half, -1.0, 1.0)
        if release.domain.outside == "redact":
            z[[0, -1]] = 0.0
        features = self.family.geometry.features([z])
        return np.stack(release.layout.coordinates(np.ones(len(z)), features), axis=-1)

    def _mass(self, theta: Theta) -> np.ndarray:
        """Return the probability of each cell, parameters × cells."""
        with np.errstate(all="ignore"):
            below = np.nan_to_num(self.family.cdf(self._starts - float(self.family.support.discrete), theta))
        ends = np.zeros((len(below), 1))
        mass = np.maximum(np.diff(np.concatenate([ends, below, ends + 1], axis=1), axis=1), 0.0)
        return mass / mass.sum(axis=1, keepdims=True)

    def simulated(
        self, theta: Theta, usable: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return counts of the bins given the released sums, tables × bins, and their means, parameters × bins."""
        release, t = self.release, self._coordinates
        grid = release.totals.steps
        released = np.array(release.totals.values, dtype=float) * grid
        mass = self._mass(theta)
        p, first, second = (
            np.add.reduceat(mass.reshape(*mass.shape, *(1,) * (of.ndim - 1)) * of, self._firsts, axis=1)
            for of in (np.ones(len(t)), t, t[:, :, None] * t[:, None, :])
        )
        # moments of one record: over all bins, and within each
        mean = first.sum(axis=1)
        both = first - p[:, :, None] * mean[:, None, :]
        all_sums = second.sum(axis=1) - mean[:, :, None] * mean[:, None, :]
        safe = np.maximum(p, 1e-300)
        middle = first / safe[:, :, None]
        within = second / safe[:, :, None, None] - middle[:, :, :, None] * middle[:, :, None, :]
        n, noise = usable.astype(float), np.diag([each.sd**2 for each in release.noise]) * grid**2
        gain = np.linalg.solve(
            n[:, None, None] * all_sums + noise, n[:, None, None] * both.transpose(0, 2, 1)
        )
        means = n[:, None] * p + np.einsum("sib,si->sb", gain, released - n[:, None] * mean)
        counts = rng.multinomial(usable, np.minimum(p, 1.0), size=(_TABLES, len(usable))).astype(float)
        scatter = np.einsum("ksb,sbij->ksij", counts, within)
        drawn = np.einsum("ksb,sbi->ksi", counts, middle) + _normals(scatter, rng)
        drawn += grid * np.stack(
            [each.sample(_TABLES * len(usable), rng).reshape(_TABLES, -1) for each in release.noise], axis=-1
        )
        counts += np.einsum("sib,ksi->ksb", gain, released - drawn)
        return counts.reshape(-1, counts.shape[-1]), means


def _normals(covariance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a normal vector for each covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    scaled = np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(values.shape)
    return np.einsum("...ij,...j->...i", vectors, scaled)


def _usable_draws(release: Release, prior: CountPrior, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw usable counts given the noisy one, whose noise is taken for normal; the public one where it is."""
    if prior.low == prior.high:
        return np.full(size, prior.low, dtype=np.int64)
    reading = usable_reading(release)
    assert reading is not None
    read, sd = reading
    most = np.inf if prior.high is None else float(prior.high)
    low = int(np.clip(np.floor(read - _REACH * sd - 1), prior.low, most))
    high = int(np.clip(np.ceil(read + _REACH * sd + 1), prior.low, most))
    counts = np.unique(np.linspace(low, high, min(high - low + 1, _MOST_COUNTS)).astype(np.int64))
    with np.errstate(divide="ignore"):
        log_weight = prior.log_mass(counts) - 0.5 * ((counts - read) / max(sd, 1e-9)) ** 2
    if not np.isfinite(log_weight).any():
        return np.full(size, low, dtype=np.int64)
    weight = np.exp(log_weight - log_weight.max())
    return rng.choice(counts, size, p=weight / weight.sum())

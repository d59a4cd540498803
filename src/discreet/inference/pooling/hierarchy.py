r"""What groups have in common: draws of the hyperparameters, and of every group given them.

Group g has size class z_g (its standardized log size). On the line u of its population, with center m, spread s and r,
the correlation of parameters with sizes, which is uniform on (-1, 1), it is of one of three kinds:

    like the others              Normal(m + s r z_g, s^2 (1 - r^2))
    farther from them            the same with 8 times the standard deviation
    unlike them                  the weak prior under which it is read without pooling

Real groups need all of this. Small groups differ from large ones more often than not, and it is the large ones that m
and s are learned from: without r, small groups would all be drawn to where only large ones are. And a group may be
unlike the others for a reason; a small one cannot say so itself. Data that agree with the others make it improbable,
and where there are none, the interval says so (exchangeable or not, Neuenschwander et al. 2016). How probable the kinds
are, the population says: a share is between 0 and 1, so being unlike the others is no more than that; bounds of a mean
are often far wider than anything in the table.

Groups are independent given the hyperparameters h, so their posterior is

    p(h | y)  ~  product over groups of  integral of f(x; h) l_g(x) dx,

with l_g what group g says for itself. All integrals are sums over the same cells of x: one product of matrices for all
groups of a size class and all points h. Points are drawn from the prior, and moved to the posterior by tempering.

References
----------
Neuenschwander, Wandel, Roychoudhury, Bailey (2016), "Robust exchangeability designs for early phase clinical trials
with multiple strata", Pharmaceutical Statistics 15(2). Del Moral, Doucet, Jasra (2006), "Sequential Monte Carlo
samplers", J. R. Stat. Soc. B 68(3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from discreet.inference.pooling.group_curves import Curve
from discreet.inference.pooling.populations import TIMES, Population

# Sizes differ at least by so much, as a standard deviation of logarithms, before they are taken to say something; a few
# records more or less do not, and neither do extremes.
_LEAST_SPREAD, _LOG_FROM, _FARTHEST = 0.3, 2.0, 3.0
_MOST_CLASSES = 6
_MOST_CELLS = 256
_MOST_POINTS, _FEWEST_POINTS, _ALL_POINTS = 512, 128, 51_200
# Points whose cells are worked on together, so that they stay in the processor's cache.
_BLOCK = 128
# Moves after each step of tempering, with their lengths; twice as many at the end.
_LENGTHS = (1.0, 0.4, 1.0)
_TINY = 1e-300
_GAUSS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True)
class Cells:
    """Cells of the line, and the mean likelihood of each group in each cell, relative to its largest."""

    edges: np.ndarray
    likelihood: np.ndarray

    @classmethod
    def of(cls, curves: Sequence[Curve], population: Population) -> Cells:
        """Lay cells densely where the groups are."""
        points = []
        for curve in curves:
            first, last = curve.support(population.low, population.high)
            x = np.linspace(first, last, 257)
            log_l = curve(x)
            mass = np.cumsum(np.exp(0.5 * (log_l - log_l.max())))
            points += [np.linspace(first, last, 24), np.interp(np.linspace(0, 1, 65), mass / mass[-1], x)]
        edges = np.unique(np.concatenate(points))
        if edges.size > _MOST_CELLS:
            edges = np.unique(np.quantile(edges, np.linspace(0, 1, _MOST_CELLS)))
        near, weight = _GAUSS
        x = (edges[:-1] + edges[1:])[:, None] / 2 + np.diff(edges)[:, None] / 2 * near
        likelihood = np.empty((len(curves), edges.size - 1))
        for g, curve in enumerate(curves):
            log_l = curve(x)
            likelihood[g] = (np.exp(log_l - log_l.max()) * weight).sum(axis=1) / 2
        return cls(edges, likelihood)


def size_classes(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardized log size of each class, and the class of each group; noisy sizes may be below zero."""
    z = np.log(np.maximum(sizes, 0.0) + _LOG_FROM)
    z = z - z.mean()
    z = np.clip(z / max(float(z.std()), _LEAST_SPREAD), -_FARTHEST, _FARTHEST)
    cuts = np.unique(np.quantile(z, np.linspace(0, 1, _MOST_CLASSES + 1)[1:-1]))
    _, of_group = np.unique(np.searchsorted(cuts, z), return_inverse=True)
    return np.bincount(of_group, z) / np.bincount(of_group), of_group


@dataclass(frozen=True)
class Hyperparameters:
    """Center, spread and correlation with size, an entry for each point."""

    center: np.ndarray
    spread: np.ndarray
    with_size: np.ndarray

    def of(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the standard deviation, in u, of groups of a standardized log size."""
        return self.center + self.spread * self.with_size * z, self.spread * np.sqrt(1 - self.with_size**2)


@dataclass(frozen=True)
class Hierarchy:
    """Groups, what they say for themselves, their size classes, and how they vary."""

    cells: Cells
    population: Population
    z: np.ndarray
    of_group: np.ndarray

    @cached_property
    def _edges(self) -> np.ndarray:
        return self.population.u(self.cells.edges)

    @cached_property
    def _own(self) -> np.ndarray:
        return np.diff(self.population.own_cdf(self.cells.edges))

    @cached_property
    def _likelihoods(self) -> list[np.ndarray]:
        """The likelihoods of each size class, cells × groups."""
        return [self.cells.likelihood[self.of_group == of_size].T for of_size in range(self.z.size)]

    @property
    def dimension(self) -> int:
        """How many hyperparameters there are: two if all groups are of one size."""
        return 2 + (self.z.size > 1)

    def at(self, points: np.ndarray) -> Hyperparameters:
        """Return the hyperparameters at points whose prior is standard logistic."""
        levels = np.clip(expit(points), 1e-12, 1 - 1e-12)
        with_size = 2 * levels[:, 2] - 1 if self.z.size > 1 else np.zeros(len(points))
        return Hyperparameters(
            self.population.center(levels[:, 0]), self.population.spread(levels[:, 1]), with_size
        )

    def masses(self, h: Hyperparameters, size_class: int) -> np.ndarray:
        """Return the probability of each cell for a group of a size class, points × cells."""
        mean, sd = h.of(self.z[size_class])
        alike, wide, unlike = self.population.kinds
        place = (self._edges - mean[:, None]) / sd[:, None]
        level = alike * ndtr(place) + (wide * ndtr(place / TIMES) if wide else 0.0)
        return np.diff(level, axis=1) + unlike * self._own

    def log_likelihood(self, points: np.ndarray) -> np.ndarray:
        """Return the log likelihood of points, all groups together."""
        out = np.zeros(len(points))
        for start in range(0, len(points), _BLOCK):
            block = slice(start, start + _BLOCK)
            h = self.at(points[block])
            for size_class, likelihood in enumerate(self._likelihoods):
                evidence = self.masses(h, size_class) @ likelihood
                out[block] += np.log(np.maximum(evidence, _TINY)).sum(axis=1)
        return out

    def draw_points(self, rng: np.random.Generator) -> np.ndarray:
        """Draw points of the posterior: from the prior, with the likelihood raised to powers that grow to one.

        Each power is chosen so that half of the points stay worth something; they are resampled and moved by random
        walks whose steps are as wide as the points lie.
        """
        n = int(np.clip(_ALL_POINTS / self.of_group.size, _FEWEST_POINTS, _MOST_POINTS))
        points = logit(np.clip(rng.random((n, self.dimension)), 1e-12, 1 - 1e-12))
        likely, prior = self.log_likelihood(points), _log_prior(points)
        power = 0.0
        while power < 1:
            more = _next_power(likely, 1 - power)
            power = 1.0 if more >= 1 - power else power + more
            weights = np.cumsum(np.exp(more * (likely - likely.max())))
            kept = np.searchsorted(weights, (np.arange(n) + rng.random()) / n * weights[-1])
            points, likely, prior = points[kept], likely[kept], prior[kept]
            wide = np.linalg.cholesky(np.cov(points.T) + 1e-8 * np.eye(self.dimension))
            for length in _LENGTHS * (1 + (power == 1)):
                step = 2.38 / np.sqrt(self.dimension) * length * rng.standard_normal(points.shape) @ wide.T
                there = points + step
                likely_there, prior_there = self.log_likelihood(there), _log_prior(there)
                gain = power * (likely_there - likely) + prior_there - prior
                moved = np.log(rng.random(n)) < gain
                points[moved], likely[moved], prior[moved] = (
                    there[moved],
                    likely_there[moved],
                    prior_there[moved],
                )
        return points

    def draw_between(
        self, cell: np.ndarray, h: Hyperparameters, size_class: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw a point x of each cell by the population and the own prior alone, given the hyperparameters."""
        edges = self.cells.edges
        mean, sd = h.of(self.z[size_class])
        alike, wide, unlike = self.population.kinds
        kinds, found = (
            [unlike * self._own[cell]],
            [edges[cell] + rng.random(cell.size) * np.diff(edges)[cell]],
        )
        for weight, around in ((alike, sd), (wide, TIMES * sd)):
            below, above = (ndtr((self._edges[cell + more] - mean) / around) for more in (0, 1))
            level = below + rng.random(cell.size) * (above - below)
            kinds.append(weight * (above - below))
            found.append(self.population.x_of(mean + around * ndtri(np.clip(level, _TINY, 1 - 1e-16))))
        shares = np.cumsum(kinds, axis=0)
        kind = (rng.random(cell.size) * shares[-1] >= shares[:-1]).sum(axis=0)
        return np.clip(np.choose(kind, found), edges[cell], edges[cell + 1])


def _log_prior(points: np.ndarray) -> np.ndarray:
    return (points - 2 * np.logaddexp(0, points)).sum(axis=1)


def _next_power(likely: np.ndarray, most: float) -> float:
    """Return the largest power, up to ``most``, at which the weights are worth half as many points."""

    def worth(power: float) -> float:
        weights = np.exp(power * (likely - likely.max()))
        return float(weights.sum() ** 2 / (weights**2).sum())

    low, high = 0.0, most
    if worth(high) >= likely.size / 2:
        return most
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if worth(middle) >= likely.size / 2 else (low, middle)
    return high


def draw_cells(
    masses: np.ndarray, likelihood: np.ndarray, at: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return the cell of one group in each draw, given the point that was drawn."""
    cumulative = np.cumsum(masses * likelihood, axis=1)
    total = cumulative[:, -1:]
    # a group that contradicts all others so far that nothing is left is where it says it is
    lost = total[:, 0] <= 0
    if lost.any():
        cumulative[lost], total[lost] = np.cumsum(likelihood), likelihood.sum()
    cumulative /= total
    n_cells = cumulative.shape[1]
    # row i takes up [i, i + 1) of one increasing sequence, searched once for all draws
    cumulative += np.arange(len(cumulative))[:, None]
    place = np.searchsorted(cumulative.ravel(), at + rng.random(at.size), side="right")
    return np.clip(place - at * n_cells, 0, n_cells - 1)

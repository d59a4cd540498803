r"""The marginal likelihood behind a release of private annealing, with its uncertainty.

A release with ``evidence_epsilon`` holds y = log Z^ + Laplace noise, where Z^ is the mean importance weight of a few
annealed trajectories: an unbiased estimate of

    Z = integral of prior(theta) likelihood(theta)^power,

with the power at the end of the path (1 if the budget paid for it: then Z is the marginal likelihood). Two errors lie
between y and log Z, and both are known in distribution: the noise exactly, and that of the trajectories by simulation,
because prior, grid and path are public. So the reading simulates everything from the start: a parameter from the
prior, sums of records given it, trajectories given the sums. A simulation counts in proportion to the density of y
given its own log Z^. What is left is a sample of the sums given y, exact up to the number of simulations, and of the
true log Z, which is a sum over the grid. Nothing is assumed of how well the trajectories mix. Parameters are drawn
more often where simulations came near y, and count less there in proportion. A table that the prior and its support
do not expect is not found that way, and then there is no answer.

The likelihood is taken without the base measure h(x), which no parameter has part in. It cancels between priors of one
family, and not between families.

References
----------
Neal (2001), Annealed importance sampling. Foulds et al. (2016), supplement C.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

from discreet.arguments import generator, probability
from discreet.artifact import Release
from discreet.artifact.records.private_walks import PrivateAnnealingRecord
from discreet.checked import checked
from discreet.errors import EngineError, UsageError
from discreet.families.base import Family
from discreet.privacy import DiscreteLaplace
from discreet.privacy.costs.annealing_path import WEIGHT_STEPS, AnnealingPath
from discreet.privacy.costs.chain_updates import gibbs_distribution
from discreet.privacy.costs.grid_walk import GridWalk
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.rational import float_up

_ROUND, _MOST_ROUNDS = 2000, 30
# updates simulated at a time; a release with more of them than this in one simulation is refused
_MOST_UPDATES = 1 << 23
# simulations that should count, for the ends of an interval, and that must
_ENOUGH, _LEAST = 400, 100
# a number far in the tails is read as if its noise were up to so many times wider, which makes intervals wider
_LEAST_POWER = 1 / 8
# by how much of all points the parameters of good simulations are blurred before others are drawn near them
_BLUR = 1 / 64
_DRAWS = 1000
# records simulated for one table; of larger ones their mean is scaled up, which widens the prior of the sums a little
_MOST_RECORDS = 2000
_MOST_NUMBERS = 1 << 22


@dataclass(frozen=True, repr=False)
class Evidence:
    """Draws of the log marginal likelihood given a release, of the likelihood to the power ``power``."""

    draws: np.ndarray = field(compare=False)
    power: float
    of: tuple[Any, ...]
    prior: str

    def interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Return the central interval of this probability."""
        tail = (1 - probability(prob, "prob")) / 2
        low, high = np.quantile(self.draws, [tail, 1 - tail])
        return float(low), float(high)

    @property
    def median(self) -> float:
        """The median of the log marginal likelihood."""
        return float(np.median(self.draws))

    def compare(self, other: Evidence) -> Evidence:
        """Return the log Bayes factor of this prior against the other's, for the same records and power."""
        if not isinstance(other, Evidence) or self.of != other.of or self.power != other.power:
            raise UsageError(
                "evidence is compared between priors of one family, for the same column, bounds, number of records and "
                "end of the path.",
                hint="release both with the same path=…",
            )
        n = min(len(self.draws), len(other.draws))
        words = f"{self.prior} against {other.prior}"
        draws = self.draws[:n] - other.draws[:n]
        return Evidence(draws, self.power, self.of, words)

    def __repr__(self) -> str:
        low, high = self.interval()
        power = "" if self.power == 1 else f", of the likelihood to the power {self.power:.4g}"
        return f"<log evidence of {self.prior}: {self.median:.4g}, 95% in [{low:.4g}, {high:.4g}]{power}>"


@checked
def log_evidence(release: Release | str | Path, *, rng: Any = None) -> Evidence:
    """Return the log marginal likelihood of a release of private annealing, with its uncertainty, for an analyst.

    Parameters
    ----------
    release
        A release by :class:`~discreet.mechanisms.PrivateAnnealing` with ``evidence_epsilon``, or its file.
    rng
        Seed or generator of the simulations.

    Returns
    -------
    Evidence
        Its ``interval(0.95)`` holds the true value with 95%: over tables of the model, noise and trajectories.
    """
    release = release if isinstance(release, Release) else Release.load(release)
    record = release.mechanism.require(PrivateAnnealingRecord, "evidence is published by private annealing.")
    samples = release.samples
    if samples is None or "log_evidence" not in samples.noisy:
        raise UsageError(
            "this release holds no evidence.", hint="release with PrivateAnnealing(..., evidence_epsilon=…)"
        )
    assert record.support is not None
    assert release.records is not None
    numbers, path = record.parameters, AnnealingPath(record.paths["epsilons"])
    family = release.conjugate_family
    grid = ParameterGrid(family, release.domain, record.conjugate, record.support, int(numbers["cells"]))
    simulated = _Simulation(
        GridWalk(grid, int(numbers["width"])),
        np.array([float(power) for power in path.powers(numbers["range"])]),
        int(numbers["trajectories"]),
        int(numbers["moves"]),
        release.records,
    )
    moved = path.evidence_sensitivity(numbers["change"], numbers["range"])
    noise = DiscreteLaplace(float_up(moved / numbers["evidence_epsilon"]))
    rng = generator(rng)
    draws = simulated.given(samples.noisy["log_evidence"][0], noise, rng)
    of = (family, release.columns, release.domain, release.records, record.support)
    return Evidence(draws, float(simulated.powers[-1]), of, str(record.prior))


@dataclass(frozen=True)
class _Simulation:
    """The whole release again, with simulated records, many times at once."""

    walk: GridWalk
    powers: np.ndarray
    trajectories: int
    moves: int
    n_records: int

    def given(self, y: int, noise: DiscreteLaplace, rng: np.random.Generator) -> np.ndarray:
        """Return draws of log Z given the published number."""
        size = min(_ROUND, _MOST_UPDATES // (self.trajectories * self.moves * len(self.powers)))
        if size < _LEAST:
            raise EngineError("its trajectories make too many updates to be simulated.")
        prior = gibbs_distribution(self.walk.grid.log_base)
        proposal, sums = prior, np.empty(0)
        misses, log_ratios = np.empty(0), np.empty(0)
        kept: list[tuple[np.ndarray, ...]] = []
        for _ in range(_MOST_ROUNDS):
            points = rng.choice(prior.size, size, p=proposal)
            sums = self.sums(points, rng)
            misses = np.abs(y - self.estimates(sums, rng) * WEIGHT_STEPS) / noise.scale
            kept.append((sums, points, misses, np.log(prior[points] / proposal[points])))
            sums, points, misses, log_ratios = (np.concatenate(each) for each in zip(*kept, strict=True))
            if _effective(gibbs_distribution(log_ratios - misses)) >= _ENOUGH:
                break
            proposal = self._nearer(prior, points, misses, log_ratios)
        tempered, weights = _tempered(log_ratios, misses)
        if tempered < _LEAST_POWER:
            raise EngineError(
                "no table that its prior and support expect agrees with the published evidence.",
                hint="the column lies outside of what was declared possible: take a wider support or prior",
            )
        return self.log_z(sums[rng.choice(weights.size, _DRAWS, p=weights)])

    def _nearer(
        self, prior: np.ndarray, points: np.ndarray, misses: np.ndarray, log_ratios: np.ndarray
    ) -> np.ndarray:
        """Return a distribution of parameters near those of the best simulations, mixed with the prior."""
        from scipy.ndimage import gaussian_filter

        _, weights = _tempered(log_ratios, misses)
        cells = self.walk.grid.cells
        found = np.bincount(points, weights, prior.size).reshape((cells,) * len(self.walk.grid.axes))
        blurred = np.maximum(gaussian_filter(found, max(1.0, cells * _BLUR), mode="nearest").ravel(), 0)
        return 0.3 * prior + 0.7 * blurred / blurred.sum()

    def sums(self, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Simulate the sums of the mapped features of tables, each with the parameters of a point."""
        grid = self.walk.grid
        family: Family = grid.family
        shift, half = family.affine_map(grid.domain)
        assert shift is not None
        assert half is not None
        shown = min(self.n_records, _MOST_RECORDS)
        sums = np.empty((points.size, grid.tables[0].shape[1]))
        for at, point in enumerate(points):
            theta = {name: values[point] for name, values in grid.points.items()}
            x = family.sample(theta, shown, rng)
            if grid.domain.bounds is not None:
                low, high = map(float, grid.domain.bounds[0])
                x = np.clip(x, low, high)
            z = np.clip((family.measure(x) - float(shift[0])) / float(half[0]), -1, 1)
            sums[at] = [np.sum(feature) for feature in family.geometry.features([z])]
        return sums * (self.n_records / shown)

    def estimates(self, sums: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Simulate the logarithm of the mean weight for each table."""
        grid, cells = self.walk.grid, self.walk.grid.cells
        base, shape = grid.log_base, (len(sums), self.trajectories)
        states = rng.choice(base.size, shape, p=gibbs_distribution(base))
        log_weights = np.zeros(shape)
        for level, (power, following) in enumerate(zip(self.powers, self.powers[1:], strict=False), 1):
            log_weights += (following - power) * self._log_likelihood(states, sums)
            if level == len(self.powers) - 1:
                break
            for _ in range(self.moves):
                offsets = self.walk.propose(shape, rng).reshape(*shape, -1)
                sides = (cells,) * offsets.shape[-1]
                places = np.stack(np.unravel_index(states, sides), axis=-1) + offsets
                inside = np.all((places >= 0) & (places < cells), axis=-1)
                held = np.where(inside[..., None], places, 0)
                to = np.asarray(np.ravel_multi_index(tuple(np.moveaxis(held, -1, 0)), sides))
                odds = base[to] - base[states]
                odds += following * (self._log_likelihood(to, sums) - self._log_likelihood(states, sums))
                states = np.where(inside & (rng.random(shape) < expit(odds)), to, states)
        return np.asarray(logsumexp(log_weights, axis=1)) - np.log(self.trajectories)

    def _log_likelihood(self, states: np.ndarray, sums: np.ndarray) -> np.ndarray:
        slopes, levels = self.walk.grid.tables
        return np.einsum("mkj,mj->mk", slopes[states], sums) + self.n_records * levels[states]

    def log_z(self, sums: np.ndarray) -> np.ndarray:
        """Return the true log Z of each table, a sum over the grid."""
        slopes, levels = self.walk.grid.tables
        log_prior = self.walk.grid.log_base - logsumexp(self.walk.grid.log_base)
        pieces = np.array_split(sums, max(1, sums.shape[0] * levels.size // _MOST_NUMBERS))
        found = [
            np.asarray(
                logsumexp(log_prior + self.powers[-1] * (piece @ slopes.T + self.n_records * levels), axis=1)
            )
            for piece in pieces
        ]
        return np.concatenate(found)


def _tempered(log_ratios: np.ndarray, misses: np.ndarray) -> tuple[float, np.ndarray]:
    """Return weights of simulations by the noise to the largest power at which enough of them count, and the power."""
    power, weights = 1.0, gibbs_distribution(log_ratios - misses)
    while _effective(weights) < _LEAST and power > 1e-9:
        power /= 2
        weights = gibbs_distribution(log_ratios - power * misses)
    return power, weights


def _effective(weights: np.ndarray) -> float:
    """Return how many equal weights these are worth."""
    return float(1 / (weights**2).sum())

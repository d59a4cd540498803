r"""The noisy sums of a number within one class: what they say of how many records it has, and of its distribution.

A block holds the sums of three cells that add up to the number of usable records, u (see
:class:`~discreet.models.moment_table.MomentTable`). So their sum is u plus three noises, whose distribution is known:
for Laplace noise of scale b the density of the sum is

    f(x) = exp(-|x| / b) (3 + 3 |x| / b + x^2 / b^2) / (16 b),

for Gaussian noise it is normal. Rounding to the grid is left out: it is below 10^-7 of a record, for each of them. If
missing values are counted, m - u records have no value, with a beta-binomial prior that expects few, and

    L(m) = 1 / g_{a+b}(m)  sum over u of  g_b(u) f(y - u)  g_a(m - u) noise(y_missing - (m - u)),

with the weights a and b of :mod:`discreet.inference.missing_prior`.

Apart from that count, a block is what ``Mean()`` and ``Normal()`` release if records are added or removed: three
readings, with a prior on the number of records. That prior is what all other rows of all features say of the class
total, and the count of missing values, so that nothing is used twice. The engine ``grid`` reads a block as that of a
mean, of which nothing is known but the bounds; the engine ``gibbs`` as that of a normal distribution, which it needs if
values outside the bounds were redacted. Both hand back the mean and the standard deviation of the column as clipped to
its bounds, each its own way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from discreet.artifact import Release
from discreet.artifact.release import Statistics
from discreet.domain.columns import Numeric
from discreet.errors import OutOfReachError
from discreet.families.normal import Normal
from discreet.inference.bounded_mean import NoisyTotals, PopulationDraws, draw_population, draw_table
from discreet.inference.counts.weights import DEPTH, Cell, Table, log_rising
from discreet.inference.engine import Answer, Question
from discreet.inference.engines import naive
from discreet.inference.missing_prior import MISSING_WEIGHT, PRESENT_WEIGHT
from discreet.inference.models.table_rows import TotalWeights, with_missing
from discreet.inference.record_prior import RecordPrior
from discreet.models.moment_table import MomentTable
from discreet.priors import NormalInverseGamma

_APART = "each number is read on its own, given what the other columns say of the class totals"
#: What the two engines do not compute exactly.
OF_GRID = f"nothing assumed of numbers but their bounds; {_APART}"
OF_GIBBS = f"numbers taken to be normal in each class, with a central limit for their sums; {_APART}"
# Prior weights of a number of records below this share of the largest are nothing.
_LEAST = 1e-16
# No noise goes so many of its scales: less than e^-100 of its mass is beyond.
_FAR = 100.0

#: What the numbers are within each class.
_NORMAL = Normal()


@dataclass(frozen=True)
class BlockReading:
    """The noisy cells of one class, at ``cells`` of a release; the last is of missing values if they are counted."""

    whole: Release
    table: MomentTable
    cells: slice

    @cached_property
    def release(self) -> Release:
        """The block as a release of its own, of a normal whose records are added or removed."""
        outside, totals, noise = self.whole.domain.outside, self.whole.totals, self.whole.noise_record
        layout = self.table.block()
        at = slice(self.cells.start, self.cells.start + len(layout.names))
        return replace(
            self.whole,
            model=_NORMAL,
            columns=(self.table.number.name,),
            domain=self.table.domain(outside),
            neighbors="add_remove",
            records=None,
            statistics=Statistics(
                layout.names, totals.values[at], layout.grid, totals.width[at], layout.shift, layout.half
            ),
            mechanism=replace(noise, scale=noise.scale[at]),
        )

    @cached_property
    def usable(self) -> float:
        """What the block reads in all: the number of usable records, plus noise."""
        totals = self.release.totals
        return float(sum(value * grid for value, grid in zip(totals.values, totals.grid, strict=True)))

    @cached_property
    def missing(self) -> Cell | None:
        """The noisy count of missing values; None if they are not counted."""
        if self.whole.domain.missing != "count":
            return None
        at = self.cells.stop - 1
        y = self.whole.totals.values[at]
        return Cell(MISSING_WEIGHT, int(y), self.whole.noise[at], reference=max(int(y), 0))

    @property
    def total(self) -> float:
        """What the row reads in all."""
        return self.usable + (0 if self.missing is None else self.missing.y)

    @property
    def scales(self) -> np.ndarray:
        """The scales of the noise on the three cells, in records."""
        return np.array([float(scale) for scale in self.release.noise_record.scale])

    @property
    def _laplace(self) -> bool:
        return self.release.noise[0].kind == "laplace"

    @property
    def variance(self) -> float:
        """Variance of the noise on :attr:`total`."""
        mine = float((self.scales**2).sum()) * (2 if self._laplace else 1)
        return mine + (0.0 if self.missing is None else self.missing.noise.sd**2)

    @property
    def reach(self) -> float:
        """How far the least unwilling of the row's noises can carry it."""
        grid = float(self.release.totals.grid[0])
        mine = max(distribution.reach(DEPTH) for distribution in self.release.noise) * grid
        return mine if self.missing is None else max(mine, self.missing.noise.reach(DEPTH))

    def check(self, most: int) -> None:
        """Raise if a cell is so far from any sum over at most ``most`` records that no noise can have carried it."""
        cells = self.release.totals.numbers
        if (np.maximum(-cells, cells - most) > _FAR * self.scales + 1).any():
            raise OutOfReachError(
                "the noisy sums contradict the noisy counts too strongly to be read together."
            )

    #: How many tables along the total it takes, at most.
    n_tables: ClassVar[int] = 8

    def log_density(self, usable: np.ndarray) -> np.ndarray:
        """Return the log likelihood of the sum of the cells, up to a constant, given numbers of usable records."""
        off, scales = np.abs(self.usable - usable), self.scales
        if not self._laplace:
            return -0.5 * off**2 / (scales**2).sum()
        if scales.min() != scales.max():
            raise OutOfReachError(
                "the cells of a number have noise of different scales, which no engine reads."
            )
        off = off / scales[0]
        return np.log(3 + 3 * off + off**2) - off

    def distribution(self, target: float, low: int, high: int) -> BlockDistribution:
        """Return the distribution of the block for totals in [low, high]."""
        if self.missing is None:
            return BlockDistribution(low, self.log_density(np.arange(low, high + 1)), self)
        first, weights, _ = self.missing.weights(0.0, high)
        least, most = max(low - first - weights.size + 1, 0), max(high - first, 0)
        there = least, self.log_density(np.arange(least, most + 1))
        return BlockDistribution(low, with_missing((first, weights), there, low, high, target)[0], self)


@dataclass(frozen=True)
class BlockDistribution:
    """log L(m) for m = low, low + 1, ..., up to a constant; and the block behind it."""

    low: int
    log_weights: np.ndarray
    reading: BlockReading

    def usable(self, totals: TotalWeights) -> RecordPrior:
        """Return the distribution of the usable count, given log weights of the class total and the missing.

        Raises if no noise can have carried the cells so far from sums over that many records.
        """
        low, most, mass = totals.low, totals.high, totals.tilted(0.0)
        if self.reading.missing is not None:
            first, weights, _ = self.reading.missing.weights(0.0, most)
            shared = mass * np.exp(-log_rising(MISSING_WEIGHT + PRESENT_WEIGHT, low, most))
            # less the missing ones
            rest = Table(low, shared).convolve(Table(1 - first - weights.size, weights[::-1]))
            low, most = max(rest.low, 0), max(rest.high, 0)
            rising = log_rising(PRESENT_WEIGHT, low, most)
            mass = rest.at(np.arange(low, most + 1)) * np.exp(rising - rising.max())
        weights = np.where(mass > _LEAST * mass.max(), mass, 0.0)
        heavy = np.flatnonzero((weights > 0) & (low + np.arange(weights.size) >= 0))
        if not heavy.size:
            raise OutOfReachError("the noisy counts contradict each other too strongly to enumerate.")
        start, stop = int(heavy[0]), int(heavy[-1])
        self.reading.check(low + stop + 1)
        return RecordPrior(low + start, low + stop, weights[start : stop + 1] / weights.max())


def draw_moments(
    blocks: Sequence[BlockDistribution], others: Sequence[TotalWeights], question: Question
) -> Answer:
    """Draw mean and sd in every class, classes last, assuming nothing but the bounds."""
    draws: list[PopulationDraws] = []
    for distribution, totals in zip(blocks, others, strict=True):
        records, block = distribution.usable(totals), distribution.reading.release
        rows = distribution.reading.table.block().matrix
        noisy = NoisyTotals(block.totals.values, rows, block.totals.steps, block.noise)
        draws.append(draw_population(draw_table(noisy, records, question.size, question.rng), question.rng))
    number = blocks[0].reading.table.number
    low, width = float(number.low), float(number.high - number.low)
    mean = low + width * np.stack([one.mean for one in draws], axis=1)
    return Answer({"mean": mean, "sd": width * np.stack([one.sd for one in draws], axis=1)})


def draw_blocks(
    blocks: Sequence[BlockDistribution],
    others: Sequence[TotalWeights],
    prior: NormalInverseGamma,
    question: Question,
) -> Answer:
    """Draw mean and sd of clipped normals in every class; ``others`` has what is known of each total elsewhere."""
    # compiled, which models without numbers need not be
    from discreet.inference.engines.gibbs import gibbs_engine as gibbs

    answers = []
    for c, (distribution, totals) in enumerate(zip(blocks, others, strict=True)):
        records = distribution.usable(totals)
        mine = replace(question, release=distribution.reading.release, prior=prior, records=records)
        target, x, warnings = gibbs.coordinates(mine)
        warnings = (*gibbs.skewness_warnings(mine.release, target, x), *warnings)
        count = float(target.usable(x).mean())
        if count < gibbs.LEAST_RECORDS:
            table = distribution.reading.table
            warnings = (
                f"a central limit for about {count:.0f} values of {table.number.name!r:.60} with "
                f"{table.columns[0].name}={table.columns[0].labels[c]:.60}; it has been shown calibrated from "
                f"{gibbs.LEAST_RECORDS} on",
                *warnings,
            )
        theta = clipped_moments(target.theta(x), distribution.reading.table.number)
        answers.append(Answer(theta, gibbs.APPROXIMATION, warnings, independent=False))
    return _together(answers)


def clipped_moments(theta: Mapping[str, np.ndarray], number: Numeric) -> dict[str, np.ndarray]:
    """Return mean and sd of a normal variable that is clipped to the bounds of a column."""
    low, high = float(number.low), float(number.high)
    mean, sd = np.asarray(theta["mean"]), np.sqrt(theta["variance"])
    a, b = (low - mean) / sd, (high - mean) / sd
    below, above = ndtr(a), ndtr(-b)
    inside = np.maximum(1 - below - above, 0.0)
    density_a, density_b = (np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) for x in (a, b))
    # in units of sd around the mean; the ends are beyond what a square may be, and weigh nothing there
    far_a, far_b = (np.clip(x, -1e100, 1e100) for x in (a, b))
    first = density_a - density_b + far_a * below + far_b * above
    second = inside + far_a * density_a - far_b * density_b + far_a**2 * below + far_b**2 * above
    return {
        "mean": np.clip(mean + sd * first, low, high),
        "sd": np.minimum(sd * np.sqrt(np.maximum(second - first**2, 1e-300)), (high - low) / 2),
    }


def naive_block(
    blocks: Sequence[BlockReading], prior: NormalInverseGamma, question: Question
) -> tuple[np.ndarray, Answer]:
    """Take the noisy sums for the data: return the numbers of records in each class, and draws."""
    counts = [max(b.usable, 0.0) + max(0 if b.missing is None else b.missing.y, 0) for b in blocks]
    answers = [
        naive.draw(replace(question, release=block.release, prior=prior, records=RecordPrior()))
        for block in blocks
    ]
    number = blocks[0].table.number
    answers = [replace(answer, draws=clipped_moments(answer.draws, number)) for answer in answers]
    return np.array(counts), _together(answers)


def _together(answers: Sequence[Answer]) -> Answer:
    draws = {name: np.stack([answer.draws[name] for answer in answers], axis=1) for name in ("mean", "sd")}
    warnings = dict.fromkeys(said for answer in answers for said in answer.warnings)
    return replace(answers[0], draws=draws, warnings=tuple(warnings))

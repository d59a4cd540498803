r"""One chain over (parameter, latent records).

The target is p(theta) prod p(x_i | theta) noise(y - sum of released coordinates), and these moves leave it invariant:

1. **Parameter**: theta given the usable records, conjugate.
2. **Sweep** (Ju, Awan, Gong and Rao 2022, algorithm 1): propose each record from p(x | theta), accept by the ratio of
   noise masses. One record moves the released vector by at most its sensitivity, so under Laplace noise the probability
   to accept is at least exp(-epsilon), whatever the model.
3. **Block**: keep m records, draw theta' given them alone, draw the other n - m records given theta', and accept the
   whole by the ratio of noise masses. Given the kept records the proposal is an exact draw from the model's own
   conditional, so nothing else enters the ratio. With m = n this is move 1; with m = 0 a fresh draw from the prior.

4. **Mode jump**, only where far modes are to be expected: see :mod:`discreet.inference.engines.augment.mode_jumps`.

Moves 1 and 2 alone need about 2 (n + a) / a sweeps for one effective draw when the noise dominates (a: the prior's
weight in records), because theta holds the records in place and they hold theta. Then, and only then, blocks are
accepted: noise of R standard deviations of the sampled sum lets m = n / R^2 pass, whose theta' moves as far as the
posterior is wide. No density, Jacobian or step size of theta is needed, so this works for every family.

Missing records, where they are counted, have a prior p(u) on the usable count, and given u every choice of who is
usable is as likely as any other. So given u' usable ones among the others, the odds that a record is usable are
(u' + 1) p(u' + 1) over (n - u') p(u'); and given m flags of which k are usable, all n of them have u usable ones with
probability proportional to p(u) C(n - m, u - k) / C(n, u), and any u - k of the further ones are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, gammaln

from discreet.errors import OutOfReachError
from discreet.families.base import Theta
from discreet.inference.counts.weights import sample_index
from discreet.inference.engine import Question
from discreet.inference.engines.augment.latent import LatentRecords
from discreet.inference.engines.augment.latent_kernels import kept, log_noise, replace_block, sweep
from discreet.inference.engines.augment.mode_jumps import ModeJumps
from discreet.inference.record_prior import CountPrior, closest, log_mass_of

# How often an extreme parameter is drawn again before giving up.
_MOST_TRIES = 1000
# Candidates a chain chooses its start from.
_CANDIDATES = 64


@dataclass(frozen=True)
class LatentTarget:
    """What is sampled: the model, the readings in grid steps, and the distribution of their noise.

    ``epsilon`` bounds the change of log noise mass by one record; it is None for Gaussian noise, which has no bound.
    """

    latent: LatentRecords
    prior: Any
    n: int
    counted: bool
    readings: np.ndarray
    scales: np.ndarray
    gaussian: bool
    epsilon: float | None
    usable: CountPrior

    @cached_property
    def log_choice(self) -> np.ndarray:
        """Log probability of each usable count from 0 to n and of one way to choose who is usable."""
        u = np.arange(self.n + 1)
        log_ways = gammaln(self.n + 1.0) - gammaln(u + 1.0) - gammaln(self.n - u + 1.0)
        return log_mass_of(self.usable, u) - log_ways

    @cached_property
    def chances(self) -> np.ndarray:
        """Probability that a record is usable given how many of the others are, from 0 to n - 1; empty if all are."""
        if not self.counted:
            return np.empty(0)
        with np.errstate(invalid="ignore", over="ignore"):
            chances = expit(np.diff(self.log_choice))
        # between impossible numbers it does not matter
        return np.where(np.isnan(chances), 0.5, chances)

    @classmethod
    def of(cls, question: Question) -> LatentTarget:
        """Read the target off a release with a public number of records."""
        release = question.release
        assert release.records is not None
        gaussian = release.noise[0].kind == "gaussian"
        ratios = [w / s for w, s in zip(release.totals.width, release.noise_record.scale, strict=True)]
        return cls(
            LatentRecords(release),
            question.prior,
            release.records,
            release.domain.missing == "count",
            np.array(release.totals.values, dtype=float),
            np.array([distribution.width for distribution in release.noise]),
            gaussian,
            None if gaussian else float(release.noise_record.sensitivity * max(ratios)),
            question.usable,
        )


class Chain:
    """The state of one chain and its moves."""

    def __init__(
        self,
        target: LatentTarget,
        starts: list[Any],
        rng: np.random.Generator,
        jumps: ModeJumps | None = None,
    ) -> None:
        self.target, self.rng, self._jumps = target, rng, jumps
        #: Jumps accepted.
        self.jumps = 0
        self._noise = (target.readings, target.scales, target.gaussian)
        self.beyond = 0
        self._ladder = ladder(target.n)
        #: Blocks offered and accepted, for each entry of :func:`ladder`.
        self.blocks = np.zeros((2, self._ladder.size))
        self._start(starts)

    # -- moves ----------------------------------------------------------------------------------------

    def step(self, levels: np.ndarray) -> Theta:
        """Make the moves, and return the parameter.

        ``levels`` rise to 1: the cumulative probabilities of the entries of :func:`ladder`.
        """
        drawn, full, steps = self._given(self.full.sum(axis=0), int(self.usable.sum()), self.target.n)
        self._sweep(full, steps)
        if self._jumps is not None:
            self._jump(self._jumps, self._at)
        self._block(int(np.searchsorted(levels[:-1], self.rng.random(), side="right")))
        return drawn

    def _sweep(self, full: np.ndarray, steps: np.ndarray) -> None:
        target, rng = self.target, self.rng
        coins = rng.random(target.n) if target.counted else np.empty(0)
        levels = -rng.standard_exponential(target.n)
        height = log_noise(self.sums, *self._noise)
        _, least = sweep(
            self.full,
            self.steps,
            self.usable,
            self.sums,
            full,
            steps,
            coins,
            target.chances,
            levels,
            *self._noise,
        )
        check_floor(least, target.epsilon, height)

    def _block(self, rung: int) -> None:
        target, rng = self.target, self.rng
        count = target.n - int(self._ladder[rung])
        first = int(rng.integers(target.n))
        s = np.empty(self.full.shape[1])
        n_usable = kept(self.full, self.usable, first, count, s)
        theta = self._draw(s, n_usable)
        proposal = target.latent.draw(theta, count, rng)
        self.blocks[0, rung] += 1
        if proposal is None:
            self.beyond += 1
        else:
            flags = self._flags(n_usable, target.n - count, count)
            level = -rng.standard_exponential()
            self.blocks[1, rung] += replace_block(
                self.full, self.steps, self.usable, self.sums, *proposal, flags, first, level, *self._noise
            )

    def _jump(self, jumps: ModeJumps, x: np.ndarray) -> None:
        """Propose a new parameter and new values of all usable records; which records are usable does not change."""
        target, rng = self.target, self.rng
        there = jumps.draw(rng)
        theta = {
            name: values[0]
            for name, values in target.latent.family.named(jumps.space.values(there[None])).items()
        }
        proposal = target.latent.draw(theta, target.n, rng)
        if proposal is None:
            return
        full, steps = (rows * self.usable[:, None] for rows in proposal)
        sums = steps.sum(axis=0)
        log_ratio = log_noise(sums, *self._noise) - log_noise(self.sums, *self._noise)
        log_ratio += jumps.log_weight(there) - jumps.log_weight(x)
        if -rng.standard_exponential() <= log_ratio:
            self.full, self.steps, self.sums = full, steps, sums
            self.jumps += 1

    # -- draws ----------------------------------------------------------------------------------------

    def _draw(self, s: np.ndarray, n_usable: float) -> Theta:
        family = self.target.latent.family
        posterior = family.update(self.target.prior, s, n_usable)
        if self._jumps is None:
            drawn = family.draw(posterior, 1, self.rng)
        else:
            at = posterior.sample(1, self.rng)
            self._at = self._jumps.space.coordinates(at)[0]
            drawn = family.named(at)
        return {name: values[0] for name, values in drawn.items()}

    def _given(self, s: np.ndarray, n_usable: float, size: int) -> tuple[Theta, np.ndarray, np.ndarray]:
        """Draw a parameter given sums of the statistic, and records given it; again if they are too large."""
        for _ in range(_MOST_TRIES):
            theta = self._draw(s, n_usable)
            proposal = self.target.latent.draw(theta, size, self.rng)
            if proposal is not None:
                return theta, *proposal
            self.beyond += 1
        raise OutOfReachError(
            "no records can be drawn: the prior favors parameters whose records exceed 1e90.",
            hint="use a prior that says more",
        )

    def _flags(self, n_usable: int, n: int, size: int) -> np.ndarray:
        """Draw who is usable among ``size`` further records, given that ``n_usable`` of ``n`` are.

        All of the target's records are then known: ``n + size`` of them.
        """
        if not self.target.counted:
            return np.ones(size, dtype=np.int64)
        more = np.arange(size + 1)
        log_weights = self.target.log_choice[n_usable : n_usable + size + 1]
        log_weights = log_weights - gammaln(more + 1.0) - gammaln(size - more + 1.0)
        return self._chosen(sample_index(np.exp(log_weights - log_weights.max()), 1, self.rng)[0], size)

    def _chosen(self, n_usable: int, size: int) -> np.ndarray:
        """Choose ``n_usable`` of ``size`` records at random."""
        flags = np.zeros(size, dtype=np.int64)
        flags[: int(n_usable)] = 1
        self.rng.shuffle(flags)
        return flags

    def _first_flags(self, read: float | None) -> np.ndarray:
        """Draw who is usable at first: about as many as were read, or from the prior if that is None."""
        target = self.target
        if not target.counted or read is None:
            return self._flags(0, 0, target.n)
        about = round(read + self.rng.standard_cauchy())
        return self._chosen(closest(target.usable, about), target.n)

    def _start(self, starts: list[Any]) -> None:
        """Choose among candidates with probability proportional to the noise mass."""
        best = -np.inf
        for i in range(_CANDIDATES):
            s, weight = starts[i % len(starts)]
            _, full, steps = self._given(s, weight, self.target.n)
            usable = self._first_flags(None if i // len(starts) % 2 else starts[-1][1])
            full, steps = full * usable[:, None], steps * usable[:, None]
            sums = steps.sum(axis=0)
            # the largest of log weights plus Gumbel noise is a draw in proportion to the weights
            height = log_noise(sums, *self._noise) + self.rng.gumbel()
            if height > best:
                best = height
                self.full, self.steps, self.usable, self.sums = full, steps, usable, sums


def starting_points(question: Question) -> list[tuple[np.ndarray, float]]:
    """Return sums of the statistic, and the number of records they weigh, to draw starting parameters from.

    The prior, and the naive posterior tempered to the weight of one record up to all of them. A start need not be
    right, but where all records are out of range the noise says nothing about the way back.
    """
    family = question.release.family
    s, n = question.release.noisy_sums()
    s = family.project(s, n)
    shares = [0.0] if not n > 0 else [0.0, min(1.0, 1 / n), n**-0.5 if n > 1 else 1.0, 1.0]
    return [(s * share, n * share) for share in shares]


def ladder(n: int) -> np.ndarray:
    """Return how many records a block may keep: none, or a power of two below ``n``."""
    return np.concatenate([[0], 2 ** np.arange(max(n - 1, 0).bit_length())])


def check_floor(least: float, epsilon: float | None, height: float) -> None:
    """Hold the sweep to the theory: a log acceptance probability is never below -epsilon under Laplace noise.

    ``height`` is the log noise mass, whose rounding the differences inherit.
    """
    slack = 1e-9 + 1e-14 * abs(height)
    if epsilon is not None and not least >= -epsilon - slack:
        raise AssertionError(
            f"a record was accepted with probability exp({least:.6g}), less than exp(-epsilon), epsilon={epsilon:.6g}: "
            "the noise does not cover what one record adds"
        )

"""Annealed importance sampling along a path of temperatures, every step of it paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.arguments import one_of
from discreet.artifact import Samples
from discreet.artifact.records.private_walks import PrivateAnnealingRecord
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families import Family
from discreet.mechanisms.base import Mechanism, RandomSource, Totals, conjugate_family, read_samples
from discreet.mechanisms.grid_walking import barker_walk, planned_walk, read_steps, walk_of
from discreet.models.layout import Layout
from discreet.priors import Prior
from discreet.privacy import DiscreteLaplace
from discreet.privacy.costs.annealing_path import WEIGHT_STEPS, AnnealingPath, read_path
from discreet.privacy.costs.chain_updates import gibbs_distribution
from discreet.privacy.costs.grid_walk import GridWalk
from discreet.privacy.costs.scored_points import SCALE_BITS, SLACK, weight_choice
from discreet.privacy.guarantees import positive_budget
from discreet.privacy.rounding import decimal, rational_down
from discreet.rational import Number, float_up, plain

_LEAST = Fraction(1, 10**6)


@dataclass(frozen=True)
class PrivateAnnealing(Mechanism):
    """Release draws chosen among annealed trajectories in proportion to their importance weights, or all ends of them.

    Parameters
    ----------
    prior
        The family's conjugate prior, or its text. It is part of the guarantee, is not tempered, and is the flattest
        distribution of a path that begins at 0.
    epsilon
        The price of everything together: first draws, all updates, and the choice by weights.
    support
        ``(low, high)`` of the parameter, from public knowledge, strictly inside its range; a pair for each of several.
    path
        The levels, as epsilons that an exact draw from each would cost, from the flattest distribution to the target;
        they must not decrease. By default ``levels`` steps from 0 to what ``epsilon`` pays for.
    levels, spacing
        How many levels the default path has, and whether its steps are ``"equal"`` or each level is ``"doubling"`` the
        one before, which suits many records.
    trajectories
        How many annealed trajectories.
    moves
        How many updates by Barker's rule at each level between the ends.
    samples
        How many draws are released, with ``weights="resample"``.
    weights
        ``"resample"``: every draw is chosen in proportion to the weights, at a cost of epsilon_0 - epsilon_n each.
        ``"laplace"``: the ends of all trajectories are published, and their normalized weights with Laplace noise, at
        a cost of ``weights_epsilon``.
    weights_epsilon
        For ``weights="laplace"``: how much of ``epsilon`` is for the weights; by default half.
    evidence_epsilon
        How much of ``epsilon`` is for the logarithm of the mean weight, an estimate of the marginal likelihood (of the
        likelihood's power at the end of the path), which is published with Laplace noise; nothing unless given.
        :func:`discreet.log_evidence` reads it.
    width, cells
        As in :class:`~discreet.mechanisms.private_metropolis.PrivateMetropolis`.

    Privacy
    -------
    Neighbors: ``replace``. Every record counts once, clipped and imputed. Sensitivity: the range R of the
    log-likelihood difference over the support, and that of one step, R'. Theorem: the first state is an exact draw
    from the flattest distribution, the exponential mechanism at epsilon_n, which is the prior itself at 0; an update by
    Barker's rule at level j is (epsilon_j R' / R)-DP; all add up, for every level between the ends and every
    trajectory. The trajectories count as published. Given them, one record moves the logarithm of a weight by the sum
    of (epsilon_j - epsilon_{j+1}) d / R over its states. On a path that never goes back that is an average of values
    of d times (epsilon_0 - epsilon_n) / R, so that all weights move within epsilon_0 - epsilon_n of each other: a
    choice in proportion to them is the exponential mechanism at that price, and the normalized weights have L1
    sensitivity 2 tanh((epsilon_0 - epsilon_n) / 4) (:mod:`discreet.privacy.costs.annealing_path`). The printed
    sensitivity, 2, is true of any two points of a simplex. All choices along the trajectories, and resampling, are
    made by OpenDP in exact arithmetic. The noise on weights is OpenDP's discrete Laplace, in steps of 2^-20, but the
    weights that it is added to are normalized in float64: with ``weights="laplace"``, and with ``evidence_epsilon``,
    the release says ``floating``. The logarithm of the mean weight moves by at most the last power of the likelihood
    times the largest change of a log-likelihood by one record, at any parameter of the support: not a range, since what
    is common to all parameters counts here (``AnnealingPath.evidence_sensitivity``).

    Notes
    -----
    Where an exact draw from the posterior on a grid is to be had, as for one parameter, one posterior sample costs
    less: see :class:`~discreet.mechanisms.posterior_sampling.PosteriorSampling`.

    References
    ----------
    Foulds, Geumlek, Welling and Chaudhuri (2016), supplement C.2. Neal (2001), Annealed importance sampling.
    """

    name = "private_annealing"
    delta = None
    what = "annealing needs"
    example = 'for example dc.mechanisms.PrivateAnnealing("beta:1,1", epsilon=1, support=(0.01, 0.99))'
    prior: Prior
    epsilon: Fraction
    samples: int
    support: Any
    path: AnnealingPath | None
    levels: int
    spacing: Literal["equal", "doubling"]
    trajectories: int
    moves: int
    weights: Literal["resample", "laplace"]
    weights_epsilon: Fraction | None
    evidence_epsilon: Fraction | None
    width: int | None
    cells: int | None

    def __init__(
        self,
        prior: Prior | str,
        *,
        epsilon: Number | None = None,
        support: Any = None,
        path: Any = None,
        levels: int = 8,
        spacing: Literal["equal", "doubling"] = "equal",
        trajectories: int = 8,
        moves: int = 1,
        samples: int = 1,
        weights: Literal["resample", "laplace"] = "resample",
        weights_epsilon: Number | None = None,
        evidence_epsilon: Number | None = None,
        width: int | None = None,
        cells: int | None = None,
    ) -> None:
        prior = self._read_prior(prior)
        budget = positive_budget(self._needed(epsilon, "epsilon"), "epsilon")
        weights = one_of(weights, "weights", ("resample", "laplace"))
        if weights_epsilon is not None and weights != "laplace":
            raise UsageError("weights_epsilon is for weights='laplace'; resampling costs what the path says.")
        noise = None
        if weights == "laplace":
            noise = (
                budget / 2 if weights_epsilon is None else positive_budget(weights_epsilon, "weights_epsilon")
            )
            if samples != 1:
                raise UsageError(
                    "weights='laplace' publishes the ends of all trajectories: leave out samples."
                )
        evidence = None if evidence_epsilon is None else positive_budget(evidence_epsilon, "evidence_epsilon")
        if (noise or 0) + (evidence or 0) >= budget:
            spent = "weights_epsilon" if evidence is None else "evidence_epsilon"
            raise UsageError(f"{spent} must leave something of epsilon for the trajectories.")
        self._set(
            prior=prior,
            epsilon=budget,
            samples=read_samples(samples),
            support=self._needed(support, "support"),
            path=None if path is None else read_path(path),
            levels=read_steps(levels, "levels", 1000),
            spacing=one_of(spacing, "spacing", ("equal", "doubling")),
            trajectories=read_steps(trajectories, "trajectories", 1000),
            moves=read_steps(moves, "moves", 1000),
            weights=weights,
            weights_epsilon=noise,
            evidence_epsilon=evidence,
            width=width,
            cells=cells,
        )
        if self.levels < 2:
            raise UsageError("a path has at least 2 levels, got levels=1.")
        if evidence is not None and self.path is not None and self.path.epsilons[0] != 0:
            raise UsageError("the evidence is that of the prior: its path must begin at 0.")

    def check(self, family: Family, domain: Domain, layout: Layout | None = None) -> PrivateAnnealingRecord:
        walk = planned_walk(self, conjugate_family(self, family), domain)
        needed, step = walk.grid.range(), walk.range()
        path = self.path or self._default_path(needed, step)
        if path.epsilons[-1] > needed:
            raise UsageError(
                f"the path ends at epsilon = {float(path.epsilons[-1]):.4g}, where the temperature is below 1: the "
                f"posterior itself costs {float(needed):.4g}."
            )
        cost = path.cost(
            step / needed,
            trajectories=self.trajectories,
            moves=self.moves,
            samples=self.samples,
            weights_epsilon=self.weights_epsilon,
            evidence_epsilon=self.evidence_epsilon,
        )
        if cost > self.epsilon:
            raise UsageError(
                f"this path costs epsilon = {float(cost):.4g}, more than epsilon={plain(self.epsilon)}.",
                hint="take fewer trajectories, levels or moves, or a path that ends lower",
            )
        numbers = {
            "range": needed,
            "step_range": step,
            **walk.numbers,
            "trajectories": Fraction(self.trajectories),
            "moves": Fraction(self.moves),
        }
        if self.weights_epsilon is not None:
            numbers["weights_epsilon"] = self.weights_epsilon
        if self.evidence_epsilon is not None:
            numbers |= {"evidence_epsilon": self.evidence_epsilon, "change": walk.grid.change()}
        paths = {"epsilons": path.epsilons}
        return PrivateAnnealingRecord(self.prior, walk.grid.support, numbers, paths)

    def _default_path(self, needed: Fraction, step: Fraction) -> AnnealingPath:
        """Return equal steps from 0 to where the budget is used up, or to the posterior itself."""
        spaced = AnnealingPath.linear if self.spacing == "equal" else AnnealingPath.doubling
        share, unit = step / needed, spaced(self.levels, Fraction(1))
        # costs are linear in the top of the path, but for the rounding
        rounding = (self.trajectories * self.moves + 4 * self.samples) * self.levels * SLACK
        each = self.trajectories * self.moves * share * sum(unit.epsilons[1:-1])
        if self.weights_epsilon is None:
            each += self.samples
        left = self.epsilon - rounding - (self.weights_epsilon or 0) - (self.evidence_epsilon or 0)
        top = needed if each == 0 else min(needed, left / each)
        if top < _LEAST:
            raise UsageError(
                f"epsilon is too small for so many updates, got epsilon={plain(self.epsilon)}.",
                hint="take fewer trajectories, levels or samples",
            )
        return spaced(self.levels, top if top == needed else rational_down(decimal(top)))

    def draw(self, record: PrivateAnnealingRecord, totals: Totals, source: RandomSource) -> Samples:
        walk, path = walk_of(record, totals.family, totals.domain), AnnealingPath(record.paths["epsilons"])
        powers = path.powers(record.parameters["range"])
        features, n = totals.features(), totals.n_records
        tables = [walk.scores(features, n, power) for power in powers]
        runs = [trajectory(walk, tables, self.moves, source) for _ in range(self.trajectories)]
        log_weights = [log_weight(tables, run) for run in runs]
        ends = [run[-1] for run in runs]
        noisy: dict[str, tuple[int, ...]] = {}
        if self.weights_epsilon is None:
            distribution = weight_choice(log_weights)
            chosen = [ends[source.exponential(distribution)] for _ in range(self.samples)]
        else:
            noisy["weights"] = self._noisy_weights(log_weights, path, self.weights_epsilon, source)
            chosen = ends
        if self.evidence_epsilon is not None:
            moved = path.evidence_sensitivity(record.parameters["change"], record.parameters["range"])
            noise = DiscreteLaplace(float_up(moved / self.evidence_epsilon))
            noisy["log_evidence"] = (log_mean_steps(log_weights) + source.noise(noise),)
        # noise is added to normalized weights and their mean, which are computed in float64
        return Samples.of(walk.draws(chosen), "floating" if noisy else "exact", noisy)

    def _noisy_weights(
        self, log_weights: list[int], path: AnnealingPath, epsilon: Fraction, source: RandomSource
    ) -> tuple[int, ...]:
        """Return normalized weights with Laplace noise; what follows the noise is for everybody to do."""
        distribution = weight_choice(log_weights)
        steps = np.floor(
            gibbs_distribution(np.array(distribution.scores, dtype=float) / distribution.scale) * WEIGHT_STEPS
            + 0.5
        )
        noise = DiscreteLaplace(float_up(path.weight_sensitivity(len(steps)) / epsilon))
        return tuple(int(step) + source.noise(noise) for step in steps)


def trajectory(walk: GridWalk, tables: Sequence[Any], moves: int, source: RandomSource) -> list[int]:
    """Return the states of one trajectory: an exact draw from the first level, then one after each level between.

    State i was drawn under distribution i, so that it is the state *before* the updates of distribution i + 1.
    """
    scores = [tables[0][point] for point in range(walk.grid.log_base.size)]
    states = [source.exponential(weight_choice(scores))]
    for scores in tables[1:-1]:
        offsets = source.floating(lambda rng: walk.propose(moves, rng))
        states.append(barker_walk(walk, scores, states[-1], offsets, source)[-1])
    return states


def log_weight(tables: Sequence[Any], states: list[int]) -> int:
    """Return the logarithm of a trajectory's weight, in steps of 2^-52: f_{next} / f_{own} at every state."""
    return sum(tables[i + 1][state] - tables[i][state] for i, state in enumerate(states))


def log_mean_steps(log_weights: Sequence[int]) -> int:
    """Return the logarithm of the mean weight in steps of 2^-20, within two of them."""
    best = max(log_weights)
    rest = np.log(np.mean(np.exp([float(w - best) / (1 << SCALE_BITS) for w in log_weights])))
    return best * WEIGHT_STEPS // (1 << SCALE_BITS) + int(np.floor(rest * WEIGHT_STEPS + 0.5))

"""One update of a private chain: its distribution computed exactly, against what it is said to cost."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from common.claim import Claim, Panel

import discreet as dc
from discreet.mechanisms.base import RandomSource
from discreet.mechanisms.grid_walking import barker_walk
from discreet.mechanisms.private_annealing import log_weight, trajectory, weight_choice
from discreet.priors import parse
from discreet.privacy.costs.annealing_path import AnnealingPath
from discreet.privacy.costs.chain_updates import gibbs_distribution, simplex_sensitivity
from discreet.privacy.costs.grid_walk import GridWalk
from discreet.privacy.costs.likelihood_range import simplex_range
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.privacy.costs.scored_points import SCALE_BITS
from discreet.samplers.mixture_chain import MixtureChain, assignment_log_weights

_STEP = float(1 << SCALE_BITS)
_DOMAIN = dc.Bernoulli().read_domain(None, "clip", "none")


def _walk(prior: str = "beta:1,1", cells: int = 9, width: int = 3) -> GridWalk:
    support = ((Fraction(1, 5), Fraction(9, 10)),)
    return GridWalk(ParameterGrid(dc.Bernoulli(), _DOMAIN, parse(prior), support, cells), width)


def random_scan(most: int = 16) -> Panel:
    """One of N assignments, chosen at random; everybody sees which."""
    least = Fraction(3, 10)
    update = float(simplex_range(2, least))
    chain = MixtureChain(2, (2,), (float(least),), 1.0)
    weights, table = np.array([1e-7, 1 - 1e-7]), np.array([[0.7, 0.3], [0.3, 0.7]])
    distribution = np.log(
        gibbs_distribution(assignment_log_weights(chain, weights, [table], np.array([[0], [1]])))
    )
    # the index is as likely for both tables, so that the ratio of (index, component) is that of the component
    attained = float(np.abs(distribution[0] - distribution[1]).max())
    n = np.arange(1, most + 1)
    printed = 4 * (update / 2) / n
    return Panel(
        "random scan",
        {"n": n, "printed": printed, "attained": np.full(most, attained), "claimed": np.full(most, update)},
        [
            Claim(
                "section 4.1",
                "a random scan is no cheaper than a whole update: the printed 4 D Q / N is exceeded (it is wrong)",
                update - 1e-5 <= attained <= update + 1e-9 and attained > 3 * printed[7],
                f"one of 8: printed {printed[7]:.3f}, attained {attained:.3f}, the update's range {update:.3f}",
            )
        ],
    )


def rules(temperature: Fraction = Fraction(3, 2)) -> Panel:
    """Compare accepting and rejecting, for all tables of up to four tosses and all their neighbors."""
    found: dict[str, list[float]] = {}
    for rule, prior in (("barker", "beta:1,60"), ("metropolis", "beta:1,1")):
        walk = _walk(prior)
        worst, excess = [0.0, 0.0], 0.0
        epsilon = float(walk.range() / temperature)
        for n in range(1, 5):
            distributions = [
                np.array([walk.distribution(scores, at, rule=rule) for at in range(walk.grid.cells)])
                for ones in range(n + 1)
                for scores in [walk.grid.scores([Fraction(2 * ones - n)], n, 1 / temperature)]
            ]
            inside = distributions[0][..., 0] > 0
            for a, b in [(x, y) for pair in pairwise(distributions) for x, y in (pair, pair[::-1])]:
                with np.errstate(divide="ignore", invalid="ignore"):
                    for outcome in (0, 1):
                        ratio = np.log(a[..., outcome][inside]) - np.log(b[..., outcome][inside])
                        worst[outcome] = max(worst[outcome], float(np.nanmax(ratio)))
                observed = np.where(inside, b[..., 1], 0.0).sum(axis=1)
                needed = np.maximum(0.0, a - np.exp(epsilon) * b).sum(axis=(1, 2))
                excess = max(excess, float((needed - observed).max()))
        found[rule] = [worst[0] / epsilon, worst[1] / epsilon, excess]
    barker, metropolis = found["barker"], found["metropolis"]
    return Panel(
        "rules",
        {"barker": barker[:2], "metropolis": [metropolis[0], 1e9]},
        [
            Claim(
                "theorem C.1",
                "Barker's rule costs what it says whether it accepts or rejects, and some table attains it",
                max(barker[:2]) <= 1 + 1e-9 and min(barker[:2]) > 0.999,
                f"largest log-ratio over the claim: accept {barker[0]:.4f}, reject {barker[1]:.4f}",
            ),
            Claim(
                "theorem C.1",
                "the rule of Metropolis has no epsilon for a rejection, and an observed rejection rate is no delta",
                np.isinf(metropolis[1]) and metropolis[2] > 0.01 and metropolis[0] <= 1 + 1e-9,
                f"accept {metropolis[0]:.3f}, reject unlimited; delta needed {metropolis[2]:.3f} above the observed "
                "rate",
            ),
        ],
    )


def annealing(rng: np.random.Generator, trajectories: int) -> Panel:
    """Estimate a normalizing constant that a sum over the grid gives, from weights before and after the updates."""
    walk = _walk(cells=24, width=8)
    path, n, ones = AnnealingPath.linear(6, Fraction(4)), 40, 30
    tables = [
        walk.grid.scores([Fraction(2 * ones - n)], n, power) for power in path.powers(walk.grid.range())
    ]
    ratio = [float(np.exp(np.array(scores) / _STEP).sum()) for scores in (tables[0], tables[-1])]
    known, source = ratio[1] / ratio[0], RandomSource.seeded(rng)
    weights: dict[str, list[float]] = {"before": [], "after": []}
    for _ in range(trajectories):
        run = trajectory(walk, tables, 2, source)
        last = barker_walk(walk, tables[-1], run[-1], walk.propose(2, rng), source)[-1]
        for name, states in (("before", run), ("after", [*run[1:], last])):
            weights[name].append(np.exp(log_weight(tables, states) / _STEP) / known)
    mean = {name: float(np.mean(w)) for name, w in weights.items()}
    error = {name: float(np.std(w, ddof=1) / np.sqrt(trajectories)) for name, w in weights.items()}
    gap = path.gap
    ends = [[0] * 5, [walk.grid.cells - 1] * 5]
    distributions = []
    for k in range(202):
        scores = [
            walk.grid.scores([Fraction(2 * k - 201)], 201, power) for power in path.powers(walk.grid.range())
        ]
        distributions.append(weight_choice([log_weight(scores, end) for end in ends]).mass())
    moved = max(float(np.abs(np.log(a / b)).max()) for a, b in pairwise(distributions))
    return Panel(
        "annealing",
        {
            "before": mean["before"],
            "before_error": error["before"],
            "after": mean["after"],
            "after_error": error["after"],
        },
        [
            Claim(
                "equation 46",
                "importance weights are unbiased with the states before the updates of each level, and biased with "
                "those after",
                abs(mean["before"] - 1) < 4 * error["before"] and mean["after"] - 1 > 6 * error["after"],
                f"estimate over truth: before {mean['before']:.3f} ± {error['before']:.3f}, "
                f"after {mean['after']:.3f} ± {error['after']:.3f}",
            ),
            Claim(
                "supplement C.2",
                "choosing a trajectory by its weight costs the length of the path in epsilon, no more, and attains it; "
                "the weights' L1 sensitivity is far below the printed 2",
                0.99 * float(gap) <= moved <= float(path.resampling_cost()) + 1e-9,
                f"path from 0 to {float(gap):g}: attained {moved:.4f}; sensitivity for a path to 0.5: "
                f"{float(simplex_sensitivity(Fraction(1, 2))):.3f}",
            ),
        ],
    )

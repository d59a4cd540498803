"""Lemmas 23 and 24: how far apart two records can be, and what a whole record of a network costs."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from common.claim import Claim, Panel
from scipy.special import logsumexp

import discreet as dc
from discreet.privacy.metric import RecordDistance, lipschitz, lipschitz_by_pairs, network_posterior


def neighbors(rng: np.random.Generator) -> Panel:
    """Check both lemmas, and draw the cost of a record of a network."""
    least = np.array([0.2, 0.1, 0.05, 0.02, 0.01])
    worst = [chain_cost(one) for one in least]
    library = [
        float(network_posterior([1, 1, 0], str(one)).to_neighbors().budgets()["epsilon"]) for one in least
    ]
    value = [
        float(network_posterior([1, 1, 0], str(one), changed="value").to_neighbors().budgets()["epsilon"])
        for one in least
    ]
    record, single = np.array(worst).T
    printed = 4 * np.log(1 / least)
    series = {"least": least, "record": record, "value": single, "library": library, "printed": printed}
    return Panel(
        "neighbors",
        series,
        [
            *_normal(rng),
            Claim(
                "lemma 24",
                "networks: 2 max(1 + children) log(1/least) is for one changed value; a record costs up to K factors",
                bool(
                    np.all(record <= np.array(library) * (1 + 1e-9))
                    and np.all(record > 0.99 * np.array(library))
                    and np.all(single <= np.array(value) * (1 + 1e-9))
                    and np.all(value <= printed)
                    and np.all(record > printed)
                ),
                f"chain of three, least 0.05: a record up to {record[2]:.2f} = 2 * 3 log(0.95/0.05), printed "
                f"{printed[2]:.2f}; one value up to {single[2]:.2f}",
            ),
            _markov(),
        ],
    )


def chain_cost(least: float) -> tuple[float, float]:
    """Return the largest log-ratio of posteriors of a chain of three binary variables, for a record and for a value.

    Two parameters, each the other's opposite, with all factors as bad as can be for rows 000 and 111.
    """
    first = np.array([[1 - least, 0.5], [1 - least, least], [1 - least, least]])
    thetas = np.stack([np.stack([first, 1 - first], -1), np.stack([1 - first, first], -1)])
    rows = list(product([0, 1], repeat=3))
    log_p = np.array(
        [[sum(np.log(t[k, (0, *row)[k], v]) for k, v in enumerate(row)) for row in rows] for t in thetas]
    )
    worst = [0.0, 0.0]
    for weight in (-80.0, -40.0, 0.0, 40.0, 80.0):
        log_post = log_p + np.array([[0.0], [weight]])
        log_post = log_post - logsumexp(log_post, axis=0)
        for i, j in combinations(range(8), 2):
            found = float(np.abs(log_post[:, i] - log_post[:, j]).max())
            worst[0] = max(worst[0], found)
            if sum(a != b for a, b in zip(rows[i], rows[j], strict=True)) == 1:
                worst[1] = max(worst[1], found)
    return worst[0], worst[1]


def _markov() -> Claim:
    least, steps = 0.1, 6
    stay = np.array([1 - least, least])  # the probability of staying, under either parameter
    log_stay, log_move = np.log(stay), np.log1p(-stay)
    still, moving = (steps - 1) * log_stay, (steps - 1) * log_move
    ratio = 0.0
    for weight in (-60.0, 60.0):
        posts = [one + np.array([0.0, weight]) for one in (still, moving)]
        posts = [one - logsumexp(one) for one in posts]
        ratio = max(ratio, float(np.abs(posts[0] - posts[1]).max()))
    claimed = float(
        network_posterior([1] * (steps - 1) + [0], str(least)).to_neighbors().budgets()["epsilon"]
    )
    printed = 4 * np.log(1 / least)
    return Claim(
        "lemma 24",
        'Markov chains: "4 log(1/least)" is for one step of one trajectory; a whole one of T steps costs up to 2T logs',
        printed < ratio <= claimed,
        f"{steps} steps, least {least:g}: {ratio:.2f} for a whole trajectory, of {claimed:.2f}; printed {printed:.2f}",
    )


def _normal(rng: np.random.Generator) -> list[Claim]:
    family, distance = dc.MultivariateNormal(3), RecordDistance.outer_product(1, 3)
    centered = RecordDistance.outer_product(1, 3, centered=True)
    most = 0.0
    for _ in range(100):
        root = rng.normal(size=(3, 3))
        theta = {
            "normal_mean": rng.normal(size=3) * rng.choice([0.1, 3]),
            "covariance": root @ root.T + 0.01 * np.eye(3),
        }
        records = rng.normal(size=(40, 3)) * rng.choice([0.1, 1, 10], size=(40, 1))
        found = float(lipschitz_by_pairs(family, theta, distance, records))
        most = max(most, found / float(lipschitz(family, theta, distance)))
    needle = {"normal_mean": np.zeros(3), "covariance": np.diag([1, 1e8, 1e8])}
    axis = np.array([[0.0, 0, 0], [1.0, 0, 0]])
    attained = float(lipschitz_by_pairs(family, needle, centered, axis)) / float(
        lipschitz(family, needle, centered)
    )
    x, y = rng.normal(size=(2, 300_000, 2))
    x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    reach = {
        "[0, 1]": float(RecordDistance.quadratic(0, 1).metric.diameter),
        "[-1, 1]": float(RecordDistance.quadratic(-1, 1).metric.diameter),
        "the unit disk": float(RecordDistance.outer_product(1, 2).metric.diameter),
    }
    searched = float(RecordDistance.outer_product(1, 2).between(x, y).max())
    line = np.linspace(-1, 1, 801)
    between = RecordDistance.quadratic(-1, 1).between(line[:, None], line[None, :])
    return [
        Claim(
            "lemma 23",
            "multivariate normal: L = norm of the precision times max(1, norm of the mean) / 2 holds, and is attained",
            most <= 1 and abs(attained - 1) < 1e-6,
            f"largest ratio over random normals and records {most:.3f}; {attained:.6f} along the axis of a needle",
        ),
        Claim(
            "lemma 23",
            '"3 epsilon for bounded data" is right for numbers in [0, 1] only',
            reach["[0, 1]"] == 3
            and abs(float(between.max()) - reach["[-1, 1]"]) < 1e-9
            and 0.9999 * reach["the unit disk"] < searched <= reach["the unit disk"],
            ", ".join(f"{value:.4g} in {where}" for where, value in reach.items())
            + f" (random search {searched:.4f})",
        ),
    ]

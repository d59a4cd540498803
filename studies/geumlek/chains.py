"""Figures 7.3 to 7.8: chains of profiles under randomized response and under the smooth mechanisms."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from common.claim import Claim, Panel

from discreet.profiles import (
    KRandomizedResponse,
    OneBitCluster,
    ProfileGraph,
    RandomizedResponse,
    SmoothCategorical,
    SmoothOneBit,
)

#: The budget that figures 7.5 to 7.8 draw a line at.
MARK = 0.2
#: The table's entries are lost. These are profiles for which, as the caption of figure 7.3 says, all four curves of the
#: baseline overlap: each category is at most 0.15 away from 1/4. The last one is the same in all profiles.
PROFILES = {
    "P1": ("0.2", "0.3", "0.4", "0.1"),
    "P2": ("0.3", "0.3", "0.3", "0.1"),
    "P3": ("0.4", "0.4", "0.1", "0.1"),
}
PRECISION = 1e-8


def chain(n: int) -> ProfileGraph:
    """Return Bernoulli-Chain-n: probabilities evenly spaced on [0, 1]."""
    return ProfileGraph.chain({f"p{i}": Fraction(i, n - 1) for i in range(n)})


def _spread(outputs: np.ndarray) -> np.ndarray:
    return outputs.max(axis=-1) - outputs.min(axis=-1)


def bernoulli(n: int, epsilons: np.ndarray) -> Panel:
    """Figures 7.5 and 7.7 (n = 6), 7.6 and 7.8 (n = 21)."""
    graph = chain(n)
    ones = {
        name: np.array([method.fit(graph, float(e)).outputs[:, 1] for e in epsilons])
        for name, method in (("response", RandomizedResponse()), ("smooth", SmoothOneBit()))
    }
    at_mark = {
        name: method.fit(graph, MARK)
        for name, method in (
            ("response", RandomizedResponse()),
            ("cluster", OneBitCluster()),
            ("smooth", SmoothOneBit()),
        )
    }
    spread = {name: float(_spread(one.outputs[:, 1])) for name, one in at_mark.items()}
    largest = {name: one.largest_corruption for name, one in at_mark.items()}
    near = SmoothOneBit().fit(graph, "0.01").outputs[:, 1]
    figures = "figures 7.5, 7.7" if n == 6 else "figures 7.6, 7.8"
    return Panel(
        f"chain {n}",
        {"epsilon": epsilons, **ones},
        [
            Claim(
                figures,
                f"Bernoulli-Chain-{n}: the outputs of Smooth One Bit spread farther than randomized response's",
                bool((_spread(ones["smooth"]) > _spread(ones["response"])).all()),
                f"spread at epsilon = 0.2: {spread['response']:.4f} and {spread['smooth']:.4f}",
            ),
            Claim(
                figures,
                f"Bernoulli-Chain-{n}: for low epsilon all outputs are close to 1/2",
                float(np.abs(near - 0.5).max()) < 0.06,
                f"Smooth One Bit at epsilon = 0.01: within {np.abs(near - 0.5).max():.4f} of 1/2",
            ),
            Claim(
                "section 7.5.1",
                f"Bernoulli-Chain-{n}: Smooth One Bit flips less than One Bit Cluster, which flips less than "
                "randomized response",
                largest["smooth"] < largest["cluster"] < largest["response"],
                "largest flipping probability at epsilon = 0.2: "
                + ", ".join(f"{largest[name]:.4f}" for name in ("smooth", "cluster", "response")),
            ),
        ],
    )


def categorical(epsilons: np.ndarray) -> Panel:
    """Figures 7.3 and 7.4: the cost of each category (equation 7.9)."""
    graph = ProfileGraph.chain(PROFILES)
    costs = {
        name: np.array([method.fit(graph, float(e)).costs for e in epsilons])
        for name, method in (("response", KRandomizedResponse()), ("smooth", SmoothCategorical()))
    }
    low = {"response": KRandomizedResponse().fit(graph, 0.05), "smooth": SmoothCategorical().fit(graph, 0.05)}
    apart = float(np.ptp(costs["response"], axis=1).max())
    p = graph.probabilities
    # how much a category says about neighbors in the chain: its largest log-ratio over the edges
    tells = np.abs(np.log(p[:-1] / p[1:])).max(axis=0)
    order = np.argsort(tells)
    rising = np.diff(costs["smooth"][:, order], axis=1)
    at = int(np.abs(epsilons - 0.5).argmin())
    shown = ", ".join(f"{v:.4f}" for v in costs["smooth"][at][order])
    return Panel(
        "categorical",
        {"epsilon": epsilons, **costs},
        [
            Claim(
                "figure 7.3",
                "under K-ary randomized response the curves of all 4 categories overlap",
                apart < 1e-12,
                f"largest distance {apart:.0e}",
            ),
            Claim(
                "figure 7.4",
                "Smooth Categorical costs every category less, for epsilon from 0.1 on",
                bool((costs["smooth"] < costs["response"])[epsilons > 0.099].all()),
                f"at epsilon = {epsilons[at]:g}: {costs['smooth'][at].max():.4f} at most, "
                f"{costs['response'][at].max():.4f} under randomized response",
            ),
            Claim(
                "program 7.7",
                "it makes corruption small, not the cost (7.9): at epsilon = 0.05 the most telling category costs more",
                bool(low["smooth"].costs[order[-1]] > low["response"].costs[order[-1]])
                and low["smooth"].largest_corruption < low["response"].largest_corruption,
                f"cost {low['smooth'].costs[order[-1]]:.4f}, {low['response'].costs[order[-1]]:.4f} under randomized "
                f"response; largest corruption {low['smooth'].largest_corruption:.4f} and "
                f"{low['response'].largest_corruption:.4f}",
            ),
            Claim(
                "figure 7.4",
                "categories that say less about the profile cost less",
                bool((rising > -PRECISION).all()) and bool((rising[at].sum()) > 0.01),
                f"costs at epsilon = {epsilons[at]:g}, from the least telling category on: {shown}",
            ),
        ],
    )

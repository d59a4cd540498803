"""Section 7.4 and theorem 26: several reports, further processing, and local privacy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from common.claim import Claim, Panel

from discreet.errors import UsageError
from discreet.profiles import (
    FittedMechanism,
    KRandomizedResponse,
    ProfileGraph,
    SmoothCategorical,
    audit,
    compose,
)

#: One profile observes a fair bit, the other mostly 1.
PAIR = {"fair": "1/2", "mostly": "9/10"}
SLACK = 1e-9


def _loss(distributions: np.ndarray) -> float:
    """Return the largest log-ratio of two distributions, over what at least one of them gives."""
    first, second = distributions[:, distributions.max(axis=0) > 0]
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(first) - np.log(second)).max())


def _pairs(fitted: FittedMechanism, reused: bool) -> np.ndarray:
    """Return the joint distribution of two reports for each profile: of one observation, or of two."""
    out = []
    for p, a in zip(fitted.graph.probabilities, fitted.matrices, strict=True):
        out.append((np.einsum("x,xy,xz->yz", p, a, a) if reused else np.outer(p @ a, p @ a)).ravel())
    return np.array(out)


def composition(epsilons: np.ndarray) -> Panel:
    """Figure 7.1: what two reports of one person cost."""
    graph = ProfileGraph.chain(PAIR)
    fitted = [SmoothCategorical("expected").fit(graph, float(e)) for e in epsilons]
    fresh = np.array([_loss(_pairs(one, reused=False)) for one in fitted])
    reused = np.array([_loss(_pairs(one, reused=True)) for one in fitted])
    bound = np.array([float(compose(one, one).epsilon) for one in fitted])
    refused = 0
    for options in ({"observations": "reused"}, {"people": "dependent"}):
        try:
            compose(fitted[0], fitted[0], **options)  # pyright: ignore[reportArgumentType]
        except UsageError:
            refused += 1
    parallel = compose(fitted[0], fitted[-1], people="independent").epsilon
    other = np.array([0.3, 0.7]) @ fitted[-1].outputs
    # what the first person's report and another's, whose profile was drawn independently, say about the first
    given = np.array([np.outer(one, other).ravel() for one in fitted[0].outputs])
    return Panel(
        "composition",
        # JSON knows no infinity
        {"epsilon": epsilons, "bound": bound, "fresh": fresh, "reused": np.minimum(reused, 99)},
        [
            Claim(
                "observation 8",
                "reports of two independent observations cost the sum, and no less in the worst case",
                bool((fresh <= bound + SLACK).all()) and float((fresh / bound).max()) > 0.999,
                f"two reports at epsilon = {epsilons[0]:g}: {fresh[0]:.4f}",
            ),
            Claim(
                "observation 9",
                "reports of two people whose profiles were chosen independently cost the larger of the two",
                parallel == Fraction(repr(float(epsilons[-1]))) and _loss(given) <= epsilons[0] + SLACK,
                f"epsilon = {epsilons[0]:g} and {epsilons[-1]:g}: about the first person {_loss(given):.4f}",
            ),
            Claim(
                "observation 13",
                "two reports of one observation can cost far more than the sum; composition is refused",
                bool((reused > 1.5 * bound)[: len(epsilons) // 3].all()) and refused == 2,
                f"two reports at epsilon = {epsilons[0]:g}: {reused[0]:.1f} where the sum is {bound[0]:g}",
            ),
        ],
    )


def processing(rng: np.random.Generator, n: int) -> Panel:
    """Observation 7 and theorem 26, on random graphs."""
    worst, grown = 0.0, -np.inf
    epsilon = 0.5
    for _ in range(n):
        d = int(rng.integers(2, 6))
        distributions = rng.dirichlet(np.full(d, rng.choice([0.1, 1.0])), int(rng.integers(2, 6)))
        graph = ProfileGraph.complete(dict(enumerate(distributions)))
        worst = max(worst, KRandomizedResponse().fit(graph, epsilon).audit().epsilon)
        fitted = SmoothCategorical().fit(graph, epsilon)
        after = rng.dirichlet(np.ones(3), d)
        processed = audit({name: fitted.matrix(name) @ after for name in graph.profiles}, graph)
        grown = max(grown, processed.epsilon - fitted.audit().epsilon)
    return Panel(
        "processing",
        {"worst": worst, "grown": grown},
        [
            Claim(
                "theorem 26",
                "what is locally private honors every graph of profiles",
                0.4 < worst <= epsilon * (1 + 1e-11),
                f"K-ary randomized response at epsilon = 0.5 on {n} random graphs: at most {worst:.4f}",
            ),
            Claim(
                "observation 7",
                "further processing of reports costs nothing",
                grown <= SLACK,
                f"{n} random graphs and kernels: the loss changes by {grown:.2g} at most",
            ),
        ],
    )

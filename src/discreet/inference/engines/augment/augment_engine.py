"""The augment engine: Markov chains over latent records, exact for every number of records.

Each chain holds a whole latent table, so a draw costs time in proportion to the number of records. For families with
few records, and those no exact engine reads; the number of records must be public. The moves are in
:mod:`discreet.inference.engines.augment.chain`.

References
----------
Ju, Awan, Gong, Rao (2022), "Data augmentation MCMC for Bayesian inference from privatized data", NeurIPS 35.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from discreet.artifact import Release
from discreet.inference.diagnostics import bulk_ess
from discreet.inference.engine import Answer, Engine, Question, spend

if TYPE_CHECKING:
    from discreet.inference.engines.augment.chain import Chain
    from discreet.inference.engines.augment.mode_jumps import ModeJumps

# From so many records on the central limit of gibbs is as good, in a fraction of the time.
_MANY_RECORDS = 1000
# A table larger than this takes minutes.
_MOST_RECORDS = 20_000
_MOST_NUMBERS = 4_000_000
# Sweeps of warm-up, in rounds; it ends when a round is long beside the autocorrelation time.
_WARM_UP = (200, 200, 400, 800, 1600)
_LONG = 20
# Draws should be worth this many independent ones, or be nearly independent if they are fewer.
_WORTH = 1000
# Worth less than this share of that, they are drawn again with more sweeps in between.
_POOR = 0.25
# Sweeps between two draws, and predicted seconds of them all, at most.
_MOST_THINNING = 50
_PATIENCE = 60.0
# Fewer draws in a chain say nothing about its autocorrelation.
_FEW = 20
# Blocks that are accepted less often are too wide.
_ACCEPTANCE = 0.25

# Fewer jumps between far modes than this leave their weights uncertain.
_LEAST_JUMPS = 50

_ONE_MODE = "values that were redacted can make a second mode far away, and the chains seldom or never leapt that far: "
_COMPARE = "compare with engine='gibbs'"
_NO_JUMPS = (
    "engine='gibbs' would show it but does not read this release, so compare a few calls with different rng"
)
_BEYOND = (
    "the prior puts weight on parameters whose records exceed 1e90, and is cut off there; "
    "use a prior that says more"
)


def refusal(release: Release) -> str | None:
    """Return why this engine cannot read the release, or None if it can."""
    family, n = release.family, release.records
    if n is None:
        return "the number of records is private, and the augment engine holds each of them"
    if not family.can_sample:
        return f"{family.name} does not say how to draw records"
    if n > _MOST_RECORDS or n * 2 * len(release.totals.values) > _MOST_NUMBERS:
        return f"the augment engine holds every record, and {n:,} are too many"
    return None


def may_have_far_modes(release: Release) -> bool:
    """Whether a far mode is likely: of a parameter that would put most values out of range, to be redacted."""
    return release.domain.outside == "redact" and release.domain.bounds is not None


def predicted_seconds(question: Question) -> float:
    """Return roughly how long the draws take, from times measured on one core.

    The autocorrelation time is not known in advance; it is mostly between 1 and 20.
    """
    sweeps = 2 * sum(_WARM_UP[:2]) * question.chains + max(question.size, 8 * min(question.size, _WORTH))
    # a jump draws all records, as a sweep does
    return 0.5 + sweeps * _seconds_a_sweep(question.release) * (1 + may_have_far_modes(question.release))


def _seconds_a_sweep(release: Release) -> float:
    # parameters are drawn twice a sweep
    drawn = 1.5e-4 + 2 * release.family.seconds_to_draw
    return drawn + (release.records or 0) * (6e-8 + 1.2e-8 * len(release.totals.values))


def draw(question: Question) -> Answer:
    """Draw from the posterior by Markov chains.

    Warm-up is discarded. Sweeps between draws follow the autocorrelation time that it showed. Should the draws show a
    longer one, as they do when a far mode is found late, they become warm-up too.
    """
    # numba takes half a second to import
    from discreet.inference.engines.augment.chain import Chain, LatentTarget, starting_points

    target = LatentTarget.of(question)
    starts = starting_points(question)
    jumps = _jumps(question)
    chains = [Chain(target, starts, question.rng, jumps) for _ in range(question.chains)]
    # chains count what they do: the autocorrelation time decides, and nobody knows it beforehand
    a_sweep = _seconds_a_sweep(question.release) * question.release.family.n_columns**2
    weights, time = _warm_up(chains, a_sweep)
    size, wanted = question.size, min(_WORTH, question.size)
    most = int(_PATIENCE / (size * _seconds_a_sweep(question.release)))
    most = max(1, min(most, _MOST_THINNING))
    while True:
        thinning = ceil(min(time * wanted / size, most))
        traces = [_run(chain, size // question.chains, thinning, weights, a_sweep) for chain in chains]
        effective = _effective(traces)
        if effective >= _POOR * wanted or thinning == most:
            break
        time = thinning * size / min(effective, wanted / 2)
    draws = {name: np.concatenate([trace[name] for trace in traces]) for name in traces[0]}
    warnings = []
    if effective < _POOR * wanted:
        warnings.append(
            f"the latent records mix slowly: {size} draws, {thinning} sweeps apart, are worth about {effective:.0f} "
            "independent ones; ask for more draws, or use another engine"
        )
    if may_have_far_modes(question.release) and sum(chain.jumps for chain in chains) < _LEAST_JUMPS:
        warnings.append(_ONE_MODE + (_NO_JUMPS if jumps is None else _COMPARE))
    if any(chain.beyond for chain in chains):
        warnings.append(_BEYOND)
    return Answer(draws, "none", tuple(warnings), independent=False)


def _jumps(question: Question) -> ModeJumps | None:
    """Return the jumps between modes, where there may be several and an approximate posterior can be had."""
    from discreet.inference.engines.augment.mode_jumps import ModeJumps
    from discreet.inference.engines.gibbs import gibbs_engine

    if not may_have_far_modes(question.release) or gibbs_engine.refusal(question.release) is not None:
        return None
    return ModeJumps.of(question)


def _warm_up(chains: list[Chain], a_sweep: float = 0.0) -> tuple[np.ndarray, float]:
    """Run until the chains forget where they started; return the weights of blocks, and the autocorrelation time."""
    weights = np.ones(chains[0].blocks.shape[1])
    time = np.inf
    for i, length in enumerate(_WARM_UP):
        traces = [_run(chain, length, 1, weights, a_sweep) for chain in chains]
        weights = _weights(np.sum([chain.blocks for chain in chains], axis=0))
        if i > 0:
            time = _autocorrelation_time(traces)
            if length >= _LONG * time:
                break
    return weights, time


def _weights(blocks: np.ndarray) -> np.ndarray:
    """Return how often to offer each block: all up to the first that is accepted often enough, and one beyond.

    Wide ones, though seldom accepted, jump between far modes, and cross regions where the noise says little.
    """
    offered, accepted = blocks
    rate = (accepted + 0.5) / (offered + 1)
    often = np.flatnonzero(rate >= _ACCEPTANCE)
    best = int(often[0]) if often.size else int(np.argmax(rate))
    # those beyond are still offered now and then, in case the warm-up was misled
    weights = np.full(rate.size, 0.02)
    weights[: best + 2] += 1 / (best + 1)
    return weights


def _run(
    chain: Chain, size: int, thinning: int, weights: np.ndarray, a_sweep: float = 0.0
) -> dict[str, np.ndarray]:
    """Return ``size`` parameters, ``thinning`` sweeps apart; a sweep takes some ``a_sweep`` seconds."""
    levels = np.cumsum(weights) / weights.sum()
    rows = []
    for _ in range(size):
        spend(thinning * a_sweep)
        for _ in range(thinning - 1):
            chain.step(levels)
        rows.append(chain.step(levels))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _autocorrelation_time(traces: list[dict[str, np.ndarray]]) -> float:
    """Return the longest integrated autocorrelation time of a component, in steps of the traces."""
    n_steps = len(traces) * len(next(iter(traces[0].values())))
    return max(1.0, n_steps / _effective(traces))


def _effective(traces: list[dict[str, np.ndarray]]) -> float:
    """Return the least effective sample size of a component; of too few draws to tell, their number."""
    each = len(next(iter(traces[0].values())))
    if each < _FEW:
        return float(len(traces) * each)
    sizes = [float(np.min(bulk_ess(np.stack([trace[name] for trace in traces])))) for name in traces[0]]
    # a component that never moves has none
    return float(np.nan_to_num(np.min(sizes), nan=1.0))


def reluctance(release: Release) -> str | None:
    """Say if latent records are slow where the central limit is calibrated: between far modes, or by their number."""
    from discreet.inference.engines.gibbs import gibbs_engine

    n = release.records
    if n is None or n < gibbs_engine.LEAST_RECORDS or gibbs_engine.refusal(release) is not None:
        return None
    if may_have_far_modes(release):
        return "can be slow between far modes, and there are enough records for gibbs"
    return "takes seconds, and there are enough records for gibbs" if n >= _MANY_RECORDS else None


AUGMENT = Engine("augment", refusal, draw, predicted_seconds, reluctance, foretold=True)

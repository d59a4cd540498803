"""One trial of a calibration: a parameter from the prior, rows, a release, a posterior, and the rank of the parameter.

Everything runs through the code of a real release and a real reading; only the noise or the
samples (and bounds, if they are to be bought) come from a seeded sampler of the same distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.curator.publish import sample_with
from discreet.domain.declarations import Missing, Neighbors, Outside
from discreet.errors import EngineError, UsageError
from discreet.families import Likelihood
from discreet.inference.analyst import infer
from discreet.inference.engines.registry import EngineName as Engine
from discreet.inference.missing_prior import missing_prior
from discreet.inference.posterior import Posterior
from discreet.inference.record_prior import RecordPrior, record_prior
from discreet.mechanisms.base import Mechanism, RandomSource
from discreet.priors import Prior
from discreet.validation.ranks import rank

#: Chains are run for at least this many draws, and thinned: ranks among draws that hang together are not uniform.
CHAIN_DRAWS = 1000
_CHAINS = 4
# A chain is run for this many times the draws that are kept.
_THINNING = 10


@dataclass(frozen=True)
class Setting:
    """What every trial of a calibration has in common."""

    model: Likelihood
    prior: Prior
    mechanism: Mechanism
    n: int
    engine: Engine = "auto"
    bounds: Any = None
    outside: Outside = "clip"
    missing: Missing = "none"
    neighbors: Neighbors = "replace"
    #: Prior on a private record count, as ``infer`` takes it; None where the count is public.
    records: Any = None
    n_draws: int = 99
    #: Whether the engine is known to run chains, so that many draws must be asked for at once.
    chained: bool = False


@dataclass(frozen=True)
class Trial:
    """The rank of each scalar in (0, 1), what was promised, who read it, and how many draws were effective."""

    ranks: Mapping[str, float]
    guarantee: str
    engine: str
    independent: bool
    effective: float


def run_trial(setting: Setting, seed: np.random.SeedSequence) -> Trial:
    """Run one trial, which depends on nothing but its arguments."""
    rng = np.random.default_rng(seed)
    model = setting.model
    theta = {name: np.asarray(value)[0] for name, value in model.draw(setting.prior, 1, rng).items()}
    rows = _rows(setting, theta, rng)
    release = sample_with(
        replace(RandomSource.seeded(rng), permute_and_flip=lambda distribution: distribution.sample(rng)),
        rows,
        model,
        setting.mechanism,
        bounds=setting.bounds,
        outside=setting.outside,
        missing=setting.missing,
        neighbors=setting.neighbors,
    )
    # released samples that are handed on as they are take no prior
    prior = None if setting.engine == "naive" and release.samples is not None else setting.prior

    def read(size: int, chains: int) -> Posterior:
        return infer(
            release,
            prior=prior,
            engine=setting.engine,
            draws=size,
            chains=chains,
            records=setting.records,
            rng=rng,
        )

    posterior = None if setting.chained else read(setting.n_draws, 1)
    if setting.engine != "naive" and posterior is not None and posterior.diagnostics.engine == "samples":
        raise UsageError("no engine reads such samples: they are handed on as they are.")
    # auto may choose a chain for this release though it chose none for another
    if posterior is None or not posterior.diagnostics.independent:
        per_chain = max(CHAIN_DRAWS, _THINNING * setting.n_draws) // _CHAINS
        posterior = read(_CHAINS * per_chain, _CHAINS)
    how = posterior.diagnostics
    effective = min(float(np.min(size)) for size in how.ess.values())
    return Trial(
        _ranks(theta, posterior, setting.n_draws, rng),
        release.guarantee.describe(),
        how.engine,
        how.independent,
        effective if np.isfinite(effective) else 0.0,
    )


def _rows(setting: Setting, theta: Mapping[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Draw rows; a private count, or the count of usable rows, first and from the prior that inference has on it."""
    if setting.neighbors == "add_remove":
        # the usable count is what is released, so rows without a value would change nothing
        return setting.model.sample(theta, draw_count(record_prior(setting.records), rng), rng)
    rows = setting.model.sample(theta, setting.n, rng)
    if setting.missing == "none":
        return rows
    usable = setting.n - missing_prior(None, setting.n).sample(rng)
    gone = np.zeros(rows.shape, dtype=bool)
    gone[usable:] = True
    return np.ma.array(rows, mask=gone)


def draw_count(prior: RecordPrior, rng: np.random.Generator) -> int:
    """Draw a record count from a proper prior."""
    assert prior.high is not None
    if prior.weights is None:
        return int(rng.integers(prior.low, prior.high + 1))
    return prior.low + int(rng.choice(len(prior.weights), p=prior.weights / prior.weights.sum()))


def _ranks(
    theta: Mapping[str, np.ndarray], posterior: Posterior, size: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the rank of each scalar of theta among ``size`` of the draws, evenly spread over the chains."""
    kept = np.linspace(0, posterior.n_draws - 1, min(size, posterior.n_draws)).round().astype(int)
    # the truth goes first, so that both are taken apart under the same names
    joined = {
        name: np.concatenate([np.asarray(theta[name], dtype=float)[None], draws[kept]])
        for name, draws in posterior.draws.items()
        # what is drawn beside the parameters, such as moments of the column as clipped, has no truth here
        if name in theta
    }
    labels = {name: words for name, words in (posterior.labels or {}).items() if name in joined}
    together = Posterior(joined, posterior.how, labels=labels).scalars()
    for name, values in together.items():
        if not np.isfinite(values[1:]).all():
            raise EngineError(
                f"the {posterior.diagnostics.engine} engine returned draws of {name} that are not finite."
            )
    return {name: rank(values[0], values[1:], rng) for name, values in together.items()}

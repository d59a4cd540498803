"""The posterior of a mixture given the noisy counts of all combinations of its labels."""

from __future__ import annotations

from functools import partial
from itertools import islice

import numpy as np

from discreet.artifact import Release
from discreet.inference.engine import Answer, Engine, Question
from discreet.inference.missing_prior import BETA_WORDS
from discreet.inference.models.mixture_sampler import MixtureCells, by_weight, sample_mixture
from discreet.models.mixture import WEIGHTS, Mixture

#: Sweeps that every chain forgets, at least.
_LEAST_BURN_IN = 300
# A sweep touches every cell for every component and chain; more would take hours.
_MOST_CELLS = 50_000


def _refusal(release: Release) -> str | None:
    """Say why the chain does not apply, or return None."""
    if release.records is None:
        return "the number of records is private, and the chain needs a public one"
    return _too_large(release)


def _too_large(release: Release) -> str | None:
    many = len(release.totals.values) > _MOST_CELLS
    return f"the table has more than {_MOST_CELLS} cells" if many else None


def draw(question: Question, *, aware: bool = True) -> Answer:
    """Draw from the posterior: with the noise's distribution (``gibbs``), or as if there were none (``naive``)."""
    question.refuse_missing()
    release = question.release
    model = release.model.require(Mixture, "this engine reads mixtures")
    cells = MixtureCells(model.components, model.sizes, missing=release.domain.missing == "count")
    values = np.array([int(value) for value in release.totals.values], dtype=np.int64)
    # all cells are of one table, so they have one distribution
    noise = release.noise[0]
    per_chain = question.size // question.chains
    burn_in = max(_LEAST_BURN_IN, per_chain // 2)
    sampler = sample_mixture(
        cells,
        values,
        noise.log_mass if aware else None,
        noise.sd,
        int(np.maximum(values, 0).sum()) if release.records is None else release.records,
        chains=question.chains,
        weight_prior=question.prior[WEIGHTS],
        label_prior=[question.prior[column.name] for column in model.columns],
        rng=question.rng,
    )
    kept = [by_weight(one) for one in islice(sampler, burn_in, burn_in + per_chain)]
    draws = {WEIGHTS: _chain_after_chain([one.weights for one in kept])}
    for d, column in enumerate(model.columns):
        draws[column.name] = _chain_after_chain([one.tables[d] for one in kept])
    how = "none" if aware else "the noise is ignored: negative counts are taken for 0, and the rest for true"
    warnings = ["the components have no names: in every draw they are numbered by weight, largest first"]
    missing = f"of any label of a record: {BETA_WORDS}" if cells.missing and aware else ""
    return Answer(draws, how, tuple(warnings), independent=False, missing=missing)


def _chain_after_chain(states: list[np.ndarray]) -> np.ndarray:
    """Put sweeps of all chains in the order of a posterior: one chain after the other."""
    stacked = np.stack(states, axis=1)
    return stacked.reshape(-1, *stacked.shape[2:])


GIBBS = Engine("gibbs", _refusal, draw)
NAIVE = Engine("naive", _too_large, partial(draw, aware=False), automatic=False)

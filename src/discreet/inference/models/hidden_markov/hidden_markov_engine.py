"""Hidden Markov models: what the dispatcher needs to know, and draws from a release.

``gibbs`` reads the release as what it is: latent tables of counts behind noise, exact in the limit of many iterations.
``naive`` takes noisy counts, clipped at zero, for true ones, as the paper does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.missing_prior import LABEL_WORDS, MISSING_WEIGHT
from discreet.models.hidden_markov import HiddenMarkov

# Iterations before draws are kept, and for each kept draw.
_BURN_IN = {"gibbs": 2500, "naive": 300}
_THIN = {"gibbs": 8, "naive": 1}
# R-hat up to which chains agree, and the share of parameters for which it may be above: labels that hardly occur.
_R_HAT_LIMIT, _FEW = 1.1, 0.1


def draw(question: Question, engine: str = "gibbs") -> Answer:
    """Draw states and parameters; states are named alike in all draws."""
    # numba takes half a second to import
    from discreet.inference.models.hidden_markov.reading import read_cells, read_noise
    from discreet.inference.models.hidden_markov.relabel import relabel
    from discreet.inference.models.hidden_markov.sampler import sample

    question.refuse_missing()
    release = question.release
    model = release.model.require(HiddenMarkov, "this engine reads hidden Markov models")
    cells = read_cells(release, model)
    # the last level of a feature stands for missing values, where they are counted; few are expected
    counted = release.domain.missing == "count"
    beta = np.full(sum(cells.sizes), float(question.prior.emission))
    if counted:
        beta[cells.starts[1:] - 1] = MISSING_WEIGHT
    noisy = read_noise(release, cells, question.records) if engine == "gibbs" else None
    drawn = relabel(
        sample(
            model.states,
            cells if noisy is not None else cells.clipped(),
            noisy=noisy,
            draws=question.size // question.chains,
            burn_in=_BURN_IN[engine],
            thin=_THIN[engine],
            chains=question.chains,
            alpha=question.prior.transition,
            beta=beta,
            rng=question.rng,
        )
    )
    size = question.size
    emission = drawn.emission.reshape(size, model.states, -1)
    out = {}
    for feature, begin in zip(model.features, cells.starts, strict=False):
        # a level for missing values says nothing about the labels
        p = emission[..., begin : begin + feature.n_labels]
        out[feature.name] = p / p.sum(axis=-1, keepdims=True)
    out["transition"] = drawn.transition.reshape(size, model.states + 1, model.states)
    # numbered from 1, as they are named
    out["states"] = drawn.states.reshape(size, model.n_sequences, model.time.n_labels) + 1
    if engine == "naive":
        warning = "noise is ignored, so this posterior is over-confident; use it for comparison only"
        return Answer(out, "noise ignored", (warning,), independent=False)
    missing = LABEL_WORDS if counted else ""
    return Answer(out, warnings=_chain_warnings(out, question.chains), independent=False, missing=missing)


def _chain_warnings(draws: Mapping[str, np.ndarray], chains: int) -> tuple[str, ...]:
    """Say so if chains disagree on more than a few of the probabilities."""
    from discreet.inference.diagnostics import Diagnostics

    kept = {name: x for name, x in draws.items() if name != "states"}
    split = {name: x.reshape(chains, -1, *x.shape[1:]) for name, x in kept.items()}
    found = np.concatenate([np.ravel(value) for value in Diagnostics("gibbs", chains=split).r_hat.values()])
    known = found[np.isfinite(found)]
    if not known.size or np.quantile(known, 1 - _FEW) <= _R_HAT_LIMIT:
        return ()
    return (
        f"chains disagree (R-hat is above {_R_HAT_LIMIT} for {100 * np.mean(known > _R_HAT_LIMIT):.0f}% of the "
        "probabilities): ask for more draws, or for fewer states",
    )


GIBBS = Engine("gibbs", reads_all, draw)
NAIVE = Engine("naive", reads_all, partial(draw, engine="naive"), automatic=False)

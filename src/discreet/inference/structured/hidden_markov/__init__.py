"""Hidden Markov models: what the dispatcher needs to know, and draws from a release.

``gibbs`` reads the release as what it is: latent tables of counts behind noise, exact in the limit of many iterations.
``naive`` takes noisy counts, clipped at zero, for true ones, as the paper does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.inference.engine import Answer, Question
from discreet.models.hidden_markov import HiddenMarkov

#: Most exact first.
ENGINES = ("gibbs", "naive")
# Iterations before draws are kept, and for each kept draw.
_BURN_IN = {"gibbs": 2500, "naive": 300}
_THIN = {"gibbs": 8, "naive": 1}
# R-hat up to which chains agree, and the share of parameters for which it may be above: labels that hardly occur.
_R_HAT_LIMIT, _FEW = 1.1, 0.1


@dataclass(frozen=True)
class Concentrations:
    """Symmetric Dirichlet priors: of every row of transition probabilities, and of every emission."""

    transition: float = 1.0
    emission: float = 1.0


def refusal(release: Release, engine: str) -> str | None:
    """Return None: both engines read every release of noisy tables."""
    return None


def read_prior(model: HiddenMarkov, prior: Any) -> Concentrations:
    """Read ``infer(prior=...)``: None, one number for both, or by name: ``{"transition": 1, "emission": 0.5}``."""
    known = ("transition", "emission")
    if prior is None:
        return Concentrations()
    if isinstance(prior, int | float):
        prior = dict.fromkeys(known, prior)
    if not isinstance(prior, Mapping) or not set(prior) <= set(known):
        raise UsageError(
            "the prior of a hidden Markov model is the concentrations of its Dirichlet laws.",
            hint='for example prior={"transition": 1, "emission": 0.5}',
        )
    for name, value in prior.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-3 <= value <= 1e6:
            raise UsageError(
                f"the concentration of {name} must lie between 0.001 and 1e6, got {value!r:.40}."
            )
    return Concentrations(**{name: float(value) for name, value in prior.items()})


def draw(question: Question, engine: str) -> Answer:
    """Draw states and parameters; states are named alike in all draws."""
    # numba takes half a second to import
    from discreet.inference.structured.hidden_markov.reading import read_cells, read_noise
    from discreet.inference.structured.hidden_markov.relabel import relabel
    from discreet.inference.structured.hidden_markov.sampler import sample

    release = question.release
    model = release.model
    assert isinstance(model, HiddenMarkov)
    cells = read_cells(release, model)
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
            beta=question.prior.emission,
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
    return Answer(out, warnings=_doubts(out, question.chains), independent=False)


def _doubts(draws: Mapping[str, np.ndarray], chains: int) -> tuple[str, ...]:
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

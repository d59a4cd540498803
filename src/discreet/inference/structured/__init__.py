"""Inference for models of several columns: one module for each, from a closed list.

A module offers ``ENGINES``, the engines it has, most exact first; ``refusal(release, engine)``, why an engine does not
apply, or None; ``read_prior(model, prior)``, which checks what the analyst gave; and ``draw(question, engine)``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np

from discreet.artifact import Release
from discreet.errors import EngineError
from discreet.inference import sampled
from discreet.inference.choice import REASONABLE
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.engine import Answer, Question, about
from discreet.inference.records import RecordPrior
from discreet.inference.structured.posterior import ModelPosterior
from discreet.inference.work import LONG, allowed
from discreet.models.base import Model

#: Where each model's engines are, by the model's name.
MODULES: dict[str, str] = {
    "bayesian_network": "discreet.inference.structured.network",
    "hidden_markov": "discreet.inference.structured.hidden_markov",
    "markov_chain": "discreet.inference.structured.markov",
    "mixture": "discreet.inference.structured.mixture",
    "naive_bayes": "discreet.inference.structured.naive_bayes",
}


class _Module(Protocol):
    """What a model's module offers."""

    ENGINES: tuple[str, ...]

    def refusal(self, release: Release, engine: str) -> str | None: ...
    def read_prior(self, model: Model, prior: Any) -> Any: ...
    def draw(self, question: Question, engine: str) -> Answer: ...


def infer_structured(
    release: Release,
    prior: Any,
    engine: str,
    draws: int,
    chains: int,
    records: RecordPrior,
    rng: np.random.Generator,
) -> ModelPosterior:
    """Return the posterior of a model's parameters given a release of it."""
    model = release.model
    assert isinstance(model, Model)
    if release.samples is not None:
        sampled.check(engine, prior, None if records == RecordPrior() else records)
        answer = sampled.answer(release)
        how = Diagnostics(
            "samples",
            answer.approximation,
            "the release holds samples",
            answer.warnings,
            independent=answer.independent,
        )
        return ModelPosterior(
            answer.draws, how, labels=_labels(model, answer), about=about(release), model=model
        )
    if model.name not in MODULES:
        raise EngineError(f"no engine reads noisy counts of {model.name}.")
    module = cast(_Module, import_module(MODULES[model.name]))
    name, reason = _chosen(module, release, engine)
    question = Question(release, module.read_prior(model, prior), records, draws, chains, rng)
    with allowed(REASONABLE if engine == "auto" else LONG):
        answer = module.draw(question, name)
    how = Diagnostics(name, answer.approximation, reason, answer.warnings, independent=answer.independent)
    return ModelPosterior(
        answer.draws, how, n_chains=chains, labels=_labels(model, answer), about=about(release), model=model
    )


def _chosen(module: _Module, release: Release, engine: str) -> tuple[str, str]:
    """Return the engine to use and why; ``auto`` takes the most exact one, and never the naive one."""
    names = [name for name in module.ENGINES if name != "naive"] if engine == "auto" else [engine]
    passed_over = []
    for name in names:
        refusal = (
            module.refusal(release, name)
            if name in module.ENGINES
            else f"{release.model.name} has {', '.join(module.ENGINES)}"
        )
        if refusal is None:
            best = f"{name} is the most exact engine that applies"
            return name, "; ".join([*passed_over, best]) if engine == "auto" else "asked for"
        passed_over.append(f"{name} does not apply: {refusal}")
    hint = "use engine='auto'" if engine != "auto" else "to compare, ignoring the noise: engine='naive'"
    raise EngineError("; ".join(passed_over) + ".", hint=hint)


def _labels(model: Model, answer: Answer) -> dict[str, Any]:
    """Return the labels along the axes of the draws, where the model knows them."""
    axes = getattr(model, "axis_labels", dict)()
    return {name: words for name, words in axes.items() if name in answer.draws}

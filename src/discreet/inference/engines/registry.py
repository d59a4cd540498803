"""Engines by model, and which one answers a question, and why."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Literal

from discreet.artifact import Release
from discreet.errors import EngineError
from discreet.inference.engine import Engine, Question

EngineName = Literal["auto", "exact", "augment", "gibbs", "plain", "naive"]

#: Seconds that ``auto`` is willing to spend on a more exact engine.
REASONABLE = 20.0

#: The engines of each kind of model, by the name that a model gives in ``engines``, as ``module:name``: most exact
#: first. They are imported when they are needed, because some bring a compiler along.
ENGINES: dict[str, tuple[str, ...]] = {
    "family": (
        "discreet.inference.engines.exact:EXACT",
        "discreet.inference.engines.augment.augment_engine:AUGMENT",
        "discreet.inference.engines.gibbs.gibbs_engine:GIBBS",
        "discreet.inference.engines.gibbs.plain:PLAIN",
        "discreet.inference.engines.naive:NAIVE",
    ),
    "hidden_markov": (
        "discreet.inference.models.hidden_markov.hidden_markov_engine:GIBBS",
        "discreet.inference.models.hidden_markov.hidden_markov_engine:NAIVE",
    ),
    "markov_chain": ("discreet.inference.models.markov:EXACT", "discreet.inference.models.markov:NAIVE"),
    "mixture": ("discreet.inference.models.mixture:GIBBS", "discreet.inference.models.mixture:NAIVE"),
    "naive_bayes": (
        "discreet.inference.models.naive_bayes:EXACT",
        "discreet.inference.models.naive_bayes:GIBBS",
        "discreet.inference.models.naive_bayes:NAIVE",
    ),
    "network": (
        "discreet.inference.models.network.network_engine:GIBBS",
        "discreet.inference.models.network.network_engine:NAIVE",
    ),
    "none": (),
}


@cache
def _load(place: str) -> Engine:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def applicable(release: Release, name: EngineName) -> tuple[list[Engine], list[str]]:
    """Return the engines that read the release, the one asked for or all automatic ones; and why others do not."""
    places = ENGINES[release.model.engines]
    if not places:
        raise EngineError(f"no engine reads noisy counts of {release.model.name}.")
    found: list[Engine] = []
    reasons: list[str] = []
    for place in places:
        engine = _load(place)
        if engine.automatic if name == "auto" else engine.name == name:
            refusal = engine.refusal(release)
            if refusal is None:
                found.append(engine)
                if name != "auto":
                    return found, reasons
            else:
                reasons.append(f"{engine.name} does not apply: {refusal}")
    if found:
        return found, reasons
    known = [_load(place) for place in places]
    if not reasons:
        reasons = [f"{name} does not apply: {release.model.name} has {', '.join(one.name for one in known)}"]
    others = name != "auto" and any(one.automatic and one.refusal(release) is None for one in known)
    hint = (
        "use engine='auto', which takes one that does"
        if others
        else "to compare, ignoring the noise: engine='naive'"
    )
    raise EngineError("; ".join(reasons) + ".", hint=hint)


def choose(engines: list[Engine], reasons: list[str], question: Question) -> tuple[Engine, str]:
    """Return the most exact of the engines whose predicted cost is reasonable, and the reason."""
    passed_over = list(reasons)
    slow: list[tuple[float, Engine]] = []
    for engine in engines:
        reluctance = engine.reluctance(question.release)
        if reluctance is not None:
            passed_over.append(f"{engine.name} {reluctance}")
            continue
        seconds = engine.predicted_seconds(question)
        if seconds <= REASONABLE:
            return engine, "; ".join([*passed_over, f"{engine.name} is the most exact engine that applies"])
        passed_over.append(f"{engine.name} would take about {seconds:,.0f} s")
        slow.append((seconds, engine))
    return min(slow, key=lambda one: one[0])[1], "; ".join(passed_over)

"""Engines by model, and which one answers a question, and why."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Literal

from discreet.artifact import Release
from discreet.errors import EngineError, MissingPackageError, OutOfReachError
from discreet.inference.engine import Answer, Engine, Question
from discreet.inference.work import LAST, LONG, NEVER, PATIENCE, TooLong, allowed

EngineName = Literal["auto", "exact", "augment", "gibbs", "plain", "grid", "naive"]

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
        "discreet.inference.models.naive_bayes:GRID",
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


def engines_for(release: Release, name: EngineName) -> Iterator[Engine]:
    """Yield the engine asked for, or all automatic ones, most exact first; each is imported when its turn comes."""
    for place in ENGINES[release.model.engines]:
        engine = _load(place)
        if engine.automatic if name == "auto" else engine.name == name:
            yield engine


def check(release: Release, name: EngineName) -> None:
    """Raise unless this engine (for ``auto``, at least one) reads the release."""
    if not ENGINES[release.model.engines]:
        raise OutOfReachError(f"no engine reads noisy counts of {release.model.name}.")
    reasons = []
    for engine in engines_for(release, name):
        refusal = engine.refusal(release)
        if refusal is None:
            return
        reasons.append(f"{engine.name} does not apply: {refusal}")
    if not reasons:
        known = ", ".join(_load(place).name for place in ENGINES[release.model.engines])
        reasons.append(f"{name} does not apply: {release.model.name} has {known}")
    others = any(engine.refusal(release) is None for engine in engines_for(release, "auto"))
    hint = (
        "use engine='auto', which takes one that does"
        if others
        else "to compare, ignoring the noise: engine='naive'"
    )
    kind = OutOfReachError if name == "auto" else EngineError
    raise kind("; ".join(reasons) + ".", hint=hint)


def ask(question: Question, name: EngineName) -> tuple[str, str, Answer]:
    """Return which engine answers, why, and its answer; under ``auto`` the next one if the first takes too long."""
    engine, reason = choose(question, name)
    _check_cost(question, engine)
    if name != "auto":
        with allowed(LONG):
            return engine.name, reason, engine.draw(question)
    following = _following(question, engine)
    try:
        with allowed(_work(engine, LAST if following is None else PATIENCE)):
            return engine.name, reason, engine.draw(question)
    except TooLong:
        if following is None:
            raise
    with allowed(_work(following, LAST)):
        return following.name, f"{engine.name} would take too long", following.draw(question)


def _work(engine: Engine, seconds: float) -> float:
    """Return how much work an engine may do: chains over records say beforehand that they take some."""
    return 2 * REASONABLE if engine.foretold else seconds


def _following(question: Question, chosen: Engine) -> Engine | None:
    """Return the next automatic engine that reads the release in reasonable time, if there is one."""
    later = False
    for place in ENGINES[question.release.model.engines]:
        if later:
            try:
                engine = _load(place)
            except MissingPackageError:
                continue
            reads = engine.automatic and engine.refusal(question.release) is None
            if reads and engine.predicted_seconds(question) <= REASONABLE:
                return engine
        later = later or _load(place) is chosen
    return None


def _check_cost(question: Question, engine: Engine) -> None:
    """Raise before the work starts if an engine is known to take too long; what it refuses, it says itself."""
    seconds = engine.predicted_seconds(question)
    if LONG < seconds < NEVER:
        raise TooLong(
            f"{engine.name} would take about {seconds:,.0f} s, and no engine does so much work.",
            hint="to compare, ignoring the noise: engine='naive'",
        )


def choose(question: Question, name: EngineName) -> tuple[Engine, str]:
    """Return the engine asked for, or the most exact one whose predicted cost is reasonable; and the reason."""
    passed_over: list[str] = []
    slow: list[tuple[float, Engine]] = []
    for engine in engines_for(question.release, name):
        if name != "auto":
            return engine, "asked for"
        refusal, reluctance = engine.refusal(question.release), engine.reluctance(question.release)
        if refusal is not None or reluctance is not None:
            passed_over.append(
                f"{engine.name} {reluctance if refusal is None else f'does not apply ({refusal})'}"
            )
            continue
        seconds = engine.predicted_seconds(question)
        if seconds <= REASONABLE:
            return engine, "; ".join([*passed_over, f"{engine.name} is the most exact engine that applies"])
        passed_over.append(f"{engine.name} would take about {seconds:,.0f} s")
        slow.append((seconds, engine))
    return min(slow, key=lambda one: one[0])[1], "; ".join(passed_over)

"""Which engine answers a question, and why."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Literal, Protocol, cast

from discreet.artifact import Release
from discreet.errors import EngineError
from discreet.inference.engine import Answer, Question
from discreet.inference.work import LAST, LONG, NEVER, PATIENCE, TooLong, allowed

Engine = Literal["auto", "exact", "augment", "gibbs", "naive"]

#: Seconds that ``auto`` is willing to spend on a more exact engine.
REASONABLE = 20.0

# Most exact first. The last two are imported when they are needed, because they bring a compiler along.
_PREFERENCE = ("exact", "augment", "gibbs")


class _Module(Protocol):
    """What an engine's module offers."""

    def refusal(self, release: Release) -> str | None: ...
    def predicted_seconds(self, question: Question) -> float: ...
    def draw(self, question: Question) -> Answer: ...


@cache
def engine(name: str) -> _Module:
    """Return the module of an engine."""
    return cast(_Module, import_module(f"discreet.inference.{name}"))


def check(name: Engine, release: Release) -> None:
    """Raise unless this engine (for ``auto``, at least one) reads the release."""
    names = _PREFERENCE if name == "auto" else (name,)
    reasons = []
    for each in names:
        reason = engine(each).refusal(release)
        if reason is None:
            return
        reasons.append(f"{each} does not apply: {reason}")
    others = any(engine(each).refusal(release) is None for each in _PREFERENCE)
    hint = (
        "use engine='auto', which takes one that does"
        if others
        else "to compare, ignoring the noise: engine='naive'"
    )
    raise EngineError("; ".join(reasons) + ".", hint=hint)


def answered(question: Question, name: Engine) -> tuple[str, str, Answer]:
    """Return which engine answers, why, and its answer; under ``auto`` the next one if the first takes too long."""
    if name != "auto":
        _check_cost(question, name)
        with allowed(LONG):
            return name, "asked for", engine(name).draw(question)
    chosen, reason = choose(question)
    _check_cost(question, chosen)
    following = _following(question, chosen)
    try:
        with allowed(_work(chosen, LAST if following is None else PATIENCE)):
            return chosen, reason, engine(chosen).draw(question)
    except TooLong:
        if following is None:
            raise
    with allowed(_work(following, LAST)):
        return following, f"{chosen} would take too long", engine(following).draw(question)


def _work(name: str, seconds: float) -> float:
    """Return how much work an engine may do: chains over records say beforehand that they take some."""
    return 2 * REASONABLE if name == "augment" else seconds


def _following(question: Question, chosen: str) -> str | None:
    """Return the next engine that reads the release in reasonable time, if there is one."""
    for name in _PREFERENCE[_PREFERENCE.index(chosen) + 1 :]:
        module = engine(name)
        if module.refusal(question.release) is None and module.predicted_seconds(question) <= REASONABLE:
            return name
    return None


def _check_cost(question: Question, name: str) -> None:
    """Raise before the work starts if an engine is known to take too long; what it refuses, it says itself."""
    seconds = engine(name).predicted_seconds(question)
    if LONG < seconds < NEVER:
        raise TooLong(
            f"{name} would take about {seconds:,.0f} s, and no engine does so much work.",
            hint="to compare, ignoring the noise: engine='naive'",
        )


def choose(question: Question) -> tuple[str, str]:
    """Return the most exact engine whose predicted cost is reasonable, and the reason."""
    passed_over: list[str] = []
    best: tuple[float, str] | None = None
    for name in _PREFERENCE:
        module = engine(name)
        refusal = module.refusal(question.release)
        if refusal is not None:
            passed_over.append(f"{name} does not apply ({refusal})")
            continue
        if name == "augment" and _better_by_gibbs(question.release):
            passed_over.append(
                "augment can be slow between far modes, and there are enough records for gibbs"
            )
            continue
        seconds = module.predicted_seconds(question)
        if seconds <= REASONABLE:
            return name, "; ".join([*passed_over, f"{name} is the most exact engine that applies"])
        passed_over.append(f"{name} would take about {seconds:,.0f} s")
        best = min((seconds, name), best or (seconds, name))
    assert best is not None
    return best[1], "; ".join(passed_over)


def _better_by_gibbs(release: Release) -> bool:
    """Whether latent records may be slow between far modes that the central limit, calibrated here, shows at once."""
    from discreet.inference.augment import may_have_far_modes
    from discreet.inference.gibbs import LEAST_RECORDS, refusal

    enough = release.records is not None and release.records >= LEAST_RECORDS
    return enough and may_have_far_modes(release) and refusal(release) is None
